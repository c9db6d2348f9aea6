"""update.py FROM=folder: takes a newer handout over into this one; the student's files stay.

MANIFEST.sha256 of both says what is given. Of the files that a student writes (skeletons.sha256)
one that is still as it was handed out is replaced; one that was worked on stays, and where its
skeleton has changed, the new one is laid beside the work, to be compared. Anything else that was
changed is given back as it should be, and what it was is kept below build/update.

MANIFEST.sha256 comes last: what was broken off half-way is done by the same command again.
"""

import os
import shutil
import sys
import time
from pathlib import Path

import options
import skeletons
import text
from skeletons import Refused, digest

MANIFEST = "MANIFEST.sha256"


def read_manifest(folder: Path, what: str) -> dict:
    """name -> hash; a name that leads out of the folder is nobody's handout."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise Refused(f"{what} is no handout: it has no {MANIFEST}") from None
    known = {}
    for line in lines:
        value, _, name = line.partition("  ")
        if len(value) != 64 or name.startswith("/") or ".." in name.split("/") or not name:
            raise Refused(f"{what}/{MANIFEST}: {text.visible(line, 100)}: not `<sha256>  file`")
        known[name] = value
    return known


def check_whole(folder: Path, known: dict, what: str) -> None:
    """All of the newer handout is there before anything of it is taken."""
    for name, value in known.items():
        path = folder / name
        if path.is_symlink() or not path.is_file() or digest(path.read_bytes()) != value:
            raise Refused(f"{what}/{name} is not what {MANIFEST} says: get the handout again")


class Update:
    """What is to be done, file by file, and what is told of it."""

    def __init__(self, root: Path, new: Path):
        self.root, self.new, self.said = root, new, []
        self.old_list = read_manifest(root, "this folder")
        self.new_list = read_manifest(new, f"FROM={new}")
        check_whole(new, self.new_list, f"FROM={new}")
        self.students = set(skeletons.read_manifest(root)) | set(skeletons.read_manifest(new))
        self.keep = root / "build/update" / time.strftime("%Y-%m-%d_%H.%M.%S")

    def copy(self, name: str, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        part = to.with_name(to.name + ".part")
        shutil.copy(self.new / name, part)
        os.replace(part, to)

    def put_away(self, name: str) -> None:
        (self.keep / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.root / name, self.keep / name)

    def students_file(self, name: str, now: str) -> None:
        """`now`: the hash of what lies there, empty if nothing does."""
        before, after = self.old_list.get(name), self.new_list.get(name)
        if now in ("", before):
            if after:
                self.copy(name, self.root / name)
        elif after and before != after:
            beside = self.root / "build/update/skeletons" / name
            self.copy(name, beside)
            self.said.append(f"{name}: yours stays; its skeleton has changed: compare it with "
                             f"{beside.relative_to(self.root)}")

    def given_file(self, name: str, now: str) -> None:
        before, after = self.old_list.get(name), self.new_list.get(name)
        if now == after or not (now or after):
            return
        if now and now != before:
            self.put_away(name)
            self.said.append(f"{name}: it is given and was changed; what it was is now "
                             f"{(self.keep / name).relative_to(self.root)}")
        elif now and not after:
            (self.root / name).unlink()
        if after:
            self.copy(name, self.root / name)

    def run(self) -> None:
        names = sorted(set(self.old_list) | set(self.new_list))
        for path in (self.root / name for name in names):
            if path.is_symlink() or path.is_dir():
                raise Refused(f"{path} is a link or a folder, and the handout has a file of this "
                              "name: move it away first")
        for name in names:
            path = self.root / name
            now = digest(path.read_bytes()) if path.exists() else ""
            (self.students_file if name in self.students else self.given_file)(name, now)
        self.copy(MANIFEST, self.root / MANIFEST)


def update(root: Path, source: str) -> int:
    if not source:
        raise Refused("say where the newer handout lies: make update FROM=folder")
    new = Path(source)
    if not new.is_dir():
        raise Refused(f"FROM={new}: no such folder; an archive is unpacked first, beside this one")
    if new.resolve() == root.resolve():
        raise Refused("FROM= is this folder itself")
    before = (root / "VERSION").read_text(encoding="utf-8").splitlines()[:1]
    work = Update(root, new)
    work.run()
    after = (root / "VERSION").read_text(encoding="utf-8").splitlines()[0]
    text.say([*work.said, f"was {before[0] if before else 'unknown'}, is now {after}"])
    return 0


def main(arguments: list) -> int:
    try:
        return update(Path.cwd(), options.parse(arguments, {"FROM": ""})["FROM"])
    except (Refused, options.OptionError, OSError) as error:
        text.say(text.visible_lines(f"update: {error}", 40, 1000), sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
