"""Parts about the time of a training step, and the memory it takes."""

import units
from parts import Missing, Plot, Table
from training import LANES

# PyTorch's ways on a GPU as results name them, and as the table does
_FLOAT32 = {
    "eager": "eager",
    "graph": "CUDA graph",
    "compile+graph": "compiled",
    "compile-tuned+graph": "max-autotune",
}
_ROUNDED = {"tf32 compile+graph": "TF32", "bf16 compile+graph": "bfloat16"}
_MEND = {
    "cpu": "make bench-step NET=a DEVICE=cpu",
    "gpu": 'make gpu-suite OUT=results/local/gpu STAGES="build steps"',
}


def latest(report, kind, lane, *names):
    """The line to use of each configuration, by the fields `names`, in their order."""
    groups = {}
    for line in report.results.of(kind, lane):
        groups.setdefault(tuple(line.get(n) for n in names), []).append(line)
    picked = {key: report.fresh.pick(lines) for key, lines in groups.items()}
    return dict(sorted(picked.items(), key=lambda item: tuple(str(k).zfill(9) for k in item[0])))


def busy_note(report, lines):
    """Timings taken while others used the machine are shown, and said to be so."""
    shares = [line.get("busy") or 0 for line in lines if line.lane == "cpu"]
    if max(shares, default=0) <= 0.1:
        return ""
    return report.t(
        "Other programs took {busy} % of the processor when this was measured: take the ratios "
        "with care.",
        busy=units.significant(100 * max(shares), 2),
    )


def on_cpu(report):
    """{(net, batch): (line, steps an epoch)} of comparisons on the processor."""
    found = latest(report, "bench_step", "cpu", "net", "batch")
    return {key: (line, -(-line["images"] // key[1])) for key, line in found.items()}


def on_gpu(report):
    """{(net, batch): line} of comparisons on a GPU."""
    return latest(report, "bench_gpu", "gpu", "net", "batch")


def table(report, lane):
    return _cpu_table(report) if lane == "cpu" else _gpu_tables(report)


def _cpu_table(report):
    t, found = report.t, on_cpu(report)
    if not found:
        raise Missing(t("no training step was timed"), _MEND["cpu"])
    scale, unit = units.unit_for([l["ours"]["median"] / n for l, n in found.values()], "s")
    rows = []
    for (net, batch), (line, steps) in found.items():
        where, images = line.where, line["images"]
        cells = {}
        for side in ("ours", "twin"):
            cells[side] = units.spread(line[side], scale * steps, f"{where} {side}")
        cells["ratio"] = units.spread(line["ratio"], 1.0, f"{where} ratio")
        for side in ("ours", "twin"):
            rate = images / line[side]["median"]
            cells[f"{side}-rate"] = units.quantity(rate, 1.0, f"{where} images / {side}.median")
        for name, value in cells.items():
            report.set(f"step.{net}.{batch}.cpu.{name}", value)
        layout = f"{line.get('twin_layout', '')}, {line.get('twin_threads', '?')}"
        rows.append([net, units.count(batch), *cells.values(), layout])
    caption = t(
        "Time of a training step on the CPU, alternating in one run; PyTorch in the quickest of "
        "its configurations. Median and quartiles; a ratio below 1 says that ours is quicker."
    )
    header = [t("net"), t("batch"), f"{t('ours')} ({unit})", f"PyTorch ({unit})", t("ratio")]
    header += [t("ours, images/s"), t("PyTorch, images/s"), t("PyTorch's layout, threads")]
    lines = [line for line, _ in found.values()]
    note = busy_note(report, lines)
    return [Table("steps-cpu", caption, "lrrrrrrl", header, rows, lines, note=note)]


def _gpu_tables(report):
    found = on_gpu(report)
    if not found:
        raise Missing(report.t("no training step was timed on a GPU"), _MEND["gpu"])
    medians = [line["times"]["ours"]["median"] * 1e-6 for line in found.values()]
    scale, unit = units.unit_for(medians, "s")
    tables = [_float32_table(report, found, scale, unit)]
    if any(_best_way(line, way) for line in found.values() for way in _ROUNDED):
        tables.append(_rounded_table(report, found, scale, unit))
    return tables


def _float32_table(report, found, scale, unit):
    t, rows = report.t, []
    for (net, batch), line in found.items():
        where = line.where
        cells = [_way_cell(line, way, scale) for way in ("ours", *_FLOAT32)]
        ratio = units.quantity(1 / line["ratio"], 1.0, f"{where} 1 / ratio")
        rate = batch / line["times"]["ours"]["median"]  # millions a second
        report.set(f"step.{net}.{batch}.gpu.ours", cells[0])
        report.set(f"step.{net}.{batch}.gpu.ratio", ratio)
        rate = units.quantity(rate, 1e-3, f"{where} batch / times.ours.median")
        rows.append([net, units.count(batch), *cells, ratio, rate])
    caption = t(
        "Time of a training step on the GPU in float32, alternating in one run; each of PyTorch's "
        "ways in the quicker of its two layouts, the compiled ones in a CUDA graph too. Median and "
        "quartiles; the ratio is ours to PyTorch's quickest way."
    )
    ways = [f"{name} ({unit})" for name in _FLOAT32.values()]
    header = [t("net"), t("batch"), f"{t('ours')} ({unit})", *ways, t("ratio")]
    header.append(t("ours, 1000 images/s"))
    groups = [("", 3), ("PyTorch", len(_FLOAT32)), ("", 2)]
    columns = "lr" + "r" * (len(header) - 2)
    return Table("steps-gpu", caption, columns, header, rows, list(found.values()), groups)


def _rounded_table(report, found, scale, unit):
    """What PyTorch reaches when products may round their inputs: beside ours, and never a ratio."""
    t = report.t
    rows = [
        [net, units.count(batch), *(_way_cell(line, way, scale) for way in ("ours", *_ROUNDED))]
        for (net, batch), line in found.items()
    ]
    caption = t(
        "For comparison only: PyTorch's compiled step in a CUDA graph with inputs of products "
        "rounded to TF32, and in bfloat16. Ours computes in float32, so there is no ratio."
    )
    header = [t("net"), t("batch"), f"{t('ours')}, float32 ({unit})"]
    header += [f"PyTorch, {name} ({unit})" for name in _ROUNDED.values()]
    return Table("rounded-gpu", caption, "lrrrr", header, rows, list(found.values()))


def _best_way(line, way):
    """The quicker layout of a way, as named in the results; None if it was not run."""
    times = line["times"]
    names = [name for name in times if name.partition(",")[0] == way]
    return min(names, key=lambda name: times[name]["median"], default=None)


def _way_cell(line, way, scale):
    best = _best_way(line, way)
    if not best:
        return units.DASH
    microseconds = scale / 1e-6
    return units.spread(line["times"][best], microseconds, f"{line.where} times.{best}")


def memory(report, lane):
    """Peak of memory of a step beside PyTorch's."""
    t = report.t
    if lane == "cpu":
        found = {key: line for key, (line, _) in on_cpu(report).items()}
        missing = t("no step's memory was measured")
        caption = t(
            "Peak of memory on the CPU without the data set, as the two allocators count it: "
            "weights, optimiser, and what a step needs besides."
        )
    else:
        found, missing = on_gpu(report), t("no step's memory was measured on a GPU")
        caption = t(
            "Peak of GPU memory: ours with weights and optimiser but without the data set, "
            "PyTorch's of its quickest step alone."
        )
    found = {key: line for key, line in found.items() if line.get("ours_peak_bytes")}
    if not found:
        raise Missing(missing, _MEND[lane])
    rows = []
    for (net, batch), line in found.items():
        name = "ours_peak_bytes"
        row = [units.quantity(line[name], 2.0**20, f"{line.where} {name}")]
        row.append(_twin_peak(line))
        rows.append([net, units.count(batch), *row])
    header = [t("net"), t("batch"), f"{t('ours')} (MiB)", "PyTorch (MiB)"]
    return [Table(f"memory-{lane}", caption, "lrrr", header, rows, list(found.values()))]


def _twin_peak(line):
    if line["kind"] == "bench_step":
        name = "twin_peak_bytes"
        return units.quantity(line.get(name), 2.0**20, f"{line.where} {name}")
    best = line["best_rival"]
    peak = (line.get("rival_peak_bytes") or {}).get(best)
    return units.quantity(peak, 2.0**20, f"{line.where} rival_peak_bytes.{best}")


def batch_plot(report, lane):
    """Time of a step against the batch size, one pair of lines per net."""
    import style

    points, lines = {}, []
    if lane == "cpu":
        for (net, batch), (line, steps) in on_cpu(report).items():
            ours, twin = (line[side]["median"] / steps for side in ("ours", "twin"))
            points.setdefault(net, []).append((batch, ours, twin))
            lines.append(line)
    else:
        for (net, batch), line in on_gpu(report).items():
            names = ("ours", line["best_rival"])
            ours, twin = (1e-6 * line["times"][name]["median"] for name in names)
            points.setdefault(net, []).append((batch, ours, twin))
            lines.append(line)
    if not any(len(p) > 1 for p in points.values()):
        both = "; ".join(f"make bench-step NET=a DEVICE=cpu BATCH={batch}" for batch in (64, 512))
        mend = both if lane == "cpu" else _MEND[lane]
        raise Missing(report.t("steps of one batch size only"), mend)
    scale, unit = units.unit_for([p[1] for ps in points.values() for p in ps], "s")

    def draw(figure):
        ax = figure.subplots()
        for i, (net, ps) in enumerate(sorted(points.items())):
            ps = sorted(ps)
            for k, side in ((1, "ours"), (2, "twin")):
                who = report.t("ours") if side == "ours" else "PyTorch"
                label = f"{report.t('net')} {net}, {who}"
                times = [p[k] / scale for p in ps]
                ax.plot([p[0] for p in ps], times, label=label, **style.series(side, i))
        ax.set(xscale="log", yscale="log", xlabel=report.t("batch"))
        ax.set_ylabel(f"{report.t('time of a step')} ({style.unit(unit)})")
        style.plain_ticks(ax, sorted({p[0] for ps in points.values() for p in ps}))
        ax.legend()

    caption = report.t(
        "Time of a training step against the batch size, {lane}; PyTorch's in its quickest way.",
        lane=LANES[lane],
    )
    return [Plot(f"batch-{lane}", caption, draw, lines)]
