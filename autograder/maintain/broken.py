"""broken.py LAB=n OUT=folder: writes the ten broken versions that a student's own cases of a lab
are tried with (grade/cases.py), OUT/1.c to OUT/10.c: mutants of the solution (mutants.toml: broken
= 1, …), each in the file of the task that lab.toml names for it.
"""

import sys
from pathlib import Path

import mutants
import options
import skeletons
import table


def versions(lab: table.Lab) -> list:
    """The mutants, in the order of their numbers."""
    known = next((task.cases for task in lab.tasks if task.cases), None)
    chosen = sorted((m for m in mutants.load(lab) if m.broken), key=lambda m: m.broken)
    said = [(m.broken, m.file) for m in chosen]
    asked = [(number, f"lab{lab.number}/{task}.c")
             for number, task in enumerate(known.versions if known else (), 1)]
    if said != asked:
        raise mutants.MutantError(f"lab{lab.number}: `broken` of mutants.toml has {said}, "
                                  f"`versions` of lab.toml {asked}")
    return chosen


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"LAB": "", "OUT": ""})
        lab = table.load(options.whole(given, "LAB"))
        for mutant in versions(lab):
            skeletons.replace(Path(given["OUT"], f"{mutant.broken}.c"),
                              mutants.mutated(mutant).encode())
    except (mutants.MutantError, options.OptionError, table.TableError, OSError) as error:
        print(f"broken: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
