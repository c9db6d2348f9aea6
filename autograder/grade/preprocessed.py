"""preprocessed.py: the gate on what a compiler is given.

workers.mk has each file preprocessed, and gives the compiler just what came of it (FILE.o.i beside
the object, or FILE.o.ii of CUDA, which hostcuda has rewritten before): conditions decided, macros
expanded, lines spliced. Here the student's own lines of that are judged by the rules of gate.py, so
nothing hangs on reading macros as a preprocessor does. What the headers' macros bring in may hold
names that belong to compilers, and what the rewriter writes, those of hostcuda.
"""

import functools
import os
import re
import subprocess
from pathlib import Path

import gate_names as names
import tokens
from tokens import IDENTIFIER, PUNCTUATOR, STRING

ROOT = Path(__file__).resolve().parents[2]
SUFFIX = {".c": ".i", ".cu": ".ii"}  # of a source: what is put behind the name of its object
# macros that hostcuda's rewriter writes
WRITTEN = {"HC_SITE", "HC_NAME", "HC_DEVICE_CONSTANT", "HC_DEVICE_VARIABLE", "HC_STATIC_LOCAL",
           "HC_NOINLINE"}
LARGEST = 1 << 20  # of a student's own lines: four times what a source may have
# (a # that macros bring to the beginning of a line is set in, and means nothing)
MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"[ 0-9]*')
DEFINED = re.compile(r"#define (\w+)(?:\(([^)]*)\))?(.*)")
GROWS = "macros make more than 1 MiB of it: is there one that doubles?"


class Lost(Exception):
    """One line: a preprocessed file that workers.mk has not left."""


def own_lines(text: str) -> tuple:
    """(the student's own lines, their numbers in the file). A line marker says whose the next lines
    are; the first one that is no header's names the file. Where lines of others stood is a
    semicolon."""
    source, lines, numbers, mine, number = None, [], [], False, 0
    for line in text.split("\n"):
        if match := MARKER.fullmatch(line):
            source = source or (match[2] if Path(match[2]).suffix in SUFFIX else None)
            number, mine = int(match[1]), match[2] == source
        elif mine:
            lines.append(line)
            numbers.append(number)
            number += 1
        elif lines and lines[-1] != ";" and line.strip():
            lines.append(";")
            numbers.append(numbers[-1])
    return "\n".join(lines), numbers


def macros_of(command: list, headers: list) -> dict:
    """name -> the names that it expands to, of each macro that these headers define."""
    said = subprocess.run([*command, "-E", "-dM", f"-I{ROOT / 'tl/include'}", "-"], text=True,
                          capture_output=True, input="\n".join([*headers, ""]))
    if said.returncode:
        raise Lost(f"the compiler cannot read the given headers: {said.stderr.strip()[:300]}")
    found = map(DEFINED.fullmatch, said.stdout.splitlines())
    return {m[1]: set(re.findall(r"[A-Za-z_]\w*", m[3])) for m in found if m}


@functools.cache
def of_headers(headers: frozenset, cuda: bool) -> set:
    """Names that macros of these headers, and of the contracts, expand to."""
    given = [f'#include "tl/{p.name}"' for p in sorted((ROOT / "tl/include/tl").glob("*.h"))
             if cuda or p.name not in ("cublas.h", "cuda.h")]
    system = [f"#if __has_include(<{h}>)\n#include <{h}>\n#endif" for h in sorted(headers)
              if cuda or h.endswith(".h") and not h.startswith("cu")]
    if cuda:
        macros = macros_of([os.environ.get("CXX") or "g++", "-x", "c++", "-std=c++17",
                            "-DHOSTCUDA_CHECK", f"-I{ROOT / 'hostcuda/include'}"],
                           ["#include <hostcuda/hostcuda.h>", *system, *given])
    else:
        macros = macros_of([os.environ.get("CC") or "cc", "-std=gnu11", "-fopenmp"],
                           [*system, *given])
    found = set()
    left = [name for name in macros if not names.why_not(name) or name in WRITTEN]
    while left:
        new = macros.get(left.pop(), set()) - found
        found |= new
        left += new & set(macros)
    return found


def of_hostcuda(name: str) -> bool:
    """Whether the rewriter writes it, or a macro of its headers: a student may not (gate_names)."""
    return name == "hc" or name.lower().startswith("hc_")


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
    cuda = path.suffix == SUFFIX[".cu"]
    brought, found = of_headers(frozenset(rules.headers), cuda), []
    for token in tokens.tokens(text, "c++" if cuda else "c"):
        line = numbers[min(token.line, len(numbers)) - 1] if numbers else 1
        # (how a student writes attributes was judged in the source; __global__ brings some)
        compilers = (names.reserved(token.text) or token.text.startswith("__builtin_")
                     or cuda and token.text == "__attribute__")
        if token.kind == IDENTIFIER and (compilers and token.text in brought
                                         or cuda and of_hostcuda(token.text)):
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
