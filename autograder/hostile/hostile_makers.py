"""hostile_makers.py: what a hostile submission has that cannot lie ready in a folder of its own:
links, pipes, long files, addresses of what was built; and what happens while it is graded.

`make` functions take (folder with the lab's files, World); `beside` functions take (submission's
folder, World), start something, and return how to end it.
"""

import atexit
import ctypes
import functools
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import hostile_world as world

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solution"
EXCHANGE = 2  # RENAME_EXCHANGE


@functools.cache
def secret() -> Path:
    """The course's, for official grading; one for each run of the harness."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-secret-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "secret"
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(32))
    return path


def built_of(folder: Path) -> list:
    """The snapshots of a submission, what was built of them, and their grades: by its name, which
    no other one has."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name)[:40]
    return [p for where in ("build/submissions", "build/*/from/build/submissions", "build/grade")
            for p in ROOT.glob(f"{where}/*{plain}-*")]


def lab_of(folder: Path) -> str:
    return folder.name


def hard_links_to_solution(folder: Path, _world) -> None:
    """Where both lie on one file system; else a copy of the link's name would prove nothing."""
    for path in sorted(folder.glob("*.c*")):
        path.unlink()
        source = SOLUTION / lab_of(folder) / path.name
        try:
            os.link(source, path)
        except OSError:  # another file system: a hard link to a copy outside, which is one as well
            outside = Path(tempfile.mkdtemp(dir=folder.parents[1])) / path.name
            shutil.copy(source, outside)
            os.link(outside, path)


def links_to_solution(folder: Path, _world) -> None:
    for path in sorted(folder.glob("*.c*")):
        path.unlink()
        path.symlink_to(SOLUTION / lab_of(folder) / path.name)


def folder_is_a_link(folder: Path, _world) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(SOLUTION / lab_of(folder))


def pipes(folder: Path, _world) -> None:
    """Who opens one waits for a writer for ever."""
    for path in sorted(folder.glob("*.c*")):
        path.unlink()
        os.mkfifo(path)


def forged_results(folder: Path, _world) -> None:
    """Everything that decides a grade, as the student would like it, beside the lab and above."""
    for place in (folder, folder.parent, folder.parent / "autograder" / lab_of(folder)):
        place.mkdir(parents=True, exist_ok=True)
        (place / "grade.json").write_text('{"score": {"points": 100, "max": 100}}\n')
        (place / "claims.jsonl").write_text('{"verdict": "pass"}\n')
        (place / "Makefile").write_text("grade:\n\t@echo lab0: done\n")
        (place / "lab.toml").write_text("lab = 0\n")
        (place / "vector.h").write_text('#error "a header of the student\'s was read"\n')


def a_quarter_megabyte_of_parentheses(folder: Path, _world) -> None:
    """As long as a file may be, and nothing but what a reader has to keep in mind."""
    path = folder / "vector_add.c"
    body = "(" * ((1 << 18) - 400)
    path.write_text(f'#include "tl/vector.h"\nint deep = {body}1;\n')


def build_once(folder: Path, numbers: dict) -> list:
    """Has this submission graded with some numbers for those that are not known yet, as a student
    can at home; returns all programs that there are then."""
    source = folder / "vector_add.cu"
    text = source.read_text()
    fill(source, text, numbers)
    command = ["make", "-C", str(ROOT), "grade", "LAB=0", f"SUBMISSION={folder.parent}",
               f"SECRET={secret()}", "T=vector_add/every_element_is_added", "DEVICES=hostcuda"]
    world.keep(command, 300, {}, folder.parents[1])
    source.write_text(text)
    return [p for place in built_of(folder.parent) if "float-check" in place.parts
            for p in place.glob("lab0/*/*")]


def fill(source: Path, text: str, numbers: dict) -> None:
    for name, value in numbers.items():
        text = text.replace(f"@{name}@", str(value))
    source.write_text(text)


def symbols(program: Path, names: str) -> dict:
    said = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return {name: int(value, 16) for value, name in
            re.findall(rf"^(\w+) \w ({names})$", said, re.MULTILINE)}


def find_the_counter(folder: Path, _world) -> None:
    """How far what is counted, and code that can be strung together, is from hostile_anchor, in the
    plug-in that this submission becomes. Where nothing is built that tells it, some number."""
    names = {"LAUNCHES": "total", "TO_HOST": "to_host", "COUNTS": "hc_check_work_to_host",
             "LEAVES": "__tsan_func_exit", "STATE": "hc_check"}
    codes = {"POP": b"\x5f\xc3", "RETURN": b"\xc3"}  # pop %rdi; ret, and ret, of x86-64
    numbers = dict.fromkeys([f"{name}_AWAY" for name in (*names, *codes)], 64)
    for built in build_once(folder, numbers):
        tells = built.suffix == ".so"
        at = symbols(built, "|".join([*names.values(), "hostile_anchor"])) if tells else {}
        if "hostile_anchor" not in at:
            continue
        code, begin = built.read_bytes(), at["hc_check_work_to_host"]  # (code lies where it says)
        places = {name: at[symbol] for name, symbol in names.items()} | {
            name: code.find(found, begin) for name, found in codes.items()}
        numbers = {f"{name}_AWAY": place - at["hostile_anchor"] for name, place in places.items()}
    source = folder / "vector_add.cu"
    fill(source, source.read_text(), numbers)


def find_the_reference(folder: Path, _world) -> None:
    """Where, in a worker, calls of operations return to, and where the reference's function is,
    which is linked because the C file beside is broken."""
    numbers = {"RETURNS": 1, "REFERENCE": 0}
    for built in build_once(folder, numbers):
        at = symbols(built, "call_execute|tl_vector_add") if "worker" in built.name else {}
        if len(at) < 2:
            continue
        said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", built], capture_output=True,
                              text=True, check=True).stdout
        body = said.split("<call_execute>:\n")[1].split("\n\n")[0]
        back = re.findall(r"call +\*.*\n +(\w+):", body)
        if back:
            numbers = {"RETURNS": ", ".join(f"0x{b}" for b in back),
                       "REFERENCE": at["tl_vector_add"]}
    source = folder / "vector_add.cu"
    fill(source, source.read_text(), numbers)


def swap(folder: Path, _world):
    """Each file changes places with a link to the solution, thousands of times a second, until it
    has been graded. Both names are there at any time."""
    inside = folder / next(p.name for p in folder.iterdir() if p.name.startswith("lab"))
    pairs = []
    for path in sorted(inside.glob("*.c*")):
        link = folder / f"link-{path.name}"
        link.symlink_to(SOLUTION / inside.name / path.name)
        pairs.append((os.fsencode(path), os.fsencode(link)))
    libc, done = ctypes.CDLL(None), threading.Event()

    def run():
        while not done.is_set():
            for a, b in pairs:
                libc.renameat2(-100, a, -100, b, EXCHANGE)

    thread = threading.Thread(target=run)
    thread.start()

    def end():
        done.set()
        thread.join()

    return end
