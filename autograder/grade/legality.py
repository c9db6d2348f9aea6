"""legality.py: whether a .cu file is CUDA, and not only C++ that hostcuda's host compiler takes.

nvcc or clang says (kernels/hostcuda/legality.sh). What they said is kept by content below
build/legality, because asking takes as long as running the claims.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from runs import CannotGrade

ROOT = Path(__file__).resolve().parents[2]
LEGALITY = ROOT / "kernels/hostcuda/legality.sh"
CACHE = Path("build/legality")


def key() -> bytes:
    """Of everything but the file itself that decides whether it is legal."""
    hashed = hashlib.sha256()
    for path in sorted([LEGALITY, *ROOT.glob("kernels/hostcuda/legality/*"),
                        *ROOT.glob("kernels/hostcuda/include/**/*.h"),
                        *ROOT.glob("labs/include/tl/*.h")]):
        hashed.update(path.read_bytes())
    return hashed.digest()


def ask(path: Path) -> str:
    """What the compiler says, with \\0 for the file's name: an equal one may lie elsewhere."""
    # clang is quicker, and knows all that labs need
    quick = {"HOSTCUDA_LEGALITY": "clang"} if shutil.which("clang++") else {}
    said = subprocess.run([LEGALITY, f"-I{ROOT / 'labs/include'}", path], text=True,
                          capture_output=True, errors="replace",
                          env=os.environ | quick | {"HOSTCUDA_LEGALITY_CACHE": str(CACHE)})
    text = said.stdout.replace(f"{path}:", "\0:")
    if said.returncode not in (0, 1) or (said.returncode == 1 and not read(text)):
        reason = said.stderr.strip() or f"{LEGALITY} ended with status {said.returncode}"
        raise CannotGrade(reason.splitlines()[0])
    return text


def read(text: str) -> list:
    """[(line, reason)] of what ask() has brought back."""
    found = (re.match(r"\0:(\d+):(?:\d+:)? *(?:error: )?(.+)", line) for line in text.splitlines())
    return [(int(match[1]), match[2]) for match in found if match]


def findings(path: Path, key: bytes) -> list:
    """[(file, line, text)] of what is not legal; judged once for equal files."""
    told = CACHE / f"{hashlib.sha256(key + path.read_bytes()).hexdigest()[:32]}.txt"
    if told.exists():
        text = told.read_text(errors="replace")
    else:
        text = ask(path)
        CACHE.mkdir(parents=True, exist_ok=True)
        part = told.with_suffix(f".{os.getpid()}-{path.name}")
        part.write_text(text)
        os.replace(part, told)
    return [(str(path), line, reason) for line, reason in read(text)]
