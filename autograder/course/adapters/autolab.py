"""autolab.py: what an Autolab autograder prints: feedback, and as its last line the autoresult, a
JSON object with a score for each problem:
https://github.com/autolab/Autolab/blob/master/docs/lab.md

The problems are to be defined in Autolab by these names: the lab's tasks, "extra" if the lab has
extra credit, "late" if there are penalties. Without scores no line is written.
"""

import io
import json
from pathlib import Path

import render
import text
from grades import Made, heading, one, penalty, published


def scores(document: dict) -> dict:
    points, score = published(document), document["score"]
    found = {row["task"]: sum(cell["points"] for cell in row["sides"].values())
             for row in document["tasks"]}
    if score["extra_max"]:
        found["extra"] = score["extra"]
    if penalty(document):
        found["late"] = points - score["points"] - score["extra"]
    return found


def made(source: Path, given: dict) -> Made:
    """What was printed stands behind bars (failure.py): no line of it can pass for the last, nor
    for the layout that Autolab takes from the one before it."""
    document = one(source)
    line = json.dumps({"scores": scores(document)}, ensure_ascii=True)
    page = render.report(document, [], text.Paint(io.StringIO()), 100, False)
    return Made("\n".join([*page, heading(document), line]) + "\n")
