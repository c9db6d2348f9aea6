"""given.py: what grading takes from the tree that was handed out, beside the student's files.

Where a part of it is missing, the rules change without a word: without skeletons every function is
"somebody else's", without the list of files nothing is a student's. So nothing is graded then.
"""

from pathlib import Path

import skeletons
import table

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = "autograder/grade/allowed_calls.toml"
FOLDERS = ("solution", skeletons.HANDOUT)  # each has what skeletons are made of, or are


def unequal(root: Path, known: dict) -> list:
    """Files that the list has and no folder of skeletons, or the other way round; and skeletons
    that were changed since they were made."""
    made = {f"labs/{path.parent.name}/{path.name}" for folder in FOLDERS
            for path in skeletons.sources(root / folder)}
    lost = [" or ".join(name.replace("labs", folder, 1) for folder in FOLDERS)
            for name in sorted(set(known) - made)]
    lost += [f"the line of {name} in {skeletons.MANIFEST}" for name in sorted(made - set(known))]
    for path in skeletons.sources(root / skeletons.HANDOUT):
        name = f"labs/{path.parent.name}/{path.name}"
        if known.get(name, "") not in ("", skeletons.digest(path.read_bytes())):
            lost.append(f"{path.relative_to(root)} as it was handed out")
    return lost


def missing(lab: table.Lab, root: Path = ROOT) -> list:
    """What grading this lab needs and is not there, in words."""
    lost = [name for name in (skeletons.MANIFEST, ALLOWED) if not (root / name).is_file()]
    if lost:
        return lost
    known = skeletons.read_manifest(root)
    asked = {f"labs/lab{lab.number}/{task.file(side)}" for task in lab.tasks
             for side in task.sides if task.name != "whole"}
    listed = {name for name in known if name.startswith(f"labs/lab{lab.number}/")}
    return ([f"the line of {name} in {skeletons.MANIFEST}" for name in sorted(asked - listed)]
            + [f"the task of {name} in {table.name_of(lab.path)}"
               for name in sorted(listed - asked)]
            or unequal(root, known))


def check(lab: table.Lab, root: Path = ROOT) -> None:
    if lost := missing(lab, root):
        more = f", and {len(lost) - 3} more" if len(lost) > 3 else ""
        raise skeletons.Refused(
            f"this copy is not whole, so nothing is graded; it lacks {', '.join(lost[:3])}{more}. "
            "Get a clean copy; what you have written in labs/ can go into it")
