"""What the tests of the tools share."""

import os
from pathlib import Path

import pytest

from saying import say  # noqa: F401 (a fixture)

ROOT = Path(__file__).resolve().parents[2]

# What was typed for the make around these tests is not for those that they start.
for name in [n for n in os.environ if n.startswith("MAKE") or n == "MFLAGS"]:
    del os.environ[name]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """This checkout without anything built, without .venv and data sets."""
    folder = tmp_path_factory.mktemp("tree")
    for path in ROOT.iterdir():
        if path.name not in ("build", ".venv", ".git", "data"):
            (folder / path.name).symlink_to(path)
    (folder / "data").mkdir()
    (folder / "data/fetch.sh").symlink_to(ROOT / "data/fetch.sh")
    return folder
