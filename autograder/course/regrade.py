"""regrade.py OUT=dir LAB=n [STUDENT=id] [SIGNED=csv] [JOBS=n]

Grades once more what OUT holds of a lab, by the grader as it is now, with the files and the seed of
then: a claim was mended, or somebody asks. OUT/regrade-lab<n>.csv says who changes and why. More
points count at once, as attempt 1.1 beside 1. Fewer never do by themselves: read the list, write
your name into `signed` of the lines that shall hold, and give that file as SIGNED=.
Exit 0: all of it was graded; 1: something could not be; 2: nothing was done.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import common
import document as documents
import failure
import feedback
import ledger
import machine
import options
import page
import roster
import run
import sinks
from common import say
from skeletons import Refused

OPTIONS = dict.fromkeys(("OUT", "LAB", "STUDENT", "SIGNED", "JOBS"), "")
COLUMNS = ("id", "attempt", "before", "after", "change", "why", "signed")
ANY_SEED = ["REGRADE=1", "SEED=1"]  # of the skeleton that is graded first


class Again:
    """What the grader of now says of files and seeds of then. It is kept by the grader's rules, so
    a run that was killed goes on, and a list that was signed is not graded again."""

    def __init__(self, out: Path, lab: int):
        self.folder = out / ".regrade" / f"lab{lab}" / documents.rules_hash()
        self.folder.mkdir(parents=True, exist_ok=True)

    def place(self, entry: ledger.Entry) -> Path:
        key = f"{entry.document['submission']['sha256']} {entry.document['seed']}"
        return self.folder / hashlib.sha256(key.encode()).hexdigest()

    def keep(self, place: Path, document: dict, log: bytes) -> None:
        ledger.write(place, json.dumps({"document": document, "log": log.decode("latin-1")}))

    def of(self, entry: ledger.Entry) -> tuple:
        kept = json.loads(self.place(entry).read_text(encoding="utf-8"))
        return kept["document"], kept["log"].encode("latin-1")


def works_of(entries: list, again: Again) -> list:
    """What is still to be graded: equal files of equal seeds once."""
    works = {}
    for entry in entries:
        place = again.place(entry)
        if not place.exists():
            ledger.files_of(entry)  # or it is refused here
            work = works.setdefault(place, run.Work(
                entry.document["submission"]["sha256"], entry.folder / "files", [],
                ["REGRADE=1", f"SEED={entry.document['seed']}"]))
            work.attempts.append(Named(entry))
    return list(works.values())


class Named:
    """An entry, as progress speaks of it."""

    def __init__(self, entry: ledger.Entry):
        self.entry, self.student, self.number = entry, entry.student, entry.folder.name


def why(now: dict, before: dict) -> str:
    """The claims whose points changed, and what the new failures are."""
    kinds = {(c["claim"], c["side"]): c.get("kind", "") for c in now["claims"]
             if c["verdict"] != "pass"}
    moved = documents.changes(now, before | {"schema": now["schema"]})
    return "; ".join(f"{m['points']:+d} {m['claim']} ({failure.SIDE_NAMES[m['side']]})"
                     + (f": {kinds[m['claim'], m['side']]}" if m["points"] < 0 and
                        kinds.get((m["claim"], m["side"])) else "") for m in moved)


def total(document: dict) -> int:
    return document["score"]["points"] + document["score"]["extra"]


def signatures(path: Path | None) -> dict:
    """(id, attempt, after) -> who signed it."""
    rows = roster.rows(path, COLUMNS) if path else []
    return {(r["id"], r["attempt"], r["after"]): r["signed"] for _, r in rows if r["signed"]}


def settle(out: Path, entry: ledger.Entry, again: Again, signed: dict) -> list:
    """A line of the list; what changes points and may is written to the ledger."""
    (now, log), before = again.of(entry), ledger.whole(entry)
    was, is_ = total(before), total(now)
    name = f"{entry.attempt}.{entry.regrade + 1}"
    signer = signed.get((entry.student, entry.folder.name, str(is_)), "")
    change = "same" if is_ == was else "raised" if is_ > was else "lowered" if signer else \
        "lower: to be signed"
    reason = why(now, before)
    if change in ("raised", "lowered"):
        mine = now | {"student": entry.student, "attempt": entry.attempt,
                      "handed_in": before["handed_in"], "told": before["told"],
                      "regraded": {"of": entry.folder.name, "before": was, "why": reason,
                                   "signed": signer}}
        feedback.publish(out, name, mine, log, ledger.files_of(entry))
    return [entry.student, entry.folder.name, was, is_, change, reason, signer]


def others_of(path: Path, students: list) -> list:
    """The lines of the class's list that are about others: one of them may wait to be signed."""
    rows = roster.rows(path, COLUMNS) if path.exists() else []
    return [[int(row[name]) if name in ("before", "after") else row[name] for name in COLUMNS]
            for _, row in rows if row["id"] not in students]


def regrade(given: dict) -> int:
    if not given["OUT"] or not given["LAB"]:
        raise options.OptionError("OUT=dir LAB=n are needed")
    out, lab = Path(given["OUT"]), options.whole(given, "LAB")
    jobs = options.whole(given, "JOBS", 1, 1000) if given["JOBS"] else machine.cores()
    signed = signatures(Path(given["SIGNED"]) if given["SIGNED"] else None)
    students = ledger.students(out, lab)
    if given["STUDENT"]:
        students = [s for s in students if s == given["STUDENT"]]
    if not students:
        who = f"{given['STUDENT']} has not" if given["STUDENT"] else "nobody has"
        raise Refused(f"OUT={out}: {who} handed in lab {lab} there")
    fds, again = common.started(out), Again(out, lab)
    entries = [e for s in students for e in ledger.entries(out, s, lab) if not e.refused]
    works = works_of(entries, again)

    def publish(work, document, log, files):
        again.keep(again.place(work.attempts[0].entry), document, log)

    left = run.whole_class(lab, works, jobs, fds, ANY_SEED, publish) if works else []
    rows = [settle(out, e, again, signed) for e in entries if again.place(e).exists()]
    rows.sort(key=lambda r: (r[4] == "same", r[0], r[1]))
    path = out / f"regrade-lab{lab}.csv"
    others = others_of(path, students) if given["STUDENT"] else []
    ledger.write(path, "".join(map(sinks.csv_line, [COLUMNS, *rows, *others])))
    page.update(out, common.known_students(out, ""))
    for work, reason in left:
        say(f"{', '.join(a.student for a in work.attempts)}: not graded: {reason}")
    return told(out, lab, rows, left, again)


def told(out: Path, lab: int, rows: list, left: list, again: Again) -> int:
    for id, attempt, was, is_, change, reason, _ in rows:
        if change != "same":
            say(f"{id}, attempt {attempt}: {was} -> {is_} ({change}): {reason}")
    counts = {c: sum(r[4] == c for r in rows) for c in dict.fromkeys(r[4] for r in rows)}
    open_ = f", {len(left)} could not be graded" if left else ""
    print(f"lab{lab}: {', '.join(f'{n} {change}' for change, n in counts.items())}{open_}; see "
          f"{out / f'regrade-lab{lab}.csv'}")
    if not left and "lower: to be signed" not in counts:
        shutil.rmtree(again.folder.parent)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(common.command("regrade", OPTIONS, regrade, sys.argv[1:]))
