"""bundle.py LAB=n [OUT=file] [YES=1]: what to attach to a question, as one text file: the last
failures, versions, compilers, seed, hashes of the student's files, and what `make doctor` says.

Never the source, nor what compilers or the student's program printed, for both may quote it; no
names: the home folder, this folder, user and host are folded. The list is shown first, and asked
about (YES=1 does not ask).
"""

import getpass
import json
import os
import platform
import re
import socket
import subprocess
import sys
from pathlib import Path

import document
import listing
import make
import options
import skeletons
import text
from options import OptionError

# Of a failure what the grader itself has measured; all else is left out.
FACTS = ("kind", "call", "device", "real", "seed", "array", "index", "shape", "got", "want",
         "allowed", "bound", "wrong", "total", "patterns", "map", "file", "line", "op")  # fmt: skip
DOCTOR_SECONDS = 120  # a busy machine may need more; the rest is worth sending without it
SHORTEST = 3  # a name of fewer letters stands in half of all words


def names() -> dict:
    """What nobody else needs to know -> what stands for it; the longest first."""
    found = {str(Path.home()): "~", os.path.realpath(Path.home()): "~", os.getcwd(): "(here)",
             os.path.realpath(os.getcwd()): "(here)", socket.gethostname(): "(host)",
             platform.node(): "(host)"}
    try:
        found[getpass.getuser()] = "(user)"
    except (KeyError, OSError):
        pass  # a number without a name
    for name in ("USER", "LOGNAME", "SUDO_USER"):
        if value := os.environ.get(name):
            found[value] = "(user)"
    return {k: found[k] for k in sorted(found, key=len, reverse=True)
            if len(k) >= SHORTEST and k != "root"}


def folded(said: str, hidden: dict) -> str:
    """Without these names, and without any other path that begins at the root."""
    for name, sign in hidden.items():
        said = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", lambda _, s=sign: s, said)
    return re.sub(r"(?<![\w.~)/<])/(?:[\w.+@-]+/)+[\w.+@-]*",
                  lambda m: "(path)/" + m[0].rstrip("/").rsplit("/", 1)[1], said)


def version(grade: dict) -> list:
    """What this is a copy of; by the hashes of the grade it is known also without git."""
    path = Path("VERSION")
    if path.exists():
        said = path.read_text(encoding="utf-8").strip().splitlines()
    elif (commit := document.version()) != "unknown":
        said = [f"gradlab {commit}"]
    else:
        said = ["gradlab of an unknown commit: neither VERSION nor git is here"]
    return [*said, f"rules {grade['grader']['rules']}, contract {grade['contract']}"]


def failures(grade: dict) -> list:
    lines = []
    for result in grade["claims"]:
        if result["verdict"] != "pass":
            lines.append(f"{result['claim']} ({result['side']}): {result.get('kind')}")
            facts = (result.get("failures") or [{}])[0]
            lines += [f"    {key:<9} {text.visible(json.dumps(facts[key]), 600)}"
                      for key in FACTS if key in facts]
    return lines or ["(none)"]


def last_grade(lab: int) -> dict:
    """The latest of a lab, whole or of a part, with MINE=1 or without."""
    there = [p for name in ("grade.json", "grade-mine.json", "part.json")
             if (p := Path(f"build/grade/lab{lab}", name)).exists()]
    if not there:
        raise OptionError(f"lab {lab} has not been graded here: make grade LAB={lab} first")
    newest = max(there, key=lambda p: p.stat().st_mtime)
    return json.loads(newest.read_text(encoding="utf-8"))


def conditions(grade: dict) -> str:
    """ with MINE=1 T=im2col: what was typed for another grade than the lab's usual one."""
    typed = dict.fromkeys([*grade.get("build", ()), *grade.get("filter", "").split()])
    return f" with {' '.join(typed)}" if typed else ""


def hashes(lab: int) -> list:
    lines, known = [], skeletons.read_manifest(Path())
    for name in skeletons.own_files(Path(), lab):
        path = Path("labs", f"lab{lab}", name)
        digest = skeletons.digest(path.read_bytes()) if path.is_file() else "is not there"
        lines.append(f"{digest}  {path}" + "  (as handed out)" * (known.get(str(path)) == digest))
    return lines


def doctor() -> list:
    """What `make doctor` says, or why its part is missing."""
    try:
        said = make.run("--no-print-directory", "doctor", timeout=DOCTOR_SECONDS).stdout
    except subprocess.TimeoutExpired:
        return [f"(make doctor had not ended after {DOCTOR_SECONDS} s, so its part is missing: "
                "run it yourself when the machine is less busy)"]
    return said.splitlines()


def parts(lab: int) -> dict:
    """title -> lines, in the order in which they are read."""
    grade = last_grade(lab)
    score = grade["score"]
    return {
        "version": version(grade),
        "last grade": [f"lab {lab}: {score['points']}/{score['max']}{conditions(grade)}, seed "
                       f"{grade['seed']}, on {', '.join(grade['devices'])}"],
        "what failed": failures(grade),
        "compilers": [f"{k}: {v}" for k, v in (grade.get("compilers") or {}).items()],
        "hashes of your files": hashes(lab),
        "make doctor": doctor(),
    }


def agreed(shown: dict, command: str) -> bool:
    """Whether it may be written; `command` is what says so beforehand."""
    text.say(["what goes into it:", *(f"  {title}: {len(lines)} line{'s' * (len(lines) != 1)}"
                                      for title, lines in shown.items()),
              "your source does not, nor names or paths"])
    if not sys.stdin.isatty():
        raise OptionError(f"nobody is here to be asked; this writes it: {command}")
    return input("Write it? [Y/n] ").strip().lower() not in ("n", "no")


def bundle(given: dict) -> int:
    lab = listing.number_of(given)
    made = parts(lab)
    out = f" OUT={given['OUT']}" if given["OUT"] else ""
    if given["YES"] != "1" and not agreed(made, f"make bundle LAB={lab}{out} YES=1"):
        print("nothing was written")
        return 0
    lines = [line for title, body in made.items() for line in ["", f"== {title}", *body]]
    path = Path(given["OUT"] or f"build/bundle/lab{lab}.txt")
    said = folded("\n".join(text.visible(line, 1000) for line in lines[1:]) + "\n", names())
    skeletons.replace(path, said.encode("utf-8", "backslashreplace"))
    print(f"{path}: {len(said)} characters: read it, then attach it to your question")
    return 0


def main(arguments: list) -> int:
    try:
        return bundle(options.parse(arguments, {"LAB": "", "OUT": "", "YES": ""}))
    except (OptionError, skeletons.Refused, OSError, ValueError, KeyError) as error:
        text.say(text.visible_lines(f"bundle: {error}", 20, 1000), sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
