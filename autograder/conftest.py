"""What the tests of the front end share: a small lab, a grader that says what it is given, and a
small repository with one solution in it."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "autograder/grade"
# as mk/labs.mk starts the programs
os.environ["PYTHONPATH"] = f"{FOLDER}:{ROOT / 'tools'}"

LAB = """
lab = 9
title = "a small lab"

[[task]]
name = "one"
sides = ["c", "cuda"]
[[task.claim]]
name = "first"
real = ["float", "double"]
evidence = "proved"
c = 20
cuda = 20
hint = "look at the first"
[task.claim.diagnosis]
"borders+nan" = "unwritten"
"ok=second+everything" = "second_is_right"
"borders" = "garbage"
[[task.claim]]
name = "second"
real = ["float"]
evidence = "proved"
c = 10
hint = "look at the second"

[[task]]
name = "two"
sides = ["c"]
needs = ["one"]
[[task.claim]]
name = "third"
real = ["float"]
evidence = "proved"
c = 30
hint = "look at the third"
[[task.claim]]
name = "bonus"
real = ["float"]
evidence = "proved"
c = 5
extra = true
hint = "look at the bonus"

[[task]]
name = "whole"
sides = ["c"]
needs = ["one", "two"]
[[task.claim]]
name = "together"
real = ["float"]
evidence = "proved"
c = 20
hint = "look at all of it"

[diagnoses]
unwritten = "somebody has to write it"
garbage = "an index left its row"
second_is_right = "only the first is wrong"
"""

# A stand-in for the Criterion binary. What each claim does stands in a file, by name and, if it
# differs between devices, "name@device".
GRADER = '''#!{python} -IS
import json, os, signal, sys
says = json.load(open({says!r}))
names = says["list"]
if "--list" in sys.argv:
    for suite in sorted({{n.split("/")[0] for n in names}}):
        tests = [n.split("/")[1] for n in names if n.startswith(suite + "/")]
        print(f"{{suite}}: {{len(tests)}} test{{'s' * (len(tests) != 1)}}")
        for t in tests:
            print(f"|-- {{t}}")
    sys.exit(0)
assert not [k for k in os.environ if k.startswith("CRITERION_")], "environment not scrubbed"
folder = os.path.dirname(os.environ["GRADLAB_CLAIMS"])
assert os.stat(folder).st_mode & 0o777 == 0o700
wanted = os.environ["GRADLAB_ONLY"].split()
device, real = os.environ["GRADLAB_DEVICES"], {real!r}
count = os.path.join({here!r}, "runs")
with open(count, "a") as f:
    f.write(f"{{os.environ['GRADLAB_WORKER']}} {{device}} {{real}} {{' '.join(wanted)}}\\n")
again = open(count).read().count(device + " " + real) > 1
out = open(os.environ["GRADLAB_CLAIMS"], "a")
for name in wanted:
    record = says.get(f"{{name}}@{{device}}", says.get(name, {{}}))
    if isinstance(record, list):
        record = record[1 if again else 0]
    if record == "silent":
        continue
    if record == "killed":
        out.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if isinstance(record, str):
        out.write(record.replace("DEVICE", device).replace("REAL", real) + "\\n")
        continue
    line = dict(schema="gradlab-claims/1", claim=name, device=device, real=real,
                seed=int(os.environ["GRADLAB_SEED"]), verdict="pass")
    line.update(record)
    if record.get("kind"):
        line.setdefault("verdict", "fail")
        if "verdict" not in record:
            line["verdict"] = "fail"
    for _ in range(record.get("times", 1)):
        out.write(json.dumps(line) + "\\n")
sys.exit(says.get("exit", 0))
'''
NAMES = ["lab9_one/first", "lab9_one/second", "lab9_two/third", "lab9_two/bonus",
         "lab9_whole/together", "lab8_other/claim"]


# A solution with markers, and its skeleton.
SOLUTION = """/* x.c: an example. */
#include "tl/x.h"

//@lab 2:
/* The trick. */
static int trick(int a) {
    return a + 1;
}
//@end

int tl_x(int a) {
    if (a < 0) return -1;
    //@lab 2: Do it well, and think of
    //@  a long text that goes on over several lines of the marker, so that the comment of the
    //@  skeleton has to be wrapped, too; 1 < 2
    int b = trick(a);
    return b;
    //@skeleton
    // (void)a;
    // if (a)
    //     return 0;
    // return 1;
    //@end
}
"""

SKELETON = """/* x.c: an example. */
#include "tl/x.h"

int tl_x(int a) {
    if (a < 0) return -1;
    /* TODO(lab 2): Do it well, and think of a long text that goes on over several lines of the
     * marker, so that the comment of the skeleton has to be wrapped, too; 1 < 2 */
    (void)a;
    if (a)
        return 0;
    return 1;
}
"""


class Stage:
    """A folder in which a submission to lab 9 is graded by the stand-in."""

    def __init__(self, folder: Path, monkeypatch):
        self.folder, self.says = folder, {"list": NAMES}
        self.findings, self.no_sandbox = [], "no sandbox in tests"
        monkeypatch.chdir(folder)
        for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "NO_COLOR", "LANGUAGE"):
            monkeypatch.delenv(name, raising=False)
        import grade
        monkeypatch.setattr(grade.language, "chosen", grade.language.chosen)  # as it was, behind
        load = grade.table.load
        monkeypatch.setattr(grade.table, "load", lambda n: load(n, folder))
        monkeypatch.setattr(grade.tree, "check", lambda lab: None)  # (has its own tests)
        gate = type(sys)("gate")
        gate.findings = lambda lab, labs: self.findings
        monkeypatch.setattr(grade, "gate", gate)
        monkeypatch.setattr(grade.machine, "cpu_factor", lambda folder: 1.0)  # (has its own test)
        monkeypatch.setattr(grade.document, "version", lambda: "a version")
        monkeypatch.setattr(grade.execute.sandbox, "write",
                            lambda script, programs: self.no_sandbox)
        self.write("autograder/lab9/lab.toml", LAB)
        for real in ("float", "double"):
            self.program(f"build/{real}/lab9/grader", GRADER.format(
                python=sys.executable, says=str(folder / "says.json"), real=real,
                here=str(folder)))
            for variant in ("all", "whole", "only-one", "only-two"):
                self.program(f"build/{real}/lab9/{variant}/worker", "#!/bin/sh\n")
                self.program(f"build/{real}-check/lab9/{variant}-cuda/worker", "#!/bin/sh\n")
                self.write(f"build/{real}-check/lab9/{variant}-cuda/libtl_hostcuda.so", "")

    def write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def program(self, name: str, content: str) -> None:
        path = self.write(name, content)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def grade(self, *arguments: str) -> int:
        import grade
        self.write("says.json", json.dumps(self.says))
        return grade.main(["LAB=9", *arguments])

    def result(self) -> dict:
        return json.loads((self.folder / "build/grade/lab9/grade.json").read_text())

    def runs(self) -> list:
        path = self.folder / "runs"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return Stage(tmp_path, monkeypatch)


def fail(kind: str = "mismatch", **fields) -> dict:
    """A failing record with the numbers that most of them have."""
    record = {"kind": kind, "call": "one x[2,3,5,4]", "array": "y", "shape": [2, 3, 5, 4],
              "index": [1, 2, 4, 3], "got": 1.5, "want": 0.25, "allowed": 1e-6,
              "bound": "8 roundings of the sum of absolute values", "wrong": 12, "total": 120,
              "patterns": ["borders"], "map": ["..#", "..#"]}
    return record | fields


@pytest.fixture
def root(tmp_path):
    """A small repository with one file."""
    (tmp_path / "solution/lab2").mkdir(parents=True)
    (tmp_path / "autograder/grade").mkdir(parents=True)
    (tmp_path / "solution/lab2/x.c").write_text(SOLUTION)
    (tmp_path / "solution/lab2/x.cu").write_text(SOLUTION.replace("tl_x", "tl_y"))
    return tmp_path
