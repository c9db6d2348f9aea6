"""show.py FOLDER: the picture of what `make show` has found (FOLDER/show.jsonl, written by
programs/show), as FOLDER/show.png where matplotlib is there; else one line says that it is not.

Lab 5's text is made here, too, of what `predict` wrote (FOLDER/predictions.jsonl): bare Python.
"""

import json
import os
import sys
from pathlib import Path

import classes

RAMP = " .:-=+*#%@"
ACROSS = 3  # pictures beside each other in a terminal


class Unread(Exception):
    """One line: what is not as the programs write it."""


def read(path):
    """The lines of a file, as objects."""
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise Unread(f"{path}: {error}: make show writes it") from None


def of_kind(lines, kind):
    return [line for line in lines if line.get("kind") == kind]


# ---- text of lab 5 -------------------------------------------------------------------------------

def characters(image):
    """A picture as rows of characters, each for two rows of pixels."""
    level = [[sum(pixel) / 3 for pixel in row] for row in image]
    return ["".join(RAMP[min(int((a + b) / 2 * len(RAMP)), len(RAMP) - 1)]
                    for a, b in zip(*level[at:at + 2])) for at in range(0, len(level) - 1, 2)]


def beside(titles, blocks):
    width = max(len(row) for block in blocks for row in block)
    rows = ["  ".join(f"{title:<{width}.{width}}" for title in titles)]
    return [*rows, *("  ".join(f"{row:<{width}}" for row in row_of) for row_of in zip(*blocks)), ""]


def answers(line):
    """What the net says of each class."""
    names, right = classes.of(line["dataset"]), 0
    rows = ["", f"of {line['images']} test images of {line['dataset']} "
            f"{100 * line['accuracy']:.1f} % are told right", "",
            f"{'class':<8}  {'right':>7}  mostly taken for"]
    for i, name in enumerate(names):
        row = [int(n) for n in line["confusion"][i * 10:i * 10 + 10]]
        right, others = row[i], [*row[:i], 0, *row[i + 1:]]
        most = max(range(10), key=lambda k: others[k])
        taken = f"{names[most]} ({others[most]} times)" if others[most] else "nothing else"
        share = f"{100 * right / sum(row):.0f} %" if sum(row) else "-"
        rows.append(f"{name:<8}  {share:>7}  {taken}")
    return rows


def mistakes(line, image):
    names = classes.of(line["dataset"])
    count = min(ACROSS, len(line["wrong_index"]))
    if not count:
        return ["", "no mistake to show"]
    titles = [f"{names[int(line['wrong_label'][i])]}, said: {names[int(line['wrong_guess'][i])]} "
              f"{100 * line['wrong_prob'][i]:.0f} %" for i in range(count)]
    return ["", "the mistakes that it is surest of:", "",
            *beside(titles, [characters(image(int(line["wrong_index"][i])))
                             for i in range(count)])]  # fmt: skip


def text_of_lab5(line):
    rows = answers(line)
    try:
        rows += mistakes(line, classes.images_of(line["dataset"]))
    except OSError as error:
        rows += ["", f"(its mistakes are not drawn: {error.filename} is not here)"]
    return rows


# ---- pictures ------------------------------------------------------------------------------------

def draw_products(figure, lines):
    products = of_kind(lines, "products")
    ax = figure.subplots()
    for name, marker in (("naive", "s"), ("yours", "o"), ("BLAS", "^")):
        ax.plot([p["n"] for p in products], [p[name] * 1e-9 for p in products], marker=marker,
                label=name)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set(xlabel="n, of two n x n matrices", ylabel="GFLOP/s")
    ax.legend()


def draw_pictures(figure, lines):
    for ax, p in zip(figure.subplots(2, 3).flat, of_kind(lines, "picture")):
        rows = [p["value"][at:at + p["w"]] for at in range(0, p["h"] * p["w"], p["w"])]
        ax.imshow(rows, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        ax.set_title(p["name"])
        ax.axis("off")


def draw_curve(ax, lines):
    curve, = of_kind(lines, "curve")
    ax.plot(curve["loss"])
    ax.set(xlabel="step", ylabel="loss", ylim=(0, None))


def draw_boundary(figure, lines):
    p, = of_kind(lines, "picture")
    points, = of_kind(lines, "points")
    left, ax = figure.subplots(1, 2)
    draw_curve(left, lines)
    rows = [p["value"][at:at + p["w"]] for at in range(0, p["h"] * p["w"], p["w"])]
    e = points["edge"]
    ax.imshow(rows, cmap="coolwarm", vmin=0, vmax=1, extent=(-e, e, -e, e))
    for arm, marker in ((0, "o"), (1, "x")):
        at = [i for i, a in enumerate(points["arm"]) if a == arm]
        ax.scatter([points["x"][i] for i in at], [points["y"][i] for i in at], s=8, c="black",
                   marker=marker, linewidths=0.6)
    ax.set_title(f"{points['right']} of {len(points['arm'])} points on the right side")
    ax.grid(False)


def draw_answers(figure, line):
    """The first filters above, below them the mistakes that the net is surest of."""
    names = classes.of(line["dataset"])
    upper, lower = figure.subfigures(2, 1, height_ratios=(1, 2))
    filters = classes.filters(line["filter_shape"], line["filters"])[:16]
    upper.suptitle("filters of the first convolution", fontsize=8)
    for ax, image in zip(upper.subplots(1, len(filters), squeeze=False).flat, filters):
        ax.imshow(image, interpolation="nearest")
        ax.axis("off")
    lower.suptitle("what it is surest of and wrong: the class, and its answer", fontsize=8)
    try:
        image = classes.images_of(line["dataset"])
    except OSError:
        return
    for i, ax in enumerate(lower.subplots(2, 8, squeeze=False).flat):
        ax.axis("off")
        if i < len(line["wrong_index"]):
            ax.imshow(image(int(line["wrong_index"][i])), interpolation="nearest")
            label, guess = (names[int(line[n][i])] for n in ("wrong_label", "wrong_guess"))
            ax.set_title(f"{label}\n\u2192 {guess}", fontsize=6)


SIZES = {1: (4.5, 3), 2: (5, 3.6), 3: (4.5, 3), 4: (7, 3.2), 5: (7, 4)}
DRAW = {1: draw_products, 2: draw_pictures, 3: lambda f, lines: draw_curve(f.subplots(), lines),
        4: draw_boundary, 5: draw_answers}  # fmt: skip


def draw(lab, drawn, path):
    """Writes the picture; false where there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    import matplotlib.style
    from matplotlib.figure import Figure

    matplotlib.style.use(Path(__file__).parent / "style.mplstyle")
    figure = Figure(figsize=SIZES[lab])
    DRAW[lab](figure, drawn)
    part = path.with_name(f"{path.name}.part")
    figure.savefig(part, format="png", dpi=150, metadata={"Software": None})
    os.replace(part, path)
    return True


def show(folder):
    lines = read(folder / "show.jsonl")
    lab = of_kind(lines, "show")[0]["lab"]
    drawn = lines
    if lab == 5:
        drawn = of_kind(read(folder / "predictions.jsonl"), "predictions")[-1]
        print("\n".join(text_of_lab5(drawn)))
    path = folder / "show.png"
    if draw(lab, drawn, path):
        print(f"\npicture  {path}")
    else:
        path.unlink(missing_ok=True)  # an older one would show something else
        print("\n(text alone, no picture: no matplotlib in this Python; make setup show brings it)")


def main(arguments):
    try:
        show(Path(arguments[0]))
    except Unread as error:
        print(f"show: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
