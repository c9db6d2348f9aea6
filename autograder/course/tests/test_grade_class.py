"""A class is graded once, whole, and whatever happens in between; make is a stand-in here
(classroom.py), and the real one in test_real_class.py."""

import os
import random
import re
import shutil
import signal
import subprocess
import tarfile
import time
import zipfile

import pytest
from classroom import REPO, Classroom

KILLS = 30 if os.environ.get("GRADLAB_TEST_ALL") == "1" else 8


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path)


def rows(room) -> dict:
    """(lab, id) -> row of class.csv."""
    import csv
    with open(room.out / "class.csv", newline="") as file:
        return {(r["lab"], r["id"]): r for r in csv.DictReader(file)}


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
    found = rows(room)
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
    assert rows(room)["2", "bob"]["status"] == "nothing handed in"


def test_equal_files_are_graded_once_and_for_each(room):
    for name in ("ada", "bob", "cleo"):
        room.hand_in(name, "points 30")
    room.grade()
    room.hand_in("dan", "points 30")
    assert "dan, attempt 1: the files of ada, attempt 1" in room.grade()
    assert len(room.graded()) == 1
    assert {r["points"] for r in rows(room).values()} == {"30"}
    assert room.document("dan/lab2/1")["student"] == "dan"


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
    assert rows(room)["2", "ada"]["note"] == "not allowed: system (im2col.c)"
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


def test_the_archive_in_a_folder_of_moodle_is_the_submission(room):
    folder = room.handed_in / "Ada L_12_assignsubmission_file_"
    folder.mkdir()
    for name in ("a.zip", "b.zip"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("mine/lab2/im2col.c", "points 55")
            archive.writestr("mine/lab2/conv2d.h", "mine")
        if name == "a.zip":
            room.grade()
            assert rows(room)["2", "Ada_L_12"]["points"] == "55"
    told = room.document("Ada_L_12/lab2/1")["told"]
    assert told == ["your conv2d.h differs from the given one; it was not taken"]
    room.grade()
    assert rows(room)["2", "Ada_L_12"]["points"] == "55"  # of two archives none: one more attempt
    assert (room.out / "Ada_L_12/lab2/2/refused.json").exists()


def test_what_was_said_of_a_lab_holds_until_it_is_said_anew(room):
    room.hand_in("ada", "points 30")
    (room.root / "p.toml").write_text("allowance = 1\n")
    room.grade("DUE=2020-01-01 18:00+00:00", f"POLICY={room.root / 'p.toml'}")
    assert rows(room)["2", "ada"]["status"] == "too late"
    room.grade("ATTEMPT=best")
    assert rows(room)["2", "ada"]["status"] == "too late"
    said = room.grade("DUE=2999-01-01 18:00+00:00")
    assert "is now due at 2999-01-01" in said and "it was 2020-01-01" in said
    row = rows(room)["2", "ada"]
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


def test_a_later_submission_is_a_new_attempt(room):
    room.hand_in("ada", "points 30")
    room.grade()
    first = room.tree(room.out / "ada")
    room.hand_in("ada", "points 20")
    room.grade()
    assert {k: v for k, v in room.tree(room.out / "ada").items() if k in first} == first
    assert rows(room)["2", "ada"]["points"] == "20" and rows(room)["2", "ada"]["attempts"] == "2"
    room.grade("ATTEMPT=best")
    assert rows(room)["2", "ada"]["points"] == "30"


def test_what_the_machine_kept_from_a_grade_is_tried_again_and_never_zero(room):
    room.hand_in("ada", "points 30 fails 1")
    room.hand_in("bob", "points 50 fails 3")
    said = room.grade(status=1)
    assert "bob: not graded: lab9: not graded: the machine was at fault" in said
    bob = rows(room)["2", "bob"]
    assert rows(room)["2", "ada"]["points"] == "30"
    assert (bob["points"], bob["status"]) == ("", "not graded yet")
    room.grade()
    assert rows(room)["2", "bob"]["points"] == "50"


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


def test_shards_share_the_class_and_no_student_is_in_two(room):
    for n in range(12):
        room.hand_in(f"s{n}", f"points {n}")
    parts = []
    for i in range(1, 4):
        room.grade(f"SHARD={i}/3", out=room.root / f"out{i}")
        parts.append({p.parent.name for p in (room.root / f"out{i}").glob("*/lab2")})
    assert sorted(s for part in parts for s in part) == sorted(f"s{n}" for n in range(12))
    assert all(parts) and len(room.graded()) == 12


    (room.root / "roster.csv").write_text("id\n" + "".join(f"s{n}\n" for n in range(12)))
    whole = room.root / "whole"
    room.grade(f"ROSTER={room.root / 'roster.csv'}", out=whole)
    for i in range(1, 4):
        room.grade(f"SHARD={i}/3", f"ROSTER={room.root / 'roster.csv'}", out=room.root / f"out{i}")
    parts = ",".join(str(room.root / f"out{i}") for i in range(1, 4))
    assert "12 attempts of 3 parts are new" in room.run("merge", f"FROM={parts}", f"OUT={room.out}")
    assert room.tree() == room.tree(whole)
    assert "0 attempts" in room.run("merge", f"FROM={parts}", f"OUT={room.out}")


def test_an_empty_part_is_no_mistake_and_one_part_says_what_is_nobodys(room):
    room.hand_in("ada", "points 30")
    (room.handed_in / "link").symlink_to(room.root)
    outs, said = [room.root / f"out{i}" for i in range(1, 6)], []
    for i, out in enumerate(outs, 1):
        done = subprocess.run(**room.command(*room.words(f"SHARD={i}/5", out=out)), timeout=120)
        said.append((done.returncode, "link:" in done.stderr))
    assert sorted(said) == [(0, False)] * 4 + [(1, True)]
    assert len(room.graded()) == 1
    assert "1 attempts of 5 parts" in room.run("merge", f"FROM={','.join(map(str, outs))}",
                                               f"OUT={room.out}")


def test_what_all_need_is_built_by_as_many_as_grade_side_by_side(room):
    room.hand_in("ada", "points 30")
    room.grade("JOBS=3")
    first = (room.root / "graded").read_text().splitlines()[0]
    assert " -j3" in first


def test_parts_that_differ_are_not_merged(room):
    room.hand_in("ada", "points 30")
    room.grade(out=room.root / "one")
    room.hand_in("ada", "points 40")
    room.grade(out=room.root / "two")
    from_ = f"FROM={room.root / 'one'},{room.root / 'two'}"
    assert "differ: one student's work" in room.run("merge", from_, f"OUT={room.out}", status=2)
    room.grade("DUE=2026-11-23 18:00", out=room.root / "one")
    assert "another DUE" in room.run("merge", from_, f"OUT={room.out}x", status=2)
    assert "no labs.json" in room.run("merge", "FROM=/tmp/none", f"OUT={room.out}", status=2)


# ---- graded again --------------------------------------------------------------------------------

def test_a_regrade_raises_at_once_and_lowers_by_signature_alone(room):
    for name, text in (("ada", "points 30"), ("bob", "points 30"), ("cleo", "not begun")):
        room.hand_in(name, text)
    room.grade()
    words, first = ["regrade", f"OUT={room.out}", "LAB=2"], room.tree(room.out / "ada")
    assert "lab2: 3 same" in room.run(*words)
    (room.root / "changed").write_text("5")
    said = room.run(*words)
    assert "ada, attempt 1: 30 -> 35 (raised): +5 im2col/rows (C)" in said and "1 same" in said
    assert rows(room)["2", "bob"]["points"] == "35"
    assert rows(room)["2", "ada"]["attempt"] == "ada/1.1"
    assert {k: v for k, v in room.tree(room.out / "ada").items() if k in first} == first
    (room.root / "changed").write_text("-20")
    count = len(room.graded())
    said = room.run(*words)
    assert "35 -> 10 (lower: to be signed): -25 im2col/rows (C): mismatch" in said
    assert rows(room)["2", "ada"]["points"] == "35"
    lines = (room.out / "regrade-lab2.csv").read_text().splitlines()
    signed = room.root / "signed.csv"
    signed.write_text("\n".join(x[:-2] + '"Prof. X"' if x.startswith('"ada"') else x
                                for x in lines))
    assert "35 -> 10 (lowered)" in room.run(*words, f"SIGNED={signed}")
    assert (rows(room)["2", "ada"]["points"], rows(room)["2", "bob"]["points"]) == ("10", "35")
    assert room.document("ada/lab2/1.2")["regraded"]["signed"] == "Prof. X"
    assert len(room.graded()) == count + 2, "what was on the list to sign was graded again"


def test_a_regrade_of_one_keeps_what_others_have_to_sign(room):
    room.hand_in("ada", "points 30")
    room.hand_in("bob", "points 40")
    room.grade()
    (room.root / "changed").write_text("-20")
    room.run("regrade", f"OUT={room.out}", "LAB=2")
    before = sorted((room.out / "regrade-lab2.csv").read_text().splitlines())
    room.run("regrade", f"OUT={room.out}", "LAB=2", "STUDENT=ada")
    assert sorted((room.out / "regrade-lab2.csv").read_text().splitlines()) == before
    assert any(line.startswith('"bob"') and "to be signed" in line for line in before)


def test_of_a_regrade_only_whom_it_concerns(room):
    room.hand_in("ada", "points 30")
    room.hand_in("bob", "points 40")
    room.grade()
    (room.root / "changed").write_text("5")
    room.run("regrade", f"OUT={room.out}", "LAB=2", "STUDENT=ada")
    assert (rows(room)["2", "ada"]["points"], rows(room)["2", "bob"]["points"]) == ("35", "40")
    path = room.out / "bob/lab2/1/files/lab2/im2col.c"
    path.chmod(0o644)
    path.write_text("points 100")
    said = room.run("regrade", f"OUT={room.out}", "LAB=2", status=2)
    assert "not the files that were graded" in said


def test_a_replay_compares_and_writes_nothing(room):
    room.hand_in("ada", "points 100")
    room.grade()
    before, words = room.tree(), ["replay", f"OUT={room.out}", "LAB=2", "STUDENT=ada"]
    said = room.run(*words)
    assert "made" in said
    assert "was 100, and is 100, with the same verdicts (the same grader)" in said
    assert "REGRADE=1 SEED=7" in room.graded()[-1]
    (room.root / "changed").write_text("-1")
    said = room.run(*words, "ATTEMPT=1", status=1)
    assert "im2col/rows (C): was pass, is fail" in said and room.tree() == before
    assert "there are 1" in room.run(*words, "ATTEMPT=2", status=2)
    assert "has nothing of theirs" in room.run(*words[:3], "STUDENT=../ada", status=2)


def test_without_submissions_a_graded_lab_is_counted_anew(room):
    room.hand_in("ada", "points 60")
    room.grade()
    shutil.rmtree(room.handed_in)
    (room.root / "secret").unlink()
    words = ["grade_class", "LAB=2", f"OUT={room.out}"]
    (room.out / "manual.csv").write_text("id,lab,points,reason\nada,2,+5,oral check\n")
    assert "lab2: 1 counted anew" in room.run(*words)
    assert rows(room)["2", "ada"]["points"] == "65" and len(room.graded()) == 1
    assert "TIMES= and SHARD= are about" in room.run(*words, "SHARD=1/2", status=2)
    said = room.run(words[0], "LAB=3", words[2], status=2)
    assert "SUBMISSIONS=dir is needed" in said and "nothing of lab 3" in said


def test_a_replay_says_what_the_class_has_of_it(room):
    room.hand_in("ada", "points 60")
    room.grade()
    (room.out / "manual.csv").write_text("id,lab,points,reason\nada,2,+5,questions\n")
    said = room.run("replay", f"OUT={room.out}", "LAB=2", "STUDENT=ada")
    assert "class.csv has 65 for ada: +5: questions\n" in said


def test_a_replay_names_the_partner_who_handed_in(room):
    room.hand_in("ada", "points 100")
    roster = room.root / "roster.csv"
    roster.write_text("id,group\nada,g1\nbob,g1\ncleo,\n")
    room.grade(f"ROSTER={roster}")
    words = ["replay", f"OUT={room.out}", "LAB=2"]
    assert "a partner: STUDENT=ada" in room.run(*words, "STUDENT=bob", status=2)
    assert "a partner" not in room.run(*words, "STUDENT=cleo", status=2)


# ---- killed at any moment ------------------------------------------------------------------------

def inodes(room) -> dict:
    return {str(p): p.stat().st_ino for p in room.out.glob("*/lab2/[0-9]*")}


def test_killed_at_any_moment_it_goes_on_and_ends_the_same(room):
    """Only what was graded and not yet written is graded again, and nothing that is written."""
    moments, kills, grew, seen = random.Random(5), 0, 0, {}
    for n in range(3 * KILLS):
        room.hand_in(f"s{n}", f"points {n} waits {moments.randrange(100)}")
    shutil.copytree(room.handed_in / "s4", room.handed_in / "twin")
    room.hand_in("zoe", "no file of the lab", "other.c")
    room.grade("JOBS=2", out=room.root / "calm")
    for _ in range(KILLS):
        process = subprocess.Popen(**room.command(*room.words("JOBS=2")))
        if moments.random() < 0.7:  # while it grades; else it may be before
            next((line for line in process.stderr if line.startswith("[")), "")
        time.sleep(moments.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        now = inodes(room)
        assert {k: v for k, v in now.items() if k in seen} == seen, "an attempt was written again"
        grew += 0 < len(seen) < len(now)
        seen = now
    assert kills > KILLS // 2 and grew > KILLS // 5, "too few runs were killed while they graded"
    room.grade("JOBS=2")
    assert {k: v for k, v in inodes(room).items() if k in seen} == seen
    assert room.tree() == room.tree(room.root / "calm")
    assert not [p for p in (room.root / "build").rglob("*") if "class" in p.name]


def test_who_ends_it_ends_what_it_has_started(room):
    room.hand_in("ada", "points 30 waits for go")
    process = subprocess.Popen(**room.command(*room.words()))
    while not (room.root / "held").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 2 and "what is graded is kept" in said
    assert not list((room.root / "build/course").glob("*")) and not room.graded()


def test_whoever_comes_after_waits_for_what_still_runs(room):
    """The make of a killed grader holds the lock as long as it lives."""
    room.hand_in("ada", "points 30 waits for go")
    process = subprocess.Popen(**room.command(*room.words()))
    while not (room.root / "held").exists():
        time.sleep(0.01)
    process.kill()
    process.communicate()
    after = subprocess.Popen(**room.command(*room.words()))
    assert "what a killed grader had begun still runs" in after.stderr.readline()
    assert not (room.out / "ada").exists() and after.poll() is None
    (room.root / "go").touch()
    after.communicate(timeout=60)
    assert len(room.graded()) == 2 and rows(room)["2", "ada"]["points"] == "30"
