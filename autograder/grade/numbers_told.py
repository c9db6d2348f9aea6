"""numbers_told.py: what a record's numbers tell beside its patterns. Above all: which number of the
call a constant factor is, and so what was left out, or taken twice.
"""

import re

import blas_said
import words

# name -> where the words of a call have the number
CALLED = {
    "rows": re.compile(r"\b(?:prob|logits)\[(\d+),"),
    "dloss": re.compile(r"\bdloss ([.\de+-]+)"),
}
FIRST_STEP = re.compile(r"\A\w+_step 0 of ")  # of an optimiser: its state is still zeros
LIMITS = ("n", "k", "rows", "cols", "the longer side")  # sizes that claims tell of their cases
APART = 6  # sectors of a request: of floats side by side a warp has 4, of doubles 8
FEATURES = {"first_step", "last_digits", "other_flag", "ratio=1/2", "apart",
            *(f"beyond={name}" for name in LIMITS),
            *(f"ratio={over}{name}" for name in CALLED for over in ("", "1/"))}
NEAR = 1e-3


def features(record: dict) -> set:
    found = of_ratio(record)
    if words.last_digits(record):
        found.add("last_digits")
    if blas_said.takes_other_flag(record):
        found.add("other_flag")
    if FIRST_STEP.search(record.get("call", "")):
        found.add("first_step")
    counters = record.get("counters") or {}
    if record["kind"] == "sectors" and counters.get("requests", 0) > 0:
        found |= {"apart"} if counters["sectors"] > APART * counters["requests"] else set()
    if limit := record.get("limit"):
        found.add(f"beyond={limit['name']}")
    return found


def of_ratio(record: dict) -> set:
    """{"ratio=1/dloss"}: the factor is 1 over the call's dloss. (Where that is 1 it tells nothing.)
    """
    ratio, found = record.get("ratio"), set()
    if not isinstance(ratio, (int, float)) or ratio <= 0:
        return found
    if abs(ratio - 1 / 2) < NEAR:
        found.add("ratio=1/2")
    for name, place in CALLED.items():
        said = place.search(record.get("call", ""))
        value = float(said[1]) if said else 1
        if value <= 0 or abs(value - 1) < NEAR:
            continue
        if abs(ratio / value - 1) < NEAR:
            found.add(f"ratio={name}")
        if abs(ratio * value - 1) < NEAR:
            found.add(f"ratio=1/{name}")
    return found
