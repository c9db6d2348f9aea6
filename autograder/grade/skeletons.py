"""skeletons.py: the students' files, made from the solution's by the markers in them.

    skeletons.py write              labs/labN/* from solution/labN/*
    skeletons.py check [OBJECTS]    the same in memory, compared with what lies there; and the
                                    symbols of skeleton and solution, as `make labs-check` built them
    skeletons.py graded SIDE JSON   a grade of the solution (all points) or of the skeletons (none)
    skeletons.py restore LAB TASK   the student's file moved away, its skeleton put back

A marker is a comment of its own line in a solution's file:

    //@lab 2: what to do             the piece begins; the text becomes a TODO in the skeleton
    //@  and goes on
    ...                              the solution: left out
    //@skeleton                      (may be missing) what stands in its place:
    // return TL_NOT_IMPLEMENTED();  lines without their `// `
    //@end

A piece without text leaves no trace: helpers that are the student's to invent. The hashes of what
was written last lie in skeletons.sha256, so that a file that somebody has worked on since is known
and never overwritten.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path

WIDTH = 100
MOST_LINES = 40  # of a piece: what is longer is two tasks
HANDOUT = "autograder/grade/skeletons"  # pristine copies, where there is no solution
MANIFEST = "autograder/grade/skeletons.sha256"


class MarkerError(Exception):
    """A marker that cannot be meant; its text is one line that begins with file:line."""


@dataclass
class Piece:
    """What stands between //@lab and //@end."""
    line: int
    indent: str
    text: list = field(default_factory=list)
    solution: list = field(default_factory=list)
    skeleton: list = None  # None until //@skeleton


def code_lines(lines: list) -> int:
    """Lines that a student has to write: neither blank nor comment."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", "\n".join(lines), flags=re.DOTALL)
    return sum(1 for line in bare.splitlines() if line.strip())


def parse(text: str, name: str, lab: int) -> list:
    """The file as a list of given lines (str) and pieces (Piece), in order."""
    parts, piece, in_text = [], None, False

    def fail(number: int, what: str):
        raise MarkerError(f"{name}:{number}: {what}")

    for number, line in enumerate(text.splitlines(), 1):
        marker = re.match(r"(\s*)//@(.*)$", line)
        if not marker:
            if "//@" in line:
                fail(number, "a marker stands on a line of its own")
            in_text = False
            if piece is None:
                parts.append(line)
            elif piece.skeleton is None:
                piece.solution.append(line)
            elif given := re.match(rf"{piece.indent}//(?: (.*))?$", line):
                body = given[1] or ""
                piece.skeleton.append(piece.indent + body if body else "")
            else:
                fail(number, "lines of a skeleton are comments, `// …`, indented as its marker is")
            continue
        indent, word = marker[1], marker[2]
        if piece and indent != piece.indent:
            fail(number, f"not indented as the marker of line {piece.line} is")
        if begin := re.match(r"lab (\d+):(.*)$", word):
            if piece:
                fail(number, f"//@lab within the piece of line {piece.line}: //@end is missing")
            if int(begin[1]) != lab:
                fail(number, f"says lab {begin[1]}, but the file belongs to lab {lab}")
            piece, in_text = Piece(number, indent), True
            if begin[2].strip():
                piece.text.append(begin[2].strip())
        elif word == "" or word.startswith("  "):
            if not in_text or not piece.text:
                fail(number, "a line of text that follows no //@lab N: text")
            piece.text.append(word.strip())
        elif word == "skeleton":
            if not piece:
                fail(number, "//@skeleton outside of a piece: no //@lab before it")
            if piece.skeleton is not None:
                fail(number, f"a second //@skeleton in the piece of line {piece.line}")
            piece.skeleton, in_text = [], False
        elif word == "end":
            if not piece:
                fail(number, "//@end without //@lab")
            if not code_lines(piece.solution) and not "".join(piece.solution).strip():
                fail(number, f"the piece of line {piece.line} leaves nothing out")
            if (count := code_lines(piece.solution)) > MOST_LINES:
                fail(piece.line, f"a piece of {count} lines: {MOST_LINES} are the most, cut it up")
            parts.append(piece)
            piece, in_text = None, False
        else:
            fail(number, f"no marker is called //@{word.split(':')[0]}: lab N:, skeleton, end")
    if piece:
        fail(piece.line, "//@lab without //@end")
    return parts


def todo(piece: Piece, lab: int) -> list:
    """The text of a piece as a C comment; an empty line of the text begins a paragraph."""
    paragraphs = " ".join(line or "\n" for line in piece.text).split("\n")
    paragraphs[0] = f"TODO(lab {lab}): {paragraphs[0]}"
    lines, room = [], WIDTH - len(piece.indent) - 3
    for paragraph in paragraphs:
        lines += textwrap.wrap(paragraph.strip(), room, break_long_words=False, break_on_hyphens=False)
        lines.append("")
    lines.pop()
    if len(lines) == 1 and len(lines[0]) + 6 <= WIDTH - len(piece.indent):
        return [f"{piece.indent}/* {lines[0]} */"]
    out = [f"{piece.indent}/* {lines[0]}"]
    out += [f"{piece.indent} * {line}".rstrip() for line in lines[1:]]
    if len(out[-1]) + 3 <= WIDTH:
        out[-1] += " */"
    else:
        out.append(f"{piece.indent} */")
    return out


def generate(text: str, name: str, lab: int) -> str:
    """The skeleton of a solution's file."""
    out, parts = [], parse(text, name, lab)
    if not any(isinstance(part, Piece) for part in parts):
        raise MarkerError(f"{name}:1: no //@lab in this file: its skeleton would be the solution")
    for part in parts:
        if isinstance(part, str):
            out.append(part)
            continue
        if part.text:
            out += todo(part, lab)
        out += part.skeleton or []
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(out))  # where pieces vanished between empty lines
    return joined.strip("\n") + "\n"


def lab_of(path: Path) -> int:
    return int(path.parent.name.removeprefix("lab"))


def sources(folder: Path) -> list:
    """The files of all labs under a folder that a student edits."""
    return sorted(p for p in folder.glob("lab[0-9]/*") if p.suffix in (".c", ".cu"))


def skeletons(root: Path) -> dict:
    """labs/labN/x -> bytes, for every file of the solution, or of the handout's copies."""
    made = {}
    for path in sources(root / "solution"):
        name = str(path.relative_to(root))
        text = generate(path.read_text(encoding="utf-8"), name, lab_of(path))
        made[f"labs/{path.parent.name}/{path.name}"] = text.encode()
    if not made:
        for path in sources(root / HANDOUT):
            made[f"labs/{path.parent.name}/{path.name}"] = path.read_bytes()
    return made


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
            raise MarkerError(f"{MANIFEST}:{number}: not `<sha256>  labs/labN/file`")
        known[match[2]] = match[1]
    return known


def replace(path: Path, data: bytes) -> None:
    """All of the new content or the old file: never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)


def write(root: Path) -> int:
    """Writes what has changed. A single file with work in it, and nothing at all is written."""
    made, known = skeletons(root), read_manifest(root)
    if not (root / "solution").is_dir():
        print("skeletons: no solution here to make them from; make restore LAB=N T=task puts one "
              "back", file=sys.stderr)
        return 2
    changed, worked_on = [], []
    for name in sorted(set(made) | set(known)):
        path = root / name
        there = path.read_bytes() if path.exists() else None
        if there == made.get(name):
            continue
        (changed if there is None or digest(there) == known.get(name) else worked_on).append(name)
    for name in worked_on:
        print(f"{name}: differs from what was generated last: somebody's work, not overwritten. "
              f"Move it away (make restore LAB={Path(name).parent.name[3:]} T={Path(name).stem}) "
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


def restore(root: Path, lab: int, task: str) -> int:
    """Moves the student's files of a task to build/restore/<time>/ and puts its skeletons back."""
    made = {n: d for n, d in skeletons(root).items() if n.startswith(f"labs/lab{lab}/")}
    if not made:
        print(f"restore: there is no lab {lab}: LAB=1 … LAB=5", file=sys.stderr)
        return 2
    wanted = {n: d for n, d in made.items() if Path(n).stem == task}
    if not wanted:
        tasks = ", ".join(sorted({Path(n).stem for n in made}))
        print(f"restore: lab {lab} has no task {task or '(T= is missing)'}: {tasks}",
              file=sys.stderr)
        return 2
    keep = root / "build/restore" / time.strftime("%Y-%m-%d_%H.%M.%S")
    number = 1
    while keep.exists():  # two restores in one second
        number += 1
        keep = keep.with_name(keep.name.split("-no")[0] + f"-no{number}")
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


def telling(line: str) -> bool:
    """Whether a line says something: brackets, a bare return, the head of a loop over all of
    something or the end of a list of parameters occur everywhere."""
    bare = line.strip().removesuffix("\\").strip()
    if bare in ("return TL_OK;", "return false;", "return true;", "return status;",
                "} else {", "__syncthreads();", "TL_LAUNCHED();"):
        return False
    if re.fullmatch(r"for \(\w+ (\w+) = 0; \1 < [\w.>-]+; \1\+\+\)( \{)?|[\w ,*&]+\) \{", bare):
        return False
    return len(re.findall(r"\w", bare)) >= 8


def leaks(root: Path) -> list:
    """Lines that a piece leaves out and that stand in a skeleton of the lab all the same, unless
    the solution gives the same line elsewhere."""
    found, removed, given, out = [], {}, {}, {}
    for path in sources(root / "solution"):
        lab, name = lab_of(path), str(path.relative_to(root))
        text = path.read_text(encoding="utf-8")
        for part in parse(text, name, lab):
            if isinstance(part, str):
                given.setdefault(lab, set()).add(part.strip())
            else:
                for line in filter(telling, part.solution):
                    removed.setdefault(lab, {}).setdefault(line.strip(), f"{name}:{part.line}")
        out[name] = (lab, generate(text, name, lab))
    for name, (lab, text) in out.items():
        for number, line in enumerate(text.splitlines(), 1):
            where = removed.get(lab, {}).get(line.strip())
            if where and line.strip() not in given[lab]:
                found.append(f"{name.replace('solution', 'labs', 1)}:{number}: `{line.strip()}` is "
                             f"left out by the piece of {where}, and still stands here")
    return found


def check(root: Path) -> list:
    """What is wrong with the committed skeletons, one line each."""
    made, known, wrong = skeletons(root), read_manifest(root), []
    for name, data in made.items():
        path = root / name
        if not path.exists():
            wrong.append(f"{name}: missing: run make skeletons")
        elif path.read_bytes() != data:
            wrong.append(f"{name}: is not what the solution's markers give: run make skeletons")
        if known.get(name) != digest(data):
            wrong.append(f"{name}: its hash is not in {MANIFEST}: run make skeletons")
    for path in sources(root / "labs"):
        if str(path.relative_to(root)) not in made:
            wrong.append(f"{path.relative_to(root)}: no solution has this file")
    wrong += [f"{name}: in {MANIFEST}, but no solution has it" for name in known if name not in made]
    return wrong + leaks(root)


def exported(obj: Path) -> set:
    """Names that an object gives to others; weak ones are a C++ compiler's own."""
    said = subprocess.run(["nm", "-P", "-g", "--defined-only", obj], check=True,
                          capture_output=True, text=True).stdout
    return {line.split()[0] for line in said.splitlines() if line.split()[1] not in "wWvVu"}


def symbols(built: Path) -> list:
    """Skeletons whose objects export other names than the solution's, by every compiler."""
    wrong, compared = [], 0
    for skeleton in sorted(built.glob("*/*/labs/lab[0-9]/*.o")):
        mode = skeleton.parents[2]
        solution = mode / "solution" / skeleton.relative_to(mode / "labs")
        if not solution.exists():  # nvcc: hostcuda has compiled the same file
            others = sorted(built.glob(f"*/{mode.name}/{solution.relative_to(mode)}"))
            solution = others[0] if others else solution
        compared += 1
        different = exported(skeleton) ^ exported(solution)
        if different:
            wrong.append(f"{skeleton}: exports other names than {solution}: "
                         f"{', '.join(sorted(different))}")
    if not compared:
        wrong.append(f"{built}: no objects to compare: run make labs-check")
    return wrong


def comes_with_code(lab: str, claim: dict) -> bool:
    """Whether a skeleton already does something (a slow kernel, a planted bug): then it fails like any
    program that is wrong."""
    suffix = ".cu" if claim["half"] == "cuda" else ".c"
    file = Path("labs") / lab / (claim["claim"].split("/")[0] + suffix)
    return file.exists() and "TL_NOT_IMPLEMENTED" not in file.read_text(encoding="utf-8")


def graded(side: str, path: Path) -> list:
    """What is wrong with a grade: the solution has all points, a skeleton none, and it does no more
    than say that it is not written."""
    grade, wrong = json.loads(path.read_text(encoding="utf-8")), []
    for claim in grade["claims"]:
        name = f"{claim['claim']} ({claim['half']})"
        if side == "solution" and claim["verdict"] != "pass":
            wrong.append(f"{name}: the solution fails: {claim['kind']}")
        elif side != "solution" and claim["points"]:
            wrong.append(f"{name}: {claim['points']} points for a skeleton")
        elif side != "solution" and claim["kind"] not in ("not_implemented", "waiting") \
                and not comes_with_code(f"lab{grade['lab']}", claim):
            wrong.append(f"{name}: the skeleton is not `not implemented`, but {claim['kind']}")
    if not grade["claims"]:
        wrong.append("no claim was judged")
    return wrong


def sizes(root: Path) -> None:
    """Per lab: pieces, and the lines of the solution that they leave out."""
    for folder in sorted((root / "solution").glob("lab[0-9]")):
        rows = []
        for path in sources(root / "solution"):
            if path.parent != folder:
                continue
            parts = parse(path.read_text(encoding="utf-8"), str(path), lab_of(path))
            pieces = [p for p in parts if isinstance(p, Piece)]
            rows.append((path.name, len([p for p in pieces if p.text]),
                         sum(code_lines(p.solution) for p in pieces)))
        for name, pieces, lines in rows:
            print(f"{folder.name}/{name:<20} {pieces:3} TODOs {lines:4} lines")
        print(f"{folder.name}: {sum(r[1] for r in rows)} TODOs, {sum(r[2] for r in rows)} lines")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write")
    compared = commands.add_parser("check")
    compared.add_argument("objects", type=Path, nargs="?")
    commands.add_parser("sizes")
    judged = commands.add_parser("graded")
    judged.add_argument("side")
    judged.add_argument("grade", type=Path)
    back = commands.add_parser("restore")
    back.add_argument("lab")
    back.add_argument("task")
    given = parser.parse_args()
    try:
        if given.command == "write":
            return write(given.root)
        if given.command == "sizes":
            sizes(given.root)
            return 0
        if given.command == "restore":
            if not given.lab.isdigit():
                print(f"restore: LAB={given.lab}: say which lab: LAB=1 … LAB=5", file=sys.stderr)
                return 2
            return restore(given.root, int(given.lab), given.task)
        if given.command == "graded":
            wrong = graded(given.side, given.grade)
        else:
            wrong = check(given.root)
            wrong += symbols(given.objects) if given.objects else []
    except (MarkerError, OSError, UnicodeDecodeError, subprocess.CalledProcessError) as error:
        print(f"skeletons: {error}", file=sys.stderr)
        return 2
    for line in wrong:
        print(line)
    print(f"skeletons: {len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
