"""The broken versions that a student's own cases are tried with: the solution's cases notice each
of them, and nothing of the solution itself."""

import json
import os
import subprocess

import broken
import cases
import execute
import make
import pytest
import table
from conftest import ROOT

LABS = [lab for lab in map(table.load, table.numbers()) if any(t.cases for t in lab.tasks)]
BY_LAB = pytest.mark.parametrize("lab", LABS, ids=lambda lab: f"lab{lab.number}")


def claim_of(lab: table.Lab) -> table.Claim:
    claim, = (c for c in lab.claims if c.data)
    return claim


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def built(lab: table.Lab) -> None:
    done = make.run("broken", f"LAB={lab.number}", f"build/double/lab{lab.number}/grader",
                    timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def tried(lab: table.Lab, file: str, versions, folder) -> dict:
    """The record of the claim: a file's cases, and a folder of versions."""
    known, claim = lab.task("cases").cases, claim_of(lab)
    lines = cases.lines_of("cases.toml", file.encode(), known)
    (folder / "cases").write_text("\n".join([*lines, ""]))
    env = execute.environment(
        GRADLAB_CASES=str(folder / "cases"), GRADLAB_BROKEN=str(versions), GRADLAB_DEVICES="cpu",
        GRADLAB_CLAIMS=str(folder / "claims"), GRADLAB_ONLY=claim.full_name)
    subprocess.run([f"build/double/lab{lab.number}/grader", "-j1"], env=env, timeout=300,
                   capture_output=True)
    return json.loads((folder / "claims").read_text())


def of(lab: table.Lab, numbers: list, folder) -> None:
    """A folder of versions, each of which is the one of that number."""
    folder.mkdir()
    for name, number in enumerate(numbers):
        os.symlink(ROOT / f"build/double/lab{lab.number}/broken/{number}", folder / str(name))


def solved(lab: table.Lab) -> str:
    return (ROOT / f"solution/lab{lab.number}/cases.toml").read_text(encoding="utf-8")


@BY_LAB
def test_each_version_is_a_mutant_of_the_task_that_the_list_names(lab):
    assert len({mutant.name for mutant in broken.versions(lab)}) == 10


@BY_LAB
def test_the_solutions_cases_notice_every_version(lab, tmp_path):
    built(lab)
    record = tried(lab, solved(lab), ROOT / f"build/double/lab{lab.number}/broken", tmp_path)
    assert record["verdict"] == "pass" and record["said"].startswith("10 of 10 "), record


@BY_LAB
def test_the_solution_itself_is_noticed_by_none(lab, tmp_path):
    """Eleven times the solution, with no file broken: who notices it has a wrong definition, or a
    bound that is too narrow."""
    built(lab)
    of(lab, [0] * 11, tmp_path / "versions")
    record = tried(lab, solved(lab), tmp_path / "versions", tmp_path)
    assert record["kind"] == "unnoticed" and record["text"].startswith("0 of 10 "), record


@BY_LAB
def test_a_case_that_the_solution_fails_is_refused(lab, tmp_path):
    """Else it would notice all of them. (A broken version stands for a solution that is wrong.)"""
    built(lab)
    of(lab, [1, *range(1, 11)], tmp_path / "versions")
    record = tried(lab, solved(lab), tmp_path / "versions", tmp_path)
    assert record["kind"] == "fails_always", record
    assert "fails with the solution itself, too" in record["text"]


@BY_LAB
def test_a_version_that_cannot_be_started_is_nobodys_fault(lab, tmp_path):
    built(lab)
    record = tried(lab, solved(lab), tmp_path / "nothing", tmp_path)
    assert record["verdict"] == "error" and "could not be tried" in record["text"], record
