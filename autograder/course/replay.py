"""replay.py OUT=dir LAB=n STUDENT=id [ATTEMPT=n]

Runs one attempt of OUT once more, before the student's eyes: the same files, the same seed, all
of what `make grade` says. Then it is compared with the grade that was given, claim by claim.
Without ATTEMPT= it is the last one. Nothing is written. Exit 0: the same verdicts; 1: other ones,
which are named; 2: it could not be graded.
"""

import sys
from pathlib import Path

import common
import ledger
import options
import points
import regrade
import run
import text
from failure import SIDE_NAMES
from skeletons import Refused

OPTIONS = dict.fromkeys(("OUT", "LAB", "STUDENT", "ATTEMPT"), "")


def differences(now: dict, before: dict) -> list:
    """Lines about claims whose verdict is another one."""
    old = {(c["claim"], c["side"]): c for c in before["claims"]}
    new = {(c["claim"], c["side"]): c for c in now["claims"]}
    found = []
    for key in dict.fromkeys([*old, *new]):
        was, is_ = (x[key]["verdict"] if key in x else "not there" for x in (old, new))
        if was != is_:
            found.append(f"{key[0]} ({SIDE_NAMES[key[1]]}): was {was}, is {is_}")
    return found


def handed_in_by(out: Path, lab: int, student: str) -> str:
    """Whose folders have the attempts of somebody who works with them."""
    theirs = points.by_student(out, lab, common.known_students(out, "")).get(student, [])
    partners = sorted({entry.student for entry in theirs})
    return f"; what counts for them was handed in by a partner: STUDENT={' or '.join(partners)}" \
        if partners else ""


def in_class(out: Path, entry: ledger.Entry) -> list:
    """What class.csv has of this attempt where that is not its grade, and why."""
    lines = []
    for row in points.rows(out, common.known_students(out, ""), {}):
        if row.entry and row.entry.folder == entry.folder and \
                row.points != entry.document["score"]["points"]:
            late = f"{row.percent} % of it for {row.days} days late" if row.percent != 100 else ""
            why = "; ".join(filter(None, [row.manual, late])) or row.note
            has = f"class.csv has {row.points} for {row.student.id}"
            lines.append(text.visible(f"{has}: {why}", 600))
    return lines


def whether_it_counts(out: Path, entry: ledger.Entry) -> str:
    """Without ATTEMPT= it is the last one, which need not be the one that has the points."""
    counting = [row for row in points.rows(out, common.known_students(out, ""), {})
                if row.lab == entry.lab and row.status == points.GRADED]
    whose = [row.student.id for row in counting if row.entry.folder == entry.folder]
    if whose:
        return f"it is the attempt that counts for {' and '.join(whose)}"
    other = [f"{row.entry.student}/{row.entry.folder.name}" for row in counting
             if row.student.id == entry.student]
    return f"it is not the attempt that counts{f': that is {other[0]}' if other else ''}"


def the_one(given: dict) -> tuple:
    """(OUT, the attempt that is meant: the last one if none was said)"""
    for name in ("OUT", "LAB", "STUDENT"):
        if not given[name]:
            raise options.OptionError("OUT=dir LAB=n STUDENT=id are needed")
    out, lab = Path(given["OUT"]), options.whole(given, "LAB")
    if given["STUDENT"] not in ledger.students(out, lab):
        raise Refused(f"STUDENT={given['STUDENT']}: {out} has nothing of theirs for lab {lab}"
                      + handed_in_by(out, lab, given["STUDENT"]))
    entries = ledger.entries(out, given["STUDENT"], lab, every=True)
    wanted = given["ATTEMPT"] or entries[-1].folder.name
    found = [e for e in entries if e.folder.name == wanted]
    if not found:
        raise Refused(f"ATTEMPT={wanted}: there are {', '.join(e.folder.name for e in entries)}")
    if found[0].refused:
        raise Refused(f"attempt {wanted} was not graded: {found[0].refused}")
    return out, found[0]


def replay(given: dict) -> int:
    out, entry = the_one(given)
    files, fds = ledger.files_of(entry), common.started(out)
    print(f"{entry.student}, lab {entry.lab}, attempt {entry.folder.name}: files "
          f"{entry.document['submission']['sha256']}, seed {entry.document['seed']}", flush=True)
    print(whether_it_counts(out, entry), flush=True)
    try:
        now, log = run.grade(run.Makes(fds), entry.lab, files,
                             entry.document["submission"]["sha256"],
                             ["REGRADE=1", f"SEED={entry.document['seed']}"])
    except run.NotGraded as why:
        raise Refused(f"it could not be graded: {why}") from None
    text.say(text.visible_lines(log.decode("utf-8", "surrogateescape"), 400, 1000))
    before = ledger.whole(entry)
    lines = differences(now, before)
    for line in lines:
        print(line)
    was, is_ = regrade.total(before), regrade.total(now)
    rules = [d["grader"]["rules"] for d in (before, now)]
    by = "the same grader" if rules[0] == rules[1] else f"rules {rules[0]} then, {rules[1]} now"
    verdicts = f"with {len(lines)} other verdicts" if lines else "with the same verdicts"
    print(f"the grade was {was}, and is {is_}, {verdicts} ({by})")
    for line in in_class(out, entry):
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(common.command("replay", OPTIONS, replay, sys.argv[1:]))
