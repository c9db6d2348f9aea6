"""judge.py: from records of claims to verdicts, points and diagnoses, one for each claim and side.

A side of a claim has its points if it passed in every run in which it is judged. A failure behind
a failed task of the same lab is "waiting": its points are open, and the other task is to blame
until it is fixed. What could not be judged is named as such and never counts as wrong.
"""

import re
from pathlib import Path

import failure_kinds
import faults
import map_told
import numbers_told
import table
import text

ORDER = {"cpu": 0, "hostcuda": 1, "cuda": 2}
# a state of their own, if all of a file is so
SPOKEN = {"not_implemented", *failure_kinds.OF_A_FILE}
NUMBERS = ("mismatch", "nan", "never_written", "uninitialised", "read_outside")
OF_NUMBERS = ("got", "want", "allowed", "bound", "wrong", "total", "patterns", "ratio", "map",
              "window")  # what a record says of them
OF_THREADS = "bits_do_not_depend_on_threads"
OF_A_PART = {"chunks", "last_chunk"}  # wrong only where the workspace holds some of the images
# of a kernel: kinds of failure, and names of counters
COSTS = ("sectors", "bank_conflicts", "shared_requests")
# hostcuda's words for two accesses that met: of which memory, and the lines of both.
MET = re.compile(r"\S+:(\d+): hostcuda \[race[a-z-]*\]: writes (global|shared) memory that .*"
                 r" writes at line (\d+)")
# … and of one line that reads and writes global memory, `x[i] += v`, run by several threads.
ADDED = re.compile(r"\S+:(\d+): hostcuda \[race[a-z-]*\]: reads global memory that .* writes at "
                   r"line \1\b")
A_RACE = {"race", "race_between_blocks", "added_by_several", "global", "shared", "one_line"}
OF_RACES = {"elsewhere=race", "elsewhere=added_by_several", "elsewhere=global"}  # who says so
# What a BLAS says that refuses a call, and what hostcuda says of an operand that is too small.
BLAS_REFUSES = re.compile(r"On entry to \w+ +parameter number +\d+ had an illegal value")
BLAS_OPERAND = re.compile(r"hostcuda \[copy-size\]: (matrix|vector) ")
# What sanitizers print: UBSan a line; ASan what it found, the access, and who made it.
UNDEFINED = re.compile(r"^(\S+?):(\d+):\d+: runtime error: .*", re.M)
ADDRESS = re.compile(r"^==\d+==ERROR: (\w+Sanitizer: (?:attempting (?:free on address which was "
                     r"not malloc\(\)-ed|double-free)|[\w-]+)).*"
                     r"(?:\n((?:READ|WRITE) of size \d+))?", re.M)
# (the worker's own free stands between the program's and the C library's)
FRAME = re.compile(r"^ +#\d+ 0x\w+ in (?!__wrap_)\S+ (\S+\.cu?):(\d+)", re.M)
OTHER_LINE = re.compile(r" at line (\d+)\b")
PRODUCT = re.compile(r"\bk = (\d+)")
# What hostcuda's checkers have said beside a record's own kind: of another call, or by the way.
TOLD = re.compile(r"hostcuda \[([a-z-]+)\]: ")
BEHIND = re.compile(r"elements behind the end of (\w+) were written to")  # the fence of which array
BITS_OF = re.compile(r"([\w ]+): bits differ, ")  # which array
# Conditions that any wrong values of an array fulfil: where all that was written is right, and some
# of it was not, or by too few threads, or where the call was made to fail, their diagnoses would be
# of the wrong thing.
OF_VALUES = re.compile(r"(array|op|index|ok|bad)=|(c|cuda)\Z")
GEOMETRY = re.compile(r"\bx\[(\d+),(\d+),(\d+),(\d+)\]")


def of_blas(record: dict) -> dict:
    """A failure that comes from what BLAS was given is called so: not by the numbers that a call
    leaves alone when it is refused, nor a copy, which there is none of."""
    printed = record.get("output") or ""
    refused = BLAS_REFUSES.search(printed[:record.get("output_by_then", len(printed))])
    if refused and record["kind"] in NUMBERS:
        told = {key: value for key, value in record.items() if key not in OF_NUMBERS}
        return told | {"kind": "blas_argument", "text": refused[0]}
    if BLAS_OPERAND.search(record.get("text") or ""):
        return record | {"kind": "blas_argument"}
    return record


def of_sanitizer(record: dict) -> dict:
    """A sanitizer ends the program and prints why: that is what happened, and at which line."""
    if record["kind"] != "sanitizer":
        return record
    printed = record.get("output") or ""
    if found := UNDEFINED.search(printed):
        return record | {"text": found[0], "file": found[1], "line": int(found[2])}
    if not (found := ADDRESS.search(printed)):
        return record
    said = ", ".join(filter(None, (found[1], found[2])))
    frame = FRAME.search(printed, found.end())
    if not frame:
        return record | {"text": said}
    file = frame[1].removeprefix(f"{table.ROOT}/")
    return record | {"text": f"{file}:{frame[2]}: {said}", "file": file, "line": int(frame[2])}


def features(record: dict, side: str) -> set:
    """What a pattern in labN.toml can speak of."""
    found = {side, record["kind"], *(str(p) for p in record.get("patterns", ()))}
    found |= numbers_told.features(record) | map_told.features(record)
    if record["kind"].startswith("race_"):
        found.add("race")
    if met := MET.search(record.get("output") or ""):
        found |= {met[2]} | ({"one_line"} if met[1] == met[3] else set())
    if ADDED.search(record.get("output") or ""):
        found.add("added_by_several")
    for told in TOLD.findall(record.get("output") or ""):
        found.add("told=" + told.replace("-", "_"))
    if of_bits := BITS_OF.match(record.get("text") or ""):
        found.add(f"array={of_bits[1]}")
    for key in ("array", "op"):
        if record.get(key):
            found.add(f"{key}={record[key]}")
    if behind := BEHIND.search(record.get("text") or ""):
        found.add(f"fence={behind[1]}")
    if record.get("index"):  # in a list of facts about a tensor, which one
        found.add(f"index={record['index'][-1]}")
    # Small products come first: a first failure at a long sum says that short ones are right.
    length = PRODUCT.search(record.get("call", ""))
    if length and int(length[1]) > 64:
        found.add("k>64")
    # The constant factor of an average: one over the images, or over all that was summed.
    ratio, images = record.get("ratio"), GEOMETRY.search(record.get("call", ""))
    if isinstance(ratio, (int, float)) and ratio > 0 and images:
        n = int(images[1])
        if n > 1 and abs(ratio * n - 1) < 1e-3:
            found.add("ratio=1/N")
    return found


def diagnose(claim: table.Claim, result: dict, results: list) -> str:
    """The first diagnosis of the claim all of whose conditions ("borders+nan") hold, or "". What
    other claims of the same task and side say is a condition too ("ok=name", "bad=name")."""
    found = features(result["failures"][0], result["side"])
    for other in results:
        if (other["task"], other["side"]) == (result["task"], result["side"]):
            name = other["claim"].split("/")[1]
            found |= {"pass": {f"ok={name}"}, "fail": {f"bad={name}"}}.get(other["verdict"], set())
            if (other["verdict"] == "fail" and other["kind"].startswith("race")
                    and result["kind"] in (*NUMBERS, "bits")):
                found.add("elsewhere=race")  # wrong values may well come from it
                race = features(other["failures"][0], other["side"])
                found |= {f"elsewhere={p}" for p in ("added_by_several", "global") if p in race}
            if other["verdict"] == "fail" and other["kind"] == "uninitialised":
                found.add("elsewhere=uninitialised")  # … and wild indices from this
    kind = result["failures"][0]["kind"]
    patterns = list(claim.diagnosis.items())
    if kind.startswith("race"):  # (with CHECK=1 of any claim, whose own diagnoses are of values)
        patterns.sort(key=lambda p: not A_RACE.intersection(p[0].split("+")))
    # … and digits of a float say more than which array they stand in.
    beside = (kind == "parallel" or kind == "never_written" and "others_wrong" not in found
              or failure_kinds.made_to_fail(result["failures"][0])
              or "float_digits" in found and "float_digits" in claim.diagnosis)
    for pattern, name in patterns:
        parts = pattern.split("+")
        if found.issuperset(parts) and not (beside and all(map(OF_VALUES.match, parts))):
            return name
    return ""


def lines_of(race: dict) -> str:
    """" (a.cu:47 and 51)", where both are known."""
    other = OTHER_LINE.search(race.get("text") or "")
    if not race.get("file") or not race.get("line") or not other:
        return ""
    first = f"{text.visible(Path(race['file']).name, 60)}:{race['line']}"
    return f" ({first})" if int(other[1]) == race["line"] else f" ({first} and {other[1]})"


def named_elsewhere(claim: table.Claim, name: str, result: dict, results: list) -> str:
    """Wrong values or other bits that come from a race: the lines that meet, and the claim of the
    same task and side that names them, if this one's diagnosis is of races."""
    if result["kind"] not in (*NUMBERS, "bits") or not any(
            OF_RACES.intersection(p.split("+")) and d == name for p, d in claim.diagnosis.items()):
        return ""
    mine = [r for r in results if (r["task"], r["side"]) == (result["task"], result["side"])]
    return next((failure_kinds.NAMED_ELSEWHERE.format(claim=r["claim"],
                                                      lines=lines_of(r["failures"][0]))
                 for r in mine
                 if r["verdict"] == "fail" and r["kind"].startswith("race")), "")


def gate_of(lab: table.Lab, findings: list, task: table.Task, side: str) -> list:
    """The findings that concern this side of the task. The whole lab is concerned by all that it
    runs (execute.variant_of): host code on a device, too, and no extra credit."""
    tasks = [task] if task.name != "whole" else [
        t for t in lab.tasks if not t.extra and (side in t.sides or side == "cuda")]
    files = {t.file(side) for t in tasks}
    return [(file, line, text) for file, line, text in findings if Path(file).name in files]


def of_what_was_asked(lab: table.Lab, runs: dict, findings: list) -> list:
    """The findings about files that a claim of this grade runs: T= asks for no others."""
    asked = {(c.task, table.SIDE_OF[run.device]) for run, claims in runs.items() for c in claims}
    return [found for found in findings
            if any(gate_of(lab, [found], lab.task(name), side) for name, side in asked)]


def of_whole_files(lab: table.Lab, runs: dict, records: dict, findings: list) -> list:
    """The findings without those about a file that does not compile anywhere: it has no points
    either way, and what is wrong with it its compiler has said. So it is with a function of which
    the linker says, wherever the file is judged, that there is none."""
    kinds = {}
    for run, claims in runs.items():
        for claim in claims:
            name = lab.task(claim.task).file(table.SIDE_OF[run.device])
            record = records[claim.full_name, run]
            kinds.setdefault(name, set()).add(record.get("kind", "pass"))
    return [found for found in findings if kinds.get(Path(found[0]).name) != {"compile"}
            and not is_no_function(found, [
                records[claim.full_name, run] for run, claims in runs.items() for claim in claims
                if gate_of(lab, [found], lab.task(claim.task), table.SIDE_OF[run.device])])]


def is_no_function(found: tuple, concerned: list) -> bool:
    """Whether a name that a file may not use is, by all records that it concerns, nobody's."""
    said = re.compile(rf": there is no function {re.escape(found[2].split(':')[0])}\b")
    return bool(concerned) and all(
        record.get("kind") == "no_function" and said.search(record["text"]) for record in concerned)


def judge_side(lab: table.Lab, claim: table.Claim, side: str, runs: list, records: dict,
               findings: list) -> dict:
    result = {"claim": claim.short_name, "task": claim.task, "side": side,
              "points": 0, "max": claim.points[side], "extra": claim.extra,
              "evidence": claim.evidence, "hint": claim.hint}
    if found := gate_of(lab, findings, lab.task(claim.task), side):
        file, line, text = found[0]
        record = {"kind": "gate", "text": text, "file": str(file), "line": line, "seed": None}
        return result | {"verdict": "fail", "kind": "gate", "failures": [record]}
    failures, errors, shares = [], [], []
    for run in sorted(runs, key=lambda p: (ORDER[p.device], p.build, claim.real.index(p.real))):
        record = records[claim.full_name, run]
        shares.append(record.get("worst", 0))
        for measured in ("said", "by_line"):
            if record.get(measured):
                result.setdefault(measured, record[measured])
        if record.get("said") and (counted := costs_of(record)):
            result.setdefault("counted", counted)
        if record["verdict"] == "pass":
            continue
        (errors if record["verdict"] == "error" else failures).append(of_sanitizer(of_blas(record)))
    if errors and not failures:  # what is wrong in one run is wrong, whatever the other would say
        return result | {"verdict": "unjudged", "kind": errors[0]["kind"], "failures": errors}
    # the largest error in any run, as a share of its bound; a claim may compare nothing
    shares = [share for share in shares if isinstance(share, (int, float)) and share > 0]
    result |= {"worst": max(shares)} if shares else {}
    if failures:
        return result | {"verdict": "fail", "kind": failures[0]["kind"], "failures": failures}
    return result | {"verdict": "pass", "points": claim.points[side]}


def costs_of(record: dict) -> dict:
    """What hostcuda counted of the claim's last call."""
    counters = record.get("counters") or {}
    return {name: counters[name] for name in COSTS if type(counters.get(name)) is int}


def drop_counts_of_wrong_kernels(lab: table.Lab, results: list) -> None:
    """What a kernel cost is told of one that is right: of a task's claims that the check build
    judges, where it is counted, all are there, and none fails but by its cost."""
    for task in lab.tasks:
        asked = {c.short_name for c in lab.claims
                 if c.task == task.name and c.build == "check" and "cuda" in c.points}
        mine = [r for r in results if r["claim"] in asked and r["side"] == "cuda"]
        right = len(mine) == len(asked) and all(
            r["verdict"] == "pass" or r["kind"] in COSTS for r in mine)
        for result in mine if not right else ():
            result.pop("counted", None)


def mark_shared(lab: table.Lab, results: list, shared: list) -> None:
    """What threads share in a C file that they must not (openmp.py) is charged to the task's claim
    of bits, or to its first one; unless that says already that the file is not there or not
    whole."""
    for task in lab.tasks:
        names = [c.short_name for c in lab.claims if c.task == task.name and "c" in c.points]
        names.sort(key=lambda name: not name.endswith(f"/{OF_THREADS}"))
        found = gate_of(lab, shared, task, "c") if task.name != "whole" else ()
        for result in results if found else ():
            if (result["claim"], result["side"]) != (names[0], "c") or not (
                    result["verdict"] == "pass"
                    or result["verdict"] == "fail" and result["kind"] not in SPOKEN):
                continue
            file, line, text = found[0]
            record = {"kind": "openmp", "text": text, "file": file, "line": line, "seed": None}
            result |= {"verdict": "fail", "kind": "openmp", "points": 0, "diagnosis": "",
                       "advice": "", "failures": [record, *result.get("failures", ())]}


def judge(lab: table.Lab, runs: dict, records: dict, findings: list, shared: list,
          taskwise: bool) -> list:
    """One result for each claim and side that was asked for, in the order of the list; `findings`
    of the gate, `shared` of openmp.py."""
    results = []
    for claim in lab.claims:
        for side in claim.points:
            where = [p for p, claims in runs.items()
                     if claim in claims and table.SIDE_OF[p.device] == side]
            if where:
                results.append(judge_side(lab, claim, side, where, records, findings))
    by_name = {c.short_name: c for c in lab.claims}
    for result in results:
        if result["verdict"] == "fail" and result["kind"] not in failure_kinds.OF_A_FILE:
            name = diagnose(by_name[result["claim"]], result, results)
            result |= {"diagnosis": name, "advice": lab.diagnoses.get(name, "")}
            if name and result["evidence"] == "hard" and result["kind"] in NUMBERS:
                result["hint"] = ""  # it is about what is counted, and the numbers are wrong
            if name in lab.unhinted:
                result["hint"] = ""
            if name and OF_A_PART.intersection(result["failures"][0].get("patterns", ())):
                result["hint"] = ""  # it is about the formula, which is right for a whole batch
            if seen := named_elsewhere(by_name[result["claim"]], name, result, results):
                result["hint"] = seen
    mark_shared(lab, results, shared)
    drop_counts_of_wrong_kernels(lab, results)
    faults.mark_unbuilt(lab, results)
    if not taskwise:
        faults.mark_waiting(lab, results)
    return results


def totals(results: list) -> dict:
    """Points and what could have been had; extra credit apart."""
    plain = [r for r in results if not r["extra"]]
    extra = [r for r in results if r["extra"]]
    return {"points": sum(r["points"] for r in plain), "max": sum(r["max"] for r in plain),
            "extra": sum(r["points"] for r in extra), "extra_max": sum(r["max"] for r in extra),
            "waiting": sum(r["max"] for r in plain if r["verdict"] == "waiting"),
            "unjudged": sum(r["max"] for r in results if r["verdict"] == "unjudged")}


def file_to_mend(task: table.Task, side: str, mine: list) -> str:
    """The task's own; or that of another lab without which none of it works."""
    broken = [r.get("broken", "") for r in mine if r["verdict"] != "pass"]
    return broken[0] if broken and all(broken) else task.file(side)


def by_task(lab: table.Lab, results: list) -> list:
    """For each task and side: points, most points, and how it stands in one word."""
    rows = []
    for task in lab.tasks:
        sides = {}
        for side in table.SIDES:
            mine = [r for r in results if (r["task"], r["side"]) == (task.name, side)]
            if mine:
                sides[side] = totals(mine) | {"state": state_of(mine),
                                              "file": file_to_mend(task, side, mine)}
        if sides:
            rows.append({"task": task.name, "sides": sides})
    return rows


def state_of(results: list) -> str:
    verdicts = {r["verdict"] for r in results}
    if verdicts == {"pass"}:
        return "pass"
    if "fail" in verdicts:
        kinds = {r["kind"] for r in results if r["verdict"] == "fail"}
        return kinds.pop() if len(kinds) == 1 and kinds & SPOKEN else "fail"
    return "unjudged" if "unjudged" in verdicts else "waiting"


def failures_told(results: list) -> dict:
    """(task, side) -> its failures but those of whole files, in the order in which they are told:
    C before CUDA."""
    groups = {}
    for result in results:
        if result["verdict"] == "fail" and result["kind"] not in failure_kinds.OF_A_FILE:
            groups.setdefault((result["task"], result["side"]), []).append(result)
    tasks = list(dict.fromkeys(task for task, _ in groups))
    return {key: groups[key] for task in tasks for side in table.SIDES
            if (key := (task, side)) in groups}


def told_first(failed: list) -> dict:
    """Of a task's failures the one that is told in full and to begin with: the first that is
    written; but what threads share, and work in another stream, come before the values that they
    spoil."""
    written = [r for r in failed if r["kind"] != "not_implemented"] or failed
    if written[0]["kind"] not in (*NUMBERS, "bits"):
        return written[0]
    return next((r for r in written if r["kind"] in ("openmp", "other_stream")), written[0])


def next_to_mend(lab: table.Lab, results: list) -> dict | None:
    """The best thing to do next: of what is begun and wrong, the side of a task that wins most,
    with what waits for it; if nothing is begun, the first one that is not written; extra credit
    after all others; and if all that is not passed waits for a task that was not asked for (T=),
    that one."""
    candidates = []
    for side in table.SIDES:
        for task in lab.tasks:
            mine = [r for r in results if (r["task"], r["side"]) == (task.name, side)]
            failed = [r for r in mine if r["verdict"] == "fail"]
            if not failed:
                continue
            behind = [r for r in results if task.name in r.get("waits_for", ())
                      and (r["side"] == side or "cuda" not in task.sides)]
            kinds = {r["kind"] for r in failed} - {"not_implemented"}
            passed = any(r["verdict"] == "pass" for r in mine)
            # (a kernel that is handed out right and slow is nobody's mistake yet)
            begun = bool(kinds - {"sectors"} or kinds and passed)
            first = told_first(failed)
            candidates.append({
                "task": task.name, "side": side, "file": file_to_mend(task, side, mine),
                "claim": first["claim"], "kind": first["kind"], "begun": begun,
                "points": sum(r["max"] for r in failed),
                "behind": sum(r["max"] for r in behind)})
    extra = {t.name for t in lab.tasks if t.extra}
    candidates = [c for c in candidates if c["task"] not in extra] or candidates
    begun = [c for c in candidates if c["begun"]]
    if begun:
        return max(begun, key=lambda c: c["points"] + c["behind"])
    return candidates[0] if candidates else not_asked_for(lab, results)


def not_asked_for(lab: table.Lab, results: list) -> dict | None:
    waiting = [r for r in results if r["verdict"] == "waiting"]
    asked = {r["task"] for r in results}
    for task in lab.tasks:
        behind = [r for r in waiting if task.name in r["waits_for"]]
        if behind and task.name not in asked:
            side = behind[0]["side"] if behind[0]["side"] in task.sides else "c"
            return {"task": task.name, "side": side, "file": task.file(side), "claim": "",
                    "kind": "not_implemented", "begun": False, "points": 0,
                    "behind": sum(r["max"] for r in behind)}
    return None
