"""The parts about the ladder, rung by rung, as `make bench` measured it."""

import units
from parts import Missing, Plot, Table
from roofline import draw_roofline
from steps import latest
from training import DEVICES
from whose import owner


def how_to_measure(device):
    if device == "gpu":
        return owner().make_on_gpu('"build ladder"')
    return owner().make("bench DEVICE=cpu")


def _precision(line):
    return line.get("precision", "fp32")


def _chosen(report, device):
    """{operation: [(warm, cold) of each rung]} at its costliest shape, where it has rungs: those of
    float first, then those of tensor cores."""
    cases = {}
    names = ("op", "shape", "rung", "cache", "real")
    picked = [*latest(report, "ladder", device, *names).items(),
              *latest(report, "ladder_rounded", device, *names, "precision").items()]  # fmt: skip
    for (op, shape, rung, cache, *_), line in picked:
        if line.get("real", "float") != "float":
            continue
        key = (_precision(line) != "fp32", _precision(line), rung)
        cases.setdefault(op, {}).setdefault(shape, {}).setdefault(key, {})[cache] = line
    found = {}
    for op, shapes in cases.items():
        whole = [[(rungs[r]["warm"], rungs[r]["cold"]) for r in sorted(rungs)
                  if len(rungs[r]) == 2] for rungs in shapes.values()]  # fmt: skip
        whole = [rungs for rungs in whole if len(rungs) > 1]
        if whole:
            found[op] = max(whole, key=lambda rungs: (rungs[0][0]["flops"], rungs[0][0]["bytes"]))
    if not found:
        raise Missing(report.t("no rung was timed"), how_to_measure(device))
    return found


def _row(warm, cold, scale):
    """Shares and rates are those of cold caches: what a step of a net finds."""
    own = [units.spread(line.fields, scale, line.where) for line in (warm, cold)]
    rate = cold["flops"] / cold["median"] if cold["flops"] else None
    ceiling = cold.get("of_ceiling")
    return [cold["rung"], _precision(cold), *own,
            units.quantity(rate, 1e9, f"{cold.where} flops / median"),
            units.quantity(cold["bytes"] / cold["median"], 1e9, f"{cold.where} bytes / median"),
            units.quantity(cold["of_rung_0"], 1.0, f"{cold.where} of_rung_0"),
            units.percent(ceiling, f"{cold.where} of_ceiling")]  # fmt: skip


def table(report, device):
    if owner().mine:
        return []  # their rung 0 is not the student's
    t = report.t
    found = _chosen(report, device)
    lines = [line for rungs in found.values() for pair in rungs for line in pair]
    scale, unit = units.time_unit([line["median"] for line in lines])
    rows = []
    for op, rungs in found.items():
        rows += [None] if rows else []
        rows += [[f"{op} {rungs[0][0]['shape']}" if i == 0 else "", *_row(*pair, scale)]
                 for i, pair in enumerate(rungs)]  # fmt: skip
    caption = t(
        "The ladder rung by rung, {device}: each operation at its costliest shape, with warm and "
        "with cold caches; rates, speed beside rung 0 (the plain path, in fp32) and share of the "
        "ceiling measured in the rung's precision are of cold ones.",
        device=DEVICES[device],
    )
    header = [t("operation"), t("rung"), t("precision"), f"{t('warm')} ({unit})",
              f"{t('cold')} ({unit})", "GFLOP/s", "GB/s", t("of rung 0"),
              t("ceiling (%)")]  # fmt: skip
    return [Table(f"rungs-{device}", caption, "lll" + "r" * 6, header, rows, lines)]


def roofline(report, device):
    if owner().mine:
        return []  # their rung 0 is not the student's
    t = report.t
    cold = [pair[1] for rungs in _chosen(report, device).values() for pair in rungs
            if _precision(pair[1]) == "fp32"]  # under float's ceilings
    counted = [line for line in cold if line["flops"] and line["bytes"]]
    if not counted:
        raise Missing(t("no rung was timed"), how_to_measure(device))
    points = [(x["flops"] / x["bytes"], x["flops"] / x["median"] / 1e9, f"{x['op']} {x['rung']}")
              for x in counted]  # fmt: skip
    top, slope = (max(x[name] for x in counted) for name in ("peak_flops_per_s",
                                                              "peak_bytes_per_s"))  # fmt: skip
    caption = t(
        "Roofline of the ladder, {device}: what each rung reaches with cold caches, under the "
        "measured ceilings: {flops} GFLOP/s in a product, {bytes} GB/s in a copy.",
        device=DEVICES[device], flops=units.significant(top / 1e9),
        bytes=units.significant(slope / 1e9),
    )  # fmt: skip
    draw = draw_roofline(t, top, slope, points)
    return [Plot(f"rungs-roofline-{device}", caption, draw, counted, (6.3, 4.2), width=1.0)]
