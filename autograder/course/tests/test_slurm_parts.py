"""A class in parts on a cluster, with stand-ins: sbatch notes what it is given, make grades by a
word in a file (classroom.py). On a real one: tests/term/test_slurm.py."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from classroom import REPO, Classroom

SBATCH = """#!/bin/bash
printf '%s\\n' "$*" >>{root}/submitted
env >{root}/environment
[ ! -e {root}/refuses ] || { echo 'sbatch: error: invalid partition' >&2; exit 1; }
echo "$(wc -l <{root}/submitted);cluster"
"""


class Cluster(Classroom):
    """A classroom whose ROOT is a git repository, with an sbatch."""

    def __init__(self, root: Path):
        super().__init__(root)
        (root / "bin/sbatch").write_text(SBATCH.replace("{root}", str(root)))
        (root / "bin/sbatch").chmod(0o755)
        (root / "Makefile").write_text("")
        self.git("init", "-q")
        self.git("add", "Makefile")
        self.git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "x")
        self.parts = root / f"{self.out.name}-parts"

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True)

    def submit(self, *more: str, status: int = 0) -> str:
        return self.run("slurm", *self.words(*more)[1:], status=status)

    def submitted(self) -> list:
        path = self.root / "submitted"
        return path.read_text().splitlines() if path.exists() else []

    def task(self, name: str, make: str, **env: str) -> tuple:
        """(a job's script, its environment), with another make."""
        (self.root / "bin/make").write_text(f"#!/bin/bash\n{make}\n")
        env = os.environ | {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
                            "SLURM_SUBMIT_DIR": str(self.root), "TMPDIR": str(self.root / "tmp"),
                            "SLURM_CPUS_PER_TASK": "3", "SLURMD_NODENAME": "n7"} | env
        (self.root / "tmp").mkdir(exist_ok=True)
        return REPO / f"autograder/course/slurm/{name}.sbatch", env

    def job(self, name: str, *words: str, **env: str) -> tuple:
        """(status, what it said), with a make that notes its words."""
        program, env = self.task(name, f'printf "%s\\n" "$*" >>{self.root}/made; '
                                       'exit "${ENDS:-0}"', **env)
        done = subprocess.run([program, *words], env=env, capture_output=True, text=True,
                              timeout=60)
        return done.returncode, done.stdout + done.stderr

    def made(self) -> list:
        return (self.root / "made").read_text().splitlines()


def words_of_share(room) -> list:
    """What sbatch was given for the array."""
    words = shlex.split(room.submitted()[0])
    return words[[w.endswith("share.sbatch") for w in words].index(True) + 1:]


@pytest.fixture
def room(tmp_path):
    return Cluster(tmp_path)


def test_an_array_and_a_job_behind_all_of_it_are_submitted(room):
    room.hand_in("ada", "points 30")
    said = room.submit("SHARDS=4", "JOBS=6", "DUE=2026-11-22 18:00+00:00", "ATTEMPT=best")
    array, last = room.submitted()
    assert "--array=1,2,3,4 --cpus-per-task=6 " in array and "share.sbatch" in array
    assert "--dependency=afterany:1 " in last and "collect.sbatch" in last
    assert "job 1 grades in 4 tasks; then job 2" in said and str(room.parts) in said
    assert last.endswith(f" LAB=2 OUT={room.out} JOBS=6 SHARDS=4")  # what grades a part again
    for i in range(1, 5):  # all of them go by what OUT knows
        known = json.loads((room.parts / f"{i}-of-4/labs.json").read_text())["2"]
        assert known.pop("shard") == f"{i}/4"
        assert known == json.loads((room.out / "labs.json").read_text())["2"]
        assert known["due"] == "2026-11-22T18:00:00+00:00" and known["policy"]["attempt"] == "best"


def test_what_was_typed_for_make_and_the_secret_stay_here(room, monkeypatch):
    room.hand_in("ada", "points 30")
    monkeypatch.setenv("MAKEFLAGS", " -- SHARDS=2 OUT=x")
    monkeypatch.setenv("SHARDS", "2")
    monkeypatch.setenv("CC", "gcc-12")
    room.submit("SHARDS=2")
    environment = (room.root / "environment").read_text().splitlines()
    assert "CC=gcc-12" in environment
    assert not [v for v in environment if v.startswith(("MAKE", "SHARDS", "OUT="))]
    text = "\n".join([*environment, *room.submitted()])
    assert "s" * 64 not in text and f"SECRET={room.root / 'secret'}" in text


def test_parts_alone_are_submitted_again_and_are_no_longer_ended(room):
    room.hand_in("ada", "points 30")
    room.submit("SHARDS=4")
    for i in range(1, 5):
        (room.parts / f"lab2.{i}-of-4.ended").write_text("0\n")
    room.submit("SHARDS=4", "ONLY=4,2")
    assert "--array=2,4 " in room.submitted()[2]
    assert sorted(p.name for p in room.parts.glob("*.ended")) == [
        "lab2.1-of-4.ended", "lab2.3-of-4.ended"]


def test_a_new_roster_reaches_every_part(room):
    room.hand_in("ada", "points 30")
    for text in ("id\nada\n", "id,extension\nada,3\n"):
        (room.root / "roster.csv").write_text(text)
        room.submit("SHARDS=3", "ONLY=1", f"ROSTER={room.root / 'roster.csv'}")
        assert {p.read_text() for p in room.parts.glob("*/roster.csv")} == {text}


@pytest.mark.parametrize("words, said", [
    ([], "SHARDS=: a whole number"), (["SHARDS=1001"], "from 1 to 1000"),
    (["SHARDS=2", "ONLY=3"], "'3' is none of the numbers from 1 to SHARDS=2"),
    (["SHARDS=2", "ONLY=1,,2"], "'' is none"), (["SHARDS=2", "SHARD=1/2"], "not an option"),
    (["SHARDS=2", "ROSTER=/none"], "ROSTER=/none: there is no such"),
    (["SHARDS=2", "DUE=soon"], "'soon' is no time"), (["SHARDS=2", "JOBS=x"], "JOBS=x")])
def test_what_was_mistyped_is_said_before_anything_is_submitted(room, words, said):
    room.hand_in("ada", "points 30")
    assert said in room.submit(*words, status=2)
    assert not room.submitted() and not room.parts.exists()


def test_what_is_not_committed_is_not_graded_with(room):
    room.hand_in("ada", "points 30")
    (room.root / "Makefile").write_text("all:\n")
    assert "Makefile is not committed" in room.submit("SHARDS=2", status=2)
    assert not room.submitted()


@pytest.mark.parametrize("name", ["a,b", "a%j"])
def test_a_name_that_slurm_or_merge_would_read_as_something_else_is_refused(room, name):
    room.hand_in("ada", "points 30")
    room.out = room.root / name
    assert "neither Slurm nor make merge takes" in room.submit("SHARDS=2", status=2)


def test_what_sbatch_refuses_is_said(room):
    room.hand_in("ada", "points 30")
    (room.root / "refuses").touch()
    assert "sbatch: error: invalid partition" in room.submit("SHARDS=2", status=2)


def test_a_task_grades_its_part_in_a_clone_and_says_how_it_ended(room):
    room.hand_in("ada", "points 30")
    room.submit("SHARDS=2")
    words = words_of_share(room)
    status, said = room.job("share", *words, SLURM_ARRAY_TASK_ID="2", SLURM_RESTART_COUNT="1",
                            ENDS="2")
    assert status == 2 and "== lab 2, part 2-of-2, on n7, start 2" in said, said
    assert room.made() == [f"grade-class LAB=2 OUT={room.parts / '2-of-2'} SHARD=2/2 JOBS=3 "
                           f"SUBMISSIONS={room.handed_in} SECRET={room.root / 'secret'}"]
    assert (room.parts / "lab2.2-of-2.ended").read_text() == "2\n"
    assert not list((room.root / "tmp").iterdir())


def test_a_cancelled_task_waits_for_its_make_and_clears_up(room):
    room.hand_in("ada", "points 30")
    room.submit("SHARDS=2")
    words, started = words_of_share(room), room.root / "started"
    program, env = room.task("share", f"trap 'sleep 1; exit 2' TERM; touch {started}; sleep 60 & "
                             "wait", SLURM_ARRAY_TASK_ID="1")
    with subprocess.Popen([program, *words], env=env, start_new_session=True) as task:
        while not started.exists():
            time.sleep(0.01)
        os.killpg(task.pid, signal.SIGTERM)  # as Slurm does
        assert task.wait(60) == 2
    assert (room.parts / "lab2.1-of-2.ended").read_text() == "2\n"
    assert not list((room.root / "tmp").iterdir())


def test_a_task_without_a_clone_has_not_ended(room):
    room.parts.mkdir()
    status, _ = room.job("share", "0" * 40, "2", str(room.parts), "2", SLURM_ARRAY_TASK_ID="1")
    assert status != 0 and not list(room.parts.iterdir()) and not (room.root / "made").exists()


@pytest.mark.parametrize("ended, status, lines", [
    ("000", 0, []), ("0-0", 1, ["part 2: missing", "make x ONLY=2"]),
    ("02-", 1, ["part 2: not all of it", "    two", "part 3: missing", "make x ONLY=2,3"])])
def test_the_last_job_merges_and_says_what_is_missing(room, ended, status, lines):
    room.parts.mkdir()
    (room.parts / "lab2.2-of-3.log").write_text("one\ntwo\n")
    for i, said in enumerate(ended, 1):
        if said != "-":
            (room.parts / f"lab2.{i}-of-3.ended").write_text(f"{said}\n")
    found, said = room.job("collect", "3", str(room.parts), "2", str(room.out), "make x")
    assert found == status and all(line in said for line in lines), said
    assert said.count("part ") == ended.count("-") + ended.count("2")
    parts = ",".join(str(room.parts / f"{i}-of-3") for i in (1, 2, 3))
    assert room.made() == [f"merge FROM={parts} OUT={room.out}"]


def test_a_merge_that_fails_is_no_success(room):
    room.parts.mkdir()
    (room.parts / "lab2.1-of-1.ended").write_text("0\n")
    assert room.job("collect", "1", str(room.parts), "2", str(room.out), "x", ENDS="2")[0] == 2
