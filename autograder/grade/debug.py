"""debug.py LAB=n T=task/claim [DEVICES=cpu|hostcuda] [SUFFIX=…] WORKER=…: stops in the call that
fails, under gdb.

Of what T= names it takes the failure that the last grade, of a moment ago, has shown in full. A
worker waits for a grader with deadlines, so gdb cannot hold it. Instead the claim runs once with a
recorder in the worker's place: it passes the requests on and keeps them. Then gdb starts the
worker of the build for debuggers (DEBUG=1) with these requests as its input, as often as one
likes: the same inputs, the same call. A claim is judged as `make grade` does, so on hostcuda under
the checkers, which that build has not; it ends with the first failure, so the last call is the one.
gdb stops in the functions of the task's file; on hostcuda also in the first thread to run of each
of its kernels, and from there on shows which thread of which block it is in.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import bundle
import execute
import failure_kinds
import grants
import judge
import listing
import options
import plan
import table
import text
from options import OptionError

OPTIONS = {"LAB": "", "T": "", "DEVICES": "", "SUFFIX": "", "WORKER": "",
           "LABS": "labs"}  # fmt: skip
KEPT = Path("build/debug")
FACTOR = 5  # deadlines of code that is not optimised
REQUESTS, REPLIES, LINES = 3, 4, 5  # a worker's files (autograder/call/message.h)
# Of a worker's calls each comes through here (autograder/worker/worker_serve.c).
CALL = "call_execute"
KERNEL = re.compile(r"\b__global__\b[^(;{}]*?(\w+)\s*\(")
NO_NAMES = re.compile(r"//[^\n]*|/\*.*?\*/|__launch_bounds__\s*\([^)]*\)", re.S)
INDICES = ("hc_blockIdx", "hc_threadIdx")  # of the thread that runs (hostcuda/README.md)
# What a grader tells a worker of hostcuda; and one block after the other, for stepping. (Requests
# end with the call that fails: what the context still holds then is no leak of the student's.)
ENVIRONMENT = {"HOSTCUDA_EAGER": "1", "HOSTCUDA_WORKERS": "1", "HOSTCUDA_TIMEOUT": "0",
               "HOSTCUDA_LEAKS": "0",
               "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # fmt: skip
RECORDER = """#!{python} -ES
import os
ours, theirs = os.pipe()
kept = open("{kept}", "wb", buffering=0)
child = os.fork()
if child == 0:
    os.close(theirs)
    os.dup2(ours, {requests})
    os.execv("{worker}", ["{worker}"])
os.close(ours)
os.close({replies})
try:
    while data := os.read({requests}, 65536):
        kept.write(data)
        while data:
            data = data[os.write(theirs, data):]
except OSError:
    pass
os.close(theirs)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 127)
"""


class Nothing(Exception):
    """One line: why there is nothing to stop in."""


class AllHold(Exception):
    """One line: no claim fails, as one would wish."""


def recorder(worker: Path, kept: Path) -> Path:
    script = kept.with_suffix(".recorder")
    script.write_text(RECORDER.format(python=sys.executable, kept=kept.resolve(),
                                      worker=worker.resolve(), requests=REQUESTS, replies=REPLIES))
    script.chmod(0o755)
    return script


def keep_requests(programs: execute.Programs, claim: table.Claim, run: execute.Run, seed: int,
                  script: Path) -> None:
    """Without GRADLAB_CLAIMS the first failure ends a claim: no request comes behind it."""
    env = execute.environment(GRADLAB_WORKER=str(script.resolve()), GRADLAB_DEVICES=run.device,
                              GRADLAB_SEED=str(seed), HOSTCUDA_RACES=execute.races_of(run),
                              GRADLAB_CPU_FACTOR=str(FACTOR * execute.BUILD_FACTOR[run.build]),
                              **programs.sanitized(run))
    subprocess.run([programs.grader_of(run), "-j1", "--filter", claim.full_name], env=env,
                   timeout=300, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def replayed(result: dict, devices: list) -> dict | None:
    """Of a grade's result the first record whose call can be made once more."""
    return next((r for r in result.get("failures", ()) if r.get("device") in devices
                 and r["kind"] not in failure_kinds.OF_A_FILE), None)


def shown_in_full(results: list, devices: list) -> dict | None:
    """Of those that can be made once more the failure that a grade shows in full, and first: what
    is not written comes behind, and last what waits for something else."""
    there = [r for r in results if replayed(r, devices)]
    first = [judge.told_first(group) for group in judge.failures_told(there).values()]
    written = [r for r in first if r["kind"] != "not_implemented"]
    waiting = [r for r in there if r["verdict"] == "waiting"]
    return next(iter(written + first + waiting), None)


def failing(lab: table.Lab, claims: list, given: dict) -> tuple:
    """(claim, run, the worker for gdb, its requests, record) of the failure of these claims that
    the last grade shows in full."""
    KEPT.mkdir(parents=True, exist_ok=True)
    programs = execute.Programs(execute.grader_of_lab(lab.number), given["WORKER"],
                                given["SUFFIX"])
    for_gdb = replace(programs, suffix="-debug")
    devices = given["DEVICES"].split(",") if given["DEVICES"] else ["cpu", "hostcuda"]
    named = {claim.short_name: claim for claim in claims}
    results = [r for r in bundle.last_grade(lab.number)["claims"] if r["claim"] in named]
    if not (result := shown_in_full(results, devices)):
        none_to_stop_in(claims, results, devices)
    claim, record = named[result["claim"]], replayed(result, devices)
    run = next(run for run in execute.plan([claim], [record["device"]], False, given["SUFFIX"])
               if run.real == record["real"])
    kept = KEPT / f"{claim.suite}-{claim.name}-{run.device}-{run.real}.requests"
    kept.unlink(missing_ok=True)
    keep_requests(programs, claim, run, record["seed"], recorder(programs.worker_of(run), kept))
    return claim, run, for_gdb.worker_of(replace(run, build="")), kept, record


def none_to_stop_in(claims: list, results: list, devices: list) -> None:
    """Raises why there is no failure to stop in."""
    judged = {r["claim"] for r in results}
    unknown = [claim.short_name for claim in claims if claim.short_name not in judged]
    unjudged = [r["claim"] for r in results if r["verdict"] != "pass"] + unknown
    if unjudged:
        raise Nothing(f"{unjudged[0]}: gdb has no call of it to stop in: mend first what the grade "
                      "above says")
    raise AllHold(f"{claims[0].task}: no failure, so there is nothing to stop in (these claims "
                  "hold on " + ", ".join(devices) + ")")


def gdb(worker: Path, kept: Path, *commands: str) -> list:
    # (a page that ends before the first stop would take the first command for its answer)
    words = ["gdb", "-q", "-nx", "-ex", "set pagination off"]
    for name, value in ENVIRONMENT.items():
        words += ["-ex", f"set environment {name} {value}"]
    words += ["-ex", "set breakpoint pending on", "-ex", "set confirm off", "-ex",
              "handle SIGSEGV SIGBUS SIGURG nostop noprint pass" if "-cuda/" in str(worker) else
              "handle SIGURG nostop noprint pass"]
    for command in commands:
        words += ["-ex", command]
    return [*words, str(worker)]


def run_command(kept: Path) -> str:
    return f"run {REQUESTS}<'{kept}' {REPLIES}>/dev/null {LINES}>/dev/null"


def calls(worker: Path, kept: Path, stops: list) -> tuple:
    """(how many calls the requests make, those of the failing case with them; the last of these
    that enters one of the stops, or 0). Conditions count, and are never true."""
    counting = ["set $calls = 0", "set $entered = 0", f"break {CALL} if ++$calls < 0",
                *(f"break {stop} if ($entered = $calls) < 0" for stop in stops)]
    done = subprocess.run([*gdb(worker, kept, *counting, run_command(kept),
                                'printf "calls %d, entered %d\\n", $calls, $entered'), "-batch"],
                          capture_output=True, text=True, errors="replace", timeout=300,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    found = re.search(r"^calls ([1-9]\d*), entered (\d+)$", done.stdout, re.M)
    if not found:
        raise Nothing(f"gdb reaches no call of {worker}: {text.visible(done.stdout[-200:])}")
    return int(found[1]), int(found[2])


def functions(lab: table.Lab, claim: table.Claim, side: str) -> list:
    """file:function of what the student writes for this claim."""
    tasks = lab.tasks if claim.task == "whole" else [lab.task(claim.task)]
    files = [f"lab{lab.number}/{t.file(side)}" for t in tasks if t.name != "whole"]
    found = grants.exports(table.ROOT, files)
    return [f"{Path(f).name}:{name}" for f in files for name in sorted(found[f])]


def kernels(lab: table.Lab, claim: table.Claim) -> list:
    """file:kernel of what the student writes for this claim in CUDA."""
    tasks = lab.tasks if claim.task == "whole" else [lab.task(claim.task)]
    files = [Path("labs", f"lab{lab.number}", t.file("cuda")) for t in tasks
             if t.name != "whole" and "cuda" in t.sides]
    return [f"{path.name}:{name}" for path in files for name in dict.fromkeys(KERNEL.findall(
        NO_NAMES.sub(" ", path.read_text(encoding="utf-8", errors="replace"))))]


def stops_in_kernels(stops: list) -> str:
    """gdb's commands: once in each of these, whichever thread comes first. Which that is, is said
    at once, and from then on at each stop."""
    def said(index: str) -> str:
        return (f"  printf \"{index} = {{x = %u, y = %u, z = %u}}\\n\", "
                f"{index}.x, {index}.y, {index}.z\n")

    shown = "".join(map(said, INDICES))
    later = "".join(f"    display {index}\n" for index in INDICES)
    once = f"  if $_isvoid($in_a_kernel)\n    set $in_a_kernel = 1\n{later}  end\n"
    return "".join(f"tbreak {stop}\ncommands\n{shown}{once}end\n" for stop in stops)


def place_told(record: dict) -> str:
    """Where a checker or a crash has named a line: the build for gdb may well run over it."""
    if not record.get("file") or not record.get("line"):
        return ""
    return f" at {text.visible(record['file'], 100)}:{record['line']}"


def debug(given: dict) -> int:
    if not shutil.which("gdb"):
        raise Nothing("no gdb here: apt-get install gdb (make doctor knows what else is missing)")
    lab = table.load(listing.number_of(given))
    if not given["T"]:
        raise OptionError("T= says which claim: make claims lists them")
    wanted = [claim for claim in listing.wanted(lab, given["T"]) if not claim.data]
    if not wanted:
        raise Nothing(f"T={given['T']}: cases are data, and none of your code runs them: make "
                      f"grade T={given['T']} says what they notice")
    claim, run, worker, kept, record = failing(lab, wanted, given)
    stops = functions(lab, claim, table.SIDE_OF[run.device])
    count, last = calls(worker, kept, stops)
    if not last:
        raise Nothing(f"none of the {count} calls up to the one that fails enters "
                      f"{', '.join(stops)}: there is nothing of yours to stop in")
    text.say(["", f"{claim.short_name} on {run.device}, {run.real}: "
              f"{text.visible(record.get('call', record.get('text', '')), 300)}",
              f"call {count} of {count} fails{place_told(record)}; "
              + f"it enters nothing of yours: call {last} is the last that does; " * (last < count)
              + f"gdb stops in {', '.join(stops)}"])
    inside = kernels(lab, claim) if run.device == "hostcuda" else []
    script = kept.with_suffix(".gdb")
    script.write_text(stops_in_kernels(inside))
    if inside:
        text.say([f"and, after continue, in the first thread to run of {', '.join(inside)}",
                  f"another thread: break {inside[0]} if hc_blockIdx.x == 0 && "
                  "hc_threadIdx.x == 3"])
    commands = [f"tbreak {CALL}", f"ignore 1 {last - 1}", run_command(kept),
                *(f"break {stop}" for stop in stops), f"source {script}", "continue",
                "set pagination on"]
    sys.stdout.flush()
    return subprocess.run(gdb(worker, kept, *commands)).returncode


def main(arguments: list) -> int:
    try:
        return debug(options.parse(arguments, OPTIONS))
    except AllHold as line:
        text.say([f"debug: {line}"])
        return 0
    except (OptionError, Nothing, table.TableError, execute.CannotGrade, plan.Unplain,
            subprocess.TimeoutExpired, OSError) as error:
        text.say(text.visible_lines(f"debug: {error}", 80, 1000), sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
