"""How plots look beyond style.mplstyle: who gets which line, and files that come out the same."""

from pathlib import Path

import matplotlib

matplotlib.use("pdf")  # no display, vector output
import matplotlib.style  # noqa: E402
from matplotlib import figure, ticker  # noqa: E402

HERE = Path(__file__).parent
# dark and light, so that a grey copy still tells them apart
_COLOR = {"ours": "#0b3c6f", "twin": "#e08a1e"}
_DASH = {"train": "--", "test": "-"}
_DASHES = ("-", "--", ":", "-.")
_MARKER = {"ours": "o", "twin": "s"}


def use(font_file=None):
    """Must be called before a plot is drawn. `font_file` brings Chinese characters."""
    matplotlib.style.use(HERE / "style.mplstyle")
    if font_file:
        from matplotlib import font_manager

        font_manager.fontManager.addfont(font_file)
        name = font_manager.FontProperties(fname=font_file).get_name()
        matplotlib.rcParams["font.family"] = ["DejaVu Sans", name]


def series(side, variant=0):
    """Line, marker and colour: `side` is ours or twin, `variant` train, test or a number."""
    dash = _DASH.get(variant) or _DASHES[variant % len(_DASHES)]
    hollow = variant == "train" or (isinstance(variant, int) and variant % 2)
    return {"color": _COLOR[side], "marker": _MARKER[side], "linestyle": dash,
            "markerfacecolor": "white" if hollow else _COLOR[side]}  # fmt: skip


def unit(text):
    return text.replace("us", "\u00b5s")


def plain_ticks(ax, at):
    """A logarithmic x axis with the measured values as its ticks, and y as plain numbers."""
    ax.xaxis.set_major_locator(ticker.FixedLocator(at))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    plain_log(ax.yaxis)


def save(draw, size, path):
    """Draws into a PDF that holds no time, so that equal results give equal bytes."""
    f = figure.Figure(figsize=size)
    draw(f)
    f.savefig(path, metadata={"CreationDate": None, "Producer": None, "Creator": None})


def plain_log(axis):
    """A logarithmic axis with plain numbers, at 1, 2 and 5 where it spans little."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda y, _: f"{y:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def shade(i):
    """Every other point dark and light; markers tell the rest apart."""
    return _COLOR["ours"] if i % 2 == 0 else _COLOR["twin"]


def marker(i):
    return "osD^v<>pPX*hd"[i % 13]
