"""Parts about single operations: convolution tables and plot, forward and backward, the ladder."""

import units
from parts import Missing, Plot, Table
from steps import busy_note, latest
from training import DEVICES
from whose import owner

# what is varied, the field that holds it, its heading, and what stays as it is
_SERIES = (
    ("batch", "n", "batch", "3\u21928, 32\u00d732"),
    ("size", "h", "pixels a side", "8 \u00d7 3\u21928"),
    ("channels", "c", "channels", "8 \u00d7 32\u00d732"),
)


def fix_ops(device):
    if device == "cpu":
        return owner().make("bench-ops DEVICE=cpu")
    return owner().make_on_gpu('"build ops"')


def found(report, device, **wanted):
    """The line to use of each case and mode, with the rungs that are the default."""
    names = ("op", "series", "pass", "mode", "n", "c", "k", "h", "in", "out")
    lines = latest(report, "bench_op", device, "rungs", *names).values()
    wanted = {"rungs": owner().rungs, **wanted}
    return [line for line in lines if all(line.get(k) == v for k, v in wanted.items())]


def _label(line, series):
    if series == "channels":
        return f"{line['c']}\u2192{line['k']}"
    return units.count(line["n"] if series == "batch" else line["h"])


def _modes(lines):
    return [mode for mode in ("eager", "graph") if any(line["mode"] == mode for line in lines)]


def _row(line, scale):
    scales = {"ours": scale, "twin": scale, "ratio": 1.0}
    return [units.spread(line[name], s, f"{line.where} {name}") for name, s in scales.items()]


def _rows_by_mode(lines, modes, scale):
    """The cells of one case: three for each mode, dashes where it was not run."""
    row = []
    for mode in modes:
        same = [line for line in lines if line["mode"] == mode]
        row += _row(same[-1], scale) if same else [units.DASH] * 3
    return row


def _header(report, unit, modes):
    t = report.t
    return [f"{t('ours')} ({unit})", f"PyTorch ({unit})", t("ratio")] * len(modes)


def _groups(report, modes, before):
    if len(modes) < 2:
        return []
    names = {
        "eager": report.t("wall clock with synchronise"),
        "graph": report.t("inside a CUDA graph"),
    }
    return [("", before), *[(names[m], 3) for m in modes]]


def _unit(lines):
    medians = [line[side]["median"] for line in lines for side in ("ours", "twin")]
    return units.time_unit(medians)


def convolutions(report, device):
    return [_convolution_table(report, device, *series) for series in _SERIES]


def _convolution_table(report, device, series, _, heading, fixed):
    t = report.t
    lines = found(report, device, op="conv2d", series=series)
    if not lines:
        raise Missing(t("no convolution was timed"), fix_ops(device))
    modes, cases = _modes(lines), {}
    scale, unit = _unit(lines)
    lines.sort(key=lambda line: (line["n"], line["h"], line["c"], line["k"]))
    for line in lines:
        cases.setdefault(tuple(line[name] for name in "nckh"), []).append(line)
    rows = []
    for same in cases.values():
        label, cells = _label(same[0], series), _rows_by_mode(same, modes, scale)
        rows.append([label, *cells])
        key = label.replace("\u2192", "-") if isinstance(label, str) else label.text
        report.set(f"conv.{series}.{key}.{device}.ratio", cells[2])
    caption = t(
        "Convolution 3\u00d73, pad 1, forward and backward, {device}, by {what} ({fixed}): median "
        "and quartiles of {repeats} runs; the ratio is ours to PyTorch's.",
        device=DEVICES[device], what=t(heading), fixed=fixed, repeats=lines[0]["repeats"],
    )  # fmt: skip
    header = [t(heading), *_header(report, unit, modes)]
    columns, groups = "r" + "rrr" * len(modes), _groups(report, modes, 1)
    note = busy_note(report, lines)
    return Table(f"conv-{series}-{device}", caption, columns, header, rows, lines, groups, note)


def _name(report, operation):
    """Some operations have a word in the report's language; the others go by their own names."""
    return report.t(operation) if operation in ("conv2d", "linear") else operation


def _shape(report, line):
    name = _name(report, line["op"])
    if line["op"] == "conv2d":
        n, c, k, h = (line[size] for size in "nckh")
        return f"{name} {n}\u00d7{c}\u2192{k}, {h}\u00d7{h}"
    if line["op"] == "linear":
        return f"{name} {line['n']}\u00d7{line['in']}\u2192{line['out']}"
    return f"{name} {line['n']}\u00d7{line['c']}, {line['h']}\u00d7{line['h']}"


def forward_backward(report, device):
    t = report.t
    lines = found(report, device, series="long")
    if not lines:
        raise Missing(t("no operation was timed over many runs"), fix_ops(device))
    modes, cases = _modes(lines), {}
    scale, unit = _unit(lines)
    for line in lines:
        cases.setdefault((line["op"], line["pass"]), []).append(line)
    rows = []
    for (op, way), same in sorted(cases.items()):
        cells = _rows_by_mode(same, modes, scale)
        rows.append([_name(report, op), t(way), *cells])
        report.set(f"{op}.{way.replace('+', '-')}.{device}.ratio", cells[2])
    shapes = {line["op"]: _shape(report, line) for line in lines}
    caption = t(
        "Forward, and forward with backward, {device}, over {repeats} runs ({what}); the ratio is "
        "ours to PyTorch's.",
        device=DEVICES[device], repeats=max(line["repeats"] for line in lines),
        what="; ".join(text for _, text in sorted(shapes.items())),
    )  # fmt: skip
    header = [t("operation"), "", *_header(report, unit, modes)]
    columns, groups = "ll" + "rrr" * len(modes), _groups(report, modes, 2)
    note = busy_note(report, lines)
    return [Table(f"ops-{device}", caption, columns, header, rows, lines, groups, note)]


def convolution_plot(report, device):
    import style

    t = report.t
    lines = found(report, device, op="conv2d", mode="eager")
    lines = [line for line in lines if line.get("series") in [s[0] for s in _SERIES]]
    if not lines:
        raise Missing(t("no convolution was timed"), fix_ops(device))
    scale, unit = _unit(lines)

    def points(ax, own, at, side, variant):
        figures = [line[side] for line in own]
        middle = [f["median"] / scale for f in figures]
        low = [m - f["quartiles"][0] / scale for m, f in zip(middle, figures)]
        high = [f["quartiles"][1] / scale - m for m, f in zip(middle, figures)]
        look = style.series(side, variant)
        label = t("ours") if side == "ours" else "PyTorch"
        ax.errorbar(at, middle, [low, high], capsize=2, label=label, **look)

    def draw(figure):
        axes = figure.subplots(1, len(_SERIES))
        for ax, (series, name, heading, _) in zip(axes, _SERIES):
            own = [line for line in lines if line["series"] == series]
            own.sort(key=lambda line: (line[name], line["k"]))
            at = range(len(own)) if series == "channels" else [line[name] for line in own]
            for variant, side in enumerate(("ours", "twin")):
                points(ax, own, at, side, variant)
            ax.set(yscale="log", xlabel=t(heading))
            if series == "channels":
                ax.set_xticks(list(at), [_label(line, series) for line in own])
                style.plain_log(ax.yaxis)
            else:
                ax.set_xscale("log")
                style.plain_ticks(ax, at)
        axes[0].set_ylabel(f"{t('time')} ({style.unit(unit)})")
        axes[0].legend()

    caption = t(
        "Convolution, forward and backward, {device}: time against each parameter, with quartiles.",
        device=DEVICES[device],
    )
    return [Plot(f"convs-{device}", caption, draw, lines, size=(6.3, 2.4), width=1.0)]


def ladder(report, device):
    """The default convolution at each choice of rungs, one row each."""
    if owner().mine:
        return []  # a student's programs have no rungs to choose
    t = report.t
    picked = latest(report, "bench_op", device, "rungs", "op", "series", "pass", "mode")
    wanted = ("conv2d", "long", "fwd+bwd", "eager")
    lines = [line for key, line in picked.items() if key[1:] == wanted]
    if len(lines) < 2:
        reason = t("the quicker kernels were not timed beside the plain path")
        raise Missing(reason, f"{fix_ops(device)}; also with RUNGS=none")
    scale, unit = _unit(lines)
    lines.sort(key=lambda line: (line["rungs"] != "none", line["rungs"] == "all", line["rungs"]))
    rows = [[line["rungs"], *_row(line, scale)] for line in lines]
    caption = t(
        "The ladder, {device}: one convolution, forward and backward, on the plain path (none) and "
        "with quicker kernels.",
        device=DEVICES[device],
    )
    header = [t("rungs"), *_header(report, unit, ["eager"])]
    note = busy_note(report, lines)
    return [Table(f"ladder-{device}", caption, "lrrr", header, rows, lines, note=note)]
