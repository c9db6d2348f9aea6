"""grade.py LAB=n [T=filter] [SEED=s] [MIN=n] [TASKWISE=1] [V=1] [JSON=1] [JUNIT=file] [HTML=1]
         [DEVICES=…] [SUBMISSION=what is graded, of which LABS= is the snapshot [SECRET=file]
         [REGRADE=1]] [DIAGNOSIS=full|staged] [HINT=1..3] [LANGUAGE=zh_CN]

Grades one lab of one submission: runs the grader's binary against workers that hold the student's
code, judges what it wrote by the committed list of claims, and says what to do next. `make grade`
asks for the plan of what is needed (PLAN=folder, plan.py), builds that, and calls this again.
Exit 0: graded, whatever the score; 1: below MIN; 2: could not grade. The last line is
`lab2: 87/100`.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import best
import document
import execute
import failure_kinds
import formats
import gate
import given as tree
import grade_page
import judge
import language
import listing
import machine
import openmp
import options
import plan
import preprocessed
import render
import sandbox
import seeds
import sinks
import skeletons
import submission
import table
import text
from options import OptionError
from text import say

OPTIONS = {
    "LAB": "", "T": "", "SEED": "", "MIN": "", "TASKWISE": "", "V": "", "JSON": "", "JUNIT": "",
    "HTML": "", "DIAGNOSIS": "", "HINT": "",
    "DEVICES": "", "LABS": "labs", "OUT": "",
    "WORKER": "", "SUFFIX": "", "PLAN": "", "PLUGINS": "", "MINE": "", "CC": "", "CXX": "",
    "SUBMISSION": "", "SECRET": "", "REGRADE": "", "LANGUAGE": "",
}
DEVICES = tuple(table.SIDE_OF)
DIAGNOSES = ("full", "staged")  # all at once; or a question first, and with HINT= more
KEPT = Path("build/grade")  # where the machine's speed is noted, for all gradings
SUBMISSIONS = "build/submissions/"  # where submission.py puts the code of others


def parse(arguments: list) -> dict:
    given = options.parse(arguments, OPTIONS)
    for name in ("LAB", *(["MIN"] if given["MIN"] else [])):
        options.whole(given, name, high=2**64 - 1)
    if given["HTML"] not in ("", "1"):
        raise OptionError(f"HTML={given['HTML']}: 1 is needed, which writes the page as well")
    if given["DIAGNOSIS"] not in ("", *DIAGNOSES):
        raise OptionError(f"DIAGNOSIS={given['DIAGNOSIS']}: one of {', '.join(DIAGNOSES)} is "
                          "needed")
    if given["HINT"] and given["DIAGNOSIS"] != "staged":
        raise OptionError(f"HINT={given['HINT']}: it goes with DIAGNOSIS=staged; else all is told")
    if given["HINT"]:
        options.whole(given, "HINT", 1, failure_kinds.HINTS)
    return given


def hints_of(given: dict) -> int | None:
    """How many are asked for; None: nothing is held back."""
    return int(given["HINT"] or 0) if given["DIAGNOSIS"] == "staged" else None


def others_wrote(given: dict) -> bool:
    """A submission is judged in a sandbox or not at all; your own code needs none."""
    return given["LABS"].startswith(SUBMISSIONS)


def choose_devices(given: dict, programs: execute.Programs, on_gpu) -> list:
    """Those asked for; else cpu and hostcuda, and cuda where there are a plug-in for a run there
    and a GPU, and the code is your own."""
    if asked := given["DEVICES"]:
        devices = asked.split(",")
        for device in devices:
            if device not in DEVICES:
                raise OptionError(f"DEVICES={asked}: expected some of {','.join(DEVICES)}")
        return [device for device in DEVICES if device in devices]
    if others_wrote(given):
        return [device for device in DEVICES if device != "cuda"]
    gpu = machine.has_gpu() and any(
        (programs.worker_of(run).parent / "libtl_cuda.so").exists() for run in on_gpu)
    return [device for device in DEVICES if device != "cuda" or gpu]


def out_folder(given: dict) -> Path:
    if given["OUT"]:
        return Path(given["OUT"])
    # another folder's grades are no history of the student's own
    other = "" if given["LABS"] == "labs" else given["LABS"].strip("/").replace("/", "-")
    return Path("build/grade", other, f"lab{given['LAB']}")


def whole_file(given: dict) -> str:
    """Where the last run of the whole lab is kept: with one's own files of other labs it is not to
    be compared with one without."""
    return "grade-mine.json" if given["MINE"] else "grade.json"


def show(result: dict, changes: list, given: dict, last: str, page: Path | None = None) -> None:
    """Text or JSON on stdout, the other forms where they were asked for."""
    own, hints = given["LABS"] == "labs", hints_of(given)
    where = best.told(result, Path(given["LABS"])) if own else []
    if page:
        skeletons.replace(page, grade_page.html(result, changes, hints, where).encode("utf-8"))
        where.append(f"as a page, with pictures: {page}")
    if given["JUNIT"]:
        Path(given["JUNIT"]).write_text(formats.junit(result), encoding="utf-8")
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(formats.summary(result))
    if given["JSON"]:
        say([document.as_text(result).rstrip("\n")])
        say([*where, last], sys.stderr)
        return
    lines = render.report(result, changes, text.Paint(), text.width(), bool(given["V"]), hints)
    if os.environ.get("GITHUB_ACTIONS"):
        lines = sinks.fenced(lines) + formats.annotations(result)
    say([*lines, *where, last])


def run(runner: execute.Runner, lab: table.Lab, runs: dict, labs: str) -> tuple:
    """(what the runs brought, findings of the gate); a mistake of the grader's own ends it all."""
    unbuilt = runner.check_files(runs)
    problems = execute.check_list(lab, runner.programs, runs)
    if not problems:
        # the gate asks compilers, which takes as long as the claims do
        with ThreadPoolExecutor(1) as beside:
            gated = beside.submit(gate.findings, lab.number, labs)
            known = runner.take_cases(runs, Path(labs), lab)
            outcome = runner.run(runs, unbuilt, known)
            findings = gated.result()
        problems = outcome.problems
    if problems:
        raise execute.CannotGrade("\n".join(["the grader is at fault, nothing was graded:",
                                          *(text.visible(p, 600) for p in problems[:10])]))
    return outcome, findings


def speak(asked: str, lab: table.Lab) -> None:
    """In the language asked for on the command line or, as is usual, by the environment: taken out
    of it, for a compiler that is asked something later is to answer in English."""
    asked = asked or os.environ.get("LANGUAGE", "")
    os.environ.pop("LANGUAGE", None)
    domains = ("grade/words", f"grade/lab{lab.number}")
    if why_english := language.choose(asked, domains, sys.stdout.encoding or "ascii"):
        say([text.visible(f"grade: {why_english}", 1000)], sys.stderr)


def typed(given: dict) -> list:
    """What of the command line has to be typed again for the same build on the same devices."""
    modes = [f"{mode.upper()}=1" for mode in given["SUFFIX"].split("-") if mode]
    modes += ["MINE=1"] if given["MINE"] else []
    return modes + ([f"DEVICES={given['DEVICES']}"] if given["DEVICES"] else [])


def identity(given: dict) -> dict | None:
    """What is graded, in official grading: its name and the hashes of its files."""
    if not given["SUBMISSION"]:
        return None
    name = text.visible(submission.name_of(Path(given["SUBMISSION"])), 100)
    return {"name": name} | submission.identity(Path(given["LABS"]), int(given["LAB"]))


def grade(given: dict) -> int:
    lab = table.load(int(given["LAB"]))
    tree.check(lab)
    worker = given["WORKER"] or f"build/{{mode}}/lab{lab.number}/{{variant}}/worker"
    programs = execute.Programs(execute.grader_of_lab(lab.number), worker, given["SUFFIX"])
    wanted = listing.wanted(lab, given["T"])
    claims = listing.with_witnesses(lab, wanted)
    how = bool(given["TASKWISE"]), given["SUFFIX"]
    devices = choose_devices(given, programs, execute.plan(claims, ["cuda"], *how))
    runs = execute.plan(claims, devices, *how)
    if given["PLAN"]:
        order = plan.order_of(lab.number, runs, given["PLUGINS"].split(","), given["SUFFIX"],
                              bool(given["MINE"]))
        say([str(plan.write(order, Path(given["PLAN"])))])
        return 0
    if not runs:
        raise OptionError(f"DEVICES={given['DEVICES']}: none of these claims is judged there")

    speak(given["LANGUAGE"], lab)
    begin = time.monotonic()
    out, graded = out_folder(given), identity(given)
    seed, seed_from = seeds.choose(given, graded)
    runner = execute.Runner(programs, seed, machine.cpu_factor(KEPT))
    try:
        open_because = runner.build_sandbox(runs)
        if open_because and others_wrote(given):
            raise execute.CannotGrade("a submission is graded in a sandbox alone, for others wrote "
                                   f"it: {open_because}")
        if others_wrote(given):  # (stdout may be JSON)
            say([f"sandbox: tier {sandbox.tier()}"], sys.stderr)
        outcome, findings = run(runner, lab, runs, given["LABS"])
    finally:
        runner.close()

    findings = judge.of_what_was_asked(lab, runs, findings)
    findings = judge.of_whole_files(lab, runs, outcome.records, findings)
    shared = openmp.findings(lab.number, given["LABS"])
    results = judge.judge(lab, runs, outcome.records, findings, shared, bool(given["TASKWISE"]))
    names = {c.short_name for c in wanted}
    results = [r for r in results if r["claim"] in names]
    judge.drop_counts_of_wrong_kernels(lab, results)  # (nor has a part of a task's claims any)
    if identity(given) != graded:
        raise execute.CannotGrade("what was graded was changed meanwhile: grade it again")
    graders = {programs.grader_of(p) for p in runs}
    asked = " ".join(f"{name}={given[name]}" for name in ("T", "DEVICES") if given[name])
    result = document.build(
        lab, results, devices=devices, seed=seed, seed_from=seed_from, submission=graded,
        taskwise=bool(given["TASKWISE"]),
        filter="" if judge.totals(results)["max"] == lab.total else asked,
        cpu_factor=runner.cpu_factor, sandbox="process" if open_because else sandbox.tier(),
        graders=list(graders), seconds=outcome.seconds, wall_s=time.monotonic() - begin,
        findings=findings, build=typed(given),
        compilers=machine.compilers(c=given["CC"], cuda=given["CXX"]))
    path = out / ("part.json" if result["filter"] else whole_file(given))
    # (a part is no such run: what it says of the last one may be long over)
    changes = [] if result["filter"] else document.changes(result, document.read(path))
    document.write(path, result)

    score = result["score"]
    show(result, changes, given, render.last_line(result),
         path.with_suffix(".html") if given["HTML"] else None)
    if score["unjudged"]:
        return 2
    return 1 if given["MIN"] and score["points"] < int(given["MIN"]) else 0


def main(arguments: list) -> int:
    try:
        return grade(parse(arguments))
    except (OptionError, table.TableError, execute.CannotGrade, plan.Unplain,
            preprocessed.Lost, skeletons.Refused) as error:
        say(text.visible_lines(f"grade: {error}", 80, 1000), sys.stderr)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        say([text.visible(f"grade: {said}", 1000)], sys.stderr)
    except KeyboardInterrupt:
        print("grade: interrupted, nothing was graded", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
