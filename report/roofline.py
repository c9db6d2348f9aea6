"""The roofline: what each operation of a training step reaches, under the measured ceilings."""

import profiles
import units
from operators import fix_ops
from parts import Missing, Plot
from training import DEVICES
from whose import owner


def roofline(report, device):
    """Arithmetic rate of each operation against its intensity, under the measured ceilings."""
    t = report.t
    lines = profiles.chosen(report, device).get("ours")
    if not lines:
        raise Missing(t("no run was profiled"), profiles.how_to_profile(device))
    peak = report.fresh.pick(report.results.of("peak", device, rungs=owner().rungs))
    if not peak:
        raise Missing(t("the ceilings of this machine were not measured"), fix_ops(device))
    counted = [x for x in profiles.outermost(lines)
               if x.get("flops") and x.get("bytes") and x["seconds"]]
    if not counted:
        raise Missing(t("no run was profiled"), profiles.how_to_profile(device))
    caption = t(
        "Roofline, {device}: what each operation of a training step reaches, under the measured "
        "ceilings: {flops} GFLOP/s in a product, {bytes} GB/s in a copy.",
        device=DEVICES[device], flops=units.significant(peak["flops_per_s"] / 1e9),
        bytes=units.significant(peak["bytes_per_s"] / 1e9),
    )  # fmt: skip
    size = (6.3, 3.2)
    points = [(x["flops"] / x["bytes"], x["flops"] / x["seconds"] / 1e9, x["op"]) for x in counted]
    draw = draw_roofline(t, peak["flops_per_s"], peak["bytes_per_s"], points)
    return [Plot(f"roofline-{device}", caption, draw, [*lines, peak], size, width=1.0)]


def draw_roofline(t, flops, bytes_, points):
    """`points`: FLOP a byte, GFLOP/s and name of each, under ceilings in FLOP/s and bytes/s."""
    import style

    top, slope = flops / 1e9, bytes_ / 1e9
    points = sorted(points, key=lambda point: -point[1])
    bend = top / slope
    intensities = [point[0] for point in points]
    xs = [min(intensities) / 2, bend, 2 * max(*intensities, bend)]

    def draw(figure):
        ax = figure.subplots()
        ax.plot(xs, [min(top, slope * x) for x in xs], color="black", linewidth=1.5)
        for i, (x, y, op) in enumerate(points):
            look = {"color": style.shade(i), "marker": style.marker(i), "linestyle": ""}
            ax.plot([x], [y], label=f"{i + 1} {op}", **look)
            at = {"textcoords": "offset points", "xytext": (4, 3)}
            ax.annotate(str(i + 1), (x, y), fontsize=6, **at)
        ax.set(xscale="log", yscale="log", xlabel=t("FLOP a byte"), ylabel="GFLOP/s")
        style.plain_log(ax.xaxis)
        style.plain_log(ax.yaxis)
        figure.legend(loc="outside right upper")

    return draw
