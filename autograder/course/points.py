"""points.py: what each student has in each lab: which attempt counts, what lateness costs, and what
somebody has added or set by hand, with a reason.

OUT/manual.csv is the instructor's: id,lab,points,reason. `+5` and `-3` are added to what grading
and lateness left, `80` takes its place; a line without a reason is refused. OUT/withdrawn.csv is
theirs, too: lab,claim,reason. A claim that was ours to blame counts for nobody, and the others'
points are stretched over its own; who would lose by that keeps what they had.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import downloads
import lateness
import ledger
import roster
from skeletons import Refused

GRADED, LATE, REFUSED, MISSING = "graded", "too late", "not graded", "nothing handed in"
PENDING = "not graded yet"  # the machine's fault: the next run tries again


@dataclass
class Row:
    """One student in one lab; numbers that there are none of are None."""

    lab: int
    student: roster.Student
    status: str = MISSING
    points: int | None = None
    most: int | None = None
    extra: int | None = None
    graded: int | None = None  # before lateness and manual points
    percent: int | None = None
    days: int | None = None
    paid: int = 0
    left: int = 0  # of the allowance, after this lab
    manual: str = ""  # what a withdrawn claim has changed, and points by hand
    attempts: int = 0
    note: str = ""
    unsure: str = ""  # two attempts of which nobody knows the later one
    entry: ledger.Entry | None = None


def came(entry: ledger.Entry) -> datetime | None:
    time = entry.document["handed_in"]["time"]
    return datetime.fromisoformat(time) if time else None


def by_student(out: Path, lab: int, known: roster.Roster) -> dict:
    """student -> attempts of theirs and of whom they work with, as they were handed in."""
    found = {id: [] for id in known.students}
    for folder in ledger.students(out, lab):
        for entry in ledger.entries(out, folder, lab):
            for id in {folder, *entry.document["handed_in"]["others"]}:
                student = known.students.get(id)
                for each in known.together(id, lab) if student else [id]:
                    found.setdefault(each, []).append(entry)
    begin = datetime.min.replace(tzinfo=downloads.timezone.utc)
    return {id: sorted({e.folder: e for e in entries}.values(),
                       key=lambda e: (came(e) or begin, e.attempt, e.student))
            for id, entries in found.items()}


def manual(out: Path, known: roster.Roster) -> dict:
    """(student, lab) -> [(points, whether they are added, reason)]"""
    path, found = out / "manual.csv", {}
    for line, row in roster.rows(path, ("id", "lab", "points", "reason")) if path.exists() else []:
        if not re.fullmatch(r"[+-]?\d{1,4}", row["points"]) or not row["lab"].isdecimal():
            raise Refused(f"{path}:{line}: points {row['points']!r} of lab {row['lab']!r}: +5 or "
                          "-3 are added, 80 takes the place of what was graded")
        if row["id"] not in known.students:
            raise Refused(f"{path}:{line}: nobody has the id {row['id']!r}")
        if not row["reason"]:
            raise Refused(f"{path}:{line}: the points of {row['id']} need a reason")
        found.setdefault((row["id"], int(row["lab"])), []).append(
            (int(row["points"]), row["points"][0] in "+-", row["reason"]))
    return found


def withdrawn(out: Path) -> dict:
    """lab -> {name of a claim that does not count: reason}"""
    path, found = out / "withdrawn.csv", {}
    for line, row in roster.rows(path, ("lab", "claim", "reason")) if path.exists() else []:
        if not row["lab"].isdecimal() or not row["claim"] or not row["reason"]:
            raise Refused(f"{path}:{line}: a lab, the name of a claim and a reason are needed")
        found.setdefault(int(row["lab"]), {})[row["claim"]] = row["reason"]
    return found


def counting(document: dict, without: dict) -> int:
    """The points of a grade without these claims, out of as many as before."""
    score, named = document["score"], {c["claim"] for c in document["claims"]}
    if lost := set(without) - named:
        raise Refused(f"withdrawn.csv: lab {document['lab']} has no claim "
                      f"{', '.join(sorted(lost))}; make claims LAB={document['lab']} lists them")
    left = [c for c in document["claims"] if not c["extra"] and c["claim"] not in without]
    most = sum(c["max"] for c in left)
    stretched = (2 * sum(c["points"] for c in left) * score["max"] + most) // (2 * most or 1)
    return max(score["points"], stretched) if without else score["points"]


def choose(row: Row, entries: list, due: datetime | None, left: int,
           policy: lateness.Policy, without: dict) -> None:
    """The attempt that counts, by the policy, into the row."""
    def of(pair):
        return lateness.share(counting(pair[0].document, without), pair[1].percent)

    extension, judged = row.student.extension(row.lab), []
    for entry in entries:
        days = lateness.days_late(came(entry), due, extension, policy)
        judged.append((entry, lateness.judge(days, left, policy)))
    fit = [(e, v) for e, v in judged if not e.refused]
    counted = [(e, v) for e, v in fit if v.percent]
    row.attempts, row.left = len(entries), left
    if not counted:
        entry, verdict = (fit or judged)[-1]
        row.entry, row.days = entry, verdict.days
        row.status = LATE if fit else REFUSED
        row.note = entry.refused or (f"{verdict.days} days late; {left} late days were left, and "
                                     f"one lab takes at most {policy.most_per_lab}")
        row.points = 0 if fit else None
        row.most = entry.document["score"]["max"] if fit else None
        return
    if policy.attempt == "best":
        top = max((of(ev), -ev[1].paid) for ev in counted)
        counted = [ev for ev in counted if (of(ev), -ev[1].paid) == top][:1]
    else:
        counted = [surest(counted, of, row)]
    row.entry, verdict = counted[-1]
    score = row.entry.document["score"]
    row.status, row.most = GRADED, score["max"]
    row.graded = counting(row.entry.document, without)
    if row.graded != score["points"]:
        reasons = ", ".join(f"{claim} ({why})" for claim, why in sorted(without.items()))
        row.manual = f"withdrawn {reasons}: {row.graded} instead of {score['points']}"
    row.extra, row.percent, row.days = score["extra"], verdict.percent, verdict.days
    row.points = lateness.share(row.graded, verdict.percent)
    row.paid, row.left = verdict.paid, left - verdict.paid
    handed_in = row.entry.document["handed_in"]
    notes = [ledger.not_allowed(row.entry.document), row.unsure]
    if due and not handed_in["time"]:
        notes.append("the system says it is late, but not by how much: TIMES= can say it"
                     if handed_in["late"] else "when it came is not known: counted as in time")
    row.note = "; ".join(filter(None, notes))


def surest(counted: list, of, row: Row) -> tuple:
    """The last attempt; of two students', where no times tell which that is, the better one. The
    attempts of one student have numbers, and so an order."""
    lasts = list({pair[0].student: pair for pair in counted}.values())

    def is_earlier(pair):
        mine = came(pair[0])
        return any(mine and came(other) and mine < came(other) for other, _ in lasts)

    left = sorted((pair for pair in lasts if not is_earlier(pair)), key=of, reverse=True)
    if len({e.document["handed_in"]["sha256"] for e, _ in left}) > 1:
        shown = " and ".join(f"{e.student}/{e.folder.name} ({of((e, v))} points)" for e, v in left)
        row.unsure = f"which came last of {shown} is not known: the better one counts"
    return left[0]


def by_hand(row: Row, given: list) -> None:
    for points, is_added, reason in given:
        row.points = max(0, (row.points or 0) + points) if is_added else points
        row.manual = "; ".join(filter(None, [
            row.manual, f"{points:+d}: {reason}" if is_added else f"set to {points}: {reason}"]))


def rows(out: Path, known: roster.Roster, pending: dict) -> list:
    """Of all labs that were graded, in the order in which they were due: earlier ones take from the
    allowance first. `pending`: (student, lab) -> why a submission could not be graded just now."""
    labs, hands, without = ledger.labs(out), manual(out, known), withdrawn(out)
    found, spent = [], {}
    for lab in sorted(labs, key=lambda n: (labs[n]["due"], n)):
        policy = lateness.Policy(**labs[lab]["policy"])
        due = datetime.fromisoformat(labs[lab]["due"]) if labs[lab]["due"] else None
        for id, entries in sorted(by_student(out, lab, known).items()):
            if labs[lab].get("shard") and not entries and (id, lab) not in pending:
                continue  # (another part may have theirs: merge.py sees all of them)
            row = Row(lab, known.students.get(id) or roster.Student(id))
            row.left = max(0, policy.allowance - spent.get(id, 0))
            if entries:
                choose(row, entries, due, row.left, policy, without.get(lab, {}))
            if why := pending.get((id, lab)):
                row.status, row.note = PENDING, f"one more could not be graded: {why}"
            by_hand(row, hands.get((id, lab), []))
            spent[id] = spent.get(id, 0) + row.paid
            found.append(row)
    return sorted(found, key=lambda r: (r.lab, r.student.id))
