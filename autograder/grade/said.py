"""said.py FILE.err...: shows what compilers said of a student's files, each message once.

A file is compiled in several builds (float, double, with the checkers), by compilers that mostly
say the same. What was shown is removed: a warning is shown when its file is compiled, and not again
until that changes. A student's code stands in messages, so nothing in them may move the cursor.
"""

import re
import sys
from pathlib import Path

import text

MOST_LINES = 400
# "x.c: In function 'f':", "In file included from x.h:3,": these introduce what follows
CONTEXT = re.compile(r"(\S.*|\s+from .*)[:,]")
# a line that belongs to the message before it
BEHIND = re.compile(r"\s|$|[^\s:]+:\d+:(\d+:)? +(note: |required )")
# a line as compilers begin them, or one that is set in
ITS_OWN = re.compile(r"\s|$|In file included from |[^\s:(]+[:(]\d+[^\s:]*:|"
                     r"\S+: (fatal )?(error|warning|note|In|At)\b|\.\.\. \(")
# how a type is spelled in this build: no reason to tell the same mistake twice
# (none is so long; without an end, each beginning would be followed to that of the text)
ALSO_KNOWN_AS = re.compile(r" \{aka [^}]{0,1000}\}| \(aka [^)]{0,1000}\)")


def messages(said: str) -> list:
    """[(lines that introduce it, lines of the message)]"""
    found, context, body = [], [], []
    for line in said.replace("\r\n", "\n").rstrip("\n").split("\n"):
        if body and not BEHIND.match(line):
            found.append((context, body))
            context, body = [], []
        (body if body or not CONTEXT.fullmatch(line) else context).append(line)
    return found + [(context, body)] if context or body else found


def once(texts: list) -> list:
    """The lines of all messages, without those that another build has told."""
    lines, told, introduced = [], set(), []
    for context, body in (message for said in texts for message in messages(said)):
        key = ALSO_KNOWN_AS.sub("", "\n".join(body))
        if key in told:
            continue
        told.add(key)
        if context != introduced:
            lines += context
            introduced = context or introduced
        lines += body
    return lines


def fenced(line: str) -> str:
    """What a compiler repeats of its input (a static_assert has text of several lines) stands
    behind a bar: it cannot pass for a line of ours."""
    return line if ITS_OWN.match(line) else f"    | {line}"


def main(arguments: list) -> int:
    texts = []
    for path in map(Path, arguments):
        if path.exists():
            texts.append(text.read(path).rstrip("\n"))
            path.unlink(missing_ok=True)
    if lines := once(texts):
        lines = text.visible_lines("\n".join(lines), MOST_LINES)
        text.say(list(map(fenced, lines)), sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
