"""canvas.py: Canvas's gradebook (Grades, Export), with the column of one assignment filled. What
writes and reads it says its form:
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_exporter.rb
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb

An assignment's column is called "lab2 (12345)", and any other heading makes a new assignment there.
Canvas would take more points than are possible, as extra credit: a course that wants it sets Points
Possible to the sum with it, and what is above that is cut here and told, as for Moodle. "EX" is
excused and "N/A" was not asked for: both stay.
"""

import re
from pathlib import Path

from gradebook import Book, number
from grades import Made
from options import OptionError

KEYS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Integration ID")
KEPT = ("EX", "N/A")
ASSIGNMENT = re.compile(r"(.*\S)\s*\(\d+\)")


def made(source: Path, given: dict) -> Made:
    book = Book(source, given, KEYS)
    sheet = book.sheet
    for name in ("Student", "ID", "Section"):  # (what Canvas knows a gradebook by)
        sheet.column(name)
    column = given_column(book, given)
    rows = [row for row in sheet.full_rows() if sheet.get(row, 0).strip()]
    before, largest = check_possible(book, rows, column)
    rows = rows[before:]
    pairs = book.pairs(rows)
    book.empty = [row for row in book.empty if sheet.get(row, column).strip() not in KEPT]
    for row, student in pairs:
        if (there := sheet.get(row, column).strip()) in KEPT:
            book.leave(student, f"Canvas has {there} there")
        else:
            sheet.put(row, column, book.within(student, largest))
    return Made(sheet.text(), book.left, book.without_points())


def given_column(book: Book, given: dict) -> int:
    """The one that was named, else the lab's: "lab2 (12345)", "Lab 2 (12345)"."""
    if given["COLUMN"]:
        return book.sheet.column(given["COLUMN"])
    wanted, titles = f"lab{book.lab}", {}
    for heading in book.sheet.heading:
        if match := ASSIGNMENT.fullmatch(heading):
            titles.setdefault(re.sub(r"\s", "", match[1]).casefold(), []).append(heading)
    found = titles.get(wanted, [])
    if len(found) != 1:
        there = ", ".join(h for group in titles.values() for h in group) or "none"
        raise OptionError(f"{book.sheet.path}: {len(found)} assignments are called {wanted}: say "
                          f"COLUMN='title (number)'; its assignments are {there}")
    return book.sheet.column(found[0])


def check_possible(book: Book, rows: list, column: int) -> tuple:
    """(how many rows there are before the first student's, the points that are possible)"""
    for at, row in enumerate(rows):
        if "Points Possible" not in book.sheet.get(row, 0):
            continue
        there = book.sheet.get(row, column)
        if number(there) not in book.possible:
            raise OptionError(f"{book.sheet.path}: {book.sheet.heading[column]} has {there} points "
                              f"possible, and the lab {book.possible[0]}: set them in Canvas, and "
                              "export again")
        return at + 1, number(there)
    raise OptionError(f"{book.sheet.path}: there is no row Points Possible: this is no gradebook "
                      "of Canvas")
