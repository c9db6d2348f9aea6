"""grants.py: which of the reference's files stand in a worker beside the student's own.

A worker holds what its task is granted and no more: what lies in the process of a student's code
can be called, whatever the source gate forbids to name. The grants are those of lab.toml: of a
task's file (`allow`), by which the gate judges it, too; and `beside`, other tasks that the claims
themselves call. What a granted file of the reference needs is what its own task is granted: so the
lists are followed to their end. All else is absent (absent.py): its functions say so, and fail.

Functions of C that a C file calls are C's. Members of the dispatch table are those of the device:
where host code is judged on a CUDA device (labs 4 and 5), they lead into the plug-in.
"""

import fnmatch
from dataclasses import dataclass
from pathlib import Path

import contracts
import operations
import skeletons
import table

# Given code that is a product as well: a sum, and a count of what is largest.
GIVEN = ("tl/metrics.c", "tl/cuda/metrics.cu")
OBJECTS = "given/*/float"  # of a handout
BLAS = ("cblas_", "cublas")  # how functions of BLAS begin


@dataclass(frozen=True)
class World:
    """What one worker and its plug-in hold of the files that students write, and of GIVEN."""

    own: tuple  # the student's
    reference: tuple
    absent: tuple
    blas: tuple  # kinds of file (.c, .cu) with whose code BLAS is linked

    def of_kind(self, suffix: str) -> "World":
        def only(files: tuple) -> tuple:
            return tuple(f for f in files if f.endswith(suffix))

        return World(only(self.own), only(self.reference), only(self.absent), only(self.blas))


def text_of(root: Path, name: str) -> str:
    """A file of the solution, or the skeleton that a handout has of it; GIVEN as they are."""
    for path in (root / name, root / "solution" / name, root / skeletons.HANDOUT / name):
        if path.exists() and (name in GIVEN or path != root / name):
            return path.read_text(encoding="utf-8")
    return ""


def exports(root: Path, files) -> dict:
    """file -> the functions that it defines for others; of labs that are not here, too."""
    found = {name: frozenset(skeletons.exported(text_of(root, name))) for name in files}
    return found | contracts.later(root, found)


def lab_of(file: str) -> int:
    """-1: given code."""
    return int(file.split("/")[0].removeprefix("lab")) if file.startswith("lab") else -1


def matches(name: str, patterns) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def without_reference(root: Path, files) -> frozenset:
    """Files that are here neither as a solution nor, as in a handout, as an object of it."""
    def is_here(file: str) -> bool:
        # (of CUDA that by the host's compiler, which each handout has: nvcc's only some)
        made = f"{file}.host.o" if file.endswith(".cu") else f"{file.removesuffix('.c')}.o"
        return (root / "solution" / file).exists() or any(root.glob(f"{OBJECTS}/solution/{made}"))

    return frozenset(f for f in files if not is_here(f))


class Grants:
    """The lists of all labs up to the one that is graded."""

    def __init__(self, lab: int, lists: dict, exported: dict, lacking: frozenset = frozenset()):
        """lists: number -> table.Lab; exported: file -> functions, of all labs and GIVEN; lacking:
        files of which there is no reference."""
        self.lab, self.exported, self.lacking = lab, exported, lacking
        self.tasks = {(number, task.name): task for number, known in lists.items()
                      for task in known.tasks}
        self.operations = {row.name: row for row in operations.read()}
        self.known = {}  # what direct() has found

    def task_of(self, file: str):
        return self.tasks.get((lab_of(file), Path(file).stem))

    def lists_of(self, file: str) -> tuple:
        """Patterns: (functions, members of the table) that a file may use."""
        task = self.task_of(file)
        allow = task.allow.get("cuda" if file.endswith(".cu") else "c", {}) if task else {}
        return allow.get("calls", []), allow.get("members", [])

    def defining(self, functions, suffix: str) -> set:
        """The files of a kind that define some of these functions, by name or pattern."""
        return {file for file, names in self.exported.items() if Path(file).suffix == suffix
                and any(matches(name, functions) for name in names)}

    def members(self, lab: int, patterns) -> list:
        """Functions behind the table's entries. `*` are those that every device has, of the labs up
        to this one; what is given, or a lab's own kernel, is granted by its name."""
        every = [name for name, row in self.operations.items()
                 if "*" in patterns and row.group in ("OP", "OP_DATA") and 1 <= row.lab <= lab]
        named = [name for name in self.operations
                 if matches(name, [p for p in patterns if p != "*"])]
        return [f"tl_{name}" for name in every + named]

    def direct(self, file: str, side: str) -> set:
        """The files that this one may call into, in a run of a side."""
        if (file, side) not in self.known:
            calls, members = self.lists_of(file)
            behind = self.members(lab_of(file), members)
            self.known[file, side] = (self.defining(calls, Path(file).suffix)
                                      | self.defining(behind, table.SUFFIX[side])) - {file}
        return self.known[file, side]

    def closure(self, files, side: str) -> set:
        """These files, and all that they and what they call may call."""
        found, left = set(), list(files)
        while left:
            if (file := left.pop()) not in found:
                found.add(file)
                left += self.direct(file, side)
        return found

    def file_of(self, lab: int, task, side: str) -> str:
        """What is run of a task on a side: on a device host code is C, too."""
        return f"lab{lab}/{task.file(side)}" if task.code else ""

    def home(self, name: str, task: str) -> int:
        """The lab of a task that `beside` names: this one, or the last before it."""
        for lab in range(self.lab, -1, -1):
            if (lab, name) in self.tasks:
                return lab
        raise table.TableError(f"lab{self.lab}/lab.toml: task {task}: beside = {name!r}: no task "
                               "of this lab or an earlier one is called so")

    def started(self, variant: str, side: str) -> tuple:
        """(the student's files, files that the claims call) of a variant in a run of a side."""
        tasks = [task for (lab, _), task in self.tasks.items() if lab == self.lab
                 and (variant in ("all", f"only-{task.name}")
                      or variant == "whole" and not task.extra)]
        own = {self.file_of(self.lab, task, side) for task in tasks
               if side in task.sides or side == "cuda"} - {""}
        beside = set()
        for task in tasks:
            for name in task.beside:
                lab = self.home(name, task.name)
                other = self.tasks[lab, name]
                if side in other.sides or side == "cuda":
                    beside.add(self.file_of(lab, other, side))
        return own, beside

    def world(self, variant: str, side: str, mine: bool = False) -> World:
        """mine: of other labs, too, the student's files. Where there is no reference, as in a
        handout of a lab that is open, nothing else can stand there."""
        own, beside = self.started(variant, side)
        there = self.closure(own | beside, side)
        if mine:
            own |= {f for f in there if lab_of(f) not in (self.lab, -1)}
        own |= there & self.lacking
        order = list(self.exported)
        blas = {Path(f).suffix for f in there
                if any(call.startswith(BLAS) for call in self.lists_of(f)[0])}
        return World(tuple(f for f in order if f in own),
                     tuple(f for f in order if f in there - own),
                     tuple(f for f in order if f not in there), tuple(sorted(blas)))


def of_tree(lab: int, files: list, root: Path = Path()) -> Grants:
    """Of the tree in which we are; files: lab2/im2col.c …, of all labs."""
    labs = sorted({lab_of(f) for f in files if lab_of(f) <= lab})
    return Grants(lab, {number: table.load(number) for number in labs},
                  exports(root, [*files, *GIVEN]), without_reference(root, files))
