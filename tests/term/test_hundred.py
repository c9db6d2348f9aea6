"""Ten of the hundred submissions of hundred.py, in make test-all; all of them by hand:

    tests/term/hundred.py LAB=2 FOLDER=folder
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def a_class_of_ten(tmp_path):
    words = [sys.executable, "tests/term/hundred.py", "LAB=4", f"FOLDER={tmp_path / 'class'}",
             "STUDENTS=10"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0 and done.stdout.count("10 submissions in") == 2, \
        done.stdout + done.stderr


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_class_of_ten = a_class_of_ten
