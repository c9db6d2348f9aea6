"""geometry.py: which elements of an image a convolution's or a pool's result is made of, drawn for
the worst element of a failure. Made of the call's line in grade.json; the rule is that of
tl/geometry.h: tap r of output row p stands at row p * stride - pad + r * dilation.
"""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from markup import tag

CELL = 20
MOST = 24  # rows and columns with their padding: what is larger is told, and not drawn
LARGEST = 10**5  # what a number in a call may be
CALL = re.compile(r"\bx\[\d+,\d+,(\d+),(\d+)\] (?:w\[\d+,\d+,(\d+),(\d+)\]|window (\d+),(\d+)) "
                  r"stride (\d+),(\d+) pad (\d+),(\d+)(?: dilation (\d+),(\d+))?")
WHERE = ("p", "q"), ("h", "w"), ("r", "s")  # rows and columns of a result, an image, a filter
OF_THE_RESULT = ("y", "argmax", "col")


@dataclass
class Side:
    """One direction: rows or columns."""
    size: int
    taps: int
    stride: int
    pad: int
    dilation: int

    def outputs(self) -> int:
        return (self.size + 2 * self.pad - self.dilation * (self.taps - 1) - 1) // self.stride + 1

    def at(self, output: int, tap: int) -> int:
        return output * self.stride - self.pad + tap * self.dilation

    def reaching(self, place: int) -> list:
        """[(output, tap)] that stand at this place of the image."""
        found = [divmod(place + self.pad - r * self.dilation, self.stride) + (r,)
                 for r in range(self.taps)]
        return [(p, r) for p, left, r in found if left == 0 and 0 <= p < self.outputs()]


def sides_of(call: str) -> tuple | None:
    """(rows, columns) of a call that has them; pooling has no dilation."""
    found = CALL.search(call)
    if not found:
        return None
    h, w, r, s, wr, ws, sh, sw, ph, pw, dh, dw = (int(n) if n else 0 for n in found.groups())
    sides = (Side(h, r or wr, sh, ph, dh or 1), Side(w, s or ws, sw, pw, dw or 1))
    good = all(0 < side.size < LARGEST and 0 < side.taps <= LARGEST and 0 < side.stride < LARGEST
               and side.pad < LARGEST and side.dilation < LARGEST and side.outputs() > 0
               for side in sides)
    return sides if good else None


@dataclass
class Places:
    """What the worst element has to do with, along rows and along columns."""
    image: tuple  # two lists of places of the image, padding among them
    result: tuple  # two lists of places of the result
    tap: tuple | None  # (r, s), where it is one tap alone
    text: str


def listed(numbers: list) -> str:
    shown = [str(n) for n in numbers[:12]]
    return ", ".join(shown) + (" …" if len(numbers) > 12 else "") if shown else "none"


def outside(side: Side, places: list) -> list:
    return [p for p in places if not 0 <= p < side.size]


def padding_said(sides: tuple, image: tuple) -> str:
    """Which of the places lie in the padding."""
    said = [f"{name} {listed(beyond)}" for name, side, places in zip(WHERE[1], sides, image)
            if (beyond := outside(side, places))]
    return f" (in the padding: {', '.join(said)})" if said else ""


def of_a_result(sides: tuple, at: tuple, tap: tuple | None, name: str) -> Places:
    image = tuple([side.at(o, t) for t in ([tap[i]] if tap else range(side.taps))]
                  for i, (side, o) in enumerate(zip(sides, at)))
    said = (f"{name} at p {at[0]}, q {at[1]} is made of h {listed(image[0])} and w "
            f"{listed(image[1])} of the image{padding_said(sides, image)}")
    return Places(image, ([at[0]], [at[1]]), tap, said)


def of_an_image(sides: tuple, at: tuple, name: str) -> Places:
    reaching = [side.reaching(place) for side, place in zip(sides, at)]
    result = tuple(sorted({p for p, _ in one}) for one in reaching)
    by = [", ".join(f"{o} {p} (by {t} {r})" for p, r in one[:8]) or "none"
          for o, t, one in zip(WHERE[0], WHERE[2], reaching)]
    return Places(([at[0]], [at[1]]), result, None,
                  f"{name} at h {at[0]}, w {at[1]} is part of the results at {by[0]}, with {by[1]}")


def of_a_tap(sides: tuple, tap: tuple, name: str) -> Places:
    result = tuple(list(range(side.outputs())) for side in sides)
    image = tuple([side.at(o, t) for o in places]
                  for side, places, t in zip(sides, result, tap))
    return Places(image, result, tap,
                  f"{name} at r {tap[0]}, s {tap[1]} is a sum over all results: with h "
                  f"{listed(image[0])} and w {listed(image[1])}{padding_said(sides, image)}")


def places_of(record: dict, sides: tuple) -> Places | None:
    """None for an element that is no place of image, result or filter, such as a bias."""
    name, index = record.get("array"), record.get("index")
    if not isinstance(index, list) or len(index) != 4 or not all(
            isinstance(i, int) and 0 <= i < LARGEST for i in index):
        return None
    rows, cols = sides
    last = (index[2], index[3])
    if name in OF_THE_RESULT and last[0] < rows.outputs() and last[1] < cols.outputs():
        row = index[0] % (rows.taps * cols.taps)
        tap = divmod(row, cols.taps) if name == "col" else None
        return of_a_result(sides, last, tap, name)
    if name == "dx" and last[0] < rows.size and last[1] < cols.size:
        return of_an_image(sides, last, name)
    if name == "dw" and last[0] < rows.taps and last[1] < cols.taps:
        return of_a_tap(sides, last, name)
    return None


# ---- drawing -------------------------------------------------------------------------------------

def grid(x: int, title: str, ranges: tuple, marked: tuple, inside: tuple, names: tuple) -> tuple:
    """(elements, width, height) of a grid of places; outside of `inside` is padding, dotted."""
    rows, cols = ranges
    top, left = 34, x + 26
    parts = [tag("text", title, x=x, y=12),
             tag("text", f"{names[0]}\\{names[1]}", x=x, y=30)]
    for j, col in enumerate(cols):
        parts.append(tag("text", str(col), x=left + j * CELL + CELL / 2, y=30,
                         **{"text-anchor": "middle"}))
    for i, row in enumerate(rows):
        y = top + i * CELL
        parts.append(tag("text", str(row), x=left - 4, y=y + 14, **{"text-anchor": "end"}))
        for j, col in enumerate(cols):
            here = row in marked[0] and col in marked[1]
            real = row in inside[0] and col in inside[1]
            dots = {} if real else {"stroke-dasharray": "2 2"}
            parts.append(tag("rect", x=left + j * CELL + 1, y=y + 1, width=CELL - 2,
                             height=CELL - 2, stroke="#000", fill="#333" if here else "#fff",
                             **dots))
            if here:
                parts.append(tag("text", "×", x=left + j * CELL + CELL / 2, y=y + 14, fill="#fff",
                                 **{"text-anchor": "middle"}))
    return parts, left - x + len(cols) * CELL, top + len(rows) * CELL


def about(sides: tuple) -> str:
    rows, cols = sides
    return (f"A filter of {rows.taps} by {cols.taps} with stride {rows.stride},{cols.stride}, pad "
            f"{rows.pad},{cols.pad} and dilation {rows.dilation},{cols.dilation} on an image of "
            f"{rows.size} by {cols.size} gives {rows.outputs()} by {cols.outputs()} results.")


def drawn(sides: tuple, places: Places, said: str) -> ElementTree.Element:
    padded = tuple(range(-s.pad, s.size + s.pad) for s in sides)
    image = tuple(range(s.size) for s in sides)
    result = tuple(range(s.outputs()) for s in sides)
    parts, width, height = grid(0, "image", padded, places.image, image, WHERE[1])
    more, wide, high = grid(width + 30, "result", result, places.result, result, WHERE[0])
    width, height = width + 30 + wide + 2, max(height, high) + 2
    return tag("svg", tag("title", "geometry"), *parts, *more, role="img", width=width,
               height=height, viewBox=f"0 0 {width} {height}", **{"aria-label": said})


def figure(record: dict) -> ElementTree.Element | None:
    """The geometry of a call and what the worst element is made of, as a picture and in words."""
    sides = sides_of(record["call"]) if isinstance(record.get("call"), str) else None
    if not sides:
        return None
    places = places_of(record, sides)
    said = about(sides) + (f" The worst: {places.text}." if places else "")
    legend = " Marked (×): what the worst has to do with; dotted: padding."
    if not places or any(s.size + 2 * s.pad > MOST or s.outputs() > MOST for s in sides):
        return tag("figure", tag("figcaption", said))
    return tag("figure", drawn(sides, places, said), tag("figcaption", said + legend))
