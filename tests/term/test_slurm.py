"""A class of lab 0 graded on a Slurm cluster of three nodes: one is lost in the middle, and one
task is cancelled. What the first had begun goes on elsewhere; the second is named, with the line
that grades it; and in the end the class is what one machine alone would have made of it. Once with
the stand-in of course/tests/classroom.py for `make grade`, which takes its time and no more, and
once with the real one. Some minutes, so make test-all alone runs it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import attempts
import document
import make
import pytest
import slurm_cluster
from test_rooms import ROOT, tracked

sys.path.append(str(ROOT / "autograder/course/tests"))
import classroom  # noqa: E402 (found by the line above)

PARTS, EACH = 3, 3
LOST, CANCELLED = 2, 3  # numbers of parts
LIMIT_S = 1800  # of each step, where other work goes on beside


def checkout(folder: Path) -> Path:
    """Everything as it stands here, committed: nodes clone it."""
    for name in tracked(ROOT, ""):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.edu"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def part_of(name: str) -> int:
    """By the rule that grade-class has, which is the same for what is nobody's."""
    return next(i for i in range(1, PARTS + 1)
                if attempts.of_shard([], [(name, "")], None, f"{i}/{PARTS}")[1])


def class_of(folder: Path, real: bool) -> list:
    """EACH students in each of PARTS; no two have equal files, which would be graded once."""
    names, counts = [], Counter()
    for name in (f"s{number}" for number in range(1000)):
        if counts[part_of(name)] < EACH:
            counts[part_of(name)] += 1
            names.append(name)
            of = "labs" if len(names) % 3 == 2 else "solution"
            shutil.copytree(ROOT / of / "lab0", folder / name)
            path = sorted((folder / name).glob("*.c"))[0]
            path.write_text(path.read_text() + f"/* {name} */\n" if real else
                            f"/* points {len(names)} waits 5000 */\n")
    assert set(counts.values()) == {EACH} and len(counts) == PARTS
    return names


def grading(folder: Path) -> str:
    """A PATH on which `make grade` is the stand-in, and every other make is make."""
    (folder / "bin").mkdir()
    (folder / "bin/stand-in").write_text(classroom.MAKE.format(
        python=sys.executable, schema=document.SCHEMA, rules=document.rules_hash()))
    (folder / "bin/make").write_text(
        f'#!/bin/bash\nif [ "$1" = grade ]; then exec {folder}/bin/stand-in "$@"; fi\n'
        f'exec {shutil.which("make")} "$@"\n')
    for name in ("stand-in", "make"):
        (folder / "bin" / name).chmod(0o755)
    return f"{folder / 'bin'}:{os.environ['PATH']}"


def run(folder: Path, *words: str, env: dict) -> str:
    done = make.run("-C", str(folder), *words, timeout=LIMIT_S, **env)
    assert done.returncode == 0, f"make {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def graded(part: Path) -> dict:
    """Attempts that are there, and what tells one from another that was written later."""
    return {p.parent: p.stat().st_ino for p in part.glob("*/lab0/*/grade.json")}


def job_of(cluster, said: str) -> tuple:
    """(array, last job) of what make grade-slurm said."""
    match = re.search(r"job (\d+) grades in .* then job (\d+) puts", said)
    assert match, said
    return match.groups()


def ended(cluster, job: str, log: Path, seconds: float = LIMIT_S) -> str:
    """What the last job said."""
    slurm_cluster.wait(lambda: re.search(rf"^JobId={job} .* JobState=(?!PENDING|RUNNING)",
                                         (cluster.folder / "jobcomp.txt").read_text(), re.M)
                       if (cluster.folder / "jobcomp.txt").exists() else None,
                       seconds, f"the end of job {job}")
    return log.read_text()


def disturb(cluster, array: str, parts: Path) -> dict:
    """Loses a node and cancels a task, each as soon as it has graded one of its part and not all;
    returns what the lost one had graded."""
    def begun(number):
        return 0 < len(graded(parts / f"{number}-of-{PARTS}")) < EACH

    waiting, kept = {LOST, CANCELLED}, {}
    while waiting:
        number = slurm_cluster.wait(lambda: next(filter(begun, waiting), None), LIMIT_S,
                                    f"the middle of {waiting}")
        waiting.remove(number)
        if number == LOST:
            log = (parts / f"lab0.{LOST}-of-{PARTS}.log").read_text()
            cluster.lose(re.findall(r"on (n\d), start 1", log)[-1])
            kept = graded(parts / f"{LOST}-of-{PARTS}")
        else:
            assert subprocess.run(["scancel", f"{array}_{CANCELLED}"], env=cluster.env
                                  ).returncode == 0
    return kept


def secret_stands_nowhere(folder: Path, secret: Path) -> None:
    text = secret.read_bytes().strip()
    paths = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and p != secret]
    assert len(paths) > 100 and not [p for p in paths if text in p.read_bytes()]


@pytest.mark.parametrize("real", [False, True])
def a_class_on_a_cluster(tmp_path, real):
    copy, students = checkout(tmp_path / "gradlab"), class_of(tmp_path / "in", real)
    alone, term, parts = (tmp_path / name for name in ("alone", "term", "term-parts"))
    env = {"PYTHON": sys.executable, "TMPDIR": str(tmp_path / "tmp")}
    if not real:
        env["PATH"] = grading(tmp_path)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "roster.csv").write_text("id\n" + "".join(f"{s}\n" for s in [*students, "absent"]))
    words = [f"SUBMISSIONS={tmp_path / 'in'}", "LAB=0", f"SECRET={tmp_path / 'secret'}", "JOBS=1",
             f"ROSTER={tmp_path / 'roster.csv'}", "DUE=2099-01-01 18:00", "ATTEMPT=best"]
    (tmp_path / "policy.toml").write_text("allowance = 9\npercent_per_day = 1\n")
    words.append(f"POLICY={tmp_path / 'policy.toml'}")
    run(copy, "secret", words[2], env=env)
    run(copy, "grade-class", *words, f"OUT={alone}", env=env)

    with slurm_cluster.Cluster(tmp_path / "cluster", nodes=PARTS) as cluster:
        env = cluster.env | env
        said = run(copy, "grade-slurm", *words, f"OUT={term}", f"SHARDS={PARTS}", env=env)
        array, last = job_of(cluster, said)
        before = disturb(cluster, array, parts)
        said = ended(cluster, last, parts / "lab0.log")
        history = (cluster.folder / "jobcomp.txt").read_text()

        # the lost part has gone on where it was, on another node; the cancelled one is named
        assert f"part {LOST}:" not in said and "part 1:" not in said
        assert re.search(rf"^part {CANCELLED}: ", said, re.M) and "JobState=NODE_FAIL" in history
        log = (parts / f"lab0.{LOST}-of-{PARTS}.log").read_text()
        first, second = (re.findall(rf"on (n\d), start {n}$", log, re.M) for n in (1, 2))
        assert len(first) == len(second) == 1 and first != second
        assert f"{len(before)} are graded already" in log
        now = graded(parts / f"{LOST}-of-{PARTS}")
        assert len(now) == EACH and now.items() >= before.items()
        assert (term / "class.csv").read_text() != (alone / "class.csv").read_text()

        line = said.splitlines()[-1]
        assert line.startswith("make grade-slurm ") and line.endswith(f" ONLY={CANCELLED}")
        array, last = job_of(cluster, run(copy, *shlex.split(line)[1:], env=env))
        said = ended(cluster, last, parts / "lab0.log")
        assert "missing" not in said and "part " not in said
        leftover = list((tmp_path / "tmp").glob("gradlab-*"))
        assert len(leftover) == 1, leftover  # the lost node's, whose power has failed

    assert (term / "class.csv").read_bytes() == (alone / "class.csv").read_bytes()
    assert sorted(p.relative_to(term) for p in graded(term)) == sorted(
        p.relative_to(alone) for p in graded(alone))
    logs = "".join(p.read_text() for p in parts.glob("lab0.*-of-*.log"))
    times = Counter(re.findall(r"^\[\d+/\d+\] (\w+), attempt 1: \d+/\d+", logs, re.M))
    assert set(times) <= set(students) and set(times.values()) == {1}
    secret_stands_nowhere(tmp_path, tmp_path / "secret")


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_class_on_a_cluster = a_class_on_a_cluster
