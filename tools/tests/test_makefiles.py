"""The makefiles themselves: the first commands work with nothing but make, a shell and awk, also
where nothing can be written; no rule is made of text that is read again; labs are not counted."""

import re
import shutil
import subprocess
from pathlib import Path

import machines
import make
import pytest
from conftest import ROOT
from small_mounts import Mount

FIRST = [(), ("help",), ("doctor",), ("clean",)]
MAKEFILES = [ROOT / "Makefile", *ROOT.glob("mk/*.mk"), ROOT / "hostcuda/hostcuda.mk"]


def copy_of_the_tree(folder: Path) -> Path:
    """What git knows of this checkout, without what is built or installed."""
    away = shutil.ignore_patterns("build", ".git", ".venv", "data", "results", "out")
    shutil.copytree(ROOT, folder, ignore=away, symlinks=True)
    (folder / "data").mkdir()
    return folder


def works(done: subprocess.CompletedProcess, words: tuple) -> None:
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    if not words:
        assert "usage: make COMMAND" in done.stdout
    if words == ("doctor",):
        assert "to build and train" in done.stdout


@pytest.mark.parametrize("words", FIRST, ids=" ".join)
def test_the_first_commands_need_no_python(tmp_path, monkeypatch, words):
    monkeypatch.setenv("PATH", str(machines.links(tmp_path / "bin", "python*", "pypy*")))
    folder = copy_of_the_tree(tmp_path / "tree")
    works(make.run("-C", str(folder), *words, timeout=60), words)
    assert not (folder / "build").exists()


def test_clean_removes_what_was_built(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(machines.links(tmp_path / "bin", "python*", "pypy*")))
    folder = copy_of_the_tree(tmp_path / "tree")
    (folder / "build/float").mkdir(parents=True)
    works(make.run("-C", str(folder), "clean", timeout=60), ("clean",))
    assert not (folder / "build").exists()


def test_the_first_commands_write_nothing(tmp_path, say):
    folder = copy_of_the_tree(tmp_path / "tree")
    mount = Mount.read_only(folder)
    if mount is None:
        say(f"a read-only tree: not tried, nothing can be mounted here ({Mount.refusal})")
        return
    with mount:
        for words in FIRST:
            works(subprocess.run([*mount.inside, "make", "-C", str(folder), *words], text=True,
                                 capture_output=True, timeout=60), words)
        tried = subprocess.run([*mount.inside, "touch", f"{folder}/Makefile"], text=True,
                               capture_output=True)
        assert "Read-only" in tried.stderr  # it was


def test_no_rule_is_made_of_text_that_is_read_again():
    for path in MAKEFILES:
        assert not re.search(r"\$[({]eval\b", path.read_text()), path.name


def test_labs_are_counted_nowhere():
    for path in [*MAKEFILES, *ROOT.glob("tools/*.sh")]:
        assert not re.search(r"\b0 1 2 3 4 5\b|lab0 lab1 lab2", path.read_text()), path.name


def test_what_is_typed_stays_as_it_is(tmp_path):
    """Whatever it is called: also as the option that hands options on."""
    for name in ("GIVEN", "GIVEN_LEFT", "LABS"):
        done = make.run("-C", str(ROOT), "-n", "lab0", f"{name}=$(shell touch {tmp_path}/hit)",
                        timeout=60)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert not (tmp_path / "hit").exists()
