"""merge.py FROM=dir,dir… OUT=dir

Puts the parts of a class that several machines have graded (SHARD=i/n) into one OUT. They must have
been graded by the same dues and policies; an attempt that two of them have must be the same, bytes
and all. Typed again it adds what is new. While a part is missing OUT is itself a part, and says of
nobody that they handed in nothing.
"""

import sys
from pathlib import Path

import closing
import common
import ledger
import options
import page
from forgotten import Forgotten
from skeletons import Refused

OPTIONS = dict.fromkeys(("FROM", "OUT"), "")
GIVEN = ("roster.csv", "manual.csv", "withdrawn.csv")


def content(folder: Path) -> dict:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def same_or_first(path: Path, to: Path) -> None:
    """A file that all parts have alike."""
    if not path.exists():
        return
    if not to.exists():
        ledger.write(to, path.read_text(encoding="utf-8"))
    elif to.read_bytes() != path.read_bytes():
        raise Refused(f"{path} and {to} differ: make them the same first")


def joined(shards: list) -> str:
    """["1,2/4", "3/4"] -> "1,2,3/4": what they are together; "" if that is all of a class."""
    if "" in shards:
        return ""
    have = {}
    for shard in shards:
        numbers, of = shard.split("/")
        have.setdefault(int(of), set()).update(int(n) for n in numbers.split(","))
    if any(len(numbers) == of for of, numbers in have.items()):
        return ""
    of = max(have, key=lambda n: len(have[n]) / n)
    return f"{','.join(str(n) for n in sorted(have[of]))}/{of}"


def labs_of(parts: list, out: Path) -> dict:
    labs, shards = {}, {}
    for part in [out, *parts]:
        for lab, row in ledger.labs(part).items():
            shards.setdefault(lab, []).append(row.pop("shard", ""))
            if labs.setdefault(lab, row) != row:
                raise Refused(f"{part} has graded lab {lab} by another DUE or policy: {row}, not "
                              f"{labs[lab]}")
    return {lab: row | ({"shard": shard} if (shard := joined(shards[lab])) else {})
            for lab, row in labs.items()}


def missing(shard: str) -> str:
    numbers, of = shard.split("/")
    return ", ".join(f"{n}/{of}" for n in range(1, int(of) + 1) if str(n) not in numbers.split(","))


def attempts(part: Path) -> list:
    """Folders of attempts, as student/labN/attempt."""
    return sorted(p.relative_to(part) for p in part.glob("*/lab*/*")
                  if ledger.ATTEMPT.fullmatch(p.name))


def check_forgotten(parts: list, out: Path) -> None:
    """Whom OUT or a part has forgotten must not come back from another part; all remember it."""
    gone = Forgotten(out)
    for part in parts:
        gone.join(Forgotten(part))
    for part in parts:
        ids = {*ledger.students(part), *common.known_students(part, "").students}
        if back := next((id for id in sorted(ids) if gone.means([id])), ""):
            raise Refused(f"{part}: {back} was forgotten elsewhere: first type make forget "
                          f"STUDENT={back} OUT={part}")


def merge(given: dict) -> int:
    if not given["FROM"] or not given["OUT"]:
        raise options.OptionError("FROM=dir,dir OUT=dir are needed")
    parts, out = [Path(p) for p in given["FROM"].split(",") if p], Path(given["OUT"])
    for part in parts:
        if not (part / "labs.json").is_file():
            raise Refused(f"FROM={part}: no class was graded there (it has no labs.json)")
    common.started(out)
    check_forgotten(parts, out)
    labs, added = labs_of(parts, out), 0
    for part in parts:
        for name in GIVEN:
            same_or_first(part / name, out / name)
        for where in attempts(part):
            files, to = content(part / where), out / where
            if not to.exists():
                ledger.publish(out, where.parts[0], int(where.parts[1].removeprefix("lab")),
                               where.name, files)
                added += 1
            elif content(to) != files:
                raise Refused(f"{part / where} and {to} differ: one student's work was graded in "
                              "two parts; merge them before the next is graded")
    ledger.write_labs(out, labs)
    known = common.known_students(out, "")
    rows = page.update(out, known)
    for lab in sorted(labs):  # (which no part could tell alone)
        common.say(*closing.equal_files(rows, lab, known))
        if shard := labs[lab].get("shard"):
            common.say(f"lab {lab}: part {missing(shard)} is missing: merge that, too, to see who "
                       "has handed in nothing")
    print(f"{added} attempts of {len(parts)} parts are new in {out}; see {out / 'class.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(common.command("merge", OPTIONS, merge, sys.argv[1:]))
