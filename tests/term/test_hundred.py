"""Ten of the hundred submissions of hundred.py, in make test-all; all of them by hand:

    tests/term/hundred.py LAB=2 FOLDER=folder
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/term"))

import hundred  # noqa: E402 (found by the line above)


@pytest.mark.parametrize("seconds, linear", [
    ([6.0 + n % 3 for n in range(40)], True),
    ([6.0 + n / 10 for n in range(100)], False),
    ([1.0 + n for n in range(hundred.FEWEST)], False),
    ([9.0 - n / 20 for n in range(100)], True),
])
def test_time_that_grows_with_the_class_fails(seconds, linear):
    assert hundred.thirds(seconds)[2] == linear


def test_a_grading_begins_where_another_has_ended(tmp_path):
    """Two at a time; the third waits for a limit, and the fourth has the second's files."""
    for n, (digest, end, kind) in enumerate([("a", 10, ""), ("b", 12, ""), ("c", 40, "timeout"),
                                             ("b", 12.5, ""), ("d", 19, ""), ("e", 25, "")]):
        path = tmp_path / f"s{n}/lab2/1/grade.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"submission": {"sha256": digest}, "claims": [
            {"failures": [{"kind": kind}]}]}))
        os.utime(path, (end, end))
    assert hundred.gradings(tmp_path, 2, 2) == [7, 6]


def a_class_of_ten(tmp_path):
    words = [sys.executable, "tests/term/hundred.py", "LAB=4", f"FOLDER={tmp_path / 'class'}",
             "STUDENTS=10"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0 and done.stdout.count("10 submissions in") == 2, \
        done.stdout + done.stderr


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_class_of_ten = a_class_of_ten
