"""pictures.py: the numbers around the worst element of a failure as SVG: what came out, what was
expected, and how far apart they are. Made from grade.json alone.

Light and dark carry the values, strokes say what is wrong, and a text beside each picture says the
same: nothing hangs on a colour.
"""

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import failure_patterns
import text
from markup import tag

CELL_W, CELL_H, LABEL = 54, 22, 26  # of a number, and of what stands at rows and columns
MOST = 16  # rows and columns, as the grader's WINDOW
STYLE = """
svg { background: #fff; color: #000; max-width: 100%; height: auto; font: 10px ui-monospace,
      monospace } figure { margin: .7rem 0 } figcaption { font-size: .9rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem } dd { margin: 0;
      min-width: 0 } dt { font-weight: bold } section { border-top: 2px solid; margin-top: 2rem }
.wide { overflow-x: auto } td.wrong { font-weight: bold; text-decoration: underline }
"""


@dataclass
class Window:
    """A part of an array's plane, of which the worst element is in `worst`, by row and column."""
    got: list
    want: list
    wrong: list  # of lists of bool
    row: int
    col: int
    worst: tuple
    axes: tuple  # what the rows' and the columns' numbers are called
    plane: str  # y of shape [2,4,3,6], at n 0, k 3: where it is cut from
    unwritten: bool  # NaN stands for what was never written


def a_number(value) -> float:
    """As the grader writes it: a number, or the word for one that JSON lacks."""
    known = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return known[value]
    return float(value)


class Malformed(ValueError):
    """A window is there, and is not as the grader writes it; says what of it is not."""


def matrix_of(window: dict, name: str, value) -> list:
    try:
        return [[value(v) for v in line] for line in window[name]]
    except (KeyError, TypeError, OverflowError):
        raise Malformed(f"{name} holds what is no number") from None


def place_and_names(record: dict, window: dict) -> tuple:
    """(first row, first column, the whole index, names of the axes, the plane it is cut from)"""
    try:
        row, col = int(window["row"]), int(window["col"])
        index = [int(i) for i in record["index"]]
        shape = ",".join(str(int(s)) for s in record["shape"])
        axes = [text.visible(str(a), 12) for a in failure_patterns.axes_of(
            str(record.get("array", "")), len(index), record.get("axes"))]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Malformed("its place in the array is no row of whole numbers") from None
    if not index or len(axes) != len(index):
        raise Malformed(f"{len(index)} numbers name the place of the worst element, and "
                        f"{len(axes)} axes")
    name = text.visible(str(record.get("array", "result")), 40) + f"[{shape}]"
    fixed = ", ".join(f"{a} {i}" for a, i in zip(axes, index[:-2]))
    return row, col, index, axes, f"{name} at {fixed}" if fixed else name


def window_of(record: dict) -> Window | None:
    """None where there is none; Malformed where it is not as the grader writes it."""
    w = record.get("window")
    if w is None:
        return None
    if not isinstance(w, dict):
        raise Malformed("it is no table of rows")
    for name in ("got", "want", "wrong", "row", "col"):
        if name not in w:
            raise Malformed(f"{name} is missing")
    got, want = (matrix_of(w, name, a_number) for name in ("got", "want"))
    wrong = matrix_of(w, "wrong", lambda c: c == "#")
    row, col, index, axes, plane = place_and_names(record, w)
    rows, cols = len(got), len(got[0]) if got else 0
    for name, matrix in (("got", got), ("want", want), ("wrong", wrong)):
        if len(matrix) != rows or any(len(line) != cols for line in matrix):
            raise Malformed(f"{name} is not {rows} by {cols}, as got begins")
    if rows > MOST or cols > MOST:
        raise Malformed(f"it is {rows} by {cols}, and at most {MOST} by {MOST} are drawn")
    at = (index[-2] if len(index) > 1 else 0, index[-1])
    if not (row <= at[0] < row + rows and col <= at[1] < col + cols):
        raise Malformed(f"the worst element, at {at[0]}, {at[1]}, lies outside of it")
    return Window(got, want, wrong, row, col, at, (axes[-2] if len(axes) > 1 else "", axes[-1]),
                  plane, record.get("kind") == "never_written")


# ---- numbers -------------------------------------------------------------------------------------

def short(value: float, unwritten: bool = False) -> str:
    """Of at most seven letters, which a cell holds."""
    if math.isnan(value):
        return "–" if unwritten else "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    for digits in (4, 3, 2, 1):
        shown = f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
        if len(shown) <= 7:
            return shown
    return shown


def span(matrix: list) -> tuple:
    """Smallest and largest of what is finite."""
    finite = [v for line in matrix for v in line if math.isfinite(v)]
    return (min(finite), max(finite)) if finite else (0.0, 0.0)


def differences(w: Window) -> list:
    """got - expected; what is equal differs by nothing, infinities and NaN too."""
    def one(got: float, want: float) -> float:
        return 0.0 if got == want or (math.isnan(got) and math.isnan(want)) else got - want
    return [[one(g, e) for g, e in zip(*lines)] for lines in zip(w.got, w.want)]


# ---- pictures ------------------------------------------------------------------------------------

def grey(share: float) -> int:
    """0: white, 1: dark; light enough for strokes to be seen on it."""
    return round(255 - 190 * min(max(share, 0.0), 1.0))


def cell(x: int, y: int, value: float, share: float | None, w: Window, at: tuple) -> list:
    """A number on its shade (share None: it has none). Wrong: a cut corner; the worst: a frame."""
    level = 255 if share is None else grey(share)
    ink = "#000" if level > 140 else "#fff"
    made = [tag("rect", x=x, y=y, width=CELL_W, height=CELL_H, stroke="#888",
                fill=f"rgb({level},{level},{level})"),
            tag("text", short(value, w.unwritten), x=x + CELL_W / 2, y=y + 15, fill=ink,
                **{"text-anchor": "middle"})]
    if w.wrong[at[0]][at[1]]:
        right = x + CELL_W
        made.append(tag("path", d=f"M{right - 9} {y}H{right}V{y + 9}Z", fill=ink))
    if (at[0] + w.row, at[1] + w.col) == w.worst:
        for inset, colour, width in ((1.5, "#000", 3), (3.5, "#fff", 1)):
            made.append(tag("rect", x=x + inset, y=y + inset, width=CELL_W - 2 * inset,
                            height=CELL_H - 2 * inset, fill="none", stroke=colour,
                            **{"stroke-width": width}))
    return made


def labels(w: Window, rows: int, cols: int) -> list:
    """The numbers of rows and columns, and what they are called."""
    one_row = not w.axes[0]
    top = [tag("text", str(w.col + j), x=LABEL + j * CELL_W + CELL_W / 2, y=LABEL - 5,
               **{"text-anchor": "middle"}) for j in range(cols)]
    side = [] if one_row else [
        tag("text", str(w.row + i), x=LABEL - 4, y=LABEL + i * CELL_H + 15,
            **{"text-anchor": "end"}) for i in range(rows)]
    corner = tag("text", f"{w.axes[0]}\\{w.axes[1]}" if not one_row else w.axes[1], x=1, y=10)
    return [corner, *top, *side]


def picture(w: Window, name: str, matrix: list, share) -> ElementTree.Element:
    """One of the three, with its text. `share`: how dark a value is, or None."""
    rows, cols = len(matrix), len(matrix[0])
    least, most = span(matrix)
    worst = matrix[w.worst[0] - w.row][w.worst[1] - w.col]
    said = (f"{name}: from {short(least)} to {short(most)}; at the worst place, {place(w)}, "
            f"{short(worst, w.unwritten)}")
    width, height = LABEL + cols * CELL_W + 2, LABEL + rows * CELL_H + 2
    svg = tag("svg", tag("title", name), *labels(w, rows, cols), role="img", width=width,
              height=height, viewBox=f"0 0 {width} {height}", **{"aria-label": said})
    for i, line in enumerate(matrix):
        for j, value in enumerate(line):
            at = LABEL + j * CELL_W, LABEL + i * CELL_H
            svg.extend(cell(*at, value, share(value), w, (i, j)))
    return tag("figure", svg, tag("figcaption", said))


def place(w: Window) -> str:
    row = f"{w.axes[0]} {w.worst[0]}, " if w.axes[0] else ""
    return f"{row}{w.axes[1]} {w.worst[1]}"


def scale(low: float, high: float, of=float):
    """How dark: from nothing at `low` to 1 at `high`."""
    return lambda v: (of(v) - low) / (high - low) if math.isfinite(v) and high > low else None


def maps(w: Window) -> list:
    """got, expected, and how far apart they are."""
    apart = differences(w)
    by_value = scale(*span(w.want))
    by_size = scale(0.0, span([[abs(v) for v in line] for line in apart])[1], abs)
    wrong, shown = sum(map(sum, w.wrong)), len(w.got) * len(w.got[0])
    legend = (f"{w.plane}: {wrong} of the {shown} elements shown are wrong. The darker, the "
              "larger; a cut corner: wrong; a double frame: the worst"
              + ("; –: never written." if w.unwritten else "."))
    return [tag("p", legend), picture(w, "got", w.got, by_value),
            picture(w, "expected", w.want, by_value),
            picture(w, "got - expected", apart, by_size), in_numbers(w)]


def in_numbers(w: Window) -> ElementTree.Element:
    """The same as a table: what is right once, what is wrong with what was expected."""
    head = tag("tr", tag("th", "\\".join(filter(None, w.axes))), *(
        tag("th", str(w.col + j), scope="col") for j in range(len(w.got[0]))))
    lines = []
    for i, (got, want) in enumerate(zip(w.got, w.want)):
        cells = [tag("td", f"got {short(g, w.unwritten)}, expected {short(e)}", class_="wrong")
                 if bad else tag("td", short(e)) for g, e, bad in zip(got, want, w.wrong[i])]
        lines.append(tag("tr", tag("th", str(w.row + i), scope="row"), *cells))
    return tag("details", tag("summary", "the same in numbers"),
               tag("div", tag("table", head, *lines), class_="wide"))
