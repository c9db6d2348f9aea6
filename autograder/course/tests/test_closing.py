"""What an instructor hears when a class was graded, or counted anew."""

import re
import shutil

import pytest
from classroom import REPO, Classroom


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path)


def test_who_has_equal_files_is_said_but_for_groups_and_skeletons(room):
    (room.root / "roster.csv").write_text("id,group_lab2\nada,g\nbob,g\ncleo,\ndan,\neve,\nfay,\n")
    for name in ("ada", "bob"):
        room.hand_in(name, "points 30")
    for name in ("cleo", "dan"):
        room.hand_in(name, (REPO / "labs/lab2/im2col.c").read_text())
    said = room.grade(f"ROSTER={room.root / 'roster.csv'}")
    assert "equal files" not in said
    for name in ("eve", "fay"):
        room.hand_in(name, "points 30")
    assert re.search(r"equal files: (ada|bob), eve, fay \(lab 2\)\n", room.grade())


def test_what_a_task_does_not_allow_is_said(room):
    room.hand_in("ada", "points 30 uses system")
    assert "ada, attempt 1: 30/100; not allowed: system (im2col.c)" in room.grade()
    assert room.rows()["2", "ada"]["note"] == "not allowed: system (im2col.c)"
    assert "not allowed: system (im2col.c)" in (room.out / "class.html").read_text()


def test_times_that_are_those_of_files_are_said(room):
    room.hand_in("ada", "points 30")
    said = " ".join(room.grade().split())
    assert "1 of 1 came, as far as is known, when their files were last written (mtime)" in said
    assert "mtime" not in room.grade()
    (room.root / "times.csv").write_text("id,time\nbob,2026-01-01T00:00+00:00\n")
    room.hand_in("bob", "points 40")
    assert "mtime" not in room.grade(f"TIMES={room.root / 'times.csv'}")


def test_points_that_are_counted_anew_are_said(room):
    room.hand_in("ada", "points 30")
    room.hand_in("bob", "points 40")
    (room.root / "roster.csv").write_text("id\nada\nbob\n")
    roster = f"ROSTER={room.root / 'roster.csv'}"
    assert "->" not in room.grade(roster)
    anew = ["grade_class", "LAB=2", f"OUT={room.out}"]
    (room.out / "manual.csv").write_text("id,lab,points,reason\nada,2,+5,questions\n")
    said = room.run(*anew)
    assert "ada, lab 2: 30 -> 35\n" in said and "lab2: 2 counted anew; see" in said
    assert "->" not in room.run(*anew)
    (room.root / "roster.csv").write_text("id,group\nada,g\nbob,g\n")
    assert "ada, lab 2: 35 -> 45\n" in room.run(*anew, roster)


def test_without_submissions_a_graded_lab_is_counted_anew(room):
    room.hand_in("ada", "points 60")
    room.grade()
    shutil.rmtree(room.handed_in)
    (room.root / "secret").unlink()
    words = ["grade_class", "LAB=2", f"OUT={room.out}"]
    (room.out / "manual.csv").write_text("id,lab,points,reason\nada,2,+5,oral check\n")
    assert "lab2: 1 counted anew" in room.run(*words)
    assert room.rows()["2", "ada"]["points"] == "65" and len(room.graded()) == 1
    assert "TIMES= and SHARD= are about" in room.run(*words, "SHARD=1/2", status=2)
    said = room.run(words[0], "LAB=3", words[2], status=2)
    assert "SUBMISSIONS=dir is needed" in said and "nothing of lab 3" in said


def test_a_group_whose_last_attempt_nobody_knows_is_said_once(room):
    """A download of Moodle has no times."""
    roster = room.root / "roster.csv"
    roster.write_text("id,group,group_lab2,aliases\nada,,g,Ada L\nbob,,g,Bob B\ncleo,g,,Cleo C\n")
    for name, got in (("Ada L_11", 30), ("Bob B_12", 50), ("Cleo C_13", 70)):
        room.hand_in(f"{name}_assignsubmission_file_", f"points {got}")
    line = "which came last of bob/1 (50 points) and ada/1 (30 points) is not known: the better one"
    for said in (room.grade(f"ROSTER={roster}"), room.grade()):
        assert " ".join(said.split()).count(f"{line} counts") == 1
        assert said.count("which came last") == 1
    found = room.rows()
    assert [found["2", id]["points"] for id in ("ada", "bob", "cleo")] == ["50", "50", "70"]
    assert line in found["2", "ada"]["note"] and line in found["2", "bob"]["note"]
    assert "which came last" not in room.grade("ATTEMPT=best")  # by which the order means nothing
