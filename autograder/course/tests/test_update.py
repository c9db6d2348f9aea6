"""A newer handout is taken over: what is given is replaced, what the student wrote stays."""

import hashlib
import shutil
from pathlib import Path

import pytest
import skeletons
import update

STUDENTS = "labs/lab2/im2col.c"


def hand_out(folder: Path, files: dict) -> None:
    """A handout of these files, with its two lists."""
    shutil.rmtree(folder, ignore_errors=True)
    files = files | {skeletons.MANIFEST: "".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"
        for name, text in files.items() if name.startswith("labs/"))}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / update.MANIFEST).write_text("".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"
        for name, text in sorted(files.items())))


@pytest.fixture
def folders(tmp_path):
    old = {"VERSION": "gradlab 1\n", STUDENTS: "skeleton\n", "labs/lab2/col2im.c": "skeleton\n",
           "tl/a.h": "old\n", "gone.txt": "x\n"}
    new = old | {"VERSION": "gradlab 2\n", STUDENTS: "better skeleton\n", "tl/a.h": "new\n",
                 "labs/lab2/col2im.c": "better\n", "tl/b.h": "more\n"}
    del new["gone.txt"]
    hand_out(tmp_path / "mine", old)
    hand_out(tmp_path / "newer", new)
    return tmp_path / "mine", tmp_path / "newer"


def run(folders, monkeypatch) -> int:
    monkeypatch.chdir(folders[0])
    return update.main([f"FROM={folders[1]}"])


def test_what_is_no_folder_is_told_as_it_was_typed(folders, monkeypatch, capsys):
    folders[1].with_suffix(".zip").write_bytes(b"PK")
    assert run((folders[0], folders[1].with_suffix(".zip")), monkeypatch) == 2
    assert f"FROM={folders[1]}.zip: no such folder; an archive is" in capsys.readouterr().err
    assert run((folders[0], folders[0] / "tl"), monkeypatch) == 2
    assert f"FROM={folders[0]}/tl is no handout" in capsys.readouterr().err


def test_given_files_are_replaced_and_the_students_stay(folders, monkeypatch, capsys):
    mine, _ = folders
    (mine / STUDENTS).write_text("my work\n")
    assert run(folders, monkeypatch) == 0
    assert (mine / STUDENTS).read_text() == "my work\n"
    assert (mine / "build/update/skeletons" / STUDENTS).read_text() == "better skeleton\n"
    assert (mine / "labs/lab2/col2im.c").read_text() == "better\n", "nobody had worked on it"
    assert (mine / "tl/a.h").read_text() == "new\n" and (mine / "tl/b.h").exists()
    assert not (mine / "gone.txt").exists()
    said = capsys.readouterr().out
    assert "yours stays" in said and "was gradlab 1, is now gradlab 2" in said


def test_a_given_file_that_was_changed_is_kept_aside(folders, monkeypatch, capsys):
    mine, _ = folders
    (mine / "tl/a.h").write_text("mine\n")
    assert run(folders, monkeypatch) == 0
    kept, = (mine / "build/update").rglob("a.h")
    assert kept.read_text() == "mine\n" and (mine / "tl/a.h").read_text() == "new\n"
    assert "it is given and was changed" in capsys.readouterr().out


def test_what_was_broken_off_is_done_by_the_same_command(folders, monkeypatch):
    mine, newer = folders
    (mine / STUDENTS).write_text("my work\n")
    for name in ("tl/a.h", "VERSION"):  # as far as it had come
        shutil.copy(newer / name, mine / name)
    assert run(folders, monkeypatch) == 0 and run(folders, monkeypatch) == 0
    assert (mine / STUDENTS).read_text() == "my work\n"
    assert not list((mine / "build/update").rglob("*.h")), "nothing was anybody's change"


@pytest.mark.parametrize("damage", ["cut", "lost", "no list", "leads out"])
def test_a_newer_handout_that_is_damaged_changes_nothing(folders, monkeypatch, capsys, damage):
    mine, newer = folders
    if damage == "cut":
        (newer / "tl/a.h").write_text("ne")
    elif damage == "lost":
        (newer / "tl/a.h").unlink()
    elif damage == "no list":
        (newer / update.MANIFEST).unlink()
    else:
        with open(newer / update.MANIFEST, "a") as file:
            file.write(f"{'0' * 64}  ../../outside\n")
    before = {p: p.read_bytes() for p in mine.rglob("*") if p.is_file()}
    assert run(folders, monkeypatch) == 2
    assert before == {p: p.read_bytes() for p in mine.rglob("*") if p.is_file()}
    assert capsys.readouterr().err.startswith("update: ")


def test_a_link_in_a_files_place_is_not_followed(folders, monkeypatch, tmp_path):
    mine, _ = folders
    (tmp_path / "elsewhere").write_text("not yours\n")
    (mine / "tl/a.h").unlink()
    (mine / "tl/a.h").symlink_to(tmp_path / "elsewhere")
    assert run(folders, monkeypatch) == 2
    assert (tmp_path / "elsewhere").read_text() == "not yours\n"
    assert not (mine / "tl/b.h").exists() and (mine / "gone.txt").exists(), "nothing was begun"
