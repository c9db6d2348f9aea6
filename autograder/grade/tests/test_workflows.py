"""The workflows for GitHub, as text and as the shell that runs their lines: what they need is there
or they say so and stop."""

import os
import re
import stat
import subprocess
import sys

import pytest
from submission import ROOT

CI = ROOT / ".github/workflows/ci.yml"
INSTRUCTOR = ROOT / "autograder/grade/ci/instructor.yml"


def jobs(text: str) -> dict:
    """name -> its lines"""
    parts = re.split(r"^  ([\w-]+):.*\n", text.split("\njobs:\n")[1], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def test_a_students_copy_does_not_run_our_ci():
    found = jobs(CI.read_text())
    assert found
    for name, lines in found.items():
        assert re.search(r"^    if: vars\.GRADLAB_CI == 'yes'$", lines, re.MULTILINE), name


def steps() -> list:
    return re.split(r"^      - ", INSTRUCTOR.read_text().split("    steps:\n")[1],
                    flags=re.MULTILINE)[1:]


SECRET = "a course's secret of 32 bytes or more"


def check(bwrap: str, tmp_path, **env: str) -> subprocess.CompletedProcess:
    """Runs the step that looks, where bubblewrap is this shell script, or the machine's."""
    step, = (s for s in steps() if "sandbox.py" in s)
    script = re.search(r"run: \|\n((?: {10}.*\n)+)", step)[1]
    programs = [("bwrap", bwrap)] if bwrap else []
    for name, text in (*programs, ("python3", f'exec {sys.executable} "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    places = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path),
              "GITHUB_ENV": str(tmp_path / "env"), "SEED": ""}
    return subprocess.run(["bash", "-e", "-c", re.sub(r"^ {10}", "", script, flags=re.MULTILINE)],
                          cwd=ROOT, env=places | env, capture_output=True, text=True)


@pytest.mark.parametrize("bwrap, token, secret, words", [
    ("", "", SECRET, "SUBMISSIONS_TOKEN"),
    ("", "x", "", "COURSE_SECRET: the file that GRADLAB_SECRET names holds 0 bytes"),
    ("", "x", "too short", "COURSE_SECRET"),
    ("exit 0", "x", SECRET, "the self-test did not run"),
    ("echo 'bwrap: no permissions' >&2; exit 1", "x", SECRET, "bwrap: no permissions")])
def test_the_instructors_workflow_stops_without_what_it_needs(tmp_path, bwrap, token, secret,
                                                              words):
    done = check(bwrap, tmp_path, TOKEN=token, SECRET=secret, GRADLAB_TIER="B")
    assert done.returncode == 1 and done.stdout.startswith("::error::") and words in done.stdout
    assert done.stdout.count("\n") == 1 and SECRET not in done.stdout + done.stderr


def test_it_goes_on_with_all_three(tmp_path):
    done = check("", tmp_path, TOKEN="x", SECRET=SECRET)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    path = tmp_path / "course-secret"
    assert path.read_text().strip() == SECRET and stat.S_IMODE(path.stat().st_mode) == 0o600
    # what later steps have in their environment is the file's name
    assert (tmp_path / "env").read_text() == f"GRADLAB_SECRET={path}\n"


def test_a_regrade_needs_no_secret(tmp_path):
    assert check("", tmp_path, TOKEN="x", SECRET="", SEED="7").returncode == 0


@pytest.mark.parametrize("seed, words", [("", []), ("7", ["REGRADE=1", "SEED=7"]),
                                         ("7 x=$(y)", ["REGRADE=1", "SEED=7 x=$(y)"])])
def test_make_is_asked_with_the_secrets_name_alone(seed, words):
    step, = (s for s in steps() if "make grade" in s)
    script = re.search(r"run: >-\n((?: {10}.*\n)+)", step)[1]
    line = " ".join(script.split()).replace("make grade", "printf '%s\\n'", 1)
    env = {"SEED": seed, "LAB": "2", "RUNNER_TEMP": "/t"}
    said = subprocess.run(["bash", "-e", "-c", line], env=env, capture_output=True, text=True)
    assert said.stdout.splitlines() == ["LAB=2", "SUBMISSION=../submission", "TASKWISE=1", *words,
                                        "JUNIT=/t/grade.xml"]
    secret = [s for s in steps() if "COURSE_SECRET }}" in s]
    assert len(secret) == 1 and "sandbox.py" in secret[0]


def test_it_looks_before_anything_of_the_student_is_here():
    looks, = (n for n, step in enumerate(steps()) if "sandbox.py" in step)
    fetches, = (n for n, step in enumerate(steps()) if "inputs.repository" in step)
    assert looks < fetches and "token: ${{ secrets.SUBMISSIONS_TOKEN }}" in steps()[fetches]
