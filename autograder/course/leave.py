"""leave.py: what goes, and what stays with others, when a student is forgotten (forget.py). Each
step may be done twice: a run that was killed begins with the first again.
"""

import functools
import hashlib
import json
import re
from pathlib import Path

import csv_lines
import document as documents
import feedback
import forgotten
import ledger

OF_A_GROUP = "a group's"  # in the place of a download's name that names them


def stored(folder: Path) -> dict:
    name = "grade.json" if (folder / "grade.json").exists() else "refused.json"
    return json.loads((folder / name).read_text(encoding="ascii"))


def nameless(document: dict, id: str) -> dict:
    """As it is kept for the others."""
    came = document["handed_in"]
    mine = document | {"handed_in": came | {
        "name": OF_A_GROUP, "others": [o for o in came["others"] if o != id]}}
    if "refused" in mine:
        mine["refused"] = mine["refused"].replace(came["name"], OF_A_GROUP)
    else:
        mine["submission"] = mine["submission"] | {"name": OF_A_GROUP}
    return mine


def pages(document: dict) -> dict:
    """name -> content, of what is made of a document."""
    markdown, html = feedback.refused(document) if "refused" in document else (
        feedback.markdown(document), feedback.html(document))
    name = "refused.json" if "refused" in document else "grade.json"
    # (the document comes last: where it is new, all of it is)
    return {"feedback.md": markdown.encode(), "feedback.html": html.encode(),
            name: documents.as_text(document).encode()}


def move(out: Path, entry: ledger.Entry, partner: str, number: int, id: str) -> None:
    """One grading of an attempt, unless the partner has it."""
    suffix = f".{entry.regrade}" if entry.regrade else ""
    if (ledger.lab_folder(out, partner, entry.lab) / f"{number}{suffix}").exists():
        return
    document = nameless(stored(entry.folder), id) | {"student": partner, "attempt": number}
    document["handed_in"]["others"] = [o for o in document["handed_in"]["others"] if o != partner]
    if "regraded" in document:
        of = document["regraded"]["of"].partition(".")
        document["regraded"] = document["regraded"] | {"of": f"{number}{of[1]}{of[2]}"}
    files = {str(p.relative_to(entry.folder)): p.read_bytes()
             for p in entry.folder.rglob("*") if p.is_file()}
    ledger.publish(out, partner, entry.lab, f"{number}{suffix}", files | pages(document))


def labs_of(out: Path, id: str) -> list:
    return sorted(int(p.name[3:]) for p in (out / id).glob("lab*") if p.name[3:].isdecimal())


def to_partners(out: Path, id: str, together: dict) -> dict:
    """Attempts that somebody shares become theirs: {(lab, attempt): (partner, their number)};
    `together`: partners by lab, as JSON has it."""
    moved = {}
    for lab in labs_of(out, id):
        for entry in ledger.entries(out, id, lab, every=True):
            others = entry.document["handed_in"]["others"]
            sharing = sorted({*together.get(str(lab), ()), *others} - {id})
            if not sharing:
                continue
            there = {e.key: e.attempt for e in ledger.entries(out, sharing[0], lab)}
            number = moved.get((lab, entry.attempt), ("", 0))[1] or there.get(entry.key) or \
                ledger.next_number(there.values())
            move(out, entry, sharing[0], number, id)
            moved[lab, entry.attempt] = (sharing[0], number)
    return moved


def scrub(out: Path, id: str, telling: re.Pattern) -> None:
    """Others' attempts that name them as who handed it in, too."""
    for student in ledger.students(out):
        for folder in sorted((out / student).glob("lab*/*")) if student != id else []:
            if not ledger.ATTEMPT.fullmatch(folder.name):
                continue
            document = stored(folder)
            came = document["handed_in"]
            if id in came["others"] or telling.search(came["name"]):
                for name, data in pages(nameless(document, id)).items():
                    ledger.write(folder / name, data.decode())
                    (folder / name).chmod(0o444)


# ---- lines of CSV files --------------------------------------------------------------------------

def taken_over(row: dict, id: str, lab: int, moved: dict) -> dict:
    """A flagged pair of an attempt that is a partner's now."""
    for who, attempt in (("id", "attempt"), ("with", "with_attempt")):
        if row[who] == id and not (who == "with" and row["with_term"]):
            row[who], row[attempt] = moved.get((lab, int(row[attempt])), (id, row[attempt]))
    return row


def lines(out: Path, id: str, moved: dict) -> dict:
    """Takes lines out of every CSV file that has a column of ids; {name: how many are gone}"""
    def is_theirs(row):
        return id in (row.get("id", ""), forgotten.folder(row.get("id", "")), row.get("with"))

    found = {}
    for path in sorted(out.glob("*.csv")):
        delimiter, rows = csv_lines.table(path)
        columns = [name.strip().lower() for name in rows[0]] if rows else []
        if "id" not in columns:
            continue
        if match := re.fullmatch(r"similarity-lab(\d+)", path.stem):
            kept = csv_lines.without(rows, is_theirs, functools.partial(
                taken_over, id=id, lab=int(match[1]), moved=moved))
        elif path.name == "roster.csv":
            kept = forgotten.off_the_roster(rows, [id])
        else:
            kept = csv_lines.without(rows, is_theirs)
        if kept != rows:
            mode = path.stat().st_mode
            ledger.write(path, csv_lines.text(delimiter, kept))
            path.chmod(mode)
        if len(rows) > len(kept) and path.name != "class.csv":
            found[path.name] = len(rows) - len(kept)
    return found


def caches(out: Path, id: str) -> None:
    """What regrading has kept of their files alone (regrade.Again): it is named by files and
    seed."""
    def places(student):
        return {hashlib.sha256(f"{e.document['submission']['sha256']} {e.document['seed']}"
                               .encode()).hexdigest()
                for lab in range(10) for e in ledger.entries(out, student, lab, every=True)
                if not e.refused}

    others = set().union(*(places(s) for s in ledger.students(out) if s != id))
    for place in places(id) - others:
        for path in out.glob(f".regrade/*/*/{place}"):
            path.unlink()
