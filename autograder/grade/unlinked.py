"""unlinked.py ERRORS LABS OBJECT...: why a student's code could not be linked, in words.
unlinked.py gone FILE: what to do about a file that is missing.

ERRORS is what the linker wrote, LABS the folder of the student's files. A linker speaks of symbols
and object files; a student has functions, files and labs. What is no student's fault (a given file
that is missing, a full disk) ends with status 2: nothing may be graded.
"""

import difflib
import re
import shlex
import sys
from pathlib import Path

import skeletons
import text
from said import ALSO_KNOWN_AS

ROOT = Path(__file__).resolve().parents[2]
LONGEST, MOST_LINES = 1000, 100


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


# how compilers, by their own names, end at the limits that workers.mk sets them
STOPPED = re.compile(r"\S*(cc1|gcc|g\+\+|clang|nvcc)\S*: .*"
                     "(Killed|out of memory|memory exhausted|limit exceeded)")
OF_BOX = "box: error: "  # how box_watch.c begins


# what no student has caused, in the words of compilers and linkers
MACHINES = re.compile("No space left on device|Disk quota exceeded|Read-only file system|"
                      "cannot find -l")


SHOWN = re.compile(r" *\d* *\|")  # how compilers show a line of the source


def kind_of(line: str) -> str:
    """What kind of failure (failure_kinds.py) a line of main() speaks of."""
    if re.match(r"\S+ does not compile: ", line):
        return "compile"
    if re.match(r"\S+: there is no function ", line):
        return "no_function"
    return "missing" if re.match(r"\S+ is missing\b", line) else "build"


def gone(source: Path) -> str:
    """That a file is missing, what may have become of it, and the command that fixes it."""
    lab = source.parent.name[3:]
    own = skeletons.own_files(ROOT, int(lab))
    others = {p.name.lower(): p for p in source.parent.glob("*") if p.name not in own}
    ways = []
    # im2col.C, "im2col (1).c" and the like
    for name in difflib.get_close_matches(source.name, others, 1, 0.7):
        ways.append(f"mv {shlex.quote(str(others[name]))} {source} gives that file its name")
    if source.parent.parent == Path("labs"):
        ways.append(f"make restore LAB={lab} T={source.stem} puts its skeleton back")
    return f"{source} is missing" + ": " * bool(ways) + ", or ".join(ways)


def not_compiled(objects: list, labs: Path) -> list:
    """One line per file of which there is no object."""
    lines = []
    for obj in objects:
        if obj.exists():
            continue
        source = source_of(obj, labs)
        said = text.read(Path(f"{obj}.err")).rstrip("\n").split("\n")
        said = [line for line in said if line]
        # (a line of the source that stands below a message is the student's word; so is an #error)
        blame_the_machine(line for line in said
                          if ": error: " not in line and not SHOWN.match(line))
        errors = [line for line in said if re.search(r"\b(error|Error)\b", line)]
        first = (errors or said or ["the compiler does not say why"])[0]
        if any(map(STOPPED.match, said)):
            first = ("the compiler was stopped: for this file it took more than 30 s, 8 GB or 1 GB "
                     "of output (of a submission: 20 s, 2 GB), or macros made 8 MB of it; is there "
                     "a macro or a template that grows without end?")
        if not said and not source.exists():
            lines.append(gone(source))
        elif ": not compiled: " in first:  # by submission.py
            lines.append(first)
        else:
            lines.append(f"{source} does not compile: {in_short(first, source)}")
    return lines


def in_short(error: str, source: Path) -> str:
    """A compiler's line, which is shown in full elsewhere: "line 3: expected ';'". """
    match = re.match(rf"{re.escape(str(source))}[:(](\d+)\S* *(?:fatal )?error:? *(.*)", error)
    error = error.removeprefix(OF_BOX)
    return ALSO_KNOWN_AS.sub("", f"line {match[1]}: {match[2]}" if match else error).strip()


def blame_the_machine(lines) -> None:
    for line in lines:
        if MACHINES.search(line):
            raise skeletons.Refused(f"nothing can be built here: {line.strip()}")


def is_given(obj: Path) -> bool:
    """Whether an object is made of a given file; a student's lie in labs/labN/."""
    return (not re.fullmatch(r"lab\d", obj.parent.name)
            or obj.parent.parent.name in ("solution", "absent"))


# Functions of libraries, some of which are not in every program.
OF_LIBRARIES = re.compile(r"hc_|cblas_|cublas|cuda[A-Z]|LAPACKE_|openblas_|omp_|__|\w+_\Z")


def is_somewhere(name: str, labs: Path) -> bool:
    """Whether there is such a function at all: of tl, of a library, or in a file of the labs."""
    if OF_LIBRARIES.match(name):
        return True
    declared, defined = (re.compile(begin + rf"\b{re.escape(name)}\([^;{{}}]*\)\s*{end}", re.M)
                         for begin, end in (("", ";"), (r"^\w[\w *]*?", r"\{")))
    return (any(declared.search(text.read(p)) for p in (ROOT / "tl/include/tl").glob("*.h"))
            or any(defined.search(text.read(p)) for p in labs.glob("lab*/*.c*")))


def offer(name: str, obj: str) -> str:
    """" (the compiler offers f)", where it has found a name that looks like this one."""
    said = Path(f"{obj}.err")
    found = re.search(rf"\b{re.escape(name)}\W?; did you mean \W?(\w+)",
                      text.read(said) if said.exists() else "")
    return f" (the compiler offers {found[1]})" if found else ""


def missing(said: str, objects: list, labs: Path) -> list:
    """One line per function that somebody calls and nobody defines."""
    kind = ".cu" if any(".cu." in o.name for o in objects) else ".c"
    callers, given, function, obj = {}, {}, "", ""
    for line in said.split("\n"):
        if match := re.search(r"(?:^|: )(\S+\.o):(?: in function `([^']+)':)?", line):
            obj, function = match[1], match[2] or ""
        if match := re.search(r"undefined reference to `(.+)'", line):
            callers.setdefault(match[1], (function, obj))
            if obj and is_given(Path(obj)):
                given[match[1]] = obj
    lines, exported = [], owners()
    for name, (caller, obj) in callers.items():
        homes = [h for h in exported.get(name, []) if Path(h).suffix == kind]
        if homes:
            lab, home = Path(homes[0]).parent.name, Path(homes[0])
            lines.append(f"{labs / lab / home.name} does not define {name}, which lab {lab[3:]} "
                         "asks for: put the function back, without `static` and under this very "
                         "name")
        elif name in given:
            raise skeletons.Refused(f"{name}, which {given[name]} needs, is defined nowhere: a "
                                    "given file is missing or changed; get a clean copy")
        elif obj and not is_somewhere(name.split("(")[0], labs):
            lines.append(f"{source_of(Path(obj), labs)}: there is no function {name}"
                         f"{f', which {caller} calls' * bool(caller)}: is it spelled right?"
                         f"{offer(name, obj)}")
        else:
            said = re.sub("^hc_blas_", "cublas", name)  # as the source has it
            lines.append(f"{said}{f' is called by {caller}' * bool(caller)}, and defined nowhere")
    return lines


def twice(said: str, objects: list, labs: Path) -> list:
    """One line per function that two files define."""
    lines, second, own = [], "", {str(o): source_of(o, labs) for o in objects}
    for line in said.split("\n"):
        if match := re.match(r"(?:\S+: )?(\S+\.o)[:(]", line):  # behind the linker's own name
            second = match[1]
        if match := re.search(r"multiple definition of `([^']+)'; (\S+?\.o):", line):
            first, other = ("what is given" if is_given(Path(o)) else own.get(o, o)
                            for o in (match[2], second))
            lines.append(f"{match[1]} is defined in {first} and in {other}: make your own one "
                         "static, or give it another name")
    return lines


def main(arguments: list) -> int:
    if arguments[0] == "gone":
        text.say([text.visible(gone(Path(arguments[1])), LONGEST)])
        return 0
    errors, labs = Path(arguments[0]), Path(arguments[1])
    objects = [Path(o) for o in arguments[2:]]
    said = text.read(errors)
    try:
        blame_the_machine(said.split("\n"))
        lines = not_compiled(objects, labs)
        if not lines:
            lines = missing(said, objects, labs) + twice(said, objects, labs)
    except skeletons.Refused as error:
        text.say([text.visible(f"grade: {error}", LONGEST)], sys.stderr)
        return 2
    if not lines:  # nothing that a student's file is known to cause: the linker's own words
        lines = [line for line in said.split("\n") if line.strip()][:5]
    lines = lines or ["the linker failed without a word"]
    text.say([text.visible(line, LONGEST) for line in dict.fromkeys(lines[:MOST_LINES])])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
