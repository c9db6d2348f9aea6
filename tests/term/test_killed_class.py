"""What killed_class.py compares, and in make test-all a class of ten that is killed six times; the
whole by hand:

    tests/term/killed_class.py LAB=2 FOLDER=folder
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/term"))

import killed_class  # noqa: E402 (found by the line above)


@pytest.mark.parametrize("change, same", [
    ({}, True),
    ({"wall_s": 9.5, "time": "later"}, True),
    ({"runs": [{"device": "cpu", "seconds": 3}]}, True),
    ({"runs": [{"device": "cuda", "seconds": 2}]}, False),
    ({"score": {"points": 99}}, False),
    ({"seed": None}, False),
])
def test_all_but_times_must_be_the_same(tmp_path, change, same):
    document = {"seed": 1, "score": {"points": 98}, "wall_s": 1.5, "time": "now",
                "runs": [{"device": "cpu", "seconds": 2}]}
    for name, what in (("calm", document), ("killed", document | change)):
        path = tmp_path / name / "ada/lab2/1/grade.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(what))
    states = [killed_class.state(tmp_path / name) for name in ("calm", "killed")]
    assert (not killed_class.differing(*states, "class")) == same


def test_what_is_missing_or_left_is_a_difference():
    assert killed_class.differing({"a": b"", "b": b""}, {"a": b"", "c": b""}, "class") == [
        "class: b: None instead of b''", "class: c: b'' instead of None"]


def a_class_of_ten(tmp_path):
    words = [sys.executable, "tests/term/killed_class.py", "LAB=4", f"FOLDER={tmp_path / 'class'}",
             "STUDENTS=10", "KILLS=6", "SEED=1"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0 and "6 kills, " in done.stdout, done.stdout + done.stderr


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_class_of_ten = a_class_of_ten
