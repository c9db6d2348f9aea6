"""gradebook.py: points into a gradebook's own export: which row is whose, and what keeps a grade
out. The file goes back to the system that has made it, so only the cells of grades change. What a
student calls himself is used to find his row, and never copied.
"""

from pathlib import Path

import standings
import text
from options import OptionError
from sheet import Sheet
from standings import Standing, folded


class Book:
    """An export, and what the class has in one lab."""

    def __init__(self, source: Path, given: dict, keys: tuple):
        """`keys`: the columns that may name a student, of which the export has some."""
        if not given["ROSTER"]:
            raise OptionError(f"TO={given['TO']} fills the column of a file that comes from there: "
                              "export it, and say ROSTER=file.csv")
        self.lab, self.possible, self.students = standings.read(source, given)
        self.sheet = Sheet(Path(given["ROSTER"]))
        self.columns = [self.sheet.column(k) for k in keys if k in self.sheet.heading]
        self.left, self.empty = [], []

    def leave(self, student: Standing, why: str) -> None:
        self.left.append(f"{text.visible(student.names[0], 100)}: {why}: the cell is left as it is")

    def within(self, student: Standing, largest: float) -> str:
        """Points for a cell; a gradebook's maximum is a course's word, and no more are given."""
        if student.points > largest:
            self.left.append(f"{text.visible(student.names[0], 100)}: {student.points} points, and "
                             f"the gradebook's maximum is {largest:g}: {largest:g} were written")
        return f"{min(student.points, largest):g}"

    def without_points(self) -> list:
        """A line about rows that got none; whose lack of points was told is not in it."""
        named = [f"row {row + 1} ({text.visible(self.sheet.get(row, self.columns[0]), 60)})"
                 for row in self.empty]
        return [f"no points in lab {self.lab} for {', '.join(named)}"] if named else []

    def pairs(self, rows: list) -> list:
        """[(row, student)] of those with points; no guess is made where two rows fit a student, or
        two students a row."""
        fits = {}
        for row in rows:
            for name in {n for c in self.columns for n in spellings(self.sheet.get(row, c))}:
                fits.setdefault(name, set()).add(row)
        of_row, unclear = {}, set()
        for student in self.students:
            # the surest name that stands there says the row
            mine = next(filter(None, (fits.get(folded(n)) for n in student.names)), set())
            if len(mine) == 1:
                of_row.setdefault(*mine, []).append(student)
            elif mine:
                unclear |= mine
                shown = " and ".join(str(row + 1) for row in sorted(mine))
                self.leave(student, f"rows {shown} fit this name")
            elif student.points is not None or student.why:
                self.leave(student, f"no row of {self.sheet.path} has this name")
        self.empty = [row for row in rows if row not in unclear and all(
            s.points is None and not s.why for s in of_row.get(row, ()))]
        return [(row, students[0]) for row, students in sorted(of_row.items())
                if self.settled(row, students)]

    def settled(self, row: int, students: list) -> bool:
        """Whether one student has points for this row; who has not is told."""
        if len(students) > 1:
            for student in students:
                others = " and ".join(text.visible(s.names[0], 100) for s in students
                                      if s is not student)
                self.leave(student, f"row {row + 1} fits {others}, too")
            return False
        if students[0].points is None and students[0].why:
            self.leave(students[0], students[0].why)
        return students[0].points is not None


def spellings(cell: str) -> set:
    """How a cell's content may be said in the name of a folder: "Participant 17" as 17,
    ada@example.org as ada, "Lovelace, Ada" as Ada Lovelace or lovelaceada."""
    name = folded(cell)
    found = {name, name.removeprefix("participant "), name.partition("@")[0]}
    last, comma, first = name.partition(", ")
    if comma:
        found |= {f"{first} {last}", f"{last}{first}".replace(" ", "")}
    return found - {""}


def number(cell: str) -> float | None:
    """Of a cell that has one, whatever its decimal point is."""
    try:
        return float(cell.strip().replace(",", "."))
    except ValueError:
        return None
