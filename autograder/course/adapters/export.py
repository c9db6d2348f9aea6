"""export.py FROM=grade.json|folder TO=system OUT=file: a grade in the form that another system
reads. One adapter a system; what each is and where its form is documented stands in its file.

Exit 0: written; 1: written, but what is told on stderr is not in it; 2: nothing was written.
"""

import os
import sys
from pathlib import Path

import autolab
import canvas
import classroom50
import gradescope
import moodle
import options
import prairielearn
import reports
import text
from grades import Unfit
from options import OptionError
from skeletons import replace

# system -> what makes its form of grades, and the options that it has beside FROM, TO and OUT
GRADEBOOK = ("ROSTER", "COLUMN", "LAB", "ATTEMPT")
ADAPTERS = {
    "gradescope": (gradescope.made, ()),
    "classroom50": (classroom50.made, ()),
    "junit": (reports.junit, ()),
    "github": (reports.github, ()),
    "moodle": (moodle.made, (*GRADEBOOK, "FEEDBACK")),
    "canvas": (canvas.made, GRADEBOOK),
    "autolab": (autolab.made, ()),
    "prairielearn": (prairielearn.made, ()),
}
OPTIONS = dict.fromkeys(("FROM", "TO", "OUT", *GRADEBOOK, "FEEDBACK"), "")


def parse(arguments: list) -> dict:
    given = options.parse(arguments, OPTIONS)
    if given["TO"] not in ADAPTERS:
        raise OptionError(f"TO={given['TO']}: say which form: {', '.join(ADAPTERS)}")
    for name in ("FROM", "OUT"):
        if not given[name]:
            raise OptionError(f"{name}= is missing: FROM=grade.json (or a folder of them) and "
                              "OUT=file are needed")
    takes = ("FROM", "TO", "OUT", *ADAPTERS[given["TO"]][1])
    if wrong := next((name for name in given if given[name] and name not in takes), ""):
        raise OptionError(f"{wrong}={given[wrong]}: TO={given['TO']} takes {', '.join(takes)}")
    return given


def export(given: dict) -> int:
    out = Path(given["OUT"])
    if out.exists() and given["ROSTER"] and os.path.samefile(out, given["ROSTER"]):
        raise OptionError("OUT= is ROSTER= itself: name another file, and keep the one that came "
                          "from the system")
    made = ADAPTERS[given["TO"]][0](Path(given["FROM"]), given)
    replace(out, made.text.encode("utf-8"))
    if made.printed:
        text.say(made.printed)
    if made.left:
        text.say([f"export: {text.visible(line, 600)}" for line in made.left], sys.stderr)
    print(f"{out}: written for {given['TO']}", file=sys.stderr)
    return 1 if made.left else 0


def main(arguments: list) -> int:
    try:
        return export(parse(arguments))
    except (OptionError, Unfit) as error:
        said = str(error)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    text.say([text.visible(f"export: nothing was written: {said}", 2000)], sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
