"""handed.py: what a handout has ready-made below given/<machine>, by name: graders, libraries that
they bring along, broken versions that a student's own cases are tried with, and objects of the
reference for closed labs.

handout.py makes and lays them; for leaks.py, anything else that a compiler made is a leak.
"""

from pathlib import Path

import machines

REALS = ("float", "double")
LIBRARIES = ("libcriterion", "libnanomsg", "libffi")  # of the grader, beyond the C library
STAND_INS = ("libgit2",)  # made here: libcriterion names it, and nothing calls it


def graders(labs: list) -> list:
    """float/lab1/grader …"""
    return [f"{real}/lab{n}/grader" for real in REALS for n in labs]


def with_cases(root: Path, labs: list) -> list:
    return [n for n in labs if (root / f"autograder/lab{n}/cases_test.c").exists()]


def broken(root: Path, labs: list) -> list:
    """double/lab2/broken/0 …, as make broken LAB=2 builds them; 0 is the solution itself."""
    return [f"double/lab{n}/broken/{k}" for n in with_cases(root, labs) for k in range(11)]


def object_names(root: Path, lab: int, nvcc: bool) -> list:
    """The objects of a closed lab, below build/<real>: for graders and for programs."""
    cuda, made = (".lab.o", ".host.o", *([".o"] if nvcc else [])), []
    for path in sorted((root / f"solution/lab{lab}").glob("*.c*")):
        name = f"solution/lab{lab}/{path.name.removesuffix('.c')}"
        made += [name + kind for kind in ((".o",) if path.suffix == ".c" else cuda)]
    return made


def objects_of(root: Path, closed: list, nvcc: bool) -> list:
    """float/solution/lab1/gemm.o …; hostcuda's check build has objects of its own."""
    names = [name for lab in closed for name in object_names(root, lab, nvcc)]
    checked = [name for name in names if name.endswith(".lab.o")]
    return [f"{real}/{n}" for real in REALS for n in names] + [
        f"{real}-check/{n}" for real in REALS for n in checked]


def labs_of(root: Path) -> list:
    return sorted(int(p.parent.name.removeprefix("lab"))
                  for p in (root / "autograder").glob("lab*/lab.toml"))


def names(root: Path, closed: list) -> set:
    """All programs and objects of a handout in which these labs are closed, but for libraries."""
    labs = labs_of(root)
    ready = graders(labs) + broken(root, labs) + objects_of(root, closed, nvcc=True)
    return {f"given/{machine}/{name}" for machine in machines.KNOWN for name in ready}


def is_library(name: str) -> bool:
    """given/x86_64/lib/libffi.so.8, but not libffi-hints.so"""
    folder, _, file = name.rpartition("/")
    stem, dot, version = file.partition(".so")
    return (folder in {f"given/{machine}/lib" for machine in machines.KNOWN}
            and stem in LIBRARIES + STAND_INS and bool(dot) and not version.strip(".0123456789"))
