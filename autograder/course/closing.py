"""closing.py: what an instructor hears when a class was graded or counted anew: who has other
points than before, whose order of attempts nobody knows, who has equal files, and how many have
what.
"""

import csv
from pathlib import Path

import ledger
import points
import roster
import skeletons
import submission
from common import say


def points_before(out: Path) -> dict:
    """(lab, student) -> points, as class.csv has them until now."""
    path = out / "class.csv"
    if not path.exists():
        return {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        return {(row["lab"], row["id"].removeprefix("'")): row["points"]
                for row in csv.DictReader(file)}


def changes(before: dict, rows: list, counted_anew: bool) -> list:
    """A lab that is graded can change others, by late days or by a group; first points of a run
    that grades were said already."""
    lines = []
    for row in rows:
        old = before.get((str(row.lab), row.student.id))
        new = "" if row.points is None else str(row.points)
        if old is not None and old != new and (old or counted_anew):
            lines.append(f"{row.student.id}, lab {row.lab}: {old or 'no points'} -> "
                         f"{new or 'no points'}")
    return lines


def untouched(lab: int) -> set:
    """Hashes of the lab's files as they were handed out."""
    return {skeletons.digest(data) for name, data in skeletons.skeletons(submission.ROOT).items()
            if Path(name).parent.name == f"lab{lab}"}


def equal_files(rows: list, lab: int, known: roster.Roster) -> list:
    """A line for each set of files that several have, who do not work together."""
    owners, given = {}, untouched(lab)
    for row in rows:
        if row.lab != lab or not row.entry or row.entry.refused:
            continue
        entry = row.entry
        if set(entry.document["submission"]["files"].values()) <= given:
            continue
        mine = {entry.student, *entry.document["handed_in"]["others"]}
        if entry.student in known.students:
            mine |= {*known.together(entry.student, lab)}
        group = owners.setdefault(entry.document["submission"]["sha256"], {})
        group.setdefault(min(mine), entry.student)
    return [f"equal files: {', '.join(sorted(group.values()))} (lab {lab})"
            for _, group in sorted(owners.items(), key=lambda o: sorted(o[1].values()))
            if len(group) > 1]


def told(rows: list, lab: int, known: roster.Roster, changed: list) -> None:
    for row in (row for row in rows if row.lab == lab):
        if row.status in (points.REFUSED, points.LATE):
            say(f"{row.student.id}: {row.status}: {row.note}")
    unsure = {row.unsure: row for row in rows if row.lab == lab and row.unsure}
    for line in (*unsure, *equal_files(rows, lab, known), *changed):
        say(line)


def summary(rows: list, lab: int, nobodys: list, left: list, out: Path, graded: bool) -> int:
    """The last line, and the exit status."""
    mine = [row for row in rows if row.lab == lab]
    for name, why in nobodys:
        say(f"{name}: {why}")
    for work, why in left:
        say(f"{', '.join(a.student for a in work.attempts)}: not graded: {why}")
    counts = {s: sum(row.status == s for row in mine)
              for s in (points.GRADED, points.LATE, points.REFUSED, points.PENDING, points.MISSING)}
    named = {} if graded else {points.GRADED: "counted anew"}
    states = ", ".join(f"{n} {named.get(status, status)}" for status, n in counts.items() if n)
    open_ = f", {len(left)} could not be graded: type it again" if left else ""
    stray = f", {len(nobodys)} nobody's" if nobodys else ""
    if shard := ledger.labs(out)[lab].get("shard"):
        say(f"this is part {shard}: who is not in its class.csv is in another part, or has handed "
            "in nothing; make merge says which")
    print(f"lab{lab}: {states or 'nobody'}{stray}{open_}; see {out / 'class.html'}, class.csv")
    return 1 if left or nobodys else 0
