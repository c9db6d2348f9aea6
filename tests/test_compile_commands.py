"""make compile_commands.json: what it says of a file reads that file, as clangd would."""

import json
import re
import shutil
import subprocess

import make
import pytest
from relink import ROOT

FILES = ["labs/lab0/vector_add.cu", "labs/lab3/maxpool2d.c", "labs/lab3/maxpool2d.cu",
         "solution/lab1/gemm.cu", "kernels/linear/01_tiles.cu", "tl/cuda/cuda_device.cu",
         "programs/main_train.c", "autograder/lab2/im2col_test.c", "tests/call_test.c"]


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """file -> its command, of a copy: the file belongs to who works there."""
    tree = tmp_path_factory.mktemp("tree")
    for path in ROOT.iterdir():
        if path.name not in ("build", ".git", "compile_commands.json"):
            (tree / path.name).symlink_to(path)
    done = make.run("-C", str(tree), "compile_commands.json", timeout=60)
    assert done.returncode == 0, done.stderr
    entries = json.loads((tree / "compile_commands.json").read_text())
    assert {entry["directory"] for entry in entries} == {str(tree)}
    found = {entry["file"]: entry["command"] for entry in entries}
    assert len(found) == len(entries)
    return tree, found


def test_every_file_of_a_student_is_there(commands):
    names = {str(path.relative_to(ROOT)) for path in (ROOT / "labs").glob("lab*/*.c*")}
    assert names and names <= set(commands[1])


@pytest.mark.parametrize("file", FILES)
def test_a_command_reads_its_file(commands, file):
    tree, found = commands
    assert shutil.which("clang") and shutil.which("clang++"), "no clang: make setup test"
    words = re.sub(r"^\S+", "clang++" if file.endswith(".cu") else "clang", found[file])
    for flags, good in (("", True), (" -DTL_STATUS_H", False)):
        done = subprocess.run(words.replace(" -c ", f"{flags} -fsyntax-only "), shell=True,
                              cwd=tree, capture_output=True, text=True, timeout=120)
        assert (done.returncode == 0) == good, done.stderr


def test_students_see_the_contracts_alone(commands):
    for file, command in commands[1].items():
        if file.startswith(("labs/", "solution/")) and file.endswith(".c"):
            assert "-I." not in command.split()
