"""attempts.py: which submissions of a folder are still to be graded, and as which attempt.

An attempt is told by what the system calls it and by its content, so the same download may be given
again: what is in the ledger already is not graded once more, whoever was killed in between.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import downloads
import intake
import leave
import ledger
import roster
import run
import submission
import text
from forgotten import Forgotten
from skeletons import Refused

MOST_NAMED = 20


@dataclass
class Attempt:
    """One hand-in of one student; `refused` says why nothing of it can be graded."""

    student: str
    others: list
    found: downloads.Found
    path: Path  # of what is in it, which may be an archive in its folder
    digest: str
    told: list
    refused: str = ""
    number: int = 0

    def handed_in(self) -> dict:
        """What grade.json keeps of it."""
        found = self.found
        return {"name": text.visible(found.name, 200), "ref": found.ref, "sha256": self.digest,
                "time": found.time.isoformat() if found.time else "", "time_from": found.time_from,
                "late": found.late, "others": self.others}


def times_of(path: Path | None, known: roster.Roster, gone: Forgotten) -> dict:
    """(student, ref or "") -> when they handed in, of a CSV file with id, time and maybe ref."""
    found = {}
    for line, row in roster.rows(path, ("id", "time")) if path else []:
        if is_forgotten([row["id"]], known, gone):
            continue
        try:
            when = downloads.moment(row["time"])
            found[known.who([row["id"]]).id, row.get("ref", "")] = when
        except Refused as error:
            raise Refused(f"{path}:{line}: {error}") from None
    return found


def opened(path: Path, lab: int) -> tuple:
    """(what was read, its files, lines about it): a folder in which a system has put the archive
    that was handed in is that archive."""
    try:
        return path, *submission.collect(path, lab)
    except submission.NothingOfTheLab:
        inside = [p for p in path.iterdir() if intake.ending(p.name) and not p.is_symlink()] \
            if path.is_dir() else []
        if len(inside) != 1:
            raise
        return inside[0], *submission.collect(inside[0], lab)


def one(found: downloads.Found, lab: int, known: roster.Roster, times: dict) -> Attempt:
    student = known.who(found.ids).id
    others = [known.who(ids).id for ids in found.others]
    when = times.get((student, found.ref)) or times.get((student, ""))
    if when:
        found.time, found.time_from = when, "TIMES"
    try:
        path, files, told = opened(found.path, lab)
        told = [text.visible(line.replace(f"{path}/", ""), 300) for line in told]
        return Attempt(student, others, found, path, submission.digest(files, lab), told,
                       "" if files else "; ".join(told))
    except (Refused, OSError) as error:
        why = str(error).replace("SUBMISSION=", "").replace(str(found.path), found.name)
        why = text.visible(why, 600)
        digest = hashlib.sha256(why.encode()).hexdigest()
        return Attempt(student, others, found, found.path, digest, [], why)


def order(attempt: Attempt) -> tuple:
    """As they were handed in, as far as that is known."""
    numbers = [(0, int(p), "") if p.isdecimal() else (1, 0, p)
               for p in re.split(r"(\d+)", attempt.found.ref or attempt.found.name) if p]
    return attempt.found.time or datetime.min.replace(tzinfo=downloads.timezone.utc), numbers


def is_forgotten(ids: list, known: roster.Roster, gone: Forgotten) -> bool:
    """A name that somebody who is here has, too, is theirs."""
    return not any(known.knows(id) for id in ids) and gone.means(ids)


def collected(folder: Path, lab: int, known: roster.Roster, times: dict, gone: Forgotten) -> tuple:
    """(attempts, [(name, why it is nobody's)], how many are of students who were forgotten)"""
    found, nobodys = downloads.listed(folder, known.knows)
    attempts, left = [], 0
    for each in found:
        people = [ids for ids in (each.ids, *each.others) if not is_forgotten(ids, known, gone)]
        if not people:
            left += 1
            continue
        each.ids, *each.others = people
        try:
            attempts.append(one(each, lab, known, times))
        except Refused as error:
            nobodys.append((each.name, str(error)))
    return sorted(attempts, key=lambda a: (a.student, order(a))), nobodys, left


def numbered(out: Path, lab: int, attempts: list) -> tuple:
    """(those that are not in the ledger, with their numbers; digest -> entry that has its grade)"""
    new, graded = [], {}
    for student in ledger.students(out, lab):
        for entry in ledger.entries(out, student, lab):
            graded.setdefault(entry.document["handed_in"]["sha256"], entry)
    for student in dict.fromkeys(a.student for a in attempts):
        there = ledger.entries(out, student, lab)
        taken, keys = {e.attempt for e in there}, {e.key for e in there}
        for attempt in attempts:
            key = (attempt.found.ref, attempt.digest)
            if attempt.student != student or key in keys:
                continue
            attempt.number = ledger.next_number(taken)
            taken.add(attempt.number)
            keys.add(key)
            new.append(attempt)
    return new, graded


def note_time(out: Path, entry: ledger.Entry, time: str) -> str:
    """The same attempt with a time, beside the one without: nothing in OUT is written over."""
    document = leave.stored(entry.folder)
    document["handed_in"] |= {"time": time, "time_from": "TIMES"}
    files = {str(p.relative_to(entry.folder)): p.read_bytes()
             for p in entry.folder.rglob("*") if p.is_file()}
    name = f"{entry.attempt}.{entry.regrade + 1}"
    ledger.publish(out, entry.student, entry.lab, name, files | leave.pages(document))
    return name


def times_later(out: Path, lab: int, attempts: list) -> list:
    """Of those that are graded already: a time is taken where none was noted; one that was stays,
    and a line says so."""
    lines = []
    for attempt in (a for a in attempts if a.found.time_from == "TIMES"):
        key, now = (attempt.found.ref, attempt.digest), attempt.found.time.isoformat()
        for entry in ledger.entries(out, attempt.student, lab):
            noted = entry.document["handed_in"]["time"]
            if entry.key != key or noted == now:
                continue
            who = f"TIMES: {attempt.student}'s attempt {entry.attempt} was noted with"
            if not noted:
                lines.append(f"{who} no time: as {note_time(out, entry, now)} it has {now}")
            else:
                lines.append(f"{who} the time {noted}, and that stays: an extension in the roster, "
                             "or points by hand (manual.csv), say otherwise")
    return lines


def listed(attempts: list) -> str:
    names = list(dict.fromkeys(a.student for a in attempts))
    more = [f"{len(names) - MOST_NAMED} more"] * (len(names) > MOST_NAMED)
    return ", ".join([*names[:MOST_NAMED], *more])


def without_time(attempts: list) -> list:
    """Lines about those whose system does not say when they came: first who is late by its word."""
    unknown = [a for a in attempts if not a.found.time]
    late = [a for a in unknown if a.found.late]
    rest = [a for a in unknown if not a.found.late]
    what = "counted as in time until TIMES=csv (id,time) with this line says when they came"
    return [f"{why}, {what}: {listed(some)}" for why, some in (
        ("late by the system's word, which does not say by how much", late),
        ("when they came is not known", rest)) if some]


def times_of_files(attempts: list) -> str:
    """A line where nothing but the files themselves says when they came: a copy changes that."""
    found = [a for a in attempts if a.found.time_from == "mtime"]
    if not found:
        return ""
    return (f"{len(found)} of {len(attempts)} came, as far as is known, when their files were last "
            "written (mtime), which a download or a copy changes: TIMES=csv (id,time) with this "
            "first grading says better")


def works_of(attempts: list, words: list) -> list:
    """Equal files once."""
    works = {}
    for attempt in attempts:
        work = works.setdefault(attempt.digest, run.Work(attempt.digest, attempt.path, [], words))
        work.attempts.append(attempt)
    return list(works.values())


def of_shard(attempts: list, nobodys: list, known: roster.Roster, lab: int, shard: str) -> tuple:
    """SHARD=i/n: those of a part of the students; who hands in together is in one part. What is
    nobody's is in one part, too, by its name: so one of n says it."""
    if not shard:
        return attempts, nobodys
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", shard)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise Refused(f"SHARD={shard}: i/n is needed, as 1/4 to 4/4")
    part, parts = int(match[1]) - 1, int(match[2])

    def ours(name):
        return int(hashlib.sha256(name.encode()).hexdigest(), 16) % parts == part

    def mine(attempt):
        return ours(min([*known.together(attempt.student, lab), *attempt.others]))

    return [a for a in attempts if mine(a)], [entry for entry in nobodys if ours(entry[0])]
