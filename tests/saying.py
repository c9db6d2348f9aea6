"""saying.py: a fixture of several folders' tests; their conftest.py takes it from here."""

import pytest


@pytest.fixture
def say(capsys):
    """Prints where -q shows it: what a test was made with, or could not try, is part of its
    result."""
    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")
    return line
