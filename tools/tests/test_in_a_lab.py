"""In labs/labN what is typed counts as typed at the top; `make watch` grades on save."""

import os
import re
import shutil

import machines
import make
import pytest
from conftest import ROOT

FORWARDING = sorted((ROOT / "labs").glob("lab[0-9]/Makefile"))


def typed(lab: int, *words: str):
    return make.run("--no-print-directory", "-C", str(ROOT / f"labs/lab{lab}"), *words, timeout=60)


def test_every_lab_has_the_same_file():
    assert {p.parent.name for p in FORWARDING} == {
        p.parent.name for p in (ROOT / "autograder").glob("lab[0-9]/lab.toml")}
    assert len({p.read_text() for p in FORWARDING}) == 1


@pytest.mark.parametrize("lab", [0, 3])
def test_the_lab_goes_along(lab):
    done = typed(lab, "claims")
    assert done.returncode == 0 and done.stdout.startswith(f"lab {lab}, "), done.stderr


def test_what_was_typed_is_not_replaced():
    assert typed(3, "claims", "LAB=2").stdout.startswith("lab 2, ")
    done = typed(3, "claims", "T=relu")
    assert {line.split("/")[0] for line in done.stdout.splitlines() if "/" in line
            and not line.startswith(("task", "one of"))} == {"relu"}


def test_a_goal_without_a_lab_is_as_it_is():
    done = typed(2, "doctor")
    assert done.returncode == 0 and done.stdout.startswith("to build and train")


def test_make_alone_builds_the_lab():
    done = typed(2, "-n")
    assert done.returncode == 0 and "lab2 is built. Now: make grade" in done.stdout, done.stderr


def test_a_mistake_is_told_by_the_top():
    done = typed(2, "grdae")
    assert done.returncode == 2 and "the nearest is grade" in done.stderr


@pytest.fixture
def entr(tmp_path, monkeypatch):
    """One that says which files it was given and what it would start."""
    (tmp_path / "bin").mkdir()
    machines.script(tmp_path / "bin/entr", f'cat >{tmp_path}/files; echo "$@" >{tmp_path}/command')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return tmp_path


def test_watch_grades_again_what_is_saved(entr):
    done = make.run("-C", str(ROOT), "watch", "LAB=2", "T=im2col", timeout=60)
    assert done.returncode == 0, done.stderr
    files = (entr / "files").read_text().split()
    assert "labs/lab2/im2col.cu" in files and all(re.fullmatch(r"labs/lab2/\w+\.(cu?|toml)", f)
                                                  for f in files)
    assert (entr / "command").read_text().split()[-4:] == ["make", "grade", "LAB=2", "T=im2col"]


def test_watch_without_entr_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(machines.links(tmp_path / "bin", "entr")))
    done = make.run("-C", str(ROOT), "watch", "LAB=2", timeout=60)
    assert done.returncode == 2 and "run make setup watch" in done.stderr
    assert shutil.which("entr", path=str(tmp_path / "bin")) is None
