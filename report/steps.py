"""Parts about the time of a training step, and the memory it takes."""

import units
from parts import Missing, Plot, Table
from training import LANES

_GPU_WAYS = (("eager", "eager"), ("graph", "CUDA graph"), ("compile+graph", "compile + graph"))


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
    return report.t("Other programs took {busy} % of the processor when this was measured: take the ratios "
                    "with care.", busy=units.significant(100 * max(shares), 2))  # fmt: skip


def cpu_steps(report):
    """{(net, batch): (line, steps an epoch)} of comparisons on the processor."""
    found = {}
    for (net, batch), line in latest(report, "bench_step", "cpu", "net", "batch").items():
        found[net, batch] = line, -(-line["images"] // batch)
    return found


def _scaled(figures, factor):
    return {
        "median": figures["median"] * factor,
        "quartiles": [q * factor for q in figures["quartiles"]],
    }


def table(report, lane):
    return cpu_table(report) if lane == "cpu" else gpu_table(report)


def cpu_table(report):
    t, found = report.t, cpu_steps(report)
    if not found:
        raise Missing(t("no training step was timed"), "make bench-step NET=a DEVICE=cpu")
    scale, unit = units.unit_for([l["ours"]["median"] / n for l, n in found.values()], "s")
    rows = []
    for (net, batch), (line, steps) in found.items():
        where = line.where
        rate = line["images"] / line["ours"]["median"]
        ours = units.spread(
            _scaled(line["ours"], 1 / steps), scale, f"{where} ours / {steps} steps"
        )
        twin = units.spread(
            _scaled(line["twin"], 1 / steps), scale, f"{where} twin / {steps} steps"
        )
        ratio = units.spread(line["ratio"], 1.0, f"{where} ratio")
        report.set(f"step.{net}.{batch}.cpu.ours", ours)
        report.set(f"step.{net}.{batch}.cpu.twin", twin)
        report.set(f"step.{net}.{batch}.cpu.ratio", ratio)
        layout = f"{line.get('twin_layout', '')}, {line.get('twin_threads', '?')}"
        rows.append([net, units.count(batch), ours, twin, ratio,
                     units.quantity(rate, source=f"{where} images / ours"), layout])  # fmt: skip
    return [Table(
        "steps-cpu",
        t("Time of a training step on the CPU, alternating in one run; PyTorch in the quickest of its "
          "configurations. Median and quartiles; a ratio below 1 says that ours is quicker."),
        "lrrrrrl",
        [t("net"), t("batch"), f"{t('ours')} ({unit})", f"PyTorch ({unit})", t("ratio"),
         t("ours, images/s"), t("PyTorch's layout, threads")],
        rows, [line for line, _ in found.values()],
        note=busy_note(report, [line for line, _ in found.values()]),
    )]  # fmt: skip


def gpu_table(report):
    t = report.t
    found = latest(report, "bench_gpu", "gpu", "net", "batch")
    if not found:
        raise Missing(t("no training step was timed on a GPU"),
                      "make gpu-suite OUT=results/local/gpu STAGES=steps")  # fmt: skip
    medians = [line["times"]["ours"]["median"] * 1e-6 for line in found.values()]
    scale, unit = units.unit_for(medians, "s")
    rows = []
    for (net, batch), line in found.items():
        times, where = line["times"], line.where
        cells = [units.spread(_scaled(times["ours"], 1e-6), scale, f"{where} times.ours / 1e6")]
        for way, _ in _GPU_WAYS:
            best = _best_way(times, way)
            cells.append(units.spread(_scaled(times[best], 1e-6), scale, f"{where} times[{best}] / 1e6")
                         if best else units.DASH)  # fmt: skip
        ratio = 1 / line["ratio"]
        report.set(f"step.{net}.{batch}.gpu.ours", cells[0])
        report.set(f"step.{net}.{batch}.gpu.ratio", units.quantity(ratio))
        rate = batch / (times["ours"]["median"] * 1e-6)
        rows.append([net, units.count(batch), *cells, units.quantity(ratio, source=f"{where} 1/ratio"),
                     units.quantity(rate / 1e3, source=f"{where} batch / times.ours")])  # fmt: skip
    return [Table(
        "steps-gpu",
        t("Time of a training step on the GPU in float32, alternating in one run; each of PyTorch's ways "
          "in the quicker of its two layouts. Median and quartiles; the ratio is ours to PyTorch's "
          "quickest way."),
        "lrrrrrrr",
        [t("net"), t("batch"), f"{t('ours')} ({unit})", *[f"{name} ({unit})" for _, name in _GPU_WAYS],
         t("ratio"), t("ours, 1000 images/s")],
        rows, list(found.values()), groups=[("", 3), ("PyTorch", len(_GPU_WAYS)), ("", 2)],
    )]  # fmt: skip


def _best_way(times, way):
    """The quicker layout of a way to run PyTorch, as named in the results; None if it was not run."""
    names = [name for name in times if name.partition(",")[0] == way]
    return min(names, key=lambda name: times[name]["median"], default=None)


def memory(report, lane):
    """Peak of device memory: of a GPU's step beside PyTorch's."""
    t = report.t
    found = {key: line for key, line in latest(report, "bench_gpu", "gpu", "net", "batch").items()
             if line.get("ours_peak_bytes")}  # fmt: skip
    if not found:
        raise Missing(t("no step's memory was measured on a GPU"),
                      "make gpu-suite OUT=results/local/gpu STAGES=steps")  # fmt: skip
    rows = []
    for (net, batch), line in found.items():
        peaks, best = line.get("rival_peak_bytes") or {}, line["best_rival"]
        rows.append([net, units.count(batch),
                     units.quantity(line["ours_peak_bytes"], 2.0**20, f"{line.where} ours_peak_bytes"),
                     units.quantity(peaks.get(best), 2.0**20, f"{line.where} rival_peak_bytes.{best}"),
                     best])  # fmt: skip
    return [Table(
        "memory-gpu",
        t("Peak of GPU memory: ours with weights and optimiser but without the data set, PyTorch's of "
          "its quickest step alone."),
        "lrrrl", [t("net"), t("batch"), f"{t('ours')} (MiB)", "PyTorch (MiB)", t("PyTorch's way")],
        rows, list(found.values()),
    )]  # fmt: skip


def batch_plot(report, lane):
    """Time of a step against the batch size, one pair of lines per net."""
    import style

    points = {}
    lines = []
    if lane == "cpu":
        for (net, batch), (line, steps) in cpu_steps(report).items():
            lines.append(line)
            points.setdefault(net, []).append(
                (batch, line["ours"]["median"] / steps, line["twin"]["median"] / steps)
            )
    else:
        for (net, batch), line in latest(report, "bench_gpu", "gpu", "net", "batch").items():
            lines.append(line)
            times = line["times"]
            points.setdefault(net, []).append(
                (batch, 1e-6 * times["ours"]["median"], 1e-6 * times[line["best_rival"]]["median"])
            )
    if not any(len(p) > 1 for p in points.values()):
        raise Missing(report.t("steps of one batch size only"),
                      "make bench-step BATCH=64; make bench-step BATCH=512" if lane == "cpu" else
                      "make gpu-suite OUT=results/local/gpu STAGES=steps")  # fmt: skip
    scale, unit = units.unit_for([p[1] for ps in points.values() for p in ps], "s")

    def draw(figure):
        ax = figure.subplots()
        for i, (net, ps) in enumerate(sorted(points.items())):
            ps = sorted(ps)
            for k, side in ((1, "ours"), (2, "twin")):
                who = report.t("ours") if side == "ours" else "PyTorch"
                ax.plot([p[0] for p in ps], [p[k] / scale for p in ps],
                        label=f"{report.t('net')} {net}, {who}", **style.series(side, i))  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel=report.t("batch"),
               ylabel=f"{report.t('time of a step')} ({style.unit(unit)})")  # fmt: skip
        style.plain_ticks(ax, sorted({p[0] for ps in points.values() for p in ps}))
        ax.legend()

    return [Plot(f"batch-{lane}", report.t("Time of a training step against the batch size, {lane}; "
                 "PyTorch's in its quickest way.", lane=LANES[lane]), draw, lines)]  # fmt: skip
