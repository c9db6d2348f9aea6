"""faults.py: whose fault a failure is, by its evidence; and so, which task it waits for."""

import re
from pathlib import Path

import failure_kinds
import skeletons
import table

ROOT = Path(__file__).resolve().parents[2]

# The file that a line of unlinked.py is about.
BROKEN = re.compile(r"(\S+\.cu?)(?: does not compile: | is missing\b| does not define |"
                    r":\d+: not compiled: |: there is no function )")
UNWRITTEN = re.compile(r"(\w+\.cu?):\d+: ")  # who says so (tl/status.h)
# What glibc prints whose own notes, beside the blocks that it gives, were overwritten.
DAMAGED = re.compile(r"\(\): invalid |corrupted|\bdouble free or corruption\b")


def names_own_file(record: dict, task: str) -> bool:
    """Whether "not implemented" was said by the task's own file, not by one that it calls."""
    where = record.get("file") or record.get("text", "")
    named = re.findall(r"([A-Za-z_]\w*)\.cu?\b", where)
    return not named or task in named


def names_file_of(lab: table.Lab, result: dict) -> str:
    """The task in whose file the host touched memory of the device, or says that it is not written:
    whoever called it, the line stands there. (A crash is no such evidence: it may stand where
    somebody else's pointer is used.)"""
    record = result["failures"][0]
    named = Path(record.get("file") or "").name
    if result["kind"] not in ("host_dereference", "not_implemented"):
        return ""
    return next((t.name for t in lab.tasks if named and t.file(result["side"]) == named), "")


def damaged_by(result: dict, results: list) -> str:
    """The task that writes outside of a buffer, where malloc ends a program of another task because
    its notes are overwritten: in that run both are linked, and whoever frees next is hit."""
    if result["kind"] != "crash" or not DAMAGED.search(result["failures"][0].get("output") or ""):
        return ""
    return next((other["task"] for other in results
                 if other["verdict"] == "fail" and other["kind"] == "fence"
                 and other["task"] != result["task"] and other["side"] == result["side"]), "")


def fault_of(lab: table.Lab, result: dict, results: list) -> str:
    """The task whose fault this failure is by its evidence, or "": that of the line it names; that
    of who damaged the memory; or, of wrong values, that of a claim that explains them
    (`explained_by`) and has wrong ones, too, or NaN where these are."""
    if named := names_file_of(lab, result) or damaged_by(result, results):
        return named
    claim = next(c for c in lab.claims if c.short_name == result["claim"])
    of_nan = re.search(r"\bnan\b", result["failures"][0].get("text") or "")
    kinds = ("mismatch", "nan") if of_nan else ("mismatch",)
    for other in results if result["kind"] == "mismatch" else ():
        if (other["claim"] in claim.explained_by and other["side"] == result["side"]
                and other["verdict"] == "fail" and other["kind"] in kinds):
            own = other["task"] == result["task"]
            return fault_of(lab, other, results) if own else other["task"]
    return ""


def faults_elsewhere(lab: table.Lab, results: list) -> dict:
    """(task, side) -> the tasks at fault, where each of its failures is another task's fault, and
    that one has faults of its own."""
    faults = {}
    for result in results:
        if result["verdict"] == "fail":
            fault = fault_of(lab, result, results)
            faults.setdefault((result["task"], result["side"]), []).append(fault)
    own = {(task, side) for (task, side), found in faults.items() if {"", task} & set(found)}
    own |= in_c_alone(lab, own)
    return {(task, side): list(dict.fromkeys(found)) for (task, side), found in faults.items()
            if (task, side) not in own and all((fault, side) in own for fault in found)}


def in_c_alone(lab: table.Lab, failed: set) -> set:
    """What is wrong in C is wrong on a device, too, if that file runs there."""
    return {(name, "cuda") for name, side in failed
            if side == "c" and name != "whole" and "cuda" not in lab.task(name).sides}


def speaks_for_itself(lab: table.Lab, result: dict) -> bool:
    """Whether a failure's own words name its own file."""
    if result["kind"] in failure_kinds.OF_A_FILE or names_file_of(lab, result) == result["task"]:
        return True
    return (result["task"] != "whole" and result["kind"] == "not_implemented"
            and names_own_file(result["failures"][0], result["task"]))


def broken_files_of(record: dict) -> list:
    """The files that kept a run from being built; none, if a line of the reason names no file."""
    matches = [BROKEN.match(line) for line in (record.get("text") or "").split("\n") if line]
    return [Path(match[1]) for match in matches] if all(matches) else []


def in_its_lab(name: str) -> str:
    """A file that students write, with its folder: labs/lab1/gemm.cu."""
    listed = (ROOT / skeletons.MANIFEST).read_text(encoding="utf-8").split()
    return next((path for path in listed if path.endswith(f"/{name}")), name)


def mark_unbuilt(lab: table.Lab, results: list) -> None:
    """A right file that is linked with a broken one waits for it: where there is no reference (in a
    handout, with MINE=1, in the whole lab), each task runs with the others' files as they are. A
    broken file of another lab is named instead of the task's own, and so is one not written; and
    for one of a task that was not asked for (T=) the claim waits."""
    task_of = {task.file(side): task.name for task in lab.tasks for side in task.sides}
    asked = {result["task"] for result in results}
    for result in results:
        if result["verdict"] == "fail" and result["kind"] == "not_implemented":
            unwritten = UNWRITTEN.search(result["failures"][0].get("text") or "")
            if unwritten and unwritten[1] not in task_of:
                result["broken"] = in_its_lab(unwritten[1])
            elif unwritten and task_of[unwritten[1]] not in asked:
                result["verdict"] = "waiting"
                result["waits_for"] = [task_of[unwritten[1]]]
        if result["verdict"] != "fail" or result["kind"] not in failure_kinds.NOT_BUILT:
            continue
        broken = broken_files_of(result["failures"][0])
        here = [f for f in broken if f.parent.name == f"lab{lab.number}"]
        names = {task_of.get(f.name, result["task"]) for f in here}
        if not broken or result["task"] in names:
            continue
        if names:
            result["verdict"] = "waiting"
            result["waits_for"] = [t.name for t in lab.tasks if t.name in names]
        else:
            result["broken"] = str(broken[0])


def mark_waiting(lab: table.Lab, results: list) -> None:
    """Failures behind a failed task wait for it, unless they say themselves that their own file is
    at fault; and all failures of a task wait where each is the fault of another one."""
    elsewhere = faults_elsewhere(lab, results)
    failed = {(r["task"], r["side"]) for r in results if r["verdict"] == "fail"} - set(elsewhere)
    failed |= in_c_alone(lab, failed)
    waiting = set()
    for result in results:
        if result["verdict"] != "fail" or speaks_for_itself(lab, result):
            continue
        causes = elsewhere.get((result["task"], result["side"])) or [
            t.name for t in lab.tasks if (t.name, result["side"]) in failed
            and result["task"] in [b.name for b in lab.behind(t.name)]]
        if causes:
            result["waits_for"] = causes
            waiting.add((result["task"], result["side"]))
    waiting |= in_c_alone(lab, waiting)
    for result in results:
        if result.get("waits_for"):
            result["verdict"] = "waiting"
            # the first cause is one that does not itself wait
            roots = [c for c in result["waits_for"] if (c, result["side"]) not in waiting]
            result["waits_for"] = roots or result["waits_for"]
