"""execute.py: starts the grader's binary and brings back what it wrote about each claim.

One run is one process: a variant of the worker (whose code), a device, a precision, and the claims
that are judged there. Runs go side by side; what the machine broke is run once more, alone.
"""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import cases
import claims as claim_lines
import criterion
import machine
import sandbox
import table
import unlinked

# One run, for a grader that hangs: each call and claim has its own, shorter deadline in CPU time.
LIMIT_S, CLAIM_LIMIT_S = 900, 60
# What the check build costs: every access to memory is looked at. (Claims of "count" are the plain
# ones, with deadlines that leave far more than that.)
BUILD_FACTOR = {"": 1, "count": 2, "check": 20}


CASES = "cases"  # what a student's own cases are tried with: no code of theirs


class CannotGrade(Exception):
    """One line: what is missing or broken, and how to fix it."""


@dataclass(frozen=True)
class Run:
    """Where claims are judged."""

    # "all" of the student's files; "whole": those but extra credit's; "only-<task>"; CASES: none of
    # them, but broken versions of ours
    variant: str
    device: str
    real: str
    build: str = ""  # "check" and "count": hostcuda's check build, which in "count" names no races

    @property
    def mode(self) -> str:
        """The folder under build/ that holds the worker."""
        return self.real + ("-check" if self.build else "")


def races_of(run: Run) -> str:
    """Whether hostcuda names races there."""
    return "0" if run.build == "count" else "1"


def grader_of_lab(number: int) -> str:
    """Pattern of the path of a lab's grader: {mode} is replaced."""
    return f"build/{{mode}}/lab{number}/grader"


@dataclass
class Programs:
    """Patterns of paths: {mode} and {variant} are replaced."""

    grader: str
    worker: str
    suffix: str = ""  # of the mode of whatever has no build of its own: -san, -debug, -check

    def grader_of(self, run: Run) -> Path:
        """The checkers look at CUDA alone: the grader of a checking build is the plain one."""
        suffix = "" if run.build else self.suffix.removesuffix("-check")
        return Path(self.grader.replace("{mode}", run.real + suffix))

    def worker_of(self, run: Run) -> Path:
        """On a CUDA device another one than on the cpu, with the plug-ins beside it: none holds the
        other side's code (plan.py)."""
        mode = run.mode if run.build else run.real + self.suffix
        variant = run.variant + ("" if run.device == "cpu" else "-cuda")
        return Path(self.worker.replace("{mode}", mode).replace("{variant}", variant))

    def broken_of(self, run: Run) -> Path:
        """The folder of the lab's broken versions, 1 to 10: nobody's to sanitise."""
        return Path(self.grader.replace("{mode}", run.real)).with_name("broken")

    def sanitized(self, run: Run) -> dict:
        """What a grader hears of a worker under sanitizers. (A handout's is not under them itself,
        and knows no other way.)"""
        return {"GRADLAB_SANITIZED": "1"} if "-san" in self.suffix and not run.build else {}


@dataclass
class Outcome:
    records: dict = field(default_factory=dict)  # (claim's full name, Run) -> record
    problems: list = field(default_factory=list)  # faults of the grader: nothing can be graded
    seconds: dict = field(default_factory=dict)  # Run -> wall seconds


def variant_of(claim: table.Claim, taskwise: bool) -> str:
    """Taskwise the whole lab, too, goes without what costs it nothing: refused extra credit."""
    if claim.data:
        return CASES
    if not taskwise:
        return "all"
    return "whole" if claim.task == "whole" else f"only-{claim.task}"


def build_of(claim: table.Claim, device: str, suffix: str) -> str:
    """On hostcuda every claim asks who did the work, which only the check build can tell; where a
    mode was asked for (SAN=1, DEBUG=1), it is that which somebody wants to see."""
    return claim.build or ("count" if device == "hostcuda" and not suffix else "")


def plan(claims: list, devices: list, taskwise: bool, suffix: str = "") -> dict:
    """Run -> the claims judged there; a claim appears in every run that it needs."""
    runs = {}
    for claim in claims:
        for side in claim.points:
            for device in table.SIDES[side]:
                if device not in devices or (claim.build and device != "hostcuda"):
                    continue
                for real in claim.real:
                    run = Run(variant_of(claim, taskwise), device, real,
                              build_of(claim, device, suffix))
                    runs.setdefault(run, []).append(claim)
    return runs


def environment(**own: str) -> dict:
    """The caller's, without what could soften Criterion or speak to the grader in our name."""
    keep = {k: v for k, v in os.environ.items()
            if not k.startswith(("CRITERION_", "GRADLAB_", "OMP_", "OPENBLAS_", "LD_"))
            or k in ("GRADLAB_DATA", "LD_LIBRARY_PATH")}
    return keep | {"LC_ALL": "C", "GRADLAB_RUNGS": "none"} | own


def finish(process: subprocess.Popen) -> None:
    """Ends the run with everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def listed(grader: Path, lab: int) -> set:
    """The lab's claims as the binary itself lists them."""
    try:
        names = criterion.listed(grader, environment())
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotGrade(f"{grader} --list failed: {error}") from None
    return {name for name in names if name.startswith(f"lab{lab}_")}


def check_list(lab: table.Lab, programs: Programs, runs) -> list:
    """Problems: claims that the binary has and the list has not, and the reverse."""
    wanted, problems = {c.full_name for c in lab.claims}, []
    for grader in sorted({programs.grader_of(run) for run in runs}):
        there = listed(grader, lab.number)
        problems += [f"{grader} has the claim {name}, {lab.path.name} has not"
                     for name in sorted(there - wanted)]
        problems += [f"{lab.path.name} has the claim {name}, {grader} has not"
                     for name in sorted(wanted - there)]
    return problems


class Runner:
    """Runs runs against one submission; the private folder lives as long as the object."""

    def __init__(self, programs: Programs, seed: int, cpu_factor: float):
        self.programs, self.seed, self.cpu_factor = programs, seed, cpu_factor
        # mkdtemp gives 0700; the worker is never told where it is
        self.folder = Path(tempfile.mkdtemp(prefix="gradlab-"))
        self.cases = self.folder / "cases"  # a student's own, for the grader's program
        self.sandbox = {}  # what tells the grader to start workers in a sandbox
        self.numbers = itertools.count(1)
        self.live, self.stopped = set(), False

    def build_sandbox(self, runs) -> str:
        """From now on workers run in a sandbox; returns why not all of them can, or nothing."""
        script = self.folder / "sandbox"
        built = {program for run in runs if run.variant != CASES
                 for program in self.programs.worker_of(run).parent.glob("*")
                 if program.name == "worker" or program.suffix == ".so"}
        if reason := sandbox.write(script, sorted(built)):
            return reason
        self.sandbox = {"GRADLAB_SANDBOX": str(script), "GRADLAB_TIER": sandbox.tier()[0],
                        "GRADLAB_TOOL": str(sandbox.tool_of(script))}
        if any(run.device == "cuda" for run in runs):
            return "the driver of a GPU needs more than a sandbox gives"
        sanitised = "-san" in self.programs.suffix
        return "a sanitizer needs more than a sandbox gives" if sanitised else ""

    def stop(self) -> None:
        """Ends what still runs: it is in sessions of its own, so a Ctrl-C does not reach it."""
        self.stopped = True
        for process in list(self.live):
            finish(process)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command: list, log: Path, env: dict, limit_s: float) -> int | None:
        """Exit status, negative for a signal, None if it had to be ended."""
        if self.stopped:
            return None
        with open(log, "wb") as output, subprocess.Popen(
                command, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True) as process:
            self.live.add(process)
            if self.stopped:  # between its start and the line above
                finish(process)
            try:
                return process.wait(limit_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                self.live.discard(process)
                finish(process)

    def check_files(self, runs) -> dict:
        """Run -> why the student's code could not be linked, where that is so; nothing else may
        be missing."""
        unbuilt = {}
        for run in runs:
            grader, worker = self.programs.grader_of(run), self.programs.worker_of(run)
            needed = {worker: worker.with_name("why")}
            if run.variant == CASES:
                worker = self.programs.broken_of(run)
                needed = {worker: worker / "why"}
            if run.device != "cpu":
                needed[worker.with_name(f"libtl_{run.device}.so")] = worker.with_name(
                    f"why-{run.device}")
            for path, why in needed.items():
                if not path.exists() and why.exists():
                    unbuilt[run] = why.read_text(errors="replace").strip()
                elif not path.exists():
                    raise CannotGrade(f"{path} is not there: run `make grade`, which builds it")
            if not os.access(grader, os.X_OK):
                raise CannotGrade(f"{grader} is not there: run `make grade`, which builds it")
        return unbuilt

    def take_cases(self, runs: dict, labs: Path, lab: table.Lab) -> dict:
        """(claim, Run) -> the record of a claim about cases of which there are none to try."""
        found = {}
        asked = [(run, claim) for run, claims in runs.items() for claim in claims if claim.data]
        for run, claim in asked:
            try:
                cases.write(labs, lab.number, lab.task(claim.task), self.cases)
            except cases.Unusable as why:
                found[claim.full_name, run] = self.failed(run, why.kind, str(why))
        return found

    def of_cases(self, run: Run) -> dict:
        return {"GRADLAB_CASES": str(self.cases),
                "GRADLAB_BROKEN": str(self.programs.broken_of(run).resolve())}

    def failed(self, run: Run, kind: str, why: str) -> dict:
        """The record of a claim that could not be run."""
        return {"verdict": "fail", "kind": kind, "text": why, "device": run.device,
                "real": run.real, "seed": self.seed}

    def one(self, run: Run, claims: list, jobs: int) -> tuple:
        """(records, problems, log, exit status, seconds) of one process."""
        stem = self.folder / f"{next(self.numbers)}-{run.variant}-{run.device}-{run.mode}"
        path, log = stem.with_suffix(".jsonl"), stem.with_suffix(".log")
        names = [c.full_name for c in claims]
        env = environment(
            GRADLAB_WORKER=str(self.programs.worker_of(run).resolve()),
            GRADLAB_DEVICES=run.device, GRADLAB_SEED=str(self.seed), GRADLAB_CLAIMS=str(path),
            GRADLAB_ONLY=" ".join(names),
            GRADLAB_CPU_FACTOR=str(self.cpu_factor * BUILD_FACTOR[run.build]),
            HOSTCUDA_RACES=races_of(run), **self.sandbox,
            **(self.of_cases(run) if run.variant == CASES else self.programs.sanitized(run)))
        command = [self.programs.grader_of(run), f"-j{jobs}"]
        begin = time.monotonic()
        status = self.start(command, log, env,
                            max(LIMIT_S, CLAIM_LIMIT_S * len(claims)) * self.cpu_factor)
        seconds = time.monotonic() - begin
        records, problems = claim_lines.read(path, run.device, run.real, set(names))
        return records, problems, log, status, seconds

    def run(self, runs: dict, unbuilt: dict, known: dict | None = None) -> Outcome:
        """Everything side by side, then, alone, what the machine kept from being judged. known: of
        claims that are not to be run, the records."""
        known = known or {}
        outcome, again = Outcome(records=dict(known)), []
        for run, why in unbuilt.items():
            for claim in runs[run]:
                outcome.records[claim.full_name, run] = self.failed(
                    run, unlinked.kind_of(why), why)
        runs = {run: left for run, claims in runs.items()
                if (left := [c for c in claims if (c.full_name, run) not in known])}
        runs = {run: claims for run, claims in runs.items() if run not in unbuilt}
        side_by_side = min(len(runs), machine.cores()) or 1
        jobs = max(1, machine.cores() // side_by_side)

        def first(run):
            # (on a real GPU one worker serves all claims, one after the other)
            return self.one(run, runs[run], 1 if run.device == "cuda" else jobs)

        with ThreadPoolExecutor(side_by_side) as pool:
            try:
                results = list(pool.map(first, runs))
            except BaseException:
                self.stop()  # the pool waits for its threads, and they for their processes
                pool.shutdown(cancel_futures=True)
                raise
        for run, result in zip(runs, results):
            records, problems, _, _, outcome.seconds[run] = result
            outcome.problems += problems
            for name, record in records.items():
                outcome.records[name, run] = record
            left = [c for c in runs[run] if lost(records.get(c.full_name))]
            if left:
                again.append((run, left))
        for run, left in [] if outcome.problems else again:
            self.second(outcome, run, left)
        return outcome

    def second(self, outcome: Outcome, run: Run, claims: list) -> None:
        records, problems, log, status, seconds = self.one(run, claims, 1)
        outcome.problems += problems
        outcome.seconds[run] += seconds
        for claim in claims:
            record = records.get(claim.full_name)
            if record is None:
                outcome.problems.append(
                    f"no verdict on {claim.full_name} ({run.device}, {run.real}): the grader "
                    f"{ending(status)}; its last words: {last_words(log)}")
                outcome.records.pop((claim.full_name, run), None)
            else:
                outcome.records[claim.full_name, run] = record


def lost(record: dict | None) -> bool:
    return record is None or record["verdict"] == "error"


def ending(status: int | None) -> str:
    if status is None:
        return "was still running at its limit"
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def last_words(log: Path, length: int = 300) -> str:
    try:
        text = " ".join(log.read_text(errors="replace").split())
    except OSError:
        text = ""
    return text[-length:] or "(none)"
