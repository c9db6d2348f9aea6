"""grade_class.py [SUBMISSIONS=dir] LAB=n OUT=dir [ROSTER=csv] [DUE=time] [TIMES=csv]
                  [ATTEMPT=last|best] [POLICY=toml] [JOBS=n] [SECRET=file] [SHARD=i/n]
                  [BOARD=names]

Grades what a class has handed in for a lab, each by `make grade SUBMISSION=`, and keeps it in OUT
(ledger.py). The same line may be typed again, with more submissions or after it was killed: what
is in OUT is not graded once more. Without SUBMISSIONS a lab that OUT has is only counted anew: with
what the roster, DUE, policy, manual.csv and withdrawn.csv say now. Exit 0: all of it is graded; 1:
something could not be, and is named; 2: nothing was done.
"""

import sys
from dataclasses import asdict
from pathlib import Path

import attempts as handed
import board
import closing
import common
import document as documents
import downloads
import feedback
import lateness
import ledger
import machine
import options
import page
import run
import seeds
from common import say
from forgotten import Forgotten
from skeletons import Refused

OPTIONS = dict.fromkeys(("SUBMISSIONS", "LAB", "OUT", "ROSTER", "DUE", "TIMES", "ATTEMPT", "POLICY",
                         "JOBS", "SECRET", "SHARD", "BOARD"), "")


def note_lab(out: Path, lab: int, due: str, policy: lateness.Policy, shard: str = "") -> None:
    """Late days of a term depend on every lab's DUE, so it is kept; said anew, it holds anew. Of a
    part it is kept that it is one: it cannot tell who has handed in nothing."""
    known = ledger.labs(out)
    before = known.get(lab, {})
    when = downloads.moment(due).isoformat() if due else before.get("due", "")
    if before.get("due") and when != before["due"]:
        say(f"lab {lab} is now due at {when}; it was {before['due']}")
    known[lab] = {"due": when, "policy": asdict(policy)} | ({"shard": shard} if shard else {})
    ledger.write_labs(out, known)


def keep(out: Path, lab: int, attempt: handed.Attempt, document: dict, log: bytes,
         files: dict) -> None:
    """A grade becomes this attempt's."""
    feedback.publish(out, str(attempt.number), document | {
        "student": attempt.student, "attempt": attempt.number, "handed_in": attempt.handed_in(),
        "told": attempt.told}, log, files)


def keep_refused(out: Path, lab: int, attempt: handed.Attempt) -> None:
    mine = {"schema": ledger.SCHEMA, "lab": lab, "student": attempt.student,
            "attempt": attempt.number, "refused": attempt.refused,
            "handed_in": attempt.handed_in()}
    markdown, html = feedback.refused(mine)
    ledger.publish(out, attempt.student, lab, str(attempt.number), {
        "refused.json": documents.as_text(mine).encode(), "feedback.md": markdown.encode(),
        "feedback.html": html.encode()})


def from_ledger(out: Path, lab: int, works: list, graded: dict) -> list:
    """Equal files that the ledger has a grade of, by these very rules, are not graded again;
    returns what is left to do."""
    rules, left = documents.rules_hash(), []
    for work in works:
        entry = graded.get(work.digest)
        if not entry or entry.refused or entry.document["grader"]["rules"] != rules:
            left.append(work)
            continue
        files = ledger.files_of(entry)
        for attempt in work.attempts:
            log = (entry.folder / "log").read_bytes()
            keep(out, lab, attempt, ledger.whole(entry), log, files)
            say(f"{attempt.student}, attempt {attempt.number}: the files of {entry.student}, "
                f"attempt {entry.attempt}, and so that grade")
    return left


def prepared(given: dict) -> tuple:
    """Everything that may be wrong with what was typed is said before anything is done."""
    if not given["LAB"] or not given["OUT"]:
        raise options.OptionError("SUBMISSIONS=dir LAB=n OUT=dir are needed")
    lab, out = options.whole(given, "LAB"), Path(given["OUT"])
    folder = Path(given["SUBMISSIONS"]) if given["SUBMISSIONS"] else None
    if not folder and lab not in ledger.labs(out):
        raise options.OptionError(f"SUBMISSIONS=dir is needed: {out} has nothing of lab {lab} that "
                                  "could be counted anew")
    if not folder and (given["TIMES"] or given["SHARD"]):
        raise options.OptionError("TIMES= and SHARD= are about SUBMISSIONS=dir, which is not said")
    if folder and (out.resolve() == folder.resolve() or folder.resolve() in out.resolve().parents):
        raise options.OptionError(f"OUT={out}: it lies in SUBMISSIONS, where it would be one")
    jobs = options.whole(given, "JOBS", 1, 1000) if given["JOBS"] else machine.cores()
    if given["DUE"]:
        downloads.moment(given["DUE"])
    before = ledger.labs(out).get(lab, {}).get("policy")
    policy = lateness.read(Path(given["POLICY"]) if given["POLICY"] else None, given["ATTEMPT"],
                           before)
    if not folder:
        return lab, out, None, jobs, policy, []
    seeds.secret(given)
    place = seeds.place(given)[0].absolute()
    return lab, out, folder, jobs, policy, [f"SECRET={place}"]


def grade_class(given: dict) -> int:
    names = board.asked(given["BOARD"])
    lab, out, folder, jobs, policy, words = prepared(given)
    fds = common.started(out)
    known = common.known_students(out, given["ROSTER"])
    gone = Forgotten(out)
    times = handed.times_of(Path(given["TIMES"]) if given["TIMES"] else None, known, gone)
    found, nobodys, forgotten = \
        handed.collected(folder, lab, known, times, gone) if folder else ([], [], 0)
    if forgotten:
        say(f"left alone, of students who were forgotten (make forget): {forgotten}")
    if folder and not found and not nobodys and not forgotten:
        raise Refused(f"SUBMISSIONS={folder}: nothing is in it")
    # (of a small class a part may be empty: its machine has done what it had to do)
    found, nobodys = handed.of_shard(found, nobodys, known, lab, given["SHARD"])
    shard = given["SHARD"] if folder else ledger.labs(out)[lab].get("shard", "")
    note_lab(out, lab, given["DUE"], policy, shard)
    for line in handed.times_later(out, lab, found):
        say(line)
    new, graded = handed.numbered(out, lab, found)
    if len(found) > len(new):
        say(f"lab {lab}: {len(found) - len(new)} are graded already")
    if line := handed.times_of_files(new):
        say(line)
    for line in handed.without_time(new) if ledger.labs(out)[lab]["due"] else ():
        say(line)
    for attempt in (a for a in new if a.refused):
        keep_refused(out, lab, attempt)
    works = handed.works_of([a for a in new if not a.refused], words)
    works = from_ledger(out, lab, works, graded)

    def publish(work, document, log, files):
        for attempt in work.attempts:
            keep(out, lab, attempt, document, log, files)

    left = run.whole_class(lab, works, jobs, fds, words, publish) if works else []
    pending = {(a.student, lab): str(why) for work, why in left for a in work.attempts}
    before = closing.points_before(out)
    rows = page.update(out, known, pending, names)
    closing.told(rows, lab, known, closing.changes(before, rows, not folder))
    return closing.summary(rows, lab, nobodys, left, out, bool(folder))


if __name__ == "__main__":
    sys.exit(common.command("grade-class", OPTIONS, grade_class, sys.argv[1:]))
