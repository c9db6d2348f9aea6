"""findings.py: the pairs that were flagged, as OUT/similarity-lab<n>.csv, and a page made of that
and the ledger: OUT/similarity-lab<n>.html, with five questions to everybody in a pair.
"""

from pathlib import Path

import feedback
import ledger
import oral
import points
import roster
import sinks
import text
from compared import Compared
from feedback import tag
from pairs import Pair
from skeletons import Refused

COLUMNS = ("lab", "id", "attempt", "with_term", "with", "with_attempt", "similarity", "tool")
WHAT_IT_MEANS = (
    "A pair is a reason to ask, and no proof: small files with one contract are alike, and so are "
    "two who have learned from the same page. Ask each student alone, with their file on the "
    "screen. Every question names a line of what they handed in.")


def path(out: Path, lab: int) -> Path:
    return out / f"similarity-lab{lab}.csv"


def written(lab: int, pairs: list) -> str:
    return "".join(map(sinks.csv_line, [COLUMNS, *(
        (lab, p.left.id, p.left.attempt, p.right.term, p.right.id, p.right.attempt,
         round(p.similarity, 4), p.tool) for p in pairs)]))


def read(out: Path, lab: int) -> list:
    where, found = path(out, lab), []
    for line, row in roster.rows(where, COLUMNS):
        try:
            found.append(Pair(
                Compared("", row["id"], int(row["attempt"])),
                Compared(row["with_term"], row["with"], int(row["with_attempt"])),
                float(row["similarity"]), row["tool"]))
        except ValueError as error:
            raise Refused(f"{where}:{line}: was changed or damaged ({error}): remove it, and read "
                          "the tool's result again") from None
    return found


def entry_of(out: Path, lab: int, one: Compared) -> ledger.Entry | None:
    """The attempt that was compared, if it has files."""
    found = [e for e in ledger.entries(out, one.id, lab) if e.attempt == one.attempt]
    return found[0] if found and not found[0].refused else None


def people(out: Path, lab: int, known: roster.Roster) -> dict:
    """(owner, attempt) -> the students whose attempt it is, as far as it counts for them."""
    found = {}
    for row in points.rows(out, known, {}):
        if row.lab == lab and row.entry:
            found.setdefault((row.entry.student, row.entry.attempt), []).append(row.student)
    return found


def asked(q: oral.Question):
    where = q.where if q.before and not q.before.endswith(".") else q.where.capitalize()
    return tag("li", f"{q.before} {where}: ".lstrip(), tag("code", text.visible(q.code, 160)),
               f" {q.ask}")


def table(pairs: list) -> list:
    head = tag("tr", *(tag("th", h) for h in ("alike", "student", "attempt", "with", "attempt")))
    return [tag("table", head, *(tag(
        "tr", tag("td", f"{p.percent} %", class_="n"), tag("td", p.left.id),
        tag("td", str(p.left.attempt), class_="n"), tag("td", str(p.right) + (
            ", the same id: perhaps their own" if p.right.id == p.left.id else "")),
        tag("td", str(p.right.attempt or ""), class_="n")) for p in pairs))]


def section(out: Path, lab: int, one: Compared, who: list, pairs: list, given: dict,
            said: set) -> list:
    entry = entry_of(out, lab, one)
    if not entry:
        return [tag("h3", one.id), tag("p", f"Attempt {one.attempt} is no longer in OUT.")]
    link = f"{one.id}/lab{lab}/{entry.folder.name}/feedback.html"
    with_ = ", ".join(f"{p.right if p.left == one else p.left} ({p.percent} %)" for p in pairs
                      if one in (p.left, p.right))
    every, made = ledger.entries(out, one.id, lab), []
    for student in who or [roster.Student(one.id)]:
        title = " ".join(dict.fromkeys(filter(None, [student.id, student.name])))
        found = oral.questions(student.id, entry, every, given, said)
        made += [tag("h3", title), tag("p", f"attempt {one.attempt}, ", tag(
            "a", f"feedback of {one.id}", href=link), f"; alike with {with_}"),
            tag("ol", *map(asked, found)) if found else tag(
                "p", "There is no line of code in it that could be asked about.")]
    return made


def update(out: Path, lab: int, known: roster.Roster, given: dict) -> None:
    """Makes the page anew."""
    pairs, whose, said = read(out, lab), people(out, lab, known), set()
    flagged = sorted({e for p in pairs for e in (p.left, p.right) if e.is_student})
    inside = [tag("h1", f"Lab {lab}: who is to be asked"), tag("p", WHAT_IT_MEANS)]
    inside += table(pairs) if pairs else [tag("p", "No pair is as alike as that.")]
    for one in flagged:
        inside += section(out, lab, one, whose.get((one.id, one.attempt), []), pairs, given, said)
    ledger.write(path(out, lab).with_suffix(".html"),
                 feedback.page(f"Lab {lab}: similarity", *inside))


def distribution(pairs: list) -> str:
    """Where a threshold may lie: most pairs of a class are alike by chance, few are not."""
    tens = [min(p.percent // 10, 9) for p in pairs]
    return ", ".join(f"{10 * t} to {10 * t + (10 if t == 9 else 9)} %: {tens.count(t)}"
                     for t in range(9, -1, -1) if t in tens) or "none"


def exists(out: Path, lab: int):
    """For pairs.read: whether OUT has an attempt."""
    there = {s: {e.attempt for e in ledger.entries(out, s, lab) if not e.refused}
             for s in ledger.students(out, lab)}
    return lambda one: one.attempt in there.get(one.id, ())


def labs(out: Path) -> list:
    """Those that have a list."""
    return sorted(int(p.stem.removeprefix("similarity-lab"))
                  for p in out.glob("similarity-lab*.csv")
                  if p.stem.removeprefix("similarity-lab").isdecimal())
