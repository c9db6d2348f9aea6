"""unlinked.py ERRORS LABS OBJECT...: why a student's code could not be linked, in words.

ERRORS is what the linker wrote, LABS the folder of the student's files. A linker speaks of symbols
and object files; a student has functions, files and labs.
"""

import re
import sys
from pathlib import Path

import skeletons

ROOT = Path(__file__).resolve().parents[2]


def source_of(obj: Path, labs: Path) -> Path:
    """labs/lab2/im2col.cu of …/lab2/im2col.cu.hostcuda.o; …/im2col.c of …/im2col.o."""
    stem = obj.name.removesuffix(".o").removesuffix(".hostcuda").removesuffix(".cuda")
    return labs / obj.parent.name / (stem if stem.endswith(".cu") else stem + ".c")


def owners() -> dict:
    """function -> [file]: which files of the labs export it, as the skeletons have it."""
    found = {}
    for name, data in skeletons.skeletons(ROOT).items():
        for function in skeletons.exported(data.decode()):
            found.setdefault(function, []).append(name)
    return found


# how compilers, by their own names, end at the limits that labs.mk sets them
STOPPED = re.compile(r"\S*(cc1|gcc|g\+\+|clang|nvcc)\S*: .*"
                     "(Killed|out of memory|memory exhausted|limit exceeded)")


def not_compiled(objects: list, labs: Path) -> list:
    """One line per file of which there is no object."""
    lines = []
    for obj in objects:
        if obj.exists():
            continue
        said = Path(f"{obj}.err").read_text(errors="replace").splitlines()
        errors = [line for line in said if re.search(r"\b(error|Error)\b", line)]
        first = (errors or said or [""])[0]
        if any(map(STOPPED.match, said)):
            first = ("the compiler was stopped: for this file it took more than 30 s, 8 GB or 1 GB "
                     "of output; is there a macro or a template that grows without end?")
        if "is missing" not in first:
            first = f"{source_of(obj, labs)} does not compile: {first}"
        lines.append(first.strip())
    return lines


def missing(text: str, objects: list, labs: Path) -> list:
    """One line per function that somebody calls and nobody defines."""
    kind = ".cu" if any(".cu." in o.name for o in objects) else ".c"
    callers, function = {}, ""
    for line in text.splitlines():
        if match := re.search(r": in function `([^']+)':", line):
            function = match[1]
        elif match := re.search(r"undefined reference to `(.+)'", line):
            callers.setdefault(match[1], function)
    lines, exported = [], owners()
    for name, caller in callers.items():
        homes = [h for h in exported.get(name, []) if Path(h).suffix == kind]
        if homes:
            lab, home = Path(homes[0]).parent.name, Path(homes[0])
            lines.append(f"{labs / lab / home.name} does not define {name}, which lab {lab[3:]} "
                         "asks for: put the function back, without `static` and under this very "
                         "name")
        else:
            lines.append(f"{name}{f' is called by {caller}' * bool(caller)}, and defined nowhere")
    return lines


def twice(text: str, objects: list, labs: Path) -> list:
    """One line per function that two files define."""
    lines, second, own = [], "", {str(o): source_of(o, labs) for o in objects}
    for line in text.splitlines():
        if match := re.match(r"(?:\S+: )?(\S+\.o)[:(]", line):  # behind the linker's own name
            second = match[1]
        if match := re.search(r"multiple definition of `([^']+)'; (\S+?\.o):", line):
            first, other = (own.get(o, o) for o in (match[2], second))
            lines.append(f"{match[1]} is defined in {first} and in {other}: make your own one "
                         "static, or give it another name")
    return lines


def main(arguments: list) -> int:
    errors, labs = Path(arguments[0]), Path(arguments[1])
    objects = [Path(o) for o in arguments[2:]]
    text = errors.read_text(errors="replace")
    lines = not_compiled(objects, labs)
    if not lines:
        lines = missing(text, objects, labs) + twice(text, objects, labs)
    if not lines:  # nothing that a student's file is known to cause: the linker's own words
        lines = [line for line in text.splitlines() if line.strip()][:5]
    print("\n".join(dict.fromkeys(lines)) or "the linker failed without a word")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
