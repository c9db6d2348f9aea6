"""Whether results still belong to the code that lies here, and whether they may share a table.

`sources` of a result is 16 hexadecimal digits: 8 over the source files, 8 over compiler, flags and
libraries. On this machine both must be as they are now; of another machine the first 8 are
compared, for its compiler is another one, and rightly so.
"""

import hashlib
from pathlib import Path

import store
from whose import owner


def twin_code(root):
    """The first half of `sources` of baseline/'s programs, as baseline/lines.py computes it."""
    digest = hashlib.sha256()
    for path in sorted((Path(root) / "baseline").glob("*.py"), key=lambda p: p.name):
        if not path.name.startswith("test_"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:8]


class Freshness:
    def __init__(self, root):
        self.ours = store.built_sources(root)
        self.twin = twin_code(root)

    def fault(self, line):
        """Why a line must not be used, in words; empty if it may be. A comparison is made by two
        programs, and names the other's run in `ours_run`."""
        if line.get("ours_run"):
            fault = self._ours(line, line["ours_run"])
        elif line.ours:
            return self._ours(line, line)
        elif line.get("ours") or line.get("times"):
            fault = "it does not say which build of ours was timed"
        else:
            fault = ""
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
        if here and fields.get("real", "float") == "float" and sources != self.ours:
            return "built with another compiler, other flags or libraries than now"
        return ""

    def pick(self, lines):
        """Of lines that measured the same: the latest one that may be used, else the latest."""
        if not lines:
            return None
        return max(lines, key=lambda line: (not self.fault(line), line["time"]))

    def faults(self, lines):
        """What is wrong with a table or plot made of these lines; [] if nothing is."""
        found = {}
        for line in lines:
            found.setdefault(self.fault(line), line.where)  # each fault once, at its first line
        texts = [f"{where}: {fault}" for fault, where in found.items() if fault]
        for what, name in (("machine", "devices"), ("gpu", "devices"), ("dataset", "data sets")):
            own = [l for l in lines if not (what == "dataset" and _has_own_data(l))]
            values = sorted({str(line.get(what)) for line in own if line.get(what)})
            if len(values) > 1:
                texts.append(f"{name} are mixed: {', '.join(values)}")
        runs = [line.fields for line in lines]
        runs += [line["ours_run"] for line in lines if line.get("ours_run")]
        states = {}
        for run in runs:
            states.setdefault(run.get("program", "ours"), set()).add(run.get("sources"))
        for program, sources in sorted(states.items()):
            if len(sources) > 1:
                several = ", ".join(sorted(map(str, sources)))
                texts.append(f"several states of the code of {program}: {several}")
        return texts


def _has_own_data(line):
    """Net m has images of its own by design, and single operations run on random numbers."""
    return line.get("net") == "m" or line.get("dataset") == "random"
