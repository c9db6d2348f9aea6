"""A class is graded once, and whole; make is a stand-in here (classroom.py), and the real one in
test_real_class.py."""

import tarfile
import zipfile

import pytest
from classroom import Classroom


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path)


def test_a_class_is_graded_and_its_disk_given_back(room):
    room.hand_in("ada", "points 100")
    room.hand_in("bob/my lab", "points 40")
    with zipfile.ZipFile(room.handed_in / "cleo.zip", "w") as archive:
        archive.writestr("lab2/im2col.c", "points 55")
    with tarfile.open(room.handed_in / "dan.tar.gz", "w:gz") as archive:
        archive.add(room.hand_in("../dan", "points 70"), "lab2")
    (room.handed_in / "eve").symlink_to(room.handed_in / "ada")
    (room.handed_in / "notes.txt").write_text("x")
    room.hand_in("fay", "no file of the lab", "other.c")
    said = room.grade(status=1)
    assert "[4/4]" in said and "left\n" in said
    assert "eve: a link, not followed" in said and "notes.txt: neither a folder" in said
    found = room.rows()
    assert {id: found["2", id]["points"] for _, id in found} == {
        "ada": "100", "bob": "40", "cleo": "55", "dan": "70", "fay": ""}
    assert "no file of lab 2" in found["2", "fay"]["note"]
    one = room.document("bob/lab2/1")
    assert (one["student"], one["attempt"], one["submission"]["name"]) == ("bob", 1, "bob")
    assert (room.out / "bob/lab2/1/files/lab2/im2col.c").read_text() == "points 40"
    assert (room.out / "fay/lab2/1/feedback.md").exists()
    left = [p for p in (room.root / "build").rglob("*") if "class" in p.name]
    assert not left, "what was built of submissions stays"
    before = room.tree()
    assert "5 are graded already" in room.grade(status=1)
    assert len(room.graded()) == 4 and room.tree() == before


def test_the_archive_of_another_lab_is_told_and_has_no_points(room):
    with zipfile.ZipFile(room.handed_in / "ada.zip", "w") as archive:
        archive.writestr("lab1/gemm.c", "points 55")
        archive.writestr("lab1/cases.toml", "")
    said = " ".join(room.grade().split())
    row = room.rows()["2", "ada"]
    assert (row["status"], row["points"]) == ("not graded", "")
    assert "no file of lab 2" in row["note"] and "files of lab 1 are there" in row["note"]
    assert "ada: not graded: " in said and "files of lab 1 are there" in said


def test_what_a_program_printed_is_text_in_every_page(room):
    room.hand_in("ada", "points 3")
    room.grade()
    md, html = ((room.out / "ada/lab2/1" / f"feedback.{kind}").read_text()
                for kind in ("md", "html"))
    assert "<b>" not in html and "&lt;b&gt;``` printed" in html
    lines = [x for x in md.splitlines() if "<b>```" in x]
    assert lines and all(x.startswith("    ") for x in lines)


def test_names_that_a_spreadsheet_would_compute_are_text(room):
    (room.root / "roster.csv").write_text(
        "id,name\nada,\"=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"\nbob,Bob\n")
    room.hand_in("ada", "points 3")
    room.grade(f"ROSTER={room.root / 'roster.csv'}")
    table = (room.out / "class.csv").read_text()
    assert "\"'=HYPERLINK(" in table and ",\"=HYPERLINK" not in table
    assert room.rows()["2", "bob"]["status"] == "nothing handed in"


def test_equal_files_are_graded_once_and_for_each(room):
    for name in ("ada", "bob", "cleo"):
        room.hand_in(name, "points 30")
    room.grade()
    room.hand_in("dan", "points 30")
    assert "dan, attempt 1: the files of ada, attempt 1" in room.grade()
    assert len(room.graded()) == 1
    assert {r["points"] for r in room.rows().values()} == {"30"}
    assert room.document("dan/lab2/1")["student"] == "dan"


def test_the_archive_in_a_folder_of_moodle_is_the_submission(room):
    folder = room.handed_in / "Ada L_12_assignsubmission_file_"
    folder.mkdir()
    for name in ("a.zip", "b.zip"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("mine/lab2/im2col.c", "points 55")
            archive.writestr("mine/lab2/conv2d.h", "mine")
        if name == "a.zip":
            room.grade()
            assert room.rows()["2", "Ada_L_12"]["points"] == "55"
    told = room.document("Ada_L_12/lab2/1")["told"]
    assert told == ["your conv2d.h differs from the given one; it was not taken"]
    room.grade()
    assert room.rows()["2", "Ada_L_12"]["points"] == "55"  # of two archives none: one more attempt
    assert (room.out / "Ada_L_12/lab2/2/refused.json").exists()


def test_what_was_said_of_a_lab_holds_until_it_is_said_anew(room):
    room.hand_in("ada", "points 30")
    (room.root / "p.toml").write_text("allowance = 1\n")
    room.grade("DUE=2020-01-01 18:00+00:00", f"POLICY={room.root / 'p.toml'}")
    assert room.rows()["2", "ada"]["status"] == "too late"
    room.grade("ATTEMPT=best")
    assert room.rows()["2", "ada"]["status"] == "too late"
    said = room.grade("DUE=2999-01-01 18:00+00:00")
    assert "is now due at 2999-01-01" in said and "it was 2020-01-01" in said
    row = room.rows()["2", "ada"]
    assert (row["status"], row["late_days_left"]) == ("graded", "1")


def test_a_time_that_comes_after_the_grade_is_not_passed_over_in_silence(room):
    room.hand_in("ada", "points 60")
    (room.root / "times.csv").write_text("id,time\nada,2026-01-01T00:00+00:00\n")
    times = f"TIMES={room.root / 'times.csv'}"
    assert "TIMES: ada" not in room.grade(times)
    assert "TIMES: ada" not in room.grade(times)
    (room.root / "times.csv").write_text("id,time\nada,2026-01-02T00:00+00:00\n")
    said = room.grade(times)
    assert "TIMES: ada's attempt 1 was noted with the time 2026-01-01T00:00:00+00:00" in said


def test_a_time_that_was_not_known_at_first_is_taken_later(room):
    roster, times = room.root / "roster.csv", room.root / "times.csv"
    roster.write_text("id,aliases\nada,11\nbob,12\ncleo,13\n")
    for name in ("adal_LATE_11_900_lab2.tar.gz", "bobb_12_901_lab2.tar.gz"):
        with tarfile.open(room.handed_in / name, "w:gz") as archive:
            archive.add(room.hand_in("../one", f"points {len(name)}"), "lab2")
    words = (f"ROSTER={roster}", "DUE=2026-01-01T18:00+00:00")
    said = " ".join(room.grade(*words).split())
    assert "late by the system's word, which does not say by how much, counted as in time" in said
    assert "says when they came: ada when they came is not known" in said
    assert "says when they came: bob lab 2: 2 to grade" in said
    assert "TIMES=" in room.rows()["2", "ada"]["note"]
    first = room.tree(room.out / "ada")
    times.write_text("id,time\nada,2026-01-02T08:00+00:00\n")
    said = " ".join(room.grade(f"TIMES={times}").split())
    assert ("TIMES: ada's attempt 1 was noted with no time: as 1.1 it has "
            "2026-01-02T08:00:00+00:00") in said
    assert "says when" not in said and len(room.graded()) == 2  # (nothing is graded for it)
    row = room.rows()["2", "ada"]
    assert (row["attempt"], row["late_days_used"], row["time_from"], row["note"]) == (
        "ada/1.1", "1", "TIMES", "")
    assert "2026-01-02T08:00" in (room.out / "ada/lab2/1.1/feedback.html").read_text()
    assert {k: v for k, v in room.tree(room.out / "ada").items() if k in first} == first
    assert "TIMES: " not in room.grade(f"TIMES={times}")
    times.write_text("id,time\nada,2026-01-01T08:00+00:00\n")
    assert "and that stays" in room.grade(f"TIMES={times}")
    assert "same verdicts" in room.run("replay", f"OUT={room.out}", "LAB=2", "STUDENT=ada")
    assert "2 same" in room.run("regrade", f"OUT={room.out}", "LAB=2")


def test_a_later_submission_is_a_new_attempt(room):
    room.hand_in("ada", "points 30")
    room.grade()
    first = room.tree(room.out / "ada")
    room.hand_in("ada", "points 20")
    room.grade()
    assert {k: v for k, v in room.tree(room.out / "ada").items() if k in first} == first
    assert room.rows()["2", "ada"]["points"] == "20" and room.rows()["2", "ada"]["attempts"] == "2"
    room.grade("ATTEMPT=best")
    assert room.rows()["2", "ada"]["points"] == "30"


def test_what_the_machine_kept_from_a_grade_is_tried_again_and_never_zero(room):
    room.hand_in("ada", "points 30 fails 1")
    room.hand_in("bob", "points 50 fails 3")
    said = room.grade(status=1)
    assert "bob: not graded: lab9: not graded: the machine was at fault" in said
    bob = room.rows()["2", "bob"]
    assert room.rows()["2", "ada"]["points"] == "30"
    assert (bob["points"], bob["status"]) == ("", "not graded yet")
    room.grade()
    assert room.rows()["2", "bob"]["points"] == "50"


def test_a_skeleton_with_points_ends_it(room):
    make = room.root / "bin/make"
    make.write_text(make.read_text().replace("in said else 0", "in said else 1"))
    room.hand_in("ada", "points 30")
    assert "the untouched skeleton has 1 points" in room.grade(status=2)
    assert not (room.out / "ada").exists()


def test_a_ledger_that_somebody_changed_is_no_ledger(room):
    room.hand_in("ada", "points 30")
    room.grade()
    path = room.out / "ada/lab2/1/grade.json"
    path.chmod(0o644)
    path.write_text(path.read_text()[:-9])
    assert "was changed or damaged" in room.grade(status=2)


@pytest.mark.parametrize("words, said", [
    (["LAB=x"], "LAB is given twice"), (["JOBS=0"], "JOBS=0"), (["DUE=soon"], "'soon' is no time"),
    (["ATTEMPT=first"], "last or best"), (["SHARD=3/2"], "SHARD=3/2"), (["T=x"], "not an option"),
    (["POLICY=/none"], "POLICY=/none"), (["ROSTER=/none"], "/none: cannot be read")])
def test_what_was_mistyped_is_said_before_anything_is_done(room, words, said):
    room.hand_in("ada", "points 30")
    assert said in room.grade(*words, status=2)
    assert not room.graded()


def test_what_all_need_is_built_by_as_many_as_grade_side_by_side(room):
    room.hand_in("ada", "points 30")
    room.grade("JOBS=3")
    first = (room.root / "graded").read_text().splitlines()[0]
    assert " -j3" in first
