"""grades.py: grade.json as the adapters take it, and what of one may be published.

It knows nothing of lateness, which is a matter of the whole term: class.csv does (standings.py),
and so does the system that a single grade goes to.
"""

from pathlib import Path
from typing import NamedTuple

import document as grade_json
import formats
import render
import text
from failure import SIDE_NAMES
from options import OptionError


class Unfit(Exception):
    """What keeps a grade from being published, and how to mend it."""


class Grade(NamedTuple):
    student: str  # as whoever collected the submissions calls them
    path: Path
    document: dict


class Made(NamedTuple):
    """What an adapter has made of grades."""

    text: str
    left: list = []  # grades that are not in it, and why: one line each
    printed: list = []  # lines for stdout


def student_of(path: Path, source: Path, document: dict) -> str:
    """Who is graded: what the document says, else the folder below the one that was named."""
    if isinstance(named := document.get("student"), str) and named:
        return named
    if document.get("submission"):
        return document["submission"]["name"]
    return path.relative_to(source).parts[0] if path != source else ""


def load(source: Path) -> list:
    """The grade.json that is named, or all of them below a folder."""
    paths = [source] if source.is_file() else sorted(source.rglob("grade.json"))
    if not paths:
        raise OptionError(f"FROM={source}: there is no grade.json; make grade writes one into "
                          "build/grade/")
    grades = []
    for path in paths:
        document = grade_json.read(path)
        if not document or document.get("schema") != grade_json.SCHEMA:
            form = (document or {}).get("schema", "nothing that can be read")
            raise Unfit(f"{path}: expected the form {grade_json.SCHEMA}, found {form}: grade the "
                        "submission again with this copy")
        grades.append(Grade(student_of(path, source, document), path, document))
    return grades


def one(source: Path) -> dict:
    """The document, of a form that tells one submission's grade."""
    grades = load(source)
    if len(grades) > 1:
        raise OptionError(f"FROM= has {len(grades)} grades, and this form takes one: name its "
                          f"grade.json, say FROM={grades[0].path}")
    return grades[0].document


def published(document: dict) -> int:
    """Points and extra credit; or Unfit: who was not judged by a fault of ours has neither 0 nor
    the rest."""
    score = document["score"]
    if document["filter"]:
        raise Unfit(f"{document['filter']} was graded, a part of the lab: grade all of it")
    if score["unjudged"]:
        raise Unfit("; ".join([render.last_line(document), *unjudged(document)[:1]]))
    return score["points"] + score["extra"]


def unjudged(document: dict) -> list:
    """What the machine or the grader got in the way of: one line a claim."""
    found = [c for c in document["claims"] if c["verdict"] == "unjudged"]
    return [f"{title(c)}: {text.visible(c['failures'][0].get('text', ''), 200)}" for c in found]


def title(result: dict) -> str:
    return f"{result['claim']} ({SIDE_NAMES[result['side']]})" + ", extra" * result["extra"]


def said_of(document: dict, result: dict) -> str:
    """One claim's feedback as plain lines."""
    if result["verdict"] == "pass":
        return ""
    if result["verdict"] == "waiting":
        return f"waiting for {', '.join(result['waits_for'])}"
    return formats.plain(document, result)
