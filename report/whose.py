"""Whose programs are measured and reported: the reference's, or with MINE=1 a student's own.

make puts what is typed on its command line into the environment. baseline/programs.py finds MINE
there, too: what it runs and where it writes must be what is said here.
"""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    mine: bool
    built: Path  # the folder of the programs
    results: Path  # and of what they measured
    rungs: str  # of every table but the ladder
    options: tuple = ()  # that their trainer must be given

    @property
    def measured(self):
        """Where `make report` puts what it measures itself."""
        return self.results / "report"

    @property
    def brought(self):
        """Where results of another machine are put."""
        return self.results / "gpu"

    def make(self, goal):
        """The command for these programs; `goal` with its options. In a handout programs are a
        student's own anyway, and MINE=1 would take those of closed labs, too: only if typed."""
        anyway = Path("given").is_dir() and "MINE=" not in os.environ.get("MAKEFLAGS", "")
        return f"make {goal} MINE=1" if self.mine and not anyway else f"make {goal}"

    def make_on_gpu(self, stages):
        """The command for a GPU machine, whose suite measures the reference alone."""
        if self.mine:
            return self.make("report")
        return f"make gpu-suite OUT={self.brought} STAGES={stages}"


_REFERENCE = Owner(False, Path("build/float"), Path("results/local"), "all")
# the quicker kernels are no student's
_STUDENT = Owner(True, Path("build/float/mine"), Path("results/mine"), "none", ("RUNGS=none",))


def owner():
    return _STUDENT if os.environ.get("MINE") else _REFERENCE
