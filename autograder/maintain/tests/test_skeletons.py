"""Skeletons are written where nobody has worked, and put back without losing work."""

import shutil
import subprocess
import sys

import generate
import labs_check
import pytest
import skeletons
from conftest import FOLDER, ROOT, SKELETON, SOLUTION

GENERATE = ROOT / "autograder/maintain/generate.py"


def run(root, *arguments) -> subprocess.CompletedProcess:
    program = FOLDER / "skeletons.py" if "restore" in arguments else GENERATE
    return subprocess.run([sys.executable, program, "--root", root, *arguments],
                          capture_output=True, text=True)


def test_the_skeleton_of_each_file_is_written(root):
    assert generate.write(root) == 0
    assert (root / "labs/lab2/x.c").read_text() == SKELETON
    assert (root / "labs/lab2/x.cu").read_text() == SKELETON.replace("tl_x", "tl_y")


def test_writing_twice_changes_nothing(root):
    generate.write(root)
    before = (root / "labs/lab2/x.c").stat().st_mtime_ns
    assert "0 changed" in run(root, "write").stdout
    assert (root / "labs/lab2/x.c").stat().st_mtime_ns == before


def test_a_new_solution_rewrites_an_untouched_skeleton(root):
    generate.write(root)
    (root / "solution/lab2/x.c").write_text(SOLUTION.replace("Do it well", "Do it better"))
    assert labs_check.files(root)
    assert generate.write(root) == 0
    assert "Do it better" in (root / "labs/lab2/x.c").read_text()


def test_work_is_never_overwritten_and_then_nothing_is_written(root):
    generate.write(root)
    mine = root / "labs/lab2/x.c"
    mine.write_text(SKELETON + "int mine;\n")
    for name in ("x.c", "x.cu"):
        path = root / "solution/lab2" / name
        path.write_text(path.read_text().replace("Do it well", "Do it better"))
    result = run(root, "write")
    assert result.returncode == 1
    assert "labs/lab2/x.c: differs from what was generated last" in result.stderr
    assert mine.read_text() == SKELETON + "int mine;\n"
    assert "Do it well" in (root / "labs/lab2/x.cu").read_text()


def test_work_without_a_manifest_is_not_overwritten_either(root):
    (root / "labs/lab2").mkdir(parents=True)
    (root / "labs/lab2/x.c").write_text("int mine;\n")
    assert generate.write(root) == 1
    assert (root / "labs/lab2/x.c").read_text() == "int mine;\n"


def test_a_task_that_is_gone_takes_its_skeleton_along_unless_it_holds_work(root):
    generate.write(root)
    (root / "solution/lab2/x.c").unlink()
    (root / "labs/lab2/x.c").write_text("int mine;\n")
    assert generate.write(root) == 1
    (root / "labs/lab2/x.c").write_text(SKELETON)
    assert generate.write(root) == 0
    assert not (root / "labs/lab2/x.c").exists()
    assert labs_check.files(root) == []


def test_a_broken_marker_writes_nothing(root):
    (root / "solution/lab2/x.cu").write_text("//@lab 2: x\nint a;\n")
    result = run(root, "write")
    assert result.returncode == 2
    assert "solution/lab2/x.cu:1: //@lab without //@end" in result.stderr
    assert not (root / "labs").exists()


def test_restore_keeps_the_work_and_puts_both_sides_back(root):
    generate.write(root)
    (root / "labs/lab2/x.c").write_text("int mine;\n")
    result = run(root, "restore", "2", "x")
    assert result.returncode == 0, result.stderr
    assert (root / "labs/lab2/x.c").read_text() == SKELETON
    kept = list((root / "build/restore").glob("*/labs/lab2/x.c"))
    assert [k.read_text() for k in kept] == ["int mine;\n"]
    assert str(kept[0].relative_to(root)) in result.stdout
    assert "labs/lab2/x.cu: is the skeleton already" in result.stdout


def test_two_restores_keep_both_works(root):
    generate.write(root)
    for work in ("int one;\n", "int two;\n"):
        (root / "labs/lab2/x.c").write_text(work)
        assert skeletons.restore(root, "2", "x") == 0
    kept = sorted(k.read_text() for k in (root / "build/restore").glob("*/labs/lab2/x.c"))
    assert kept == ["int one;\n", "int two;\n"]


def test_restore_works_without_a_solution(root):
    generate.write(root)
    shutil.copytree(root / "labs", root / skeletons.HANDOUT)
    shutil.rmtree(root / "solution")
    (root / "labs/lab2/x.c").unlink()
    assert skeletons.restore(root, "2", "x") == 0
    assert (root / "labs/lab2/x.c").read_text() == SKELETON
    with pytest.raises(skeletons.Refused, match="no solution here"):
        generate.write(root)


@pytest.mark.parametrize("lab, task, words", [
    ("", "x", "LAB=: there is no such lab: LAB=2"), ("7", "x", "LAB=7: there is no such lab"),
    ("2", "", "T=: lab 2 has no such task: x"), ("2", "y", "T=y: lab 2 has no such task: x")])
def test_restore_says_what_it_takes(root, lab, task, words):
    generate.write(root)
    result = run(root, "restore", lab, task)
    assert result.returncode == 2
    assert words in result.stderr


def test_sizes_count_what_is_left_out(root):
    assert run(root, "sizes").stdout.splitlines() == [
        "lab2/x.c                    1 TODOs    5 lines",
        "lab2/x.cu                   1 TODOs    5 lines", "lab2: 2 TODOs, 10 lines"]
