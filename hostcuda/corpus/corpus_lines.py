"""corpus_lines.py: what corpus.jsonl says of a case, from what gpu_corpus.py's programs said.

A right case must read back on the GPU what it reads back on hostcuda; of a wrong one it says who
names what. It runs nothing.
"""

import math
import struct

import sanitizer_log

FORMS = {"f4": "f", "f8": "d", "i1": "B", "i2": "H", "i4": "I", "i8": "Q"}


def parse_results(text: str) -> list | None:
    """A (form, values, bounds) for each buffer; None if the case says that they are open."""
    buffers = []
    for line in text.splitlines():
        if line == "open":
            return None
        form, size, *rest = line.split(" ")
        raw, bounds = bytes.fromhex(rest[0]), [float(word) for word in rest[1:]]
        code = FORMS[form + size]
        buffers.append((form + size, struct.unpack(f"<{len(bounds)}{code}", raw), bounds))
    return buffers


def compare(here: str, there: str) -> dict:
    """hostcuda's results against the GPU's. `worst`: largest difference as a share of its bound."""
    ours, theirs = parse_results(here), parse_results(there)
    if ours is None or theirs is None:
        return {"compared": "open"}
    if not ours and not theirs:
        return {"compared": "no output"}
    found = {"compared": "equal", "values": 0, "floats": 0, "unequal": 0, "worst": 0.0}
    if [(form, len(values)) for form, values, _ in ours] != [(f, len(v)) for f, v, _ in theirs]:
        return found | {"compared": "DIFFERENT", "where": "number or size of the buffers"}
    for at, ((form, a, bounds), (_, b, _)) in enumerate(zip(ours, theirs)):
        found["values"] += len(a)
        found["floats"] += len(a) if form[0] == "f" else 0
        for i, (x, y, bound) in enumerate(zip(a, b, bounds)):
            if x == y or (x != x and y != y):
                continue
            found["unequal"] += 1
            share = abs(x - y) / bound if bound > 0 else math.inf
            if not share <= 1 and "where" not in found:
                found |= {"compared": "DIFFERENT",
                          "where": f"buffer {at}, element {i}: {x} here, {y} there"}  # fmt: skip
            found["worst"] = max(found["worst"], share if share <= 1 else 2.0)
    if found["compared"] == "equal" and found["unequal"]:
        found["compared"] = "within bounds"
    return found


def as_line(case: dict) -> dict:
    """What corpus.jsonl says of a case."""
    line = {"kind": "corpus", "case": case["case"], "file": case["file"], "right": case["right"]}
    gpu = case.get("gpu")
    line["alone"] = gpu["how"] if gpu else "not run"
    if gpu and gpu["not_so"]:
        line["not_so"] = gpu["not_so"]
    if case["right"]:
        ours = case["ordinary"] or case["check"]  # check_*.cu are in CHECK=1's corpus alone
        line["hostcuda_good"] = bool(ours) and ours["status"] == 0 and not ours["named"]
        both = bool(ours and gpu)
        line |= compare(ours["results"], gpu["results"]) if both else {"compared": "not run"}
        line["good"] = bool(gpu and gpu["status"] == 0) and line["hostcuda_good"] and (
            line["compared"] not in ("DIFFERENT", "not run"))  # fmt: skip
        return line
    line["marks"] = case["marks"]
    for build in ("ordinary", "check"):
        result = case[build]
        line[build] = result["named"] if result else "not in this build"
    for tool in sanitizer_log.TOOLS:
        line[tool] = tool_verdict(case.get(tool), case["file"])
    return line


def tool_verdict(result: dict | None, file: str) -> dict:
    if result is None:
        return {"how": "not run", "reports": []}
    if sanitizer_log.failed_to_start(result["text"]):
        return {"how": "did not start", "reports": []}
    return {"how": "hangs" if result["status"] is None else "ran",
            "reports": sanitizer_log.reports(result["text"], file)}  # fmt: skip


def failures(lines: list[dict]) -> list[str]:
    """Why the result is not to be trusted, or not good."""
    found = [f"{line['file']}: {line['case']}: {line['compared']} {line.get('where', '')}, GPU: "
             f"{line['alone']} {line.get('not_so', '')}"
             for line in lines if line["right"] and not line["good"]]  # fmt: skip
    wrong = [line for line in lines if not line["right"]]
    found += [f"{line['file']}: {line['case']}: not run on the GPU"
              for line in wrong if line["alone"] == "not run"]  # fmt: skip
    for tool in sanitizer_log.TOOLS:
        missing = [line["case"] for line in wrong if line[tool]["how"] not in ("ran", "hangs")]
        if missing:
            found.append(f"{tool}: {len(missing)} cases not run, such as {missing[0]}")
        elif all(" from cu" in said["what"] for line in wrong for said in line[tool]["reports"]):
            # At most errors that CUDA itself returned: the tool may have watched nothing.
            found.append(f"{tool} has named nothing at all, so its silence proves nothing")
    return found
