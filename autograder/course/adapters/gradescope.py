"""gradescope.py: results.json of a Gradescope autograder, by its specification:
https://gradescope-autograders.readthedocs.io/en/latest/specs/ (output format, test case status,
visibility, output string formatting).

The score is ours, and not the sum of the tests: extra credit goes beyond the assignment's
autograder points, which are to be the lab's 100. Without a score nothing is written: then
Gradescope says that the autograder failed, and shows staff why (stdout).
"""

import json
from pathlib import Path

import render
from grades import Made, one, published, said_of, title


def results(document: dict) -> dict:
    return {
        "score": published(document),
        "execution_time": round(document["wall_s"]),
        "output": render.last_line(document),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # paths of the machine, and nothing for students
        "extra_data": {key: document[key] for key in (
            "schema", "lab", "grader", "contract", "submission", "sandbox", "seed", "score")},
        "tests": [test(document, result) for result in document["claims"]],
    }


def test(document: dict, result: dict) -> dict:
    return {"name": title(result), "score": result["points"], "max_score": result["max"],
            "status": "passed" if result["verdict"] == "pass" else "failed",
            "output": said_of(document, result), "tags": [result["task"], result["side"]],
            "visibility": "visible"}


def refused(why: str) -> dict:
    """Of a submission in which there is nothing to grade: the student is told what is missing."""
    return {"score": 0, "output": f"nothing was graded: {why}", "output_format": "text",
            "visibility": "visible", "stdout_visibility": "hidden", "tests": []}


def as_text(results: dict) -> str:
    return json.dumps(results, indent=1, ensure_ascii=True) + "\n"


def made(source: Path, given: dict) -> Made:
    return Made(as_text(results(one(source))))
