"""Grading what others hand in (SUBMISSION=): the name of a folder is never a command, and without a
sandbox nothing of a submission is compiled or run."""

import os
import shutil
import subprocess

import make
import pytest
from submission import ROOT, copy_of

HIT = "hit-by-a-name"  # what a name would make in the folder where make runs
COMMANDS = [f"x$(shell touch {HIT})", f"x${{shell touch {HIT}}}$$(shell touch {HIT})",
            f"x`touch {HIT}`$(touch {HIT});touch {HIT}|touch {HIT}", f"x'; touch {HIT} '",
            f'x" & touch {HIT} "']  # fmt: skip
ODD_NAMES = [*COMMANDS, "-n # 50% two words\\ a,b=c:d ~ * $HOME ${HOME} \u00e9t\u00e9 :="]
NO_BOX = {"GRADLAB_TIER": "B"}  # where bubblewrap is missing or fails


@pytest.fixture
def no_sandbox(tmp_path):
    """PATH with everything but bubblewrap."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(":")):
        if "ccache" in place:  # which looks for the compiler behind itself on PATH
            continue
        for program in os.scandir(place) if os.path.isdir(place) else []:
            link = folder / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program.path)
    (folder / "bwrap").unlink(missing_ok=True)
    return str(folder)


def handed_in(folder, lab: int = 0):
    """An untouched skeleton in this folder."""
    folder.mkdir()
    for path in (ROOT / f"labs/lab{lab}").glob("*.c*"):
        shutil.copy2(path, folder)
    return folder


def grade(*words: str, **env: str) -> subprocess.CompletedProcess:
    done = make.run("-C", str(ROOT), "grade", "LAB=0", *words, timeout=300, **env)
    hit = ROOT / HIT
    was_hit = hit.exists()
    hit.unlink(missing_ok=True)
    assert not was_hit, done.stdout + done.stderr
    return done


@pytest.fixture
def taken():
    """Says which files were taken from a folder; in the end they go, and what was built of them."""
    folders = set()

    def names(folder) -> set:
        folders.add(copy_of(folder))
        return {p.name for p in (ROOT / copy_of(folder) / "lab0").glob("*")}

    yield names
    for copy in folders:
        shutil.rmtree(ROOT / copy, ignore_errors=True)
        for path in [*ROOT.glob(f"build/*/from/{copy}"),
                     *ROOT.glob(f"build/grade/{str(copy).replace('/', '-')}")]:
            shutil.rmtree(path)


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
def test_a_folders_name_is_no_command_even_to_look(tmp_path, name, taken):
    folder = handed_in(tmp_path / name)
    grade("-n", f"SUBMISSION={folder}")
    assert taken(folder) == {p.name for p in folder.iterdir()}


def test_nor_is_it_one_in_the_environment(tmp_path, taken):
    folder = handed_in(tmp_path / "".join(COMMANDS))
    grade("-n", SUBMISSION=str(folder))
    assert taken(folder) == {p.name for p in folder.iterdir()}


def test_a_submission_is_graded_whatever_its_folder_is_called(tmp_path, taken):
    """Also by the make within this one that grades each task by itself, for one file is empty."""
    folder = handed_in(tmp_path / "".join(COMMANDS))
    (folder / "vector_add.c").write_text("")
    junit = folder.with_suffix(".xml")
    done = grade(f"SUBMISSION={folder}", f"JUNIT={junit}", "JSON=1")
    assert done.returncode == 0, done.stderr
    assert '"sandbox": "' in done.stdout and '"taskwise": true' in done.stdout
    assert junit.exists() and taken(folder)


def test_a_line_break_in_a_name_is_refused(tmp_path, taken):
    folder = handed_in(tmp_path / f"x\ntouch {HIT}\n")
    for words in [("-n",), ()]:
        done = grade(f"SUBMISSION={folder}", *words)
        assert done.returncode == 2 and "SUBMISSION= holds a line break" in done.stderr
    assert not taken(folder)


@pytest.mark.parametrize("name", ["".join(COMMANDS), "x:y", "x=y", "two words", ""],
                         ids=range(5))
def test_a_folder_of_labs_has_a_plain_name(tmp_path, name):
    """Its name becomes part of rules and commands."""
    handed_in(tmp_path / "lab0")
    (tmp_path / "lab0").rename(tmp_path / "given")
    (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "given").rename(tmp_path / name / "lab0")
    done = grade("-n", f"LABS={tmp_path}/{name}" if name else "LABS=")
    assert done.returncode == 2 and "LABS=" in done.stderr and "a plain name" in done.stderr


# ---- without a sandbox ---------------------------------------------------------------------------

def test_without_bubblewrap_nothing_is_graded(tmp_path, no_sandbox, taken):
    folder = handed_in(tmp_path / "ada")
    done = grade(f"SUBMISSION={folder}", PATH=no_sandbox, **NO_BOX)
    assert done.returncode == 2
    assert "apt-get install bubblewrap" in done.stderr and "make grade LAB=0" not in done.stdout
    assert not taken(folder) and "CC " not in done.stdout


def test_ones_own_code_needs_no_bubblewrap(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bwrap").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin/bwrap").chmod(0o755)
    own = f"build/test_official/{tmp_path.name}"
    (ROOT / own).mkdir(parents=True)
    handed_in(ROOT / own / "lab0")
    try:
        done = grade(f"LABS={own}", "T=vector_reverse", "JSON=1", **NO_BOX,
                     PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    finally:
        for path in [ROOT / own, *ROOT.glob(f"build/*/from/{own}"),
                     *ROOT.glob(f"build/grade/{own.replace('/', '-')}")]:
            shutil.rmtree(path)
    assert done.returncode == 0 and '"sandbox": "process"' in done.stdout, done.stderr


def test_labs_is_a_plain_name_too():
    assert "LABS=" not in grade("-n").stderr


@pytest.mark.parametrize("option", ["DEVICES=cuda", "DEVICES=cpu,cuda", "SAN=1"])
def test_what_needs_more_than_a_sandbox_gives_is_refused(tmp_path, taken, option):
    folder = handed_in(tmp_path / "ada")
    done = grade(f"SUBMISSION={folder}", option)
    assert done.returncode == 2 and "no sandbox" in done.stderr
    assert not taken(folder)


def test_an_empty_submission_is_nobodys_grade(tmp_path, taken):
    (tmp_path / "empty").mkdir()
    for name, words in [(tmp_path / "empty", "no file of lab 0"), ("", "names no folder"),
                        (tmp_path / "none", "no such folder")]:
        done = grade(f"SUBMISSION={name}")
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert not name or not taken(name)
