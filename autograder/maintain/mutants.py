"""mutants.py LAB=n [T=name,name] [V=1] [KEEP=1]: do the claims catch known bugs, and name them?

autograder/labN/mutants.toml holds bugs that students make: each is a replacement of lines in one
file of the solution. Every mutant is built as a submission of its own and graded as one; a mutant
that keeps all points is a missing claim. Two figures come out: the share that was caught, and the
share of these whose first message names the right diagnosis (or kind of failure).
"""

import fnmatch
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import failure_kinds
import make
import options
import table

FOLDER = Path("build/mutants")
LIMIT_S = 600


class MutantError(Exception):
    """One line: which mutant cannot be made or graded, and why."""


@dataclass
class Mutant:
    name: str
    file: str  # below solution/
    old: list  # each stands exactly once in the file
    new: list
    diagnosis: str  # of the first message: a diagnosis of lab.toml, or a kind of failure
    hint: str  # what was done to the code, in words
    device: str = ""  # where it shows: a bug in C on the cpu, one in CUDA on hostcuda, or as said
    broken: int = 0  # its number among the versions that a student's own cases are tried with

    def __post_init__(self):
        self.device = self.device or ("cpu" if self.file.endswith(".c") else "hostcuda")

    @property
    def task(self) -> str:
        return Path(self.file).stem


def as_list(value) -> list:
    return value if isinstance(value, list) else [value]


def load(lab: table.Lab) -> list:
    path = Path(f"autograder/lab{lab.number}/mutants.toml")
    mutants = []
    for entry in table.tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
        mutant = Mutant(**entry | {"old": as_list(entry["old"]), "new": as_list(entry["new"])})
        where = f"{path.name}: {mutant.name}"
        if mutant.diagnosis not in set(lab.diagnoses) | set(failure_kinds.KINDS):
            raise MutantError(f"{where}: there is no diagnosis {mutant.diagnosis}")
        if len(mutant.old) != len(mutant.new) or mutant.name in [m.name for m in mutants]:
            raise MutantError(f"{where}: as many old as new texts, and a name of its own")
        mutated(mutant)  # each old text is there, before anything is built
        mutants.append(mutant)
    return mutants


def mutated(mutant: Mutant) -> str:
    """The file with the bug in it."""
    text = Path("solution", mutant.file).read_text(encoding="utf-8")
    for old, new in zip(mutant.old, mutant.new):
        if text.count(old) != 1:
            raise MutantError(f"{mutant.name}: {text.count(old)} times in {mutant.file}: {old!r}")
        text = text.replace(old, new)
    return text


def make_folder(mutant: Mutant, lab: int) -> Path:
    folder = FOLDER / f"lab{lab}" / mutant.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(f"solution/lab{lab}", folder / f"lab{lab}")
    (folder / mutant.file).write_text(mutated(mutant), encoding="utf-8")
    return folder


def grade(mutant: Mutant, lab: int, verbose: bool) -> dict:
    """grade.json of the mutant's own task, by itself."""
    folder = make_folder(mutant, lab)
    done = make.run("grade", f"LAB={lab}", f"LABS={folder}", f"T={mutant.task}", "TASKWISE=1",
                    f"DEVICES={mutant.device}", timeout=LIMIT_S)  # fmt: skip
    if verbose:
        print(done.stdout + done.stderr)
    result = Path("build/grade", str(folder).replace("/", "-"), f"lab{lab}", "part.json")
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().split("\n")[-1]
        raise MutantError(f"{mutant.name}: make grade ended with {done.returncode}: {last}")
    return json.loads(result.read_text())


def clean(mutant: Mutant, lab: int) -> None:
    folder = FOLDER / f"lab{lab}" / mutant.name
    shutil.rmtree(folder, ignore_errors=True)
    for built in Path("build").glob(f"*/from/{folder}"):
        shutil.rmtree(built, ignore_errors=True)


def judge(mutant: Mutant, document: dict) -> dict:
    """What became of it: points lost, and what the first message said."""
    failed = [c for c in document["claims"] if c["verdict"] == "fail"]
    if any(c["kind"] in failure_kinds.NOT_BUILT for c in failed):
        raise MutantError(f"{mutant.name}: does not build: {failed[0]['failures'][0]['text']}")
    said = (failed[0].get("diagnosis") or failed[0]["kind"]) if failed else ""
    return {"name": mutant.name, "killed": bool(failed), "said": said, "right": said ==
            mutant.diagnosis, "claims": [c["claim"].split("/")[1] for c in failed],
            "points": document["score"]["max"] - document["score"]["points"]}


def line(mutant: Mutant, outcome: dict) -> str:
    if not outcome["killed"]:
        return f"SURVIVED  {mutant.name}: {mutant.hint}"
    if outcome["right"]:
        return f"killed    {mutant.name}: -{outcome['points']}, {outcome['said']}"
    return (f"misnamed  {mutant.name}: -{outcome['points']}, {outcome['said']}, expected "
            f"{mutant.diagnosis}; failed: {' '.join(outcome['claims'])}")


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"LAB": "", "T": "*", "V": "", "KEEP": ""})
        lab = table.load(options.whole(given, "LAB"))
        patterns = given["T"].split(",")
        mutants = [m for m in load(lab) if any(fnmatch.fnmatchcase(m.name, p) for p in patterns)]
        outcomes = []
        for mutant in mutants:
            try:
                outcome = judge(mutant, grade(mutant, lab.number, bool(given["V"])))
            finally:
                if not given["KEEP"]:
                    clean(mutant, lab.number)
            outcomes.append(outcome)
            print(line(mutant, outcome), flush=True)
    except (MutantError, options.OptionError, table.TableError, OSError,
            subprocess.TimeoutExpired) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    killed = [o for o in outcomes if o["killed"]]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"lab{lab.number}.json").write_text(json.dumps(outcomes, indent=1) + "\n")
    print(f"lab{lab.number}: killed {share(len(killed), len(outcomes))}, of these named right "
          f"{share(sum(o['right'] for o in killed), len(killed))}")
    return 0 if outcomes and len(killed) == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
