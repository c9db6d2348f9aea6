"""autolab.py: what an Autolab autograder prints: feedback, and as its last line the autoresult, a
JSON object with a score for each problem:
https://github.com/autolab/Autolab/blob/master/docs/lab.md

The problems are to be defined in Autolab by these names: the lab's tasks, "extra" if the lab has
extra credit. Without scores no line is written.
"""

import io
import json
from pathlib import Path

import render
import text
from grades import Made, one, published


def scores(document: dict) -> dict:
    published(document)  # or Unfit, and no line
    found = {row["task"]: sum(cell["points"] for cell in row["sides"].values())
             for row in document["tasks"]}
    if document["score"]["extra_max"]:
        found["extra"] = document["score"]["extra"]
    return found


def made(source: Path, given: dict) -> Made:
    """What was printed stands behind bars (failure.py): no line of it can pass for the last, nor
    for the layout that Autolab takes from the one before it."""
    document = one(source)
    line = json.dumps({"scores": scores(document)}, ensure_ascii=True)
    page = render.report(document, [], text.Paint(io.StringIO()), 100, False)
    return Made("\n".join([*page, render.last_line(document), line]) + "\n")
