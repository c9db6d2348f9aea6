"""Graded again: make regrade and make replay."""

import pytest
from classroom import Classroom


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path)


def test_a_regrade_raises_at_once_and_lowers_by_signature_alone(room):
    for name, text in (("ada", "points 30"), ("bob", "points 30"), ("cleo", "not begun")):
        room.hand_in(name, text)
    room.grade()
    words, first = ["regrade", f"OUT={room.out}", "LAB=2"], room.tree(room.out / "ada")
    assert "lab2: 3 same" in room.run(*words)
    (room.root / "changed").write_text("5")
    said = room.run(*words)
    assert "ada, attempt 1: 30 -> 35 (raised): +5 im2col/rows (C)" in said and "1 same" in said
    assert room.rows()["2", "bob"]["points"] == "35"
    assert room.rows()["2", "ada"]["attempt"] == "ada/1.1"
    assert {k: v for k, v in room.tree(room.out / "ada").items() if k in first} == first
    (room.root / "changed").write_text("-20")
    count = len(room.graded())
    said = room.run(*words)
    assert "35 -> 10 (lower: to be signed): -25 im2col/rows (C): mismatch" in said
    assert room.rows()["2", "ada"]["points"] == "35"
    lines = (room.out / "regrade-lab2.csv").read_text().splitlines()
    signed = room.root / "signed.csv"
    signed.write_text("\n".join(x[:-2] + '"Prof. X"' if x.startswith('"ada"') else x
                                for x in lines))
    assert "35 -> 10 (lowered)" in room.run(*words, f"SIGNED={signed}")
    assert (room.rows()["2", "ada"]["points"], room.rows()["2", "bob"]["points"]) == ("10", "35")
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
    assert (room.rows()["2", "ada"]["points"], room.rows()["2", "bob"]["points"]) == ("35", "40")
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


def test_a_replay_says_what_the_class_has_of_it(room):
    room.hand_in("ada", "points 60")
    room.grade()
    (room.out / "manual.csv").write_text("id,lab,points,reason\nada,2,+5,questions\n")
    said = room.run("replay", f"OUT={room.out}", "LAB=2", "STUDENT=ada")
    assert "class.csv has 65 for ada: +5: questions\n" in said


def test_a_replay_says_whether_its_attempt_counts(room):
    roster = room.root / "roster.csv"
    roster.write_text("id,group\nada,g1\nbob,g1\n")
    for number in ("60", "30"):
        room.hand_in("ada", f"points {number}")
        room.grade(f"ROSTER={roster}", "ATTEMPT=best")
    words = ["replay", f"OUT={room.out}", "LAB=2", "STUDENT=ada"]
    said = room.run(*words)
    assert "ada, lab 2, attempt 2: " in said
    assert "it is not the attempt that counts: that is ada/1\n" in said
    assert "it is the attempt that counts for ada and bob\n" in room.run(*words, "ATTEMPT=1")
    room.grade("DUE=2020-01-01 18:00+00:00")
    assert "it is not the attempt that counts\n" in room.run(*words)


def test_a_replay_names_the_partner_who_handed_in(room):
    room.hand_in("ada", "points 100")
    roster = room.root / "roster.csv"
    roster.write_text("id,group\nada,g1\nbob,g1\ncleo,\n")
    room.grade(f"ROSTER={roster}")
    words = ["replay", f"OUT={room.out}", "LAB=2"]
    assert "a partner: STUDENT=ada" in room.run(*words, "STUDENT=bob", status=2)
    assert "a partner" not in room.run(*words, "STUDENT=cleo", status=2)
