"""best.py: the counts of the best version of each kernel so far, in labs/labN/best.json beside the
file that had them. It is the student's own: no grade reads it, and it goes along with nothing.
"""

import hashlib
import json
import math
import re
from pathlib import Path

import judge
import skeletons

SCHEMA = "gradlab-best/1"
DAY = re.compile(r"\d{4}-\d\d-\d\dT")
NAMES = {"sectors": "sectors", "bank_conflicts": "conflicts of banks",
         "shared_requests": "requests to shared memory"}  # fmt: skip


def counted(document: dict) -> dict:
    """task -> counts of its kernel, where it was counted and is right (judge.py)."""
    found = {}
    for claim in document["claims"]:
        if claim.get("counted"):
            found.setdefault(claim["task"], claim["counted"])
    return found


def order(counts: dict) -> tuple:
    """Fewer sectors are better; of as many, fewer conflicts; then fewer requests. What an older
    version did not count is behind whatever is counted."""
    return tuple(counts.get(name, math.inf) for name in judge.COSTS)


def shown(counts: dict) -> str:
    parts = [f"{counts[name]} {NAMES[name]}" for name in judge.COSTS if name in counts]
    return " and ".join(", ".join(parts).rsplit(", ", 1))


def read(path: Path) -> dict:
    """task -> its best; raises ValueError where the file is not as it was written."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["schema"] != SCHEMA:
            raise ValueError(kept["schema"])
        for best in kept["best"].values():
            if not DAY.match(best["time"]) or not all(
                    type(best[name]) is int for name in judge.COSTS if name in best):
                raise ValueError(best)
        return kept["best"]
    except FileNotFoundError:
        return {}
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(error) from None


def compared(task: str, now: dict, before: dict | None) -> str:
    said = f"{task}: {shown(now)}"
    if before is None:
        return f"{said}, the first that are kept"
    day = before["time"][:10]
    if order(now) == order(before):
        return f"{said}, as your best of {day}"
    if order(now) < order(before):
        return f"{said}: your best; before that {shown(before)}, {day}"
    return f"{said}; your best had {shown(before)}, {day}"


def told(document: dict, labs: Path) -> list:
    """A line for each kernel that was counted; what is better than the best is kept."""
    now, folder = counted(document), labs / f"lab{document['lab']}"
    path, lines = folder / "best.json", []
    if not now:
        return []
    try:
        best = read(path)
    except (OSError, ValueError):
        best, lines = {}, [f"{path} cannot be read: your best begins anew"]
    lines += [compared(task, counts, best.get(task)) for task, counts in now.items()]
    better = {task: counts | {"time": document["time"], "sha256": digest(folder / f"{task}.cu")}
              for task, counts in now.items()
              if task not in best or order(counts) < order(best[task])}
    if better:
        kept = {"schema": SCHEMA, "best": best | better}
        try:
            skeletons.replace(path, (json.dumps(kept, indent=1) + "\n").encode())
        except OSError as error:
            lines.append(f"{path} cannot be written: {error.strerror}")
    return lines


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
