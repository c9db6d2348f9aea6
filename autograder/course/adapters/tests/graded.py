"""Grades of a small lab, made by the front end itself, once for each module of tests."""

import copy
import json
from pathlib import Path

import pytest
from conftest import Stage

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MACHINE = {"verdict": "error", "kind": "machine", "text": "no pipe \x1b[31m<b>"}
WRONG = {"kind": "crash", "text": "it crashed", "output": "mine", "call": "one x[2,3]"}
# what the grader says of claims -> what the grade is called here
SAID = {
    "right": {},
    "wrong": {"lab9_one/second": WRONG, "lab9_two/bonus": WRONG},
    "waiting": {"lab9_one/first": WRONG, "lab9_two/third": WRONG},
    "unjudged": {"lab9_one/second": WRONG, "lab9_two/third": MACHINE},
}
POINTS = {"right": 105, "wrong": 90, "waiting": 35}


@pytest.fixture(name="made", scope="module")
def made_once(tmp_path_factory):
    """name -> document"""
    documents = {}
    for name, said in SAID.items():
        with pytest.MonkeyPatch.context() as patch:
            stage = Stage(tmp_path_factory.mktemp(name), patch)
            stage.says.update(copy.deepcopy(said))
            stage.grade()
            documents[name] = stage.result()
    return documents


class Grades:
    """A folder of grades, and the command on it."""

    def __init__(self, made: dict, folder: Path):
        self.made, self.folder, self.out = made, folder, folder / "out"

    def document(self, name: str, **fields) -> dict:
        return copy.deepcopy(self.made[name]) | fields

    def put(self, place: str, document: dict) -> Path:
        path = self.folder / "from" / place / "grade.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def export(self, to: str, *more: str, source: str = "from") -> int:
        import export
        return export.main([f"FROM={self.folder / source}", f"TO={to}", f"OUT={self.out}", *more])

    def one(self, to: str, document: dict) -> tuple:
        """(exit, what was written or None) of a single grade."""
        path = self.folder / "one.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        status = self.export(to, source="one.json")
        written = self.out.read_text(encoding="utf-8") if self.out.exists() else None
        self.out.unlink(missing_ok=True)
        return status, written


@pytest.fixture(name="grades")
def grades_of_a_test(made, tmp_path, monkeypatch):
    runner = {"CLASSROOM": "dl", "ASSIGNMENT": "lab2", "ASSIGNMENT_TYPE": "individual",
              "OWNER": "ada", "SUBMISSION_TAG": "submit/2026-06-01T14-32-05Z-a1b2c3d",
              "COMMIT_URL": "https://github.com/o/r/commit/1",
              "RELEASE_URL": "https://github.com/o/r/releases/tag/submit%2F1"}
    for name, value in runner.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("REVIEW_URL", raising=False)
    return Grades(made, tmp_path)
