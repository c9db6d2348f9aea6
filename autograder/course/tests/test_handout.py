"""What goes into a handout, by the list alone; that it works is `make handout-check`'s to say."""

import fnmatch
import platform
import shutil
import subprocess
import tomllib
from pathlib import Path

import grants
import handed
import handout
import machines
import pytest
import skeletons
from completing import offered

ROOT = Path(handout.__file__).resolve().parents[2]
RULES = tomllib.loads((ROOT / handout.LIST).read_text())
LABS = [0, 1, 2, 3, 4, 5]


def tracked() -> list:
    if not (ROOT / ".git").exists():
        pytest.skip("no git here, so nothing says which files are ours")
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout.splitlines()  # fmt: skip


def test_nothing_that_is_withheld_is_in_it():
    files = handout.chosen(tracked(), RULES, LABS)
    for pattern in RULES["withheld"]:
        assert not [f for f in files if fnmatch.fnmatch(f, pattern)], pattern


def test_every_secret_of_the_tree_is_withheld_by_name():
    """A pattern that matches nothing guards nothing."""
    files = tracked()
    there = [p for p in RULES["withheld"] if any(fnmatch.fnmatch(f, p) for f in files)]
    assert set(RULES["withheld"]) - set(there) <= {"INSTRUCTOR.md"}


def test_what_a_student_writes_is_there_as_a_skeleton():
    files = handout.chosen(tracked(), RULES, LABS)
    assert set(skeletons.read_manifest(ROOT)) <= set(files)


def test_labs_that_are_not_handed_out_are_not_in_it():
    files = handout.chosen(tracked(), RULES, [0, 2])
    beside = {"README.md"}  # how the course works, in every handout
    assert {f.split("/")[1] for f in files if f.startswith("labs/")} == {"lab0", "lab2"} | beside
    assert {f.split("/")[1] for f in files if f.endswith("/lab.toml")} == {"lab0", "lab2"}


def test_completion_offers_what_is_handed_out(tmp_path):
    for new, old in handout.chosen(tracked(), RULES, [1, 2]).items():
        (tmp_path / new).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / old, tmp_path / new)
    (tmp_path / "given" / platform.machine()).mkdir(parents=True)
    goals = set(offered("make ", tmp_path))
    assert {"grade", "lab1", "lab2", "train"} <= goals
    assert not {"lab3", "mutants", "handout", "bench"} & goals
    assert offered("make grade LAB=", tmp_path) == ["1", "2"]
    assert offered("make grade LAB=2 T=im", tmp_path) == ["im2col"]
    assert offered("make train NET=", tmp_path) == offered("make train NET=", ROOT) != []
    assert offered("make train RUNGS=", tmp_path) == ["all", "none"]
    assert "source tools/complete.sh" in (tmp_path / "README.md").read_text()


def test_a_pattern_that_matches_nothing_is_refused():
    with pytest.raises(handout.Refused, match="no/such"):
        handout.chosen(tracked(), RULES | {"given": ["no/such/*"]}, LABS)


@pytest.mark.parametrize("asked", ["7", "1,x", "1;2"])
def test_labs_that_are_not_there_are_refused(asked):
    with pytest.raises(handout.Refused, match="is no lab"):
        handout.labs_of(asked, "LABS", LABS)


def test_objects_of_closed_labs_alone_are_made():
    names = handed.objects_of(ROOT, [1], nvcc=False)
    assert "float/solution/lab1/gemm.o" in names
    assert "double-check/solution/lab1/gemm.cu.lab.o" in names
    assert not [n for n in names if "lab1" not in n or n.endswith(".cu.o")]
    assert "float/solution/lab1/gemm.cu.o" in handed.objects_of(ROOT, [1], nvcc=True)


def test_a_folder_that_is_there_is_not_written_over(tmp_path, capsys):
    assert handout.main([f"OUT={tmp_path}"]) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_handout_is_made_for_this_machine_unless_others_are_named(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert [m.name for m in machines.asked("")] == ["aarch64"]
    assert [m.name for m in machines.asked("x86_64,aarch64,x86_64")] == ["aarch64", "x86_64"]
    for text in ("arm64", "x86_64,", "x86_64 aarch64"):
        with pytest.raises(handout.Refused, match="is none that a handout can be made for"):
            machines.asked(text)


def compiler(tmp_path, monkeypatch, here: str) -> machines.Compiler:
    monkeypatch.setattr(platform, "machine", lambda: here)
    return machines.Compiler(machines.KNOWN["aarch64"], tmp_path, nvcc=True)


def test_without_a_cross_compiler_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(handout.Refused) as error:
        compiler(tmp_path, monkeypatch, "x86_64")
    assert str(error.value) == (
        "MACHINES=aarch64: this machine has no cross compiler for it: "
        "apt-get install gcc-aarch64-linux-gnu g++-aarch64-linux-gnu")
    assert compiler(tmp_path, monkeypatch, "aarch64").cc == "gcc"


def test_without_mmdebstrap_one_line_says_what_to_install(tmp_path):
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    done = subprocess.run([shutil.which("bash"), "tools/sysroot.sh", "arm64", tmp_path / "tree"],
                          cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1 and not (tmp_path / "tree").exists()
    assert done.stderr == ("there is no mmdebstrap, which fetches Debian's libraries for arm64: "
                           "apt-get install mmdebstrap\n")


def test_what_crosses_is_told_by_its_compilers(tmp_path, monkeypatch):
    """hostcuda's rewriter runs here, and nvcc makes nothing for the other machine."""
    for name in ("gcc", "g++"):
        (tmp_path / f"aarch64-linux-gnu-{name}").write_text("#!/bin/sh\n")
        (tmp_path / f"aarch64-linux-gnu-{name}").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "gcc-13")
    monkeypatch.setattr(machines, "SYSROOTS", tmp_path)
    (tmp_path / "arm64").mkdir()
    crossing = compiler(tmp_path, monkeypatch, "x86_64")
    assert "CC=aarch64-linux-gnu-gcc --sysroot=build/sysroot" in crossing.words
    assert {"NVCC=none", "ARCH=armv8-a"} <= set(crossing.words)
    assert crossing.env["HOSTCUDA_CC"] == "gcc-13" and not crossing.nvcc
    own = compiler(tmp_path, monkeypatch, "aarch64")
    assert own.nvcc and "HOSTCUDA_CC" not in own.env and "CC=gcc-13" in own.words


def test_version_says_for_which_machines(tmp_path, monkeypatch):
    made = [(compiler(tmp_path, monkeypatch, "aarch64"), "2.34")]
    assert handout.version([0, 1], [1], made).splitlines()[1:] == [
        "labs    0, 1", "closed  1", "machine aarch64 (armv8-a), glibc 2.34 or newer"]
    made[0][0].nvcc = False
    assert "newer; of closed labs nothing for a GPU\n" in handout.version([1], [1], made)
    assert handout.version([1], [], made).endswith("glibc 2.34 or newer\n")


def test_a_closed_lab_is_here_in_a_handout_that_was_made_without_nvcc(tmp_path):
    made = handed.objects_of(ROOT, [1], nvcc=False)
    for name in made:
        path = tmp_path / "given/x86_64" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    files = ["lab1/gemm.c", "lab1/gemm.cu", "lab2/im2col.cu"]
    assert grants.without_reference(tmp_path, files) == {"lab2/im2col.cu"}


@pytest.mark.parametrize("closed, said", [("1, 2", True), ("none", False)])
def test_its_check_names_the_labs_that_it_leaves_alone(tmp_path, closed, said):
    """A handout with nothing else in it, so the check goes no further than that."""
    (tmp_path / "given" / platform.machine()).mkdir(parents=True)
    (tmp_path / "VERSION").write_text(f"gradlab x of y\nlabs    0\nclosed  {closed}\n")
    done = subprocess.run([ROOT / "autograder/course/handout_check.sh", tmp_path,
                           ROOT / "solution"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert ("closed, and so not done: 1, 2\n" in done.stdout) == said
