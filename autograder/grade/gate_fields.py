"""gate_fields.py: bit-fields, which a .cu file may not have: at one that begins at a constant g++
places neither a hook nor a check of the constant's size (hostcuda/check/unhooked.awk has the rest).

Every colon has to be known for something else.
"""

from tokens import IDENTIFIER, NEWLINE

CLOSES = {")": "(", "]": "[", "}": "{"}
ACCESS = {"public", "private", "protected", "default"}
CLASSES = {"struct", "class", "union"}
BEGIN_A_CLASS = CLASSES | {"template", "typedef"}
BESIDE_A_FIELD = {"__attribute__", "__align__", "__launch_bounds__"}  # and their parentheses
SAID = "a bit-field: no checker sees how far it may reach; shift and mask, or use a whole number"


class Level:
    """What stands between two brackets."""

    def __init__(self, opens: str, at: int, of_enum: bool):
        self.opens, self.at, self.of_enum = opens, at, of_enum
        self.first = at + 1  # token of the statement
        self.questions, self.case = 0, False  # whose colon is still to come
        self.closed = None  # the last Level within that has ended; behind a stray bracket none has


def is_label(found: list, at: int, level: Level) -> bool:
    """name: where a statement begins; behind an enum goes on what has begun with it."""
    before = found[at - 2].text if at > 1 else ";"
    if before == "}":
        begins = level.closed is not None and not level.closed.of_enum
    else:
        begins = before in (";", "{", ":")
    return begins and found[at - 1].kind == IDENTIFIER


def is_of_class(found: list, at: int, level: Level) -> bool:
    """What a class is derived from, or the number that an enum is."""
    near = [t.text for t in found[max(0, at - 3):at]]
    return (near[-1] in (">", "enum") or near[-2:-1] == ["enum"] or near[:2] == ["enum", "class"]
            or found[level.first].text in BEGIN_A_CLASS)


def is_of_constructor(found: list, at: int, level: Level) -> bool:
    """Behind a constructor's parameters; those of an attribute can stand behind a field's name."""
    if found[at - 1].text == "noexcept":
        return True
    return (found[at - 1].text == ")" and level.closed is not None
            and found[level.closed.at - 1].text not in BESIDE_A_FIELD
            and found[level.closed.at + 1].text != "(")


def is_known(found: list, at: int, level: Level) -> bool:
    if level.opens in ("(", "["):
        return True  # no member is declared there: a for over a range, or a choice
    if level.questions:
        level.questions -= 1
        return True
    if level.case:
        level.case = False
        return True
    if found[at - 1].text in ACCESS:
        return True
    return any(judge(found, at, level) for judge in (is_label, is_of_class, is_of_constructor))


def findings(found: list) -> list:
    """[(line, finding)]"""
    found = [t for t in found if t.kind != NEWLINE]
    levels, out = [Level("{", -1, False)], []
    for at, token in enumerate(found):
        level, text = levels[-1], token.text
        if text in CLOSES.values():
            begun = {t.text for t in found[level.first:at]} if text == "{" else ()
            levels.append(Level(text, at, "enum" in begun))
        elif text in CLOSES and len(levels) > 1:
            levels.pop()
            levels[-1].closed = level
            if text == "}" and not level.of_enum:
                levels[-1].first = at + 1
        elif text == ";":
            level.first, level.questions = at + 1, 0
        elif text == "?":
            level.questions += 1
        elif text == "case":
            level.case = True
        elif text == ":" and at:
            if not is_known(found, at, level):
                out.append((token.line, SAID))
            elif found[at - 1].text in ACCESS:
                level.first = at + 1
    return out
