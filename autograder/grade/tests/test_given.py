"""Where a part of the given tree is missing nothing is graded, and the part is named."""

import re
import shutil

import given
import make
import pytest
import skeletons
import table
from submission import ROOT

LIST = skeletons.MANIFEST


@pytest.fixture
def tree(tmp_path):
    """A copy of what the checks look at, with pristine skeletons beside the solution."""
    for name in ("Makefile", "mk", "tools", "kernels", "hostcuda", "tl", "programs"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("labs", "solution", "autograder"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name, data in skeletons.skeletons(ROOT).items():
        skeletons.replace(tmp_path / name.replace("labs", skeletons.HANDOUT, 1), data)
    return tmp_path


def lacks(tree, number: int = 2) -> list:
    return given.missing(table.load(number, tree), tree)


def cut(path, *words: str) -> None:
    """Without the lines that hold one of the words."""
    path.write_text("".join(line for line in path.read_text().splitlines(True)
                            if not any(word in line for word in words)))


@pytest.mark.parametrize("folder", ["solution", skeletons.HANDOUT])
def test_either_kind_of_skeletons_is_enough(tree, folder):
    assert lacks(tree) == []
    shutil.rmtree(tree / folder)
    assert [lacks(tree, n) for n in table.numbers()] == [[]] * len(table.numbers())


def test_without_any_skeleton_each_file_is_named(tree):
    shutil.rmtree(tree / skeletons.HANDOUT)
    (tree / "solution/lab2/im2col.cu").unlink()
    assert lacks(tree) == [f"solution/lab2/im2col.cu or {skeletons.HANDOUT}/lab2/im2col.cu"]
    assert lacks(tree, 1) == lacks(tree)  # what another lab's worker is linked with
    shutil.rmtree(tree / "solution")
    assert len(lacks(tree)) == len(skeletons.read_manifest(tree))


@pytest.mark.parametrize("name", [LIST, given.ALLOWED])
def test_a_list_that_is_missing_is_named(tree, name):
    (tree / name).unlink()
    assert lacks(tree) == [name]


def test_a_line_that_is_missing_is_named(tree):
    cut(tree / LIST, "lab2/im2col.cu", "lab1/gemm.c")
    assert lacks(tree) == [f"the line of labs/lab2/im2col.cu in {LIST}"]
    assert f"the line of labs/lab1/gemm.c in {LIST}" in lacks(tree, 3)


def test_a_task_that_is_missing_is_named(tree):
    path = tree / "autograder/lab0/lab.toml"
    text = path.read_text()
    rest, diagnoses = text[:text.rindex("[[task]]")], text[text.index("[diagnoses]"):]
    # (no diagnosis may stay that no task names)
    path.write_text(rest + re.sub(r'^barrier\w+ = """.*?"""\n', "", diagnoses,
                                  flags=re.M | re.DOTALL))
    assert lacks(tree, 0) == ["the task of labs/lab0/vector_reverse.cu in lab0/lab.toml"]


def test_a_skeleton_that_was_changed_is_named(tree):
    name = f"{skeletons.HANDOUT}/lab2/im2col.c"
    (tree / name).write_text("int tl_other(void);\n")
    assert lacks(tree) == [f"{name} as it was handed out"]


@pytest.mark.parametrize("gone, words, named", [
    ("solution", ["grade", "LAB=2"], f"solution/lab0/vector_add.c or {skeletons.HANDOUT}/lab0/"),
    ("solution", ["lab2"], f"solution/lab0/vector_add.c or {skeletons.HANDOUT}/lab0/"),
    (LIST, ["grade", "LAB=2"], LIST), (LIST, ["train", "MINE=1"], LIST),
    (given.ALLOWED, ["grade", "LAB=2"], given.ALLOWED)])
def test_make_stops_before_anything_is_built(tree, gone, words, named):
    shutil.rmtree(tree / skeletons.HANDOUT)
    path = tree / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    done = make.run("-C", str(tree), *words, timeout=60)
    assert done.returncode == 2 and named in done.stderr, done.stderr
    assert "copy" in done.stderr and "Traceback" not in done.stderr
    assert not (tree / "build/float").exists()


def test_what_the_list_leaves_out_is_not_trained_from_the_reference(tree):
    cut(tree / LIST, "lab2/im2col.c\n")
    done = make.run("-C", str(tree), "-n", "train", "MINE=1", timeout=60)
    assert done.returncode == 2
    assert f"MINE=1: {LIST} lacks the line of labs/lab2/im2col.c" in done.stderr


def test_a_lab_without_skeletons_is_no_lab_that_does_not_exist(tree):
    for folder in given.FOLDERS:
        shutil.rmtree(tree / folder / "lab2")
    with pytest.raises(skeletons.Refused, match="neither solution/lab2 nor .* is here"):
        skeletons.restore(tree, "2", "im2col")
