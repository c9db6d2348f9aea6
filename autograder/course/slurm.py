"""slurm.py SHARDS=n [ONLY=i,j] and what grade_class.py takes but SHARD and BOARD

A class in n parts on a cluster: submits a Slurm job array, each of whose tasks grades one part
(slurm/share.sbatch), and behind it a job that puts them together in OUT (slurm/collect.sbatch). It
waits for nothing: what became of it stands in OUT-parts. ONLY= submits those parts alone.

A part lies in OUT-parts/<i>-of-<n>, and goes on there when it is started again, be it by Slurm,
after a node was lost, or by the line that the last job writes. Roster, due and policy are OUT's, so
that all parts have the same. All nodes grade by one commit, which each clones for itself. The
secret goes along as the name of a file.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import common
import grade_class
import ledger
import options
import run
from skeletons import Refused

OPTIONS = {name: "" for name in (*grade_class.OPTIONS, "SHARDS", "ONLY")
           if name not in ("SHARD", "BOARD")}
FILES = ("SUBMISSIONS", "TIMES", "ROSTER", "POLICY")
JOBS = Path(__file__).with_name("slurm")
MOST = 1000  # tasks: Slurm's own MaxArraySize


def numbers_of(given: dict, number: int) -> list:
    """Which parts are submitted."""
    asked = given["ONLY"].split(",") if given["ONLY"] else map(str, range(1, number + 1))
    asked = list(asked)
    if wrong := [i for i in asked if not i.isdecimal() or not 1 <= int(i) <= number]:
        raise options.OptionError(f"ONLY={given['ONLY']}: {wrong[0]!r} is none of the numbers from "
                                  f"1 to SHARDS={number}")
    return sorted({int(i) for i in asked})


def commit() -> str:
    """Of this copy, from which nodes clone: what is not committed would not be on them."""
    def git(*words):
        done = subprocess.run(["git", *words], cwd=run.ROOT, capture_output=True, text=True)
        if done.returncode:
            raise Refused("nodes clone this copy of gradlab, and git says of it: "
                          + " ".join(done.stderr.split()))
        return done.stdout.strip()

    if changed := git("status", "--porcelain", "--untracked-files=no"):
        raise Refused(f"nodes clone this copy of gradlab, and {changed.split()[-1]} is not "
                      "committed: commit it, or take it back")
    return git("rev-parse", "HEAD")


def sbatch(*words: str) -> str:
    """The number of the job. What was typed for make is not for the makes of the job."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"
           and k not in OPTIONS}
    done = subprocess.run(["sbatch", "--parsable", *words], cwd=run.ROOT, env=env,
                          capture_output=True, text=True)
    if done.returncode:
        raise Refused(" ".join((done.stderr or done.stdout).split()))
    return done.stdout.strip().split(";")[0]


def prepared(given: dict) -> tuple:
    """(lab, OUT, words that every task types), with all said that may be wrong."""
    if not shutil.which("sbatch"):
        raise Refused("there is no sbatch here: type it on a machine of the cluster")
    if not given["SUBMISSIONS"]:
        raise options.OptionError("SUBMISSIONS=dir LAB=n OUT=dir are needed")
    for name in FILES:
        if given[name] and not Path(given[name]).exists():
            raise Refused(f"{name}={given[name]}: there is no such file or folder")
    lab, out, _, _, policy, (secret,) = grade_class.prepared(given)
    if set("%,\\") & set(str(out.absolute())):
        raise Refused(f"OUT={out}: neither Slurm nor make merge takes a comma, % or \\ in it")
    words = [f"{name}={Path(given[name]).absolute()}" for name in FILES[:2] if given[name]]
    return lab, out.absolute(), policy, [*words, secret]


def begun(given: dict, lab: int, out: Path, policy, number: int) -> Path:
    """OUT and its parts know what was said of roster, due and policy."""
    fds = common.started(out)
    common.known_students(out, given["ROSTER"])
    grade_class.note_lab(out, lab, given["DUE"], policy)
    parts = out.with_name(f"{out.name}-parts")
    for i in range(1, number + 1):
        part = parts / f"{i}-of-{number}"
        fds.append(ledger.hold(part / ".lock", lambda i=i: common.say(
            f"part {i} is being graded: waiting for that")))
        if (out / "roster.csv").exists():
            ledger.write(part / "roster.csv", (out / "roster.csv").read_text(encoding="utf-8"))
        ledger.write_labs(part, {n: row | {"shard": f"{i}/{number}"}
                                 for n, row in ledger.labs(out).items()})
    for fd in fds:
        os.close(fd)
    return parts


def slurm(given: dict) -> int:
    number = options.whole(given, "SHARDS", 1, MOST)
    numbers = numbers_of(given, number)
    lab, out, policy, words = prepared(given)
    version = commit()
    parts = begun(given, lab, out, policy, number)
    name = parts / f"lab{lab}"
    for i in numbers:
        Path(f"{name}.{i}-of-{number}.ended").unlink(missing_ok=True)
    cores = [f"--cpus-per-task={given['JOBS']}"] if given["JOBS"] else []
    array = sbatch(f"--array={','.join(map(str, numbers))}", *cores,
                   f"--output={name}.%a-of-{number}.log", str(JOBS / "share.sbatch"), version,
                   str(number), str(parts), str(lab), *words)
    again = shlex.join(["make", "grade-slurm", *words, f"LAB={lab}", f"OUT={out}",
                        *(f"{name}={given[name]}" for name in ("JOBS", "SHARDS") if given[name])])
    last = sbatch(f"--dependency=afterany:{array}", f"--output={name}.log",
                  str(JOBS / "collect.sbatch"), str(number), str(parts), str(lab), str(out), again)
    print(f"job {array} grades in {len(numbers)} tasks; then job {last} puts them together in "
          f"{out}, and says in {name}.log what is missing")
    return 0


if __name__ == "__main__":
    sys.exit(common.command("grade-slurm", OPTIONS, slurm, sys.argv[1:]))
