"""submission.py FOLDER LAB [SECRET= SEED= REGRADE=]: takes a lab's own files out of a submission,
into a snapshot that nobody changes any more, and prints where it is.

A submission may be a whole repository, a folder with labs in it, just the files, or a .zip or
.tar.gz of one of these (intake.py); all of it may lie one folder deeper. Of all that, only the
files that a student writes in this lab are taken: changed headers, tests and makefiles, links and
whatever else lies beside them stay behind, and what the student may have meant of it is named.

The snapshot is build/submissions/<name>-<hash>/labN, called by its content: equal files find the
folder that is there, whose times make knows, and nothing is built again. It is complete before it
has its name, and read-only: what changes in the submission meanwhile changes nothing here.
Snapshots, and what was built of them, stay until `make clean`.

A file whose text holds what no task allows (gate.py) is not to be compiled: FILE.refused beside it
says why, and workers.mk keeps to it.
"""

import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import gate
import intake
import options
import sandbox
import seeds
import skeletons
import text
from skeletons import Refused

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOTS = Path("build/submissions")
SPENT = Path("build/spent/from")  # below: what a snapshot's builds have cost (box/box_watch.c)
NOTE = ".refused"


class NothingOfTheLab(Refused):
    """What was handed in has no file of the lab, wherever it was looked for."""


# Folders of a whole copy of gradlab that are no submission, and what a packer leaves behind.
NOT_HANDED_IN = ("solution", "build", "autograder", "__MACOSX")
MOST_NAMED = 20


def places(lab: int) -> list:
    """Where in a submission the lab's files may lie."""
    return [("labs", f"lab{lab}"), (f"lab{lab}",), ()]


def roots(source) -> list:
    """Where a submission may begin: at once, or in a folder that somebody has packed with it."""
    inside = [name for name, is_folder in sorted(source.names(()).items())
              if is_folder and name not in NOT_HANDED_IN and not name.startswith(".")]
    return [[()], [(name,) for name in inside]]


def of_another_lab(source, place: tuple, there: dict) -> bool:
    """Whether a place that does not say its lab has code, and none of this lab: every lab has a
    cases.toml."""
    return not any(is_code(name) for name in there) and any(
        is_code(name) for name, is_folder in source.names(place).items() if not is_folder)


def is_code(name: str) -> bool:
    return name.endswith((".c", ".cu"))


def located(source, names: list, lab: int) -> tuple:
    """(root, place, what was found there, why folders were not followed), of the first place that
    has a file of the lab; two equal ones, as two copies of the lab, are told apart by nobody."""
    linked = []
    for level in roots(source):
        found = []
        for root in level:
            for place in places(lab):
                try:
                    there = source.read((*root, *place), names)
                    if there and not place and of_another_lab(source, root, there):
                        continue
                except intake.Unfit as why:
                    linked.append(f"{'/'.join((*root, *place))}: {why}, not followed")
                    continue
                if there:
                    found.append((root, (*root, *place), there))
                    break
        if len(found) > 1:
            raise Refused(f"both {'/'.join(found[0][1])} and {'/'.join(found[1][1])} have files of "
                          f"lab {lab}: hand in one of them")
        if found:
            return *found[0], linked
    return (), (), {}, linked


def other_labs(source, lab: int) -> str:
    """What somebody who has handed in another lab's archive wants to read."""
    labs = sorted({int(Path(name).parent.name.removeprefix("lab"))
                   for name in skeletons.read_manifest(ROOT)} - {lab})
    there = []
    for n in labs:
        try:
            found = located(source, skeletons.code_files(ROOT, n), n)[2]
        except Refused:  # two copies of it
            found = True
        there += [str(n)] * bool(found)
    return f"files of lab {' and '.join(there)} are there" if there else ""


def left_behind(source, root: tuple, place: tuple, names: list) -> list:
    """Lines about C and CUDA beside a lab's files, and headers that are not as they were given:
    whoever changed them may count on it."""
    said, headers = [], ROOT / "tl/include/tl"
    given = sorted(path.name for path in headers.glob("*.*"))
    for where in (place, (*root, "tl", "include", "tl")):
        try:
            there, beside = source.read(where, given), source.names(where)
        except intake.Unfit:  # a link, or one that has become one meanwhile
            continue
        said += [f"your {name} differs from the given one; it was not taken"
                 for name, data in there.items() if data != (headers / name).read_bytes()]
        said += [f"{name} is no file of this lab; it was not taken"
                 for name, is_folder in sorted(beside.items()) if not is_folder
                 and name not in (*names, *given) and name.endswith((".c", ".cu", ".h", ".cuh"))]
    more = len(said) - MOST_NAMED
    return said[:MOST_NAMED] + [f"{more} more files were not taken"] * (more > 0)


def collect(path: Path, lab: int) -> tuple:
    """({name: content} of the lab's files, lines about what was left behind)"""
    names = skeletons.own_files(ROOT, lab)
    if not names:
        raise Refused(f"LAB={lab}: there is no such lab")
    source = intake.opened(path)
    try:
        root, place, found, linked = located(source, names, lab)
        if not found:
            tried = ", ".join(str(path.joinpath(*place)) for place in places(lab))
            code = skeletons.code_files(ROOT, lab)
            said = (f"{path}: no file of lab {lab} ({', '.join(code[:3])} …) in {tried}, nor one "
                    "folder deeper")
            others = other_labs(source, lab)
            raise NothingOfTheLab("; ".join(filter(None, [said, others, *linked])))
        said = [f"{path.joinpath(*place, name)}: {why}, not taken" for name, why in found.items()
                if isinstance(why, intake.Unfit)]
        said += left_behind(source, root, place, names)
    finally:
        source.close()
    return {name: data for name, data in found.items() if isinstance(data, bytes)}, said


def receipt(files: dict, lab: int) -> str:
    """One line a file, as sha256sum writes them and `make submit` shows them."""
    return "".join(f"{skeletons.digest(data)}  lab{lab}/{name}\n"
                   for name, data in sorted(files.items()))


def digest(files: dict, lab: int) -> str:
    """Of all files, names and contents: that of the receipt."""
    return hashlib.sha256(receipt(files, lab).encode()).hexdigest()


def name_of(path: Path) -> str:
    """What people call a submission: its folder's name, or the archive's."""
    name = path.resolve().name
    return name.removesuffix(intake.ending(name))


def folder_of(path: Path, files: dict, lab: int) -> Path:
    """Of the snapshot: a name that neither make nor a shell takes for more."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name_of(path))[:40]
    return SNAPSHOTS / f"{plain}-{digest(files, lab)[:16]}"


def note_on(lab: int, copy: Path, shown: Path) -> str:
    """Why it is not to be compiled, or an empty string; data is not."""
    code = copy.suffix in (".c", ".cu")
    for line, said in gate.file_findings(lab, copy, [])[:1] if code else []:
        return f"{shown}:{line}: not compiled: {text.visible(said)}\n"
    return ""


def holds(folder: Path, lab: int, data: dict) -> bool:
    """Whether a snapshot has just this in it, as write() leaves it."""
    inside = folder / f"lab{lab}"
    try:
        if os.listdir(folder) != [inside.name] or set(os.listdir(inside)) != set(data):
            return False
        return all(intake.read_file(inside / name, 2 * intake.LARGEST) == content
                   and stat.S_IMODE((inside / name).stat().st_mode) == 0o444
                   for name, content in data.items())
    except (OSError, intake.Unfit):
        return False


def remove(folder: Path) -> None:
    """What is read-only, too."""
    for path in [folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())]:
        path.chmod(0o700)
    shutil.rmtree(folder)


def build(made: Path, to: Path, files: dict, lab: int) -> dict:
    """Writes a snapshot's content, with the gate's notes; returns all of it."""
    inside = made / f"lab{lab}"
    inside.mkdir()
    shown = Path(os.path.relpath(to, ROOT), inside.name)
    data = dict(files)
    for name, content in files.items():
        (inside / name).write_bytes(content)
        if note := note_on(lab, inside / name, shown / name):
            data[f"{name}{NOTE}"] = note.encode()
            (inside / f"{name}{NOTE}").write_bytes(note.encode())
    for name in data:
        (inside / name).chmod(0o444)
    inside.chmod(0o555)
    made.chmod(0o555)
    return data


def keep(files: dict, lab: int, to: Path) -> None:
    """Makes the snapshot `to`, unless it is there. Where the gate has learned something since, or
    somebody has changed what is there, a new one takes its place, with new times: make has to look
    at those files again. (Names change within one folder: a read-only folder may not leave it.)"""
    to.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".new-{to.name}-", dir=to.parent))
    before = None
    try:
        data = build(made, to, files, lab)
        if holds(to, lab, data):
            return
        if to.exists():
            before = Path(tempfile.mkdtemp(prefix=f".old-{to.name}-", dir=to.parent))
            os.rename(to, before)
        try:
            os.rename(made, to)
        except OSError:  # somebody beside us was quicker
            if not holds(to, lab, data):
                raise
    finally:
        for folder in filter(None, [made, before]):
            if folder.exists():
                remove(folder)


def spent(folder: Path) -> Path:
    """The list of what a snapshot's builds have cost: workers.mk knows it by this name, too."""
    return SPENT / folder / "builds"


def begin_spending(folder: Path) -> None:
    """Each grade has all of its time. (Somebody beside us may write to this very file.)"""
    (ROOT / spent(folder)).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / spent(folder)).write_bytes(b"")


def identity(folder: Path, lab: int) -> dict:
    """What was graded: hashes of a snapshot's files; Refused if it is none or was changed."""
    source = intake.Folder(folder)
    try:
        found = source.read((f"lab{lab}",), skeletons.own_files(ROOT, lab))
    finally:
        source.close()
    files = {name: data for name, data in found.items() if isinstance(data, bytes)}
    whole = digest(files, lab)
    if len(files) != len(found) or not folder.name.endswith(f"-{whole[:16]}"):
        raise Refused(f"{folder}: this snapshot of a submission was changed: remove it, and grade "
                      "the submission again")
    return {"sha256": whole,
            "files": {name: skeletons.digest(data) for name, data in sorted(files.items())}}


def main(arguments: list) -> int:
    try:
        if not arguments[0]:
            raise Refused("SUBMISSION= names no folder")
        given = options.parse(arguments[2:], dict.fromkeys(("SECRET", "SEED", "REGRADE"), ""))
        if reason := sandbox.lacking():
            raise Refused("SUBMISSION= is graded in a sandbox alone, for others wrote it: "
                          f"{reason}")
        seeds.check(given)
        path, lab = Path(arguments[0]), int(arguments[1])
        files, said = collect(path, lab)
        to = folder_of(path, files, lab)
        keep(files, lab, ROOT / to)
        begin_spending(to)
        for line in said:
            print(text.visible(line), file=sys.stderr)
    except (Refused, options.OptionError, OSError) as error:
        print(f"grade: {text.visible(str(error), 1000)}", file=sys.stderr)
        return 2
    print(to)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
