"""How a number is written: the one rule of the report for units, digits and spread.

  time, rate, ratio   three significant digits, trailing zeros kept; a column has one unit
  accuracy            per cent with two decimals: 0.01 % is one image of a test set of 10,000
  loss                four decimals, as the programs print it
  count               all of its digits
  spread              what was in the middle half of the samples: 1.23 (1.20-1.31);
                      over seeds the mean, smallest and largest: 64.10 (63.80-64.50)
  no number           a dash; `null` in results, which stands for NaN and infinity

A Value keeps the number that it was made from, so that the text can be held against it.
"""

import math
import statistics
from dataclasses import dataclass, field

DASH = "\u2013"
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


@dataclass
class Value:
    """Text as it will stand on the page, and the numbers it was made from, with their source."""

    text: str
    raw: list = field(default_factory=list)  # in the order in which they appear in the text
    scale: float = 1.0  # raw / scale is what the text shows
    source: str = ""  # "results/x.jsonl:3 ours.median"


def significant(x, digits=3):
    """x with so many significant digits, without an exponent: 0.02694 -> 0.0269, 5912 -> 5910."""
    if x is None or not math.isfinite(x):
        return DASH
    if x == 0:
        return "0"
    # rounding first: 9.996 has three digits before it is looked at, and 10.0 after
    rounded = float(f"{x:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def fixed(x, decimals):
    return DASH if x is None or not math.isfinite(x) else f"{x:.{decimals}f}"


def time_unit(seconds):
    """(scale, name) that suits the smallest time of a column, so that none needs many zeros."""
    smallest = min((abs(s) for s in seconds if s), default=1.0)
    return next((unit for unit in _TIMES if smallest >= unit[0]), _TIMES[-1])


def quantity(x, scale=1.0, source=""):
    """A time, a rate, a size or a ratio."""
    return Value(significant(None if x is None else x / scale), [x], scale, source)


def count(n, source=""):
    return Value(DASH if n is None else str(int(n)), [n], 1.0, source)


def percent(fraction, source=""):
    return Value(fixed(None if fraction is None else 100 * fraction, 2), [fraction], 0.01, source)


def change(fraction, source=""):
    """Of an accuracy, in per cent of all images, with its sign."""
    text = DASH if fraction is None else f"{100 * fraction:+.2f}"
    return Value(text, [fraction], 0.01, source)


def loss(x, source=""):
    return Value(fixed(x, 4), [x], 1.0, source)


def _same_place(numbers, middle, text):
    """The numbers rounded where `middle` was: 5910 (5600-6020), 1.23 (1.20-1.31)."""
    decimals = len(text.partition(".")[2])
    if not decimals and middle >= 1000:
        decimals = 2 - math.floor(math.log10(float(f"{middle:.2e}")))
    return [fixed(round(n, decimals), max(decimals, 0)) for n in numbers]


def spread(figures, scale=1.0, source=""):
    """Median and quartiles of a timing: {"median", "quartiles", …} as the programs write it."""
    if not figures or figures.get("median") is None:
        return Value(DASH, [None], scale, source)
    middle = figures["median"] / scale
    text = significant(middle)
    low, high = _same_place([q / scale for q in figures["quartiles"]], middle, text)
    raw = [figures["median"], *figures["quartiles"]]
    return Value(f"{text} ({low}{DASH}{high})", raw, scale, source)


def total(numbers):
    """Their sum; None if one of them is not known."""
    return None if any(n is None for n in numbers) else sum(numbers)


def over_seeds(numbers, kind, source=""):
    """Mean of several runs with the smallest and the largest; one run stands for itself."""
    if not numbers or any(n is None for n in numbers):
        return Value(DASH, [None], 1.0, source)
    scale = 0.01 if kind == "percent" else 1.0
    mean, low, high = statistics.fmean(numbers), min(numbers), max(numbers)
    if kind == "percent":
        text = fixed(mean / scale, 2)
    elif kind == "loss":
        text = fixed(mean, 4)
    else:
        text = significant(mean)
    if len(numbers) == 1:
        return Value(text, [mean], scale, source)
    a, b = _same_place([low / scale, high / scale], mean / scale, text)
    return Value(f"{text} ({a}{DASH}{b})", [mean, low, high], scale, source)
