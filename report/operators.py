"""Parts about single operations: convolution tables, forward and backward, profile, roofline."""

import units
from parts import Missing, Plot, Table
from steps import busy_note, latest
from training import LANES

_SERIES = (("batch", "n", "batch"), ("size", "h", "pixels a side"), ("channels", "c", "channels"))


def mend_ops(lane):
    return ("make bench-ops DEVICE=cpu" if lane == "cpu" else
            "make bench-ops DEVICE=cuda OUT=results/local/gpu/bench_ops.jsonl, on the GPU machine")  # fmt: skip


def found(report, lane, **wanted):
    """The line to use of each case and mode, with the rungs that are the default."""
    names = ("op", "series", "pass", "mode", "n", "c", "k", "h", "in", "out")
    lines = latest(report, "bench_op", lane, "rungs", *names)
    return [line for key, line in lines.items() if line.get("rungs", "all") == "all"
            and all(line.get(k) == v for k, v in wanted.items())]  # fmt: skip


def _label(line, series):
    if series == "channels":
        return f"{line['c']}\u2192{line['k']}"
    return units.count(line["n"] if series == "batch" else line["h"], f"{line.where}")


def _modes(lines):
    return [mode for mode in ("eager", "graph") if any(line["mode"] == mode for line in lines)]


def _row(report, line, scale):
    w = line.where
    return [units.spread(line["ours"], scale, f"{w} ours"), units.spread(line["twin"], scale, f"{w} twin"),
            units.spread(line["ratio"], 1.0, f"{w} ratio")]  # fmt: skip


def _medians(lines):
    return [line[side]["median"] for line in lines for side in ("ours", "twin")]


def convolutions(report, lane):
    t, tables = report.t, []
    for series, _, heading in _SERIES:
        lines = found(report, lane, op="conv2d", series=series)
        if not lines:
            raise Missing(t("no convolution was timed"), mend_ops(lane))
        modes, rows = _modes(lines), []
        scale, unit = units.unit_for(_medians(lines), "s")
        lines.sort(key=lambda line: (line["n"], line["h"], line["c"], line["k"]))
        for case in [line for line in lines if line["mode"] == modes[0]]:
            row = [_label(case, series)]
            for mode in modes:
                same = [line for line in lines if line["mode"] == mode
                        and all(line[n] == case[n] for n in "nckh")]  # fmt: skip
                row += _row(report, same[-1], scale) if same else [units.DASH] * 3
            rows.append(row)
            key = f"conv.{series}.{row[0] if isinstance(row[0], str) else row[0].text}.{lane}"
            report.set(f"{key.replace(chr(0x2192), '-')}.ratio", row[3])
        fixed = {
            "batch": "3\u21928, 32\u00d732",
            "size": "8 \u00d7 3\u21928",
            "channels": "8 \u00d7 32\u00d732",
        }
        tables.append(Table(
            f"conv-{series}-{lane}",
            t("Convolution 3\u00d73, pad 1, forward and backward, {lane}, by {what} ({fixed}): median and "
              "quartiles of {repeats} runs; the ratio is ours to PyTorch's.", lane=LANES[lane],
              what=t(heading), fixed=fixed[series], repeats=lines[0]["repeats"]),
            "r" + "rrr" * len(modes),
            [t(heading), *[f"{t('ours')} ({unit})", f"PyTorch ({unit})", t("ratio")] * len(modes)],
            rows, lines, groups=_groups(report, modes), note=busy_note(report, lines),
        ))  # fmt: skip
    return tables


def _groups(report, modes):
    names = {
        "eager": report.t("wall clock with synchronise"),
        "graph": report.t("inside a CUDA graph"),
    }
    return [("", 1), *[(names[m], 3) for m in modes]] if len(modes) > 1 else []


def forward_backward(report, lane):
    t = report.t
    lines = found(report, lane, series="long")
    if not lines:
        raise Missing(t("no operation was timed over many runs"), mend_ops(lane))
    modes, rows = _modes(lines), []
    scale, unit = units.unit_for(_medians(lines), "s")
    kinds = sorted({(line["op"], line["pass"]) for line in lines})
    for op, way in kinds:
        row = None
        for mode in modes:
            same = [
                line
                for line in lines
                if (line["op"], line["pass"], line["mode"]) == (op, way, mode)
            ]
            row = row or [t(op), t(way)]
            row += _row(report, same[-1], scale) if same else [units.DASH] * 3
        rows.append(row)
        report.set(f"{op}.{way.replace('+', '-')}.{lane}.ratio", row[4])
    conv = next((line for line in lines if line["op"] == "conv2d"), None)
    flat = next((line for line in lines if line["op"] == "linear"), None)
    what = "; ".join(
        ([f"{t('conv2d')} {conv['n']}\u00d7{conv['c']}\u2192{conv['k']}, {conv['h']}\u00d7{conv['h']}"] if conv else [])
        + ([f"{t('linear')} {flat['n']}\u00d7{flat['in']}\u2192{flat['out']}"] if flat else []))  # fmt: skip
    return [Table(
        f"ops-{lane}",
        t("Forward, and forward with backward, {lane}, over {repeats} runs ({what}); the ratio is ours to "
          "PyTorch's.", lane=LANES[lane], repeats=max(line["repeats"] for line in lines), what=what),
        "ll" + "rrr" * len(modes),
        [t("operation"), "", *[f"{t('ours')} ({unit})", f"PyTorch ({unit})", t("ratio")] * len(modes)],
        rows, lines, groups=[("", 2), *_groups(report, modes)[1:]] if len(modes) > 1 else [],
        note=busy_note(report, lines),
    )]  # fmt: skip


def convolution_plot(report, lane):
    import style

    t = report.t
    lines = found(report, lane, op="conv2d", mode="eager")
    lines = [line for line in lines if line.get("series") in ("batch", "size", "channels")]
    if not lines:
        raise Missing(t("no convolution was timed"), mend_ops(lane))
    scale, unit = units.unit_for(_medians(lines), "s")

    def draw(figure):
        axes = figure.subplots(1, 3)
        for ax, (series, name, heading) in zip(axes, _SERIES):
            own = sorted((line for line in lines if line["series"] == series),
                         key=lambda line: (line[name], line["k"]))  # fmt: skip
            at = range(len(own)) if series == "channels" else [line[name] for line in own]
            for side in ("ours", "twin"):
                middle = [line[side]["median"] / scale for line in own]
                low, high = ([line[side]["quartiles"][i] / scale for line in own] for i in (0, 1))
                error = [
                    [m - a for m, a in zip(middle, low)],
                    [b - m for m, b in zip(middle, high)],
                ]
                ax.errorbar(at, middle, error, capsize=2, label=t("ours") if side == "ours" else "PyTorch",
                            **style.series(side, 0 if side == "ours" else 1))  # fmt: skip
            ax.set(yscale="log", xlabel=t(heading))
            if series == "channels":
                ax.set_xticks(list(at), [f"{line['c']}\u2192{line['k']}" for line in own])
                style.plain_log(ax.yaxis)
            else:
                ax.set_xscale("log")
                style.plain_ticks(ax, at)
        axes[0].set_ylabel(f"{t('time')} ({style.unit(unit)})")
        axes[0].legend()

    return [Plot(f"convs-{lane}", t("Convolution, forward and backward, {lane}: time against each "
                 "parameter, with quartiles.", lane=LANES[lane]), draw, lines, size=(6.3, 2.4), width=1.0)]  # fmt: skip


def ladder(report, lane):
    """The default convolution at each choice of rungs, one row each."""
    t = report.t
    picked = latest(report, "bench_op", lane, "rungs", "op", "series", "pass", "mode")
    lines = [line for line in picked.values() if (line["op"], line.get("series"), line["pass"],
             line["mode"]) == ("conv2d", "long", "fwd+bwd", "eager")]  # fmt: skip
    if len(lines) < 2:
        raise Missing(t("the quicker kernels were not timed beside the plain path"),
                      f"make bench-ops DEVICE={'cpu' if lane == 'cpu' else 'cuda'} RUNGS=none")  # fmt: skip
    scale, unit = units.unit_for(_medians(lines), "s")
    lines.sort(key=lambda line: (line["rungs"] != "none", line["rungs"] == "all", line["rungs"]))
    rows = [[line["rungs"], *_row(report, line, scale)] for line in lines]
    return [Table(f"ladder-{lane}", t("The ladder, {lane}: one convolution, forward and backward, on the plain "
                  "path (none) and with quicker kernels.", lane=LANES[lane]), "lrrr",
                  [t("rungs"), f"{t('ours')} ({unit})", f"PyTorch ({unit})", t("ratio")], rows, lines,
                  note=busy_note(report, lines))]  # fmt: skip


# ---- operations of a training step ----


def profiles(report, lane):
    """The latest profile of each side, of one net: {"ours": [lines], "twin": [lines]}."""
    sides = {}
    for line in report.results.of("profile", lane):
        sides.setdefault("ours" if line.ours else "twin", {}).setdefault(
            (line.get("net"), line.path), []
        ).append(line)
    nets = [{net for net, _ in groups} for groups in sides.values()]
    if not nets:
        return {}
    net = min(set.intersection(*nets) or set.union(*nets))
    chosen = {}
    for side, groups in sides.items():
        own = {path: lines for (n, path), lines in groups.items() if n == net}
        if own:
            best = report.fresh.pick([lines[0] for lines in own.values()])
            chosen[side] = next(lines for lines in own.values() if lines[0] is best)
    return chosen


def mend_profile(lane):
    device = "cpu" if lane == "cpu" else "cuda"
    return f"make train PROFILE=1 STEPS=200 DEVICE={device} OUT=results/local/profile-{device}; make baseline PROFILE=1 DEVICE={device}"


def profile(report, lane):
    t, tables = report.t, []
    chosen = profiles(report, lane)
    if not chosen:
        raise Missing(t("no run was profiled"), mend_profile(lane))
    for side, lines in chosen.items():
        tables.append(_profile_table(report, lane, side, [l for l in lines if not l.get("within")]))
    return tables


def _profile_table(report, lane, side, lines):
    t = report.t
    lines = sorted(lines, key=lambda line: -line["seconds"])
    steps, total = lines[0]["steps"], sum(line["seconds"] for line in lines)
    shown, rows = lines[:14], []
    scale, unit = 1e-6, "us"
    for line in shown:
        w = line.where
        row = [line["op"], units.quantity(line["calls"] / steps, source=f"{w} calls / steps"),
               units.quantity(line["seconds"] / steps, scale, f"{w} seconds / steps"),
               units.percent(line["seconds"] / total, f"{w} seconds / sum of seconds")]  # fmt: skip
        if side == "ours":
            row += [_rate(line, "flops", 1e9), _rate(line, "bytes", 1e9)]
        rows.append(row)
    rest = sum(line["seconds"] for line in lines[14:])
    if rest:
        row = [t("all others"), units.quantity(sum(l["calls"] for l in lines[14:]) / steps),
               units.quantity(rest / steps, scale), units.percent(rest / total)]  # fmt: skip
        rows.append(row + [units.DASH] * (2 if side == "ours" else 0))
    head = [t("operation"), t("calls a step"), t("time a step ({unit})", unit=unit), t("share (%)")]
    who = (
        t("ours, counted in the dispatch table")
        if side == "ours"
        else t("PyTorch, by its own profiler")
    )
    if side == "ours":
        head += ["GFLOP/s", "GB/s"]
    net, batch = lines[0].get("net"), lines[0].get("batch")
    return Table(
        f"profile-{side}-{lane}",
        t("Operations of a training step, net {net}, batch {batch}, {lane}: {who}.", net=net, batch=batch,
          lane=LANES[lane], who=who),
        "l" + "r" * (len(head) - 1), head, rows, lines,
    )  # fmt: skip


def _rate(line, what, scale):
    amount = line.get(what)
    if not amount or not line["seconds"]:
        return units.DASH
    return units.quantity(amount / line["seconds"], scale, f"{line.where} {what} / seconds")


def roofline(report, lane):
    """Arithmetic rate of each operation against its intensity, under the measured ceilings."""
    import style

    t = report.t
    chosen = profiles(report, lane).get("ours")
    peak = report.fresh.pick(report.results.of("peak", lane))
    if not chosen:
        raise Missing(t("no run was profiled"), mend_profile(lane))
    if not peak:
        raise Missing(t("the ceilings of this machine were not measured"), mend_ops(lane))
    points = [(l["flops"] / l["bytes"], l["flops"] / l["seconds"] / 1e9, l["op"]) for l in chosen
              if l.get("flops") and l.get("bytes") and l["seconds"] and not l.get("within")]  # fmt: skip
    points = sorted(points, key=lambda p: -p[1])

    def draw(figure):
        ax = figure.subplots()
        top, slope = peak["flops_per_s"] / 1e9, peak["bytes_per_s"] / 1e9
        xs = [
            min(p[0] for p in points) / 2,
            top / slope,
            max(max(p[0] for p in points), top / slope) * 2,
        ]
        ax.plot(xs, [min(top, slope * x) for x in xs], color="black", linewidth=1.5)
        for i, (x, y, op) in enumerate(points):
            ax.plot([x], [y], color=style.shade(i), marker=style.marker(i), linestyle="",
                    label=f"{i + 1} {op}")  # fmt: skip
            ax.annotate(str(i + 1), (x, y), textcoords="offset points", xytext=(4, 3), fontsize=6)
        ax.set(xscale="log", yscale="log", xlabel=t("FLOP a byte"), ylabel="GFLOP/s")
        style.plain_log(ax.xaxis)
        style.plain_log(ax.yaxis)
        figure.legend(loc="outside right upper")

    return [Plot(f"roofline-{lane}", t("Roofline, {lane}: what each operation of a training step reaches, "
                 "under the measured ceilings: {flops} GFLOP/s in a product, {bytes} GB/s in a copy.",
                 lane=LANES[lane], flops=units.significant(peak["flops_per_s"] / 1e9),
                 bytes=units.significant(peak["bytes_per_s"] / 1e9)),
                 draw, [*chosen, peak], size=(6.3, 3.2), width=1.0)]  # fmt: skip
