"""moodle.py: Moodle's offline grading worksheet of an assignment (Feedback types: "Offline grading
worksheet"; Grading action: "Download grading worksheet"), with its column Grade filled. What writes
and reads it says its form: gradingtable.php and feedback/offline/importgradeslib.php of
https://github.com/moodle/moodle/tree/main/mod/assign

Rows are found there by Identifier ("Participant 17"). A grade above the maximum is skipped there
without a word, so it is cut here and told. FEEDBACK=1 fills Feedback comments, too, which Moodle
takes as HTML.
"""

import html
from pathlib import Path

import sinks
from gradebook import Book, number
from grades import Made
from options import OptionError

KEYS = ("Identifier", "Full name", "Email address", "ID number", "Username")


def made(source: Path, given: dict) -> Made:
    book = Book(source, given, KEYS)
    sheet = book.sheet
    sheet.column("Identifier")  # (without it Moodle takes no row)
    grade, most = sheet.column(given["COLUMN"] or "Grade"), sheet.column("Maximum Grade")
    comments = sheet.column("Feedback comments") if given["FEEDBACK"] else None
    rows = sheet.full_rows()
    check_maximum(book, rows, most)
    for row, student in book.pairs(rows):
        if "Grade can be changed" in sheet.heading and \
                sheet.get(row, sheet.column("Grade can be changed")) == "No":
            book.leave(student, "Moodle says that this grade cannot be changed")
            continue
        sheet.put(row, grade, book.within(student, number(sheet.get(row, most))))
        if comments is not None:
            sheet.put(row, comments, html.escape(sinks.csv_text(student.comment), quote=False))
    return Made(sheet.text(), book.left, book.without_points())


def check_maximum(book: Book, rows: list, column: int) -> None:
    for row in rows:
        there = book.sheet.get(row, column)
        if number(there) not in book.possible:
            raise OptionError(
                f"{book.sheet.path}: row {row + 1}: Maximum Grade is {there}, and the lab has "
                f"{' or, with extra credit, '.join(map(str, dict.fromkeys(book.possible)))} "
                "points: set the assignment's maximum grade in Moodle, and export again")
