"""lateness.py: what it costs to hand in late, by policy.toml or lines of POLICY=file.

A submission is as late as it came after DUE and the student's extension; each begun day is a day.
Late days of an allowance for the whole term pay for it first. What they do not pay for is refused,
or, where `percent_per_day` says so, costs that share of the points.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from skeletons import Refused
from table import tomllib

DEFAULT = Path(__file__).with_name("policy.toml")


@dataclass(frozen=True)
class Policy:
    attempt: str  # last, best
    allowance: int
    most_per_lab: int
    percent_per_day: int
    grace_minutes: int


@dataclass(frozen=True)
class Verdict:
    """Of one submission: days late, how many of them the allowance pays, and what is left of the
    points in percent; 0 is a refusal."""

    days: int
    paid: int
    percent: int


def read(path: Path | None, attempt: str = "", before: dict | None = None) -> Policy:
    """`before`: what the lab has had until now, in place of ours."""
    known = tomllib.loads(DEFAULT.read_text(encoding="utf-8")) | (before or {})
    if path:
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Refused(f"POLICY={path}: {error}") from None
        for name, value in given.items():
            if name not in known or type(value) is not type(known[name]):
                raise Refused(f"POLICY={path}: {name} = {value!r}: it takes {', '.join(known)}, as "
                              f"in {DEFAULT.name}")
        known |= given
    known |= {"attempt": attempt} if attempt else {}
    if known["attempt"] not in ("last", "best"):
        raise Refused(f"ATTEMPT={known['attempt']}: last or best is needed")
    for name, value in known.items():
        if name != "attempt" and not 0 <= value <= 10_000:
            raise Refused(f"POLICY={path}: {name} = {value}: a whole number from 0 is needed")
    return Policy(**known)


def days_late(came: datetime | None, due: datetime | None, extension: float,
              policy: Policy) -> int:
    """0 where either time is not known: a course that gives no DUE has no late work."""
    if came is None or due is None:
        return 0
    over = came - due - timedelta(days=extension)
    if over <= timedelta(minutes=policy.grace_minutes):
        return 0
    return math.ceil(over / timedelta(days=1))


def judge(days: int, left: int, policy: Policy) -> Verdict:
    """`left` is what the student still has of the allowance."""
    paid = min(days, left, policy.most_per_lab)
    unpaid = days - paid
    if not unpaid:
        return Verdict(days, paid, 100)
    percent = max(0, 100 - unpaid * policy.percent_per_day) if policy.percent_per_day else 0
    return Verdict(days, paid if percent else 0, percent)


def share(points: int, percent: int) -> int:
    """Whole points, halves up."""
    return (points * percent + 50) // 100
