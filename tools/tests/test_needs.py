"""A goal whose needs are missing says so in one line, with the command, before any tool does in
words of its own."""

import os
import re
import subprocess
from pathlib import Path

import machines
import make
import pytest
from conftest import ROOT
from small_mounts import Mount

# goals that anybody can run, and two that look for themselves: what they need is theirs to bring
BARE = {"setup", "doctor", "clean", "gpu-suite", "test-distros", "compile_commands.json"}
WITH = {"grade": ["LAB=1"], "restore": ["LAB=1", "T=tensor"], "mutants": ["LAB=1"],
        "broken": ["LAB=2"], "taskwise": ["LAB=1"], "grader-soak": ["LAB=1"],
        "cuda-all": ["NVCC=none"]}
COMPILERS = ("gcc*", "g++*", "cc", "c++*", "c[89]9*", "*-gcc*", "*-g++*", "clang*", "nvcc")
TOOLS = ("python*", "pypy*", "nm", "objdump", "objcopy", "addr2line", "curl", "latexmk",
         "pdflatex", "xelatex", "clang-format*", "kpsewhich", "mmdebstrap", "buildah")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes this a machine without some programs, and says where its own lie."""
    def make_it(*lacking: str):
        monkeypatch.delenv("GRADLAB_DATA", raising=False)
        path = machines.links(tmp_path / "bin", *lacking)
        monkeypatch.setenv("PATH", str(path))
        if "nvcc" in lacking:
            monkeypatch.setenv("NVCC", "none")  # (nor the one in the toolkit's usual place)
        return path
    return make_it


def said(tree, *words: str) -> str:
    """What `make WORDS` had to say, which is one line and a failure."""
    done = make.run("--no-print-directory", "-C", str(tree), *words, timeout=60)
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == 1 and not done.stdout, done.stdout + done.stderr
    return lines[0]


def goals() -> list:
    """All that `make help ALL=1` lists."""
    help_text = make.run("-C", str(ROOT), "help", "ALL=1", timeout=60).stdout
    return [line.split()[0] for line in help_text.splitlines() if line.startswith("  ")]


def test_on_a_bare_machine_every_goal_names_its_setup(tree, machine):
    machine(*COMPILERS, *TOOLS)
    found = goals()
    assert len(found) > 25
    for goal in set(found) - BARE:
        line = said(tree, goal, *WITH.get(goal, []))
        if goal == "cuda-all":
            assert "make setup cuda-all NVCC=none" in line or "install NVIDIA's" in line
        else:
            assert line.endswith(f"run make setup {goal}.  Stop."), line


@pytest.mark.parametrize("goal, program, words", [
    ("lab1", "python3", "no Python 3.11"), ("grade", "python3", "no Python 3.11"),
    ("lab1", "objdump", "no binutils"), ("grade", "nm", "no binutils"),
    ("lab1", "g++", "no C++17 compiler"), ("hostcuda-test", "g++", "no C++17 compiler"),
    ("train", "gcc", "no C compiler"), ("data", "curl", "no curl"),
    ("format-check", "clang-format", "no clang-format"), ("fuzz", "clang", "no clang with libFuzz"),
    ("baseline", "python3", "no torch 2"), ("report", "latexmk", "no LaTeX"),
])
def test_a_missing_program_is_named(tree, machine, goal, program, words):
    machine(program, *(["python*"] if program == "python3" else []),
            *(["clang*"] if program == "clang" else []))
    line = said(tree, goal, *WITH.get(goal, []))
    # (torch and matplotlib are missing in any case: .venv is)
    assert words in line.replace("no matplotlib and jinja2 in .venv/bin/python, ", "")
    assert f"run make setup {goal}" in line


@pytest.mark.parametrize("goal, library, words", [
    ("lab1", "-lcriterion", "no Criterion 2.4"), ("grade", "-lcriterion", "no Criterion 2.4"),
    ("train", "-lopenblas", "no OpenBLAS"), ("predict", "-fopenmp", "no OpenMP for gcc"),
])
def test_a_missing_library_is_named(tree, machine, goal, library, words):
    path = machine()
    gcc = os.readlink(path / "gcc")
    machines.script(path / "gcc", f"""case " $* " in *" {library} "*) exit 1 ;; esac
exec {gcc} "$@\"""")
    assert words in said(tree, goal, *WITH.get(goal, []))


def test_the_command_has_the_compiler_that_was_asked_for(tree, machine):
    machines.script(machine() / "clang", "exit 1")
    assert "run make setup train CC=clang" in said(tree, "train", "CC=clang")


# ---- nowhere to write ----------------------------------------------------------------------------

def without(mount, what: str, say) -> bool:
    if mount is None:
        say(f"{what}: not tried, nothing can be mounted here ({Mount.refusal})")
    return mount is None


def said_inside(mount, tree, *words: str) -> str:
    done = subprocess.run([*mount.inside, "make", "--no-print-directory", "-C", tree, *words],
                          capture_output=True, text=True, timeout=60)
    lines = [line for line in done.stderr.splitlines() if not re.match(r"make: .* Error 1", line)]
    assert done.returncode == 2 and len(lines) == 1, done.stderr
    return lines[0]


def test_a_read_only_checkout_is_named(tree, machine, say):
    (tree / "build").mkdir(exist_ok=True)
    machine("curl")
    mount = Mount.read_only(tree / "build")
    if without(mount, "a read-only checkout", say):
        return
    with mount:
        lines = [said_inside(mount, tree, "train"), said_inside(mount, tree, "lab1"),
                 said_inside(mount, tree, "setup", "data")]
    for line in lines:
        assert "cannot be written" in line and "copy gradlab to a folder of your own" in line


def test_a_full_disk_is_named(tree, say):
    (tree / "build").mkdir(exist_ok=True)
    mount = Mount.small_disk(tree / "build", "2m")
    if without(mount, "a full disk", say):
        return
    with mount:
        assert "the disk is full: 2 MB are free in build" in said_inside(mount, tree, "train")


def test_shared_memory_that_cannot_be_written_is_named(tree, say):
    mount = Mount.make(Path("/dev/shm"), 'mount -t tmpfs -o ro none "$1"')
    if without(mount, "/dev/shm", say):
        return
    with mount:
        line = said_inside(mount, tree, "grade", "LAB=1")
    assert "/dev/shm cannot be written" in line and "mount -t tmpfs none /dev/shm" in line


# ---- make doctor ---------------------------------------------------------------------------------

def test_the_doctor_may_be_read_by_head():
    done = subprocess.run("make doctor | head -2", shell=True, cwd=ROOT, capture_output=True,
                          text=True, timeout=60)
    assert done.stdout.count("\n") == 2 and done.stderr == ""


def test_the_doctor_knows_what_criterion_and_the_legality_check_cost(tree, machine):
    path = machine("clang*", "nvcc")
    gcc = os.readlink(path / "gcc")
    machines.script(path / "gcc", f"""case " $* " in *" -lcriterion "*) exit 1 ;; esac
exec {gcc} "$@\"""")
    said = make.run("-C", str(tree), "doctor", timeout=60).stdout
    criterion, legality = (said.split(f"missing  {what} ")[1].split("\n")[:3]
                           for what in ("Criterion", "legality"))
    assert "costs: the labs" in criterion[1] and "make setup lab1" in criterion[2]
    assert "costs: make grade" in legality[1] and "make setup grade" in legality[2]
