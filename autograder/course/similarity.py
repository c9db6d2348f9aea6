"""similarity.py OUT=term LAB=n TO=dir [EARLIER=term,term] [PSEUDONYMS=1]
                 OUT=term LAB=n READ=csv [THRESHOLD=percent]

TO= lays out the attempts that count for Dolos or JPlag, with the skeleton, the solution and earlier
terms (lay_out.py), and says what to type then: neither is a part of gradlab, and nothing is sent
anywhere. READ= takes the CSV that one of them has written, and makes OUT/similarity-lab<n>.csv and
a page: pairs that are at least THRESHOLD percent alike, and five questions to each student in one.
Exit 0: done; 2: nothing was done, and why.
"""

import sys
from pathlib import Path

import common
import compared
import findings
import lay_out
import ledger
import options
import pairs
from skeletons import Refused

OPTIONS = dict.fromkeys(("OUT", "LAB", "TO", "EARLIER", "PSEUDONYMS", "READ", "THRESHOLD"), "") | {
    "THRESHOLD": "60"}
OF = {"TO": ("EARLIER", "PSEUDONYMS"), "READ": ("THRESHOLD",)}


def check(given: dict) -> None:
    for name in ("OUT", "LAB"):
        if not given[name]:
            raise options.OptionError("OUT=dir LAB=n are needed, and TO=dir or READ=csv")
    if bool(given["TO"]) == bool(given["READ"]):
        raise options.OptionError("one of TO=dir (lays out) and READ=csv (reads what the tool has "
                                  "found) is needed")
    for name, only in OF.items():
        if wrong := next((o for o in only if given[o] != OPTIONS[o] and not given[name]), ""):
            raise options.OptionError(f"{wrong}={given[wrong]} goes with {name}=")
    if given["PSEUDONYMS"] not in ("", "0", "1"):
        raise options.OptionError(f"PSEUDONYMS={given['PSEUDONYMS']}: 1 is needed, or leave it out")
    if not (Path(given["OUT"]) / "labs.json").is_file():
        raise Refused(f"OUT={given['OUT']}: no class was graded there (it has no labs.json)")


def lay(given: dict, out: Path, lab: int) -> None:
    to, terms = Path(given["TO"]), [Path(t) for t in given["EARLIER"].split(",") if t]
    if to.exists():
        raise Refused(f"TO={to}: it is there already; name a new folder")
    for term in (out, *terms):
        if term.resolve() in to.resolve().parents:
            raise Refused(f"TO={to}: it lies in {term}; lay it out elsewhere, and remove it when "
                          "the tool has run")
        if term is not out and term.resolve() == out.resolve():
            raise Refused(f"EARLIER={term}: this is OUT itself")
    key = compared.Key(out) if given["PSEUDONYMS"] == "1" else None
    for line in lay_out.whole(out, lab, to, terms, key):
        print(line)
    if key:
        print(f"{out / compared.KEY} says who is who. What students wrote into their files, as "
              "their names, is as it was.")


def owners(one: compared.Compared, whose: dict) -> set:
    """Of this term: two submissions of one group are no pair."""
    if not one.is_student:
        return set()
    return {one.id, *(s.id for s in whose.get((one.id, one.attempt), ()))}


def read(given: dict, out: Path, lab: int) -> None:
    threshold = options.whole(given, "THRESHOLD", 0, 100)
    if lab not in ledger.labs(out):
        there = ", ".join(map(str, sorted(ledger.labs(out)))) or "none"
        raise Refused(f"LAB={lab}: {out} has no grades of it; of its labs there are: {there}")
    known = common.known_students(out, "")
    whose = findings.people(out, lab, known)
    found = [p for p in pairs.read(Path(given["READ"]), compared.Key(out),
                                   findings.exists(out, lab))
             if not owners(p.left, whose) & owners(p.right, whose)]
    flagged = [p for p in found if p.percent >= threshold]
    ledger.write(findings.path(out, lab), findings.written(lab, flagged))
    findings.update(out, lab, known, lay_out.files_of_lab(lab, compared.SKELETON))
    students = {e for p in flagged for e in (p.left, p.right) if e.is_student}
    print(f"pairs that share more than the skeleton: {findings.distribution(found)}")
    print(f"lab{lab}: {len(flagged)} pairs from {threshold} % on, {len(students)} submissions; see "
          f"{findings.path(out, lab).with_suffix('.html')}")


def similarity(given: dict) -> int:
    check(given)
    out, lab = Path(given["OUT"]), options.whole(given, "LAB")
    common.started(out)
    (lay if given["TO"] else read)(given, out, lab)
    return 0


if __name__ == "__main__":
    sys.exit(common.command("similarity", OPTIONS, similarity, sys.argv[1:]))
