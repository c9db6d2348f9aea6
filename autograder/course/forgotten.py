"""forgotten.py: OUT/forgotten.txt, who is not to come back when an old download or roster is given
again. A line is a salt and a slow hash of a name: it names nobody, but whoever holds the file and
has a name in mind can try it.
"""

import functools
import hashlib
import os
import re
from pathlib import Path

import csv_lines
import downloads
import ledger
import roster
from skeletons import Refused

FILE = "forgotten.txt"
LINE = re.compile(r"[0-9a-f]{32} [0-9a-f]{64}")
ROUNDS = 20_000


@functools.cache
def digest(salt: str, name: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", roster.folded(name).encode("utf-8", "surrogateescape"),
                               bytes.fromhex(salt), ROUNDS).hex()


class Forgotten:
    """Of one OUT."""

    def __init__(self, out: Path):
        self.path = out / FILE
        self.lines = self.path.read_text(encoding="ascii").splitlines() \
            if self.path.exists() else []
        if wrong := next((n for n, x in enumerate(self.lines, 1) if not LINE.fullmatch(x)), 0):
            raise Refused(f"{self.path}:{wrong}: was changed or damaged: take that line out")
        self.salts = {line.split()[0] for line in self.lines}

    def knows(self, name: str) -> bool:
        return any(f"{salt} {digest(salt, name)}" in self.lines for salt in self.salts)

    def means(self, ids: list) -> bool:
        """Whether one of these is a name of theirs, or would make their folder's."""
        return bool(self.lines) and any(self.knows(i) or self.knows(folder(i)) for i in ids)

    def add(self, names: list) -> None:
        salt = min(self.salts, default=os.urandom(16).hex())  # each more would cost a hash a name
        self.lines += [f"{salt} {digest(salt, name)}" for name in names if not self.knows(name)]
        self.salts.add(salt)
        self.save()

    def join(self, other: "Forgotten") -> None:
        if new := [line for line in other.lines if line not in self.lines]:
            self.lines += new
            self.salts |= other.salts
            self.save()

    def save(self) -> None:
        ledger.write(self.path, "".join(f"{line}\n" for line in self.lines))


def folder(name: str) -> str:
    try:
        return downloads.plain(name)
    except Refused:
        return name


def off_the_roster(rows: list, ids: list) -> list:
    """Without their lines, and without the name of a group that has nobody else left."""
    columns = [name.strip().lower() for name in rows[0]]
    of = [dict(zip(columns, row)) for row in rows[1:]]
    left = {row.get("group") for row in of if folder(row["id"]) in ids}

    def alone(row):
        return row | {"group": ""} if row.get("group") in left else row

    return csv_lines.without(rows, lambda row: folder(row["id"]) in ids, alone)
