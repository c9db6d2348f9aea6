"""sinks.py: text from a submission on its way to readers that interpret what they read: XML,
Markdown, a runner's log, a spreadsheet. One function for each; a terminal's and a log's is
text.visible, JSON's is document.as_text, which is ASCII with everything else as escapes.
"""

import csv
import io
import re
import secrets

from text import visible, visible_lines

MOST_LINES, LONGEST = 2000, 1000
# Where a spreadsheet begins to compute, also in their wide forms.
FORMULA = "=+-@|%\uff1d\uff0b\uff0d\uff20"


def xml(value) -> str:
    """Lines without what XML cannot hold; `<`, `&` and `]]>` are the writer's (ElementTree)."""
    return "\n".join(visible_lines(str(value), MOST_LINES, LONGEST))


def markdown(value: str) -> str:
    """As text: nothing in it is markup, a link or somebody's name, and it stays in its cell.
    CommonMark takes a backslash before any ASCII punctuation."""
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;<!-- -->"}
    return re.sub(r"[!-/:-@\[-`{-~]", lambda m: entities.get(m[0], f"\\{m[0]}"),
                  visible(str(value), 300))


def annotation(level: str, message: str, **properties) -> str:
    """::error file=…,line=…,title=…::message, escaped as the runner unescapes it."""
    def escape(value):
        return "%0A".join(line.replace("%", "%25")
                          for line in visible_lines(str(value), 20, LONGEST))

    listed = ",".join(f"{k}={escape(v).replace(':', '%3A').replace(',', '%2C')}"
                      for k, v in properties.items() if v)
    return f"::{level} {listed}::{escape(message)}"


def fenced(lines: list) -> list:
    """Lines between which GitHub's runner obeys nothing: student output stands there."""
    token = secrets.token_hex(16)
    return [f"::stop-commands::{token}", *lines, f"::{token}::"]


def csv_line(cells: list) -> str:
    """One row. Numbers stay numbers; text that a spreadsheet would compute is marked as text."""
    row = io.StringIO()
    csv.writer(row, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(
        [cell if isinstance(cell, (int, float)) else csv_text(cell) for cell in cells])
    return row.getvalue()


def csv_text(cell) -> str:
    shown = visible(str(cell), 300)
    return f"'{shown}" if shown.lstrip().startswith(tuple(FORMULA)) else shown
