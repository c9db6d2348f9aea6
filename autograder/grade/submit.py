"""submit.py LAB=n [OUT=file.zip] [CHECK=1]: packs what a student has written in a lab, to be handed
in. CHECK=1 only says whether there is something to pack.

The archive holds the lab's own files alone, under the names by which grading finds them
(submission.py). The receipt is the SHA-256 of the files: the grade names it again, in whatever
archive they came. The archive's own tells which download this was: equal files give equal bytes.
"""

import hashlib
import io
import sys
import zipfile
from pathlib import Path

import intake
import options
import skeletons
import text
from skeletons import Refused
from submission import digest
from unlinked import gone

EPOCH = (1980, 1, 1, 0, 0, 0)  # a time that every archive can hold: that of a file is no part of it


def packed(files: dict) -> bytes:
    """A zip of name -> content. Nothing is compressed: another zlib would give other bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system, entry.external_attr = 3, 0o100644 << 16  # a file, as on Unix
            out.writestr(entry, data)
    return archive.getvalue()


def collected(root: Path, lab: str) -> dict:
    """lab2/im2col.c -> content, of everything that belongs to the lab; Refused says what keeps it
    from being handed in."""
    names = skeletons.own_files(root, int(lab)) if lab.isdecimal() else []
    if not names:
        labs = sorted({f"LAB={skeletons.lab_of(Path(n))}" for n in skeletons.read_manifest(root)})
        raise Refused(f"LAB={lab}: say which lab: {', '.join(labs)}")
    found, wrong, place = {}, [], ("labs", f"lab{lab}")
    source = intake.Folder(root)
    try:
        there = source.read(place, names)
    except intake.Unfit as why:
        raise Refused(f"{'/'.join(place)} is {why}, which nobody grades") from None
    finally:
        source.close()
    for name in names:
        path, data = Path(*place, name), there.get(name)
        if data is None:
            wrong.append(gone(path))
        elif isinstance(data, intake.Unfit):
            wrong.append(f"{path} is {data}, which nobody grades")
        else:
            found[f"lab{lab}/{name}"] = data
    if wrong:
        raise Refused("nothing was packed:\n  " + "\n  ".join(wrong))
    return found


def submit(root: Path, lab: str, out: str, check: bool = False) -> int:
    files, known = collected(root, lab), skeletons.read_manifest(root)
    untouched = {name for name, data in files.items()
                 if skeletons.digest(data) == known[f"labs/{name}"]}
    if untouched == set(files):
        raise Refused(f"no file of labs/lab{lab} differs from what was handed out: there is "
                      "nothing to hand in yet")
    if check:
        return 0
    data = packed(files)
    path = root / (out or f"build/submit/lab{lab}.zip")
    skeletons.replace(path, data)
    for name in sorted(files):
        print(f"{skeletons.digest(files[name])}  {name}"
              + "  (as it was handed out)" * (name in untouched))
    whole = digest({Path(name).name: content for name, content in files.items()}, int(lab))
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    print("\nyour receipt, the SHA-256 of these lines; keep it, your grade names it (files):\n"
          f"{whole}\n{shown}: {len(files)} files, {len(data)} bytes: hand this in; its own "
          f"SHA-256, which no grade names:\n{hashlib.sha256(data).hexdigest()}")
    return 0


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"LAB": "", "OUT": "", "CHECK": ""})
        return submit(Path.cwd(), given["LAB"], given["OUT"], bool(given["CHECK"]))
    except (Refused, options.OptionError, OSError) as error:
        text.say(text.visible_lines(f"submit: {error}", 40, 1000), sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
