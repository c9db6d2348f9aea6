"""A student is forgotten: nothing in OUT names them, a partner keeps what is theirs, and nobody
comes back by an old download."""

import csv
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import alike
import pytest
from classroom import Classroom
from forgotten import Forgotten
from skeletons import Refused

GOLDEN = Path(__file__).with_name("golden")
ALL = os.environ.get("GRADLAB_TEST_ALL") == "1"
ROSTER = """id,name,mail,group,extension,aliases
adalo,Ada Lovelace,lovelace@example.edu,adalo-bob,0,kx4711z;ada-l
bob,Bob Babbage,bob@example.edu,adalo-bob,0,
cleo,"Cleo, the 3rd",cleo@example.edu,,0,kx4712z
"""
NAMES = ("adalo", "lovelace", "kx4711z", "ada-l")


def graded(root: Path) -> Classroom:
    """adalo and bob in a group: two attempts of hers, a refused one, one of his; points by hand, a
    signed list of regrades and one that is not, pairs and pseudonyms."""
    room = Classroom(root)
    (root / "roster.csv").write_text(ROSTER)
    room.hand_in("adalo", alike.FIRST)
    room.grade(f"ROSTER={root / 'roster.csv'}")
    room.hand_in("adalo", alike.ADA)
    room.hand_in("cleo", alike.CLEO)
    room.grade()
    shutil.rmtree(room.handed_in / "adalo")
    with zipfile.ZipFile(room.handed_in / "Ada Lovelace_kx4711z_assignsubmission_file_x.zip",
                         "w") as archive:
        archive.writestr("notes.txt", "x")
    (room.handed_in / "Ada Lovelace_kx4711z_assignsubmission_file_x.zip").rename(
        room.handed_in / "adalo.zip")
    room.hand_in("bob", "points 20")
    room.grade("ATTEMPT=best")
    (room.out / "manual.csv").write_text(
        "id;lab;points;reason\nadalo;2;+5;report\nbob;2;+1;oral check\nadalo;2;-1;style\n")
    regraded(room, -3, signed=True)
    regraded(room, -5, signed=False)
    lay = ["similarity", f"OUT={room.out}", "LAB=2"]
    room.run(*lay, f"TO={root / 'to'}", "PSEUDONYMS=1")
    (root / "pairs.csv").write_text(
        "submissionName1,submissionName2,averageSimilarity,maxSimilarity\n"
        "students/adalo~2,students/cleo~1,0.9,0.9\nstudents/adalo~2,others/solution,0.7,0.7\n"
        "others/2025~adalo~1,students/cleo~1,0.8,0.8\nstudents/cleo~1,others/solution,0.7,0.7\n")
    room.run(*lay, f"READ={root / 'pairs.csv'}")
    return room


def regraded(room, by: int, signed: bool) -> None:
    (room.root / "changed").write_text(str(by))
    room.run("regrade", f"OUT={room.out}", "LAB=2")
    if signed:
        text = (room.out / "regrade-lab2.csv").read_text()
        mine = room.out / "signed-by-me.csv"
        mine.write_text(text.replace('""\n', '"me"\n'))
        room.run("regrade", f"OUT={room.out}", "LAB=2", f"SIGNED={mine}")


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    return graded(tmp_path_factory.mktemp("term"))


def copied(term, root: Path) -> Classroom:
    shutil.copytree(term.root, root, symlinks=True)
    room = Classroom.__new__(Classroom)
    room.root, room.handed_in, room.out = root, root / "in", root / "out"
    return room


@pytest.fixture
def room(term, tmp_path):
    return copied(term, tmp_path / "room")


def forget(room, id: str = "adalo", status: int = 0) -> str:
    return room.run("forget", f"STUDENT={id}", f"OUT={room.out}", status=status)


def named(out: Path) -> list:
    """Files of OUT in which a name of hers stands, however it is written."""
    found = []
    for path in sorted(out.rglob("*")):
        text = str(path.relative_to(out)).encode() + (
            path.read_bytes() if path.is_file() else b"")
        found += [(path.name, name) for name in NAMES if name.encode() in text.lower()]
    return found


def rows(path: Path) -> list:
    lines = path.read_text().splitlines()
    return list(csv.DictReader(lines, delimiter=";" if ";" in lines[0] else ","))


def test_nothing_in_out_names_who_was_forgotten(room):
    there = {name for name, _ in named(room.out)}
    for name in ("roster.csv", "manual.csv", "regrade-lab2.csv", "signed-by-me.csv", "class.csv",
                 "class.html", "similarity-lab2.csv", "similarity-lab2.html", "similarity-key.csv",
                 "grade.json", "refused.json", "feedback.md", "feedback.html", "adalo"):
        assert name in there  # or this test would say nothing
    assert len(list(room.out.glob("adalo/lab2/*"))) >= 4 and list(room.out.glob(".regrade/*/*/*"))
    forget(room)
    assert named(room.out) == []
    assert not [p for p in room.out.rglob(".*") if p.name not in (".lock", ".regrade")]


def test_what_was_removed_and_what_is_out_of_reach_is_said(room):
    said = forget(room)
    assert "removed: 5 attempts, 2 lines of manual.csv" in said and "a line of roster.csv" in said
    assert "lab 2, attempt 2 was shared: it is bob's attempt 3 now" in said
    assert "not reached: what was handed in (SUBMISSIONS=)" in said and "backups" in said
    assert "still named" not in said
    # (the roster of hers that nobody can reach)
    assert "adalo" in (room.root / "roster.csv").read_text()


def test_a_partner_keeps_what_is_theirs(room):
    before = {r["id"]: r for r in rows(room.out / "class.csv")}
    forget(room)
    after = {r["id"]: r for r in rows(room.out / "class.csv")}
    assert set(after) == {"bob", "cleo"}
    for id, row in after.items():
        same = set(row) - {"group", "attempt", "note"}
        assert {k: row[k] for k in same} == {k: before[id][k] for k in same}
    assert after["bob"]["attempt"].startswith("bob/3") and after["bob"]["points"] == "91"
    folder = room.out / "bob/lab2/3"
    assert (folder / "files/lab2/im2col.c").read_text() == alike.ADA
    document = json.loads((folder / "grade.json").read_text())
    assert (document["student"], document["attempt"]) == ("bob", 3)
    assert document["handed_in"]["others"] == [] and "bob" in (folder / "feedback.md").read_text()
    lowered = json.loads((room.out / "bob/lab2/3.1/grade.json").read_text())["regraded"]
    assert lowered["of"] == "3" and lowered["signed"] == "me"
    room.run("replay", f"OUT={room.out}", "LAB=2", "STUDENT=bob", "ATTEMPT=3", status=0)


def test_pairs_of_shared_work_are_the_partners_and_others_stay(room):
    forget(room)
    found = [(r["id"], r["attempt"], r["with_term"], r["with"])
             for r in rows(room.out / "similarity-lab2.csv")]
    assert found == [("bob", "3", "", "cleo"), ("bob", "3", "", "solution"),
                     ("cleo", "1", "", "solution")]
    text = (room.out / "similarity-lab2.html").read_text()
    assert "bob Bob Babbage" in text and "cleo Cleo, the 3rd" in text
    assert [r["id"] for r in rows(room.out / "manual.csv")] == ["bob"]
    assert [r["id"] for r in rows(room.out / "similarity-key.csv")] == ["cleo"]
    assert {r["name"] for r in rows(room.out / "roster.csv")} == {"Bob Babbage", "Cleo, the 3rd"}


def test_who_hands_in_alone_is_gone_with_everything(room):
    before = room.tree()
    forget(room, "cleo")
    after = room.tree()
    assert not [name for name in after if "cleo" in name]
    assert {k: v for k, v in after.items() if k.startswith(("adalo/", "bob/"))} == {
        k: v for k, v in before.items() if k.startswith(("adalo/", "bob/"))}
    assert [r["id"] for r in rows(room.out / "similarity-lab2.csv")] == ["adalo"]
    assert len(list(room.out.glob(".regrade/*/*/*"))) == len(
        [k for k in before if k.startswith(".regrade")]) - 1


def test_a_name_in_shared_work_is_said_and_stays(room):
    room.hand_in("bob", alike.ADA.replace("93", "91") + "// by Ada Lovelace\n")
    room.grade()
    said = forget(room, status=1)
    assert "still named: " in said and "bob/lab2/2/files/lab2/im2col.c:23" in said


def test_whoever_is_named_as_submitter_by_another_is_taken_out(tmp_path):
    room = Classroom(tmp_path)
    (tmp_path / "roster.csv").write_text(ROSTER.replace("adalo-bob", ""))
    room.hand_in("submission_1", alike.ADA)
    who = {"adalo": "Ada Lovelace", "bob": "Bob Babbage"}
    submitters = [f"  - :name: {who[id]}\n    :sid: {id}\n" for id in ("bob", "adalo")]
    (room.handed_in / "submission_metadata.yml").write_text(
        "---\nsubmission_1:\n  :submitters:\n" + "".join(submitters))
    room.grade(f"ROSTER={tmp_path / 'roster.csv'}")
    assert room.document("bob/lab2/1")["handed_in"]["others"] == ["adalo"]
    forget(room)
    assert named(room.out) == [] and room.document("bob/lab2/1")["handed_in"]["others"] == []
    before = room.tree()
    said = room.grade()
    assert "1 are graded already" in said and room.tree() == before


def test_a_partner_of_one_lab_keeps_that_lab_alone(tmp_path):
    """Of labs 2 and 3 the roster has a group for each, and adalo hands in both."""
    room = Classroom(tmp_path)
    (tmp_path / "roster.csv").write_text(
        "id,name,group,group_lab2,group_lab3,aliases\nadalo,Ada Lovelace,,g,h,kx4711z\n"
        "bob,,,g,,\ncleo,,,,h,\n")
    folder = room.hand_in("adalo", alike.ADA)
    room.grade(f"ROSTER={tmp_path / 'roster.csv'}")
    third = room.words()
    third[third.index("LAB=2")] = "LAB=3"
    (folder / "im2col.c").unlink()
    room.hand_in("adalo", "points 40", "relu.c")
    room.run(*third)
    before = room.rows()
    assert (before["2", "bob"]["points"], before["3", "cleo"]["points"]) == ("93", "40")
    assert before["3", "bob"]["points"] == before["2", "cleo"]["points"] == ""
    said = forget(room)
    assert "lab 2, attempt 1 was shared: it is bob's attempt 1 now" in said
    assert "lab 3, attempt 1 was shared: it is cleo's attempt 1 now" in said
    assert named(room.out) == []
    after = room.rows()
    assert {key: row["points"] for key, row in after.items()} == {
        key: row["points"] for key, row in before.items() if key[1] != "adalo"}
    assert (after["2", "bob"]["attempt"], after["3", "cleo"]["attempt"]) == ("bob/1", "cleo/1")


# ---- they do not come back -----------------------------------------------------------------------

def test_an_old_download_and_an_old_roster_bring_nobody_back(room):
    forget(room)
    before = room.tree()
    said = room.grade()
    assert "left alone, of students who were forgotten (make forget): 1" in said
    assert room.tree() == before
    said = room.grade(f"ROSTER={room.root / 'roster.csv'}")
    assert "left out, for they were forgotten (make forget): adalo" in said
    assert named(room.out) == []
    text = (room.out / "forgotten.txt").read_text()
    assert text and not any(name in text.lower() for name in NAMES)


def test_nor_without_a_roster(tmp_path):
    room = Classroom(tmp_path)
    room.hand_in("Ada Lovelace_4711_assignsubmission_file_", alike.ADA)
    room.hand_in("bob", alike.DAN)
    room.grade()
    forget(room, "Ada_Lovelace_4711")
    before = room.tree()
    assert named(room.out) == [] and "were forgotten (make forget): 1" in room.grade()
    assert room.tree() == before


def test_nor_by_a_part_of_another_machine(room):
    shutil.copytree(room.out, room.root / "part")
    forget(room)
    merge = ["merge", f"FROM={room.root / 'part'}", f"OUT={room.out}"]
    said = room.run(*merge, status=2)
    assert "adalo was forgotten elsewhere: first type make forget STUDENT=adalo" in said
    assert named(room.out) == []
    room.run("forget", "STUDENT=adalo", f"OUT={room.root / 'part'}")
    room.run(*merge)
    assert named(room.out) == []
    shutil.rmtree(room.out)
    room.run(*merge)
    assert (room.out / "forgotten.txt").exists()


def test_times_of_who_was_forgotten_are_passed_over(room):
    forget(room)
    (room.root / "times.csv").write_text("id,time\nadalo,2026-01-01T00:00\n")
    room.grade(f"TIMES={room.root / 'times.csv'}")


# ---- killed, mistyped ----------------------------------------------------------------------------

KILLER = """
import os, pathlib, shutil, sys
sys.argv[1:] = sys.argv[2:]
sys.path.insert(0, {tests!r})
left = [{after}]
def dying(act):
    def do(*words, **more):
        left[0] -= 1
        if left[0] < 0:
            os._exit(9)
        return act(*words, **more)
    return do
for place, name in ((os, "replace"), (os, "rename"), (pathlib.Path, "unlink"),
                    (pathlib.Path, "rename"), (pathlib.Path, "chmod"), (os, "unlink"),
                    (os, "rmdir")):
    setattr(place, name, dying(getattr(place, name)))
import runpy
sys.argv[0] = {classroom!r}
runpy.run_path({classroom!r}, run_name="__main__")
"""


def killed(room, after: int) -> bool:
    """Whether it came to an end before it had changed so many files."""
    words = room.command("forget", "STUDENT=adalo", f"OUT={room.out}")
    tests = Path(__file__).parent
    script = KILLER.format(after=after, tests=str(tests), classroom=str(tests / "classroom.py"))
    done = subprocess.run([sys.executable, "-c", script, *words.pop("args")[1:]], **words,
                          timeout=120)
    assert done.returncode in (0, 9), done.stderr
    return done.returncode == 0


def state(room) -> dict:
    return {k: v for k, v in room.tree().items() if k not in ("forgotten.txt", ".lock")}


def test_killed_at_any_moment_the_same_line_finishes_it(term, tmp_path):
    whole = copied(term, tmp_path / "whole")
    forget(whole)
    at, kills, step = 0, 0, 1 if ALL else 17
    while True:
        room = copied(term, tmp_path / f"room{at}")
        if killed(room, at):
            break
        kills += 1
        if (room.out / ".forget.json").exists() and kills == 2:
            said = room.grade(status=2)
            assert "a make forget was interrupted there: type that line again" in said
            assert "first type make forget STUDENT=adalo" in forget(room, "bob", status=2)
        forget(room)
        assert named(room.out) == [] and state(room) == state(whole)
        shutil.rmtree(room.root)
        at += step
    assert kills > 60 / step


def test_an_unknown_id_is_a_line_with_the_nearest(room):
    before = room.tree()
    for id, near in (("adallo", "adalo"), ("kx4711z", "adalo"), ("Lovelace@example.edu", "adalo"),
                     ("../out", ""), ("zzz", ""), (".", "")):
        said = forget(room, id, status=2)
        assert f"STUDENT={id}: " in said and said.count("\n") == 1
        assert (f"did you mean {near}?" in said) == bool(near)
    assert room.tree() == before
    said = room.run("forget", "STUDENT=adalo", f"OUT={room.root / 'none'}", status=2)
    assert "no class was graded there" in said and not (room.root / "none").exists()


def test_all_that_are_forgotten_share_a_salt(tmp_path):
    Forgotten(tmp_path).add(["ada", "Ada L"])
    Forgotten(tmp_path).add(["bob", "ada"])
    text = (tmp_path / "forgotten.txt").read_text()
    assert len(text.split("\n")) == 4 and len({x[:32] for x in text.split()[::2]}) == 1
    gone = Forgotten(tmp_path)
    assert gone.means(["x", "ADA"]) and gone.means(["Ada  L"]) and not gone.means(["adam", "b"])
    (tmp_path / "forgotten.txt").write_text(text + "ada\n")
    with pytest.raises(Refused, match=":4: was changed or damaged: take that line out"):
        Forgotten(tmp_path)


def test_a_pair_of_work_that_somebody_has_removed_is_said_to_be_that(room):
    shutil.rmtree(room.out / "cleo")
    forget(room)
    assert "Attempt 1 is no longer in OUT" in (room.out / "similarity-lab2.html").read_text()


def test_to_forget_twice_is_no_mistake(room):
    forget(room)
    before = room.tree()
    assert "adalo was forgotten already" in forget(room) and room.tree() == before
