"""Whether results still belong to the code that lies here, and whether they may share a table.

`sources` of a result is 16 hexadecimal digits: 8 over the source files, 8 over compiler, flags and
libraries. On this machine both must be as they are now; of another machine the first 8 are
compared, for its compiler is another one, and rightly so.

Published results, brought by FROM=, keep the commit that they were measured at: where the code has
changed since they are used all the same, and the report says so beside them.
"""

import sys
from pathlib import Path

import store
from whose import owner

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))  # sources.py, options.py
import sources  # noqa: E402

# where the commands of this repository put what they measure, and what is brought for them to use
MEASURED = ("results/local", "results/mine")


def commit_of(line):
    """Short, with a + where the tree had changes of its own."""
    return str(line.get("commit") or "unknown")[:10] + ("+" if line.get("dirty") else "")


def published(line):
    """Whether a line was brought by FROM=, and is not of this machine's own measurements. In a
    student's report the reference's results have no place, published or not."""
    own = any(Path(line.path).is_relative_to(place) for place in MEASURED)
    return not own and not owner().mine


class Freshness:
    """`code` is the first half of `sources` as it would be now, so that nothing need be built.
    Programs that lie here must be of this code to be compared with."""

    def __init__(self, root, code=""):
        built = store.built_sources(root)
        self.ours = built if built and built.startswith(code) else code or None
        self.twin = sources.of_folder(Path(root) / "baseline")

    def fault(self, line):
        """Why a line must not be used, in words; empty if it may be."""
        compared = line.get("ours") or line.get("times")
        if compared and not line.ours and not line.get("ours_run"):
            return "it does not say which build of ours was timed"
        return "" if published(line) else self._changed(line)

    def outlived(self, lines):
        """Commits of the published lines among these whose code has changed since."""
        old = [line for line in lines if published(line) and self._changed(line)]
        return sorted({commit_of(line) for line in old})

    def _changed(self, line):
        """What is not as it was when a line was measured. A comparison is made by two programs, and
        names the other's run in `ours_run`."""
        if line.ours:
            return self._ours(line, line)
        fault = self._ours(line, line["ours_run"]) if line.get("ours_run") else ""
        return fault or ("" if line["sources"][:8] == self.twin else "other code of baseline/")

    def _ours(self, line, fields):
        if self.ours is None:
            trainer = owner().make(f"{owner().built}/train")
            return f"nothing is built here to compare it with ({trainer})"
        sources = fields.get("sources") or ""
        if sources[:8] != self.ours[:8]:
            return "other code of labs/, solution/ or kernels/"
        folder = Path(line.path)
        here = folder.is_relative_to(owner().results) and not folder.is_relative_to(owner().brought)
        float_here = here and fields.get("real", "float") == "float"
        if float_here and sources[:len(self.ours)] != self.ours:
            return "built with another compiler, other flags or libraries than now"
        return ""

    def pick(self, lines):
        """Of lines that measured the same: the latest one that may be used, if there is one of this
        code, else the latest."""

        def rank(line):
            return not self.fault(line), not self.outlived([line]), line["time"]

        return max(lines, key=rank, default=None)

    def faults(self, lines):
        """What is wrong with a table or plot made of these lines; [] if nothing is."""
        found = {}
        for line in lines:
            found.setdefault(self.fault(line), line.where)  # each fault once, at its first line
        texts = [f"{where}: {fault}" for fault, where in found.items() if fault]
        for what, name in (("machine", "devices"), ("gpu", "devices"), ("dataset", "data sets")):
            own = [x for x in lines if not (what == "dataset" and _has_own_data(x))]
            values = sorted({str(line.get(what)) for line in own if line.get(what)})
            if len(values) > 1:
                texts.append(f"{name} are mixed: {', '.join(values)}")
        runs = [line.fields for line in lines]
        runs += [line["ours_run"] for line in lines if line.get("ours_run")]
        states = {}
        for run in runs:
            states.setdefault(run.get("program", "ours"), set()).add(run.get("sources"))
        for program, found in sorted(states.items()):
            if len(found) > 1:
                several = ", ".join(sorted(map(str, found)))
                texts.append(f"several states of the code of {program}: {several}")
        return texts


def _has_own_data(line):
    """Net m has images of its own by design, and single operations run on random numbers."""
    return line.get("net") == "m" or line.get("dataset") == "random"
