"""labs_check.py: whether markers, skeletons and solution fit together, for `make labs-check`.

    labs_check.py files [OBJECTS]     labs/ is what the markers give, and gives nothing away; and
                                      skeleton and solution export the same names, as compilers saw
                                      it (OBJECTS: <compiler>/<mode>/{solution,labs}/labN/x.o)
    labs_check.py graded SIDE JSON    a grade of the solution (everything passes) or of skeletons
                                      (nothing does); SIDE is the folder that was graded

Findings are one line each. Exit 0: none; 1: some; 2: could not check.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import markers
import skeletons
import table


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
    found, removed, given, made = [], {}, {}, {}
    for path in skeletons.sources(root / "solution"):
        lab, name = skeletons.lab_of(path), str(path.relative_to(root))
        text = path.read_text(encoding="utf-8")
        for part in markers.parse(text, name, lab):
            if isinstance(part, str):
                given.setdefault(lab, set()).add(part.strip())
            else:
                for line in filter(telling, part.solution):
                    removed.setdefault(lab, {}).setdefault(line.strip(), f"{name}:{part.line}")
        made[name] = (lab, markers.generate(text, name, lab))
    for name, (lab, text) in made.items():
        for number, line in enumerate(text.splitlines(), 1):
            where = removed.get(lab, {}).get(line.strip())
            if where and line.strip() not in given[lab]:
                found.append(f"{name.replace('solution', 'labs', 1)}:{number}: `{line.strip()}` is "
                             f"left out by the piece of {where}, and still stands here")
    return found


def files(root: Path) -> list:
    """What is wrong with the committed skeletons, one line each."""
    made, known, wrong = skeletons.skeletons(root), skeletons.read_manifest(root), []
    for name, data in made.items():
        path = root / name
        if not path.exists():
            wrong.append(f"{name}: missing: run make skeletons")
        elif path.read_bytes() != data:
            wrong.append(f"{name}: is not what the solution's markers give: run make skeletons")
        if known.get(name) != skeletons.digest(data):
            wrong.append(f"{name}: its hash is not in {skeletons.MANIFEST}: run make skeletons")
    for path in skeletons.sources(root / "labs"):
        if str(path.relative_to(root)) not in made:
            wrong.append(f"{path.relative_to(root)}: no solution has this file")
    wrong += [f"{name}: in {skeletons.MANIFEST}, but no solution has it"
              for name in known if name not in made]
    return wrong + leaks(root)


def names_of(obj: Path) -> set:
    """What an object gives to others; weak names are a C++ compiler's own."""
    said = subprocess.run(["nm", "-P", "-g", "--defined-only", obj], check=True,
                          capture_output=True, text=True).stdout
    return {line.split()[0] for line in said.splitlines() if line.split()[1] not in "wWvVu"}


def symbols(built: Path) -> list:
    """Skeletons whose objects export other names than the solution's, by every compiler."""
    wrong, compared = [], 0
    for skeleton in sorted(built.glob("*/*/labs/lab[0-9]/*.o")):
        mode = skeleton.parents[2]
        solution = mode / "solution" / skeleton.relative_to(mode / "labs")
        if not solution.exists():  # nvcc has only the skeletons: hostcuda compiled the same file
            others = sorted(built.glob(f"*/{mode.name}/{solution.relative_to(mode)}"))
            solution = others[0] if others else solution
        compared += 1
        if different := names_of(skeleton) ^ names_of(solution):
            wrong.append(f"{skeleton}: exports other names than {solution}: "
                         f"{', '.join(sorted(different))}")
    if not compared:
        wrong.append(f"{built}: no objects to compare: run make labs-check")
    return wrong


def comes_with_code(file: Path) -> bool:
    """Whether a skeleton already does something (a slow kernel, which it launches, or a planted
    bug): then it fails as any program does that is wrong."""
    text = file.read_text(encoding="utf-8") if file.exists() else "TL_NOT_IMPLEMENTED"
    return "TL_NOT_IMPLEMENTED" not in text or "<<<" in text


def graded(side: Path, grade: dict) -> list:
    """What is wrong with a grade: of the solution every claim passes, of skeletons none, and these
    do no more than say that they are not written."""
    folder, wrong = side / f"lab{grade['lab']}", []
    for claim in grade["claims"]:
        name = f"{claim['claim']} ({claim['side']})"
        file = folder / (claim["task"] + table.SUFFIX[claim["side"]])
        if side.name == "solution":
            if claim["verdict"] != "pass":
                wrong.append(f"{name}: the solution fails: {claim['kind']}")
        elif claim["points"] or claim["verdict"] == "pass":
            wrong.append(f"{name}: {claim['points']} points for a skeleton")
        elif claim["kind"] not in ("not_implemented", "waiting") and not comes_with_code(file):
            wrong.append(f"{name}: the skeleton is not `not implemented`, but {claim['kind']}")
    if not grade["claims"]:
        wrong.append(f"lab {grade['lab']}: no claim was judged")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    commands = parser.add_subparsers(dest="command", required=True)
    committed = commands.add_parser("files")
    committed.add_argument("objects", type=Path, nargs="?")
    judged = commands.add_parser("graded")
    judged.add_argument("side", type=Path)
    judged.add_argument("grade", type=Path)
    given = parser.parse_args()
    try:
        if given.command == "graded":
            grade = json.loads(given.grade.read_text(encoding="utf-8"))
            wrong = graded(given.root / given.side, grade)
        else:
            wrong = files(given.root) + (symbols(given.objects) if given.objects else [])
    except (markers.MarkerError, skeletons.Refused, OSError, ValueError,
            subprocess.CalledProcessError) as error:
        print(f"labs-check: {error}", file=sys.stderr)
        return 2
    for line in wrong:
        print(line)
    print(f"labs-check: {len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
