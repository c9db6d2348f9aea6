"""skeletons.py: the files that students write, as they were handed out.

    skeletons.py restore LAB TASK   the student's file moved away, its skeleton put back

They are made from the solution's by the markers in them (markers.py; maintain/generate.py writes
them). The hashes of what was written last lie in skeletons.sha256: so a file that somebody has
worked on since is known.
"""

import argparse
import hashlib
import os
import re
import sys
import time
from pathlib import Path

import markers

HANDOUT = "autograder/grade/skeletons"  # pristine copies, where there is no solution
MANIFEST = "autograder/grade/skeletons.sha256"


class Refused(Exception):
    """One line: what was asked for and why it is not done."""


def lab_of(path: Path) -> int:
    return int(path.parent.name.removeprefix("lab"))


def sources(folder: Path) -> list:
    """The files of all labs under a folder that a student edits: code, and cases.toml."""
    return sorted(p for p in folder.glob("lab[0-9]/*") if p.suffix in (".c", ".cu", ".toml"))


def skeletons(root: Path) -> dict:
    """labs/labN/x -> bytes, for every file of the solution, or of the handout's copies."""
    made = {}
    for path in sources(root / "solution"):
        name = str(path.relative_to(root))
        text = markers.generate(path.read_text(encoding="utf-8"), name, lab_of(path))
        made[f"labs/{path.parent.name}/{path.name}"] = text.encode()
    if not made:
        for path in sources(root / HANDOUT):
            made[f"labs/{path.parent.name}/{path.name}"] = path.read_bytes()
    return made


def exported(text: str) -> list:
    """The functions that a student's file defines for others, by its source."""
    return re.findall(r"^(?!static\b)\w[\w *]*?\b(tl_\w+)\(", text, re.MULTILINE)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_manifest(root: Path) -> dict:
    """labs/labN/x -> hash of what was written last; lines as sha256sum reads them."""
    path = root / MANIFEST
    if not path.exists():
        return {}
    known = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not (match := re.fullmatch(r"([0-9a-f]{64})  (labs/lab\d/[\w.]+)", line)):
            raise Refused(f"{MANIFEST}:{number}: not `<sha256>  labs/labN/file`")
        known[match[2]] = match[1]
    return known


def own_files(root: Path, lab: int) -> list:
    """im2col.c, im2col.cu …: the names of what a student writes in a lab, as written last."""
    if not (root / MANIFEST).exists():
        raise Refused(f"{MANIFEST} is missing, which says what a student writes: get a clean copy")
    return sorted(p.name for p in map(Path, read_manifest(root)) if p.parent.name == f"lab{lab}")


def code_files(root: Path, lab: int) -> list:
    """Those of them that a compiler reads."""
    return [name for name in own_files(root, lab) if name.endswith((".c", ".cu"))]


def replace(path: Path, data: bytes) -> None:
    """All of the new content or the old file: never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)


def of_task(root: Path, lab: str, task: str) -> dict:
    """The skeletons of one task; Refused names what there is instead."""
    made = skeletons(root)
    mine = {name: data for name, data in made.items() if Path(name).parent.name == f"lab{lab}"}
    if not mine and any(Path(name).parent.name == f"lab{lab}" for name in read_manifest(root)):
        raise Refused(f"neither solution/lab{lab} nor {HANDOUT}/lab{lab} is here, so there is no "
                      "skeleton to put back: get a clean copy")
    if not mine:
        labs = ", ".join(f"LAB={n}" for n in sorted({lab_of(Path(name)) for name in made}))
        raise Refused(f"LAB={lab}: there is no such lab: {labs}")
    wanted = {name: data for name, data in mine.items() if Path(name).stem == task}
    if not wanted:
        tasks = ", ".join(sorted({Path(name).stem for name in mine}))
        raise Refused(f"T={task}: lab {lab} has no such task: {tasks}")
    return wanted


def restore(root: Path, lab: str, task: str) -> int:
    """Moves the student's files of a task to build/restore/<time>/ and puts its skeletons back."""
    wanted = of_task(root, lab, task)
    now = root / "build/restore" / time.strftime("%Y-%m-%d_%H.%M.%S")
    keep, number = now, 1
    while keep.exists():  # two restores in one second
        number += 1
        keep = now.with_name(f"{now.name}-no{number}")
    for name, data in wanted.items():
        path = root / name
        if path.exists() and path.read_bytes() == data:
            print(f"{name}: is the skeleton already")
            continue
        if path.exists():
            (keep / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, keep / name)
            print(f"{name}: your file is now {(keep / name).relative_to(root)}")
        replace(path, data)
        print(f"{name}: is the skeleton again")
    return 0


def main(arguments: list) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("command", choices=["restore"])
    parser.add_argument("lab")
    parser.add_argument("task")
    given = parser.parse_args(arguments)
    try:
        return restore(given.root, given.lab, given.task)
    except (Refused, markers.MarkerError, OSError, UnicodeDecodeError) as error:
        print(f"restore: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
