"""The generator of skeletons: what markers mean, what is refused, what is never overwritten."""

import shutil
import subprocess
import sys

import pytest
import skeletons
from conftest import FOLDER

SOLUTION = """/* x.c: an example. */
#include "tl/x.h"

//@lab 2:
/* The trick. */
static int trick(int a) {
    return a + 1;
}
//@end

int tl_x(int a) {
    if (a < 0) return -1;
    //@lab 2: Do it well, and think of
    //@  a long text that goes on over several lines of the marker, so that the comment of the
    //@  skeleton has to be wrapped, too; 1 < 2
    int b = trick(a);
    return b;
    //@skeleton
    // (void)a;
    // if (a)
    //     return 0;
    // return 1;
    //@end
}
"""

SKELETON = """/* x.c: an example. */
#include "tl/x.h"

int tl_x(int a) {
    if (a < 0) return -1;
    /* TODO(lab 2): Do it well, and think of a long text that goes on over several lines of the
     * marker, so that the comment of the skeleton has to be wrapped, too; 1 < 2 */
    (void)a;
    if (a)
        return 0;
    return 1;
}
"""


def generate(text: str) -> str:
    return skeletons.generate(text, "solution/lab2/x.c", 2)


def test_a_piece_becomes_its_text_and_its_skeleton():
    assert generate(SOLUTION) == SKELETON


def test_a_piece_without_text_leaves_no_trace():
    made = generate("int a;\n\n//@lab 2:\nint b;\n//@end\n\nint c;\n")
    assert made == "int a;\n\nint c;\n"


def test_a_text_without_skeleton_is_a_comment_alone():
    assert generate("//@lab 2: A kernel.\nint b;\n//@end\n") == "/* TODO(lab 2): A kernel. */\n"


def test_an_empty_line_of_text_begins_a_paragraph():
    made = generate("//@lab 2: One.\n//@\n//@  Two.\nint b;\n//@end\n")
    assert made == "/* TODO(lab 2): One.\n *\n * Two. */\n"


@pytest.mark.parametrize("length", range(60, 110))
def test_no_line_is_longer_than_a_hundred(length):
    word = "w" * 7
    text = " ".join([word] * (length // 8))[:length]
    for indent in ("", "    ", "        "):
        made = generate(f"{indent}//@lab 2: {text}\n{indent}int b;\n{indent}//@end\n")
        assert max(map(len, made.splitlines())) <= 100
        assert made.rstrip().endswith("*/")


def test_a_skeleton_may_hold_an_empty_line():
    assert generate("//@lab 2:\nint b;\n//@skeleton\n// int a;\n//\n// int c;\n//@end\n") == (
        "int a;\n\nint c;\n")


BAD = {
    "no piece": ("int a;\n", 1, "no //@lab"),
    "no end": ("int a;\n//@lab 2: x\nint b;\n", 2, "without //@end"),
    "end alone": ("int a;\n//@end\n", 2, "without //@lab"),
    "skeleton alone": ("//@skeleton\n", 1, "outside of a piece"),
    "two skeletons": ("//@lab 2:\nint b;\n//@skeleton\n//@skeleton\n//@end\n", 4, "second"),
    "nested": ("//@lab 2:\nint b;\n//@lab 2:\nint c;\n//@end\n//@end\n", 3, "//@end is missing"),
    "other lab": ("//@lab 3:\nint b;\n//@end\n", 1, "belongs to lab 2"),
    "misspelt": ("//@lab 2:\nint b;\n//@ends\n//@end\n", 3, "no marker is called //@ends"),
    "no number": ("//@lab: x\nint b;\n//@end\n", 1, "no marker"),
    "behind code": ("int b; //@lab 2: x\n", 1, "a line of its own"),
    "empty piece": ("//@lab 2: x\n\n//@end\n", 3, "leaves nothing out"),
    "text later": ("//@lab 2: x\nint b;\n//@  more\n//@end\n", 3, "follows no"),
    "text of nothing": ("//@lab 2:\n//@  more\nint b;\n//@end\n", 2, "follows no"),
    "skeleton not a comment": ("//@lab 2:\nint b;\n//@skeleton\nint c;\n//@end\n", 4, "comments"),
    "indented otherwise": ("    //@lab 2:\n    int b;\n//@end\n", 3, "indented"),
    "too long": ("//@lab 2: x\n" + "int b;\n" * 41 + "//@end\n", 1, "41 lines"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_marker_is_named_with_its_line(what):
    text, line, words = BAD[what]
    with pytest.raises(skeletons.MarkerError) as error:
        generate(text)
    assert str(error.value).startswith(f"solution/lab2/x.c:{line}: ")
    assert words in str(error.value)


@pytest.fixture
def root(tmp_path):
    """A small repository with one file."""
    (tmp_path / "solution/lab2").mkdir(parents=True)
    (tmp_path / "autograder/grade").mkdir(parents=True)
    (tmp_path / "solution/lab2/x.c").write_text(SOLUTION)
    (tmp_path / "solution/lab2/x.cu").write_text(SOLUTION.replace("tl_x", "tl_y"))
    return tmp_path


def run(root, *arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, FOLDER / "skeletons.py", "--root", root, *arguments],
                          capture_output=True, text=True)


def test_what_was_written_is_found_in_order(root):
    assert skeletons.write(root) == 0
    assert (root / "labs/lab2/x.c").read_text() == SKELETON
    assert skeletons.check(root) == []
    assert run(root, "check").returncode == 0


def test_writing_twice_changes_nothing(root):
    skeletons.write(root)
    before = (root / "labs/lab2/x.c").stat().st_mtime_ns
    assert "0 changed" in run(root, "write").stdout
    assert (root / "labs/lab2/x.c").stat().st_mtime_ns == before


def test_a_new_solution_rewrites_an_untouched_skeleton(root):
    skeletons.write(root)
    (root / "solution/lab2/x.c").write_text(SOLUTION.replace("Do it well", "Do it better"))
    assert skeletons.check(root)
    assert skeletons.write(root) == 0
    assert "Do it better" in (root / "labs/lab2/x.c").read_text()


def test_work_is_never_overwritten_and_then_nothing_is_written(root):
    skeletons.write(root)
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
    assert skeletons.write(root) == 1
    assert (root / "labs/lab2/x.c").read_text() == "int mine;\n"


def test_a_task_that_is_gone_takes_its_skeleton_along_unless_it_holds_work(root):
    skeletons.write(root)
    (root / "solution/lab2/x.c").unlink()
    (root / "labs/lab2/x.c").write_text("int mine;\n")
    assert skeletons.write(root) == 1
    (root / "labs/lab2/x.c").write_text(SKELETON)
    assert skeletons.write(root) == 0
    assert not (root / "labs/lab2/x.c").exists()
    assert skeletons.check(root) == []


def test_a_broken_marker_writes_nothing(root):
    (root / "solution/lab2/x.cu").write_text("//@lab 2: x\nint a;\n")
    result = run(root, "write")
    assert result.returncode == 2
    assert "solution/lab2/x.cu:1: //@lab without //@end" in result.stderr
    assert not (root / "labs").exists()


def test_check_names_what_differs(root):
    skeletons.write(root)
    (root / "labs/lab2/x.c").write_text("int mine;\n")
    (root / "labs/lab2/x.cu").unlink()
    (root / "labs/lab2/z.c").write_text("int z;\n")
    wrong = "\n".join(skeletons.check(root))
    assert "labs/lab2/x.c: is not what the solution's markers give" in wrong
    assert "labs/lab2/x.cu: missing" in wrong
    assert "labs/lab2/z.c: no solution has this file" in wrong


def test_a_line_of_the_solution_in_a_skeleton_is_a_leak(root):
    path = root / "solution/lab2/x.cu"
    path.write_text(path.read_text().replace("    // (void)a;\n",
                                             "    // (void)a;\n    // int b = trick(a);\n"))
    skeletons.write(root)
    assert any("`int b = trick(a);` is left out by the piece" in w for w in skeletons.check(root))


def test_restore_keeps_the_work_and_puts_both_halves_back(root):
    skeletons.write(root)
    (root / "labs/lab2/x.c").write_text("int mine;\n")
    result = run(root, "restore", "2", "x")
    assert result.returncode == 0, result.stderr
    assert (root / "labs/lab2/x.c").read_text() == SKELETON
    kept = list((root / "build/restore").glob("*/labs/lab2/x.c"))
    assert [k.read_text() for k in kept] == ["int mine;\n"]
    assert str(kept[0].relative_to(root)) in result.stdout
    assert "labs/lab2/x.cu: is the skeleton already" in result.stdout


def test_two_restores_keep_both_works(root):
    skeletons.write(root)
    for work in ("int one;\n", "int two;\n"):
        (root / "labs/lab2/x.c").write_text(work)
        assert skeletons.restore(root, 2, "x") == 0
    kept = sorted(k.read_text() for k in (root / "build/restore").glob("*/labs/lab2/x.c"))
    assert kept == ["int one;\n", "int two;\n"]


def test_restore_works_without_a_solution(root):
    skeletons.write(root)
    shutil.copytree(root / "labs", root / skeletons.HANDOUT)
    shutil.rmtree(root / "solution")
    (root / "labs/lab2/x.c").unlink()
    assert skeletons.restore(root, 2, "x") == 0
    assert (root / "labs/lab2/x.c").read_text() == SKELETON
    assert skeletons.write(root) == 2


@pytest.mark.parametrize("lab, task, words", [
    ("", "x", "say which lab"), ("7", "x", "there is no lab 7"),
    ("2", "", "(T= is missing): x"), ("2", "y", "lab 2 has no task y: x")])
def test_restore_says_what_it_takes(root, lab, task, words):
    skeletons.write(root)
    result = run(root, "restore", lab, task)
    assert result.returncode == 2
    assert words in result.stderr


def test_the_committed_skeletons_are_those_of_the_solution():
    assert skeletons.check(FOLDER.parents[1]) == []
