"""reports.py: JUnit, and the summary and annotations of GitHub Actions: what make grade writes
itself (formats.py), of a grade that is there already. Both tell what could not be judged.
"""

from pathlib import Path

import formats
from grades import Made, one


def junit(source: Path, given: dict) -> Made:
    return Made(formats.junit(one(source)))


def github(source: Path, given: dict) -> Made:
    """OUT= is the summary ("$GITHUB_STEP_SUMMARY"); annotations are lines that the runner reads
    in the log."""
    document = one(source)
    return Made(formats.summary(document), printed=formats.annotations(document))
