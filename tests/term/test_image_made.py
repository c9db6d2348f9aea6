"""make image, for real: an image of this commit, in which submissions are graded by podman as in an
ordinary container. Half an hour, root, mmdebstrap, buildah, podman and Debian's packages, so make
test-all alone runs it, and like the bare Debians not where DISTROS= is empty.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Within a machine that is a container itself: the older form of cgroups, limits that are there.
CAREFUL = ("--runtime=/usr/sbin/runc", "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
LAB = 1
START_S = 10


def run(*words, **more) -> subprocess.CompletedProcess:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, **more)


class Image:
    """One that is made, and taken away again; `engine` is how this machine starts it."""

    def __init__(self, folder: Path):
        self.tag, self.archive = f"localhost/gradlab-test:{os.getpid()}", folder / "image.tar"
        self.secret = folder / "secret"
        made = run("make", "secret", f"SECRET={self.secret}", cwd=ROOT)
        assert made.returncode == 0, made.stderr
        # (whoever is graded beside it, in tier C, has this user)
        beside = subprocess.Popen(["setpriv", "--reuid=61200", "--clear-groups", "sleep", "7200"])
        made = run("make", "image", f"OUT={self.archive}", f"TAG={self.tag}", cwd=ROOT)
        self.ended_others = beside.poll() is not None
        beside.kill()
        assert made.returncode == 0, made.stdout + made.stderr
        self.said = made.stderr
        # (what is graded is what the archive holds)
        run("podman", "rmi", self.tag, check=True)
        loaded = run("podman", "load", "-i", self.archive)
        assert self.tag in loaded.stdout, loaded.stdout + loaded.stderr
        self.engine = ["podman", "run", "--rm", "--network=none"]
        if run(*self.engine, self.tag, "true").returncode:
            self.engine += CAREFUL

    def inside(self, *words, mounts=()) -> list:
        seen = [f"--volume={self.secret}:/gradlab/.course-secret:ro", *mounts]
        return [*self.engine, *seen, self.tag, *map(str, words)]


def handed_in(folder: Path, source: str, place: str = "/in") -> str:
    shutil.copytree(ROOT / source / f"lab{LAB}", folder / f"lab{LAB}")
    return f"--volume={folder}:{place}:ro"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    made = Image(tmp_path_factory.mktemp("image"))
    yield made
    run("podman", "rmi", "-f", made.tag)


def test_its_labs_were_graded_when_it_was_made(image):
    labs = sorted(path.parent.name for path in (ROOT / "autograder").glob("lab*/lab.toml"))
    assert "image: sandbox: " in image.said
    for lab in labs:
        assert f"\n{lab}: done" in image.said or f"\n{lab}: 100/100" in image.said


def test_nobody_else_was_ended_when_it_was_made(image):
    assert not image.ended_others


def test_it_holds_no_secret_and_nothing_that_was_graded(image):
    # (without the mount)
    paths = (".course-secret", ".git", "build/secret", "build/grade", "build/submissions",
             "build/*/from")  # fmt: skip
    wanted = [f"/gradlab/{path}" for path in paths] + ["*/bin/nvcc", "*/90host", "/tmp/?*"]
    words = " -o ".join(f"-path {path}" for path in wanted).split()
    found = run(*image.engine, image.tag, "find", "/", "-xdev", *words, check=True)
    assert found.stdout == ""
    assert "SECRET" not in run(*image.engine, image.tag, "env", check=True).stdout


@pytest.mark.parametrize("source, points", [("labs", 0), ("solution", 100)])
def test_it_grades(image, tmp_path, source, points):
    done = run(*image.inside("make", "grade", f"LAB={LAB}", "SUBMISSION=/in", "JSON=1",
                             mounts=[handed_in(tmp_path, source)]))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    grade = json.loads(done.stdout)
    commit = run("git", "describe", "--always", "--abbrev=12", cwd=ROOT).stdout.strip()
    assert grade["score"]["points"] == points
    assert grade["sandbox"][0] in "ABC" and grade["grader"]["version"] == commit
    assert grade["seed_from"] == "secret"


def began(image, handed: str) -> float:
    """Seconds until the first of the student's files is compiled; of ours nothing is any more."""
    words = image.inside("make", "grade", f"LAB={LAB}", "SUBMISSION=/in", mounts=[handed])
    begin, first, built = time.monotonic(), 0.0, []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as it:
        for line in it.stdout:
            if line.lstrip().startswith(("CC ", "CUCC ", "LINK ")):
                first = first or time.monotonic() - begin
                built.append(line.split()[-1])
    assert it.returncode == 0 and built
    assert not [name for name in built if "/from/build/submissions/" not in name]
    return first


def test_it_begins_with_the_students_files(image, tmp_path):
    """Within ten seconds; the best of three, for a machine that has other work."""
    handed = handed_in(tmp_path, "solution")
    assert min(began(image, handed) for _ in range(3)) <= START_S


def test_gradescopes_harness_finds_results(image, tmp_path):
    """Its folders, and what an assignment called "Lab 1" hands in."""
    there = handed_in(tmp_path / "submission", "solution", "/autograder/submission")
    metadata, results = tmp_path / "submission_metadata.json", tmp_path / "results"
    metadata.write_text(json.dumps({"assignment": {"title": f"Lab {LAB}"}}))
    results.mkdir()
    done = run(*image.inside("/autograder/run_autograder", mounts=[
        there, f"--volume={metadata}:/autograder/{metadata.name}",
        f"--volume={results}:/autograder/results"]))  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((results / "results.json").read_text())["score"] == 100


def test_without_a_secret_nothing_is_graded(image, tmp_path):
    done = run(*image.engine, handed_in(tmp_path, "solution"), image.tag, "make", "grade",
               f"LAB={LAB}", "SUBMISSION=/in")  # fmt: skip
    assert done.returncode == 2 and ".course-secret is not there" in done.stderr


def test_without_a_tier_nothing_is_graded(image, tmp_path):
    """A root who may not become somebody else."""
    mounts = ["--cap-drop=ALL", handed_in(tmp_path, "solution")]
    done = run(*image.inside("make", "grade", f"LAB={LAB}", "SUBMISSION=/in", mounts=mounts))
    assert done.returncode == 2 and f"lab{LAB}: " not in done.stdout
    assert "no tier holds here" in done.stderr and "or grade as root in a container" in done.stderr


def test_a_submission_reads_no_solution(image):
    done = run(*image.inside("make", "hostile", "CASE=read,escape_reads_files,escape_proc_root"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(", 0 failed")


if os.environ.get("GRADLAB_TEST_ALL") != "1" or os.environ.get("DISTROS") == "":
    for name in [name for name in globals() if name.startswith("test_")]:
        del globals()[name]  # (else they would be skipped, and named)
