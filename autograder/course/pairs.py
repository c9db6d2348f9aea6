"""pairs.py: what Dolos and JPlag have found: pairs of submissions and how alike they are.

  Dolos   pairs.csv of `dolos run -f csv`: id, leftFileId, leftFilePath, rightFileId, rightFilePath,
          similarity, totalOverlap, longestFragment, leftCovered, rightCovered
  JPlag   results.csv of --csv-export: submissionName1, submissionName2, averageSimilarity,
          maxSimilarity; lines end with CR LF, and a comma in a cell is not quoted

Similarity is 0 to 1 in both: how much of both submissions is in what they share, without what the
skeleton has.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import compared
import roster
import text
from compared import Compared
from skeletons import Refused

TOOLS = {"Dolos": ("leftFilePath", "rightFilePath", "similarity"),
         "JPlag": ("submissionName1", "submissionName2", "averageSimilarity")}
HOW = ("pairs.csv of `dolos run -f csv` has the columns " + ", ".join(TOOLS["Dolos"])
       + "; results.csv of JPlag's --csv-export has " + ", ".join(TOOLS["JPlag"]))


@dataclass(frozen=True)
class Pair:
    """A student's work is on the left; on the right anybody's."""

    left: Compared
    right: Compared
    similarity: float
    tool: str

    @property
    def percent(self) -> int:
        return int(100 * self.similarity + 0.5)


def tool_of(path: Path) -> tuple:
    """(tool, [(line, row)])"""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            columns = {name.strip().strip('"').lower() for name in file.readline(4096).split(",")}
        for tool, needed in TOOLS.items():
            if {name.lower() for name in needed} <= columns:
                return tool, roster.rows(path, ())
    except OSError as error:
        raise Refused(f"READ={path}: {error.strerror}") from None
    except csv.Error as error:
        raise Refused(f"READ={path}: {error}: have the tool write it again") from None
    there = text.visible(", ".join(sorted(filter(None, columns))) or "nothing", 200)
    raise Refused(f"READ={path}: this is the result of neither tool. {HOW}; there is {there}")


def fraction(cell: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise Refused(f"{where}: a similarity of {cell!r}: a number from 0 to 1 is needed")
    return value


def known(name: str, key: compared.Key, there, where: str) -> Compared:
    """Whom a path or name of the tool means; `there` says whether OUT has this attempt."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".cpp")
    one = key.meant(last)
    if one is None or (one.is_student and not there(one)):
        raise Refused(f"{where}: {name!r} is no submission that make similarity TO= has laid out "
                      "for this lab of this OUT (they are called ada~2): lay them out again, and "
                      "run the tool on that")
    return one


def read(path: Path, key: compared.Key, there) -> list:
    """Pairs with a student in them, once each. What shares only the skeleton's lines shares nothing
    for the tools, which know them: similarity is 0 then, and the pair is left out."""
    tool, rows = tool_of(path)
    left, right, alike = (name.lower() for name in TOOLS[tool])
    found = {}
    for line, row in rows:
        where = f"READ={path}:{line}"
        ends = [known(row[side], key, there, where) for side in (left, right)]
        similarity = fraction(row[alike], where)
        students = sorted(e for e in ends if e.is_student)
        if not students or compared.SKELETON in (e.id for e in ends if not e.attempt) or \
                not similarity:
            continue
        first = students[0]
        other = ends[1] if ends[0] == first else ends[0]
        if other != first:
            before = found.get((first, other))
            if not before or before.similarity < similarity:
                found[first, other] = Pair(first, other, similarity, tool)
    return sorted(found.values(), key=lambda p: (-p.similarity, p.left, p.right))
