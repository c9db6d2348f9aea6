"""prairielearn.py: /grade/results/results.json of PrairieLearn's external grading:
https://github.com/PrairieLearn/PrairieLearn/blob/master/docs/externalGrading.md

Its score is a share from 0 to 1, so extra credit fills what is missing and goes no further. What
could not be judged is not gradable: no points, no attempt lost, and the reason is told. A file of
more than 1 MB is refused there, so what claims say is cut to their share of it.
"""

import json
from pathlib import Path

import render
from grades import Made, Unfit, one, published, said_of, title, unjudged

LARGEST = 900_000  # bytes; a character takes at most 4, escapes included


def results(document: dict) -> dict:
    try:
        points = published(document)
    except Unfit as why:
        if not document["score"]["unjudged"]:
            raise
        return {"gradable": False, "format_errors": [str(why), *unjudged(document)[1:20]]}
    longest = LARGEST // (4 * max(1, len(document["claims"])))
    return {
        "gradable": True, "score": min(1.0, points / document["score"]["max"]),
        "message": render.last_line(document),
        "tests": [{"name": title(c), "description": c["hint"], "points": c["points"],
                   "max_points": c["max"], "output": said_of(document, c)[:longest]}
                  for c in document["claims"]],
    }


def made(source: Path, given: dict) -> Made:
    return Made(json.dumps(results(one(source)), indent=1, ensure_ascii=False) + "\n")
