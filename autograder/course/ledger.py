"""ledger.py: what is kept of a course, in OUT. Nothing in it is ever written over but the pages
that are made of it.

    OUT/<student>/lab<N>/<attempt>/
        grade.json       as `make grade` wrote it, with student, attempt and how it was handed in
        feedback.md, feedback.html, log
        files/lab<N>/    what was graded, to grade or replay it once more
    OUT/<student>/lab<N>/<attempt>.1/ …     the same files graded again (regrade.py), or
                         with a time that was not known at first (attempts.py)
    OUT/labs.json        of each lab when it was due, by which policy, and of a part which it is
    OUT/roster.csv       the one that was given last
    OUT/manual.csv, withdrawn.csv   yours to write (points.py)
    OUT/class.csv, class.html       made of all this
    OUT/similarity-lab<N>.csv, .html, similarity-key.csv    findings.py, compared.py
    OUT/forgotten.txt    who is not to come back (forgotten.py); forget.py alone takes attempts away

An attempt is complete before it has its name: it is written beside its place and renamed. So
whatever moment the grader is killed at, an attempt is there or it is not. What cannot be graded at
all (a bomb, no file of the lab) is an attempt, too, with `refused.json` for `grade.json`.
"""

import fcntl
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import intake
import submission
import text
from skeletons import Refused

ATTEMPT = re.compile(r"([1-9]\d*)(?:\.([1-9]\d*))?")
LONGEST_LOG = 1 << 16
MOST_NAMED = 3
SCHEMA = "gradlab-refused/1"
# What the pages need of a grade; all of 200 grades at once would be a gigabyte.
KEPT = ("student", "attempt", "lab", "title", "refused", "handed_in", "submission", "score",
        "grader", "seed", "gate")
OF_CLAIMS = ("claim", "side", "points", "max", "extra", "verdict", "kind", "diagnosis", "advice",
             "task", "counted")


@dataclass(frozen=True)
class Entry:
    """One attempt as it lies there, in its last grading."""

    folder: Path
    student: str
    lab: int
    attempt: int
    regrade: int
    document: dict  # KEPT alone: whole() has all of it

    @property
    def refused(self) -> str:
        return self.document.get("refused", "")

    @property
    def key(self) -> tuple:
        """Tells hand-ins apart: the system's number of it, and what is in it."""
        return self.document["handed_in"]["ref"], self.document["handed_in"]["sha256"]


def lab_folder(out: Path, student: str, lab: int) -> Path:
    return out / student / f"lab{lab}"


def small(document: dict) -> dict:
    return {k: document[k] for k in KEPT if k in document} | {
        "claims": [{k: c.get(k) for k in OF_CLAIMS} for c in document.get("claims", ())]}


def whole(entry: Entry) -> dict:
    return json.loads((entry.folder / "grade.json").read_text(encoding="ascii"))


def not_allowed(document: dict) -> str:
    """What files use that their task does not allow, as "not allowed: system (reduce.c)"."""
    found = list(dict.fromkeys(
        text.visible(f"{g['text'].partition(': ')[0]} ({Path(g['file']).name})", 100)
        for g in document.get("gate", ())))
    more = ["…"] * (len(found) > MOST_NAMED)
    return f"not allowed: {', '.join([*found[:MOST_NAMED], *more])}" if found else ""


def read_entry(folder: Path, student: str, lab: int, number: tuple) -> Entry:
    for name in ("grade.json", "refused.json"):
        try:
            document = json.loads((folder / name).read_text(encoding="ascii"))
            if (document["student"], document["lab"]) == (student, lab) and \
                    document["handed_in"]["sha256"]:
                return Entry(folder, student, lab, *number, small(document))
            raise ValueError("it speaks of somebody else")
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Refused(f"{folder / name} was changed or damaged ({error}): put back a copy of "
                          "it, or move this attempt out of the way and grade again") from None
    raise Refused(f"{folder}: neither grade.json nor refused.json in it")


def entries(out: Path, student: str, lab: int, every: bool = False) -> list:
    """A student's attempts of a lab in order; each as it was graded last, or every grading."""
    found = {}
    for path in lab_folder(out, student, lab).glob("*"):
        if match := ATTEMPT.fullmatch(path.name):
            number = int(match[1]), int(match[2] or 0)
            found[number] = read_entry(path, student, lab, number)
    last = {number[0]: number for number in sorted(found)}
    return [found[n] for n in sorted(found) if every or last[n[0]] == n]


def students(out: Path, lab: int | str = "*") -> list:
    """Who has handed in a lab, or anything. (Names with a dot before them are ours.)"""
    return sorted({p.parent.name for p in out.glob(f"[!.]*/lab{lab}") if p.is_dir()})


def next_number(taken) -> int:
    """The first that is free: a queue that was cut off goes on with the numbers it had given."""
    number = 1
    while number in taken:
        number += 1
    return number


def publish(out: Path, student: str, lab: int, name: str, files: dict) -> Path:
    """Writes an attempt, whole or not at all; `files` are name -> bytes. Refused if it is there."""
    to = lab_folder(out, student, lab) / name
    to.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=to.parent))
    try:
        for path, data in sorted(files.items()):
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_bytes(data)
            (made / path).chmod(0o444)
        made.chmod(0o755)
        if to.exists():
            raise Refused(f"{to} is there already: nothing was written over it")
        os.rename(made, to)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return to


def files_of(entry: Entry) -> dict:
    """What was graded, by name; Refused if it is no longer that."""
    folder = entry.folder / "files" / f"lab{entry.lab}"
    found = {p.name: intake.read_file(p) for p in sorted(folder.glob("*"))}
    if submission.digest(found, entry.lab) != entry.document["submission"]["sha256"]:
        raise Refused(f"{folder}: these are not the files that were graded")
    return found


def sweep(out: Path) -> None:
    """What a killed grader had begun to write."""
    for path in out.glob("*/lab*/.new-*"):
        shutil.rmtree(path)
    for path in out.glob(".*.part"):
        path.unlink()


def write(path: Path, text: str) -> None:
    """A page, whole or as it was."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def labs(out: Path) -> dict:
    """lab -> {due, policy, and of a part of the class shard ("3/4", merged "1,3/4")}: labs.json."""
    try:
        found = json.loads((out / "labs.json").read_text(encoding="utf-8"))
        return {int(lab): row for lab, row in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise Refused(f"{out / 'labs.json'} was changed or damaged: {error}") from None


def write_labs(out: Path, known: dict) -> None:
    write(out / "labs.json",
          json.dumps({str(k): known[k] for k in sorted(known)}, indent=1) + "\n")


def hold(path: Path, waiting) -> int:
    """An open file that nobody else holds while it is open; programs that were started with it hold
    it, too. So whoever comes after a killed grader waits for what that one had begun."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waiting()
        fcntl.flock(fd, fcntl.LOCK_EX)
    return fd
