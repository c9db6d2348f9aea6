"""The part about our operators inside PyTorch (bridge/): PyTorch's own, ours called from Python and
ours as a C++ extension. What they take alone, what net m reaches by them, what a step calls."""

import units
from operators import _shape
from parts import Missing, Table
from steps import busy_note, latest
from training import DEVICES
from whose import owner

OWN = "pytorch"
_SHOWN = 8  # operations of a step


def how_to_measure(device):
    if device == "gpu":
        return owner().make_on_gpu('"build bridge"')
    return owner().make("bridge-bench DEVICE=cpu")


def _ways(found):
    """The ways that were measured, PyTorch's own first."""
    return [OWN, *sorted(set(found) - {OWN}, reverse=True)]


def _heading(report, way):
    return {OWN: "PyTorch", "python": report.t("ours, from Python"),
            "cpp": report.t("ours, in C++")}.get(way, way)  # fmt: skip


# ---- operators -----------------------------------------------------------------------------------


def operators(report, device):
    """A linear layer and convolutions: each way's time, and its ratio to PyTorch's own."""
    t = report.t
    names = ("op", "series", "pass", "n", "c", "k", "h", "in", "out")
    lines = list(latest(report, "bridge_op", device, *names).values())
    if not lines:
        raise Missing(t("no operator was timed inside PyTorch"), how_to_measure(device))
    lines.sort(key=lambda x: (x["series"] != "long", x["op"], x["pass"],
                              *(x.get(name) or 0 for name in "nhck")))  # fmt: skip
    ways = _ways(lines[0]["times"])
    scale, unit = units.time_unit([line["times"][way]["median"] for line in lines for way in ways])
    rows, seen = [], set()
    for line in lines:
        shape = _shape(report, line)
        if (shape, line["pass"]) in seen:
            continue  # the same shape in two series
        seen.add((shape, line["pass"]))
        row = [shape, t(line["pass"])]
        for way in ways:
            where = f"{line.where} times.{way}"
            row.append(units.spread(line["times"][way], scale, where))
            if way != OWN:
                row.append(units.spread(line["ratios"][way], 1.0, f"{line.where} ratios.{way}"))
        rows.append(row)
        key = f"bridge.{line['op']}.{line['pass'].replace('+', '-')}.{device}"
        if line["series"] == "long":
            for way in ways[1:]:
                ratio, where = line["ratios"][way]["median"], f"{line.where} ratios.{way}.median"
                report.set(f"{key}.{way}.ratio", units.quantity(ratio, 1.0, where))
    caption = t(
        "Operators inside PyTorch, {device}: its own, and ours by two ways; over {repeats} runs "
        "and over {few}; the ratios are to PyTorch's own.",
        device=DEVICES[device], repeats=max(line["repeats"] for line in lines),
        few=min(line["repeats"] for line in lines),
    )  # fmt: skip
    header = [t("operation"), ""]
    for way in ways:
        header += [f"{_heading(report, way)} ({unit})"] + ([t("ratio")] if way != OWN else [])
    columns = "ll" + "r" * (len(header) - 2)
    note = busy_note(report, lines)
    return [Table(f"bridge-ops-{device}", caption, columns, header, rows, lines, note=note)]


# ---- net m ---------------------------------------------------------------------------------------


def net(report, device):
    """What net m reaches on MNIST, and how long that takes, way by way."""
    t = report.t
    lines = list(latest(report, "bridge_epoch", device, "way", "epoch").values())
    lines = [line for line in lines if line["epoch"] <= line["epochs"]]
    if not lines:
        raise Missing(t("no net was trained inside PyTorch"), how_to_measure(device))
    ways = _ways({line["way"] for line in lines})
    rows = []
    for way in ways:
        own = sorted((x for x in lines if x["way"] == way), key=lambda line: line["epoch"])
        last, best = own[-1], max(own, key=lambda line: line["test_acc"])
        seconds = sorted(line["train_s"] for line in own)
        rows.append([
            _heading(report, way),
            units.percent(last["test_acc"], f"{last.where} test_acc"),
            units.percent(best["test_acc"], f"{best.where} test_acc"),
            units.quantity(last["total_s"], 1.0, f"{last.where} total_s"),
            units.quantity(seconds[len(seconds) // 2], 1.0, "the middle one of train_s"),
        ])  # fmt: skip
        report.set(f"bridge.net.{device}.{way}.acc", rows[-1][1])
    caption = t(
        "Net {net} on {dataset}, {device}, {epochs} epochs by PyTorch's own operators and by ours: "
        "accuracy after the last and after the best epoch, seconds of all and of the middle one.",
        net=lines[0]["net"], dataset=lines[0]["dataset"], device=DEVICES[device],
        epochs=lines[0]["epochs"],
    )  # fmt: skip
    header = [t("operators"), t("last (%)"), t("best (%)"), t("all (s)"), t("an epoch (s)")]
    note = busy_note(report, lines)
    return [Table(f"bridge-net-{device}", caption, "lrrrr", header, rows, lines, note=note)]


# ---- a step's calls ------------------------------------------------------------------------------


def calls(report, device):
    """The operations that take the most of a step, as PyTorch's profiler counts them."""
    t = report.t
    picked = latest(report, "bridge_profile", device, "way", "op").values()
    if not picked:
        raise Missing(t("no step was profiled inside PyTorch"), how_to_measure(device))
    rows, used = [], []
    for way in _ways({line["way"] for line in picked}):
        own = sorted((x for x in picked if x["way"] == way), key=lambda line: -line["seconds"])
        if rows:
            rows.append(None)
        rows.append([_heading(report, way), *_totals(own)])
        rows += [[line["op"], *_cells(line)] for line in own[:_SHOWN]]
        used += own
    caption = t(
        "What a step of net {net} calls, {device}, batch {batch}: the first {shown} operations of "
        "each way by the time that they take themselves.",
        net=used[0]["net"], device=DEVICES[device], batch=used[0]["batch"], shown=_SHOWN,
    )  # fmt: skip
    header = [t("operation"), t("calls a step"), t("time a step ({unit})", unit="us")]
    return [Table(f"bridge-calls-{device}", caption, "lrr", header, rows, used)]


def _cells(line):
    steps = line["steps"]
    return [units.quantity(line["calls"] / steps, 1.0, f"{line.where} calls / steps"),
            units.quantity(line["seconds"] / steps, 1e-6, f"{line.where} seconds / steps")]


def _totals(lines):
    steps = lines[0]["steps"]
    return [units.quantity(sum(line["calls"] for line in lines) / steps),
            units.quantity(sum(line["seconds"] for line in lines) / steps, 1e-6)]
