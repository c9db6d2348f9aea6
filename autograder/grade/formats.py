"""formats.py: grade.json as JUnit, as GitHub annotations and as a GitHub summary.

Everything here goes to readers that interpret what they read, so each form has its own escaping
(sinks.py), and nothing that a student's program printed leaves it unescaped.
"""

import io
import xml.etree.ElementTree as ElementTree

import failure
import failure_kinds
import render
import text
from language import notice, told
from sinks import annotation, markdown, xml

ANNOTATIONS = 10  # GitHub shows that many of a kind per step


def plain(document: dict, result: dict) -> str:
    """One failure as text without colours."""
    page = failure.Page(document, text.Paint(io.StringIO()), 100, True)
    page.failure(result)
    return "\n".join(page.lines)


def junit(document: dict) -> str:
    """One suite per task and side; waiting is skipped, what could not be judged is an error."""
    root = ElementTree.Element("testsuites", name=f"lab{document['lab']}")
    for row in document["tasks"]:
        for side in row["sides"]:
            results = [c for c in document["claims"]
                       if (c["task"], c["side"]) == (row["task"], side)]
            suite = ElementTree.SubElement(
                root, "testsuite", name=f"lab{document['lab']}.{row['task']}.{side}",
                tests=str(len(results)), timestamp=document["time"].rstrip("Z"),
                failures=str(sum(r["verdict"] == "fail" for r in results)),
                errors=str(sum(r["verdict"] == "unjudged" for r in results)),
                skipped=str(sum(r["verdict"] == "waiting" for r in results)))
            for result in results:
                junit_case(document, suite, result)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(
        root, encoding="unicode") + "\n"


def junit_case(document: dict, suite: ElementTree.Element, result: dict) -> None:
    seconds = max((r.get("cpu_s", 0) for r in result["failures"]), default=0)
    case = ElementTree.SubElement(
        suite, "testcase", name=result["claim"].split("/")[1], classname=suite.get("name"),
        time=f"{seconds:.3f}")
    tag = {"fail": "failure", "unjudged": "error", "waiting": "skipped"}.get(result["verdict"])
    if not tag:
        return
    if tag == "skipped":
        message = f"waiting for {', '.join(result['waits_for'])}"
        ElementTree.SubElement(case, tag, message=message)
        return
    child = ElementTree.SubElement(case, tag, type=xml(result["kind"]),
                                   message=xml(told(failure_kinds.kind_title(result["kind"]))))
    child.text = xml(plain(document, result))


# ---- GitHub Actions ----

def first_failures(document: dict) -> list:
    """[(claim, how many more)]: the first failure of each side of a task, of what is written."""
    groups = {}
    for result in document["claims"]:
        if result["verdict"] == "fail" and result["kind"] not in (
                *failure_kinds.OF_A_FILE, "not_implemented"):
            groups.setdefault((result["task"], result["side"]), []).append(result)
    return [(group[0], len(group) - 1) for group in groups.values()]


def annotations(document: dict) -> list:
    """First failures, at the student's file and, where it is known, the line."""
    found = [annotation("error", text.visible(g["text"], 300), file=g["file"], line=g["line"],
                        title=f"lab{document['lab']}: not allowed")
             for g in document["gate"]]
    for result, _ in first_failures(document):
        record = result["failures"][0]
        advice = told(result.get("advice", "")) or failure_kinds.hint_told(result["hint"])
        said = text.visible(record.get("text") or failure.place_of(record), 300)
        file, line = own_file(document, result, record)
        found.append(annotation(
            "error", f"{text.visible(record.get('call', ''), 200)}: {said}\n{advice}",
            file=file, line=line,
            title=f"{result['claim']}: {told(failure_kinds.kind_title(result['kind']))}"))
    return found[:ANNOTATIONS]


def own_file(document: dict, result: dict, record: dict) -> tuple:
    """The student's file, with the line if the record speaks of this file."""
    row = next(t for t in document["tasks"] if t["task"] == result["task"])
    name = row["sides"][result["side"]]["file"]
    if not name:
        return "", 0
    line = record.get("line", 0) if str(record.get("file", "")).endswith(name) else 0
    return f"labs/lab{document['lab']}/{name}", line


def summary(document: dict) -> str:
    """For $GITHUB_STEP_SUMMARY: points per task, then what is wrong, in one line each."""
    lines = [f"### {render.last_line(document)}", "", "| task | C | CUDA |", "|---|---|---|"]
    for row in document["tasks"]:
        cells = [points_of(row["sides"].get(h)) for h in failure.SIDE_NAMES]
        lines.append("| " + " | ".join([markdown(row["task"]), *cells]) + " |")
    lines.append("")
    for result, others in first_failures(document):
        advice = told(result.get("advice", "")) or failure_kinds.hint_told(result["hint"])
        more = f" ({others} more)" if others else ""
        lines.append(f"- **{markdown(result['claim'])}** ({failure.SIDE_NAMES[result['side']]})"
                     f"{more}: {markdown(told(failure_kinds.kind_title(result['kind'])))}. "
                     f"{markdown(advice)}")
    for result in document["claims"]:
        if result["verdict"] == "unjudged":
            said = text.visible(result["failures"][0].get("text", ""), 300)
            lines.append(f"- **{markdown(result['claim'])}** "
                         f"({failure.SIDE_NAMES[result['side']]}): not judged: {markdown(said)}")
    lines += ["", markdown(notice())] if notice() else []
    return "\n".join(lines) + "\n"


def points_of(cell: dict | None) -> str:
    """Of a task's side; where a claim could not be judged there are no points to tell."""
    if not cell:
        return ""
    return "not judged" if cell["unjudged"] else f"{cell['points']}/{cell['max']}"
