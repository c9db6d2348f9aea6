"""board.py: board.csv and board.html: what the class's kernels cost where it is counted (judge.py),
the fewest sectors first. Made of the attempts that count. It gives no points, and names nobody
unless it is asked to: who knows the own counts finds the own line.
"""

from dataclasses import dataclass
from pathlib import Path

import best
import judge
import ledger
import options
import points
import sinks
from feedback import page, tag

COLUMNS = ("lab", "kernel", "place", *judge.COSTS)
NAMES = "names"  # BOARD=names
ABOUT = ("Sectors of global memory that each right kernel fetches and writes at the shape that its "
         "lab counts, as hostcuda counts them; of as many, fewer conflicts of banks come first, "
         "then fewer requests to shared memory. No points depend on it.")


@dataclass
class Line:
    lab: int
    kernel: str
    place: int
    counts: dict
    who: list  # ids: a group shares a line


def lines_of(rows: list) -> list:
    """By lab and kernel, the best first; equals share a place."""
    found = {}
    for row in rows:
        for kernel, counts in best.counted(row.entry.document).items() \
                if row.status == points.GRADED else ():
            mine = found.setdefault((row.lab, kernel), {})
            mine.setdefault(row.entry.folder, (counts, []))[1].append(row.student.id)
    lines = []
    for (lab, kernel), kernels in sorted(found.items()):
        order = sorted(best.order(counts) for counts, _ in kernels.values())
        lines += sorted((Line(lab, kernel, 1 + order.index(best.order(counts)), counts, who)
                         for counts, who in kernels.values()), key=lambda line: line.place)
    return lines


def cells(line: Line, names: bool) -> list:
    counts = [line.counts.get(name, "") for name in judge.COSTS]
    return [line.lab, line.kernel, line.place, *counts, *[" ".join(sorted(line.who))] * names]


def csv(lines: list, names: bool) -> str:
    head = [*COLUMNS, *["id"] * names]
    return "".join(map(sinks.csv_line, [head, *(cells(line, names) for line in lines)]))


def html(lines: list, names: bool) -> str:
    inside = [tag("h1", "The board"), tag("p", ABOUT)]
    for lab, kernel in dict.fromkeys((line.lab, line.kernel) for line in lines):
        mine = [line for line in lines if (line.lab, line.kernel) == (lab, kernel)]
        heads = ["place", *(best.NAMES[name] for name in judge.COSTS), *["id"] * names]
        rows = [tag("tr", *(tag("td", str(cell), class_="n") for cell in cells(line, names)[2:]))
                for line in mine]
        inside += [tag("h2", f"Lab {lab}, {kernel}"),
                   tag("table", tag("tr", *(tag("th", head, class_="n") for head in heads)), *rows)]
    return page("The board", *inside)


def asked(given: str) -> bool:
    """Whether it shall name them."""
    if given not in ("", NAMES):
        raise options.OptionError(f"BOARD={given}: {NAMES} is needed, or nothing: then it has none")
    return bool(given)


def update(out: Path, rows: list, names: bool = False) -> list:
    """Writes both, or takes them away where nothing is counted; returns the lines."""
    lines = lines_of(rows)
    for name, content in (("board.csv", csv), ("board.html", html)):
        if lines:
            ledger.write(out / name, content(lines, names))
        else:
            (out / name).unlink(missing_ok=True)
    return lines
