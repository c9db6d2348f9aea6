"""Parts about training: what was reached, epoch by epoch, and how long a step takes."""

import store
import units
from parts import Missing, Plot, Table
from whose import owner

DEVICES = {"cpu": "CPU", "gpu": "GPU"}


def nets(report):
    """Those that somebody has trained."""
    return sorted({run.start["net"] for run in report.results.runs})


def chosen_runs(report, net, device):
    """{"ours": {seed: run}, "twin": …} of the one recipe with the most seeds on both sides.

    Somebody who tried other options has runs of other recipes too; they do not mix. A recipe of
    which a run of ours may be used goes before those of other code, and one with all of it before
    those that something was taken from to see what it does (ablations.py).
    """
    recipes = {}
    for run in report.results.runs:
        if run.start["net"] == net and run.start.device == device:
            side = "ours" if run.start.ours else "twin"
            seeds = recipes.setdefault(run.recipe, {"ours": {}, "twin": {}})[side]
            seeds.setdefault(run.start["seed"], []).append(run)
    if not recipes:
        return {"ours": {}, "twin": {}}

    def newest(sides):
        return max(
            r.start["time"] for side in sides.values() for runs in side.values() for r in runs
        )

    partial = {r for others in store.ablated(recipes).values() for r in others.values()}

    def rank(recipe):
        sides = recipes[recipe]
        starts = [run.start for runs in sides["ours"].values() for run in runs]
        usable = any(not report.fresh.fault(start) for start in starts)
        both = set(sides["ours"]) & set(sides["twin"])
        all_seeds = len(sides["ours"]) + len(sides["twin"])
        return usable, recipe not in partial, len(both), all_seeds, newest(sides)

    best = recipes[max(recipes, key=rank)]
    return {side: picked(report, seeds) for side, seeds in best.items()}


def picked(report, seeds):
    """{seed: run} of {seed: [runs]}: of each seed the one that may be used, or the latest."""
    chosen = {}
    for seed, runs in sorted(seeds.items()):
        start = report.fresh.pick([run.start for run in runs])
        chosen[seed] = next(run for run in runs if run.start is start)
    return chosen


def fix_training(report, device, net=None):
    net = net or "a"
    if device == "gpu":
        return owner().make_on_gpu('"build accuracy"')
    return "; ".join(owner().make(f"{g} NET={net} DEVICE=cpu") for g in ("train", "baseline"))


def data_of(run):
    """The data set, and how much of it where that is not all."""
    limit = run.options.get("limit")
    return run.start["dataset"] + (f" (LIMIT={limit})" if limit else "")


def all_lines(sides):
    return [line for runs in sides.values() for run in runs.values() for line in run.lines]


def seeds_text(sides):
    return ", ".join(str(s) for s in sorted({*sides["ours"], *sides["twin"]}))


def _last(runs, name):
    return [run.epochs[-1][name] for run in runs.values()]


def _total(runs):
    """Seconds of training, without evaluation, of each run; None where an epoch's are not known."""
    return [units.total([e["train_s"] for e in run.epochs]) for run in runs.values()]


def _rates(runs):
    """Images a second of each run, over all of its epochs but the first, which warms up.

    Epochs that a resumed run took over from its checkpoint have no times, and do not count."""
    rates = []
    for run in runs.values():
        epochs = [e for e in run.epochs[1:] or run.epochs if e["train_s"] is not None]
        seconds = sum(e["train_s"] for e in epochs)
        images = sum(e["images_per_s"] * e["train_s"] for e in epochs)
        rates.append(images / seconds if seconds else None)
    return rates


def final(report, device):
    """Accuracy, time and rate of all nets, ours beside PyTorch's."""
    rows, lines = [], []
    for net in nets(report):
        sides = chosen_runs(report, net, device)
        if not sides["ours"]:
            continue
        lines += all_lines(sides)
        dataset = data_of(next(iter(sides["ours"].values())))
        rows.append(None)
        for side in ("ours", "twin"):
            runs = sides[side]
            if not runs:
                rows.append(["", "", "PyTorch", "", *[units.DASH] * 5])
                continue
            ends = ", ".join(run.epochs[-1].where for run in runs.values())
            acc, loss = _last(runs, "test_acc"), _last(runs, "test_loss")
            cells = {
                "acc": units.over_seeds(acc, "percent", f"{ends} test_acc"),
                "loss": units.over_seeds(loss, "loss", f"{ends} test_loss"),
                "time": units.over_seeds(_total(runs), "time", f"{ends} sum of train_s"),
                "rate": units.over_seeds(_rates(runs), "rate", f"{ends} images / sum of train_s"),
            }
            for name, value in cells.items():
                report.set(f"{net}.{device}.{side}.{name}", value)
            who = report.t("ours") if side == "ours" else "PyTorch"
            epochs = units.count(next(iter(runs.values())).planned)
            rows.append([net if side == "ours" else "", dataset if side == "ours" else "",
                         who, epochs if side == "ours" else "", units.count(len(runs)),
                         *cells.values()])  # fmt: skip
        if sides["twin"]:
            ours, twin = (units.total(_total(sides[side])) for side in ("ours", "twin"))
            known = ours is not None and twin is not None
            ratio = ours / len(sides["ours"]) / (twin / len(sides["twin"])) if known else None
            report.set(f"{net}.{device}.ratio", units.quantity(ratio))
    if not rows:
        raise Missing(report.t("no finished training run"), fix_training(report, device))
    t = report.t
    return [Table(
        f"final-{device}",
        t("Training, {device}: test accuracy and loss after the last epoch, time without "
          "evaluation, images a second. Mean over the seeds, in brackets the smallest and the "
          "largest.",
          device=DEVICES[device]),
        "lll" + "r" * 6,
        [t("net"), t("data set"), "", t("epochs"), t("seeds"), t("test accuracy (%)"),
         t("test loss"), t("time (s)"), t("images/s")],
        rows[1:], lines,
    )]  # fmt: skip


def _mean(numbers):
    return sum(numbers) / len(numbers)


def epochs(report, device):
    """One table per net: each epoch, means over the seeds."""
    tables = []
    for net in nets(report):
        sides = chosen_runs(report, net, device)
        if not sides["ours"]:
            continue
        rows = []
        for i in range(next(iter(sides["ours"].values())).planned):
            row = [units.count(i + 1)]
            for side in ("ours", "twin"):
                runs = sides[side]
                for name, kind in (("train_loss", "loss"), ("test_loss", "loss"),
                                   ("test_acc", "percent"), ("train_s", "time")):  # fmt: skip
                    numbers = [run.epochs[i][name] for run in runs.values()]
                    lines = [run.epochs[i].where for run in runs.values()]
                    row.append(_plain_mean(numbers, kind, f"{', '.join(lines)} {name}"))
            rows.append(row)
        t = report.t
        head = [t("train loss"), t("test loss"), t("test acc. (%)"), t("time (s)")]
        tables.append(Table(
            f"epochs-{net}-{device}",
            t("Net {net} on {dataset}, {device}, epoch by epoch: means over seeds {seeds}.",
              net=net,
              dataset=data_of(next(iter(sides["ours"].values()))), device=DEVICES[device],
              seeds=seeds_text(sides)),
            "r" + "rrrr" * 2, [t("epoch"), *head, *head], rows, all_lines(sides),
            groups=[("", 1), (t("ours"), 4), ("PyTorch", 4)],
        ))  # fmt: skip
    if not tables:
        raise Missing(report.t("no finished training run"), fix_training(report, device))
    return tables


def _plain_mean(numbers, kind, source):
    if not numbers or any(n is None for n in numbers):
        return units.Value(units.DASH, [None], 1.0, source)
    make = {"loss": units.loss, "percent": units.percent, "time": units.quantity}[kind]
    return make(_mean(numbers), source=source)


def curves(report, device):
    """Loss and accuracy over the epochs, with a band from the smallest to the largest seed."""
    plots = []
    for net in nets(report):
        sides = chosen_runs(report, net, device)
        if not sides["ours"]:
            continue

        def draw(figure, sides=sides):
            axes = figure.subplots(1, 2)
            for ax, name, scale in ((axes[0], "loss", 1.0), (axes[1], "acc", 100.0)):
                for side, style in (("ours", "ours"), ("twin", "twin")):
                    for split in ("train", "test"):
                        _band(report, ax, sides[side], f"{split}_{name}", scale, style, split)
                ax.set_xlabel(report.t("epoch"))
            axes[0].set_ylabel(report.t("loss"))
            axes[1].set_ylabel(report.t("accuracy (%)"))
            axes[0].legend()

        plots.append(Plot(
            f"curves-{net}-{device}",
            report.t("Net {net}, {device}: loss and accuracy, ours and PyTorch's; the line is the "
                     "mean, the band goes from the smallest to the largest of seeds {seeds}.",
                     net=net, device=DEVICES[device], seeds=seeds_text(sides)),
            draw, all_lines(sides), size=(6.3, 2.6), width=1.0, timed=False,
        ))  # fmt: skip
    if not plots:
        raise Missing(report.t("no finished training run"), fix_training(report, device))
    return plots


def _band(report, ax, runs, name, scale, side, split):
    import style

    if not runs:
        return
    columns = list(zip(*[[e[name] for e in run.epochs] for run in runs.values()]))
    columns = [[scale * v for v in c] if None not in c else None for c in columns]
    at = [i + 1 for i, c in enumerate(columns) if c]
    columns = [c for c in columns if c]
    if not columns:
        return
    who = report.t("ours") if side == "ours" else "PyTorch"
    look = style.series(side, split)
    ax.plot(at, [_mean(c) for c in columns], label=f"{who}, {report.t(split)}", **look)
    ax.fill_between(at, [min(c) for c in columns], [max(c) for c in columns], alpha=0.2,
                    color=look["color"], linewidth=0)  # fmt: skip
    ax.xaxis.get_major_locator().set_params(integer=True)
