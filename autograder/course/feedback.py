"""feedback.py: what a student reads of an attempt, as Markdown and as one page of HTML. Made of
grade.json alone; what the student's program printed is text in both, whatever it holds.
"""

import io
from pathlib import Path

import document as documents
import ledger
import render
import sinks
import text
from markup import page, tag

REPLAY = ("In your own folder the command behind a failure (again: make grade …) runs that claim "
          "with the very same numbers.")


def lines_of(document: dict) -> list:
    """As `make grade V=1` would show it: all failures in full."""
    shown = render.report(document, [], text.Paint(io.StringIO()), 100, True)
    return [line for line in shown if not line.startswith("passed ")]


def facts(document: dict) -> list:
    """[(what, value)] about an attempt."""
    came, graded = document["handed_in"], document["grader"]
    found = {"student": document["student"], "attempt": document["attempt"],
             "handed in": " ".join(filter(None, [came["name"], came["time"]])),
             "graded by": f"gradlab {graded['version']}, rules {graded['rules']}",
             "compiled by": f"{document['compilers']['c']}, in sandbox {document['sandbox']}",
             "seed": document["seed"], "files": document["submission"]["sha256"]}
    return [(name, text.visible(str(value), 300)) for name, value in found.items()]


def markdown(document: dict) -> str:
    """Output stands in indented blocks, which no text can end."""
    lines = [f"# Lab {document['lab']}, {sinks.markdown(document['title'])}: "
             f"{sinks.markdown(render.last_line(document).split(': ', 1)[1])}", ""]
    lines += [f"    {name:<12} {value}" for name, value in facts(document)] + [""]
    if document["told"]:
        lines += ["What you handed in beside the lab's files:", ""]
        lines += [f"- {sinks.markdown(line)}" for line in document["told"]] + [""]
    lines += [f"    {line}".rstrip() for line in lines_of(document)]
    lines += ["", REPLAY, "", "Files that were graded:", ""]
    lines += [f"    {digest}  {name}" for name, digest in document["submission"]["files"].items()]
    return "\n".join(lines) + "\n"


def html(document: dict) -> str:
    title = f"Lab {document['lab']}, {document['title']}"
    told = [tag("p", "What you handed in beside the lab's files:"),
            tag("ul", *(tag("li", line) for line in document["told"]))]
    return page(
        title, tag("h1", f"{title}: {render.last_line(document).split(': ', 1)[1]}"),
        tag("table", *(tag("tr", tag("th", name), tag("td", value))
                       for name, value in facts(document))),
        *(told if document["told"] else []), tag("pre", "\n".join(lines_of(document))),
        tag("p", REPLAY), tag("p", "Files that were graded:"),
        tag("pre", "\n".join(f"{digest}  {name}"
                             for name, digest in document["submission"]["files"].items())))


def publish(out: Path, name: str, document: dict, log: bytes, files: dict) -> None:
    """A grade into the ledger, under the name of its attempt, with all that is made of it."""
    mine = document | {"submission": document["submission"] | {
        "name": document["handed_in"]["name"]}}
    ledger.publish(out, mine["student"], mine["lab"], name, {
        "grade.json": documents.as_text(mine).encode(), "log": log,
        "feedback.md": markdown(mine).encode(), "feedback.html": html(mine).encode(),
        **{f"files/lab{mine['lab']}/{file}": data for file, data in files.items()}})


def refused(document: dict) -> tuple:
    """(Markdown, HTML) where there is no grade."""
    title = f"Lab {document['lab']}: not graded"
    why = text.visible(document["refused"], 600)
    what = "Hand in the lab's files once more: make submit packs them."
    facts = f"student {document['student']}, attempt {document['attempt']}"
    return (f"# {title}\n\n    {facts}\n    {why}\n\n{what}\n",
            page(title, tag("h1", title), tag("p", facts), tag("pre", why), tag("p", what)))
