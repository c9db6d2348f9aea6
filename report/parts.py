"""What a report is made of: parts, each a few tables or plots, or the reason why there are none."""

from dataclasses import dataclass, field

from store import RECIPE
from whose import owner


class Missing(Exception):
    """No results for a part: what is missing, and the command that makes it."""

    def __init__(self, reason, fix):
        super().__init__(reason)
        self.reason, self.fix = reason, fix


@dataclass
class Table:
    id: str
    caption: str
    columns: str  # of tabular: "lrr"
    header: list
    rows: list  # lists of units.Value or str; None for a little space
    lines: list  # store.Line of every result used
    groups: list = field(default_factory=list)  # headings above the header: (text, columns)
    note: str = ""
    timed: bool = True  # it shows times


@dataclass
class Plot:
    id: str
    caption: str
    draw: object  # called with a matplotlib figure
    lines: list
    size: tuple = (5.6, 3.0)  # inches
    width: float = 0.9  # of the line
    note: str = ""
    timed: bool = True


@dataclass
class Part:
    """`build(report, device)` returns tables and plots or raises Missing. An optional part may be
    missing from a finished report, where a marked gap says how to fill it. `step` begins the names
    of the steps of measure.py that the part needs. What mk/compare.mk measures is `compared`: a
    handout's report has no such part."""

    id: str
    title: str
    build: object
    devices: tuple = ("cpu", "gpu")
    optional: bool = False
    step: str = None
    compared: bool = False


# lines of PyTorch's times
_TIMES = ("run", "bench_step", "bench_gpu", "bench_op", "profile", "bridge_op", "bridge_epoch",
          "bridge_profile")


def unsearched(line):
    """Whether PyTorch was timed on a GPU without leave to search for its quickest algorithms."""
    timed = line["kind"] in _TIMES and not line.ours
    return timed and line.device == "gpu" and not line.get("cudnn_benchmark")


def groups_rules(groups):
    """First and last column of each heading that has a text, for its rule."""
    rules, at = [], 1
    for text, width in groups:
        if text:
            rules.append((at, at + width - 1))
        at += width
    return rules


_GOALS = {"train": "train", "predict": "predict", "baseline/train.py": "baseline",
          "baseline/profile_step.py": "baseline", "baseline/bench_step.py": "bench-step",
          "baseline/bench_ops.py": "bench-ops"}  # fmt: skip


def command_of(line, **instead):
    """The make command that writes such a line; `instead`: with other options than it had."""
    if owner().mine and line["program"] == "baseline/bench_gpu.py":
        return owner().make("report AGAIN=1")  # (the line names the suite)
    if line.get("command"):
        return line["command"]
    if line["program"] == "baseline/bench_gpu.py":
        return 'make gpu-suite OUT=dir STAGES="build steps"'
    goal = _GOALS.get(line["program"])
    if not goal:
        return line["program"]
    names = ["net", "device", "dataset", *(["batch", "limit"] if goal == "bench-step" else [])]
    fields = {name: line.get(name) for name in names}
    if line["kind"] == "run":  # all that decided its course
        options = line.get("options") or line.fields
        fields |= {name: options.get(name) for name in RECIPE}
    # (0 is said, too, where a net may have a momentum of its own)
    said = {*instead, *(["momentum"] if fields.get("opt") == "sgd" else [])}
    fields |= instead
    words = [goal, *(f"{n.upper()}={v}" for n, v in fields.items()
                     if v or (n in said and v is not None))]
    words += ["PROFILE=1"] if line["kind"] == "profile" else []
    words += ["RESUME=checkpoint OUT=dir"] if goal == "predict" else []
    return owner().make(" ".join(words))


def commands_of(lines):
    """Commands of lines that may differ in their seeds: [("make train …", "1, 2, 3")]."""
    seeds = {}
    for line in lines:
        if line["kind"] != "epoch":  # its run line says the same
            seeds.setdefault(command_of(line), set()).add(line.get("seed"))
    return [(command, ", ".join(str(s) for s in sorted(s for s in found if s is not None)))
            for command, found in seeds.items()]  # fmt: skip
