"""Contrast of at least 4.5 to 1 (WCAG 2.2, 1.4.3) of what this repository colours itself: words in
the handouts' figures, by what is drawn behind them, and the site's dark colours. (Figures lie on
white, in the dark, too: site/style/site.css.)
"""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
FIGURES = sorted((ROOT / "labs").glob("*/*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
SITE = (ROOT / "site/style/site.css").read_text()
LOWEST = 4.5


def channels(colour: str) -> list:
    """#rgb, #rrggbb or #rrggbbaa -> red, green, blue (and opacity), 0 to 1"""
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    return [int(digits[i:i + 2], 16) / 255 for i in range(0, len(digits), 2)]


def luminance(rgb: list) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(front: str, behind: str) -> float:
    back = channels(behind)[:3]
    *rgb, opacity = (*channels(front), 1)[:4]
    seen = [c * opacity + b * (1 - opacity) for c, b in zip(rgb, back)]
    dark, light = sorted((luminance(seen), luminance(back)))
    return (light + 0.05) / (dark + 0.05)


def drawn(svg: ElementTree.Element) -> list:
    """(element, its fill), in the order of drawing, without what <defs> holds"""
    found = []

    def walk(element: ElementTree.Element, fill: str) -> None:
        fill = element.get("fill", fill)
        found.append((element, fill))
        for child in element:
            if child.tag != f"{SVG}defs":
                walk(child, fill)

    walk(svg, "#000")
    return found


def covers(shape: ElementTree.Element, x: float, y: float) -> bool:
    number = {key: float(shape.get(key, 0)) for key in ("x", "y", "cx", "cy", "r")}
    if shape.tag == f"{SVG}rect":
        return (0 <= x - number["x"] <= float(shape.get("width"))
                and 0 <= y - number["y"] <= float(shape.get("height")))
    return (x - number["cx"]) ** 2 + (y - number["cy"]) ** 2 <= number["r"] ** 2


def colours(svg: ElementTree.Element, fill: str) -> list:
    """Of a fill: itself, or all that a pattern is made of."""
    if not fill.startswith("url(#"):
        return [fill]
    pattern = svg.find(f".//{SVG}pattern[@id='{fill[5:-1]}']")
    return [part.get(key) for part in pattern for key in ("fill", "stroke")
            if part.get(key, "none") != "none"]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_words_in_a_figure_can_be_told_from_what_lies_behind_them(figure):
    svg = ElementTree.parse(figure).getroot()
    styled = re.search(r"text\{[^}]*fill:(#\w+)", svg.findtext(f"{SVG}style") or "")
    shapes = []
    for element, fill in drawn(svg):
        if element.tag in (f"{SVG}rect", f"{SVG}circle") and fill != "none":
            shapes.append((element, fill))
        if element.tag != f"{SVG}text":
            continue
        x, y = float(element.get("x")), float(element.get("y")) - 4  # (within its first line)
        behind = next((f for shape, f in reversed(shapes) if covers(shape, x, y)), "#ffffff")
        front = styled[1] if styled else fill
        for colour in colours(svg, behind):
            got = contrast(front, colour)
            assert got >= LOWEST, f"{''.join(element.itertext())}: {front} on {colour}: {got:.2f}"


@pytest.mark.parametrize("front", ["foreground-primary", "foreground-secondary",
                                   "foreground-muted", "brand-primary", "brand-content"])
@pytest.mark.parametrize("behind", ["background-primary", "background-secondary"])
def test_words_in_the_dark_can_be_told_from_what_lies_behind_them(front, behind):
    dark = dict(re.findall(r"--color-([\w-]+): (#\w+);", SITE))
    assert contrast(dark[front], dark[behind]) >= LOWEST


@pytest.mark.parametrize("front, behind, ratio", [
    ("#000", "#fff", 21), ("#767676", "#ffffff", 4.54), ("#ffffff80", "#000000", 5.32)])
def test_contrast_is_that_of_the_formula(front, behind, ratio):
    assert contrast(front, behind) == pytest.approx(ratio, abs=0.01)


def test_there_are_figures():
    assert len(FIGURES) >= 18
