"""A term in small, by the commands of INSTRUCTOR.md: handed out, handed in, graded, disputed,
graded again, updated in mid-term, and published in two systems' forms. Lab 1; some minutes, so make
test-all alone runs it. What each student must get was worked out beforehand, from lab.toml.
"""

import csv
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "autograder/grade"))

import table  # noqa: E402 (found by the line above)

CLAIMS = table.load(1).claims
# ben has no matmul.cu, which the claim that runs all tasks together needs, too
BEN = 100 - sum(c.points.get("cuda", 0) for c in CLAIMS if c.task in ("matmul", "whole"))
WITHDRAWN = next(c for c in CLAIMS if c.short_name == "matmul/own_product_matches_definition")
ROSTER = """id,name,mail,group,extension,aliases
ada,Ada Lovelace,ada@example.edu,,0,17
ben,Ben Cohen,ben@example.edu,,0,18
cyd,"=HYPERLINK(""x"")",cyd@example.edu,,0,19
dan,Dan Oduya,dan@example.edu,,0,20
eve,Eve Ng,eve@example.edu,,0,21
"""
TIMES = """id,time
ada,2027-03-01T20:00+00:00
ben,2027-03-02T20:00+00:00
cyd,2027-03-01T20:00+00:00
dan,2027-03-09T20:00+00:00
"""
MOODLE = """Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Feedback comments"
"Participant 17","Ada Lovelace",ada@example.edu,"Submitted",,100.00,
"Participant 18","Ben Cohen",ben@example.edu,"Submitted",,100.00,
"Participant 19","Cyd X",cyd@example.edu,"Submitted",,100.00,
"Participant 20","Dan Oduya",dan@example.edu,"Submitted",,100.00,
"""
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (901)
    Points Possible,,,,,100.00
"Lovelace, Ada",5,,ada@example.edu,S,
"Cohen, Ben",6,,ben@example.edu,S,
"X, Cyd",7,,cyd@example.edu,S,
"Oduya, Dan",8,,dan@example.edu,S,
"""


def make(folder: Path, *words: str, status: int = 0) -> str:
    """What make says with these words, which must end with this status."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "GRADLAB"))
           and k != "MFLAGS"}  # fmt: skip
    done = subprocess.run(["make", *words], cwd=folder, env=env, capture_output=True, text=True,
                          timeout=1800)  # fmt: skip
    assert done.returncode == status, f"make {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def rows(path: Path, key: str) -> dict:
    with open(path, newline="", encoding="utf-8-sig") as file:
        return {row[key]: row for row in csv.DictReader(file)}


def points(term: Path) -> dict:
    return {id: row["points"] for id, row in rows(term / "class.csv", "id").items()}


def files_of(folder: Path) -> list:
    """What is handed in of a lab."""
    return sorted([*folder.glob("*.c*"), folder / "cases.toml"])


def write_solution(to: Path, but: tuple = ()) -> None:
    for path in files_of(ROOT / "solution/lab1"):
        if path.name not in but:
            shutil.copy(path, to / path.name)


def zip_folder(folder: Path, to: Path) -> None:
    with zipfile.ZipFile(to, "w") as archive:
        for path in files_of(folder):
            archive.write(path, f"lab1/{path.name}")


def hand_in(handout: Path, work: Path) -> Path:
    """What four of five students hand in, as Moodle has it; ada as her handout's commands do."""
    downloads = work / "downloads"
    downloads.mkdir()
    student = work / "ada"
    shutil.copytree(handout, student)
    write_solution(student / "labs/lab1")
    assert "lab1: 100/100" in make(student, "submit", "LAB=1")
    shutil.copy(student / "build/submit/lab1.zip",
                downloads / "Ada Lovelace_17_assignsubmission_file_lab1.zip")
    for number, name, but in ((18, "Ben Cohen", ("matmul.cu",)), (19, "Cyd X", None),
                              (20, "Dan Oduya", ("gemm.c",))):
        mine = work / name
        shutil.copytree(handout / "labs/lab1", mine)
        if but is not None:
            write_solution(mine, but)
        zip_folder(mine, downloads / f"{name}_{number}_assignsubmission_file_lab1.zip")
    return downloads


def update_in_mid_term(handout: Path, work: Path) -> None:
    """A newer handout leaves ada's work alone, and gives her the header that was mended."""
    newer, student = work / "newer", work / "ada"
    shutil.copytree(handout, newer)
    header = newer / "tl/include/tl/matmul.h"
    header.write_text(header.read_text() + "/* mended */\n")
    (newer / "VERSION").write_text("gradlab second\n" + (newer / "VERSION").read_text())
    listed = [line.split("  ")[1] for line in (newer / "MANIFEST.sha256").read_text().splitlines()]
    sums = subprocess.run(["sha256sum", *listed], cwd=newer, capture_output=True, text=True,
                          check=True)  # fmt: skip
    (newer / "MANIFEST.sha256").write_text(sums.stdout)
    before = (student / "labs/lab1/matmul.c").read_bytes()
    assert "is now gradlab second" in make(student, "update", f"FROM={newer}")
    assert (student / "labs/lab1/matmul.c").read_bytes() == before
    assert "mended" in (student / "tl/include/tl/matmul.h").read_text()


def a_term(tmp_path):
    handout, term, secret = tmp_path / "handout", tmp_path / "term", f"SECRET={tmp_path / 'key'}"
    make(ROOT, "secret", secret)
    make(ROOT, "handout", f"OUT={handout}", "LABS=0,1")
    downloads = hand_in(handout, tmp_path)
    (tmp_path / "roster.csv").write_text(ROSTER)
    (tmp_path / "times.csv").write_text(TIMES)
    grade = ("grade-class", f"SUBMISSIONS={downloads}", "LAB=1", f"OUT={term}", secret,
             f"ROSTER={tmp_path / 'roster.csv'}", f"TIMES={tmp_path / 'times.csv'}",
             "DUE=2027-03-01T23:59+00:00")  # fmt: skip

    # ben is a day late, which his allowance pays; dan is eight days late, which is too much
    make(ROOT, *grade)
    assert points(term) == {"ada": "100", "ben": str(BEN), "cyd": "0", "dan": "0", "eve": ""}
    found = rows(term / "class.csv", "id")
    assert found["dan"]["status"] == "too late" and found["eve"]["status"] == "nothing handed in"
    assert not [c for row in found.values() for c in row.values() if c.startswith("=")]

    # ben disputes: the same verdicts. Then a claim of his turns out to be ours to blame.
    said = make(ROOT, "replay", f"OUT={term}", "LAB=1", "STUDENT=ben", "ATTEMPT=1")
    assert "with the same verdicts" in said
    (term / "withdrawn.csv").write_text(
        f"lab,claim,reason\n1,{WITHDRAWN.short_name},its bound was wrong\n")
    make(ROOT, *grade)
    left = 100 - sum(WITHDRAWN.points.values())  # on both sides, and ben had only its C half
    assert points(term)["ben"] == str(round(100 * (BEN - WITHDRAWN.points["c"]) / left))
    assert points(term)["ada"] == "100"
    assert "lab1: " in make(ROOT, "regrade", f"OUT={term}", "LAB=1", "STUDENT=ben")

    update_in_mid_term(handout, tmp_path)

    for system, text, key in (("moodle", MOODLE, "Full name"), ("canvas", CANVAS, "Student")):
        sheet, filled = tmp_path / f"{system}.csv", tmp_path / f"{system}-filled.csv"
        sheet.write_text(text)
        make(ROOT, "export", f"FROM={term}", f"TO={system}", f"ROSTER={sheet}", "LAB=1",
             f"OUT={filled}")
        column = "Grade" if system == "moodle" else "Lab 1 (901)"
        found = rows(filled, key)
        ada, ben = (next(r for name, r in found.items() if who in name) for who in ("Ada", "Ben"))
        assert float(ada[column]) == 100 and float(ben[column]) == float(points(term)["ben"])


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_term = a_term
