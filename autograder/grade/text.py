"""text.py: text for a terminal: made harmless, measured in columns, wrapped, coloured.

Whatever comes from the student's program may hold control bytes, escape sequences or half a
character; here it becomes visible text that cannot move the cursor, clear a line or forge one.
"""

import os
import re
import shutil
import sys
import unicodedata
from pathlib import Path

LONGEST_LINE = 400
# Unicode categories that print nothing or change the order of what is printed.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols by name, and nothing to be seen
MOST_MARKS = 4  # on one letter: more of them cover the lines above
# What a runner of GitHub or Azure obeys wherever it reads a log: `##[…]` anywhere in a line, and
# `::word …::` where a line begins. The second character of each becomes an escape.
COMMAND = re.compile(r"#(?=#(?:\[|vso\[))|(?<!\S):(?=:[A-Za-z].*?::)", re.IGNORECASE | re.DOTALL)


def hidden(c: str) -> bool:
    return unicodedata.category(c) in HIDDEN or c in BLANK


def visible(text: str, longest: int = LONGEST_LINE) -> str:
    """One line: control characters as escapes, cut to a length (which counts the escapes). No
    runner takes it for a command."""
    shown, length, marks = [], 0, 0
    commands = {m.start() + 1 for m in COMMAND.finditer(text[:longest + 1])}
    for at, c in enumerate(text):
        marks = marks + 1 if unicodedata.combining(c) else 0
        c = _escape(c) if hidden(c) or at in commands or marks > MOST_MARKS else c
        length += len(c)
        if length > longest:
            return "".join(shown) + f" ... ({len(text) - at} more characters)"
        shown.append(c)
    return "".join(shown)


def _escape(c: str) -> str:
    n = ord(c)
    if c == "\t":
        return "    "
    if 0xDC80 <= n <= 0xDCFF:  # a byte that is not UTF-8, as surrogateescape keeps it
        n -= 0xDC00
    return f"\\x{n:02x}" if n < 0x100 else f"\\u{n:04x}" if n < 0x10000 else f"\\U{n:08x}"


def visible_lines(text: str, most: int, longest: int = LONGEST_LINE) -> list:
    """The lines of a longer text; of many the first and the last ones."""
    lines = str(text).replace("\r\n", "\n").rstrip("\n").split("\n")
    if len(lines) > most:
        head = most - most // 2
        left = len(lines) - most
        lines = [*lines[:head], f"... ({left} more lines)", *lines[len(lines) - most // 2:]]
    return [visible(line, longest) for line in lines]


def cut(value, longest: int, most: int):
    """A value as JSON has it, its texts and lists not longer than this."""
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]} ... ({len(value) - longest} more characters)"
    if isinstance(value, list):
        return [cut(v, longest, most) for v in value[:most]]
    if isinstance(value, dict):
        return {cut(k, longest, most): cut(v, longest, most)
                for k, v in list(value.items())[:most]}
    return value


def read(path: Path, most: int = 1 << 18) -> str:
    """A compiler's or a linker's messages, which can be a gigabyte: of more than `most` bytes the
    first and the last ones."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= most:
            data = file.read(most)
        else:
            data = file.read(most - most // 4)
            file.seek(size - most // 4)
            data += f"\n... ({size - most} more bytes)\n".encode() + file.read(most // 4)
    return data.decode("utf-8", "surrogateescape")


def columns(text: str) -> int:
    """How many columns a terminal uses: East Asian wide characters take two, marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if is_wide(c) else 1 for c in text)


def split_at(text: str, width: int) -> int:
    """How many characters fit into `width` columns, at least one."""
    used = 0
    for i, c in enumerate(text):
        used += columns(c)
        if used > width:
            return max(i, 1)
    return len(text)


def is_wide(c: str) -> bool:
    return unicodedata.east_asian_width(c) in "WF"


# Signs that no line of Chinese begins or ends with.
CLOSING, OPENING = "，。；：、？！）》」』”’,.;:?!)", "（《「『“‘("


def words_of(text: str) -> list:
    """[(a space before it or "", word)]: between what a line may be broken. Chinese has no spaces:
    a line may end behind each of its characters; `code` in it stays in one piece."""
    if not any(map(is_wide, text)):
        return [(" ", word) for word in text.split()]
    found, space, join = [], "", False
    for piece in re.findall(r"\s+|`[^`]*`|[^\s`]", text):
        if piece.isspace():
            space, join = " ", False
            continue
        last = found[-1][1] if found and not space else ""
        plain = last and not is_wide(last[-1]) and not is_wide(piece[0])
        if last and (join or plain or piece in CLOSING):
            found[-1] = (found[-1][0], last + piece)
        else:
            found.append((space, piece))
        space, join = "", piece in OPENING
    return found


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list:
    """Lines of at most `width` columns; `first` begins the first, `rest` the others. A word that
    is longer than a line is broken."""
    rest = " " * columns(first) if rest is None else rest
    lines, line, empty = [], first, True
    for space, word in words_of(text):
        if not empty and columns(line) + len(space) + columns(word) > width:
            lines.append(line)
            line, empty = rest, True
        while empty and columns(word) > (room := max(width - columns(line), 8)):
            at = split_at(word, room)
            lines.append(line + word[:at])
            line, word = rest, word[at:]
        if word:
            line += word if empty else space + word
            empty = False
    return [*lines, line] if not empty or not lines else lines


def say(lines: list, stream=None) -> None:
    """Whatever the terminal's encoding, a character that it lacks is shown as an escape."""
    stream = stream or sys.stdout
    data = "\n".join(lines) + "\n"
    encoding = stream.encoding or "ascii"
    stream.write(data.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


class Paint:
    """Colours, or nothing: without a terminal, with NO_COLOR, or on a dumb one."""

    CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}

    def __init__(self, stream=None):
        stream = stream or sys.stdout
        self.on = (stream.isatty() and not os.environ.get("NO_COLOR")
                   and os.environ.get("TERM", "dumb") != "dumb")

    def __call__(self, colour: str, text: str) -> str:
        return f"\x1b[{self.CODES[colour]}m{text}\x1b[0m" if self.on and text else text


def width(stream=None) -> int:
    """Of the terminal, within what can be read; 100 where there is none."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return 100
    return min(max(shutil.get_terminal_size((100, 24)).columns, 40), 120)
