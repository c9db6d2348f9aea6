"""generate.py: writes the students' files, labs/labN/*, from solution/labN/* (make skeletons).

    generate.py write    what has changed; a file that somebody has worked on is never overwritten
    generate.py sizes    per file: TODOs, and the lines that they stand for
"""

import argparse
import sys
from pathlib import Path

import markers
from skeletons import (MANIFEST, Refused, digest, lab_of, read_manifest, replace, skeletons,
                       sources)  # fmt: skip


def write(root: Path) -> int:
    """Writes what has changed. A single file with work in it, and nothing at all is written."""
    if not (root / "solution").is_dir():
        raise Refused("no solution here to make them from; make restore LAB=N T=task puts one back")
    made, known = skeletons(root), read_manifest(root)
    changed, worked_on = [], []
    for name in sorted(set(made) | set(known)):
        path = root / name
        there = path.read_bytes() if path.exists() else None
        if there == made.get(name):
            continue
        (changed if there is None or digest(there) == known.get(name) else worked_on).append(name)
    for name in worked_on:
        path = Path(name)
        print(f"{name}: differs from what was generated last: somebody's work, not overwritten. "
              f"Move it away (make restore LAB={lab_of(path)} T={path.stem}) "
              "and run make skeletons again", file=sys.stderr)
    if worked_on:
        return 1
    for name in changed:
        if name in made:
            replace(root / name, made[name])
        else:
            (root / name).unlink()
        print(f"{'wrote' if name in made else 'removed'} {name}")
    lines = "".join(f"{digest(data)}  {name}\n" for name, data in sorted(made.items()))
    if made and (not (root / MANIFEST).exists() or (root / MANIFEST).read_text() != lines):
        replace(root / MANIFEST, lines.encode())
    print(f"skeletons: {len(made)} files, {len(changed)} changed")
    return 0


def sizes(root: Path) -> int:
    """Per lab: pieces, and the lines of the solution that they leave out."""
    for folder in sorted((root / "solution").glob("lab[0-9]")):
        todos = lines = 0
        for path in (p for p in sources(root / "solution") if p.parent == folder):
            parts = markers.parse(path.read_text(encoding="utf-8"), str(path), lab_of(path))
            pieces = [part for part in parts if isinstance(part, markers.Piece)]
            told = sum(1 for piece in pieces if piece.text)
            left_out = sum(markers.code_lines(piece.solution) for piece in pieces)
            print(f"{folder.name}/{path.name:<20} {told:3} TODOs {left_out:4} lines")
            todos, lines = todos + told, lines + left_out
        print(f"{folder.name}: {todos} TODOs, {lines} lines")
    return 0


def main(arguments: list) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("command", choices=["write", "sizes"])
    given = parser.parse_args(arguments)
    try:
        return {"write": write, "sizes": sizes}[given.command](given.root)
    except (Refused, markers.MarkerError, OSError, UnicodeDecodeError) as error:
        print(f"skeletons: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
