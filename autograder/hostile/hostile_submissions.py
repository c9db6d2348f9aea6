"""hostile_submissions.py [TIER=A|B|C] [CASE=name,name] [JOBS=n] [QUICK=1] [V=1]

Hands in what submissions/cases.toml lists, each a submission with one evil idea, as an instructor
would (`make grade SUBMISSION=`), and judges what came of it: no point that was not earned, nothing
of the host read, changed, ended or left behind, and a log that is plain text. A refusal with a
reason passes. Before them the solution is handed in, which has to get everything: a grader that
refuses all would pass else.

A case with `open = "why"` succeeds today: it is named, never counted as passed, and fails as soon
as it is stopped, so that its mark goes. The last line is `N passed, N failed`; exit 1 if any has
failed, 2 if nothing could be tested.
"""

import functools
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "autograder/grade"), str(ROOT / "tools"), str(HERE)]

import hostile_makers as makers  # noqa: E402 (found by the line above)
import hostile_world as world  # noqa: E402
import failure_kinds  # noqa: E402
import options  # noqa: E402
import sandbox  # noqa: E402, F401 (the tests ask it)
import skeletons  # noqa: E402
from submission import remove  # noqa: E402
from table import tomllib  # noqa: E402

OPTIONS = {"TIER": "", "CASE": "", "JOBS": "1", "QUICK": "", "V": ""}
CASES = HERE / "submissions"
LARGEST_RSS_MB = 2048  # of any one process
TURNS = 4
LEFT_MB = 64  # on disk, of a submission that has been graded
# What may stand in a log: no control character but the end of a line, nothing that turns the
# direction of text.
UNPLAIN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
LAYERS = {"snapshot", "source gate", "build box", "object check", "link closure", "worker box",
          "pipes", "counts", "oracle", "text"}
OF_PIPES = {"garbage", "closed", "flood"}
OF_BOX = {"crash", "memory", "timeout", "stuck", "exit", "leak"}
OF_COUNTS = {"no_launch", "sectors", "launches", "parallel", "host_access"}


@dataclass
class Case:
    """One row of cases.toml."""

    name: str
    family: str
    cause: str
    lab: int
    most: int  # points that are earned
    layers: list  # who stops it, the first one first
    base: str = "skeleton"  # whose the other files are
    options: list = field(default_factory=list)  # for make
    environment: dict = field(default_factory=dict)
    folder: str = ""  # the submission's name, if that is part of it
    make: str = ""  # function of hostile_makers: what does not lie ready in the case's folder
    beside: str = ""  # function of hostile_makers: what happens while it is graded
    neighbour: bool = False  # an honest submission is graded at the same time
    silent: list = field(default_factory=list)  # what nobody may get to see
    lines: list = field(default_factory=list)  # how no line of the log may begin
    wall_s: int = 90
    quick: bool = False  # for `make test`
    open: str = ""
    alone: list = field(default_factory=list)  # layers, each of which stops it by itself


@dataclass
class Graded:
    """What one `make grade` brought."""

    status: int
    out: str
    err: str
    document: dict | None
    alone: dict  # of hostile_keeper: seconds, largest process, what was left running
    folder: Path


def cases() -> list:
    rows = tomllib.loads((CASES / "cases.toml").read_text(encoding="utf-8"))["case"]
    found = [Case(**row) for row in rows]
    for case in found:
        if not set(case.layers + case.alone) <= LAYERS or not case.layers:
            raise options.OptionError(f"cases.toml: {case.name}: layers are {sorted(LAYERS)}")
    return found


# ---- handing in ----------------------------------------------------------------------------------


def source_of(base: str, lab: int) -> Path:
    return ROOT / {"skeleton": "labs", "solution": "solution"}[base] / f"lab{lab}"


def lay_out(case: Case, scratch: Path, sentinels: world.World) -> Path:
    """The submission in a folder of its own: the base, over it the case's files, filled in."""
    folder = scratch / f"{secrets.token_hex(4)}{case.folder or case.name}"
    inside = folder / f"lab{case.lab}"
    inside.mkdir(parents=True)
    for name in skeletons.own_files(ROOT, case.lab):
        shutil.copy(source_of(case.base, case.lab) / name, inside)
    for path in sorted((CASES / case.name).glob("*")):
        # (a latin-1 byte stays what it is, whatever it would be in UTF-8)
        text = path.read_bytes().decode("latin-1")
        (inside / path.name).write_bytes(sentinels.fill(text).encode("latin-1"))
    if case.make:
        getattr(makers, case.make)(inside, sentinels)
    return folder


def command(case: Case, folder: Path) -> list:
    """All that make is told; there is no other place."""
    return ["make", "--no-print-directory", "-C", str(ROOT), "grade", f"LAB={case.lab}",
            f"SUBMISSION={folder}", f"SECRET={makers.secret()}", "JSON=1", *case.options]


def written(case: Case, folder: Path, out: str) -> dict | None:
    """grade.json: what was printed, or, where that is text for people, the file."""
    if "JSON=" in case.options:
        found = [p for place in makers.built_of(folder) for p in place.glob("lab*/*.json")]
        out = found[0].read_text(encoding="utf-8") if found else ""
    try:
        return json.loads(out)
    except ValueError:
        return None


def grade(case: Case, folder: Path, scratch: Path, tier: str) -> Graded:
    own = scratch / f"tmp-{folder.name[:8]}"
    own.mkdir()
    env = {"TMPDIR": str(own), **({"GRADLAB_TIER": tier} if tier else {}), **case.environment}
    status, out, err, alone = world.keep(command(case, folder), case.wall_s, env, scratch)
    document = written(case, folder, out)
    alone["left_files"] = sorted(p.name for p in own.iterdir())
    return Graded(status, out, err, document, alone, folder)


def forget(folder: Path) -> int:
    """Removes what was built of a submission; returns how many MB that was."""
    size = 0
    for path in makers.built_of(folder):
        size += sum(p.lstat().st_size for p in path.rglob("*") if p.is_file())
        remove(path)
    return size >> 20


def taken_of_solution(case: Case, folder: Path) -> list:
    """While the folder changes: what the front end takes of it, some times. A grader that
    looks at a file and then reads one of its name is caught by one of them in ten or so, and by the
    next run."""
    program = ROOT / "autograder/grade/submission.py"
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/autograder/grade:{ROOT}/tools"}
    for turn in range(TURNS):
        done = subprocess.run([sys.executable, program, folder, str(case.lab),
                               f"SECRET={makers.secret()}"], cwd=ROOT, env=env,
                              capture_output=True, text=True, errors="replace")
        copy = ROOT / (done.stdout.strip() or "nothing") / f"lab{case.lab}"
        if done.returncode == 0 and not copy.is_dir():
            return [f"the front end says no place: {done.stdout[-200:]!r}"]
        for path in copy.glob("*.c*"):
            if path.read_bytes() == (source_of("solution", case.lab) / path.name).read_bytes():
                return [f"{path.name} of the solution was taken, in turn {turn + 1}"]
    return []


# ---- judging -------------------------------------------------------------------------------------


def strings(value) -> list:
    """All text of a JSON document."""
    if isinstance(value, dict):
        return [s for pair in value.items() for part in pair for s in strings(part)]
    if isinstance(value, list):
        return [s for part in value for s in strings(part)]
    return [value] if isinstance(value, str) else []


def points(document: dict) -> int:
    return document["score"]["points"] + document["score"]["extra"]


def stopped_by(graded: Graded) -> set:
    """The layers that said no, as the grader's own words tell them."""
    kinds = {c["kind"] for c in graded.document["claims"] if c["verdict"] == "fail"}
    texts = " ".join(f.get("text", "") for c in graded.document["claims"]
                     for f in c.get("failures", ()))
    seen = set()
    if graded.document["gate"] or "not compiled" in texts + graded.err or "gate" in kinds:
        seen.add("source gate")
    if "not taken" in graded.err or "missing" in kinds:
        seen.add("snapshot")
    if "compile" in kinds:
        seen |= {"build box", "object check"}
    if kinds & {"build", "no_function"}:
        seen |= {"link closure", "object check"}
    for layer, own in (("pipes", OF_PIPES), ("worker box", OF_BOX), ("counts", OF_COUNTS)):
        if kinds & own:
            seen.add(layer)
    known = OF_PIPES | OF_BOX | OF_COUNTS | set(failure_kinds.OF_A_FILE)
    return seen | ({"oracle"} if kinds - known else set())


def reason(graded: Graded) -> str:
    """Why nothing was graded, in the grader's words."""
    said = [line for line in graded.err.splitlines()
            if re.match(r"grade: |lab\d: not graded: ", line)]
    return said[0] if said else ""


def judge_points(case: Case, graded: Graded) -> list:
    if graded.status not in (0, 2):
        return [f"make ended with {graded.status}"]
    if graded.document is None or graded.status == 2:
        return [] if reason(graded) else [f"no grade, and no reason: {graded.err[-300:]!r}"]
    got = points(graded.document)
    return [f"{got} points, {case.most} are earned"] if got > case.most else []


def judge_layer(case: Case, graded: Graded) -> list:
    """Whether one of those that the case names said no, and not a slip of its own."""
    failed = [c for c in graded.document["claims"]
              if c["verdict"] == "fail"] if graded.document else []
    if not failed or stopped_by(graded) & set(case.layers):
        return []
    return [f"stopped by {sorted(stopped_by(graded))}, not by {case.layers}: "
            f"{failed[0]['kind']}: {str(failed[0].get('failures'))[:300]}"]


def judge_text(case: Case, graded: Graded, sentinels: world.World) -> list:
    bad = []
    said = "\n".join([graded.out, graded.err, *strings(graded.document)])
    bad += [f"it says {word!r}" for word in
            [*map(sentinels.fill, case.silent), *sentinels.secrets()] if word in said]
    for name, text in (("stdout", graded.out), ("stderr", graded.err)):
        bad += [f"a line of {name}: {line!r}" for line in text.splitlines()
                if line.startswith(tuple(case.lines))]
        if match := UNPLAIN.search(text):
            around = text[max(0, match.start() - 40):match.end() + 40]
            bad.append(f"{name} is no plain text: {around!r}")
    if "Traceback (most recent call last)" in graded.err:
        bad.append(f"the grader broke: {graded.err[-400:]!r}")
    return bad


def judge_host(case: Case, graded: Graded, sentinels: world.World) -> list:
    alone, bad = graded.alone, sentinels.harm()
    if alone["seconds"] >= case.wall_s:
        bad.append(f"still running after {case.wall_s} s")
    if alone["left"]:
        bad.append(f"left running: {', '.join(alone['left'][:5])}")
    if alone["left_files"]:
        bad.append(f"left in TMPDIR: {', '.join(alone['left_files'][:5])}")
    if alone["largest_mb"] > LARGEST_RSS_MB:
        bad.append(f"a process had {alone['largest_mb']} MB")
    if (left := forget(graded.folder)) > LEFT_MB:
        bad.append(f"left {left} MB in build/")
    return bad


def judge_neighbour(graded: Graded) -> list:
    score = graded.document and graded.document["score"]
    forget(graded.folder)
    if graded.status != 0 or not score or score["points"] != score["max"]:
        return [f"the neighbour got {score} (status {graded.status}): {graded.err[-300:]!r}"]
    return []


# ---- one case, all cases -------------------------------------------------------------------------


def hand_in(case: Case, tier: str = "") -> tuple:
    """(complaints, Graded): nothing to complain of is a pass."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as name, world.World() as sentinels:
        scratch = Path(name)
        folder = lay_out(case, scratch, sentinels)
        aside = getattr(makers, case.beside)(folder, sentinels) if case.beside else None
        turns = taken_of_solution(case, folder) if aside else []
        with ThreadPoolExecutor(1) as pool:
            honest = None
            if case.neighbour:
                other = scratch / f"{secrets.token_hex(4)}neighbour"
                shutil.copytree(source_of("solution", case.lab), other / f"lab{case.lab}",
                                ignore=shutil.ignore_patterns("*.md", "*.py"))
                honest = pool.submit(grade, case, other, scratch, tier)
            graded = grade(case, folder, scratch, tier)
            bad = turns + (judge_neighbour(honest.result()) if honest else [])
        if aside:
            aside()
        bad += judge_points(case, graded) + judge_text(case, graded, sentinels)
        bad += judge_host(case, graded, sentinels)
        return bad or judge_layer(case, graded), graded


def asked(case: Case) -> tuple:
    """What is graded, which is what the solution has to hold first."""
    return case.lab, tuple(o for o in case.options if o != "JSON=")


@functools.cache
def control(lab: int, asked_for: tuple, tier: str = "") -> str:
    """Hands in the solution, which builds the reference, too; says what it lacks."""
    case = Case(f"solution-lab{lab}", "control", "", lab, 10**6, ["oracle"], "solution",
                list(asked_for), wall_s=1800)
    bad, graded = hand_in(case, tier)
    score = graded.document and graded.document["score"]
    if not score or score["points"] != score["max"]:
        bad.append(f"lab {lab}: the solution got {score}: {graded.err[-600:]}")
    return "; ".join(bad)


def lacking(run: list, tier: str = "") -> str:
    """Why nothing can be tested: the solution has not got all of its points."""
    return "\n".join(filter(None, (control(*what, tier) for what in
                                   dict.fromkeys(map(asked, run)))))


def still_open(case: Case, bad: list, graded: Graded) -> bool:
    return bool(case.open and bad) and bad != judge_layer(case, graded)


def told(case: Case, bad: list, graded: Graded, seconds: float) -> str:
    got = f"{points(graded.document)} of {case.most} earned" if graded.document else "refused"
    layer = ", ".join(sorted(stopped_by(graded))) if graded.document else reason(graded)[:200]
    head = f"{case.name:34} {got:15} {seconds:5.1f} s  {layer}"
    if still_open(case, bad, graded):
        return f"open    {head}\n        open: {case.open}\n        " + "\n        ".join(bad)
    if case.open:
        said = "no longer open: take `open` out of cases.toml"
        return "\n        ".join([f"FAILED  {head}", said, *bad])
    return f"{'FAILED' if bad else 'passed':7} {head}" + "".join(f"\n        {b}" for b in bad)


def verdict(case: Case, tier: str) -> tuple:
    begin = time.monotonic()
    bad, graded = hand_in(case, tier)
    print(told(case, bad, graded, time.monotonic() - begin), flush=True)
    if still_open(case, bad, graded):
        return case, "open"
    return case, "failed" if case.open or bad else "passed"


def families(results: list) -> list:
    lines = [f"{'family':12} {'passed':>7} {'failed':>7} {'open':>5}"]
    for family in dict.fromkeys(case.family for case, _ in results):
        own = [what for case, what in results if case.family == family]
        lines.append(f"{family:12} {own.count('passed'):7} {own.count('failed'):7} "
                     f"{own.count('open'):5}")
    return lines


def chosen(given: dict) -> list:
    every = cases()
    if names := [n for n in given["CASE"].split(",") if n]:
        if unknown := set(names) - {c.name for c in every} - {c.family for c in every}:
            raise options.OptionError(f"CASE={','.join(sorted(unknown))}: no such case or family; "
                                      "autograder/hostile/submissions/cases.toml lists them")
        every = [c for c in every if c.name in names or c.family in names]
    return [c for c in every if c.quick] if given["QUICK"] else every


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, OPTIONS)
        if given["TIER"] not in ("", "A", "B", "C"):
            raise options.OptionError(f"TIER={given['TIER']}: A, B or C")
        jobs = options.whole(given, "JOBS", 1, 64)
        run = chosen(given)
    except options.OptionError as error:
        print(f"hostile: {error}", file=sys.stderr)
        return 2
    if lacks := lacking(run, given["TIER"]):
        print(f"hostile: nothing was tested: {lacks}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(functools.partial(verdict, tier=given["TIER"]), run))
    print("\n".join(families(results)))
    counts = {what: sum(w == what for _, w in results) for what in ("passed", "failed", "open")}
    if counts["open"]:
        print(f"{counts['open']} open: these succeed today, and are no passes")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
