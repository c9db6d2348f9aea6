"""tokens.py: a C, C++ or CUDA file as tokens with their lines, for the gate.

As a compiler sees it: lines spliced, comments gone, strings whole. What a student has no use for
and what only hides a name (digraphs, trigraphs, universal character names, raw strings) comes out
as a token of kind "odd", so that the gate refuses it instead of understanding it.
"""

import bisect
import re
from dataclasses import dataclass

IDENTIFIER, NUMBER, STRING, CHARACTER, PUNCTUATOR, NEWLINE, ODD = (
    "identifier", "number", "string", "character", "punctuator", "newline", "odd")

PATTERN = re.compile(r"""
    (?P<space>[ \t\v\f]+)
  | (?P<newline>\r?\n|\r)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<open_comment>/\*.*)
  | (?P<raw>(?:u8|[uUL])?R"[^()\\\s]{0,16}\()
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*)
  | (?P<identifier>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<trigraph>\?\?[=/'()!<>-])
  | (?P<universal>\\[uUN])
  | (?P<less><(?=::[^:>]))
  | (?P<digraph>%:%:|%:|<%|%>|<:|:>)
  | (?P<punctuator>\.\.\.|<<<|>>>|<<=|>>=|->\*?|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=
        |\#\#|::|[][(){}<>.,;:?~!+\-*/%&|^=\#@`\\])
  | (?P<other>.)
""", re.VERBOSE | re.DOTALL)

ODDITIES = {
    "raw": "a raw string: write an ordinary one",
    "trigraph": "a trigraph (two question marks and a sign): write the character itself",
    "digraph": "a digraph (such as %: for #): write the character itself",
    "universal": "a character written as \\u outside of a string",
    "open_comment": "a comment that does not end",
    "other": "a character that C has no use for",
}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int


def splice(text: str) -> tuple:
    """Without backslash-newline (a compiler also forgives blanks between the two), and where, in
    the result, each line of the file begins."""
    out, starts, length = [], [0], 0
    for line in re.split(r"(?<=\n)", text):
        joined = re.sub(r"\\[ \t\v\f\r]*\n$", "", line)
        out.append(joined)
        length += len(joined)
        starts.append(length)
    return "".join(out), starts


def tokens(text: str) -> list:
    spliced, starts = splice(text)
    found = []
    for match in PATTERN.finditer(spliced):
        kind = match.lastgroup
        if kind in ("space", "comment"):
            continue
        # the last line that begins here or before: spliced lines begin where they were joined
        line = max(bisect.bisect_right(starts, match.start()), 1)
        if kind == "less":  # x<::y> in C++, where <: is no digraph
            kind = PUNCTUATOR
        if kind in ODDITIES:
            found.append(Token(ODD, ODDITIES[kind], line))
        else:
            found.append(Token(kind, match[0], line))
    return found


def directives(found: list) -> tuple:
    """(all other tokens, [tokens of each directive without its #]): a directive is a line whose
    first token is #."""
    plain, inside, line = [], [], []
    for token in [*found, Token(NEWLINE, "\n", 0)]:
        if token.kind != NEWLINE:
            line.append(token)
            continue
        if line and line[0].kind == PUNCTUATOR and line[0].text == "#":
            inside.append(line[1:] or line)
        else:
            plain += line
        line = []
    return plain, inside
