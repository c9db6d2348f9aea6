"""handout.py OUT=folder [LABS=1,2] [CLOSED=1] [MACHINES=x86_64,aarch64]

Lays out what students get, and nothing else.

What goes along is said by given.toml, of the committed files alone. What must not be read goes as
programs and objects: the graders and the broken versions, without symbols, and, of the labs that
CLOSED names, the reference's objects. They are made in a clean copy of the commit for each of
MACHINES (machines.py); VERSION says for which, and which glibc they want. MANIFEST.sha256 has the
hash of every file: by it `make update` knows what is given and what is the student's. The same
commit gives the same bytes.

OUT must not be there yet: it is complete when it has its name.
"""

import contextlib
import fnmatch
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import handed
import leaks
import machines
import options
import skeletons
import text
from machines import run
from skeletons import Refused

ROOT = Path(__file__).resolve().parents[2]
LIST = "autograder/course/given.toml"
OPTIONS = ("OUT", "LABS", "CLOSED", "MACHINES")


# ---- which files ---------------------------------------------------------------------------------

def labs_of(asked: str, name: str, there: list) -> list:
    """LABS=1,2 as numbers; nothing typed: `there`."""
    if not asked:
        return there
    labs = asked.split(",")
    if wrong := [lab for lab in labs if not lab.isdecimal() or int(lab) not in there]:
        known = ", ".join(map(str, there))
        raise Refused(f"{name}={asked}: {wrong[0]!r} is no lab; there are {known}")
    return sorted({int(lab) for lab in labs})


def matching(files: list, pattern: str) -> list:
    """`*` stays within a folder, `**` does not."""
    expression = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return [f for f in files if re.fullmatch(expression, f)]


def chosen(files: list, rules: dict, labs: list) -> dict:
    """file of the handout -> tracked file."""
    found = {}
    for pattern in rules["given"]:
        each = [pattern.format(lab=f"lab{n}") for n in labs] if "{lab}" in pattern else [pattern]
        for one in each:
            if not (names := matching(files, one)):
                raise Refused(f"{LIST}: {one} matches no tracked file")
            found |= dict.fromkeys(names)
    kept = {f: f for f in found if not any(fnmatch.fnmatch(f, w) for w in rules["withheld"])}
    return kept | {new: old for old, new in rules["renamed"].items()}


# ---- what is made ready --------------------------------------------------------------------------

def clean_copy(to: Path) -> None:
    """The commit, as git has it."""
    to.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        raise Refused("a handout is made of a commit, and this is no git repository: clone it")
    subprocess.run(["tar", "-x"], cwd=to, input=archive.stdout, check=True)


def make_ready(compiler: machines.Compiler, to: Path, labs: list, closed: list) -> str:
    """Fills given/<machine>; returns the oldest glibc that its programs run with."""
    graders = [name.replace("/", "/handed/", 1) for name in handed.graders(labs)]
    names = graders + handed.objects_of(ROOT, closed, compiler.nvcc)
    build = compiler.copy / "build"
    compiler.make(*(f"build/{name}" for name in names))
    for lab in handed.with_cases(ROOT, labs):
        compiler.make("broken", f"LAB={lab}", "LABS=solution")
    broken = handed.broken(ROOT, labs)
    for name in names + broken:
        target = to / name.replace("/handed/", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(build / name, target)
        target.chmod(0o644 if name.endswith(".o") else 0o755)
        compiler.strip(target)
    brought = compiler.libraries(build / graders[0], handed.LIBRARIES)
    brought += sorted((build / "grader").glob("*.so*"))
    (to / "lib").mkdir()
    for path in brought:
        shutil.copyfile(path, to / "lib" / path.name)
    programs = [to / name.replace("/handed/", "/") for name in graders + broken]
    return compiler.newest_glibc(programs + brought)


# ---- the folder ----------------------------------------------------------------------------------

def version(labs: list, closed: list, made: list) -> str:
    """`made`: of each machine its compiler and the oldest glibc."""
    commit = run("git", "describe", "--tags", "--always", "--abbrev=12", "HEAD", cwd=ROOT).strip()
    day = run("git", "log", "-1", "--format=%cs", cwd=ROOT).strip()
    lines = [f"gradlab {commit} of {day}", f"labs    {', '.join(map(str, labs))}",
             f"closed  {', '.join(map(str, closed)) or 'none'}"]  # fmt: skip
    for compiler, glibc in made:
        machine = compiler.machine
        no_gpu = "; of closed labs nothing for a GPU" if closed and not compiler.nvcc else ""
        lines.append(f"machine {machine.name} ({machine.arch}), glibc {glibc} or newer{no_gpu}")
    return "\n".join(lines) + "\n"


def lay_skeletons(to: Path, labs: list) -> None:
    """Pristine copies, and the list of what a student writes, of these labs alone."""
    names = {f"labs/lab{n}" for n in labs}
    lines = [line for line in (to / skeletons.MANIFEST).read_text().splitlines(keepends=True)
             if str(Path(line.split()[1]).parent) in names]
    (to / skeletons.MANIFEST).write_text("".join(lines))
    for line in lines:
        name = line.split()[1]
        copy = to / skeletons.HANDOUT / name.removeprefix("labs/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(to / name, copy)


def manifest(folder: Path) -> str:
    """As sha256sum -c reads it."""
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    return "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder)}\n"
                   for p in paths)


def fill(to: Path, work: Path, labs: list, closed: list, kinds: list) -> None:
    copies = [work / machine.name for machine in kinds]
    for copy in copies:
        clean_copy(copy)
    copy = copies[0]
    rules = tomllib.loads((copy / LIST).read_text())
    tracked = [str(p.relative_to(copy)) for p in copy.rglob("*") if p.is_file()]
    files = chosen(tracked, rules, labs) | {skeletons.MANIFEST: skeletons.MANIFEST}
    nvcc = bool(run("tools/find_cuda.sh", cwd=ROOT).strip())
    # (what one of them lacks is said before anything is made)
    compilers = [machines.Compiler(m, folder, nvcc) for m, folder in zip(kinds, copies)]
    for name, source in sorted(files.items()):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(copy / source, to / name)
    lay_skeletons(to, labs)
    made = [(c, make_ready(c, to / "given" / c.machine.name, labs, closed)) for c in compilers]
    (to / "VERSION").write_text(version(labs, closed, made))
    (to / "MANIFEST.sha256").write_text(manifest(to))


def look_for_leaks(folder: Path, closed: list) -> None:
    said, of = io.StringIO(), [f"CLOSED={','.join(map(str, closed))}"] if closed else []
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = leaks.main([str(folder), *of])
    if status:
        raise Refused(f"nothing was handed out, for it would show what it must not:\n"
                      f"{said.getvalue()}")
    print(said.getvalue(), end="")


def handout(given: dict) -> int:
    if not given["OUT"]:
        raise Refused("OUT= says where it goes: make handout OUT=folder")
    out = Path(given["OUT"]).absolute()
    if out.exists():
        raise Refused(f"OUT={given['OUT']} is there already: remove it, or name another folder")
    there = handed.labs_of(ROOT)
    labs = labs_of(given["LABS"], "LABS", there)
    if lost := [n for n in range(1, labs[-1]) if n not in labs]:
        raise Refused(f"LABS={given['LABS']}: lab {labs[-1]} builds on lab {lost[0]}: hand it out, "
                      f"too; CLOSED={lost[0]} takes the reference's objects for it")
    closed = labs_of(given["CLOSED"], "CLOSED", there) if given["CLOSED"] else []
    kinds = machines.asked(given["MACHINES"])
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".handout-", dir=out.parent) as work:
        to = Path(work, "made")
        to.mkdir()
        fill(to, Path(work), labs, closed, kinds)
        look_for_leaks(to, closed)
        os.rename(to, out)
    size = sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
    print((out / "VERSION").read_text() + f"{out}: {size / 1e6:.1f} MB")
    return 0


def main(arguments: list) -> int:
    try:
        return handout(options.parse(arguments, dict.fromkeys(OPTIONS, "")))
    except (Refused, options.OptionError, OSError) as error:
        text.say(text.visible_lines(f"handout: {error}", 40, 1000), sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
