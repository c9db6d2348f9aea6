"""machines.py: for which machines a handout is made ready, and by which compilers.

For a machine of this one's kind it is make's own compiler, for another Debian's cross compiler with
libraries of the oldest Debian that is promised (tools/sysroot.sh). Both are given to the same make.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from skeletons import Refused

ROOT = Path(__file__).resolve().parents[2]
SYSROOTS = ROOT / "build/sysroot"
GPUS = "75 80 86 89 90"  # and what comes after them
WITHOUT_TEXT = "-DTL_WITHOUT_TEXT"


@dataclass(frozen=True)
class Machine:
    name: str  # as `uname -m` says it: given/<name> (handout.mk)
    arch: str  # the oldest processor of its kind that programs run on
    debian: str

    @property
    def triplet(self) -> str:
        return f"{self.name}-linux-gnu"


KNOWN = {machine.name: machine for machine in (
    Machine("x86_64", "x86-64-v2", "amd64"), Machine("aarch64", "armv8-a", "arm64"))}  # fmt: skip


def run(*words, cwd: Path, **more) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, **more)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise Refused(f"{' '.join(map(str, words[:6]))}: exit {done.returncode}\n{last}")
    return done.stdout


def asked(text: str) -> list:
    """MACHINES=x86_64,aarch64; nothing typed: this machine's own kind."""
    found = []
    for name in (text or platform.machine()).split(","):
        if name not in KNOWN:
            raise Refused(f"MACHINES={text or name}: {name!r} is none that a handout can be made "
                          f"for: {', '.join(KNOWN)}")
        found += [KNOWN[name]] if KNOWN[name] not in found else []
    return sorted(found, key=lambda machine: machine.name)


class Compiler:
    """What makes programs for a machine, and its tools; they work in a clean copy."""

    def __init__(self, machine: Machine, copy: Path, nvcc: bool):
        self.machine, self.copy = machine, copy
        # (what was typed for this make is not for the other)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        self.cc, cxx = self.env.get("CC", "gcc"), self.env.get("CXX", "g++")
        self.cross = machine.name != platform.machine()
        self.nvcc = nvcc and not self.cross
        if self.cross:
            self.env["HOSTCUDA_CC"] = self.cc
            self.cc, cxx = self.cross_compilers()
        self.words = [f"ARCH={machine.arch}", f"CC={self.cc}", f"CXX={cxx} {WITHOUT_TEXT}",
                      f"PYTHON={sys.executable}",
                      f"CUDA_ARCH={GPUS}" if self.nvcc else "NVCC=none"]  # fmt: skip
        # (a line of the solution in a message would be read: tl/cuda.h)
        self.env["NVCC_APPEND_FLAGS"] = (
            f"{self.env.get('NVCC_APPEND_FLAGS', '')} {WITHOUT_TEXT}".strip())

    def cross_compilers(self) -> tuple:
        triplet, package = self.machine.triplet, self.machine.triplet.replace("_", "-")
        missing = [f"{kind}-{package}" for kind in ("gcc", "g++")
                   if not shutil.which(f"{triplet}-{kind}")]
        if missing:
            raise Refused(f"MACHINES={self.machine.name}: this machine has no cross compiler for "
                          f"it: apt-get install {' '.join(missing)}")
        tree = SYSROOTS / self.machine.debian
        if not tree.is_dir():
            run("tools/sysroot.sh", self.machine.debian, str(tree), cwd=ROOT)
        # (one word, and the same in every copy)
        (self.copy / "build").mkdir()
        (self.copy / "build/sysroot").symlink_to(tree)
        libraries = f"{self.copy}/build/sysroot/usr/lib/{triplet}"
        self.env |= {"PKG_CONFIG_SYSROOT_DIR": "build/sysroot",
                     "PKG_CONFIG_LIBDIR": f"{libraries}/pkgconfig"}
        sysroot = "--sysroot=build/sysroot"
        return f"{triplet}-gcc {sysroot}", f"{triplet}-g++ {sysroot}"

    def make(self, *goals: str) -> None:
        run("make", f"-j{os.cpu_count()}", *self.words, *goals, cwd=self.copy, env=self.env)

    def says(self, option: str) -> str:
        return run(*self.cc.split(), option, cwd=self.copy).strip()

    def tool(self, name: str, *words) -> str:
        return run(self.says(f"-print-prog-name={name}"), *words, cwd=self.copy)

    def strip(self, path: Path) -> None:
        """Nothing stays but code and the names that a linker needs; no times, no paths."""
        self.tool("strip", "--strip-unneeded" if path.suffix == ".o" else "--strip-all",
                  "--remove-section=.comment", "--enable-deterministic-archives", path)

    def libraries(self, program: Path, names: tuple) -> list:
        """Those of these names that a program needs, or one of them does, where the linker finds
        them."""
        found, left = {}, [program]
        while left:
            headers = self.tool("objdump", "-p", left.pop())
            for name in re.findall(r"NEEDED +(\S+)", headers):
                if name.startswith(names) and name not in found:
                    found[name] = self.copy / self.says(f"-print-file-name={name}")
                    left.append(found[name])
        return [found[name] for name in sorted(found)]

    def newest_glibc(self, paths: list) -> str:
        versions = {tuple(map(int, v.split("."))) for path in paths
                    for v in re.findall(r"GLIBC_(\d+\.\d+)", self.tool("objdump", "-T", path))}
        return ".".join(map(str, max(versions)))
