"""cuda_legality.py: whether a .cu file is CUDA, and not only C++ that a host compiler takes.

nvcc or clang says (hostcuda/legality.sh). What they said is kept by content below
build/legality, because asking takes as long as running the claims.
"""

import functools
import hashlib
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import sandbox
from execute import CannotGrade

ROOT = Path(__file__).resolve().parents[2]
LEGALITY = ROOT / "hostcuda/legality.sh"
CACHE = Path("build/legality")
SEEN = ("hostcuda/legality.sh", "hostcuda/legality", "hostcuda/include", "tl/include")
UNSURE = "whether this is CUDA could not be judged"
ENDED = (126, -signal.SIGKILL)  # somebody outside has ended what a box held, or the box (box_end.c)


def key() -> bytes:
    """Of everything but the file itself that decides whether it is legal."""
    hashed = hashlib.sha256()
    for path in sorted([LEGALITY, *ROOT.glob("hostcuda/legality/**/*.*"),
                        *ROOT.glob("hostcuda/include/**/*.h"),
                        *ROOT.glob("tl/include/tl/*.h")]):
        hashed.update(path.read_bytes())
    return hashed.digest()


def judge(path: Path, boxed: bool = False) -> subprocess.CompletedProcess:
    """legality.sh on one file, by clang where there is one: it is quicker, and knows all that labs
    need. What others wrote it reads in a box."""
    given = {"HOSTCUDA_LEGALITY": "quick", "HOSTCUDA_LEGALITY_CACHE": str(CACHE),
             **({"HOSTCUDA_LEGALITY_SECONDS": "20", "HOSTCUDA_LEGALITY_GB": "2"} if boxed else {})}
    # (by the same name as in a box: what the cache keeps is called by these words)
    command = [LEGALITY, f"-I{os.path.relpath(ROOT / 'tl/include')}", path]
    if boxed:
        kept = [str(path) for path in CACHE.glob("*") if path.suffix in ("", ".pch")]
        command = [sandbox.BOX, "run", "build", f"in={ROOT}", *cost(path),
                   *(f"see={seen}" for seen in (*SEEN, *kept, path)), "--",
                   "/usr/bin/env", *(f"{k}={v}" for k, v in given.items()),
                   "./hostcuda/legality.sh", "-Itl/include", str(path)]
    return subprocess.run(command, text=True, capture_output=True, errors="replace",
                          stdin=subprocess.DEVNULL, env=os.environ | given)


def cost(path: Path) -> list:
    """What makes this count as one of the submission's builds, or end with them (box_watch.c)."""
    return [f"spent=build/spent/from/{path.parent.parent}/builds", f"of={path}"]


def reason(said: subprocess.CompletedProcess) -> str:
    """On one line what it had to say first, wherever that stands."""
    if said.stdout.strip():
        first = said.stdout.strip().splitlines()[0]
        text = "this is not legal CUDA: " + first.replace("error: this is not legal CUDA: ", "")
    else:
        why = said.stderr.strip().removeprefix("legality.sh: ").removeprefix("box: error: ")
        text = f"{UNSURE}: {why or f'legality.sh ended with status {said.returncode}'}"
    return " ".join(text.replace(f"{ROOT}/", "").split())


def ask(path: Path) -> str:
    """What the compiler says, with \\0 for the file's name: an equal one may lie elsewhere."""
    boxed = submitted(path)
    if boxed:
        judge_headers(LEGALITY)  # leaves what makes the next file quicker: a box can keep nothing
    said = judge(path, boxed)
    if boxed and said.returncode in ENDED:
        said = judge(path, boxed)
    if boxed and said.returncode in ENDED:
        raise CannotGrade(f"nothing was graded: the compiler that judges whether {path} is CUDA "
                          "was ended from outside (SIGKILL), twice")
    text = said.stdout.replace(f"{path}:", "\0:")
    if said.returncode == 0 or (said.returncode == 1 and read(text)):
        return text
    # The reason stands in a header, or nowhere. Where the given headers by themselves are no CUDA
    # either, this machine cannot judge; else it is something of this file's.
    if said_of_headers := judge_headers(LEGALITY):
        raise CannotGrade(f"nothing was graded (make doctor says more): {said_of_headers}")
    return f"\0:1: error: {reason(said)}\n"


def submitted(path: Path) -> bool:
    """Whether others wrote it (submission.py)."""
    return str(path).startswith("build/submissions/")


@functools.cache
def judge_headers(_legality: Path) -> str:
    """Why a file that includes all headers of the labs is not judged legal, or nothing."""
    headers = sorted(path.name for path in (ROOT / "tl/include/tl").glob("*.h"))
    with tempfile.TemporaryDirectory(prefix="gradlab-") as folder:
        path = Path(folder, "given.cu")
        path.write_text("".join(f'#include "tl/{name}"\n' for name in headers))
        said = judge(path)
    return reason(said) if said.returncode else ""


def read(text: str) -> list:
    """[(line, reason)] of what ask() has brought back."""
    found = (re.match(r"\0:(\d+):(?:\d+:)? *(?:error: )?(.+)", line) for line in text.splitlines())
    return [(int(match[1]), match[2]) for match in found if match]


def findings(path: Path, key: bytes) -> list:
    """[(file, line, text)] of what is not legal; judged once for equal files. A file that
    submission.py has refused is shown to no compiler."""
    if Path(f"{path}.refused").exists():
        return []
    told = CACHE / f"{hashlib.sha256(key + path.read_bytes()).hexdigest()[:32]}.txt"
    try:
        text = told.read_text(errors="replace")
    except FileNotFoundError:  # or not any more: a class takes its own away (course/run.py)
        text = ask(path)
        if UNSURE in text:  # once more the next time
            return [(str(path), line, said) for line, said in read(text)]
        CACHE.mkdir(parents=True, exist_ok=True)
        part = told.with_suffix(f".{os.getpid()}-{path.name}")
        part.write_text(text)
        os.replace(part, told)
    return [(str(path), line, reason) for line, reason in read(text)]
