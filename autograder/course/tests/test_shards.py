"""A class in parts, and the parts in one."""

import subprocess

import pytest
from classroom import Classroom


@pytest.fixture
def room(tmp_path):
    return Classroom(tmp_path)


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


def test_equal_files_that_no_part_could_see_are_said_when_they_are_merged(room):
    roster = room.root / "roster.csv"
    roster.write_text("id,group_lab2\n" + "".join(f"s{n},\n" for n in range(6)) + "g1,g\ng2,g\n")
    for n in range(6):
        room.hand_in(f"s{n}", f"points {n}")
    outs = [room.root / f"out{i}" for i in (1, 2)]

    def graded():
        for i, out in enumerate(outs, 1):
            assert "equal files" not in room.grade(f"SHARD={i}/2", f"ROSTER={roster}", out=out)
        return [sorted(p.parent.name for p in out.glob("*/lab2")) for out in outs]

    (one, *_), (other, *_) = graded()
    for name in (one, other):
        room.hand_in(name, "points 77")
    room.hand_in("g1", "points 60")
    room.hand_in("g2", "points 60")
    graded()
    said = room.run("merge", f"FROM={outs[0]},{outs[1]}", f"OUT={room.out}")
    assert [line for line in said.splitlines() if "equal files" in line] == [
        f"equal files: {', '.join(sorted((one, other)))} (lab 2)"]


def test_a_part_says_of_nobody_that_nothing_was_handed_in(room):
    roster = room.root / "roster.csv"
    roster.write_text("id\n" + "".join(f"s{n}\n" for n in range(8)))
    for n in range(7):
        room.hand_in(f"s{n}", f"points {n}")
    outs, there = [room.root / f"out{i}" for i in (1, 2)], []
    for i, out in enumerate(outs, 1):
        said = room.grade(f"SHARD={i}/2", f"ROSTER={roster}", out=out)
        assert f"this is part {i}/2: " in said and "nothing handed in" not in said
        assert "nothing handed in" not in room.run("grade_class", "LAB=2", f"OUT={out}")
        lines = (out / "class.csv").read_text().splitlines()[1:]
        there += [line.split(",")[1].strip('"') for line in lines]
    assert sorted(there) == [f"s{n}" for n in range(7)]
    room.run("merge", f"FROM={outs[0]},{outs[1]}", f"OUT={room.out}")
    assert room.rows()["2", "s7"]["status"] == "nothing handed in"
    assert len(room.rows()) == 8
    said = room.run("grade_class", "LAB=2", f"OUT={room.out}")
    assert "this is part" not in said and "7 counted anew, 1 nothing handed in" in said


def test_while_a_part_is_missing_the_merge_is_one(room):
    roster = room.root / "roster.csv"
    roster.write_text("id\n" + "".join(f"s{n}\n" for n in range(8)))
    for n in range(7):
        room.hand_in(f"s{n}", f"points {n}")
    outs = [room.root / f"out{i}" for i in (1, 2, 3)]
    for i, out in enumerate(outs, 1):
        room.grade(f"SHARD={i}/3", f"ROSTER={roster}", out=out)
    said = room.run("merge", f"FROM={outs[2]},{outs[0]}", f"OUT={room.out}")
    assert "lab 2: part 2/3 is missing" in said
    assert {row["status"] for row in room.rows().values()} == {"graded"}
    said = room.run("merge", f"FROM={outs[1]}", f"OUT={room.out}")
    assert "is missing" not in said and len(room.rows()) == 8
    assert room.rows()["2", "s7"]["status"] == "nothing handed in"


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
