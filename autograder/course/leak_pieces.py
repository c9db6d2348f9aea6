"""leak_pieces.py: code as short pieces that stay the same when it is renamed and laid out anew.

Two streams are made of a text, a character for each token, so that a piece is a slice of a string:

  code   comments gone; a name is I, a number N, a string S; types, qualifiers and braces leave
         nothing behind; for and while are one word, and so are . and ->
  words  the names, numbers and keywords as they are written, nothing between them

Capital and small letters are the same.

A text is looked at by its k-grams, as MOSS does (Schleimer, Wilkerson, Aiken, "Winnowing: Local
Algorithms for Document Fingerprinting", 2003). All of them are kept, none is left out by winnowing:
the secrets have about 10^5, and a run of k tokens is then always seen.

The grammar is that of autograder/grade/tokens.py, which is held against compilers and refuses what
is odd; here any text at all is read, and 30 MB of it. A test holds one against the other.
"""

import re

K = {"code": 16, "words": 8}

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?(?:\*/|\Z)
  | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.){1,6}'
  | [^\W\d][\w$]* | \.?[0-9](?:[eEpP][+-]|[\w.])*
  | -> | \+\+ | -- | <<=? | >>=? | [-+*/%&|^=!<>]= | && | \|\| | [^\s\w]
  """, re.VERBOSE | re.DOTALL)
COMMENT = ("//", "/*")
KEPT = "if else for while do return switch case default break continue goto sizeof".split()
OPERATORS = "++ -- << <<= >> >>= += -= *= /= %= &= ^= |= == != <= >= && ||".split()
DROPPED = {"const", "static", "inline", "restrict", "volatile", "register", "extern", "unsigned",
           "signed", "struct", "__restrict__", "__device__", "__global__", "__host__",
           "__forceinline__", "{", "}"}  # fmt: skip


LONG = 40  # characters: a token that is not worth remembering


class Code(dict):
    """A token -> what stands for it; learns as it is asked."""

    def __init__(self):
        super().__init__({token: chr(0x100 + i) for i, token in enumerate(KEPT + OPERATORS)})
        self.update(dict.fromkeys(DROPPED, ""))
        self["while"], self["->"] = self["for"], "."

    def __missing__(self, token: str) -> str:
        if token.startswith(COMMENT):
            return ""
        if token[0] == '"' and len(token) > 1:
            return "S"
        if token[0].isalpha() or token[0] in "_$":
            sign = "I"
        else:
            sign = "N" if len(token) > 1 or token.isdigit() else token
        self[token] = sign
        return sign


class Words(dict):
    """A word of the secrets -> its character. Any other word is NUL, of which no piece is made."""

    def learn(self, tokens: list) -> None:
        for token in tokens:
            if is_word(token) and token not in self:
                self[token] = chr(0x100 + len(self))

    def __missing__(self, token: str) -> str:
        sign = "\0" if is_word(token) else ""
        if len(token) < LONG:
            self[token] = sign
        return sign


def is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] in "_$"


def tokens_of(text: str) -> list:
    return TOKEN.findall(text.lower().replace("\\\n", ""))


CODE = Code()


def code(tokens: list) -> str:
    """A type and the name that it declares count as one: `int i = 0;` is nearly `int i; i = 0;`."""
    return re.sub("I+", "I", re.sub("S+", "S", "".join([CODE[token] for token in tokens])))


def words(tokens: list, known: Words) -> str:
    return "".join([known[token] for token in tokens])


def pieces(stream: str, kind: str):
    k = K[kind]
    length = len(stream)
    return map(stream.__getitem__, map(slice, range(length - k + 1), range(k, length + 1)))


def covered(stream: str, found: set, kind: str) -> int:
    """How many of its tokens lie in a piece that was found."""
    k, end, count = K[kind], 0, 0
    for at, piece in enumerate(pieces(stream, kind)):
        if piece in found:
            count += at + k - max(at, end)
            end = at + k
    return count
