"""gpu_sanitizer.py OUT.jsonl [TOOL...]: the suites' kernels under compute-sanitizer, a line a tool.

Every claim that runs on the device, plain path and rungs, in float, under memcheck, initcheck,
synccheck and racecheck (or the tools that are named). Silence proves something only of a tool that
would have spoken: each Criterion test is a process of its own, which must be watched too, so first
a fault is planted in a copy of a kernel, and the tool must find it. Exit 0: all clean.
"""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = "build/float/suites"
TOOLS = ("memcheck", "initcheck", "synccheck", "racecheck")
# Claims of lab 4, 5 and of given code drive the same kernels through hundreds of calls more.
SUITES = "@(lab1_*|lab2_*|lab3_*|fused*|exact*|rounded*|stored*)/*"
JOBS = 16  # that share the GPU: with many more, many claims run into their own time limit
LIMIT_S = 540
SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)")
TIMED_OUT = re.compile(r"\[FAIL\] (\w+)::(\w+): Timed out")
TOTALS = re.compile(r"Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)")

# What is planted: text of a kernel, what stands there instead, and claims that run it. Not for
# initcheck: the suites write every byte of device memory before an operation sees it.
KERNEL = "kernels/conv2d/02_block_forward.cu"
CONTROL_SUITES = "fused_conv2d/a_nan*"
BARRIER = "__syncthreads();\n    load_image("
CONTROLS = {
    "memcheck": ("y[at + i * q + j] = best", "y[at + i * q + j + (1u << 30)] = best"),
    "synccheck": (BARRIER, "if (threadIdx.x < 7) " + BARRIER),
    "racecheck": (BARRIER, "load_image("),
}


def origin():
    """Which sources the program was built from, as it says itself, and on which GPU this is."""
    with open("build/float/build_info.c", encoding="utf-8") as file:
        text = file.read()
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    gpu = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
    return {
        "commit": re.search(r'build_commit\[\] = "(.*)"', text)[1],
        "dirty": int(re.search(r"build_dirty = (\d)", text)[1]),
        "sources": re.search(r'build_sources\[\] = "(.*)"', text)[1],
        "program": "tools/gpu_sanitizer.py", "device": "cuda", "gpu": gpu[0] if gpu else "unknown",
    }  # fmt: skip


def watch(tool, suites, log, limit, folder="."):
    """Runs claims under a tool, output to log: (exit status, claims, passed, errors or None)."""
    command = ["compute-sanitizer", "--tool", tool, "--target-processes", "all",
               "--error-exitcode", "99",
               PROGRAM, f"-j{min(os.cpu_count(), JOBS)}", "--filter", suites]  # fmt: skip
    env = os.environ | {"GRADLAB_DEVICES": "cuda", "OMP_NUM_THREADS": "1",
                        "OMP_WAIT_POLICY": "passive", "LC_ALL": "C"}  # fmt: skip
    with open(log, "w", encoding="utf-8") as file:
        try:
            status = subprocess.run(command, env=env, cwd=folder, stdout=file, timeout=limit,
                                    stderr=subprocess.STDOUT).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = 124
    return status, *figures(log)


def figures(log):
    """(claims, passed, errors) of a log; errors is None if the tool has not said how many."""
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    summaries = [int(a or b) for a, b in SUMMARY.findall(text)]
    totals = TOTALS.search(text)
    tested, passed = (int(totals[1]), int(totals[2])) if totals else (0, 0)
    return tested, passed, sum(summaries) if summaries else None


def finds_planted_fault(tool, log):
    """True or False; None for a tool without a control."""
    if tool not in CONTROLS:
        return None
    right, wrong = CONTROLS[tool]
    with tempfile.TemporaryDirectory(prefix="gradlab-control-") as folder:
        tree = os.path.join(folder, "tree")
        skip = shutil.ignore_patterns(".git", ".venv", ".c*", ".gpu", "data", "results", "double")
        shutil.copytree(".", tree, symlinks=True, ignore=skip)
        with open(os.path.join(tree, KERNEL), encoding="utf-8") as file:
            text = file.read()
        if text.count(right) != 1:
            sys.exit(f"gpu_sanitizer.py: {KERNEL} no longer holds the text of {tool}'s control")
        with open(os.path.join(tree, KERNEL), "w", encoding="utf-8") as file:
            file.write(text.replace(right, wrong))
        plugin = os.path.join(os.path.dirname(PROGRAM), "libtl_cuda.so")
        python = os.environ.get("PYTHON", sys.executable)
        subprocess.run(["make", f"-j{os.cpu_count()}", plugin, f"PYTHON={python}"], cwd=tree,
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        return bool(watch(tool, CONTROL_SUITES, log, 120, tree)[3])


def watch_all(tool, base):
    """As watch(), and the names of the claims that ran into their own time limit beside others:
    these run again, alone, and that counts."""
    log = f"{base}-{tool}.log"
    status, tested, passed, errors = watch(tool, SUITES, log, LIMIT_S)
    with open(log, encoding="utf-8", errors="replace") as file:
        late = ["/".join(name) for name in TIMED_OUT.findall(file.read())]
    if not late or len(late) != tested - passed or errors is None:
        return status, tested, passed, errors, []  # nothing failed, or something else did too
    alone = [watch(tool, name, f"{base}-{tool}-{name.replace('/', '-')}.log", LIMIT_S)
             for name in late]  # fmt: skip
    errors = [errors] + [one[3] for one in alone]
    return (max(one[0] for one in alone), tested, passed + sum(one[2] for one in alone),
            None if None in errors else sum(errors), late)  # fmt: skip


def judge(tool, base):
    """The figures of one tool; its output goes to files that begin with base."""
    begin = time.monotonic()
    control = finds_planted_fault(tool, f"{base}-{tool}-control.log")
    status, tested, passed, errors, late = watch_all(tool, base)
    clean = status == 0 and 0 < tested == passed and errors == 0 and control is not False
    return {"tool": tool, "suites": SUITES, "claims": tested, "passed": passed, "errors": errors,
            "exit": status, "again_alone": late, "finds_planted_fault": control, "clean": clean,
            "seconds": round(time.monotonic() - begin, 1)}  # fmt: skip


def main(arguments):
    if not arguments or set(arguments[1:]) - set(TOOLS):
        sys.exit(f"usage: gpu_sanitizer.py OUT.jsonl [{'] ['.join(TOOLS)}]")
    for needed in ("compute-sanitizer", "nvidia-smi", PROGRAM):
        if not shutil.which(needed):
            sys.exit(f"gpu_sanitizer.py: there is no {needed}; it needs a GPU machine with the "
                     "CUDA toolkit, and `make build/float/suites` there")  # fmt: skip
    base = os.path.abspath(os.path.splitext(arguments[0])[0])
    common, good = origin(), True
    for tool in arguments[1:] or TOOLS:
        found = judge(tool, base)
        good &= found["clean"]
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with open(arguments[0], "a", encoding="utf-8") as file:
            line = {"kind": "sanitizer"} | found | common | {"time": now}
            file.write(json.dumps(line) + "\n")
        control = {True: "found", False: "NOT FOUND", None: "none"}[found["finds_planted_fault"]]
        print(f"{tool:10} {found['passed']} of {found['claims']} claims passed, errors "
              f"{found['errors']}, planted fault {control}, {found['seconds']} s: "
              f"{'clean' if found['clean'] else f'NOT CLEAN, see {base}-{tool}.log'}",
              flush=True)  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
