"""The workflows for GitHub, as text and as the shell that runs their lines: what they need is there
or they say so and stop."""

import os
import re
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


def check(bwrap: str, tmp_path, **env: str) -> subprocess.CompletedProcess:
    """Runs the step that looks, where bubblewrap is this shell script, or the machine's."""
    step, = (s for s in steps() if "sandbox.py" in s)
    script = re.search(r"run: \|\n((?: {10}.*\n)+)", step)[1]
    programs = [("bwrap", bwrap)] if bwrap else []
    for name, text in (*programs, ("python3", f'exec {sys.executable} "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return subprocess.run(["bash", "-e", "-c", re.sub(r"^ {10}", "", script, flags=re.MULTILINE)],
                          cwd=ROOT, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"} | env,
                          capture_output=True, text=True)


@pytest.mark.parametrize("bwrap, token, words", [
    ("", "", "SUBMISSIONS_TOKEN"),
    ("exit 0", "x", "the self-test did not run"),
    ("echo 'bwrap: no permissions' >&2; exit 1", "x", "bwrap: no permissions")])
def test_the_instructors_workflow_stops_without_what_it_needs(tmp_path, bwrap, token, words):
    done = check(bwrap, tmp_path, TOKEN=token, GRADLAB_TIER="B")
    assert done.returncode == 1 and done.stdout.startswith("::error::") and words in done.stdout
    assert done.stdout.count("\n") == 1


def test_it_goes_on_with_both(tmp_path):
    done = check("", tmp_path, TOKEN="x")
    assert (done.returncode, done.stdout) == (0, "")


def test_it_looks_before_anything_of_the_student_is_here():
    looks, = (n for n, step in enumerate(steps()) if "sandbox.py" in step)
    fetches, = (n for n, step in enumerate(steps()) if "inputs.repository" in step)
    assert looks < fetches and "token: ${{ secrets.SUBMISSIONS_TOKEN }}" in steps()[fetches]
