"""ratios.py: which number of the call a constant factor is, or 1/2. The factor between what was
computed and what should have been tells what was left out, or taken twice, where the call names
that number.
"""

import re

# name -> where the words of a call have the number
CALLED = {
    "N": re.compile(r"\bx\[(\d+),\d+,\d+,\d+\]"),
    "rows": re.compile(r"\b(?:prob|logits)\[(\d+),"),
    "dloss": re.compile(r"\bdloss ([.\de+-]+)"),
}
HALF = "ratio=1/2"
FEATURES = {f"ratio={over}{name}" for name in CALLED for over in ("", "1/")} | {HALF}
NEAR = 1e-3


def features(record: dict) -> set:
    """{"ratio=1/dloss"}: the factor is 1 over the call's dloss. (Where that is 1 it tells nothing.)
    """
    ratio, found = record.get("ratio"), set()
    if not isinstance(ratio, (int, float)) or ratio <= 0:
        return found
    if abs(ratio - 1 / 2) < NEAR:
        found.add(HALF)
    for name, words in CALLED.items():
        said = words.search(record.get("call", ""))
        value = float(said[1]) if said else 1
        if value <= 0 or abs(value - 1) < NEAR:
            continue
        if abs(ratio / value - 1) < NEAR:
            found.add(f"ratio={name}")
        if abs(ratio * value - 1) < NEAR:
            found.add(f"ratio=1/{name}")
    return found
