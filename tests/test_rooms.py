"""Who may know whom: DESIGN's table of the rooms, over every #include and every import that is
tracked, and over what the grader and the programs are linked from.

A file may name files of its own room, and of the rooms behind its arrow; anything else is a defect.
"""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest
import relink

ROOT = relink.ROOT

# room -> rooms that it may know. A star is the rest of a folder's name: labs/lab2 is a room of its
# own, which does not know labs/lab1.
ARROWS = """
tl/include          ->
tl                  -> tl/include
tl/cuda             -> tl/include tl
tl/abi              -> tl/include
tests/lib           -> tl/include
solution/*          -> tl/include
labs/*              -> tl/include
kernels             -> tl/include
kernels/*           -> tl/include kernels
programs            -> tl/include tl kernels
programs/bench      -> tl/include tl kernels programs autograder/oracle hostcuda/include
programs/show       -> tl/include tl programs
bridge              -> tl/include
bridge/*            -> tl/include
hostcuda            ->
autograder/call     -> tl/include tl hostcuda/include
autograder/oracle   -> tl/include
autograder/claim    -> tl/include autograder/oracle autograder/call
autograder/lab*     -> tl/include autograder/oracle autograder/call autograder/claim
autograder/box      ->
autograder/worker   -> tl/include autograder/call
autograder/hostile  -> tl/include autograder/call
tests               -> tl/include tl kernels kernels/* programs solution/* labs/* hostcuda
                       hostcuda/include autograder/call autograder/oracle autograder/claim
"""
# Python talks to C by files that programs write. Of each other the rooms know tools/ alone: options
# of the form NAME=value are read in one place.
PYTHON_ARROWS = """
autograder/grade    -> tools
autograder/maintain -> autograder/grade tools
autograder/hostile  -> autograder/grade tools
autograder/course   -> autograder/grade tools
autograder/course/adapters -> autograder/grade tools
autograder/claim    ->
baseline            -> tools
bridge/gradlab      ->
report              -> tools
site                -> tools
hostcuda            ->
tools               ->
tests               -> autograder/grade autograder/maintain autograder/hostile autograder/course
                       autograder/course/adapters baseline bridge bridge/gradlab report data
                       hostcuda tools
"""
# Arrows of single files, each with its reason: file -> room.
EXCEPTIONS = {
    "programs/bench/question.c": "autograder/claim",  # the constants of the one bound (bound.def)
    "tools/run_tests.py": "autograder/grade",  # Criterion's list of tests is read in one place
}

C_KINDS = (".c", ".h", ".cu", ".cuh", ".cpp", ".inc", ".def")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
TEXT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def arrows(table: str) -> list:
    """(pattern of a room, patterns of what it may know), in the order of the table."""
    joined = re.sub(r"\n\s+", " ", table)
    rows = [line.split("->") for line in joined.splitlines() if line.strip()]
    return [(left.strip(), right.split()) for left, right in rows]


def fits(pattern: str) -> re.Pattern:
    return re.compile(re.escape(pattern).replace(r"\*", "[^/]+"))


def room(path: str, table: list) -> str:
    """The longest folder above a file that the table has a name for."""
    folder = os.path.dirname(path)
    named = [match[0] for left, right in table for name in [left, *right]
             if (match := re.match(f"({fits(name).pattern})(?=/|$)", folder))]
    return max(named, key=len, default=folder or ".")


def allowed(source: str, target: str, table: list) -> bool:
    """By the source's own row: the longest that fits."""
    rows = [row for row in table if fits(row[0]).fullmatch(source)]
    known = max(rows, key=lambda row: len(row[0]))[1] if rows else []
    return source == target or any(fits(name).fullmatch(target) for name in known)


def tracked(root: Path, *kinds: str) -> list:
    """Files of the repository, also those that are new; without git, all that are there."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root,
                          capture_output=True, text=True)
    names = done.stdout.split("\n") if done.returncode == 0 else [
        str(p.relative_to(root)) for p in root.rglob("*") if "build" not in p.parts]
    return sorted(n for n in names if n.endswith(kinds) and (root / n).is_file())


def meant(root: Path, path: str, included: str) -> str:
    """The file that an #include names, by where compilers look; nothing for a system's header."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), included))
    for name in (beside, f"tl/include/{included}", f"hostcuda/include/{included}",
                 os.path.normpath(included)):
        if (root / name).is_file():
            # CUDA's own headers: on a machine without CUDA, hostcuda stands for them
            toolkit = "/" not in included and name.startswith("hostcuda/include/")
            return "" if toolkit and name != beside else name
    return ""


def wrong_includes(root: Path) -> list:
    table, found = arrows(ARROWS), []
    for path in tracked(root, *C_KINDS):
        text = TEXT.sub("", (root / path).read_text(encoding="utf-8", errors="replace"))
        for included in INCLUDE.findall(text):
            target = meant(root, path, included)
            if not target:
                continue
            source, to = room(path, table), room(target, table)
            if source == "hostcuda" and to == "hostcuda/include":
                continue  # its own front door
            if not allowed(source, to, table) and EXCEPTIONS.get(path) != to:
                found.append(f"{path}: #include \"{included}\": {source} does not know {to}")
    return found


def python_room(path: str) -> str:
    """Tests know what they test, wherever they stand."""
    name = os.path.basename(path)
    if name.startswith("test_") or name == "conftest.py" or "tests" in path.split("/"):
        return "tests"
    table = arrows(PYTHON_ARROWS)
    return room(path, table) if "/" in path else "."


def imported(text: str) -> set:
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def wrong_imports(root: Path) -> list:
    table, found, modules = arrows(PYTHON_ARROWS), [], {}
    files = tracked(root, ".py")
    for path in files:
        modules.setdefault(Path(path).stem, set()).add(python_room(path))
    for path in files:
        source = python_room(path)
        for name in sorted(imported((root / path).read_text(encoding="utf-8"))):
            rooms = modules.get(name, set())
            if rooms and not any(allowed(source, to, table) for to in rooms) \
                    and EXCEPTIONS.get(path) not in rooms:
                found.append(f"{path}: import {name}: {source} does not know {sorted(rooms)[0]}")
    return found


def test_every_room_has_a_row():
    table = arrows(ARROWS)
    rooms = {room(path, table) for path in tracked(ROOT, *C_KINDS)}
    lone = {"autograder/grade", "hostcuda/include"}  # no_git.c, and a door that is open to others
    assert not [r for r in rooms - lone if not any(fits(left).fullmatch(r) for left, _ in table)]


def test_no_include_leaves_its_room_but_by_an_arrow():
    assert not wrong_includes(ROOT)


def test_no_module_is_imported_but_by_an_arrow():
    assert not wrong_imports(ROOT)


@pytest.mark.parametrize("path, line", [
    ("tl/planted.c", '#include "kernels/rungs.h"'),
    ("tl/include/tl/planted.h", '#  include "tl/rungs_apply.h"'),
    ("solution/lab2/planted.c", '#include "../lab1/planted.h"'),
    ("labs/lab2/planted.cu", '#include "solution/lab1/planted.h"'),
    ("kernels/conv2d/planted.cu", '#include "tl/rungs_apply.h"'),
    ("programs/planted.c", '#include "autograder/oracle/oracle.h"'),
    ("programs/bench/planted.c", '#include "autograder/claim/claim.h"'),
    ("hostcuda/runtime/planted.c", '#include "tl/real.h"'),
    ("autograder/lab2/planted_test.c", '#include "solution/lab1/planted.h"'),
    ("autograder/oracle/planted.c", '#include "autograder/call/call.h"'),
    ("autograder/call/planted.c", '#include "hostcuda/check/check.h"'),
    ("autograder/worker/planted.c", '#include "autograder/claim/claim.h"')])
def test_a_planted_include_is_named(tmp_path, path, line):
    """In a tree of nothing but the files in question: what is found is the planted line."""
    for name in ("kernels/rungs.h", "tl/rungs_apply.h", "solution/lab1/planted.h", "tl/include/tl/"
                 "real.h", "autograder/oracle/oracle.h", "autograder/call/call.h",
                 "hostcuda/check/check.h", "autograder/claim/claim.h", path):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert not wrong_includes(tmp_path)
    (tmp_path / path).write_text(f"// {line}\n{line}\n")
    found = wrong_includes(tmp_path)
    assert len(found) == 1 and found[0].startswith(f"{path}: {line.replace('#  ', '#')}: "), found


@pytest.mark.parametrize("path, name", [
    ("report/planted.py", "twin"), ("baseline/planted.py", "grade"),
    ("autograder/grade/planted.py", "mutants"), ("hostcuda/bench/planted.py", "lines"),
    ("tools/planted.py", "lines"), ("hostcuda/bench/planted.py", "options")])
def test_a_planted_import_is_named(tmp_path, path, name):
    for module in ("tools/options.py", "baseline/twin.py", "baseline/lines.py",
                   "autograder/grade/grade.py", "autograder/maintain/mutants.py"):
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / module).write_text("")
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("import os\n")
    assert not wrong_imports(tmp_path)
    (tmp_path / path).write_text(f"def f():\n    from {name} import x\n")
    assert len(wrong_imports(tmp_path)) == 1


# ---- links ---------------------------------------------------------------------------------------

def linked(goal: str) -> set:
    """The rooms whose objects a link takes."""
    table = arrows(ARROWS)
    words = relink.link_command(goal).split()
    objects = [re.sub(r"^build/[^/]+/(?=[^/]+/)", "", w) for w in words if w.endswith(".o")]
    assert objects
    return {room(path, table) for path in objects}


def test_the_grader_holds_no_code_of_a_lab():
    rooms = linked("build/float/grader")
    labs = {r for r in rooms if re.fullmatch(r"autograder/lab\d+", r)}
    assert labs and rooms - labs == {"autograder/call", "autograder/claim", "autograder/oracle",
                                     "tl"}


def test_a_program_holds_nothing_of_the_grader():
    rooms = linked("build/float/train")
    assert {"tl", "programs", "solution/lab1", "kernels/conv2d"} <= rooms
    assert not [r for r in rooms if r.startswith(("autograder", "tests", "labs", "hostcuda"))]


def test_hostcuda_is_a_house_of_its_own():
    """It links with any project: no name of ours stands in it."""
    for path in tracked(ROOT, *C_KINDS):
        if path.startswith("hostcuda/"):
            text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"\b(tl|TL)_\w+", TEXT.sub("", text)), path
