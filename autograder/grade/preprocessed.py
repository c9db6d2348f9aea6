"""preprocessed.py: the gate on what a compiler is given.

workers.mk has each C file preprocessed, and gives the compiler just what came of it (FILE.o.i
beside the object): conditions decided, macros expanded, lines spliced. Here the student's own lines
of that are judged by the rules of gate.py, so nothing hangs on reading macros as a preprocessor
does. What the headers' macros bring in may hold names that belong to compilers.
"""

import functools
import os
import re
import subprocess
from pathlib import Path

import gate_names as names
import tokens
from tokens import IDENTIFIER, PUNCTUATOR, STRING

LARGEST = 1 << 20  # of a student's own lines: four times what a source may have
# (a # that macros bring to the beginning of a line is set in, and means nothing)
MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"[ 0-9]*')
DEFINED = re.compile(r"#define (\w+)(?:\(([^)]*)\))?(.*)")
GROWS = "macros make more than 1 MiB of it: is there one that doubles?"


class Lost(Exception):
    """One line: a preprocessed file that workers.mk has not left."""


def own_lines(text: str) -> tuple:
    """(the student's own lines, their numbers in his file). A line marker says whose the next lines
    are; the first one names the file. Where lines of others stood is a semicolon."""
    source, lines, numbers, mine, number = None, [], [], False, 0
    for line in text.split("\n"):
        if match := MARKER.fullmatch(line):
            source = source or match[2]
            number, mine = int(match[1]), match[2] == source
        elif mine:
            lines.append(line)
            numbers.append(number)
            number += 1
        elif lines and lines[-1] != ";" and line.strip():
            lines.append(";")
            numbers.append(numbers[-1])
    return "\n".join(lines), numbers


@functools.cache
def of_headers(headers: frozenset) -> set:
    """Names that macros of these headers, and of the contracts, expand to."""
    root = Path(__file__).resolve().parents[2]
    given = [f'#include "tl/{p.name}"' for p in sorted((root / "tl/include/tl").glob("*.h"))
             if p.name not in ("cublas.h", "cuda.h")]
    system = [f"#if __has_include(<{h}>)\n#include <{h}>\n#endif" for h in sorted(headers)
              if h.endswith(".h") and not h.startswith("cu")]
    said = subprocess.run([os.environ.get("CC") or "cc", "-std=gnu11", "-fopenmp", "-E", "-dM",
                           f"-I{root / 'tl/include'}", "-"], input="\n".join([*system, *given, ""]),
                          capture_output=True, text=True)
    if said.returncode:
        raise Lost(f"the compiler cannot read the given headers: {said.stderr.strip()[:300]}")
    macros = {m[1]: set(re.findall(r"[A-Za-z_]\w*", m[3])) for m in map(
        DEFINED.fullmatch, said.stdout.splitlines()) if m}
    found, left = set(), [name for name in macros if not names.why_not(name)]
    while left:
        new = macros.get(left.pop(), set()) - found
        found |= new
        left += new & set(macros)
    return found


def tokens_of(path: Path, rules) -> tuple:
    """(tokens of the student's lines, [(line, finding)] about their form). What headers' macros may
    bring is left out."""
    if not path.exists():
        raise Lost(f"{path} is not there, from which its object was made: make clean, and again")
    text, numbers = own_lines(path.read_bytes().decode("utf-8", "surrogateescape"))
    if len(text) > LARGEST:
        return [], [(1, GROWS)]
    form = [(numbers[at], "a backslash at the end of a line that macros have made")
            for at, line in enumerate(text.split("\n")) if line.rstrip().endswith("\\")]
    brought, found = of_headers(frozenset(rules.headers)), []
    for token in tokens.tokens(text):
        line = numbers[min(token.line, len(numbers)) - 1] if numbers else 1
        compilers = names.reserved(token.text) or token.text.startswith("__builtin_")
        if token.kind == IDENTIFIER and compilers and token.text in brought:
            continue
        found.append(token._replace(line=line))
    return found, form


def findings(path: Path, rules, judge) -> list:
    """[(line, text)]; `judge`: gate.token_findings and gate.directive_findings."""
    found, out = tokens_of(path, rules)
    plain, inside = tokens.directives(found)
    of_tokens, of_directive = judge
    # (a place in the tree, which __FILE__ brings, is no word of the student's)
    plain = [t for t in plain if not (t.kind == STRING and "/lab" in t.text)]
    out += of_tokens(plain, rules)
    for line in inside:
        if line[0].text != "pragma" or line[0].kind == PUNCTUATOR:
            out.append((line[0].line, "# at the beginning of a line that macros have made"))
            continue
        out += of_directive(line, rules) + of_tokens(line[2:], rules)
    return out
