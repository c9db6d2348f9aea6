"""Ten of the hundred submissions of hundred.py, in make test-all; all of them by hand:

    tests/term/hundred.py LAB=2 FOLDER=folder
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/term"))

import hundred  # noqa: E402 (found by the line above)


def test_gradings_that_take_longer_and_longer_are_seen():
    level, growing = [3.0, 5.0, 4.0] * 20, [1 + 0.05 * n for n in range(60)]
    for seconds, grows in ((level, False), (growing, True), (level[::-1], False)):
        first, last = hundred.growth(seconds)
        assert (last > hundred.GROWTH * first) is grows
    assert hundred.growth([1.0]) == (0, 0)


def a_class_of_ten(tmp_path):
    words = [sys.executable, "tests/term/hundred.py", "LAB=4", f"FOLDER={tmp_path / 'class'}",
             "STUDENTS=10"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0 and done.stdout.count("10 submissions in") == 2, \
        done.stdout + done.stderr


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_class_of_ten = a_class_of_ten
