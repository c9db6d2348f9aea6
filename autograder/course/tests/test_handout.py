"""What goes into a handout, by the list alone; that it works is `make handout-check`'s to say."""

import fnmatch
import subprocess
import tomllib
from pathlib import Path

import handed
import handout
import pytest
import skeletons

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
    assert {f.split("/")[1] for f in files if f.startswith("labs/")} == {"lab0", "lab2"}
    assert {f.split("/")[1] for f in files if f.endswith("/lab.toml")} == {"lab0", "lab2"}


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
