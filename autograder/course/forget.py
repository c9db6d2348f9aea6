"""forget.py STUDENT=id OUT=term

Takes a student out of OUT: attempts with their files and feedback, lines of every CSV file there,
pseudonym, what regrading has kept. What a partner of a group shares stays, as the partner's alone.
Killed in between, the same line finishes it, and until then nothing else works on OUT. They do not
come back with an old download or roster (forgotten.py). At last OUT is searched for their names.
Exit 0: nothing there names them; 1: something still does, and is named; 2: nothing was done.
"""

import difflib
import html
import json
import re
import shutil
import sys
from pathlib import Path

import common
import compared
import findings
import ledger
import lay_out
import leave
import options
import page
import roster
import run
import sinks
from forgotten import Forgotten
from skeletons import Refused

OPTIONS = dict.fromkeys(("STUDENT", "OUT"), "")
JOURNAL = common.FORGETTING
TRASH = ".forgotten"
NOT_REACHED = (
    "not reached: what was handed in (SUBMISSIONS=), your own ROSTER=, grades that were exported, "
    "folders of make similarity TO=, parts of a SHARD=, other terms, backups, build/ of a make "
    "grade by hand, and the system that students use")
MOST_NAMED = 20


def who(out: Path, id: str) -> dict | None:
    """What a run that is killed needs to go on: the id, all names, who is in the group of each lab.
    None for somebody who is forgotten already."""
    if (out / JOURNAL).exists():
        begun = json.loads((out / JOURNAL).read_text(encoding="utf-8"))
        if begun["id"] != id:
            raise Refused(f"{out}: forgetting {begun['id']} was interrupted: first type make "
                          f"forget STUDENT={begun['id']} OUT={out} again")
        return begun
    known = common.known_students(out, "")
    ids = sorted({*known.students, *ledger.students(out)})
    if id not in ids:
        if Forgotten(out).knows(id):
            return None
        near = known.names.get(roster.folded(id)) or next(iter(
            difflib.get_close_matches(id, ids, 1, 0.5)), "")
        raise Refused(f"STUDENT={id}: {out} has nobody of that id"
                      + (f"; did you mean {near}?" if near else ""))
    names = [id, *(n for n, owner in known.names.items() if owner == id)]
    if id in known.students and not known.open:
        student = known.students[id]
        names += [student.name, student.mail]
    labs = leave.labs_of(out, id) if id in known.students else []
    return {"id": id, "names": sorted({n for n in names if n}, key=len, reverse=True),
            "together": {
                str(lab): [s for s in known.together(id, lab) if s != id] for lab in labs}}


def forms(name: str) -> set:
    """How a name may be written in JSON, HTML and Markdown."""
    return {name, json.dumps(name)[1:-1], html.escape(name), html.escape(name, False),
            sinks.markdown(name)}


def pattern(names: list) -> re.Pattern:
    """A name as a word of its own; numbers and initials of a letter or two mean too much."""
    telling = {form for n in names if len(n) > 2 for form in forms(n)}
    return re.compile("|".join(rf"(?<!\w){re.escape(f)}(?!\w)"
                               for f in sorted(telling, key=len, reverse=True)) or r"(?!)",
                      re.IGNORECASE)


def mentions(out: Path, names: list) -> list:
    """Places in OUT that still name them."""
    telling, found = pattern(names), []
    for path in sorted(out.rglob("*")):
        where = path.relative_to(out)
        if telling.search(str(where)):
            found.append(f"{where}: by its name")
        if path.is_file() and not path.is_symlink():
            for number, line in enumerate(
                    path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
                if telling.search(line):
                    found.append(f"{where}:{number}")
                    break
    return found


def remove(out: Path, id: str) -> int:
    """The folder of attempts; it has another name before the first file is gone."""
    number = len([p for p in (out / id).glob("lab*/*") if ledger.ATTEMPT.fullmatch(p.name)])
    if (out / TRASH).exists():
        shutil.rmtree(out / TRASH)
    if (out / id).exists():
        (out / id).rename(out / TRASH)
        shutil.rmtree(out / TRASH)
    return number


def pages(out: Path) -> None:
    """All that are made of the ledger."""
    known = common.known_students(out, "")
    for lab in findings.labs(out):
        findings.update(out, lab, known, lay_out.files_of_lab(lab, compared.SKELETON))
    page.update(out, known)


def told(out: Path, begun: dict, attempts: int, moved: dict, lines: dict) -> int:
    cut = [f"{n} lines of {name}" if n > 1 else f"a line of {name}" for name, n in lines.items()]
    print(f"removed: {', '.join([f'{attempts} attempts', *cut])}")
    for (lab, number), (partner, new) in sorted(moved.items()):
        print(f"lab {lab}, attempt {number} was shared: it is {partner}'s attempt {new} now")
    print(NOT_REACHED)
    left = mentions(out, begun["names"])
    for where in left[:MOST_NAMED]:
        print(f"still named: {out / where}")
    if len(left) > MOST_NAMED:
        print(f"still named: {len(left) - MOST_NAMED} more places")
    if left:
        print("What was handed in by a partner stays as it was graded; all else is yours to mend.")
    return 1 if left else 0


def forget(given: dict) -> int:
    if not given["STUDENT"] or not given["OUT"]:
        raise options.OptionError("STUDENT=id OUT=dir are needed")
    out, id = Path(given["OUT"]), given["STUDENT"]
    if not (out / "labs.json").is_file() and not (out / "roster.csv").is_file():
        raise Refused(f"OUT={out}: no class was graded there (it has neither labs.json nor "
                      "roster.csv)")
    common.started(out, forgetting=True)
    if not (begun := who(out, id)):
        print(f"{id} was forgotten already: nothing of theirs is in {out}")
        return 0
    ledger.write(out / JOURNAL, json.dumps(begun))
    Forgotten(out).add(begun["names"])
    moved = leave.to_partners(out, id, begun["together"])
    leave.scrub(out, id, pattern(begun["names"]))
    lines = leave.lines(out, id, moved)
    leave.caches(out, id)
    attempts = remove(out, id)
    pages(out)
    run.free("*")
    (out / JOURNAL).unlink()
    return told(out, begun, attempts, moved, lines)


if __name__ == "__main__":
    sys.exit(common.command("forget", OPTIONS, forget, sys.argv[1:]))
