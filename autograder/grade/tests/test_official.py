"""Grading what others hand in (SUBMISSION=): the name of a folder is never a command, and without a
sandbox nothing of a submission is compiled or run."""

import json
import os
import re
import shutil
import subprocess
import threading
import time

import make
import pytest
import seeds
import submission
import text
from submission import ROOT

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
    with open(folder / "vector_add.c", "a") as file:  # no other test has the same snapshot
        file.write(f"/* {str(folder).encode().hex()} */\n")
    return folder


SECRET = "5ecret" * 7


@pytest.fixture(autouse=True)
def secret(tmp_path, monkeypatch):
    """The course's."""
    path = tmp_path / "secret"
    path.write_text(SECRET)
    path.chmod(0o600)
    monkeypatch.setenv("GRADLAB_SECRET", str(path))
    return path


def grade(*words: str, **env: str) -> subprocess.CompletedProcess:
    done = make.run("-C", str(ROOT), "grade", "LAB=0", *words, timeout=300, **env)
    assert SECRET not in done.stdout + done.stderr
    hit = ROOT / HIT
    was_hit = hit.exists()
    hit.unlink(missing_ok=True)
    assert not was_hit, done.stdout + done.stderr
    return done


def document(done) -> dict:
    """grade.json, between what make says of its folder."""
    return json.loads(done.stdout[done.stdout.index("{\n"):done.stdout.rindex("}\n") + 2])


@pytest.fixture
def taken():
    """Says which files were taken from a folder; in the end they go, and what was built of them."""
    folders = set()

    def names(folder) -> set:
        try:
            copy = submission.folder_of(folder, submission.collect(folder, 0)[0], 0)
        except submission.Refused:
            return set()
        folders.add(copy)
        return {p.name for p in (ROOT / copy / "lab0").glob("*")}

    yield names
    for copy in folders:
        if (ROOT / copy).exists():
            submission.remove(ROOT / copy)
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
    done = grade(f"SUBMISSION={folder}", f"JUNIT={junit}", "JSON=1", "HTML=1")
    assert done.returncode == 0, done.stderr
    result = document(done)
    page = re.search(r"^as a page, with pictures: (.*)$", done.stderr, re.M)[1]
    assert "<h1>Lab 0" in (ROOT / page).read_text() and SECRET not in (ROOT / page).read_text()
    assert result["sandbox"] and result["taskwise"]
    assert junit.exists() and taken(folder)
    files, _ = submission.collect(folder, 0)
    assert result["submission"]["sha256"] == submission.digest(files, 0)
    assert result["submission"]["name"] == text.visible(folder.name, 100)
    assert (result["seed"], result["seed_from"]) == (
        seeds.derived(SECRET.encode(), 0, submission.digest(files, 0)), "secret")
    assert SECRET not in junit.read_text()


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


def test_a_folder_that_changes_meanwhile_changes_nothing(tmp_path, taken):
    """One file is empty, so a make within the make grades each task by itself, seconds after the
    snapshot is there and the submission is another one."""
    folder = handed_in(tmp_path / "ada")
    (folder / "vector_add.c").write_text("")
    files, _ = submission.collect(folder, 0)
    to = ROOT / submission.folder_of(folder, files, 0)
    assert taken(folder) == set() and not to.exists()

    def change():
        end = time.monotonic() + 60
        while not to.exists() and time.monotonic() < end:
            time.sleep(0.01)
        (folder / "vector_add.c").write_text("int changed;\n")

    thread = threading.Thread(target=change)
    thread.start()
    done = grade(f"SUBMISSION={folder}", "T=vector_add", "JSON=1")
    thread.join()
    assert done.returncode == 0 and document(done)["taskwise"], done.stderr
    assert document(done)["submission"]["sha256"] == submission.digest(files, 0)


def test_a_seed_that_somebody_chose_is_a_regrade(tmp_path, taken):
    folder = handed_in(tmp_path / "ada")
    for words, said in [(["SEED=7"], "REGRADE=1 SEED=s grades once more"),
                        (["REGRADE=1"], "say SEED=s"),
                        (["REGRADE=1", "SEED=x"], "a whole number")]:
        done = grade(f"SUBMISSION={folder}", *words)
        assert done.returncode == 2 and said in done.stderr and not taken(folder)
    done = grade("-n", f"SUBMISSION={folder}", "REGRADE=1", "SEED=7",
                 GRADLAB_SECRET=str(tmp_path / "none"))
    assert done.returncode == 0 and taken(folder), done.stderr


def test_without_the_courses_secret_nothing_is_graded(tmp_path, taken, secret):
    folder = handed_in(tmp_path / "ada")
    secret.chmod(0o644)
    done = grade(f"SUBMISSION={folder}")
    assert done.returncode == 2 and "can be read by others" in done.stderr
    done = grade(f"SUBMISSION={folder}", f"SECRET={tmp_path}/none")
    assert done.returncode == 2 and "make secret makes one" in done.stderr and not taken(folder)


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
