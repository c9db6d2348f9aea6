"""table.py: the committed list of tasks, claims and points of a lab, autograder/labN/lab.toml, read
and checked.

The list is what a run is compared with: a claim that is missing from a run, or one that is not in
the list, is a fault of the grader. So a slip in the list itself must never pass unseen, and every
key that is not known here is an error.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import failure_kinds
import failure_patterns
import map_told
import numbers_told

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, as on Ubuntu 22.04
    try:
        import tomli as tomllib
    except ModuleNotFoundError:
        sys.exit(f"grade: Python {sys.version_info.major}.{sys.version_info.minor} cannot read "
                 "lab.toml: say PYTHON=python3.11 (Ubuntu 22.04: apt-get install python3.11) or "
                 f"run `{sys.executable} -m pip install tomli`")

ROOT = Path(__file__).resolve().parents[2]
SIDES = {"c": ("cpu",), "cuda": ("hostcuda", "cuda")}  # and the devices on which each is judged
SIDE_OF = {device: side for side, devices in SIDES.items() for device in devices}
SUFFIX = {"c": ".c", "cuda": ".cu"}
REALS = ("float", "double")
BUILDS = ("", "check")
EVIDENCE = ("proved", "hard")  # judged from bytes; counted beside the judged code (SECURITY.md)
TOTAL, HARD_MOST = 100, 15
NAMED = ("array", "op", "index", "fence")  # array=dx: conditions that name what a failure is of


def name_of(path: Path) -> str:
    """lab2/lab.toml"""
    return f"{path.parent.name}/{path.name}"


class TableError(Exception):
    """One line: which list, where in it, what is wrong."""


@dataclass
class Claim:
    task: str
    name: str
    suite: str
    real: tuple
    points: dict  # side -> points, for the sides in which the claim is judged
    evidence: str  # of EVIDENCE
    hint: str = ""
    diagnosis: dict = field(default_factory=dict)  # pattern -> name of a diagnosis
    build: str = ""  # "check": hostcuda with the checkers compiled in
    extra: bool = False  # extra credit: outside the hundred
    explained_by: tuple = ()  # claims, as T= names them: one that fails, too, may be the cause
    data: bool = False  # about data of the student's, not code (Cases)

    @property
    def full_name(self) -> str:
        """As the grader's binary calls it."""
        return f"{self.suite}/{self.name}"

    @property
    def short_name(self) -> str:
        """As T= and messages call it."""
        return f"{self.task}/{self.name}"


@dataclass(frozen=True)
class Cases:
    """What cases of a student's own are made of (cases.py), and what they are tried with."""
    calls: dict  # what a case can call -> names of its numbers
    numbers: dict  # of all calls, in this order -> (least, most, what it is if left out or None)
    versions: tuple  # of each broken version the task whose file is broken


@dataclass
class Task:
    name: str
    sides: tuple  # which files there are: name.c, name.cu
    needs: tuple
    claims: list
    allow: dict  # side -> what its file may use beside what every file may (gate.py)
    beside: tuple = ()  # tasks, of this lab or earlier ones, that its claims call (grants.py)
    cases: object = None  # Cases, where what the student writes is data: name.toml, and no code

    @property
    def extra(self) -> bool:
        """Extra credit alone: the whole lab goes without it."""
        return all(c.extra for c in self.claims)

    @property
    def code(self) -> bool:
        """Whether it has a file of its own that a compiler reads."""
        return self.name != "whole" and not self.cases

    def file(self, side: str) -> str:
        """What the student fixes. A C file may be judged on the device, too; the whole lab has none
        of its own."""
        if self.name == "whole":
            return ""
        if self.cases:
            return f"{self.name}.toml"
        return self.name + SUFFIX[side if side in self.sides else self.sides[0]]


@dataclass
class Lab:
    number: int
    title: str
    tasks: list
    diagnoses: dict  # name -> what the student probably believes, in words
    path: Path
    steps: bool = False  # done or not done: its points are steps on the way, and count nowhere
    unhinted: tuple = ()  # diagnoses beside which a claim's hint, on something else, leads away

    @property
    def claims(self) -> list:
        return [c for t in self.tasks for c in t.claims]

    @property
    def total(self) -> int:
        return sum(p for c in self.claims if not c.extra for p in c.points.values())

    @property
    def hard(self) -> int:
        """Points that hang on what is counted beside the judged code, and on nothing else."""
        return sum(p for c in self.claims if c.evidence == "hard" and not c.extra
                   for p in c.points.values())

    def task(self, name: str) -> Task:
        return next(t for t in self.tasks if t.name == name)

    def behind(self, name: str) -> list:
        """The tasks that wait for this one, directly or through others."""
        found = []
        for t in self.tasks:  # tasks come after what they need
            if name in t.needs or any(f.name in t.needs for f in found):
                found.append(t)
        return found


def one_line(text: str) -> str:
    """A text that the list has on several lines."""
    return " ".join(text.split())


def _known(where: str, entry: dict, **kinds) -> None:
    for key, value in entry.items():
        if key not in kinds:
            raise TableError(f"{where}: unknown key {key!r}")
        # (bool is an int to Python)
        if not isinstance(value, kinds[key]) or (isinstance(value, bool) and kinds[key] is int):
            raise TableError(f"{where}: {key} = {value!r} has the wrong type")


def _need(where: str, entry: dict, *keys) -> None:
    for key in keys:
        if key not in entry:
            raise TableError(f"{where}: {key} is missing")


def _claim(where: str, lab: int, task: dict, entry: dict) -> Claim:
    _known(where, entry, name=str, real=list, c=int, cuda=int, hint=str, diagnosis=dict,
           build=str, extra=bool, evidence=str, explained_by=list)
    _need(where, entry, "name", "real", "hint", "evidence")
    where = f"{where} {entry['name']}"
    points = {side: entry[side] for side in SIDES if side in entry}
    if not points or any(p < 1 for p in points.values()):
        raise TableError(f"{where}: each side in which it is judged has at least one point")
    if not entry["real"] or any(r not in REALS for r in entry["real"]):
        raise TableError(f"{where}: real = {entry['real']!r}, expected some of {REALS}")
    if entry["evidence"] not in EVIDENCE:
        raise TableError(f"{where}: evidence = {entry['evidence']!r}, expected one of {EVIDENCE}")
    build = entry.get("build", "")
    if build not in BUILDS or (build and "c" in points):
        raise TableError(f"{where}: build = {build!r} (the check build has no cpu device)")
    # What is said of the whole task holds for each of its claims, after what is said of the claim.
    diagnosis = dict(entry.get("diagnosis", {}))
    for pattern, name in task.get("diagnosis", {}).items():
        diagnosis.setdefault(pattern, name)
    return Claim(task=task["name"], name=entry["name"], suite=f"lab{lab}_{task['name']}",
                 real=tuple(entry["real"]), points=points, evidence=entry["evidence"],
                 hint=one_line(entry["hint"]), diagnosis=diagnosis, build=build,
                 extra=entry.get("extra", False), data="calls" in task,
                 explained_by=tuple(entry.get("explained_by", ())))


def _cases(where: str, entry: dict) -> Cases | None:
    if "calls" not in entry:
        return None
    _need(where, entry, "calls", "numbers", "versions")
    calls = {name: tuple(words.split()) for name, words in entry["calls"].items()}
    numbers = {name: (*bounds, *[None] * (3 - len(bounds)))
               for name, bounds in entry["numbers"].items()}
    if set(numbers) != {name for names in calls.values() for name in names}:
        raise TableError(f"{where}: numbers are those of calls, each with its bounds")
    if wrong := [name for name, (low, high, usual) in numbers.items()
                 if not low <= (low if usual is None else usual) <= high]:
        raise TableError(f"{where}: numbers: {wrong[0]} is not within its bounds")
    return Cases(calls, numbers, tuple(entry["versions"]))


def _task(where: str, lab: int, entry: dict) -> Task:
    _known(where, entry, name=str, sides=list, needs=list, diagnosis=dict, allow=dict,
           beside=list, claim=list, calls=dict, numbers=dict, versions=list)
    _need(where, entry, "name", "sides", "claim")
    where = f"{where} {entry['name']}"
    if not entry["sides"] or any(h not in SIDES for h in entry["sides"]):
        raise TableError(f"{where}: sides = {entry['sides']!r}, expected some of {list(SIDES)}")
    claims = [_claim(f"{where}, claim", lab, entry, c) for c in entry["claim"]]
    allow = entry.get("allow", {})
    _known(f"{where}, allow", allow, **dict.fromkeys(entry["sides"], dict))
    for side, lists in allow.items():
        _known(f"{where}, allow.{side}", lists, calls=list, members=list, headers=list)
    return Task(entry["name"], tuple(entry["sides"]), tuple(entry.get("needs", ())), claims, allow,
                tuple(entry.get("beside", ())), _cases(where, entry))


def _check_patterns(lab: Lab) -> None:
    """A condition that can never hold is a slip: it would hide its diagnosis for ever."""
    known = set(failure_patterns.PATTERNS) | set(failure_kinds.KINDS) | set(SIDES) | {
        *map_told.FEATURES, "ratio=1/N", "elsewhere=race", "added_by_several",
        "elsewhere=added_by_several", "elsewhere=global", "elsewhere=uninitialised",
        "k>64", "global", "shared", "one_line"}
    for claim in lab.claims:
        siblings = {c.name for c in lab.task(claim.task).claims}
        for part in {p for key in claim.diagnosis for p in key.split("+")}:
            left, equals, right = part.partition("=")
            good = part in known | numbers_told.FEATURES or left in NAMED or (
                left in ("ok", "bad") and right in siblings) or (
                left == "told" and right in failure_kinds.KINDS)
            if not good:
                raise TableError(f"{name_of(lab.path)}: {claim.short_name}: "
                                 f"unknown pattern {part!r}")


def _check_whole(lab: Lab) -> None:
    where = name_of(lab.path)
    seen = set()
    for task in lab.tasks:
        for need in task.needs:
            if need not in seen:
                raise TableError(f"{where}: {task.name} needs {need}, which does not come before")
        if task.name in seen:
            raise TableError(f"{where}: task {task.name} comes twice")
        seen.add(task.name)
    names = [c.full_name for c in lab.claims]
    for name in names:
        if names.count(name) > 1:
            raise TableError(f"{where}: claim {name} comes twice")
    short = [c.short_name for c in lab.claims]
    for at, claim in enumerate(lab.claims):
        others = {c.short_name for c in lab.claims if c.task != claim.task}
        for other in claim.explained_by:
            if other not in others | set(short[:at]):
                raise TableError(f"{where}: {claim.short_name}: explained_by = {other!r} is "
                                 "neither a claim of another task nor an earlier one")
    used = {d for c in lab.claims for d in c.diagnosis.values()}
    for name in sorted(used ^ set(lab.diagnoses)):
        raise TableError(f"{where}: diagnosis {name} is "
                         + ("not written" if name in used else "used by no claim"))
    for name in lab.unhinted:
        if name not in lab.diagnoses:
            raise TableError(f"{where}: unhinted: there is no diagnosis {name}")
    if lab.total != TOTAL and not lab.steps:
        raise TableError(f"{where}: the points add up to {lab.total}, not {TOTAL}")
    if lab.hard > HARD_MOST and not lab.steps:
        raise TableError(f"{where}: {lab.hard} points hang on what is only hard to forge, and at "
                         f"most {HARD_MOST} may")


def parse(text: str, path: Path) -> Lab:
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{name_of(path)}: {error}") from None
    _known(name_of(path), top, lab=int, title=str, steps=bool, task=list, diagnoses=dict,
           unhinted=list)
    _need(name_of(path), top, "lab", "title", "task")
    diagnoses = {name: one_line(str(text)) for name, text in top.get("diagnoses", {}).items()}
    tasks = [_task(f"{name_of(path)}: task", top["lab"], t) for t in top["task"]]
    lab = Lab(top["lab"], top["title"], tasks, diagnoses, path, top.get("steps", False),
              tuple(top.get("unhinted", ())))
    _check_whole(lab)
    _check_patterns(lab)
    return lab


def files(root: Path = ROOT) -> list:
    """The lists of all labs."""
    return sorted(root.glob("autograder/lab[0-9]/lab.toml"))


def numbers(root: Path = ROOT) -> list:
    """Of all labs."""
    return [int(path.parent.name.removeprefix("lab")) for path in files(root)]


def load(number: int, root: Path = ROOT) -> Lab:
    path = root / f"autograder/lab{number}/lab.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TableError(f"{path}: {error.strerror}: there is no list of claims for lab "
                         f"{number}") from None
    return parse(text, path)
