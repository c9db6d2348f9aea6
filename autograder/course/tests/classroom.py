"""classroom.py ROOT PROGRAM OPTION...: grade_class, regrade … in a folder ROOT, with a stand-in for
make.

The stand-in grades by a word in the student's files: `points 37` has 37 of 100, `fails N` is not
graded the first N times, `waits MS` takes its time, `waits for go` for ROOT/go. What it has graded
stands in ROOT/graded, one line each; with a number in ROOT/changed, the grader has changed by so
many points.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(REPO / "autograder/course"), str(REPO / "autograder/grade"),
                str(REPO / "tools")]

import document  # noqa: E402 (found by the lines above)
import grade_class  # noqa: E402
import common  # noqa: E402
import forget  # noqa: E402
import merge  # noqa: E402
import regrade  # noqa: E402
import replay  # noqa: E402
import run  # noqa: E402
import similarity  # noqa: E402
import slurm  # noqa: E402

MAKE = '''#!{python} -IS
import hashlib, json, os, re, sys, time
from pathlib import Path
given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
lab, folder = given["LAB"], Path(given["SUBMISSION"])
files = {{p.name: p.read_bytes() for p in sorted((folder / f"lab{{lab}}").iterdir())}}
digests = {{name: hashlib.sha256(data).hexdigest() for name, data in files.items()}}
whole = hashlib.sha256("".join(f"{{d}}  lab{{lab}}/{{n}}\\n" for n, d in digests.items())
                       .encode()).hexdigest()
text = b"".join(files.values()).decode()
said = {{k: int(v) for k, v in re.findall(r"(points|fails|waits) (\\d+)", text)}}
while "waits for go" in text and not Path("go").exists():
    Path("held").touch()
    time.sleep(0.01)
time.sleep(said.get("waits", 0) / 1000)
with open("graded", "a") as log:
    log.write(whole + " " + " ".join(sys.argv[1:]) + "\\n")
tries = Path("graded").read_text().count(whole + " ")
if tries <= said.get("fails", 0):
    print("lab9: not graded: the machine was at fault")
    sys.exit(2)
changed = int(Path("changed").read_text()) if Path("changed").exists() else 0
got = said["points"] + changed if "points" in said else 0
claim = dict(claim="im2col/rows", task="im2col", side="c", points=got, max=100, extra=False,
             evidence="proved", hint="look", verdict="pass" if got == 100 else "fail",
             kind="mismatch", diagnosis="bias" if got < 100 else "", advice="one bias for all",
             failures=[dict(kind="mismatch", call="im2col", device="cpu", real="float", seed=5,
                            output="<b>``` printed")] if got < 100 else [])
row = dict(points=got, max=100, extra=0, extra_max=0, waiting=0, unjudged=0)
made = dict(schema="{schema}", lab=int(lab), title="a lab", steps=False, time="T",
            grader=dict(version="v", rules="{rules}", programs="p"), sandbox="A", seed=7,
            seed_from="secret", devices=["cpu"], taskwise=True, filter="", score=row, next=None,
            tasks=[dict(task="im2col", sides=dict(c=dict(row, state="fail", file="im2col.c")))],
            claims=[claim], gate=[
                dict(file="labs/lab2/im2col.c", line=1, text="system: this task is to be written "
                     "without it")] if "uses system" in text else [],
            wall_s=1.5, runs=[], compilers=dict(c="gcc", cuda="g++"),
            submission=dict(name=folder.name, sha256=whole, files=digests),
            student=None, attempt=None)
name = f"build-submissions-{{folder.name}}-{{whole[:16]}}"
to = Path("build/grade", name, f"lab{{lab}}", "grade.json")
to.parent.mkdir(parents=True)
to.write_text(json.dumps(made))
for left in ("build/float/from", "build/spent/from", "."):
    Path(left, name.replace("build-submissions-", "build/submissions/")).mkdir(parents=True)
Path("build/legality").mkdir(exist_ok=True)
Path("build/legality", whole + ".txt").touch()
print("made", sys.argv[1:])
'''


class Classroom:
    """A folder of submissions, what grades them, and where the grades go."""

    def __init__(self, root: Path):
        self.root, self.handed_in, self.out = root, root / "in", root / "out"
        for folder in (self.handed_in, root / "bin", root / "build"):
            folder.mkdir()
        (root / "bin/make").write_text(MAKE.format(
            python=sys.executable, schema=document.SCHEMA, rules=document.rules_hash()))
        (root / "bin/make").chmod(0o755)
        (root / "secret").write_text("s" * 64)
        (root / "secret").chmod(0o600)

    def hand_in(self, name: str, text: str, file: str = "im2col.c") -> Path:
        path = self.handed_in / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path.parent

    def command(self, program: str, *words: str) -> dict:
        """For subprocess."""
        env = os.environ | {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"}
        return {"args": [sys.executable, __file__, str(self.root), program, *words], "env": env,
                "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def words(self, *more: str, out: Path | None = None) -> list:
        """Of a make grade-class."""
        return ["grade_class", f"SUBMISSIONS={self.handed_in}", "LAB=2", f"OUT={out or self.out}",
                f"SECRET={self.root / 'secret'}", *more]

    def run(self, *words: str, status: int = 0) -> str:
        """What it said."""
        done = subprocess.run(**self.command(*words), timeout=120)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr + done.stdout

    def grade(self, *more: str, out: Path | None = None, status: int = 0) -> str:
        return self.run(*self.words(*more, out=out), status=status)

    def graded(self) -> list:
        """The words of every make but the skeletons'."""
        path = self.root / "graded"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if " -j" not in line]

    def document(self, where: str) -> dict:
        return json.loads((self.out / where / "grade.json").read_text())

    def rows(self) -> dict:
        """(lab, id) -> row of class.csv."""
        with open(self.out / "class.csv", newline="") as file:
            return {(r["lab"], r["id"]): r for r in csv.DictReader(file)}

    def tree(self, out: Path | None = None) -> dict:
        """Everything in OUT, by name."""
        out = out or self.out
        return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*"))
                if p.is_file()}


if __name__ == "__main__":
    run.ROOT, name = Path(sys.argv[1]), sys.argv[2]
    act = {"grade_class": grade_class, "regrade": regrade, "replay": replay, "merge": merge,
           "similarity": similarity, "forget": forget, "slurm": slurm}[name]
    sys.exit(common.command(name, act.OPTIONS, getattr(act, name), sys.argv[3:]))
