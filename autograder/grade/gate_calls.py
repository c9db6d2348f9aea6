"""gate_calls.py: how a student's source may call functions of the C library that write where their
arguments say.

No hook of the checkers looks at what the C library writes. Most functions that write through a
pointer are missing in allowed_calls.toml; what stays is printing, and for it a format stands in the
call as it is, without %n, and a stream is stdout or stderr. Then what is written is text, and goes
where text goes.
"""

import fnmatch
import itertools
import re

from tokens import IDENTIFIER, STRING

# function or macro -> which argument is the format
FORMAT_AT = {"printf": 0, "fprintf": 1, "snprintf": 2, "tl_fail": 3, "TL_FAIL": 1, "TL_NEED": 2}
# function -> which argument is the stream
STREAM_AT = {"fprintf": 0, "fputs": 1, "fputc": 1, "putc": 1, "fwrite": 3, "fflush": 0}
STREAMS = {"stdout", "stderr"}
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]+)|([0-7]{1,3})|(.))", re.DOTALL)
CONVERSION = re.compile(r"%[-+ #0'I]*[\d*.$]*[hlqjztL]*(.?)", re.DOTALL)
DEEPEST = 20  # calls of these in each other's arguments, which are read once for each
OPERATORS = {"+", "-", "*", "/", "%", "&&", "||", "&", "|", "^", "<<", ">>"}  # folds over a pack
LOOKS_BACK = 40  # tokens
OF_HEADERS = re.compile(r"PRI[diouxX]\w+")  # <inttypes.h>: what stands behind a %


def meant(literal: str) -> str:
    """A string literal's characters, as far as % and letters are concerned."""
    inside = literal[literal.index('"') + 1:literal.rindex('"')]

    def character(match):
        if digits := match[1] or match[2]:
            return chr(int(digits, 16 if match[1] else 8) & 0xFF)
        return match[3]

    return ESCAPE.sub(character, inside)


def arguments(found: list, at: int) -> list | None:
    """The tokens of each argument behind the name at `at`; None where no call stands there."""
    if at + 1 >= len(found) or found[at + 1].text != "(":
        return None
    parts, depth = [[]], 0
    for k in range(at + 1, len(found)):  # (a slice would copy all the rest)
        token = found[k]
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.text, 0)
        if depth == 0:
            return parts
        if depth == 1 and token.text == ",":
            parts.append([])
        elif token.text != "(" or depth > 1:
            parts[-1].append(token)
    return None


def too_deep(found: list) -> list:
    """[(line, finding)] of the first call that stands in more than DEEPEST others."""
    judged, depth = [], 0  # of each parenthesis that is open: whether such a call's
    for at, token in enumerate(found):
        if token.text in ("(", "[", "{"):
            before = found[at - 1].text if at else ""
            judged.append(before in FORMAT_AT or before in STREAM_AT)
            depth += judged[-1]
            if depth > DEEPEST:
                return [(token.line, f"{before}: more than {DEEPEST} calls that print stand in "
                                     "each other")]
        elif token.text in (")", "]", "}") and judged:
            depth -= judged.pop()
    return []


def format_finding(name: str, tokens: list) -> str:
    """Why this is no format, or an empty string."""
    whole = ""
    for token in tokens:
        if token.kind == STRING:
            whole += meant(token.text)
        elif token.kind == IDENTIFIER and OF_HEADERS.fullmatch(token.text):
            whole += "d"
        else:
            whole = ""
            break
    if not whole and not (tokens and all(t.kind == STRING for t in tokens)):
        return f"{name}: its format has to stand in the call, as a text in quotes"
    if any(match[1] in ("n", "") for match in CONVERSION.finditer(whole)):
        return f"{name}: %n writes to memory (a % itself is written %%)"
    return ""


def call_finding(found: list, at: int) -> str:
    """Why the name at `at` may not stand like this, or an empty string."""
    name = found[at].text
    if name not in FORMAT_AT and name not in STREAM_AT:
        return ""
    parts = arguments(found, at)
    if parts is None:
        return f"{name}: call it by its name, with its arguments right behind it"
    for where, judge in ((FORMAT_AT, format_finding), (STREAM_AT, stream_finding)):
        if name in where:
            said = judge(name, parts[where[name]] if where[name] < len(parts) else [])
            if said:
                return said
    return ""


def unseen(found: list) -> list:
    """[(line, finding)] of what no checker of CUDA sees: structs behind an ellipsis, for which
    compilers place no hook, and arrays without a bound, whose index is not asked for."""
    packs = {b.text for a, b in zip(found, found[1:])  # of templates: their names stand behind ...
             if a.text == "..." and b.kind == IDENTIFIER}
    out = []
    for at, token in enumerate(found):
        near = [t.text for t in found[max(0, at - 1):at]] + [""]
        after = [t.text for t in found[at + 1:at + 3]] + ["", ""]
        if token.text == "..." and after[0] == ")" and not of_pack(found, at, packs):
            out.append((token.line, "...: name every parameter; what is given behind an ellipsis "
                                    "is seen by no checker"))
        if token.text == "[" and after[0] == "]" and after[1] not in ("(", "{") and (
                near[0] in (")", ">") or after[1] in (";", ">")) and not of_shared(found, at):
            out.append((token.line, "[]: write the bound between the brackets, so that an index "
                                    "can be checked"))
    return out


def declared_anew(found: list, given: list) -> list:
    """[(line, finding)] of an `extern` that says what a function or variable is: as a constant it
    has no hook, as a function of another type it writes where it is told. In two namespaces the
    same name may be declared as two things."""
    out, depth = [], 0
    for at, token in enumerate(found):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if token.text != "extern":
            continue
        names = outside_of_braces(itertools.islice(found, at + 1, None))
        texts = [t.text for t in names]
        if "__shared__" in texts:
            continue
        if depth or texts[1:2] == ["{"] or "namespace" in texts:
            out.append((token.line, "extern: in front of one declaration, outside of all braces"))
        out += [(name.line, f"{name.text}: it is declared in a header of ours or of the C library: "
                            "include that, and declare it nowhere else")
                for name in names if name.kind == IDENTIFIER
                and any(fnmatch.fnmatchcase(name.text, g) for g in given)]
    return out


def outside_of_braces(found) -> list:
    """The tokens up to a semicolon, with the braces that begin on the way, not what is in them."""
    depth, out = 0, []
    for token in found:
        if depth == 0 and token.text == ";":
            break
        if depth == 0:
            out.append(token)
        depth += {"{": 1, "}": -1}.get(token.text, 0)
    return out


def given_away(found: list, contracts: set) -> list:
    """[(line, finding)] of a given function that is not called: by an address it could be called as
    if it were of another type, and one that returns a struct writes it where its caller says."""
    return [(a.line, f"{a.text}: call it by its name, with its arguments right behind it")
            for a, b in itertools.zip_longest(found, found[1:])
            if a.text in contracts and (not b or b.text != "(")]


def of_pack(found: list, at: int, packs: set) -> bool:
    """Whether the dots at `at` stand behind what holds a template's pack, or in a fold."""
    before = [t.text for t in found[max(0, at - LOOKS_BACK):at]]
    last = max((k for k, text in enumerate(before) if text in (",", ";", "{", "}")), default=-1)
    return bool(before) and (before[-1] in OPERATORS or not packs.isdisjoint(before[last + 1:]))


def of_shared(found: list, at: int) -> bool:
    """extern __shared__ type name[]; its bytes are told at the launch."""
    before = [t.text for t in found[max(0, at - LOOKS_BACK):at]]
    last = max((k for k, text in enumerate(before) if text in (";", "{", "}")), default=-1)
    return "__shared__" in before[last + 1:]


def stream_finding(name: str, tokens: list) -> str:
    if len(tokens) == 1 and tokens[0].text in STREAMS:
        return ""
    return f"{name}: print to stdout or stderr, named in the call"
