"""Whose a submission is, by its name in the download of each system."""

import os
from datetime import datetime, timezone

import common
import downloads
import pytest
import roster
from skeletons import Refused

ROSTER = """id,name,mail,group,extension,extension_lab2,aliases
ada,Ada Lovelace,ada@example.edu,g1,,2,12345;ada-l
bob,Zoë Müller,bob_x@cs.example.edu,g1,1,,4711
cleo,Cleo,cleo@example.edu,,,,lovelacecleo_77;octo-cat
"""


@pytest.fixture
def known(tmp_path):
    (tmp_path / "roster.csv").write_text(ROSTER)
    return roster.read(tmp_path / "roster.csv")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "in"
    made.mkdir()
    return made


def put(folder, *names):
    for name in names:
        if name.endswith("/"):
            (folder / name).mkdir(parents=True)
        else:
            (folder / name).write_text("x")


def whose(folder, known):
    """name -> (student, ref) of what is listed."""
    found, refused = downloads.listed(folder, known.knows)
    return {f.name: (known.who(f.ids).id, f.ref) for f in found}, dict(refused)


def test_each_systems_names_say_whose_it_is(folder, known):
    put(folder, "Ada Lovelace_12345_assignsubmission_file_/", "Zoe\u0308 Mu\u0308ller_9_"
        "assignsubmission_file_/", "Ada Lovelace_12345_assignsubmission_onlinetext_/",
        "Someone Else_4711_assignsubmission_file_lab2.zip", "lovelacecleo_LATE_77_900_lab2-1.zip",
        "bob_x@cs.example.edu_3_lab2.tar.gz", "ada@example.edu_12_handin.tgz",
        "annotated_ada@example.edu_12_handin.tgz",
        "cs1-lab2-ada-l/.git/", "cs1-lab2-octo-cat/.git/", "ada/", "bob.zip", ".DS_Store",
        "__MACOSX/")
    found, refused = whose(folder, known)
    assert found == {
        "Ada Lovelace_12345_assignsubmission_file_": ("ada", ""),
        "Zoe\u0308 Mu\u0308ller_9_assignsubmission_file_": ("bob", ""),
        "Someone Else_4711_assignsubmission_file_lab2.zip": ("bob", ""),
        "lovelacecleo_LATE_77_900_lab2-1.zip": ("cleo", "900"),
        "bob_x@cs.example.edu_3_lab2.tar.gz": ("bob", "3"),
        "ada@example.edu_12_handin.tgz": ("ada", "12"),
        "cs1-lab2-ada-l": ("ada", ""), "cs1-lab2-octo-cat": ("cleo", ""),
        "ada": ("ada", ""), "bob.zip": ("bob", "")}
    assert refused == {}
    late = {f.name for f in downloads.listed(folder, known.knows)[0] if f.late}
    assert late == {"lovelacecleo_LATE_77_900_lab2-1.zip"}


def test_the_time_of_a_folder_is_that_of_its_newest_file(folder):
    put(folder, "ada/labs/lab2/", "ada/.git/")
    for name, when in (("ada/labs/lab2/im2col.c", 2000), ("ada/notes.txt", 1000),
                       ("ada/.git/index", 9000)):
        put(folder, name)
        os.utime(folder / name, (when, when))
    (folder / "ada/link").symlink_to("/")
    os.utime(folder / "ada/link", (1, 1), follow_symlinks=False)
    assert downloads.listed(folder)[0][0].time == datetime.fromtimestamp(2000, timezone.utc)


def test_without_a_roster_names_become_folders(folder):
    put(folder, "Ada Lovelace_12345_assignsubmission_file_/", "lab2-ada-l/.git/",
        "lab2-bob/.git/", "D'Arcy O'Neil.zip", "x@y.edu_1_a.zip")
    found, _ = whose(folder, roster.Roster(open=True))
    assert sorted(student for student, _ in found.values()) == [
        "Ada_Lovelace_12345", "DArcy_ONeil", "ada-l", "bob", "x@y.edu"]


@pytest.mark.parametrize("name", ["a\u202eb", "a\u200bb", "a\\b", "-rf", "..x", "a:b", "a\x1b[2J",
                                  "\u0661\u20e3", "a" * 81, "class", "Roster.x", "x\ufe0f", "a;b"])
def test_odd_names_are_refused_by_name(folder, name):
    put(folder, f"{name}/")
    one, = downloads.listed(folder)[0]
    with pytest.raises(Refused):
        roster.Roster(open=True).who(one.ids)


def test_two_names_do_not_become_one_student(folder):
    put(folder, "Ada L/", "Ada_L/")
    known = roster.Roster(open=True)
    first, second = downloads.listed(folder)[0]
    known.who(first.ids)
    with pytest.raises(Refused, match="would both be called Ada_L"):
        known.who(second.ids)


def test_links_and_other_files_are_named(folder):
    put(folder, "ada/", "x.7z", "y.tar.xz")
    (folder / "bob").symlink_to(folder / "ada")
    (folder / "cleo.zip").symlink_to("/etc/passwd")
    found, refused = downloads.listed(folder)
    assert [f.name for f in found] == ["ada"]
    assert dict(refused) == {
        "bob": "a link, not followed", "cleo.zip": "a link, not followed",
        "x.7z": "neither a folder nor a .zip or .tar.gz",
        "y.tar.xz": "neither a folder nor a .zip or .tar.gz"}


METADATA = """---
submission_101:
  :submitters:
  - :name: Ada Lovelace
    :sid: '12345'
    :email: ada@example.edu
  - :name: "Zo\\xC3\\xAB"
    :email: bob_x@cs.example.edu
  :created_at: 2026-11-23 10:20:30.123456789 -08:00
  :score: 3.0
  :history:
  - :id: 5
    :created_at: 2026-11-20 10:20:30 Z
    :submitters:
    - :name: nobody
submission_102:
  :submitters: []
  :created_at: 2026-11-23T10:20:30Z
"""


@pytest.mark.parametrize("place", ["", "assignment_9_export/"])
def test_gradescope_says_it_in_a_file(folder, known, place):
    put(folder, f"{place}submission_101/", f"{place}submission_102/", f"{place}submission_103/")
    (folder / place / "submission_metadata.yml").write_text(METADATA)
    found, refused = downloads.listed(folder, known.knows)
    one, = found
    assert (known.who(one.ids).id, one.ref, one.time_from) == ("ada", "101", "Gradescope")
    assert [known.who(ids).id for ids in one.others] == ["bob"]
    assert one.time == datetime(2026, 11, 23, 18, 20, 30, 123456, timezone.utc)
    assert all("does not say whose it is" in why for _, why in refused) and len(refused) == 2


@pytest.mark.parametrize("text, hour", [
    ("2026-11-23T10:00:00Z", 10), ("2026-11-23 10:00:00 UTC", 10), ("2026-11-23 10:00+0100", 9),
    ("2026-11-23 10:00 -08:00", 18), ("2026-11-23 10:00:00.5+00:00", 10)])
def test_a_time_has_its_zone(text, hour):
    assert downloads.moment(text).hour == hour


def test_without_a_zone_a_time_is_this_machines():
    here = datetime(2026, 11, 23, 10).astimezone()
    assert downloads.moment("2026-11-23 10:00") == here


# ---- roster --------------------------------------------------------------------------------------

def test_a_roster_knows_groups_extensions_and_every_name(known):
    assert known.together("ada", 1) == ["ada", "bob"] and known.together("cleo", 1) == ["cleo"]
    assert [known.students["ada"].extension(lab) for lab in (1, 2)] == [0, 2]
    assert [known.students["bob"].extension(lab) for lab in (1, 2)] == [1, 1]
    assert known.who(["nobody", "ADA@example.edu"]).id == "ada"


def test_a_lab_may_have_groups_of_its_own(tmp_path):
    (tmp_path / "r.csv").write_text("id,group,group_lab2\nada,g,\nbob,g,h\ncleo,,h\n")
    known = roster.read(tmp_path / "r.csv")
    assert [known.together("bob", lab) for lab in (1, 2)] == [["ada", "bob"], ["bob", "cleo"]]
    assert known.together("ada", 2) == ["ada"] and not known.unread


@pytest.mark.parametrize("text, why", [
    ("name\nAda\n", "needs one column id"), ("id\nada\nAda\n", ":3: 'Ada' comes twice"),
    ("id\n../x\n", ":2: '../x' is no name"), ("id\nlabs\n", "cannot be a student's id"),
    ("id,extension\nada,two\n", ":2: an extension of 'two'"),
    ("id,group\np,g\nq,g\nr,g\n", "group g has more than 2 students: p, q, r"),
    ("id,group,group_lab2\np,g,\nq,g,h\nr,,h\ns,,h\n", "group h has more than 2 students: q, r"),
    (b"id\n\xff\n", "not in UTF-8")])
def test_a_wrong_roster_is_refused_with_its_line(tmp_path, text, why):
    path = tmp_path / "roster.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Refused, match="roster.csv") as error:
        roster.read(path)
    assert why in str(error.value)


def test_columns_that_nobody_reads_are_said(tmp_path, capsys):
    (tmp_path / "r.csv").write_text("id,partner,extension_lab2,Group\nada,bob,1,g1\n")
    assert common.known_students(tmp_path, str(tmp_path / "r.csv")).students["ada"].group(1) == "g1"
    said = " ".join(capsys.readouterr().err.split())
    assert "nobody reads its columns partner;" in said and "group" in said


def test_a_spreadsheets_roster_is_read(tmp_path):
    (tmp_path / "r.csv").write_bytes("\ufeffID;Name\r\nada;Ada, Countess\r\n;\r\n".encode())
    known = roster.read(tmp_path / "r.csv")
    assert known.students["ada"].name == "Ada, Countess" and len(known.students) == 1


def test_a_name_of_two_is_nobodys(tmp_path):
    (tmp_path / "r.csv").write_text("id,name\nada,Kim\nbob,Kim\n")
    known = roster.read(tmp_path / "r.csv")
    with pytest.raises(Refused, match="nobody in the roster"):
        known.who(["Kim"])
    assert known.who(["bob", "Kim"]).id == "bob"
    with pytest.raises(Refused, match="may mean ada or bob"):
        known.who(["ada", "bob"])
