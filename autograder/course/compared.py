"""compared.py: what submissions are called where a tool compares them, and the pseudonyms.

    ada~2            the second attempt of ada, which may be a group's
    2026~ada~2       the same in an earlier term, whose folder is called 2026
    solution         the course's; skeleton: what everybody was given

No id holds a ~ (downloads.PLAIN), so a name says what it is of. With pseudonyms the id is one of
OUT/similarity-key.csv, which no other place has; it stays the same for the whole term.
"""

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import ledger
import roster
import sinks

SOLUTION, SKELETON = "solution", "skeleton"
NAME = re.compile(r"(?:(?P<term>[^~]+)~)?(?P<id>[^~]+)~(?P<attempt>[1-9]\d*)")
KEY = "similarity-key.csv"
KEY_COLUMNS = ("pseudonym", "term", "id")


@dataclass(frozen=True, order=True)
class Compared:
    """Whose work it is; solution and skeleton are nobody's, and have an id alone."""

    term: str  # an earlier one, or "" for this
    id: str
    attempt: int = 0

    @property
    def is_student(self) -> bool:
        return bool(self.attempt) and not self.term

    def __str__(self) -> str:
        """For people."""
        return "/".join(filter(None, [self.term, self.id]))


class Key:
    """(term, id) -> pseudonym, of OUT and back to it."""

    def __init__(self, out: Path):
        self.path = out / KEY
        rows = roster.rows(self.path, KEY_COLUMNS) if self.path.exists() else []
        self.of = {(r["term"], r["id"]): r["pseudonym"] for _, r in rows}

    def pseudonym(self, term: str, id: str) -> str:
        while (term, id) not in self.of:
            made = f"p{secrets.token_hex(4)}"
            if made not in self.of.values():
                self.of[term, id] = made
        return self.of[term, id]

    def save(self) -> None:
        ledger.write(self.path, "".join(map(sinks.csv_line, [
            KEY_COLUMNS, *sorted((p, t, i) for (t, i), p in self.of.items())])))
        self.path.chmod(0o600)

    def meant(self, name: str) -> Compared | None:
        """Of the name of a folder or file that was laid out; None if it is none of ours."""
        if name in (SOLUTION, SKELETON):
            return Compared("", name)
        if not (match := NAME.fullmatch(name)):
            return None
        real = {p: owner for owner, p in self.of.items()}
        term, id = real.get(match["id"], (match["term"] or "", match["id"]))
        return Compared(term, id, int(match["attempt"]))


def name_of(one: Compared, key: Key | None) -> str:
    id = key.pseudonym(one.term, one.id) if key else one.id
    return "~".join(filter(None, [one.term, id, str(one.attempt)]))
