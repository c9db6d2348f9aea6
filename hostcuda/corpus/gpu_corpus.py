"""gpu_corpus.py OUT: hostcuda's corpus on a GPU, beside hostcuda's and compute-sanitizer's verdict.

Builds the .cu files of hostcuda/corpus with nvcc for this machine's GPU and with hostcuda
(ordinary and CHECK=1). Each right case runs on both, and what it read back must agree: integers
exactly, floats within the bound that the case derives from its data. Each wrong case runs on the
GPU alone and under each tool of compute-sanitizer, a process and a time limit each, for it may
crash or hang. Writes OUT/corpus.jsonl, a line a case, OUT/corpus.md (corpus_table.py), and all
that the programs said to OUT/corpus-raw.json, from which --again writes the other two anew.
Exit status 0: every right case agrees, every run was made, the tools found something.
What does not fit into --budget seconds is "not run", never left out.
"""

import argparse
import concurrent.futures
import datetime
import glob
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import corpus_lines
import corpus_table
import sanitizer_log

TESTS = "hostcuda/corpus"
# Cases that ask hostcuda how many accesses it counted, and those that nvcc may refuse: a GPU has
# nothing to say to them.
HOSTCUDA_ONLY = ("check_counts.cu", "check_work.cu", "illegal.cu")
BUILDS = {"ordinary": "build/hostcuda/gcc/corpus", "check": "build/hostcuda/gcc-check/corpus"}
# compute-sanitizer reads lines of host code up to DWARF 4 only.
NVCC_FLAGS = ["-std=c++17", "-O3", "-g", "-Xcompiler", "-gdwarf-4", "-lineinfo",
              "--extended-lambda", "-DCORPUS_ON_GPU"]  # fmt: skip
PLAIN_LIMIT_S = 5  # a case takes less than a second; what needs longer hangs
TOOL_LIMIT_S = 15  # a tool needs a few seconds to start, more when many start at once
ALONE_LIMIT_S = 60
CASE = re.compile(r"^(RIGHT|WRONG)\((\w+)\)", re.M)
MARK = re.compile(r"// (wrong|check) (\w+): ([\w, -]+)$", re.M)


# ---- the cases, as their files tell ----


def read_cases() -> list[dict]:
    """Name, file, right or wrong and, from the comment beside the mistake, its lines and kinds."""
    cases = []
    for path in sorted(glob.glob(f"{TESTS}/*.cu")):
        file = os.path.basename(path)
        if file in HOSTCUDA_ONLY:
            continue
        with open(path, encoding="utf-8") as source:
            text = source.read()
        marks: dict[str, list[dict]] = {}
        for mark in MARK.finditer(text):
            line = text.count("\n", 0, mark.start()) + 1
            marks.setdefault(mark[2], []).append({"line": line, "kinds": mark[3].split(", ")})
        for right, name in CASE.findall(text):
            wrong = right == "WRONG" or name in marks  # CHECK=1 names a few that else pass
            cases.append({"case": name, "file": file, "right": not wrong,
                          "marks": marks.get(name, [])})  # fmt: skip
    names = [case["case"] for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice or not cases:
        sys.exit(f"gpu_corpus.py: {TESTS}: names of more than one case: {sorted(twice)}")
    return cases


# ---- processes that may crash or hang ----


def run(command: list[str], limit: float, **env: str) -> dict:
    """Runs a process group; {"status": exit status, negative: signal, None: it hangs, "text"}."""
    with tempfile.TemporaryFile() as output:  # no pipe: who hangs may hold its end open
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, env=os.environ | env,
                                   start_new_session=True)  # fmt: skip
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)  # also what the process has left behind
        except ProcessLookupError:
            pass
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            pass  # stuck in the driver; it dies when the driver lets it
        output.seek(0)
        return {"status": status, "text": output.read().decode(errors="replace")}


def read(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


class Pool:
    """Runs jobs side by side until the deadline; a job that cannot start by then gives None."""

    def __init__(self, workers: int, deadline: float):
        self.threads = concurrent.futures.ThreadPoolExecutor(workers)
        self.deadline = deadline

    def map(self, function, items):
        def job(item):
            return None if time.monotonic() > self.deadline else function(item)

        return list(self.threads.map(job, items))

    def settled(self, function, items, limit: float, hopeless=lambda item: False):
        """map of function(item, limit). Who seems to hang may only have waited for the others, all
        of whom start at once: it runs again, in less company and twice as long."""
        results = self.map(lambda item: function(item, limit), items)
        late = [i for i, result in enumerate(results)
                if result and result["status"] is None and not hopeless(items[i])]  # fmt: skip
        calm = Pool(4, self.deadline)
        again = calm.map(lambda i: function(items[i], 2 * limit), late)
        for i, result in zip(late, again):
            results[i] = result or results[i]
        return results


# ---- building ----


def build_hostcuda(jobs: int) -> None:
    make = ["make", f"-j{jobs}", f"PYTHON={sys.executable}", "CC=gcc", *BUILDS.values()]
    if subprocess.run(make, stdout=subprocess.DEVNULL).returncode:
        sys.exit(f"gpu_corpus.py: failed: {' '.join(make)}")


def build_gpu(folder: str, arch: str, pool: Pool) -> str:
    """The corpus as a program for the GPU."""
    env = os.environ | {"PYTHON": sys.executable}
    found = subprocess.run(["tools/find_cuda.sh"], capture_output=True, text=True, env=env)
    if found.stdout.count(" ") != 2 or found.stdout.startswith("error"):
        sys.exit(f"gpu_corpus.py: no nvcc with cuBLAS: {found.stdout.strip()}")
    nvcc, include, library = found.stdout.split()
    sources = [path for path in sorted(glob.glob(f"{TESTS}/*.cu") + [f"{TESTS}/gpu_runner.cpp"])
               if os.path.basename(path) not in HOSTCUDA_ONLY]  # fmt: skip
    objects = [f"{folder}/{os.path.basename(path)}.o" for path in sources]

    def compile_one(path: str, target: str) -> dict:
        return run([nvcc, *NVCC_FLAGS, f"-arch={arch}", f"-I{include}", "-w", "-c", "-o", target,
                    path], 180)  # fmt: skip

    for path, result in zip(sources, pool.threads.map(compile_one, sources, objects)):
        if result["status"] != 0:
            sys.exit(f"gpu_corpus.py: nvcc does not build {path}:\n{result['text']}")
    program, place = f"{folder}/gpu-corpus", os.path.dirname(library)
    link = run([nvcc, f"-arch={arch}", "-o", program, *objects, f"-L{place}",
                f"-l:{os.path.basename(library)}", "-Xlinker", f"-rpath={place}"], 180)  # fmt: skip
    if link["status"] != 0:
        sys.exit(f"gpu_corpus.py: the corpus does not link:\n{link['text']}")
    return program


# ---- running ----


def hostcuda_run(case: dict, build: str, folder: str) -> dict | None:
    """What hostcuda reports, in order, and what the case read back; None: not in this build."""
    base = f"{folder}/{build}-{case['case']}"
    result = run([BUILDS[build], case["case"]], ALONE_LIMIT_S, HOSTCUDA_LOG=f"{base}.log",
                 CORPUS_RESULTS=f"{base}.out")  # fmt: skip
    if result["status"] == 2 and f"no case {case['case']}" in result["text"]:
        return None
    said = re.findall(r"^(?:.*/)?([\w.]+):(\d+): hostcuda \[([\w-]+)\]", read(f"{base}.log"), re.M)
    return {"status": result["status"], "results": read(f"{base}.out"),
            "named": [{"kind": kind, "file": file, "line": int(line)}
                      for file, line, kind in said]}  # fmt: skip


def gpu_run(program: str, name: str, folder: str, limit: float) -> dict:
    """The case alone on the GPU: how it ended in a word, which error CUDA gave, what it read."""
    out = f"{folder}/gpu-{name}.out"
    if os.path.exists(out):
        os.remove(out)
    result = run([program, name], limit, CORPUS_RESULTS=out)
    ended = re.findall(r"^ended: (\w+)$", result["text"], re.M)
    failed = re.findall(r"^.*?([\w.]+:\d+): not so: (.*)$", result["text"], re.M)
    error = ended[-1] if ended and ended[-1] != "cudaSuccess" else None
    status = result["status"]
    if status is None:
        how = "hangs"
    elif status < 0:
        how = signal.Signals(-status).name
    else:
        how = error or ("silent" if ended else f"exit {status}")
    return {"how": how, "not_so": " ".join(failed[0]) if failed else None,
            "status": status, "results": read(out), "text": result["text"][-2000:]}  # fmt: skip


ports = itertools.cycle(range(20000, 32000, 20))  # each run of a tool listens at ten of its own


def tool_run(program: str, case: dict, tool: str, limit: float) -> dict:
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "50", "--port",
               str(next(ports)), "--launch-timeout", "60"]  # fmt: skip
    if any("leak" in mark["kinds"] for mark in case["marks"]):
        # Other wrong cases leave their memory to the device's reset, which is no mistake.
        command += ["--leak-check", "full"]
    result = run([*command, program, case["case"]], limit)
    return {"status": result["status"], "text": result["text"][:60000]}


def origin() -> dict:
    """Where the results come from; `sources`: 8 digits over the files, 8 over the compilers."""
    files = sorted(path for path in glob.glob("hostcuda/**", recursive=True)
                   if os.path.isfile(path) and not path.endswith(".md"))  # fmt: skip
    files += [f"hostcuda/corpus/{name}.py"
              for name in ("gpu_corpus", "corpus_lines", "sanitizer_log")]
    total = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            total.update(path.encode() + hashlib.sha256(file.read()).digest())

    def said(*command: str) -> str:
        if not shutil.which(command[0]):
            return ""
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    compilers = said("g++", "--version") + said("nvcc", "--version") + " ".join(NVCC_FLAGS)
    version = re.search(r"[Vv]ersion (\S+)", said("compute-sanitizer", "--version"))
    top = said("git", "rev-parse", "--show-toplevel") == os.getcwd()
    head = said("git", "rev-parse", "HEAD") if top else "unknown"
    dirty = bool(top and said("git", "status", "--porcelain", "--", ".", ":!results"))
    smi = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    gpu, driver = (smi.splitlines() or ["unknown, unknown"])[0].split(", ")
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"commit": os.environ.get("GRADLAB_COMMIT", head), "dirty": int(dirty),
            "sources": total.hexdigest()[:8] + hashlib.sha256(compilers.encode()).hexdigest()[:8],
            "program": "hostcuda/corpus/gpu_corpus.py", "device": "cuda",
            "gpu": gpu, "driver": driver, "sanitizer": version[1] if version else "unknown",
            "time": now}  # fmt: skip


def judge_cases(cases: list[dict], program: str, folder: str, pool: Pool) -> None:
    """Fills in each case: hostcuda, then the right ones, then the wrong ones tool by tool."""
    begin = time.monotonic()

    def done(what: str) -> None:
        print(f"{time.monotonic() - begin:6.1f} s  {what}", flush=True)

    for build in BUILDS:
        for case, result in zip(cases, pool.map(lambda c: hostcuda_run(c, build, folder), cases)):
            case[build] = result
    done(f"{len(cases)} cases on hostcuda, ordinary and CHECK=1")
    runs = pool.settled(lambda case, limit: gpu_run(program, case["case"], folder, limit), cases,
                        PLAIN_LIMIT_S)  # fmt: skip
    for case, result in zip(cases, runs):
        case["gpu"] = result
    done(f"{len(cases)} cases alone on the GPU")
    wrong = [case for case in cases if not case["right"]]

    def hangs_anyway(case: dict) -> bool:
        return bool(case["gpu"] and case["gpu"]["how"] == "hangs")

    for tool in sanitizer_log.TOOLS:
        runs = pool.settled(lambda case, limit: tool_run(program, case, tool, limit), wrong,
                            TOOL_LIMIT_S, hangs_anyway)  # fmt: skip
        for case, result in zip(wrong, runs):
            case[tool] = result
        done(f"{len(wrong)} wrong cases under {tool}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="a folder")
    parser.add_argument("--again", action="store_true", help="from OUT/corpus-raw.json alone")
    parser.add_argument("--budget", type=float, default=240, metavar="S")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--arch", default="native", help="nvcc's -arch")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    base = os.path.join(options.out, "corpus")
    if not options.again:
        judge_all(options, base)
    with open(f"{base}-raw.json", encoding="utf-8") as file:
        raw = json.load(file)
    lines = [corpus_lines.as_line(case) | raw["common"] for case in raw["cases"]]
    with open(f"{base}.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    with open(f"{base}.md", "w", encoding="utf-8") as file:
        file.write(corpus_table.table(lines))
    print(corpus_table.summary(lines))
    found = corpus_lines.failures(lines)
    print("\n".join([*found, f"{base}.jsonl, {base}.md: {'NOT GOOD' if found else 'good'}"]))
    return 1 if found else 0


def judge_all(options: argparse.Namespace, base: str) -> None:
    """Builds, runs everything and writes what was said to OUT/corpus-raw.json."""
    for needed in ("compute-sanitizer", "nvidia-smi", "g++"):
        if not shutil.which(needed):
            sys.exit(f"gpu_corpus.py: there is no {needed}; it needs a GPU machine with the CUDA "
                     "toolkit, which has it, and g++")  # fmt: skip
    os.makedirs(options.out, exist_ok=True)
    begin = time.monotonic()
    pool = Pool(options.workers, begin + options.budget - TOOL_LIMIT_S)
    cases, common = read_cases(), origin()
    with tempfile.TemporaryDirectory(prefix="gradlab-corpus-") as folder:
        hostcuda = pool.threads.submit(build_hostcuda, options.workers)
        program = build_gpu(folder, options.arch, pool)
        hostcuda.result()
        print(f"{time.monotonic() - begin:6.1f} s  built with nvcc and with hostcuda", flush=True)
        judge_cases(cases, program, folder, pool)
    with open(f"{base}-raw.json", "w", encoding="utf-8") as file:
        json.dump({"common": common, "cases": cases}, file)
    print(f"{time.monotonic() - begin:6.1f} s in all", flush=True)


if __name__ == "__main__":
    sys.exit(main())
