"""test_mine.py: MINE=1 links a student's files alone: none of the solution, no quicker kernel."""

import os
import re
import shutil
import subprocess

import make
import pytest
import skeletons
import table
from submission import ROOT


def planned(*words: str) -> subprocess.CompletedProcess:
    """Shows what `make train MINE=1` would do, and does nothing."""
    return make.run("-C", str(ROOT), "-nB", "V=1", "train", "MINE=1", *words, timeout=120)


def is_made_of(goal: str, suffix: str, kind: str) -> None:
    """The student's files of this suffix are linked into the goal, all of them, and none of ours
    that stand for them."""
    own = [f"labs/lab{n}/{name}" for n in table.numbers() for name in skeletons.own_files(ROOT, n)
           if name.endswith(suffix)]
    done = planned()
    links = [line for line in done.stdout.split("\n") if f" -o {goal} " in line]
    assert own and len(links) == 1, done.stderr
    objects = [word for word in links[0].split() if word.endswith(".o")]
    for name in own:
        stem = name.removesuffix(".c")
        assert [o for o in objects if o.endswith(f"/{stem}{kind}")], name
    assert not [o for o in objects if "/solution/" in o or "/kernels/" in o]


def test_the_trainer_is_made_of_the_students_files():
    is_made_of("build/float/mine/train", ".c", ".mine.o")


def test_the_device_beside_it_is_too():
    is_made_of("build/float/mine/libtl_hostcuda.so", ".cu", ".host.o")


def test_a_handout_links_again_when_mine_is_typed_or_not(tmp_path):
    """Other objects under the same names: a reference of a closed lab may be older than what was
    linked without it."""
    for name in ("Makefile", "mk", "labs", "tools", "autograder", "kernels", "hostcuda", "tl",
                 "programs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "VERSION").write_text("gradlab 0\n")
    closed = tmp_path / "given" / os.uname().machine / "float/solution/lab4"
    closed.mkdir(parents=True)
    (closed / "tape.o").touch()
    listed, seen = "build/float/mine/objects", []
    for typed in ([], [], ["MINE=1"]):
        make.run("-C", str(tmp_path), listed, *typed, timeout=120)
        file = tmp_path / listed
        seen.append((file.read_text().split(), file.stat().st_mtime_ns))
    assert seen[0] == seen[1] and seen[1][1] != seen[2][1]
    assert "solution/lab4/tape.c" in seen[0][0] and "lab4/tape.c" not in seen[0][0]
    assert "lab4/tape.c" in seen[2][0] and "solution/lab4/tape.c" not in seen[2][0]
    made = [f"build/float/mine/{name}" for name in ("train", "libtl_hostcuda.so")]
    known = make.run("-C", str(ROOT), "-np", "MINE=1", *made, timeout=120).stdout
    for goal in made:
        rule = re.search(rf"^{re.escape(goal)}: (.*)$", known, re.M)
        assert rule and listed in rule[1].split("|")[0].split()


@pytest.mark.parametrize("mode", ["", "SAN=1", "CHECK=1", "REAL=double"])
def test_make_has_nothing_to_say_of_its_own_rules(mode):
    done = planned(*mode.split())
    assert done.returncode == 0 and done.stderr == ""


def test_asking_for_quicker_kernels_is_refused():
    done = planned("RUNGS=all")
    assert done.returncode != 0
    assert "leave out RUNGS" in done.stderr


def test_a_missing_file_is_named_with_the_command_that_puts_it_back(tmp_path):
    for name in ("Makefile", "mk", "labs", "tools", "autograder", "kernels", "solution", "hostcuda",
                 "tl", "programs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "labs").unlink()
    shutil.copytree(ROOT / "labs", tmp_path / "labs")
    (tmp_path / "labs/lab2/im2col.c").rename(tmp_path / "labs/lab2/im2col.C")
    done = make.run("-C", str(tmp_path), "-n", "train", "MINE=1", timeout=120)
    assert done.returncode == 2
    assert ("MINE=1: labs/lab2/im2col.c is missing: mv labs/lab2/im2col.C labs/lab2/im2col.c gives "
            "that file its name, or make restore LAB=2 T=im2col puts its skeleton back"
            ) in done.stderr
