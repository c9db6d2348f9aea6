"""Parts about training steps: time, images a second, memory."""

import units
from parts import Missing, Plot, Table
from training import DEVICES
from whose import owner

# PyTorch's ways on a GPU as results name them, and as the table does
_FLOAT32 = {
    "eager": "PyTorch eager",
    "graph": "in a CUDA graph",
    "compile+graph": "compiled, graph",
    "compile-tuned+graph": "max-autotune, graph",
}
_ROUNDED = {
    "tf32": {
        "tf32 graph": "in a CUDA graph, TF32",
        "tf32 compile+graph": "compiled, graph, TF32",
        "tf32 compile-tuned+graph": "max-autotune, graph, TF32",
    },
    "bf16": {
        "bf16 graph": "in a CUDA graph, bfloat16",
        "bf16 compile+graph": "compiled, graph, bfloat16",
        "bf16 compile-tuned+graph": "max-autotune, graph, bfloat16",
    },
}
_PRECISIONS = {"tf32": "TF32", "bf16": "bfloat16"}


def _fix(device, options=""):
    if device == "cpu":
        return owner().make(f"bench-step NET=a DEVICE=cpu{options}")
    return owner().make_on_gpu('"build steps steps-512"')


def precision_of(line):
    """In which ours computed (results from before there was a choice do not say)."""
    return (line.get("ours_run") or {}).get("precision") or "fp32"


def latest(report, kind, device, *names, precision="fp32"):
    """The line to use of each configuration, by the fields `names`, in their order."""
    groups = {}
    for line in report.results.of(kind, device):
        if precision_of(line) != precision:
            continue
        groups.setdefault(tuple(line.get(n) for n in names), []).append(line)
    picked = {key: report.fresh.pick(lines) for key, lines in groups.items()}
    return dict(sorted(picked.items(), key=lambda item: tuple(str(k).zfill(9) for k in item[0])))


def busy_note(report, lines):
    """Timings taken while others used the machine are shown, and said to be so."""
    shares = [line.get("busy") or 0 for line in lines if line.device == "cpu"]
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


def on_gpu(report, precision="fp32"):
    """{(net, batch): line} of comparisons on a GPU."""
    return latest(report, "bench_gpu", "gpu", "net", "batch", precision=precision)


def table(report, device):
    return [_cpu_table(report)] if device == "cpu" else _gpu_tables(report)


def _header(t, unit):
    header = [t("batch"), "", t("layout"), f"{t('time')} ({unit})", t("images/s"), "MiB"]
    return [*header, t("ratio")]


def _cpu_table(report):
    t, found = report.t, on_cpu(report)
    if not found:
        raise Missing(t("no training step was timed"), _fix("cpu"))
    scale, unit = units.time_unit([x["ours"]["median"] / n for x, n in found.values()])
    rows = []
    for (net, batch), (line, steps) in found.items():
        where, rest = line.where, {"ours": units.DASH}
        rest["twin"] = units.spread(line["ratio"], 1.0, f"{where} ratio")
        report.set(f"step.{net}.{batch}.cpu.ratio", rest["twin"])
        layout = f"{line.get('twin_layout', '')}, {line.get('twin_threads', '?')}"
        rows.append(None)
        for side, who in (("ours", t("ours")), ("twin", "PyTorch")):
            time = units.spread(line[side], scale * steps, f"{where} {side}")
            rate = line["images"] / line[side]["median"]
            rate = units.quantity(rate, 1.0, f"{where} images / {side}.median")
            peak = f"{side}_peak_bytes"
            peak = units.quantity(line.get(peak), 2.0**20, f"{where} {peak}")
            report.set(f"step.{net}.{batch}.cpu.{side}", time)
            first = [net, units.count(batch)] if side == "ours" else ["", ""]
            own = layout if side == "twin" else ""
            rows.append([*first, who, own, time, rate, peak, rest[side]])
    caption = t(
        "Training steps on the CPU, alternating in one run; PyTorch in the quickest of its "
        "configurations. Time: median and quartiles. MiB: memory at its peak without the data set, "
        "as the two allocators count it. A ratio below 1 says that ours is quicker."
    )
    lines = [line for line, _ in found.values()]
    header = [t("net"), *_header(t, unit)]
    header[3] = t("layout, threads")
    note = busy_note(report, lines)
    return Table("steps-cpu", caption, "lrllrrrr", header, rows[1:], lines, note=note)


def _gpu_tables(report):
    found = on_gpu(report)
    if not found:
        raise Missing(report.t("no training step was timed on a GPU"), _fix("gpu"))
    medians = [line["times"]["ours"]["median"] * 1e-6 for line in found.values()]
    scale, unit = units.time_unit(medians)
    tables = [_gpu_table(report, net, found, scale, unit) for net in _nets(found)]
    for precision in _PRECISIONS:
        rounded = on_gpu(report, precision)
        tables += [
            _rounded_table(report, net, rounded, precision, scale, unit) for net in _nets(rounded)
        ]
    return tables


def _nets(found):
    return sorted({net for net, _ in found})


def _rows_of(report, net, found, ways, compared, scale):
    lines, rows = [line for (n, _), line in found.items() if n == net], []
    for line in lines:
        rows.append(None)
        rows += _gpu_rows(report, line, ways, compared, scale)
    return lines, rows[1:]


def _gpu_table(report, net, found, scale, unit):
    t, ways = report.t, _FLOAT32 | _ROUNDED["tf32"] | _ROUNDED["bf16"]
    lines, rows = _rows_of(report, net, found, ways, _FLOAT32, scale)
    caption = t(
        "Training steps of net {net} on the GPU, alternating in one run; each of PyTorch's ways in "
        "the quicker of its two layouts. Time: median and quartiles. MiB: memory at its peak "
        "without the data set. The ratio is ours to that way, all in float32; what rounds its "
        "inputs stands below, for comparison only.",
        net=net,
    )
    return Table(f"steps-{net}-gpu", caption, "rllrrrr", _header(t, unit), rows, lines)


def _rounded_table(report, net, found, precision, scale, unit):
    t, ways = report.t, _ROUNDED[precision]
    lines, rows = _rows_of(report, net, found, ways, ways, scale)
    caption = t(
        "The same of net {net} in {precision}: products of rounded numbers, ours and PyTorch's. "
        "The ratio is ours to that way.",
        net=net,
        precision=_PRECISIONS[precision],
    )
    return Table(f"steps-{net}-{precision}-gpu", caption, "rllrrrr", _header(t, unit), rows, lines)


def _gpu_rows(report, line, ways, compared, scale):
    """Ours, and each of PyTorch's ways that was run, in its quicker layout; a ratio to those that
    compute in our precision."""
    t, where, times = report.t, line.where, line["times"]
    peaks = {"ours": line.get("ours_peak_bytes")} | (line.get("rival_peak_bytes") or {})
    precision = precision_of(line)
    key = "" if precision == "fp32" else f".{precision}"
    ours, rows = times["ours"]["median"], []
    for way, title in {"ours": t("ours"), **ways}.items():
        name = _best_layout(times, way)
        if not name:
            continue
        median = times[name]["median"]
        field = "ours_peak_bytes" if way == "ours" else f"rival_peak_bytes.{name}"
        ratio = units.DASH
        if way in compared:
            ratio = units.quantity(ours / median, 1.0, f"{where} times.ours / times.{name}")
        cells = [
            units.spread(times[name], scale / 1e-6, f"{where} times.{name}"),
            units.quantity(line["batch"] / median, 1e-6, f"{where} batch / times.{name}"),
            units.quantity(peaks.get(name), 2.0**20, f"{where} {field}"),
            ratio,
        ]
        step = f"step.{line['net']}.{line['batch']}{key}.gpu"
        if name in ("ours", line["best_rival"]):
            report.set(f"{step}.{'ours' if name == 'ours' else 'twin'}", cells[0])
        if name == line["best_rival"]:
            report.set(f"{step}.ratio", ratio)
        batch = "" if rows else units.count(line["batch"])
        rows.append([batch, title, name.partition(", ")[2], *cells])
    return rows


def _best_layout(times, way):
    """The quicker layout of a way, as named in the results; None if it was not run."""
    names = [name for name in times if name.partition(",")[0] == way]
    return min(names, key=lambda name: times[name]["median"], default=None)


def batch_plot(report, device):
    """Time of a step against the batch size, one pair of lines per net."""
    import style

    points, lines = {}, []
    if device == "cpu":
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
        options = (" BATCH=64", " BATCH=512") if device == "cpu" else ("",)
        fix = "; ".join(_fix(device, batch) for batch in options)
        raise Missing(report.t("steps of one batch size only"), fix)
    scale, unit = units.time_unit([p[1] for ps in points.values() for p in ps])

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
        "Time of a training step against the batch size, {device}; PyTorch's in its quickest way.",
        device=DEVICES[device],
    )
    return [Plot(f"batch-{device}", caption, draw, lines)]
