"""standings.py: what each student of a class has in one lab, for a gradebook: from OUT of
make grade-class, whose class.csv knows which attempt counts, late days, groups and points by hand;
else from the grade.json files below a folder.
"""

import csv
import io
import unicodedata
from pathlib import Path
from typing import NamedTuple

import render
import table
from grades import Grade, Unfit, load, published, title
from options import OptionError

PENDING = "not graded yet"  # a status of class.csv: by a fault of ours
NOTHING = "nothing handed in"


class Standing(NamedTuple):
    """A student in a lab; without points where `why` says so."""

    names: list  # as the course knows him, the surest first
    points: int | None
    why: str
    comment: str


class Standings(NamedTuple):
    lab: int
    possible: tuple  # the most points without and with extra credit
    students: list


def read(source: Path, given: dict) -> Standings:
    pages = source if source.name == "class.csv" else source / "class.csv"
    if pages.is_file():
        if given["ATTEMPT"]:
            raise OptionError(f"ATTEMPT={given['ATTEMPT']}: which one counts stands in {pages}")
        return of_class(pages, given["LAB"])
    return of_grades(load(source), given["LAB"], given["ATTEMPT"] or "last")


def folded(name: str) -> str:
    """One spelling of a name, by which spellings of systems are compared."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def chosen_lab(labs: set, lab: str) -> int:
    there = " and ".join(f"lab {n}" for n in sorted(labs))
    if lab and lab not in map(str, labs):
        raise OptionError(f"LAB={lab}: FROM= has grades of {there} alone")
    if not lab and len(labs) > 1:
        raise OptionError(f"FROM= has grades of {there}: say LAB=n")
    return int(lab) if lab else labs.pop()


# ---- of class.csv --------------------------------------------------------------------------------

def rows_of(path: Path) -> list:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def of_class(path: Path, lab: str) -> Standings:
    rows = rows_of(path)
    try:
        number = chosen_lab({int(row["lab"]) for row in rows}, lab)
        names = further_names(path.with_name("roster.csv"))
        students = [standing(row, names) for row in rows if int(row["lab"]) == number]
    except (KeyError, ValueError, TypeError) as error:
        raise OptionError(f"{path}: this is no class.csv of make grade-class ({error})") from None
    claims = table.load(number).claims
    most = [sum(sum(c.points.values()) for c in claims if c.extra == extra)
            for extra in (False, True)]
    return Standings(number, (most[0], sum(most)), students)


def further_names(path: Path) -> dict:
    """id -> mail and aliases, of the roster that lies beside; there need not be one."""
    return {row["id"]: [row.get("mail") or "", *(row.get("aliases") or "").split(";")]
            for row in (rows_of(path) if path.is_file() else [])}


def standing(row: dict, further: dict) -> Standing:
    # (what a spreadsheet would compute is marked there, by sinks.csv_line)
    id, name, manual = (row[key].removeprefix("'") for key in ("id", "name", "manual"))
    names = [n for n in (id, *further.get(id, ()), name) if n.strip()]
    if row["status"] == PENDING or not row["points"]:
        why = "" if row["status"] == NOTHING else f"{row['status']}: {row['note']}".rstrip(": ")
        return Standing(names, None, why, "")
    said = [f"lab{row['lab']}: {row['points']}/{row['max']}"]
    said += [f"extra {row['extra']}"] if row["extra"] not in ("", "0") else []
    days = int(row["days_late"] or 0)
    said += [f"{days} day{'s' * (days != 1)} late"] if days else []
    said += [manual] if manual else []
    return Standing(names, int(row["points"]) + int(row["extra"] or 0), "", ", ".join(said))


# ---- of grade.json -------------------------------------------------------------------------------

def of_grades(grades: list, lab: str, keep: str) -> Standings:
    if keep not in ("last", "best"):
        raise OptionError(f"ATTEMPT={keep}: which one counts is last or best")
    number = chosen_lab({g.document["lab"] for g in grades}, lab)
    counts = {}
    for grade in sorted((g for g in grades if g.document["lab"] == number),
                        key=lambda g: order(g, keep)):
        if not grade.student:
            raise OptionError(f"{grade.path}: whose grade this is stands nowhere: name the folder "
                              "that has a folder for each student")
        counts[grade.student] = grade
    score = grade.document["score"]
    return Standings(number, (score["max"], score["max"] + score["extra_max"]),
                     [graded(g) for g in counts.values()])


def order(grade: Grade, keep: str) -> tuple:
    """The one that counts is the last in this order."""
    when = (grade.document.get("attempt") or 0, grade.document["time"], str(grade.path))
    if keep == "last":
        return when
    try:
        return (published(grade.document), *when)
    except Unfit:
        return (-1, *when)


def graded(grade: Grade) -> Standing:
    try:
        points = published(grade.document)
    except Unfit as why:
        return Standing([grade.student], None, str(why), "")
    failed = [title(c) for c in grade.document["claims"] if c["verdict"] == "fail"]
    line = render.last_line(grade.document)
    line += f". Not right yet: {', '.join(failed)}" if failed else ""
    return Standing([grade.student], points, "", line)
