"""What the tests of the tools share."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "autograder/grade"), str(ROOT / "autograder/tests")]


@pytest.fixture
def say(capsys):
    """Prints where -q shows it: what could not be tried here is part of the result."""
    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")
    return line
