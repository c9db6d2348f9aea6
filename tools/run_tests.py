"""run_tests.py JOB...: runs them, believes counts instead of exit codes, and ends with one line
`N passed, N failed` over everything. A job is

    build/float/suites             a Criterion binary
    build/float/suites@hostcuda    those of its suites that take devices, on this one
    build/float/suites:steps       the suites of each operation with steps (kernels/rungs.def) on
                                   each of them: cpu's, and CUDA's on hostcuda; the suite
                                   rounded_OP on those of another precision than float's
    build/hostcuda/gcc/corpus     kernels that hostcuda must let pass, mistakes that it must name
    refusals                      what hostcuda's rewriter must refuse
    driver                        hostcuda by itself: built, installed, used as nvcc is
    legality                      what is not CUDA is refused, every .cu file is judged legal
    pytest                        tests of the twin, the bridge, the graders' tools, the report
    pytest-without-twin           without the twin's and the bridge's, which need PyTorch
    parity, parity-all            the twin compared with the trainer
    fuzz, fuzz-all                damaged files for the readers, 10 s and 300 s for each
    grow                          what CONTRIBUTING.md says of new operations, nets, rungs …
    hostile                       submissions that cheat, spy and break (make hostile)
    hostile-layers                each layer alone against one of them (make hostile LAYERS=1)
    distros                       README's commands on bare Debians (test_distros.sh), some hours

A Criterion binary returns 0 after an exit(0) inside a test, for a test without an assertion, for a
run that was skipped, and wherever CRITERION_ALWAYS_SUCCEED is set. So the names that `--list` gives
are compared with the names in the report, and only a test that passed with an assertion counts as
passed. (A test that exits early reports none, because Criterion sends their number at the end.)
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "autograder/grade"))
from criterion import listed  # noqa: E402 (found by the line above)

# Suites whose claims run on the devices of GRADLAB_DEVICES; the others never leave the host.
DEVICE_SUITES = ("lab", "fused", "exact", "arguments", "alignment", "ranges", "net", "precision",
                 "rounded", "stored")
# Claims that run on the cpu whatever GRADLAB_DEVICES says, so not on another device's rungs.
CPU_ALONE = "!(bits_do_not_depend_on_threads)"
# With the processes for it: many tests wait, for programs, servers and deadlines; LaTeX waits for
# nobody, nor does torch, which has threads of its own.
PYTEST_FOLDERS = {"baseline": 0, "data": 2 * os.cpu_count(), "autograder": 2 * os.cpu_count(),
                  "tests": 2 * os.cpu_count(), "tests/bridge": 2, "report": os.cpu_count(),
                  "tools/tests": 2 * os.cpu_count()}
WITH_TORCH = ("baseline", "tests/bridge")
LIMIT_S = 1200  # one suite; a hang must end as a failure, not as a killed job
DISTROS_LIMIT_S = 12 * 3600
GROW_LIMIT_S = 3600
HOSTILE_LIMIT_S = 3600
PARITY_SHORT = ["STEPS=5", "BATCH=16", "LIMIT=640"]
FAILURES = []  # said again at the end: minutes of output may stand behind one


def fail(what: str) -> None:
    FAILURES.append(what)
    print(f"FAILED {what}")


def environment(log: Path) -> dict:
    """No CRITERION_* may soften the run; sanitizers write to files, where nothing hides them."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("CRITERION_") and k != "LANGUAGE"}
    env["OMP_WAIT_POLICY"] = "passive"  # tests run side by side: spinning threads starve each other
    env["LC_ALL"] = "C"  # plain ASCII in Criterion's lists
    env["ASAN_OPTIONS"] = f"detect_leaks=1:strict_string_checks=1:log_path={log}"
    env["UBSAN_OPTIONS"] = f"print_stacktrace=1:halt_on_error=1:log_path={log}"
    return env


def run(command: list, limit: int = LIMIT_S, **options) -> int:
    """Exit status, or 124 after `limit` seconds; the whole process group is gone then."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            fail(f"{command[0]}: still running after {limit} s")
            return 124
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def verdicts(report: Path) -> dict:
    """suite/test -> why it did not pass, empty for a pass; parameterised cases share one name."""
    found = {}
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            reasons = found.setdefault(f"{suite.get('name')}/{case.get('name')}", [])
            status = case.get("status", "").lower()
            if status != "passed":
                reasons.append(status)
            elif int(case.get("assertions", 0)) == 0:
                reasons.append("ended without an assertion")
    return found


def brief(binary: str) -> bool:
    """make test leaves sums of whole numbers on large arrays to float without sanitizers: they are
    as exact in double, and their lines are the same. Under sanitizers it leaves tensor cores on
    hostcuda, too, whose lanes exchange their fragments one by one."""
    return os.environ.get("GRADLAB_TEST_ALL") != "1" and (
        "-san/" in binary or "/double" in binary)


def device_suites(binary: str, device: str) -> tuple:
    left = {"exact"} | ({"rounded"} if device == "hostcuda" else set())
    return tuple(s for s in DEVICE_SUITES if not (brief(binary) and s in left))


def judges(binary: str, name: str, device: str, operation: str, rounds: bool) -> bool:
    """As the filter of criterion() says it."""
    suite, _, test = name.partition("/")
    if not operation:
        return suite.startswith(device_suites(binary, device))
    alone = device != "cpu" and test in CPU_ALONE
    rounded = suite.startswith("rounded_")
    return suite.endswith("_" + operation) and not alone and rounded == rounds


def criterion(job: str, operation: str = "", rungs: str = "", rounds: bool = False) -> tuple:
    """With an operation: the suites that end in its name, on these rungs; of those that compute in
    another precision than float's (rounds) rounded_op, of others all but that."""
    binary, _, device = job.partition("@")
    suites = "@(" + "|".join(f"{s}*" for s in device_suites(binary, device)) + ")"
    if operation:
        suites = f"{'rounded' if rounds else '!(rounded)'}_{operation}"
    folder = Path(job + ".out")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    report, env = folder / "report.xml", environment(folder / "sanitizer")
    names, options = [], [f"--xml={report}"]
    if device:
        env["GRADLAB_DEVICES"] = device
        options.append(f"--filter={suites}/{CPU_ALONE if rungs and device != 'cpu' else '*'}")
    elif brief(binary):
        options.append("--filter=!(exact_*)/*")
    if rungs:
        env["GRADLAB_RUNGS"] = rungs
    try:
        names = listed(binary, env)
        if device:
            names = [n for n in names if judges(binary, n, device, operation, rounds)]
        elif brief(binary):
            names = [n for n in names if not n.startswith("exact_")]
        status = run([binary, *options], env=env)
        found = verdicts(report)
        if device or brief(binary):  # the report names those that the filter held back, too
            found = {n: reasons for n, reasons in found.items() if n in names}
    except (OSError, subprocess.SubprocessError, ElementTree.ParseError) as error:
        fail(f"{job}: no readable list or report ({error})")
        return 0, max(1, len(names))
    failures = {n: ", ".join(r) for n, r in found.items() if r}
    failures |= {n: "listed, but never ran" for n in names if n not in found}
    failures |= {n: "ran, but is not listed" for n in found if n not in names}
    passed = len(set(names) | set(found)) - len(failures)
    # What a sanitizer writes fails the run even where the test's process passed, as with leaks.
    for log in sorted(folder.glob("sanitizer.*")):
        text = log.read_text(errors="replace")
        print(text[:4000])
        summaries = [line for line in text.splitlines() if "SUMMARY" in line]
        failures[str(log)] = summaries[0] if summaries else "see above"
    if not names:
        failures[job] = "holds no test"
    if status != 0 and not failures:
        failures[job] = f"exit status {status}"
    for name, reason in failures.items():
        fail(f"{job}: {name}: {reason}")
    return passed, len(failures)


def steps(job: str) -> tuple:
    """Rungs that RUNGS=all passes by: each named, those of CUDA on hostcuda, or with
    GRADLAB_DEVICES=cuda those alone, on a GPU. (What one GPU alone has, STEP_90A, is judged by the
    suite stored_gemm.)"""
    binary, passed, failed = job.partition(":")[0], 0, 0
    devices = {"CPU": "cpu", "CUDA": "hostcuda"}
    if os.environ.get("GRADLAB_DEVICES") == "cuda":
        devices = {"CUDA": "cuda"}
    rows = re.findall(r"^STEP_(CPU|CUDA)\((\w+), (\d+),.*?(\w+)\)$",
                      Path("kernels/rungs.def").read_text(), re.M)  # fmt: skip
    for kind, operation, number, precision in rows:
        if number == "0" or kind not in devices:
            continue  # (the vendor's library takes no operation's place)
        rounds = kind == "CUDA" and precision != "FP32"
        if rounds and not binary.startswith("build/float"):
            continue  # the double build has no other precision
        device = devices[kind]
        print(f"-- {operation}:{number} on {device}")
        counts = criterion(f"{binary}@{device}", operation, f"{operation}:{number}", rounds)
        passed, failed = passed + counts[0], failed + counts[1]
    if "CPU" not in devices:
        return passed, failed
    print("-- conv2d under BITS=portable, where what rung 1 does not take has kernels of its own")
    counts = criterion(f"{binary}@cpu", "conv2d", "portable")
    return passed + counts[0], failed + counts[1] if rows else 1


def counted(job: str, command: list, pattern: str, limit: int = LIMIT_S) -> tuple:
    """A program that prints how many of how many were as they should be; its exit status too."""
    folder = Path("build/counted")
    folder.mkdir(parents=True, exist_ok=True)
    env = environment(folder / "sanitizer")
    del env["ASAN_OPTIONS"], env["UBSAN_OPTIONS"]  # each case reads what its own process printed
    with open(folder / "output.txt", "w+") as output:
        status = run(command, limit, env=env, stdout=output, stderr=subprocess.STDOUT)
        output.seek(0)
        text = output.read()
    print(text, end="")
    pairs = [(int(good), int(total)) for good, total in re.findall(pattern, text)]
    passed, total = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    if status != 0 or not pairs:
        return passed, max(1, total - passed)
    return passed, total - passed


def pytest(folders: dict, *options: str) -> tuple:
    """Each folder in a process of its own: two of them have a conftest.py."""
    counts = [pytest_folder(*f, *options) for f in folders.items()]
    return sum(c[0] for c in counts), sum(c[1] for c in counts)


def pytest_folder(folder: str, processes: int, *options: str) -> tuple:
    report = Path("build/pytest.xml")
    report.unlink(missing_ok=True)
    # a folder within another is one of its own; a file's tests share what is slow to import
    options = (*options, *(f"--ignore={f}" for f in PYTEST_FOLDERS if f.startswith(f"{folder}/")),
               *(["--dist=loadfile"] if folder == "tests/bridge" else []))
    status = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                  "-n", str(processes), f"--junitxml={report}", *options, folder])
    if not report.exists():
        return 0, 1
    passed = failed = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if any(case.find(kind) is not None for kind in ("failure", "error", "skipped")):
            failed += 1
            fail(f"{case.get('classname')}::{case.get('name')}")
        else:
            passed += 1
    if status != 0 or passed == 0:
        failed = max(failed, 1)
    return passed, failed


def fuzz(seconds: int) -> tuple:
    """One verdict per target; none where clang has no libFuzzer, which is said."""
    Path("build").mkdir(exist_ok=True)
    with open("build/fuzz.txt", "w+") as output:
        status = run(["tests/fuzz/fuzz.sh", str(seconds)], stdout=output,
                     stderr=subprocess.STDOUT)
        output.seek(0)
        text = output.read()
    print(text, end="")
    if status == 3:
        return 0, 0
    counts = re.search(r"^(\d+) passed, (\d+) failed$", text, re.MULTILINE)
    passed, failed = (int(counts[1]), int(counts[2])) if counts else (0, 1)
    return passed, max(failed, 1) if status != 0 or passed == 0 else failed


def live(job: str, command: str, limit: int) -> tuple:
    """What it says is shown as it comes: minutes or hours may lie between two lines."""
    Path("build").mkdir(exist_ok=True)
    status = run(["bash", "-o", "pipefail", "-c", f"{command} | tee build/{job}.txt"], limit)
    counts = re.search(r"^(\d+) passed, (\d+) failed$", Path(f"build/{job}.txt").read_text(),
                       re.MULTILINE)
    passed, failed = (int(counts[1]), int(counts[2])) if counts else (0, 1)
    return passed, max(failed, 1) if status != 0 else failed


def parity(options: list) -> tuple:
    """One verdict per net and precision, counted from the table that parity.py prints."""
    said = subprocess.run(["build/float/train", "--nets"], check=True, capture_output=True,
                          text=True, timeout=60).stdout
    known = {line["net"]: line["input"] for line in map(json.loads, said.splitlines())}
    mnist = Path(os.environ.get("GRADLAB_DATA", "data")) / "mnist"
    if (mnist / "train-images-idx3-ubyte").exists():
        nets = list(known)
    else:
        nets = [net for net, image in known.items() if image[0] != 1]
        left = ", ".join(net for net in known if net not in nets)
        print(f"no MNIST under GRADLAB_DATA: net {left} is not compared")
    with open("build/parity.txt", "w+") as table:
        command = [sys.executable, "baseline/parity.py", f"NETS={','.join(nets)}", *options]
        status = run(command, stdout=table)
        table.seek(0)
        text = table.read()
    print(text, end="")
    passed = len(re.findall(r"^\w .* agrees$", text, re.MULTILINE))
    failed = 2 * len(nets) - passed  # in double and in float
    return passed, max(failed, 1) if status != 0 else failed


def main(jobs: list) -> int:
    sys.stdout.reconfigure(line_buffering=True)  # in order with the programs' own lines
    total_passed = total_failed = 0
    for job in jobs:
        start, said = time.monotonic(), len(FAILURES)
        print(f"== {job}")
        if job == "pytest":
            passed, failed = pytest(PYTEST_FOLDERS)
        elif job == "pytest-without-twin":
            others = {f: n for f, n in PYTEST_FOLDERS.items() if f not in WITH_TORCH}
            passed, failed = pytest(others, "-m", "not twin")
        elif job == "distros":
            passed, failed = live(job, "tools/test_distros.sh", DISTROS_LIMIT_S)
        elif job == "hostile":
            command = f"{sys.executable} autograder/hostile/hostile_submissions.py"
            passed, failed = live(job, f"{command} JOBS={os.cpu_count()}", HOSTILE_LIMIT_S)
        elif job == "hostile-layers":
            command = f"{sys.executable} autograder/hostile/hostile_layers.py"
            passed, failed = live(job, command, HOSTILE_LIMIT_S)
        elif job in ("parity", "parity-all"):
            passed, failed = parity(PARITY_SHORT if job == "parity" else [])
        elif job in ("fuzz", "fuzz-all"):
            passed, failed = fuzz(10 if job == "fuzz" else 300)
        elif job == "refusals":
            passed, failed = counted(job, ["hostcuda/corpus/refusals.sh",
                                           "build/hostcuda/hostcuda-rewrite"],
                                     r"(\d+) of (\d+)")
        elif job == "driver":
            passed, failed = counted(job, ["hostcuda/driver/test.sh"], r"(\d+) of (\d+)")
        elif job == "legality":
            passed, failed = counted(job, ["make", "hostcuda-legality"], r"(\d+) of (\d+)")
        elif job == "grow":
            passed, failed = counted(job, [sys.executable, "tests/grow/grow.py"],
                                     r"(\d+) of (\d+) steps", GROW_LIMIT_S)
        elif job.endswith("/corpus"):
            passed, failed = counted(job, [job], r"(\d+) of (\d+)")
        elif job.endswith(":steps"):
            passed, failed = steps(job)
        else:
            passed, failed = criterion(job)
        print(f"{job}: {passed} passed, {failed} failed, {time.monotonic() - start:.1f} s")
        if failed and len(FAILURES) == said:  # a program that says more, but not in our words
            FAILURES.append(f"{job}: see above")
        total_passed += passed
        total_failed += failed
    for what in FAILURES:
        print(f"FAILED {what}")
    print(f"{total_passed} passed, {total_failed} failed")
    return 0 if total_failed == 0 and total_passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
