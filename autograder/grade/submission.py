"""submission.py FOLDER LAB: copies a lab's own files out of a submission, and prints where to.

A submission may be a whole repository, a folder with labs in it, or just the files. Of all that,
only the files that a student writes in this lab are taken: changed headers, tests and makefiles,
links and whatever else lies beside them stay behind. What is equal keeps its time, so that nothing
is built again without reason. A file whose text holds what no task allows (gate.py) is not to be
compiled: FILE.refused beside its copy says why, and workers.mk keeps to it.
"""

import hashlib
import os
import re
import stat
import sys
from pathlib import Path

import gate
import sandbox
import skeletons
import text
from skeletons import Refused

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 1 << 18  # bytes of one file, 25 times what the longest of the solution has
KINDS = {"a folder": stat.S_ISDIR, "a named pipe": stat.S_ISFIFO, "a socket": stat.S_ISSOCK,
         "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode)}


def find(folder: Path, lab: int, names: list) -> Path:
    """Where in the submission the lab's files lie."""
    places = [folder / "labs" / f"lab{lab}", folder / f"lab{lab}", folder]
    for place in places:
        if any((place / name).is_file() for name in names):
            return place
    tried = ", ".join(str(p) for p in places)
    raise Refused(f"{folder}: no file of lab {lab} ({', '.join(names[:3])} …) in {tried}")


def unfit(source: Path, straight: Path) -> str:
    """Why this is no file to take, or an empty string. A link, also of a folder above, could lead
    to the solution; whatever is no file could keep who reads it waiting for ever."""
    if source.is_symlink() or source.resolve() != straight:
        return "a link"
    mode = source.stat().st_mode
    for kind, is_kind in KINDS.items():
        if is_kind(mode):
            return kind
    return "" if source.stat().st_size <= LARGEST else f"larger than {LARGEST >> 10} KiB"


def refuse(lab: int, copy: Path) -> None:
    """Notes beside a copy why it is not to be compiled, if it is not."""
    note = copy.with_name(f"{copy.name}.refused")
    found = gate.file_findings(lab, copy, []) if copy.exists() else []
    note.unlink(missing_ok=True)
    if found:
        line, said = found[0]
        note.write_text(f"{os.path.relpath(copy, ROOT)}:{line}: not compiled: "
                        f"{text.visible(said)}\n", encoding="utf-8")


def take(folder: Path, lab: int, to: Path) -> list:
    """Copies, and returns lines about what was left behind on purpose."""
    names = skeletons.own_files(ROOT, lab)
    if not names:
        raise Refused(f"LAB={lab}: there is no such lab")
    if not folder.is_dir():
        raise Refused(f"SUBMISSION={folder}: there is no such folder")
    place, said = find(folder, lab, names), []
    (to / f"lab{lab}").mkdir(parents=True, exist_ok=True)
    for name in names:
        source, copy = place / name, to / f"lab{lab}" / name
        there = os.path.lexists(source)
        why = unfit(source, folder.resolve() / source.relative_to(folder)) if there else ""
        if why:
            said.append(f"{source}: {why}, not taken")
        if why or not there:
            copy.unlink(missing_ok=True)
        elif not copy.exists() or copy.read_bytes() != source.read_bytes():
            skeletons.replace(copy, source.read_bytes())
        refuse(lab, copy)
    return said


def copy_of(folder: Path) -> Path:
    """Where its files go, from the root: a name that neither make nor a shell takes for more."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name)[:40]
    path = str(folder.resolve()).encode("utf-8", "surrogateescape")
    return Path("build/submissions", f"{name}-{hashlib.sha256(path).hexdigest()[:8]}")


def main(arguments: list) -> int:
    try:
        if not arguments[0]:
            raise Refused("SUBMISSION= names no folder")
        if reason := sandbox.lacking():
            raise Refused("SUBMISSION= is graded in a sandbox alone, for others wrote it: "
                          f"{reason}")
        folder, lab = Path(arguments[0]), int(arguments[1])
        to = copy_of(folder)
        for line in take(folder, lab, ROOT / to):
            print(text.visible(line), file=sys.stderr)
    except (Refused, OSError) as error:
        print(f"grade: {text.visible(str(error))}", file=sys.stderr)
        return 2
    print(to)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
