"""What is handed in: the lab's own files, in an archive whose bytes depend on them alone."""

import os
import shutil
import subprocess
import sys
import time
import zipfile

import pytest
import skeletons
import submission
import submit
from conftest import FOLDER

ROOT = submission.ROOT
NAMES = skeletons.own_files(ROOT, 2)


@pytest.fixture
def work(tmp_path):
    """A copy of lab 2 in which one file has been worked on."""
    shutil.copytree(ROOT / "autograder/grade", tmp_path / "autograder/grade")
    for name, data in skeletons.skeletons(ROOT).items():
        skeletons.replace(tmp_path / name, data)
    with open(tmp_path / "labs/lab2/im2col.c", "a") as file:
        file.write("/* mine */\n")
    return tmp_path


def handed_in(folder, *options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, FOLDER / "submit.py", "LAB=2", *options], cwd=folder,
                          capture_output=True, text=True)


def test_the_archive_holds_what_grading_takes_of_it(work, tmp_path):
    (work / "labs/lab2/notes.txt").write_text("not yours\n")
    done = handed_in(work)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(work / "build/submit/lab2.zip") as archive:
        assert archive.namelist() == [f"lab2/{name}" for name in NAMES]
        archive.extractall(tmp_path / "class/ada")
    mine = {name: (work / "labs/lab2" / name).read_bytes() for name in NAMES}
    for path in (tmp_path / "class/ada", work / "build/submit/lab2.zip"):
        assert submission.collect(path, 2) == (mine, [])
    assert f"your grade names it (files):\n{submission.digest(mine, 2)}\n" in done.stdout


def test_the_receipt_names_every_file_and_is_the_archives_own_sum(work):
    lines = handed_in(work).stdout.splitlines()
    listed = [line.split() for line in lines[:len(NAMES)]]
    assert [words[1] for words in listed] == [f"lab2/{name}" for name in NAMES]
    for sum_, name, *more in listed:
        assert sum_ == skeletons.digest((work / "labs" / name).read_bytes())
        assert bool(more) == (name != "lab2/im2col.c")  # (as it was handed out)
    archive = (work / "build/submit/lab2.zip").read_bytes()
    assert lines[-1] == skeletons.digest(archive)
    assert f"{len(NAMES)} files, {len(archive)} bytes" in lines[-2]


def test_equal_files_give_equal_bytes_and_others_do_not(work):
    first = handed_in(work, "OUT=one.zip").stdout.splitlines()[-1]
    path = work / "labs/lab2/im2col.c"
    os.utime(path, (time.time() - 1e6,) * 2)
    path.chmod(0o755)
    assert handed_in(work, "OUT=two.zip").stdout.splitlines()[-1] == first
    assert (work / "one.zip").read_bytes() == (work / "two.zip").read_bytes()
    path.write_text(path.read_text() + " ")
    assert handed_in(work, "OUT=two.zip").stdout.splitlines()[-1] != first


def test_an_untouched_lab_is_refused(work):
    path = work / "labs/lab2/im2col.c"
    path.write_bytes(skeletons.skeletons(ROOT)["labs/lab2/im2col.c"])
    done = handed_in(work)
    assert done.returncode == 2 and not (work / "build/submit").exists()
    assert "no file of labs/lab2 differs from what was handed out" in done.stderr


def test_what_is_missing_or_would_not_be_graded_is_named_and_nothing_packed(work):
    labs = work / "labs/lab2"
    (labs / "col2im.c").rename(labs / "col2im.C")
    (labs / "im2col.cu").unlink()
    (labs / "im2col.cu").symlink_to("im2col.c")
    done = handed_in(work)
    assert done.returncode == 2 and not (work / "build/submit").exists()
    assert "labs/lab2/im2col.cu is a link" in done.stderr
    assert "labs/lab2/col2im.c is missing: mv labs/lab2/col2im.C labs/lab2/col2im.c" in done.stderr
    assert "make restore LAB=2 T=col2im" in done.stderr


@pytest.mark.parametrize("lab", ["", "9", "two"])
def test_it_says_which_labs_there_are(work, lab):
    with pytest.raises(skeletons.Refused, match="say which lab: LAB=0, LAB=1, LAB=2"):
        submit.collected(work, lab)
