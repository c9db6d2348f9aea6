"""The ablations of lab 5: what a net reaches with momentum, weight decay and augmentation, and what
when one of them is off. Made of the lines that `make train` writes."""

import store
import units
from parts import Missing, Table, command_of
from training import DEVICES, all_lines, data_of, picked
from whose import owner

# What labs/lab5/experiments.md has typed. The rate is the one that momentum 0.9 bears.
ALL = {"NET": "a", "LR": "0.01", "MOMENTUM": "0.9", "WD": "0.0005", "AUG": "crop+flip"}
NAMES = {"": "with-all", **{name: f"no-{name}" for name in store.OFF}}  # of folders and values


def folder_of(name):
    return f"{owner().results}/{NAMES[name]}"


def command(name):
    """What trains with all three (name: ""), or without this one."""
    options = ALL | ({name.upper(): str(store.OFF[name])} if name else {})
    words = [f"{option}={value}" for option, value in options.items()]
    return owner().make(" ".join(["train", *words, f"OUT={folder_of(name)}"]))


def _by_recipe(report, device):
    found = {}
    for run in report.results.runs:
        if run.start.ours and run.start.device == device:
            seeds = found.setdefault(run.recipe, {})
            seeds.setdefault(run.start["seed"], []).append(run)
    return found


def chosen(report, device):
    """{net: {"": {seed: run} with all three, "momentum": those without it, …}}: of each net the
    recipe that most is known of, and of several the newest."""
    found, best = _by_recipe(report, device), {}
    for recipe, others in store.ablated(found).items():
        runs = {name: picked(report, found.get(r, {}))
                for name, r in {"": recipe, **others}.items()}  # fmt: skip
        newest = max(run.start["time"] for run in runs[""].values())
        rank = sum(map(bool, runs.values())), newest
        best[recipe[0]] = max(best.get(recipe[0], ((0, ""), None)), (rank, runs),
                              key=lambda pair: pair[0])  # fmt: skip
    return {net: runs for net, (_, runs) in sorted(best.items())}


def _to_type(runs):
    """The commands of what is missing, with the options and seeds of the run that has all."""
    start = next(iter(runs[""].values())).start
    seed = {} if start["seed"] == 1 else {"seed": start["seed"]}
    return [command_of(start, **{name: store.OFF[name]}, **({"nesterov": 0} if name == "momentum"
                       and start.get("nesterov") else {}), **seed, out=folder_of(name))
            for name in store.OFF if not runs[name]]  # fmt: skip


def _row(report, key, title, full, runs):
    """Of one recipe; `full`: the runs with all three."""
    if not runs:
        return [title, *[units.DASH] * 5]
    last = {seed: run.epochs[-1] for seed, run in runs.items()}
    ends = ", ".join(line.where for line in last.values())

    def over_seeds(name, kind):
        return units.over_seeds([line[name] for line in last.values()], kind, f"{ends} {name}")

    accuracy, change = over_seeds("test_acc", "percent"), ""
    report.set(f"{key}.acc", accuracy)
    if full is not runs:
        pairs = [(last[s]["test_acc"], full[s].epochs[-1]["test_acc"])
                 for s in last if s in full]  # fmt: skip
        known = pairs and not any(None in pair for pair in pairs)
        change = units.change(sum(a - b for a, b in pairs) / len(pairs) if known else None,
                              "difference of test_acc, seed by seed")  # fmt: skip
        report.set(f"{key}.change", change)
    return [title, units.count(len(runs)), over_seeds("train_loss", "loss"),
            over_seeds("test_loss", "loss"), accuracy, change]  # fmt: skip


def table(report, device):
    """A table for each net that was trained with all three and without one of them."""
    t, tables = report.t, []
    titles = {"": t("all three"), "momentum": t("without momentum"),
              "wd": t("without weight decay"), "aug": t("without augmentation")}  # fmt: skip
    nets = {net: runs for net, runs in chosen(report, device).items()
            if any(runs[name] for name in store.OFF)}  # fmt: skip
    for net, runs in nets.items():
        first = next(iter(runs[""].values()))
        rows = [_row(report, f"ablations.{net}.{device}.{NAMES[name]}", title, runs[""], runs[name])
                for name, title in titles.items()]  # fmt: skip
        to_type = "; ".join(_to_type(runs))
        tables.append(Table(
            f"ablations-{net}-{device}",
            t("Ablations, net {net} on {dataset}, {device}, {epochs} epochs: momentum {momentum}, "
              "weight decay {wd} and augmentation {aug}, and one of them off at a time. Change: of "
              "the test accuracy.",
              net=net, dataset=data_of(first), device=DEVICES[device], epochs=first.planned,
              momentum=first.options["momentum"], wd=first.options["wd"],
              aug=first.options["aug"]),
            "lrrrrr",
            ["", t("seeds"), t("train loss"), t("test loss"), t("test accuracy (%)"),
             t("change (%)")],
            rows, [line for own in runs.values() for line in all_lines({"ours": own})],
            note=t("Not trained yet: {commands}", commands=to_type) if to_type else "",
            timed=False,
        ))  # fmt: skip
    if tables:
        return tables
    where = {"cpu": "cpu", "gpu": "cuda"}[device]
    known = chosen(report, device)
    missing = [c for runs in known.values() for c in _to_type(runs)] or [
        f"{command(name)} DEVICE={where}" for name in NAMES]
    raise Missing(t("no run without momentum, without weight decay or without augmentation beside "
                    "one that has all three"), "; ".join(missing))  # fmt: skip
