"""Reading results: JSON lines with their origin, damaged ones named, runs put together.

Nothing is repaired here and nothing is guessed: what cannot be understood is left out and said so
(`Results.notes`), and the report prints those words in its appendix.
"""

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from whose import owner

# What a line must hold to be used, by kind: name and type. `float` also takes whole numbers and
# null, which stands for NaN; other fields are welcome and ignored.
_ORIGIN = {"program": str, "sources": str, "time": str}
_KINDS = {
    "run": {"net": str, "dataset": str, "device": str, "seed": int},
    "epoch": {"net": str, "epoch": int, "train_loss": float, "train_acc": float,
              "test_loss": float, "test_acc": float, "train_s": float, "images_per_s": float},
    "bench_step": {"net": str, "batch": int, "device": str, "ours": dict, "twin": dict,
                   "ratio": dict, "images": int},
    "bench_conv2d": {"layer": str, "batch": int, "precision": str, "ratio": dict},
    "bench_train": {"net": str, "precision": str, "ratio": float, "sides": dict},
    "bench_gpu": {"net": str, "batch": int, "times": dict, "best_rival": str, "ratio": float},
    "bench_op": {"op": str, "pass": str, "mode": str, "device": str, "ours": dict, "twin": dict,
                 "ratio": dict},
    "peak": {"device": str, "flops_per_s": float, "bytes_per_s": float},
    "ladder": {"op": str, "shape": str, "rung": str, "cache": str, "device": str, "flops": float,
               "bytes": float, "median": float, "quartiles": list, "of_rung_0": float,
               "of_ceiling": float, "peak_flops_per_s": float, "peak_bytes_per_s": float},
    "ladder_rounded": {"op": str, "shape": str, "rung": str, "precision": str, "cache": str,
                       "device": str, "flops": float, "bytes": float, "median": float,
                       "quartiles": list, "of_rung_0": float},
    "profile": {"op": str, "device": str, "calls": int, "seconds": float, "steps": int},
    "bridge_op": {"op": str, "pass": str, "device": str, "times": dict, "ratios": dict,
                  "repeats": int},
    "bridge_epoch": {"net": str, "way": str, "epoch": int, "epochs": int, "train_s": float,
                     "total_s": float, "test_acc": float},
    "bridge_profile": {"net": str, "way": str, "op": str, "calls": int, "seconds": float,
                       "steps": int, "batch": int},
    "predictions": {"net": str, "device": str, "confusion": list, "wrong_index": list},
}  # fmt: skip

# of grade.json; each of these has what a report takes of it
GRADES = ("gradlab-grade/2", "gradlab-grade/3", "gradlab-grade/4")

# the options of a training run that decide its course, beside net, data set, device and seed
RECIPE = "epochs batch limit opt lr momentum nesterov wd sched aug".split()
# what an ablation takes away, one at a time, and what is written where it is off
OFF = {"momentum": 0, "wd": 0, "aug": "none"}


@dataclass(eq=False)
class Line:
    """One JSON object and where it stands."""

    fields: dict
    path: Path
    number: int

    def __getitem__(self, name):
        return self.fields[name]

    def get(self, name, default=None):
        return self.fields.get(name, default)

    @property
    def where(self):
        return f"{self.path}:{self.number}"

    @property
    def device(self):
        """Which part of the report it belongs to: a GPU's numbers never meet a processor's."""
        return {"cpu": "cpu", "cuda": "gpu"}.get(self.get("device"))

    @property
    def ours(self):
        return self.get("framework") != "pytorch"

    @property
    def hardware(self):
        """What one table may have one of."""
        return self.get("gpu") or self.get("machine") or "unknown machine"


@dataclass(eq=False)
class Run:
    """A training run: its first line and its epochs, in order."""

    start: Line
    epochs: list = field(default_factory=list)

    @property
    def options(self):
        """The options of the run, as our trainer's line has them; the twin keeps them apart."""
        return self.start.get("options") or self.start.fields

    @property
    def planned(self):
        return self.options.get("epochs") or 0

    @property
    def complete(self):
        numbers = [e["epoch"] for e in self.epochs]
        return self.planned > 0 and numbers == list(range(1, self.planned + 1))

    @property
    def lines(self):
        return [self.start, *self.epochs]

    @property
    def recipe(self):
        """Runs of one recipe differ in nothing but the seed (and in who trained)."""
        o, s = self.options, self.start
        own = (s["net"], s["dataset"], s["device"], s.get("real", "float"),
               o.get("precision", "fp32"))  # (older lines do not say it)
        return (*own, *(o.get(name) for name in RECIPE))

    @property
    def summary(self):
        """Where a run that did not reach its end stands."""
        return f"{self.start.where}: {len(self.epochs)} of {self.planned} epochs"


def without(recipe, name):
    """The same recipe with one of OFF off; None where it is off already."""
    names = ("net", "dataset", "device", "real", "precision", *RECIPE)
    fields = dict(zip(names, recipe))
    if fields[name] in (None, OFF[name]):
        return None
    fields[name] = OFF[name]
    if name == "momentum":
        fields["nesterov"] = 0  # a form of momentum
    return tuple(fields.values())


def ablated(recipes):
    """{recipe: {what is off: that recipe}} of those that have all of OFF."""
    found = {recipe: {name: without(recipe, name) for name in OFF} for recipe in recipes}
    return {recipe: others for recipe, others in found.items() if None not in others.values()}


class Results:
    def __init__(self):
        self.lines, self.runs, self.grades, self.notes = [], [], [], []

    def of(self, kind, device, **wanted):
        """Lines of a kind on `cpu` or `gpu` whose fields are as wanted; the latest one last."""
        found = [line for line in self.lines if line["kind"] == kind and line.device == device]
        found = [x for x in found if all(x.get(n) == value for n, value in wanted.items())]
        return sorted(found, key=lambda line: line["time"])


def _finite(value):
    """null, NaN and infinity are all `None`: not a number that a report could print."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(v) for v in value]
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return value


def _lacking(fields):
    """What a line lacks, in words; empty if it can be used."""
    for name, kind in {**_ORIGIN, **_KINDS[fields["kind"]]}.items():
        if name not in fields:
            return f"no field {name}"
        value = fields[name]
        allowed = (int, float, type(None)) if kind is float else kind
        if not isinstance(value, allowed) or isinstance(value, bool):
            return f"field {name} is {value!r}"
    for name in ("ours", "twin", "ratio"):
        if isinstance(fields.get(name), dict) and not _sound(fields[name]):
            return f"field {name} has no median, quartiles and samples"
    return ""


def _sound(figures):
    numbers = [figures.get("median"), *(figures.get("quartiles") or [None])]
    return len(numbers) == 3 and all(isinstance(n, (int, float)) for n in numbers)


def _read_file(results, path, name):
    """Adds the lines of one file."""
    text = path.read_bytes().decode("utf-8", "replace")
    for number, row in enumerate(text.split("\n"), 1):
        if not row.strip():
            continue
        try:
            fields = _finite(json.loads(row))
        except ValueError:
            half = number == text.count("\n") + 1
            why = "half a line (the program was stopped while it wrote)" if half else "not JSON"
            results.notes.append(f"{name}:{number}: {why}; left out")
            continue
        if not isinstance(fields, dict) or fields.get("kind") not in _KINDS:
            continue  # of a kind that this report does not show
        fields.setdefault("device", "cuda" if fields["kind"] == "bench_gpu" else None)
        lacking = _lacking(fields)
        if lacking:
            results.notes.append(f"{name}:{number}: {lacking}; left out")
            continue
        results.lines.append(Line(fields, name, number))


def _was_for_a_profile(run, results):
    """A few steps with PROFILE=1: nothing but the run's options and the profile lies there."""
    log = Path(run.start.path)
    alone = [other for other in results.runs if other.start.path == run.start.path] == [run]
    profiles = {Path(line.path).parent for line in results.lines if line["kind"] == "profile"}
    return alone and not run.epochs and log.name == "train.jsonl" and log.parent in profiles


def _join_runs(results):
    """Each epoch belongs to the run line before it in its file; a resumed run has two."""
    current, latest = {}, {}
    for line in results.lines:
        key = (line.path, line["program"], line.get("net"), line.get("seed"))
        if line["kind"] == "run":
            run = Run(line)
            before = latest.get(key)
            # a resumed run writes its options again and goes on counting epochs
            if before and not before.complete and before.recipe == run.recipe:
                current[key] = before
                continue
            current[key] = latest[key] = run
            results.runs.append(run)
        elif line["kind"] == "epoch":
            run = current.get(key)
            if run is None:
                results.notes.append(
                    f"{line.where}: an epoch without the line of its run; left out"
                )
            elif run.epochs and line["epoch"] <= run.epochs[-1]["epoch"]:
                results.notes.append(f"{line.where}: epoch {line['epoch']} comes twice; left out")
            else:
                run.epochs.append(line)
    unfinished = [r for r in results.runs if not r.complete and not _was_for_a_profile(r, results)]
    results.notes += [f"{run.summary}: not finished; left out" for run in unfinished]
    results.runs = [run for run in results.runs if run.complete]


def _read_grade(results, path, name):
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] not in GRADES:
            raise ValueError(f"schema {document['schema']}")
        score = document["score"]
        if not all(isinstance(score[k], int) for k in ("points", "max")):
            raise ValueError("points are not whole numbers")
    except (OSError, ValueError, KeyError, TypeError) as error:
        results.notes.append(f"{name}: no grade that can be read ({error}); left out")
        return
    # of one lab the latest counts
    others = [(n, d) for n, d in results.grades if d.get("lab") != document.get("lab")]
    same = [(n, d) for n, d in results.grades if d.get("lab") == document.get("lab")]
    latest = max([*same, (name, document)], key=lambda grade: str(grade[1].get("time")))
    results.grades = [*others, latest]


def read(root, places):
    """All results of files and folders `places`, relative to `root`, in order of their names.

    Grades are those that `make grade` left here, and copies of them, grade*.json, in the folders.
    """
    results, grades, root = Results(), [], Path(root)
    for place in places:
        path = root / place
        if not path.exists():
            results.notes.append(f"{place}: no such file or folder")
            continue
        files = [path] if path.is_file() else sorted(path.rglob("*.jsonl"))
        for file in files:
            _read_file(results, file, _name(root, file))
        if path.is_dir():
            grades += sorted(path.rglob("grade*.json"))
    _join_runs(results)
    for file in [*grades, *sorted(root.glob("build/grade/lab*/grade*.json"))]:
        _read_grade(results, file, _name(root, file))
    return results


def _name(root, file):
    return file.relative_to(root) if file.is_relative_to(root) else file


def built_sources(root):
    """`sources` of the programs built now in float, or None if there are none."""
    path = Path(root) / owner().built / "build_info.c"
    if not path.exists():
        return None
    match = re.search(r'build_sources\[\] = "(.*)"', path.read_text(encoding="utf-8"))
    return match[1] if match else None
