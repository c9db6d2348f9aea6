"""tokens.py: a C, C++ or CUDA file as tokens with their lines, for the gate.

As a compiler sees it: lines spliced, comments gone, strings whole. What a student has no use for
and what compilers do not read alike (a lone carriage return and other control characters, digraphs,
trigraphs, universal character names, raw strings, quotes that do not end) comes out as a token of
kind "odd", so that the gate refuses it instead of understanding it. test_tokens.py holds this
against what compilers see. Time grows with the length of the file alone, whatever stands in it.
"""

import re
from typing import NamedTuple

IDENTIFIER, NUMBER, STRING, CHARACTER, PUNCTUATOR, HEADER, NEWLINE, ODD = (
    "identifier", "number", "string", "character", "punctuator", "header", "newline", "odd")

# No alternative gives back what it has taken: each matches, or fails where it begins (a comment
# that does not end takes all of the rest). C++ alone has 1'000, u8'x' and x<::y> (where C has a
# digraph).
PATTERN = r"""
    (?P<space>[ \t\v\f]+)
  | (?P<newline>\r?\n|\r)
  | (?P<comment>//[^\r\n]*|/\*.*?\*/)
  | (?P<open_comment>/\*.*)
  | (?P<raw>(?:u8|[uUL])?R")
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\r\n]|\\.)*(?P<end_string>")?)
  | (?P<empty>{u8}'')
  | (?P<character>{u8}'(?:[^'\\\r\n]|\\.)*(?P<end_character>')?)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|{separator}[0-9A-Za-z_.])*(?P<quote>')?)
  | (?P<identifier>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<trigraph>\?\?[=/'()!<>-])
  | (?P<universal>\\[uUN])
  {less}
  | (?P<digraph>%:%:|%:|<%|%>|<:|:>)
  | (?P<punctuator>\.\.\.|<<<|>>>|<<=|>>=|->\*?|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=
        |\#\#|::|[][(){{}}<>.,;:?~!+\-*/%&|^=\#@`\\])
  | (?P<other>.)
"""
IN_C = {"separator": "", "u8": "[uUL]?", "less": ""}
IN_CPP = {"separator": "'[0-9A-Za-z_]|", "u8": "(?:u8|[uUL])?", "less": "| (?P<less><(?=::[^:>]))"}
LANGUAGES = {name: re.compile(PATTERN.format(**own), re.VERBOSE | re.DOTALL)
             for name, own in (("c", IN_C), ("c++", IN_CPP))}
# What follows #include is no string and holds no comment.
NAME_OF_HEADER = re.compile(r'<[^>\r\n]*>|"[^"\r\n]*"')
# Some compilers end a line at a lone CR, some skip a NUL, and a terminal obeys the rest.
CONTROL = re.compile(r"\r(?!\n)|[\x00-\x08\x0e-\x1f\x7f]")

ODDITIES = {
    "raw": "a raw string: write an ordinary one",
    "trigraph": "a trigraph (two question marks and a sign): write the character itself",
    "digraph": "a digraph (such as %: for #): write the character itself",
    "universal": "a character written as \\u outside of a string",
    "open_comment": "a comment that does not end",
    "open_quote": "a quote that does not end on its line",
    "empty": "a character constant with nothing in it",
    "quote": "a quote within or behind a number",
    "other": "a character that C has no use for",
}
LONE_CR = ("a carriage return (CR) in the middle of a line: let your editor save the file with "
           "Unix line ends")


class Token(NamedTuple):
    kind: str
    text: str
    line: int
    at: int = 0  # in the spliced text


def splice(text: str) -> tuple:
    """Without backslash-newline (a compiler also forgives blanks between the two), and where, in
    the result, each line of the file begins."""
    out, starts, length = [], [0], 0
    for line in re.split(r"(?<=\n)", text):
        joined = re.sub(r"\\[ \t\v\f\r]*\n\Z", "", line)
        out.append(joined)
        length += len(joined)
        starts.append(length)
    return "".join(out), starts


def kind_of(match: re.Match) -> str:
    """The kind of token, or the name of its oddity."""
    kind = match.lastgroup
    if kind in (STRING, CHARACTER) and not match["end_" + kind]:
        return "open_quote"
    if kind == NUMBER and match["quote"]:
        return "quote"
    return PUNCTUATOR if kind == "less" else kind


def control_character(text: str) -> list:
    """The first one, wherever it stands, as a token on a line of its own."""
    if not (match := CONTROL.search(text)):
        return []
    line = text.count("\n", 0, match.start()) + 1
    byte = ord(match[0])
    said = LONE_CR if byte == 13 else f"a control character (byte 0x{byte:02x})"
    return [Token(NEWLINE, "\n", line), Token(ODD, said, line)]


def tokens(text: str, language: str = "c") -> list:
    spliced, starts = splice(text)
    pattern, found, at, line = LANGUAGES[language], [], 0, 0
    first = 0  # of the tokens of this line
    while at < len(spliced):
        while line < len(starts) and starts[line] <= at:  # of spliced lines the last that begins
            line += 1
        if len(found) == first + 2 and found[first].text == "#" and found[-1].text == "include":
            match, kind = NAME_OF_HEADER.match(spliced, at), HEADER
        else:
            match = None
        if not match:
            match = pattern.match(spliced, at)
            kind = kind_of(match)
        if kind in ODDITIES:
            found.append(Token(ODD, ODDITIES[kind], line, at))
        elif kind not in ("space", "comment"):
            found.append(Token(kind, match[0], line, at))
        at = match.end()
        if kind == NEWLINE:
            first = len(found)
    return found + control_character(text)


def directives(found: list) -> tuple:
    """(all other tokens, [tokens of each directive without its #]): a directive is a line whose
    first token is #. Among the others its end of line stays, for what stands before and behind it
    need not be neighbours."""
    plain, inside, line = [], [], []
    for token in [*found, Token(NEWLINE, "\n", 0)]:
        if token.kind != NEWLINE:
            line.append(token)
            continue
        if line and line[0].kind == PUNCTUATOR and line[0].text == "#":
            inside.append(line[1:] or line)
            plain.append(token)
        else:
            plain += line
        line = []
    return plain, inside
