"""bounds.py: how far a float sum may be from the truth, as the labs' claims judge it.

The formula of autograder/claim/bound.c, with the constants of bound.def beside it; test_bounds.py
holds the two together.
"""

import math
import os
import re

_FILE = os.path.join(os.path.dirname(__file__), "..", "autograder", "claim", "bound.def")
FLOAT, DOUBLE = 2.0**-24, 2.0**-53  # unit roundoffs


def _constants():
    with open(_FILE, encoding="utf-8") as file:
        found = re.findall(r"BOUND\((\w+), (\d+)\)", file.read())
    return {name: int(value) for name, value in found}


_C = _constants()


def _gamma(terms, unit):
    return terms * unit / (1 - terms * unit)


def factor(terms, unit=FLOAT):
    """Allowed error of a sum of that many products over the sum of their absolute values, if what
    is right was computed in double. Beyond FLOAT_TERMS no claim judges floats: an error above it is
    one all the same, though not every wrong result is above it."""
    if terms <= _C["EXACT_TERMS"]:
        own = _gamma(float(terms) + _C["GRANTED"], unit)
    else:
        own = _C["ROOT"] * math.sqrt(terms) * unit
    return own + _gamma(float(terms) + _C["GRANTED"], DOUBLE)
