"""classroom50.py: result.json of Classroom 50, in which GitHub Classroom lives on: the form
classroom50/result/v1, which its runner takes from any autograder.py:
https://github.com/foundation50/classroom50/wiki/Advanced-Autograding (the result.json contract)
https://github.com/foundation50/classroom50/blob/main/schemas/result-v1.schema.json

Who is graded, and for what, the runner says in the environment. It writes owner, assignment_type,
datetime and graded_at itself, over ours. A score may not exceed max-score, so max-score holds the
extra credit, too: of lab 3, 100 of 110 is all that is asked for. Without a score there is no
result.json and the exit is not 0, which Classroom 50 shows as an error and not as points.
"""

import json
import os
from pathlib import Path

from grades import Made, one, published, said_of, title
from options import OptionError

# name in the result -> variables of the runner, the first that is set
SAID_BY_RUNNER = {
    "classroom": ("CLASSROOM",), "assignment": ("ASSIGNMENT",),
    "assignment_type": ("ASSIGNMENT_TYPE",), "owner": ("OWNER", "USERNAME"),
    "submission": ("SUBMISSION_TAG",), "commit": ("COMMIT_URL",), "release": ("RELEASE_URL",),
    "review": ("REVIEW_URL", "COMMIT_URL"),
}


def identity() -> dict:
    found = {name: next(filter(None, map(os.environ.get, variables)), "")
             for name, variables in SAID_BY_RUNNER.items()}
    if missing := [SAID_BY_RUNNER[name][0] for name in found if not found[name]]:
        raise OptionError(f"TO=classroom50: {', '.join(missing)} not set: its runner sets them, "
                          "so call this from an autograder.py")
    return found


def result(document: dict) -> dict:
    score = document["score"]
    return {
        "schema": "classroom50/result/v1", **identity(),
        "datetime": document["time"], "graded_at": document["time"],
        "score": published(document), "max-score": score["max"] + score["extra_max"],
        "tests": [{"test-name": title(claim), "passed": claim["verdict"] == "pass",
                   "score": claim["points"], "max-score": claim["max"],
                   "output": said_of(document, claim)} for claim in document["claims"]],
    }


def made(source: Path, given: dict) -> Made:
    return Made(json.dumps(result(one(source)), indent=1, ensure_ascii=True) + "\n")
