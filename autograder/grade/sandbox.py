"""sandbox.py: the box around a student's code: which tier, and what is seen in it.

The walls are autograder/box/'s. Here the launcher is built if it is not, the tier is found by its
self-test, and two small scripts are written, which the grader starts workers and addr2line by. A
worker sees the system's libraries and its own folder, read-only. On a GPU its driver needs more
than that, and a sanitizer looks around: there the worker is a process of its own and no more. What
others wrote is judged in a box or not at all (submission.py, grade.py).
"""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOX, LIBRARIES = ROOT / "build/box/box", ROOT / "build/box/libraries"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives",
          "/etc/ld.so.cache")
# A file of ours that must be out of sight.
SECRET = ROOT / "autograder/grade/sandbox.py"
REMEDY = ("install bubblewrap and let users make namespaces (Ubuntu 24.04: an AppArmor profile for "
          "bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0; Docker: --security-opt "
          "seccomp=unconfined), or grade as root in a container")
WORKER = """#!/bin/sh
# started by the grader: {name} WORKER
GRADLAB_TIER={tier} exec {box} run worker {options} -- "$1"
"""
TOOL = """#!/bin/sh
# started by the grader: {name} PROGRAM ARGUMENT…, which reads what a student's code became
GRADLAB_TIER={tier} exec {box} run {profile} {options} -- "$@"
"""


# What both are made of, as mk/box.mk has it.
SOURCES = [*(ROOT / "autograder/box").glob("*.[ch]"), ROOT / "mk/box.mk"]


class NoBox(Exception):
    """One line: why this machine has none, and what would mend it."""


def launcher() -> None:
    """Makes it, unless it is newer than its sources. (make asks no more, but takes 0.4 s to begin:
    three times in a grading, that was 7 % of its time.)"""
    if all(built.exists() for built in (BOX, LIBRARIES)) and max(
            source.stat().st_mtime for source in SOURCES) < min(
            built.stat().st_mtime for built in (BOX, LIBRARIES)):
        return
    made = subprocess.run(["make", "-s", "-C", ROOT, "build/box/box", "build/box/libraries"],
                          capture_output=True, text=True, errors="replace",
                          env={k: v for k, v in os.environ.items() if "MAKE" not in k and k != "V"})
    if made.returncode:
        said = (made.stderr.strip().splitlines() or ["make says nothing"])[-1]
        raise NoBox(f"its launcher, autograder/box/, cannot be built: {said}")


@functools.cache
def tier() -> str:
    """What `box tier` says: a letter and words. Its self-test has run in either profile."""
    launcher()
    told = subprocess.run([BOX, "tier", SECRET], capture_output=True, text=True, errors="replace")
    if told.returncode:
        said = " ".join((told.stdout + told.stderr).split())
        raise NoBox(f"no tier holds here ({said}): {REMEDY}")
    return told.stdout.strip()


def libraries(programs: list) -> list:
    """What programs of ours are linked with, and who loads them. (ldd starts a program's own
    loader: no program of a student's is shown to it.)"""
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, errors="replace",
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}).stdout
    return sorted(set(re.findall(r"(?:=> |^\s+)(/.+) \(0x", told, re.MULTILINE)))


def beyond_the_system() -> list:
    """An OpenBLAS that somebody has built, say."""
    return [path for path in libraries([LIBRARIES])
            if not path.startswith(tuple(f"{s}/" for s in SYSTEM))]


def make_tree(tree: Path, programs: list) -> None:
    """The root folder in tier C of workers and of addr2line, which reads them there (the folders
    above them may be root's alone): programs with their libraries, and nothing else."""
    addr2line = shutil.which("addr2line", path="/usr/bin:/bin")  # words hostcuda's findings
    tools = [addr2line] if addr2line else []
    for path in {*programs, *tools, *libraries([LIBRARIES, *tools])}:
        place = tree / str(path).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        place.chmod(0o755)
    for folder in [tree, *tree.rglob("*")]:
        if folder.is_dir():
            folder.chmod(0o755)


def write(script: Path, programs: list) -> str:
    """Writes the scripts for these workers and plug-ins (`script`, and with -tool behind it);
    returns why there can be no box here, or an empty string."""
    try:
        name = tier()
        for path in {Path(p).resolve() for p in programs}:  # for a box's user is somebody else
            path.chmod(path.stat().st_mode | 0o555)
            path.parent.chmod(path.parent.stat().st_mode | 0o555)
        options = [f"see={path}" for path in beyond_the_system()]
        worker, folders = options, sorted({Path(p).resolve().parent for p in programs})
        if name[0] == "C" and programs:
            make_tree(script.with_name("tree"), [Path(p).resolve() for p in programs])
            worker = [f"tree={script.with_name('tree')}"]
    except (NoBox, OSError) as error:
        return str(error)
    quoted = [*map(shlex.quote, worker), *(['see="${1%/*}"'] if name[0] != "C" else [])]
    tools, profile = [*options, *(f"see={folder}" for folder in folders)], "build"
    if worker != options:
        tools, profile = worker, "worker"
    tools = map(shlex.quote, tools)
    for path, text, words in ((script, WORKER, quoted), (tool_of(script), TOOL, tools)):
        path.write_text(text.format(name=path.name, tier=name[0], box=shlex.quote(str(BOX)),
                                    profile=profile, options=" ".join(words)))
        path.chmod(0o700)
    return ""


def tool_of(script: Path) -> Path:
    return script.with_name(f"{script.name}-tool")


def lacking() -> str:
    """Why this machine can build no box, or an empty string."""
    try:
        tier()
    except NoBox as error:
        return str(error)
    return ""


def main() -> int:
    """For `make doctor`: which tier, else why none."""
    reason = lacking()
    print(reason or tier())
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
