"""What hostile, broken and careless code can do to a grader: every deed of autograder/hostile, from
within two operations of lab 2, and the usual ones in front of every call of the interface, must be
named by its kind and cost the claims that call it alone."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import operations
import pytest
import sandbox
from relink import unwritten

ROOT = Path(__file__).resolve().parents[2]

BUILD = ROOT / "build" / "float"
OPERATIONS = ["im2col", "conv2d_fwd"]  # those of hostile.c
# A call -> the claim that is tried with it: where it is another than the first that makes few calls
# beside it, because that one is slow, calls through functions of autograder/claim, or only sees it
# refused.
CHOSEN = {
    "vector_add": "lab0_vector_add/the_result_may_be_an_operand",
    "sum_rows": "lab1_reduce/sum_rows_matches_definition",
    "sum_cols": "lab1_reduce/sum_cols_matches_definition",
    "matmul": "lab1_matmul/own_product_matches_definition",
    "gemm": "lab1_gemm/blas_product_matches_definition",
    "linear_bwd_input": "lab3_linear/input_gradient_matches_definition_and_accumulates",
    "im2col": "lab2_im2col/padding_becomes_zero",
    "col2im": "lab2_col2im/padding_is_dropped",
    "conv2d_fwd": "lab2_conv2d_fwd/forward_without_bias_matches_definition",
    "conv2d_bwd_input": "lab2_conv2d_bwd/input_gradient_matches_numeric",
    "conv2d_bwd_weight": "lab2_conv2d_bwd/weight_gradient_matches_numeric",
    "conv2d_bwd_bias": "lab2_conv2d_bwd/bias_gradient_matches_numeric",
    "maxpool2d_bwd": "lab3_maxpool2d/gradient_matches_numeric",
    "linear_bwd_weight": "lab3_linear/weight_gradient_matches_definition_and_accumulates",
    "linear_bwd_bias": "lab3_linear/bias_gradient_matches_definition_and_accumulates",
    "relu_bwd": "lab3_relu/gradient_matches_numeric",
    "batchnorm_fwd": "lab3_batchnorm/a_constant_channel_becomes_beta",
    "dropout_fwd": "lab3_dropout/p_of_zero_is_a_copy",
    "graph": "lab4_ops_math/mean_divides_once",
    "init": "lab4_init/any_number_of_weights_is_filled",
    "adam_step": "lab5_adam/no_gradient_means_no_step",
    "schedule_lr": "lab5_schedule/rates_are_those_of_pytorch",
    "batch_load": "lab5_augment/images_come_in_order",
    "train": "lab5_train/gradients_are_those_of_the_next_batch",
}
HEAD = re.compile(r"^(?:CLAIM\((\w+), (\w+)\)|(?:static )?[\w *]+?\b(\w+)\([^;{}]*\)) \{\n(.*?)^\}",
                  re.MULTILINE | re.DOTALL)


def calls_of_claims(text: str) -> dict:
    """claim -> the calls that it makes, also through functions of its file."""
    functions, claims = {}, {}
    for suite, name, function, body in HEAD.findall(text):
        if suite:
            claims[f"{suite}/{name}"] = body
        else:
            functions[function] = body

    def calls(body: str, seen: frozenset) -> set:
        found = set(re.findall(r"\bcall_(\w+)\(", body))
        for name in set(re.findall(r"\w+", body)) & set(functions) - seen:
            found |= calls(functions[name], seen | {name})
        return found

    return {claim: calls(body, frozenset()) for claim, body in claims.items()}


def claims_by_call() -> dict:
    """Every call that a claim makes -> one that makes it."""
    made, found = {}, {}
    known = every_call()
    for path in sorted((ROOT / "autograder").glob("lab*/*_test.c")):
        made |= calls_of_claims(path.read_text(encoding="utf-8"))
    for claim, calls in sorted(made.items(), key=lambda item: len(item[1])):
        for call in calls & known:
            found.setdefault(call, claim)
    return found | CHOSEN


def every_call() -> set:
    """The operations, and what else crosses to a worker."""
    others = re.findall(r"^    X\((\w+)\)", (ROOT / "autograder/call/call.h").read_text(), re.M)
    assert "graph" in others
    return {row.name for row in operations.read()} | set(others)


CLAIM = claims_by_call()
# no lab asks for these: the given metrics, and kernels of more than one step
UNGRADED = {row.name for row in operations.read() if row.lab < 0}
OTHER = {"transpose": "lab1_elementwise/fill_sets_every_element"}


def other(operation: str) -> str:
    """A claim that does not call the operation."""
    return OTHER.get(operation, "lab1_transpose/rows_become_columns")


# deed -> the kind that names it; "pass" where it has no consequence
KIND = {"aborts": "crash", "allocates_without_end": "memory", "changes_its_input": "input_changed",
        "closes_every_file": "closed", "closes_its_output": "pass", "crashes": "crash",
        "damages_the_heap": "crash", "divides_by_zero": "crash", "exits": "exit",
        "exits_with_a_code": "exit", "floods": "flood", "forges_a_reply": "garbage",
        "forges_a_verdict": "pass", "forks": "pass", "leaks_memory": "leak",
        "leaves_a_thread": "garbage", "loops": "timeout", "poses_as_a_broken_worker": "exit",
        "reads_far_away": "crash", "recurses": "crash", "sleeps": "stuck",
        "survives_signals": "timeout", "takes_its_time": "pass",
        "writes_before_the_start": "fence", "writes_garbage": "garbage",
        "writes_past_the_end": "fence"}
# what these do depends on whether the machine lets the worker have a process namespace of its own,
# or on how many calls a claim makes
EITHER = {"kills_itself": {"pass", "crash"}, "kills_its_parent": {"pass", "crash", None},
          "dawdles": {"pass", "timeout"}}
EVERYWHERE = ["crashes", "loops", "writes_garbage"]
if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (their claims are told apart by the three above)
    EVERYWHERE += ["exits", "floods", "sleeps"]


# Where the worker runs: as a process, and in a sandbox where this machine can build one.
FOLDER = tempfile.TemporaryDirectory(prefix="gradlab-")
SANDBOX = Path(FOLDER.name, "sandbox")
PLACES = {"process": {}}
if not sandbox.write(SANDBOX, []):
    PLACES["sandbox"] = {"GRADLAB_SANDBOX": str(SANDBOX), "GRADLAB_TIER": sandbox.tier()[0]}


def deeds() -> list:
    text = (ROOT / "autograder/hostile/hostile.h").read_text()
    return [line.split("X(")[1].split(")")[0] for line in text.splitlines()
            if line.lstrip().startswith("X(")]


@pytest.fixture(scope="session")
def worker(tmp_path_factory) -> Path:
    """One worker that holds all deeds; its name says which of them it does."""
    folder = tmp_path_factory.mktemp("hostile")
    grader = BUILD / "grader"
    assert grader.exists(), "no build/float/grader: make build/float/grader build/float/suites"
    flags = ["-std=gnu11", "-O1", "-g1", "-gdwarf-4", "-fopenmp", "-march=native", "-Itl/include",
             "-I."]
    renamed = [f"-Dtl_{o}=reference_{o}" for o in OPERATIONS]
    objects = []

    def compile_c(source: Path, *more: str) -> None:
        target = folder / (source.stem + ".o")
        subprocess.run(["gcc", *flags, *more, "-c", "-o", target, source], cwd=ROOT, check=True)
        objects.append(str(target))

    for source in sorted((ROOT / "autograder/hostile").glob("*.c")):
        compile_c(source)
    for source in sorted((ROOT / "autograder/worker").glob("*.c")):
        compile_c(source)
    for name, new in zip(OPERATIONS, renamed):
        compile_c(ROOT / f"solution/lab2/{name}.c", new)
    given = ["tl/*.c", "solution/lab[!2]/*.c", "solution/lab2/col2im.c",
             "solution/lab2/conv2d_bwd.c"]
    given += [f"autograder/call/call_{n}.c" for n in ("direct", "host", "memory", "steps", "table",
                                                      "tensor", "train", "graph", "graph_ops")]
    for pattern in given:
        objects += [str(BUILD / s.relative_to(ROOT).with_suffix(".o"))
                    for s in sorted(ROOT.glob(pattern))]
    # (CALL_WRAPS of mk/modes.mk beside our own)
    rows = (ROOT / "tl/include/tl/ops.def").read_text()
    wraps = [f"-Wl,--wrap={name}" for name in (
        "call_execute", "malloc", "calloc", "realloc", "strdup", "free", "tl_tape_wrap",
        "tl_tape_record", "tl_alloc_put",
        *(f"tl_{op}" for op in re.findall(r"^OP(?:_DATA)?\((\w+),", rows, re.M)))]
    subprocess.run(["gcc", "-fopenmp", *wraps, "-o", folder / "worker", *objects, "-lopenblas",
                    "-lm", "-ldl"], check=True)
    folder.chmod(0o755)  # a box's user is somebody else
    return folder / "worker"


def judged(worker: Path, deed: str, operation: str, folder: Path, place="process",
           front="") -> dict:
    """claim -> its line, for the claim of the operation and one that has nothing to do with it. The
    deed is done by the operation itself, or in front of its call (front "call-")."""
    name = worker.with_name(f"hostile-{deed}-{front}{operation}")
    if not name.exists():
        os.link(worker, name)
    claims = folder / f"{name.name}.jsonl"
    claims.unlink(missing_ok=True)
    # short deadlines; but taking all memory is work
    factor = "2" if deed == "allocates_without_end" else "0.1" if front else "0.25"
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "GRADLAB_WORKER": str(name),
           "GRADLAB_DEVICES": "cpu", "GRADLAB_RUNGS": "none", "GRADLAB_CLAIMS": str(claims),
           "GRADLAB_CPU_FACTOR": factor}
    wanted = f"@({CLAIM[operation]}|{other(operation)})"
    run = subprocess.run([BUILD / "grader", "-j2", "--filter", wanted], env=env | PLACES[place],
                         capture_output=True, timeout=120, text=True)
    lines = claims.read_text().splitlines() if claims.exists() else []
    found = {line["claim"]: line for line in map(json.loads, lines)}
    assert len(found) == len(lines), run.stderr
    return found


def kind(line) -> str:
    if line is None:
        return None
    return "pass" if line["verdict"] == "pass" else line["kind"]


def test_every_deed_is_listed():
    assert set(deeds()) == set(KIND) | set(EITHER)


@pytest.mark.parametrize("place, operation", [("process", "conv2d_fwd"),
                                              *((place, "im2col") for place in PLACES)])
@pytest.mark.parametrize("deed", sorted(set(KIND) | set(EITHER)))
def test_deed_is_named(worker, tmp_path, deed, operation, place):
    found = judged(worker, deed, operation, tmp_path, place)
    line = found.get(CLAIM[operation])
    assert kind(line) in EITHER.get(deed, {KIND.get(deed)}), line
    assert kind(found.get(other(operation))) == "pass", "another claim has paid for it"
    if line and line["verdict"] == "fail":
        assert line["call"].startswith(operation) and line["text"]


def test_a_box_that_could_not_be_built_is_no_deed_of_the_code(worker, tmp_path, monkeypatch):
    """bubblewrap ends with 1, as a program may by itself."""
    script = tmp_path / "sandbox"
    script.write_text("#!/bin/sh\necho 'bwrap: no room for a namespace' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setitem(PLACES, "none", {"GRADLAB_SANDBOX": str(script), "GRADLAB_TIER": "A"})
    found = judged(worker, "none", "im2col", tmp_path, "none")
    assert {line["kind"] for line in found.values()} == {"machine"}
    assert "bubblewrap says: no room for a namespace" in str(found)


def end_from_outside(program: Path, done: threading.Event) -> None:
    """SIGKILL to each process that was started by this very command and no other, as an operator
    sends it, or a machine without memory; not to those around it."""
    while not done.wait(0.02):
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if path.read_bytes() == f"{program}\0".encode():
                    os.kill(int(path.parent.name), signal.SIGKILL)


@pytest.mark.skipif("sandbox" not in PLACES, reason="no box: a program may have ended itself")
def test_a_worker_that_somebody_outside_ends_is_not_judged(worker, tmp_path):
    done = threading.Event()
    thread = threading.Thread(target=end_from_outside, daemon=True,
                              args=(worker.with_name("hostile-sleeps-im2col"), done))
    thread.start()
    line = judged(worker, "sleeps", "im2col", tmp_path, "sandbox")[CLAIM["im2col"]]
    done.set()
    thread.join()
    assert (line["verdict"], line["kind"]) == ("error", "machine"), line
    assert "ended from outside" in str(line)


@pytest.mark.skipif("sandbox" not in PLACES, reason="no box: it may be the first in a namespace")
def test_a_worker_that_kills_itself_has_crashed(worker, tmp_path):
    line = judged(worker, "kills_itself", "im2col", tmp_path, "sandbox")[CLAIM["im2col"]]
    assert (line["verdict"], line["kind"], line["file"]) == ("fail", "crash", "kills_itself.c")
    assert "tried to kill its own process" in line["text"]


def test_every_call_is_listed():
    assert every_call() == set(CLAIM) | UNGRADED


@pytest.mark.parametrize("deed", EVERYWHERE)
def test_deed_is_named_in_front_of_every_call(worker, tmp_path, deed):
    """Side by side: a deed takes up to two seconds, most of which it does nothing."""
    def kinds(operation: str) -> tuple:
        found = judged(worker, deed, operation, tmp_path, front="call-")
        return kind(found.get(CLAIM[operation])), kind(found.get(other(operation)))

    # one that sleeps costs nothing but time
    with ThreadPoolExecutor(16 if deed == "sleeps" else os.cpu_count()) as pool:
        named = dict(zip(CLAIM, pool.map(kinds, CLAIM)))
    assert named == dict.fromkeys(CLAIM, (KIND[deed], "pass"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("deed", ["crashes", "divides_by_zero", "recurses", "aborts",
                                  "reads_far_away"])
def test_a_crash_names_file_and_line(worker, tmp_path, deed, place):
    line = judged(worker, deed, "im2col", tmp_path, place)[CLAIM["im2col"]]
    assert line["file"] == f"{deed}.c" and line["line"] > 1
    assert line["backtrace"][0].startswith(f"{deed}.c:{line['line']} ")


def test_calls_that_are_slow_together_use_up_their_claim(worker, tmp_path):
    line = judged(worker, "dawdles", "conv2d_fwd", tmp_path)[CLAIM["conv2d_fwd"]]
    assert line["kind"] == "timeout" and "of this claim" in line["text"]


def test_what_is_printed_is_kept_apart_and_bounded(worker, tmp_path):
    found = judged(worker, "forges_a_verdict", "im2col", tmp_path)
    line = found[CLAIM["im2col"]]
    assert '"verdict":"pass"' in line["output"] and len(line["output"]) <= 4000
    flooded = judged(worker, "floods", "im2col", tmp_path)[CLAIM["im2col"]]
    assert len(flooded["output"]) <= 4000 < flooded["output_bytes"]


def test_one_worker_of_a_gpu_serves_what_is_not_written_yet(worker, tmp_path):
    """To open a GPU takes seconds. hostcuda's plug-in stands for it, under the name of cuda's."""
    plugin = unwritten("build/float/libtl_hostcuda.so", "tl_transpose", "matmul", "tl_status",
                       "tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols", "status",
                       tmp_path)  # fmt: skip
    code, old, new = plugin.read_bytes(), b"\0hostcuda\0", b"\0cuda\0\0\0\0\0"
    assert code.count(old) == 1
    (tmp_path / "libtl_cuda.so").write_bytes(code.replace(old, new))
    shutil.copy2(worker, tmp_path / "honest")
    counting, starts = tmp_path / "worker", tmp_path / "starts"
    counting.write_text(f'#!/bin/sh\necho >>{starts}\nexec {tmp_path}/honest "$@"\n')
    counting.chmod(0o755)
    claims = tmp_path / "claims.jsonl"
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "GRADLAB_WORKER": str(counting),
           "GRADLAB_DEVICES": "cuda", "GRADLAB_RUNGS": "none", "GRADLAB_CLAIMS": str(claims)}
    subprocess.run([BUILD / "grader", "-j1", "--filter", "lab1_@(transpose|elementwise)/*"],
                   env=env, capture_output=True, timeout=120)  # fmt: skip
    found = [json.loads(line) for line in claims.read_text().splitlines()]
    kinds = {(line["claim"].split("/")[0], kind(line)) for line in found}
    assert kinds == {("lab1_transpose", "not_implemented"), ("lab1_elementwise", "pass")}
    assert len(found) > 5 and starts.read_text() == "\n"
