"""document.py: grade.json, the one result of grading; every other form is made from it."""

import hashlib
import json
import os
import subprocess
import time
from pathlib import Path

import judge
import table
import text

SCHEMA = "gradlab-grade/4"
ROOT = Path(__file__).resolve().parents[2]
RECORD_KEYS = ("device", "real", "seed", "kind", "call", "text", "array", "shape", "index", "axes",
               "got", "want", "allowed", "bound", "wrong", "total", "patterns", "ratio", "map",
               "window", "file", "line", "backtrace", "checker", "output", "counters", "by_line",
               "limit",
               "op", "cpu_s")
# What decides how a submission is judged, beside the programs that are made of it.
RULES = (("autograder", (".c", ".h", ".py", ".toml", ".sha256")), ("tl/include", (".h", ".def")),
         ("mk", (".mk",)))
NO_RULES = ("autograder/course", "autograder/hostile", "autograder/maintain")  # around grading
LONGEST, MOST = 4096, 200  # of one text from a submission, and of a list of them


def hash_of(paths) -> str:
    """Over names and contents, in order of names; what is missing is named as missing."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0")
        digest.update(path.read_bytes() if path.is_file() else b"(missing)")
    return digest.hexdigest()[:16]


def rules_hash() -> str:
    """Of the grader's own source as it lies here, committed or not: by path from the root. What a
    course does with grades (course/) decides none."""
    paths = sorted(p for folder, kinds in RULES for p in (ROOT / folder).rglob("*")
                   if p.suffix in kinds and p.is_file()
                   and not p.relative_to(ROOT).as_posix().startswith(NO_RULES))
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(ROOT)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def version() -> str:
    """The commit, as programs of gradlab name it in results."""
    if given := os.environ.get("GRADLAB_COMMIT"):
        return given
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=ROOT,
                              capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def build(lab: table.Lab, results: list, *, devices: list, seed: int, taskwise: bool, filter: str,
          cpu_factor: float, sandbox: str, graders: list, seconds: dict, wall_s: float,
          findings: list, compilers: dict, seed_from: str = "default",
          submission: dict | None = None, build: tuple = ()) -> dict:
    for result in results:
        result["failures"] = [{k: text.cut(r[k], LONGEST, MOST) for k in RECORD_KEYS if k in r}
                              for r in result.get("failures", ())]
    return {
        "schema": SCHEMA, "lab": lab.number, "title": lab.title, "steps": lab.steps,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "contract": hash_of((ROOT / "tl/include/tl").glob("*.h")),
        "grader": {"version": version(), "rules": rules_hash(),
                   "programs": hash_of([lab.path, *graders])},
        # official grading alone: {name, sha256 of all files, files: {name: sha256}}
        "submission": submission,
        # whose it is and which of theirs, where a class is graded (course/ledger.py)
        "student": None, "attempt": None,
        # what compiled it: {"c": first line of --version, "cuda": that of hostcuda's host compiler}
        "compilers": compilers,
        # around the student's code: a process of its own, or one within bubblewrap's sandbox
        "sandbox": sandbox,
        # default, given, or secret: made of the course's and of the submission (seeds.py)
        "seed": seed, "seed_from": seed_from,
        # SAN=1, DEVICES=…: what was typed and decides how the claims were built and where they ran
        "build": list(build),
        "devices": devices, "taskwise": taskwise, "filter": filter, "cpu_factor": cpu_factor,
        "score": judge.totals(results), "tasks": judge.by_task(lab, results),
        "next": judge.next_to_mend(lab, results), "claims": results,
        "gate": [{"file": str(f), "line": n, "text": text.cut(t, LONGEST, MOST)}
                 for f, n, t in findings],
        "wall_s": round(wall_s, 3),
        "runs": [{"variant": p.variant, "device": p.device, "real": p.real, "build": p.build,
                  "seconds": round(s, 3)} for p, s in seconds.items()],
    }


def changes(document: dict, before: dict | None) -> list:
    """What has other points than in the last run: [{claim, side, points}], most first."""
    if not before or before.get("schema") != SCHEMA or before.get("lab") != document["lab"]:
        return []
    old = {(c["claim"], c["side"]): c["points"] for c in before["claims"]}
    moved = [{"claim": c["claim"], "side": c["side"],
              "points": c["points"] - old[c["claim"], c["side"]]}
             for c in document["claims"] if (c["claim"], c["side"]) in old]
    return sorted((m for m in moved if m["points"]), key=lambda m: -abs(m["points"]))


def read(path: Path) -> dict | None:
    """An earlier result, or None: one that cannot be read is as good as none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
        return document if isinstance(document["claims"], list) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def as_text(document: dict) -> str:
    # ASCII only: what a program printed stays escaped, whatever the reader's encoding is
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def write(path: Path, document: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(as_text(document), encoding="ascii")
    part.replace(path)
