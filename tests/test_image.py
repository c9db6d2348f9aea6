"""The image's parts that can be looked at without building one: one list of packages, what make
image refuses, and the editor's container. tests/term/test_image_made.py builds one.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import machines
import pytest
from relink import ROOT

CONTAINERFILE = (ROOT / "image/Containerfile").read_text()
STAGES = dict(re.findall(r"^FROM \S+ AS (\w+)\n((?:(?!FROM ).*\n?)*)", CONTAINERFILE, re.M))
# what no goal of gradlab needs: make itself, and what somebody who edits wants
BESIDE = {"tools": ["make"], "grading": [],
          "devcontainer": ["git", "ca-certificates", "gdb", "gettext"]}


def build(*words: str, **more) -> str:
    """What make image says, and does not do."""
    done = subprocess.run([ROOT / "image/build.sh", *words], capture_output=True, text=True,
                          timeout=60, **more)  # fmt: skip
    assert done.returncode == 2 and not done.stdout, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def needs(folder: Path, expression: str) -> list:
    """What probe.sh says in a folder."""
    done = subprocess.run(["bash", "-c", f". tools/probe.sh; {expression}"], cwd=folder,
                          capture_output=True, text=True, timeout=120, check=True)  # fmt: skip
    return done.stdout.split()


# ---- one list of packages ------------------------------------------------------------------------

def test_packages_are_those_of_setup():
    assert set(STAGES) == set(BESIDE)
    for stage, text in STAGES.items():
        lines = re.sub(r"\\\n", " ", text)
        asked = re.findall(r"apt-get\s+install\s+-y\s+--no-install-recommends((?: +[a-z-]+)+)",
                           lines)  # fmt: skip
        assert [p for words in asked for p in words.split()] == BESIDE[stage], stage
        assert lines.count("install ") == len(asked)
    assert "tools/setup.sh grade-class" in STAGES["tools"]


def test_that_goal_needs_what_labs_and_grading_need():
    labs = sorted(path.parent.name for path in (ROOT / "autograder").glob("lab*/lab.toml"))
    there = set(needs(ROOT, "needs_of grade-class"))
    for goal in (*labs, "grade", "grade-class", "secret", "export", "submit", "replay"):
        assert set(needs(ROOT, f"needs_of {goal}")) <= there, goal


def test_setup_finds_what_it_reads_in_the_image(tmp_path):
    """With the copied files alone it sees a machine as it does with all of them."""
    copied = re.findall(r"^COPY (\S+) (\S+)$", STAGES["tools"], re.M)
    for source, target in copied:
        assert target == (source if source.endswith("/") else f"{Path(source).parent}/")
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.endswith("/") else shutil.copy
        copy(ROOT / source, tmp_path / source)
    lacking = 'for n in $(needs_of grade-class); do "have_$n" 2>/dev/null || echo "$n"; done'
    lacking = f"PYTHON=python3; {lacking}"
    assert needs(tmp_path, lacking) == needs(ROOT, lacking)


# ---- what is refused -----------------------------------------------------------------------------

@pytest.mark.parametrize("words, said", [
    (["TAG=Gradlab"], "TAG=Gradlab: a name of small letters"),
    (["TAG=a b"], "TAG=a b: a name of small letters"),
    (["OUT=/nowhere/image.tar"], "OUT=/nowhere/image.tar: there is no folder /nowhere"),
    (["OUT=/tmp"], "OUT=/tmp is a folder: name a file"),
    (["FROM=labs"], "FROM=labs is no handout: make handout OUT=folder makes one"),
    (["FROM=/nowhere"], "FROM=/nowhere is no handout")])  # fmt: skip
def test_what_cannot_be_made_is_refused(words, said):
    assert f"image: {said}" in build(*words)


def test_without_a_commit_there_is_no_image(tmp_path):
    shutil.copytree(ROOT / "image", tmp_path / "image")
    done = subprocess.run([tmp_path / "image/build.sh"], capture_output=True, text=True)
    assert done.returncode == 2 and "this is no git repository" in done.stderr


def test_who_is_not_root_is_told(tmp_path, monkeypatch):
    stand_in = tmp_path / "id"
    stand_in.write_text("#!/bin/sh\necho 1000\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "an image is made as root: sudo make image" in build()


# ---- who else uses it ----------------------------------------------------------------------------

def test_the_editors_container_is_a_stage_of_it():
    path = ROOT / ".devcontainer/devcontainer.json"
    made = json.loads(path.read_text())["build"]
    assert (path.parent / made["dockerfile"]).resolve() == ROOT / "image/Containerfile"
    assert (path.parent / made["context"]).resolve() == ROOT
    assert made["target"] in STAGES


def test_its_programs_are_for_the_machines_of_a_handouts():
    kinds = re.findall(r"^(\w+)\) arch=(\S+) ;;", (ROOT / "image/build.sh").read_text(), re.M)
    assert dict(kinds) == {name: machine.arch for name, machine in machines.KNOWN.items()}
    assert f"ARG ARCH={machines.KNOWN['x86_64'].arch}\n" in STAGES["grading"]
