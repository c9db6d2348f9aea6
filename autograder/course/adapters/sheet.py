"""sheet.py: a CSV file in which single cells change and everything else stays, byte for byte:
quotes, line ends, the mark at the beginning, cells over several lines.
"""

import re
from pathlib import Path

from options import OptionError

LARGEST = 1 << 26
MARK = "\ufeff"
SEPARATORS = ",;\t"


def cells(separator: str) -> re.Pattern:
    """A cell as it stands there, and what ends it."""
    return re.compile(rf'("[^"]*(?:""[^"]*)*"|[^"{separator}\r\n]*)'
                      rf'({separator}|\r\n|\n|\r|\Z)')


def value_of(raw: str) -> str:
    return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


class Sheet:
    """Rows of cells. The first is the heading; `column` finds a cell's place by it."""

    def __init__(self, path: Path):
        self.path = path
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
        try:
            content = data.decode("utf-8")
        except UnicodeDecodeError:
            raise OptionError(f"{path}: this is not UTF-8: export it in this encoding") from None
        if len(data) > LARGEST:
            raise OptionError(f"{path}: larger than {LARGEST >> 20} MiB: that is no class")
        self.mark = MARK if content.startswith(MARK) else ""
        content = content[len(self.mark):]
        heading = content.partition("\n")[0]
        # (no system that is read here has one of the others in a heading more often)
        self.separator = max(SEPARATORS, key=heading.count)
        self.rows, self.ends = self.parse(content)

    def parse(self, content: str) -> tuple:
        """([[raw cell]], [[what ends it]])"""
        pattern, at, rows, ends = cells(self.separator), 0, [[]], [[]]
        while at < len(content):
            found = pattern.match(content, at)
            if not found:
                line = content.count("\n", 0, at) + 1
                raise OptionError(f"{self.path}:{line}: a quotation mark stands where none can be: "
                                  "export the file again, and give it unchanged")
            rows[-1].append(found[1])
            ends[-1].append(found[2])
            at = found.end()
            if found[2] == self.separator and at == len(content):  # an empty cell ends the file
                rows[-1].append("")
                ends[-1].append("")
            elif found[2] != self.separator and at < len(content):
                rows.append([])
                ends.append([])
        return rows, ends

    @property
    def heading(self) -> list:
        return [value_of(raw).strip() for raw in self.rows[0]]

    def column(self, name: str) -> int:
        """Its place; OptionError if there is none, or more than one."""
        if self.heading.count(name) != 1:
            has = ", ".join(h for h in self.heading if h)
            raise OptionError(f"{self.path}: {self.heading.count(name) or 'no'} columns are called "
                              f"{name!r}, and one is needed; it has {has}")
        return self.heading.index(name)

    def full_rows(self) -> list:
        """Numbers of those below the heading that have a cell in each column."""
        numbers = []
        for number, row in enumerate(self.rows[1:], 1):
            if len(row) == len(self.rows[0]):
                numbers.append(number)
            elif any(map(str.strip, row)):
                raise OptionError(f"{self.path}: row {number + 1} has {len(row)} cells, and "
                                  f"the heading {len(self.rows[0])}: export it again, and give it "
                                  "unchanged")
        return numbers

    def get(self, row: int, column: int) -> str:
        return value_of(self.rows[row][column])

    def put(self, row: int, column: int, value: str) -> None:
        """In quotation marks if it was so, or if it has to be."""
        quoted = self.rows[row][column].startswith('"') or re.search(
            rf'["{self.separator}\r\n]', value)
        self.rows[row][column] = '"' + value.replace('"', '""') + '"' if quoted else value

    def text(self) -> str:
        return self.mark + "".join(raw + end for row, ends in zip(self.rows, self.ends)
                                   for raw, end in zip(row, ends))
