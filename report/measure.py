#!/usr/bin/env python3
"""Measures what the report lacks: ours and PyTorch's, on the processor and on a GPU, if any.

  report/measure.py [FULL=1] [AGAIN=1] [DATASET=auto]

What has results already is left alone, also where the code has changed since: the report then
refuses it, and AGAIN=1 measures it again. FULL=1: all nets, three seeds, whole epochs, the ladder.
A training run that is there decides its options, LIMIT and EPOCHS too: the twin follows them, and
the test images are shown to its checkpoint.
What fails is named and the rest measured; the exit status is 1 then, unless all that failed is not
written yet: a draft (make report DRAFT=1) says in the place of the results why there are none.
Ctrl-C, SIGTERM or SIGHUP ends the measurement with all that it has started.
Results go to results/local/report/, with MINE=1 in the environment to results/mine/report/.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import children
import freshness
import options
import store
import training as trainings
from whose import owner

ROOT = Path(__file__).resolve().parent.parent
UNWRITTEN = "not implemented"  # in the words of a program that met what is not written yet


@dataclass
class Trained:
    """A training run of ours, with the options that decide its course: one that is there already,
    whatever options it had, or the net's default one."""

    net: str
    device: str
    seed: int
    options: list
    folder: Path  # with its checkpoint
    recipe: tuple = None  # of a run that is there
    gone: bool = False  # it is there, but its checkpoint is not
    time: str = ""  # of its beginning

    @property
    def name(self):
        return f"training net {self.net}, seed {self.seed}, {self.device}"

    @property
    def words(self):
        return [f"NET={self.net}", f"DEVICE={self.device}", f"SEED={self.seed}", *self.options]

    @property
    def command(self):
        return our("train", *self.words, f"OUT={self.folder}")

    def option(self, *names):
        return [word for word in self.options if word.partition("=")[0] in names]


@dataclass
class Step:
    """Commands that lead to a result, and how to see that it is there."""

    name: str
    about: str  # how long it takes, roughly, on two cores
    there: object  # of a line: it is what this step makes
    commands: list
    after: str = ""  # the step whose run it goes by: without that it is not tried


def our(program, *options):
    return [str(owner().built / program), *options, *owner().options]


def run_line(run, ours):
    """Whether a line begins such a run; of one that is there, with its options."""
    wanted = {"kind": "run", "net": run.net, "device": run.device, "seed": run.seed}

    def there(line):
        if line.ours != ours or any(line.get(k) != v for k, v in wanted.items()):
            return False
        return run.recipe in (None, store.Run(line).recipe)

    return there


def of_kind(kind, device, **fields):
    wanted = {"kind": kind, "device": device, **fields}
    return lambda line: all(line.get(k) == v for k, v in wanted.items())


def training(run, about):
    """Ours, then the twin by the plan that ours has written."""
    name = f"{run.net}-{run.device}"
    plan = f"build/plans/report-{name}-{run.seed}"
    twin = owner().measured / f"baseline-{name}-seed{run.seed}"
    by_plan = [f"PLAN={plan}", f"DEVICE={run.device}", "LAYOUT=auto", f"OUT={twin}"]
    return [
        Step(run.name, about, run_line(run, True), [run.command]),
        Step(f"the PyTorch twin of {run.folder}", about, run_line(run, False),
             [our("train", *run.words, f"PLAN={plan}", "PLAN_ONLY=1"),
              [sys.executable, "baseline/train.py", *by_plan]], run.name),
    ]  # fmt: skip


def on_test_images(run):
    """A trained net's answers; without its checkpoint it is trained again."""
    command = our("predict", f"NET={run.net}", f"DEVICE={run.device}",
                  *run.option("DATASET", "LIMIT"), f"RESUME={run.folder}/checkpoint",
                  f"OUT={owner().measured}/predict-{run.device}")  # fmt: skip
    commands = [run.command, command] if run.gone else [command]
    is_kind = of_kind("predictions", run.device, net=run.net)
    there = lambda line: is_kind(line) and line["time"] >= run.time  # noqa: E731
    return Step(f"test images, {run.device}", "1 s", there, commands, run.name)


def profiles(device, options):
    """Operations of a step, ours and PyTorch's."""
    plan = f"build/plans/report-profile-{device}"
    folder = owner().measured
    mine, theirs = (folder / f"{who}-{device}" for who in ("profile", "profile-torch"))
    is_profile, name = of_kind("profile", device), f"profile of our steps, {device}"
    return [
        Step(name, "3 s", lambda x: x.ours and is_profile(x),
             [our("train", *options, "PROFILE=1", "STEPS=200", f"OUT={mine}")]),
        Step(f"PyTorch's, {device}", "10 s", lambda x: not x.ours and is_profile(x),
             [our("train", *options, f"PLAN={plan}", "PLAN_ONLY=1", "EPOCHS=1"),
              [sys.executable, "baseline/profile_step.py", f"PLAN={plan}", f"DEVICE={device}",
               f"OUT={theirs}"]], name),
    ]  # fmt: skip


def operations(device, rungs):
    command = [sys.executable, "baseline/bench_ops.py", f"DEVICE={device}"]
    # (make, whose command its lines name, lets nobody choose the rungs of a student's programs)
    command += [] if owner().mine else [f"RUNGS={rungs}"]
    command.append(f"OUT={owner().measured}/bench_ops.jsonl")
    there = of_kind("peak", device, rungs=rungs)
    return Step(f"operations, rungs {rungs}, {device}", "1 min", there, [command])


def cpu_steps(net, batch, dataset, full, after):
    """Whole epochs take minutes to an hour: without FULL=1, and of net c, a part is timed."""
    command = [sys.executable, "baseline/bench_step.py", f"NET={net}", f"BATCH={batch}"]
    command += ["DEVICE=cpu", *([] if net == "m" else [f"DATASET={dataset}"])]
    if net == "c":
        command += ["LIMIT=2560", "REPEAT=5"]
    elif not full:
        command += ["LIMIT=6400", "REPEAT=5"]
    there = of_kind("bench_step", "cpu", net=net, batch=batch)
    about = "10 min" if net == "c" else "5 min" if full else "40 s"
    name = f"steps of net {net}, batch {batch}"
    return Step(name, about, there, [command], after)


def runs_for(device, dataset, full, found):
    """[(run, how long it takes)]: of net a, or of a net that has a run; FULL=1: of all."""
    nets = {"a": "2 min", "b": "4 min", "c": "1 h", "m": "20 min"}
    if full and not (ROOT / os.environ.get("GRADLAB_DATA", "data") / "mnist").is_dir():
        del nets["m"]
    if not full:
        first = next((net for net in nets if found(net, device)), "a")
        nets = {first: nets[first]}
    runs = []
    for net, about in nets.items():
        for seed in (1, 2, 3) if full else (None,):
            options = [] if net == "m" else [f"DATASET={dataset}"]
            default = Trained(net, device, seed or 1, options, new_folder(net, device, seed or 1))
            runs.append((found(net, device, seed) or default, about))
    return runs


def new_folder(net, device, seed):
    return owner().measured / f"train-{net}-{device}-seed{seed}"


def finder(results, fresh, again):
    """The function that finds our run of a net, the one that the report will show, or None."""
    report = SimpleNamespace(results=results, fresh=fresh)

    def found(net, device, seed=None):
        kind = "cpu" if device == "cpu" else "gpu"
        runs = trainings.chosen_runs(report, net, kind)["ours"]
        run = next((run for s, run in runs.items() if seed in (None, s)), None)
        if not run:
            return None
        seed, folder = run.start["seed"], Path(run.start.path).parent
        options = {"dataset": run.start["dataset"]} if net != "m" else {}
        options |= {name: run.options.get(name) for name in store.RECIPE}
        words = [f"{name.upper()}={v}" for name, v in options.items() if v is not None]
        # what is stale is trained again, and what has no checkpoint: in a folder of our own
        stale = bool(again and fresh.fault(run.start))
        gone = not stale and not (ROOT / folder / "checkpoint").exists()
        folder = new_folder(net, device, seed) if stale or gone else folder
        time = run.start["time"]
        return Trained(net, device, seed, words, folder, run.recipe, gone, time)

    return found


def steps_for(device, dataset, full, found=lambda *_: None):
    """All measurements on a device; `found` is what finder() gives."""
    runs = runs_for(device, dataset, full, found)
    steps = [step for run, about in runs for step in training(run, about)]
    run = runs[0][0]
    steps.append(on_test_images(run))
    steps += profiles(device, [f"NET={run.net}", f"DEVICE={device}", *run.option("DATASET")])
    rungs = ("all", "none") if full and not owner().mine else (owner().rungs,)
    steps += [operations(device, choice) for choice in rungs]
    if device == "cuda":
        out = f"OUT={owner().measured}/bench_gpu.jsonl"
        command = [sys.executable, "baseline/bench_gpu.py", out]
        command += [] if full else ["NETS=a", "RIVALS=eager,graph,compile"]
        there = of_kind("bench_gpu", "cuda")
        steps.append(Step("steps, cuda", "3 min", there, [command], run.name))
        return steps
    first = {run.net: run.name for run, _ in reversed(runs)}  # a net's run of the first seed
    return steps + [cpu_steps(net, batch, dataset, full, after)
                    for net, after in sorted(first.items()) for batch in (64, 512)]  # fmt: skip


def have_gpu():
    """A driver that answers, and the plug-in that was built for it."""
    if not shutil.which("nvidia-smi") or not (ROOT / owner().built / "libtl_cuda.so").exists():
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0


def wanted(steps, results, fresh, again):
    """The steps whose results are not there; with `again` also those of other code, or that go by
    a run of other code."""
    whole = [run.start for run in results.runs]
    lines = [line for line in results.lines if line["kind"] != "run"] + whole

    def lacking(step):
        own = [line for line in lines if step.there(line)]
        return not own or (again and fresh.fault(fresh.pick(own)))

    chosen = []
    for step in steps:
        if lacking(step) or (again and step.after in [before.name for before in chosen]):
            chosen.append(step)
    return chosen


def run(step, log):
    """Runs the commands of a step; if one failed, its last words, else nothing.

    Where our program met what is not written yet, its words: who called it says more around them.
    """
    for command in step.commands:
        log.write(f"== {' '.join(map(str, command))}\n")
        log.flush()
        status, said = children.run(command, ROOT)
        log.write(said)
        if status != 0:
            rows = said.strip().splitlines() or ["it said nothing"]
            unwritten = [row for row in rows if UNWRITTEN in row]
            return unwritten[0].rpartition(": exit 1: ")[2] if unwritten else rows[-1]
    return ""


def measure(steps, out):
    """Runs the steps, and says how each went; {name: what it said} of those that failed."""
    failures = {}
    for number, step in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {step.name} (about {step.about})", end="", flush=True)
        begin = time.monotonic()
        with open(out / "measure.log", "a", encoding="utf-8") as log:
            said = failures.get(step.after) or run(step, log)
        print(f": {said}" if said else f": {time.monotonic() - begin:.0f} s", flush=True)
        if said:
            failures[step.name] = said
    return failures


def main(arguments):
    try:
        given = options.parse(arguments, {"FULL": "", "AGAIN": "", "DATASET": "auto"})
    except options.OptionError as error:
        sys.exit(f"measure: {error}")
    again, full = given["AGAIN"] == "1", given["FULL"] == "1"
    results, fresh = store.read(ROOT, [owner().results]), freshness.Freshness(ROOT)
    found = finder(results, fresh, again)
    devices = ["cpu", "cuda"] if have_gpu() else ["cpu"]
    steps = [s for d in devices for s in steps_for(d, given["DATASET"], full, found)]
    steps = wanted(steps, results, fresh, again)
    if not steps:
        return
    out = ROOT / owner().measured
    out.mkdir(parents=True, exist_ok=True)
    print(f"measure: {len(steps)} measurements are missing; leave the machine alone meanwhile")
    failures = measure(steps, out)
    # the report says of a part without results whether it is not written yet
    text = json.dumps(failures, indent=1, ensure_ascii=False) + "\n"
    (out / "failures.json").write_text(text, encoding="utf-8")
    unwritten = [name for name, said in failures.items() if UNWRITTEN in said]
    if len(failures) > len(unwritten):
        failed = f"{len(failures)} of {len(steps)} failed ({owner().measured}/measure.log)"
        draft = owner().make("report DRAFT=1")
        sys.exit(f"measure: {failed}; the rest is measured, and '{draft}' shows it")


if __name__ == "__main__":
    children.end_with_us("measure", lambda: main(sys.argv[1:]))
