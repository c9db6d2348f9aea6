"""operations.py: the rows of tl/ops.def, as they stand there."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPS_DEF = ROOT / "tl/include/tl/ops.def"


@dataclass(frozen=True)
class Operation:
    name: str
    group: str  # OP, OP_DATA, OP_CUDA or OP_FUSED
    lab: int  # -1: given code
    flop: str
    arguments: tuple  # of tuples: ("IN", "tl_real", "x", "n")


# up to three pairs of parentheses within one another
NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"


def split(text: str) -> list:
    """At the commas outside of parentheses, white space folded."""
    return [" ".join(part.split()) for part in re.findall(rf"(?:[^,()]|{NESTED})+", text)]


def read(path: Path = OPS_DEF) -> list:
    """All operations, in order."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = []
    for group, row in re.findall(r"^(OP\w*)\((.*?)\)$(?=\s*(?:^OP|^#|\Z))", text, re.M | re.DOTALL):
        name, lab, flop, *arguments = split(row)
        kinds = tuple(tuple(split(argument[1:-1])) for argument in arguments)
        rows.append(Operation(name, group, int(lab), flop, kinds))
    return rows
