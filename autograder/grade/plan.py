"""plan.py: what make has to build for the runs of one grade, as rules that it reads.

grade.py knows the claims, so it knows which workers they need; mk/workers.mk knows how an object, a
worker and a plug-in are made. This is what passes between them: prerequisites, without recipes,
in a file under build/plan/ that is called by its content, so that makes which go side by side keep
out of each other's way. In it stand names of ours alone: those of lab.toml and skeletons.sha256.
Whose files are meant is make's to know: $(LABS) is their folder, $(LAB_FROM) a part of their
objects' paths.
"""

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import execute
import grants
import skeletons
import table

NAME = re.compile(r"[A-Za-z0-9_.-]+")  # what make takes as it stands
HEAD = """# What make builds to grade lab {lab}. Written by autograder/grade/plan.py
# for mk/workers.mk, which has the recipes.

"""


class Unplain(Exception):
    """One line: a name of ours that make would not take as it stands."""


@dataclass(frozen=True)
class Order:
    """What is to be built."""

    lab: int
    runs: list  # of execute.py
    files: list  # lab2/im2col.c …: what students write, in all labs
    grants: grants.Grants  # whose of them stand in which worker
    devices: list  # CUDA devices for which there is a compiler
    suffix: str  # of the modes of whatever has no build of its own
    mine: bool  # the other labs are the student's, too
    broken: tuple = ()  # files of the solution of which there is a broken version, in their order


class Text:
    """The makefile as it grows: lists of what its rules make, and the rules."""

    def __init__(self):
        self.lists = {name: [] for name in (
            "LAB_SOURCES", "LAB_C_OBJECTS", "LAB_HOSTCUDA_OBJECTS", "LAB_CUDA_OBJECTS",
            "LAB_IN_ORDER", "LAB_WORKERS", "LAB_BARE_WORKERS", "LAB_BARE_COPIES",
            "LAB_HOSTCUDA_PLUGINS", "LAB_CUDA_PLUGINS", "LAB_ABSENT", "LAB_SHARED",
            "LAB_BROKEN", "LAB_GRADERS")}
        self.rules = []

    def rule(self, kind: str, target: str, *needs: str) -> None:
        self.lists[kind].append(target)
        self.rules.append(lines(f"{target}:", needs))

    def __str__(self) -> str:
        lists = [lines(f"{name} :=", words) for name, words in self.lists.items()]
        return "\n\n".join([*lists, *self.rules]) + "\n"


def lines(head: str, words: list) -> str:
    """One word on each, for people to read."""
    return " \\\n    ".join([head, *words])


def host_mode(mode: str) -> str:
    """Checkers look at CUDA alone: all else of a checking worker is that of the plain build."""
    return mode.removesuffix("-check")


def mode_of(order: Order, run) -> str:
    return run.mode if run.build else run.real + order.suffix


def devices_of(order: Order, mode: str) -> list:
    """CUDA devices of a mode: the checkers are hostcuda's alone, and hostcuda mostly theirs."""
    here = {"hostcuda" for r in order.runs
            if r.device == "hostcuda" and mode_of(order, r) == mode}
    return [d for d in order.devices if d in (here if mode.endswith("-check") else here | {"cuda"})]


def places_of(order: Order) -> list:
    """(mode, variant, side) of each worker. No worker serves both sides: C that is judged on the
    cpu has no CUDA code beside it, and CUDA no C. What hostcuda judges in its check build, a GPU
    judges in the plain one."""
    runs = {(mode_of(order, r), r.variant, table.SIDE_OF[r.device]) for r in order.runs}
    gpus = {(r.real + order.suffix, r.variant, "cuda") for r in order.runs
            if r.build == "count" and "cuda" in order.devices}
    return sorted(runs | gpus)


def objects(mode: str, files: list, kind: str) -> list:
    """A student's objects: kind .o, .hostcuda.o or .cuda.o."""
    return [f"build/{mode}/$(LAB_FROM)labs/{f.removesuffix('.c')}{kind}" for f in files]


def references(mode: str, files: list, kind: str) -> list:
    """The reference's, and of what is given: kind .o, .lab.o or .pic.o."""
    return [f"build/{mode}/{'' if f in grants.GIVEN else 'solution/'}{f.removesuffix('.c')}{kind}"
            for f in files]


def of_kind(suffix: str, files: list) -> list:
    return [f for f in files if f.endswith(suffix)]


def float_first(modes: set) -> list:
    """In this order messages of compilers are told."""
    return sorted(modes, key=lambda mode: (not mode.startswith("float"), mode))


def add_objects(text: Text, order: Order, own: list, modes: list, hosts: list) -> None:
    """Of each of the student's files, in every mode."""
    for file in own:
        source = f"$(LABS)/{file}"
        text.lists["LAB_SOURCES"].append(source)
        if file.endswith(".c"):
            for mode in hosts:
                made, = objects(mode, [file], ".o")
                text.rule("LAB_C_OBJECTS", made, source, f"build/{mode}/flags")
                text.lists["LAB_IN_ORDER"].append(made)
            continue
        for mode in modes:
            needs = {"hostcuda": ["$(HOSTCUDA_REWRITE)", "$(HOSTCUDA_UNHOOKED)",
                                  f"build/{mode}/precompiled/hostcuda/hostcuda.h.gch"],
                     "cuda": [f"build/{mode}/cuda-flags"]}
            for device in devices_of(order, mode):
                made, = objects(mode, [file], f".{device}.o")
                text.rule(f"LAB_{device.upper()}_OBJECTS", made, source, *needs[device])
                text.lists["LAB_IN_ORDER"].append(made)


def add_absent(text: Text, mode: str, files: tuple) -> list:
    """What stands for files that are not linked: the same for all submissions."""
    made = [f"build/{mode}/absent/{f.removesuffix('.c')}.o" for f in files]
    there = text.lists["LAB_ABSENT"]
    there += [name for name in made if name not in there]
    return made


def add_shared(text: Text, mode: str, who: str) -> str:
    """All that is nobody's lab, in one object: linked once for all submissions."""
    made = f"build/{mode}/shared/{who}.o"
    if made not in text.lists["LAB_SHARED"]:
        text.rule("LAB_SHARED", made, f"$(call lab_{who}_given,{mode})")
    return made


def add_worker(text: Text, order: Order, folder: str, mode: str, world: grants.World,
               side: str) -> None:
    """Where no host code is judged, the worker is the same for all: it is linked once."""
    without = f"build/{mode}/autograder/call/absent"
    needs = [*references(mode, world.reference, ".o"), *add_absent(text, mode, world.absent),
             f"{without}/plugin.o" if side == "c" else f"build/{mode}/tl/device_plugin.o",
             *([] if ".c" in world.blas else [f"{without}/blas.o"]),
             add_shared(text, mode, "worker")]
    if world.own or world.reference:
        text.rule("LAB_WORKERS", f"{folder}/worker", *objects(mode, world.own, ".o"), *needs)
        return
    bare = f"build/{mode}/bare/worker"
    if bare not in text.lists["LAB_BARE_WORKERS"]:
        text.rule("LAB_BARE_WORKERS", bare, *needs)
    text.rule("LAB_BARE_COPIES", f"{folder}/worker", bare)


def add_broken(text: Text, order: Order, mode: str) -> None:
    """The solution on the cpu, and with one file broken, as maintain/broken.py has written it: what
    a student's own cases are tried with, the same for all submissions."""
    world = order.grants.world("all", "c").of_kind(".c")
    for number, file in enumerate(["", *order.broken] if order.broken else []):
        others = [f for f in (*world.own, *world.reference) if f != file]
        own = [f"build/{mode}/build/broken/lab{order.lab}/{number}.o"] if file else []
        text.rule("LAB_BROKEN", f"build/{mode}/lab{order.lab}/broken/{number}", *own,
                  *references(mode, others, ".o"), *add_absent(text, mode, world.absent),
                  f"build/{mode}/autograder/call/absent/plugin.o",
                  *([] if ".c" in world.blas
                    else [f"build/{mode}/autograder/call/absent/blas.o"]),
                  add_shared(text, mode, "worker"))


def add_plugin(text: Text, folder: str, mode: str, world: grants.World, device: str) -> None:
    kind = {"hostcuda": ".lab.o", "cuda": ".o"}[device]
    given = (add_shared(text, mode, "hostcuda") if device == "hostcuda"  # nvcc links device code
             else f"$(call lab_cuda_given,{mode})")
    blas = [f"$(call lab_{device}_blas,{mode})"] if ".cu" in world.blas else []
    text.rule(f"LAB_{device.upper()}_PLUGINS", f"{folder}/libtl_{device}.so",
              *objects(mode, world.own, f".{device}.o"), *references(mode, world.reference, kind),
              *add_absent(text, host_mode(mode), world.absent),
              given, *blas)


def check_names(order: Order, places: list) -> None:
    words = {word for file in order.files for word in file.split("/")}
    words |= {word for mode, variant, _ in places for word in (mode, variant)}
    for name in sorted(words):
        if not NAME.fullmatch(name):
            raise Unplain(f"{name!r}: a task or a file of a lab has a name of A-Z a-z 0-9 _ . -")


def folder_of(order: Order, mode: str, variant: str, side: str) -> str:
    """That of a worker, with its plug-ins if it opens any (execute.py looks there)."""
    lab = f"lab{order.lab}{'-mine' * order.mine}"
    return f"build/{mode}/$(LAB_FROM){lab}/{variant}{'-cuda' * (side == 'cuda')}"


def makefile(order: Order) -> str:
    """The text that make includes."""
    text = Text()
    places = [place for place in places_of(order) if place[1] != execute.CASES]
    cases = sorted({r.real for r in order.runs if r.variant == execute.CASES})
    check_names(order, places)
    worlds = {(variant, side): order.grants.world(variant, side, order.mine)
              for _, variant, side in places}
    used = {f for world in worlds.values() for f in world.own}
    modes = float_first({mode for mode, _, _ in places})
    hosts = float_first({host_mode(mode) for mode in modes})
    add_objects(text, order, [f for f in order.files if f in used], modes, hosts)
    for mode, variant, side in places:
        folder, world = folder_of(order, mode, variant, side), worlds[variant, side]
        add_worker(text, order, folder, host_mode(mode), world.of_kind(".c"), side)
        for device in devices_of(order, mode) if side == "cuda" else []:
            add_plugin(text, folder, mode, world.of_kind(".cu"), device)
    for real in cases:
        add_broken(text, order, real)
    text.lists["LAB_GRADERS"] = [f"build/{mode}/lab{order.lab}/grader" for mode in dict.fromkeys(
        [*hosts, *(real + order.suffix.removesuffix("-check") for real in cases)])]
    return HEAD.format(lab=order.lab) + str(text)


def write(order: Order, folder: Path) -> Path:
    """Writes the makefile, unless it is there, and says where."""
    data = makefile(order).encode()
    path = folder / f"lab{order.lab}-{hashlib.sha256(data).hexdigest()[:12]}.mk"
    if not path.exists() or path.read_bytes() != data:
        folder.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(part, path)
    return path


def with_replays(runs: list, suffix: str) -> list:
    """These runs, and for debuggers those in which gdb replays what checkers judge (debug.py)."""
    return runs + [replace(run, build="") for run in runs if run.build and "-debug" in suffix]


def order_of(lab: int, runs, devices: list, suffix: str, mine: bool) -> Order:
    """The same with the files of the tree in which we are."""
    files = [name.removeprefix("labs/") for name in skeletons.read_manifest(Path())
             if name.endswith((".c", ".cu"))]
    # (a handout has them ready-made)
    broken = [f"lab{lab}/{task}.c" for t in table.load(lab).tasks if t.cases
              for task in t.cases.versions] if Path(f"solution/lab{lab}").is_dir() else []
    return Order(lab, with_replays(list(runs), suffix), files, grants.of_tree(lab, files),
                 devices, suffix, mine, tuple(broken))
