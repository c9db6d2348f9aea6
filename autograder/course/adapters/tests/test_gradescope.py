"""Gradescope's autograder zip, and what happens in the folders that Gradescope lays out.

`make test` runs all of it but grading: a stand-in for make leaves a known grade. With
GRADLAB_TEST_ALL=1 lab 0 is graded for real, from the image's first step on.
"""

import json
import os
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path

import forms
import gradescope_zip
import pytest
from graded import GOLDEN, grades_of_a_test, made_once  # noqa: F401 (fixtures)

ROOT = gradescope_zip.ROOT
ALL = os.environ.get("GRADLAB_TEST_ALL") == "1"
LAB = 1
# Grades by leaving a grade.json that is there already, and says what it was asked.
MAKE = """#!/bin/bash
printf '%s\\n' "$PWD" "$@" >"{folder}/asked"
[ -e "{folder}/one.json" ] || {{ echo "grade: no sandbox here" >&2; exit 2; }}
mkdir -p build/grade/build-submissions-x/lab1
cp "{folder}/one.json" build/grade/build-submissions-x/lab1/grade.json
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zip")
    secret = folder / "secret"
    secret.write_text("s" * 40)
    secret.chmod(0o600)
    out = folder / "lab.zip"
    assert gradescope_zip.main([f"LAB={LAB}", f"OUT={out}", f"SECRET={secret}"]) == 0
    return out


def unpacked(archive: Path, folder: Path) -> Path:
    """With the modes that it says, as unzip does it. (A bare Debian has no unzip.)"""
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            Path(packed.extract(entry, folder)).chmod(entry.external_attr >> 16 & 0o777)
    return folder


class Harness:
    """/autograder as Gradescope makes it, in a folder of its own."""

    def __init__(self, folder: Path, source: Path):
        self.root, self.folder = folder / "autograder", folder
        for name in ("submission", "results"):
            (self.root / name).mkdir(parents=True)
        (self.root / "source").symlink_to(source)  # (a thousand files: unpacked once)
        shutil.copy(GOLDEN / "submission_metadata.json", self.root)
        shutil.copy(self.root / "source/run_autograder", self.root)
        ours = ("PYTHONPATH", "GRADLAB_SECRET", "MFLAGS", "GITHUB_ACTIONS")
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ours and not name.startswith("MAKE")}

    def stand_in(self) -> None:
        make = self.folder / "bin/make"
        make.parent.mkdir()
        make.write_text(MAKE.format(folder=self.folder))
        make.chmod(0o755)
        self.environment["PATH"] = f"{make.parent}:{os.environ['PATH']}"

    def hand_in(self, place: str) -> None:
        shutil.copytree(ROOT / f"solution/lab{LAB}", self.root / "submission" / place,
                        dirs_exist_ok=True)

    def run(self) -> tuple:
        """(exit, results or None, what was printed)"""
        done = subprocess.run(["./run_autograder"], cwd=self.root, env=self.environment,
                              capture_output=True, text=True, timeout=600)
        path = self.root / "results/results.json"
        results = json.loads(path.read_text()) if path.exists() else None
        assert results is None or not forms.wrong(forms.GRADESCOPE, results)
        return done.returncode, results, done.stdout + done.stderr

    def asked(self) -> list:
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture(scope="module")
def source(tmp_path_factory, archive):
    return unpacked(archive, tmp_path_factory.mktemp("source"))


@pytest.fixture
def harness(tmp_path, source):
    shutil.rmtree(source / "gradlab/build", ignore_errors=True)
    return Harness(tmp_path, source)


# ---- the archive ---------------------------------------------------------------------------------

def test_what_is_in_the_zip(archive):
    with zipfile.ZipFile(archive) as packed:
        modes = {e.filename: stat.S_IMODE(e.external_attr >> 16) for e in packed.infolist()}
        scripts = {n: packed.read(n).decode() for n in ("setup.sh", "run_autograder")}
        secret = packed.read("gradlab/.course-secret")
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert all(text.startswith("#!/bin/bash\n") for text in scripts.values())
    assert (modes["gradlab/.course-secret"], secret) == (0o600, b"s" * 40 + b"\n")
    assert {n.removeprefix("gradlab/") for n in modes} == {
        "setup.sh", "run_autograder", ".course-secret", *gradescope_zip.tracked()}
    assert modes["gradlab/tools/setup.sh"] == 0o755 and modes["gradlab/Makefile"] == 0o644
    assert not [n for n in modes if n.startswith(("gradlab/.git/", "gradlab/build/", "/"))]
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    for text in scripts.values():
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_equal_files_are_an_equal_zip(archive):
    import table
    assert gradescope_zip.archive(table.load(LAB), b"s" * 40) == archive.read_bytes()


def test_without_a_secret_there_is_no_zip(tmp_path, capsys):
    out, secret = tmp_path / "x.zip", tmp_path / "secret"
    assert gradescope_zip.main([f"LAB={LAB}", f"OUT={out}", f"SECRET={secret}"]) == 2
    secret.write_text("s" * 40)
    secret.chmod(0o644)
    assert gradescope_zip.main([f"LAB={LAB}", f"OUT={out}", f"SECRET={secret}"]) == 2
    assert gradescope_zip.main(["LAB=99", f"OUT={out}"]) == 2
    said = capsys.readouterr().err
    assert "make secret makes one" in said and "can be read by others" in said
    assert "no list of claims for lab 99" in said and not out.exists()


# ---- a dry run -----------------------------------------------------------------------------------

@pytest.mark.parametrize("place", ["", f"lab{LAB}", f"labs/lab{LAB}"])
def test_a_submission_becomes_results(harness, grades, place):
    harness.stand_in()
    harness.hand_in(place)
    (harness.folder / "one.json").write_text(json.dumps(grades.document("wrong", lab=LAB)))
    status, results, _ = harness.run()
    assert (status, results["score"], len(results["tests"])) == (0, 90, 6)
    assert harness.asked() == [str(harness.root / "source/gradlab"), "grade", f"LAB={LAB}",
                               f"SUBMISSION={harness.root}/submission"]


def test_without_a_grade_there_are_no_results(harness, grades):
    """Not those of an earlier run, either; and staff read why."""
    harness.stand_in()
    harness.hand_in("")
    (harness.root / "results/results.json").write_text('{"score": 100, "tests": []}')
    assert harness.run()[:2] == (1, None)
    (harness.folder / "one.json").write_text(json.dumps(grades.document("unjudged", lab=LAB)))
    status, results, said = harness.run()
    assert (status, results) == (2, None)
    assert "lab1: not graded: 30 of 105 points could not be judged" in said


@pytest.mark.parametrize("title, lab", [
    ("Lab 1", 1), ("lab1", 1), ("Lab 1: tensors", 1), ("LAB 12", None), ("Homework 1", None),
    (None, None)])  # fmt: skip
def test_an_image_for_all_labs_goes_by_the_assignments_title(harness, grades, title, lab):
    """Which has the same run_autograder, but for the lab."""
    harness.stand_in()
    harness.hand_in("")
    (harness.folder / "one.json").write_text(json.dumps(grades.document("wrong", lab=LAB)))
    run, metadata = harness.root / "run_autograder", harness.root / "submission_metadata.json"
    run.write_text(run.read_text().replace(f" LAB={LAB}", ""))
    metadata.write_text(json.dumps({"assignment": {"title": title}} if title else {}))
    status, results, said = harness.run()
    if lab:
        assert status == 0 and results["score"] == 90, said
        assert harness.asked()[2] == f"LAB={lab}"
    else:
        assert (status, results) == (1, None)
        assert said.startswith("run_autograder: ") and said.count("\n") == 1


def test_who_hands_in_something_else_is_told(harness):
    harness.stand_in()
    (harness.root / "submission/notes.txt").write_text("later")
    status, results, _ = harness.run()
    assert (status, results["score"], results["tests"]) == (0, 0, [])
    assert results["output"].startswith("nothing was graded: submission: no file of lab 1 (")
    assert str(harness.root) not in results["output"]
    assert not (harness.folder / "asked").exists()


if ALL:  # (else it would be skipped, and named)
    def test_the_whole_of_it(tmp_path, archive, monkeypatch):
        monkeypatch.setitem(globals(), "LAB", 0)
        secret = archive.with_name("secret")
        out = tmp_path / "lab0.zip"
        assert gradescope_zip.main(["LAB=0", f"OUT={out}", f"SECRET={secret}"]) == 0
        harness = Harness(tmp_path / "root", unpacked(out, tmp_path / "source"))
        subprocess.run(["bash", harness.root / "source/setup.sh", harness.root / "source"],
                       env=harness.environment, check=True, timeout=1800)
        harness.hand_in("lab0")
        status, results, said = harness.run()
        assert status == 0, said
        assert {t["status"] for t in results["tests"]} == {"passed"}
        assert results["score"] == sum(t["max_score"] for t in results["tests"]) > 0
