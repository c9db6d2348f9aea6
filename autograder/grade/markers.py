"""markers.py: a solution's file with markers in it, read as pieces and made into a skeleton.

A marker is a comment on a line of its own:

    //@lab 2: what to do             the piece begins; the text becomes a TODO in the skeleton
    //@  and goes on
    ...                              the solution: left out
    //@skeleton                      (may be missing) what stands in its place:
    // return TL_NOT_IMPLEMENTED();  lines without their `// `
    //@end

A piece without text leaves no trace: helpers that are the student's to invent. In a .toml, `#`
stands for `//`.
"""

import re
import textwrap
from dataclasses import dataclass, field

WIDTH = 100
MOST_LINES = 40  # of a piece: what is longer is two tasks


class MarkerError(Exception):
    """A marker that cannot be meant; its text is one line that begins with file:line."""


@dataclass
class Piece:
    """What stands between //@lab and //@end."""
    line: int
    indent: str
    text: list = field(default_factory=list)
    solution: list = field(default_factory=list)
    skeleton: list = None  # None until //@skeleton


def code_lines(lines: list) -> int:
    """Lines that a student has to write: neither blank nor comment."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", "\n".join(lines), flags=re.DOTALL)
    return sum(1 for line in bare.splitlines() if line.strip())


def comment_of(name: str) -> str:
    return "#" if name.endswith(".toml") else "//"


class Reader:
    """Takes a file line by line; `parts` fills with given lines (str) and pieces (Piece)."""

    def __init__(self, name: str, lab: int):
        self.name, self.lab = name, lab
        self.comment = comment_of(name)
        self.number = 0
        self.parts = []
        self.piece = None  # the one whose //@end is still to come
        self.in_text = False  # the line before was //@lab with text, or more of its text

    def fail(self, what: str, number: int = 0) -> None:
        raise MarkerError(f"{self.name}:{number or self.number}: {what}")

    def take(self, line: str) -> None:
        self.number += 1
        if marker := re.match(rf"(\s*){self.comment}@(.*)$", line):
            self.marker(marker[1], marker[2])
        elif f"{self.comment}@" in line:
            self.fail("a marker stands on a line of its own")
        else:
            self.in_text = False
            self.plain(line)

    def plain(self, line: str) -> None:
        if self.piece is None:
            self.parts.append(line)
        elif self.piece.skeleton is None:
            self.piece.solution.append(line)
        elif given := re.match(rf"{self.piece.indent}{self.comment}(?: (.*))?$", line):
            self.piece.skeleton.append(self.piece.indent + given[1] if given[1] else "")
        else:
            self.fail("lines of a skeleton are comments, `// …`, indented as its marker is")

    def marker(self, indent: str, word: str) -> None:
        if self.piece and indent != self.piece.indent:
            self.fail(f"not indented as the marker of line {self.piece.line} is")
        if begin := re.match(r"lab (\d+):(.*)$", word):
            self.begin(indent, int(begin[1]), begin[2].strip())
        elif word == "" or word.startswith("  "):
            if not self.in_text:
                self.fail("a line of text that follows no //@lab N: text")
            self.piece.text.append(word.strip())
        elif word == "skeleton":
            self.skeleton()
        elif word == "end":
            self.end()
        else:
            self.fail(f"no marker is called //@{word.split(':')[0]}: lab N:, skeleton, end")

    def begin(self, indent: str, lab: int, text: str) -> None:
        if self.piece:
            self.fail(f"//@lab within the piece of line {self.piece.line}: //@end is missing")
        if lab != self.lab:
            self.fail(f"says lab {lab}, but the file belongs to lab {self.lab}")
        self.piece = Piece(self.number, indent, [text] if text else [])
        self.in_text = bool(text)

    def skeleton(self) -> None:
        if not self.piece:
            self.fail("//@skeleton outside of a piece: no //@lab before it")
        if self.piece.skeleton is not None:
            self.fail(f"a second //@skeleton in the piece of line {self.piece.line}")
        self.piece.skeleton, self.in_text = [], False

    def end(self) -> None:
        if not self.piece:
            self.fail("//@end without //@lab")
        if not "".join(self.piece.solution).strip():
            self.fail(f"the piece of line {self.piece.line} leaves nothing out")
        if (count := code_lines(self.piece.solution)) > MOST_LINES:
            self.fail(f"a piece of {count} lines: {MOST_LINES} are the most, cut it up",
                      self.piece.line)
        self.parts.append(self.piece)
        self.piece, self.in_text = None, False


def parse(text: str, name: str, lab: int) -> list:
    """The file as a list of given lines (str) and pieces (Piece), in order."""
    reader = Reader(name, lab)
    for line in text.splitlines():
        reader.take(line)
    if reader.piece:
        reader.fail("//@lab without //@end", reader.piece.line)
    return reader.parts


def todo(piece: Piece, lab: int, comment: str) -> list:
    """The text of a piece as a comment; an empty line of the text begins a paragraph."""
    paragraphs = " ".join(line or "\n" for line in piece.text).split("\n")
    paragraphs[0] = f"TODO(lab {lab}): {paragraphs[0]}"
    lines, room = [], WIDTH - len(piece.indent) - 3
    for paragraph in paragraphs:
        lines += textwrap.wrap(paragraph.strip(), room, break_long_words=False,
                               break_on_hyphens=False)
        lines.append("")
    lines.pop()
    if comment == "#":
        return [f"{piece.indent}# {line}".rstrip() for line in lines]
    if len(lines) == 1 and len(lines[0]) + 6 <= WIDTH - len(piece.indent):
        return [f"{piece.indent}/* {lines[0]} */"]
    out = [f"{piece.indent}/* {lines[0]}"]
    out += [f"{piece.indent} * {line}".rstrip() for line in lines[1:]]
    if len(out[-1]) + 3 <= WIDTH:
        out[-1] += " */"
    else:
        out.append(f"{piece.indent} */")
    return out


def generate(text: str, name: str, lab: int) -> str:
    """The skeleton of a solution's file."""
    out, parts = [], parse(text, name, lab)
    if not any(isinstance(part, Piece) for part in parts):
        raise MarkerError(f"{name}:1: no //@lab in this file: its skeleton would be the solution")
    for part in parts:
        if isinstance(part, str):
            out.append(part)
            continue
        if part.text:
            out += todo(part, lab, comment_of(name))
        out += part.skeleton or []
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(out))  # where pieces vanished between empty lines
    return joined.strip("\n") + "\n"
