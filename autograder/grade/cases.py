"""cases.py: a student's own cases, labs/labN/cases.toml: read, checked, and written down for the
grader's program (autograder/claim/cases.h), which tries them with broken versions of the solution.

    case = [
        { call = "im2col", seed = 1, n = 1, c = 2, h = 5, w = 7, r = 3, s = 2 },
    ]

They are data: a call of the lab's list (lab.toml), its numbers, and the seed of its inputs.
Nobody's code is run here, and what a file may cost is bounded by its length, by the number of cases
and by the list.
"""

from pathlib import Path

import table
import text

MOST_CASES, MOST_BYTES = 12, 16_384  # as autograder/claim/cases.c
MOST_SEED = 2**32 - 1


class Unusable(Exception):
    """What is wrong with the file, in one line; `kind` is one of failure_kinds.KINDS."""

    def __init__(self, said: str, kind: str = "no_cases"):
        super().__init__(said)
        self.kind = kind


def shown(value) -> str:
    return text.visible(repr(value), 60)


def number_of(where: str, name: str, value, bounds: tuple):
    """The number, if it is one, and within its bounds."""
    low, high, usual = bounds
    if value is None and usual is None:
        raise Unusable(f"{where}: {name} is missing: a whole number from {low} to {high}")
    if value is None:
        return usual
    whole = isinstance(low, int) and isinstance(high, int)
    right = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not right or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise Unusable(f"{where}: {name} = {shown(value)}: {kind} from {low} to {high} is needed")
    return value


def line_of(where: str, case, known: table.Cases) -> str:
    """case KIND SEED NUMBER…"""
    if not isinstance(case, dict):
        raise Unusable(f"{where}: {shown(case)} is no table: {{ call = …, seed = 1, … }}")
    call = case.get("call")
    if not isinstance(call, str) or call not in known.calls:
        said = "call is missing" if call is None else f"call = {shown(call)}: there is none"
        raise Unusable(f"{where}: {said}; one of {', '.join(known.calls)} is needed")
    where, names = f"{where}, {call}", known.calls[call]
    for key in case:
        if key not in ("call", "seed", *names):
            raise Unusable(f"{where}: {shown(key)} is no number of it; it has seed, "
                           f"{', '.join(names)}")
    seed = number_of(where, "seed", case.get("seed"), (0, MOST_SEED, 1))
    numbers = [number_of(where, name, case.get(name), bounds) if name in names else
               bounds[0] if bounds[2] is None else bounds[2]
               for name, bounds in known.numbers.items()]  # fmt: skip
    return " ".join(["case", call, str(seed), *map(str, numbers)])


def lines_of(name: str, data: bytes, known: table.Cases) -> list:
    """What the grader's program reads of a file with this content."""
    if len(data) > MOST_BYTES:
        raise Unusable(f"{name}: {len(data)} bytes, and {MOST_BYTES} are the most")
    try:
        top = table.tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # a mistake of TOML or UTF-8 is a ValueError
        said = text.visible(str(error), 200) or "nested too deeply"
        raise Unusable(f"{name} cannot be read as TOML: {said}; is there a comma behind each "
                       "number and each case?") from None
    if others := [key for key in top if key != "case"]:
        raise Unusable(f"{name}: {shown(others[0])}: nothing but `case = [ … ]` is read here")
    cases = top.get("case", [])
    if not isinstance(cases, list):
        raise Unusable(f"{name}: case = {shown(cases)}: a list is needed, case = [ {{ … }}, ]")
    if not cases:
        raise Unusable(f"{name} has no case yet", "not_implemented")
    if len(cases) > MOST_CASES:
        raise Unusable(f"{name}: {len(cases)} cases, and {MOST_CASES} are the most: choose numbers "
                       "in which several mistakes show")
    return [*(f"version {task}" for task in known.versions),
            *(line_of(f"{name}: case {i}", case, known) for i, case in enumerate(cases, 1))]


def write(labs: Path, lab: int, task: table.Task, to: Path) -> None:
    """Writes the list down; Unusable says why there is none."""
    path = labs / f"lab{lab}" / task.file("c")
    try:
        data = path.read_bytes()
    except OSError:
        raise Unusable(f"labs/lab{lab}/{path.name} is missing: make restore LAB={lab} "
                       f"T={task.name} puts the empty one back", "missing") from None
    to.write_text("\n".join([*lines_of(path.name, data, task.cases), ""]))
