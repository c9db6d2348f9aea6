"""gradescope_run.py ROOT=folder [LAB=n]: what run_autograder does, in ROOT as Gradescope lays it
out: submission/ is graded, results/results.json is written. Without LAB=, as in an image that
serves all labs, the assignment's title says which one: "lab2" or "Lab 2"
(submission_metadata.json).

Exit 0: there are results. Else there are none, what was said stands in Gradescope's output for
staff, and no points are published.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import export
import gradescope
import options
import submission
import text
from skeletons import Refused, replace

GRADES = Path("build/grade")


def lab_of(root: Path) -> int:
    """As the title of its assignment has it."""
    path = root / "submission_metadata.json"
    try:
        title = json.loads(path.read_text(encoding="utf-8"))["assignment"]["title"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise options.OptionError(f"{path.name} names no assignment ({error}): is this "
                                  "Gradescope?") from None
    if not (found := re.match(r"lab ?(\d)\b", str(title), re.IGNORECASE)):
        raise options.OptionError(f"the assignment is called {title!r}, and that is no lab: call "
                                  'it "Lab 2"')
    return int(found[1])


def run(root: Path, lab: int) -> int:
    handed_in, results = root / "submission", root / "results/results.json"
    results.unlink(missing_ok=True)
    try:
        submission.collect(handed_in, lab)
    except Refused as why:  # what its owner can mend, so he is told
        said = text.visible(str(why).replace(f"{root}/", ""), 1000)
        replace(results, gradescope.as_text(gradescope.refused(said)).encode())
        return 0
    shutil.rmtree(GRADES, ignore_errors=True)
    graded = subprocess.run(["make", "grade", f"LAB={lab}", f"SUBMISSION={handed_in}"],
                            stdin=subprocess.DEVNULL)
    found = sorted(GRADES.rglob("grade.json"))
    if not found:
        print(f"run_autograder: make grade ended with {graded.returncode}, and without a grade: "
              "see above; run the autograder again", file=sys.stderr)
        return 1
    return export.main([f"FROM={found[0]}", "TO=gradescope", f"OUT={results}"])


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"ROOT": "", "LAB": ""})
        root = Path(given["ROOT"])
        return run(root, options.whole(given, "LAB") if given["LAB"] else lab_of(root))
    except (options.OptionError, OSError) as error:
        print(text.visible(f"run_autograder: {error}", 1000), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
