"""csv_lines.py: lines taken out of a CSV file that somebody else has written, with all its columns
and its delimiter kept.
"""

import csv
import io
from pathlib import Path

from skeletons import Refused


def table(path: Path) -> tuple:
    """(delimiter, rows, the first of which has the columns' names)"""
    try:
        whole = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"{path}: cannot be read: it is not in UTF-8") from None
    head = whole.split("\n", 1)[0]
    delimiter = ";" if head.count(";") > head.count(",") else ","
    return delimiter, [row for row in csv.reader(io.StringIO(whole), delimiter=delimiter) if row]


def text(delimiter: str, rows: list) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return file.getvalue()


def without(rows: list, gone, changed=lambda row: row) -> list:
    """`gone` and `changed` take a row as {column: cell}."""
    columns = [name.strip().lower() for name in rows[0]]
    kept = [rows[0]]
    for row in rows[1:]:
        cells = changed(dict(zip(columns, row)))
        if not gone(cells):
            kept.append([*(cells[c] for c in columns[:len(row)]), *row[len(columns):]])
    return kept
