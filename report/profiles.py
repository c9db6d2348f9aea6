"""The part about the operations of a training step: their share of its time."""

import units
from parts import Missing, Table
from training import DEVICES
from whose import owner

_SHOWN = 14  # rows; what is left is one row more


def how_to_profile(device):
    if device == "gpu":
        return owner().make_on_gpu('"build profile"')
    folder = f"{owner().results}/profile-cpu"
    ours = owner().make(f"train PROFILE=1 STEPS=200 DEVICE=cpu OUT={folder}")
    return f"{ours}; {owner().make('baseline PROFILE=1 DEVICE=cpu')}"


def chosen(report, device):
    """The latest profile of each side, of one net: {"ours": [lines], "twin": [lines]}."""
    sides = {}
    for line in report.results.of("profile", device):
        runs = sides.setdefault("ours" if line.ours else "twin", {})
        runs.setdefault((line.get("net"), line.path), []).append(line)
    nets = [{net for net, _ in runs} for runs in sides.values()]
    if not nets:
        raise Missing(report.t("no run was profiled"), how_to_profile(device))
    net = min(set.intersection(*nets) or set.union(*nets))
    found = {}
    for side, runs in sides.items():
        own = [lines for (n, _), lines in runs.items() if n == net]
        if own:
            best = report.fresh.pick([lines[0] for lines in own])
            found[side] = next(lines for lines in own if lines[0] is best)
    return found


def outermost(lines):
    """Operations that no other called: what they called is in their time."""
    return [line for line in lines if not line.get("within")]


def profile(report, device):
    sides = chosen(report, device)
    return [_table(report, device, side, outermost(lines)) for side, lines in sides.items()]


def _rate(line, what):
    amount = line.get(what)
    if not amount or not line["seconds"]:
        return units.DASH
    return units.quantity(amount / line["seconds"], 1e9, f"{line.where} {what} / seconds")


def _row(line, steps, total, side):
    w, seconds = line.where, line["seconds"]
    row = [
        line["op"],
        units.quantity(line["calls"] / steps, 1.0, f"{w} calls / steps"),
        units.quantity(seconds / steps, 1e-6, f"{w} seconds / steps"),
        units.percent(seconds / total, f"{w} seconds / {total!r}"),
    ]
    return row + ([_rate(line, "flops"), _rate(line, "bytes")] if side == "ours" else [])


def _rest(report, lines, steps, total, side):
    calls, seconds = (sum(line[name] for line in lines) for name in ("calls", "seconds"))
    row = [report.t("all others"), units.quantity(calls / steps)]
    row += [units.quantity(seconds / steps, 1e-6), units.percent(seconds / total)]
    return row + ([units.DASH] * 2 if side == "ours" else [])


def _table(report, device, side, lines):
    t = report.t
    lines = sorted(lines, key=lambda line: -line["seconds"])
    steps, total = lines[0]["steps"], sum(line["seconds"] for line in lines)
    rows = [_row(line, steps, total, side) for line in lines[:_SHOWN]]
    if lines[_SHOWN:]:
        rows.append(_rest(report, lines[_SHOWN:], steps, total, side))
    header = [t("operation"), t("calls a step"), t("time a step ({unit})", unit="us")]
    header.append(t("share (%)"))
    if side == "ours":
        header += ["GFLOP/s", "GB/s"]
        who = t("ours, counted in the dispatch table")
    else:
        who = t("PyTorch, by its own profiler")
    caption = t(
        "Operations of a training step, net {net}, batch {batch}, {device}: {who}.",
        net=lines[0].get("net"), batch=lines[0].get("batch"), device=DEVICES[device], who=who,
    )  # fmt: skip
    columns = "l" + "r" * (len(header) - 1)
    return Table(f"profile-{side}-{device}", caption, columns, header, rows, lines)
