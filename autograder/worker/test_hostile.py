"""What hostile, broken and careless code can do to a grader: every deed of autograder/hostile, from
within two operations of lab 2, and the usual ones in front of every call of the interface, must be
named by its kind and cost the claims that call it alone."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import operations
import pytest
import sandbox
from relink import unwritten

ROOT = Path(__file__).resolve().parents[2]

BUILD = ROOT / "build" / "float"
OPERATIONS = ["im2col", "conv2d_fwd"]  # those of hostile.c
# every call that a claim makes -> one that makes it
CLAIM = {
    "vector_add": "lab0_vector_add/the_result_may_be_an_operand",
    "vector_reverse": "lab0_vector_reverse/no_thread_reads_what_another_has_not_written",
    "fill": "lab1_elementwise/fill_sets_every_element",
    "add": "lab1_elementwise/add_is_rounded_once",
    "mul": "lab1_elementwise/mul_is_rounded_once",
    "scale": "lab1_elementwise/scale_is_rounded_once",
    "axpy": "lab1_elementwise/axpy_adds_to_what_is_there",
    "mul_add": "lab1_elementwise/mul_add_adds_to_what_is_there",
    "sum": "lab1_reduce/sum_matches_definition",
    "sum_rows": "lab1_reduce/sum_rows_matches_definition",
    "sum_cols": "lab1_reduce/sum_cols_matches_definition",
    "max_cols": "lab1_reduce/max_and_argmax_name_the_first_winner",
    "argmax_cols": "lab1_reduce/max_and_argmax_name_the_first_winner",
    "matmul": "lab1_matmul/own_product_matches_definition",
    "gemm": "lab1_gemm/blas_product_matches_definition",
    "transpose": "lab1_transpose/rows_become_columns",
    "tensor_new": "lab1_tensor/a_new_tensor_has_its_shape_and_owns_its_memory",
    "tensor_view": "lab1_tensor/a_view_shares_elements_under_another_shape",
    "tensor_offset": "lab1_tensor/offsets_are_row_major_and_do_not_overflow",
    "tensor_same_shape": "lab1_tensor/same_shape_compares_every_dimension",
    "tensor_copy": "lab1_tensor/values_survive_the_way_in_and_out",
    "im2col": "lab2_im2col/padding_becomes_zero",
    "col2im": "lab2_col2im/padding_is_dropped",
    "conv2d_fwd": "lab2_conv2d_fwd/forward_without_bias_matches_definition",
    "conv2d_bwd_input": "lab2_conv2d_bwd/input_gradient_matches_numeric",
    "conv2d_bwd_weight": "lab2_conv2d_bwd/weight_gradient_matches_numeric",
    "conv2d_bwd_bias": "lab2_conv2d_bwd/bias_gradient_matches_numeric",
    "maxpool2d_fwd": "lab3_maxpool2d/forward_takes_the_largest",
    "maxpool2d_bwd": "lab3_maxpool2d/gradient_matches_numeric",
    "linear_fwd": "lab3_linear/forward_matches_definition",
    "linear_bwd_input": "lab3_linear/input_gradient_matches_definition_and_accumulates",
    "linear_bwd_weight": "lab3_linear/weight_gradient_matches_definition_and_accumulates",
    "linear_bwd_bias": "lab3_linear/bias_gradient_matches_definition_and_accumulates",
    "relu_fwd": "lab3_relu/forward_keeps_what_is_positive",
    "relu_bwd": "lab3_relu/gradient_matches_numeric",
    "softmax_xent_fwd": "lab3_softmax_xent/forward_matches_definition",
    "softmax_xent_bwd": "lab3_softmax_xent/backward_matches_definition_and_accumulates",
    "batchnorm_fwd": "lab3_batchnorm/a_constant_channel_becomes_beta",
    "batchnorm_eval": "lab3_batchnorm/evaluation_uses_running_statistics_and_leaves_them",
    "batchnorm_bwd": "lab3_batchnorm/backward_matches_definition_and_accumulates",
    "dropout_fwd": "lab3_dropout/p_of_zero_is_a_copy",
    "dropout_bwd": "lab3_dropout/backward_makes_the_same_draws_and_accumulates",
    "graph": "lab4_ops_math/mean_divides_once",
    "init": "lab4_init/any_number_of_weights_is_filled",
    "sgd_step": "lab5_sgd/plain_steps_follow_the_formula",
    "adam_step": "lab5_adam/no_gradient_means_no_step",
    "schedule_lr": "lab5_schedule/rates_are_those_of_pytorch",
    "batch_load": "lab5_augment/images_come_in_order",
    "train": "lab5_train/gradients_are_those_of_the_next_batch",
    "conv3x3": "lab5_conv3x3/results_stay_right_with_a_third_of_the_sectors",
}
# no lab asks for these: the given metrics, and kernels of more than one step
UNGRADED = {"metrics_add", "conv2d_block_fwd", "conv2d_block_bwd", "linear_block_fwd",
            "linear_block_bwd", "xent_head_fwd", "xent_head_bwd"}
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
EVERYWHERE = ["crashes", "exits", "floods", "loops", "sleeps", "writes_garbage"]


# Where the worker runs: as a process, and in a sandbox where this machine can build one.
FOLDER = tempfile.TemporaryDirectory(prefix="gradlab-")
SANDBOX = Path(FOLDER.name, "sandbox")
PLACES = {"process": {}}
if not sandbox.write(SANDBOX, []):
    PLACES["sandbox"] = {"GRADLAB_SANDBOX": str(SANDBOX)}


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
    given += [f"programs/{n}.c" for n in ("device", "device_cpu", "device_plugin",
                                                     "rungs_apply")]
    given += [f"autograder/call/call_{n}.c" for n in ("direct", "table", "tensor", "train", "graph",
                                                      "graph_ops")]
    for pattern in given:
        objects += [str(BUILD / s.relative_to(ROOT).with_suffix(".o"))
                    for s in sorted(ROOT.glob(pattern))]
    subprocess.run(["gcc", "-fopenmp", "-Wl,--wrap=call_execute", "-o", folder / "worker",
                    *objects, "-lopenblas", "-lm", "-ldl"], check=True)
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


def test_every_call_is_listed():
    others = re.findall(r"^    X\((\w+)\)", (ROOT / "autograder/call/call.h").read_text(), re.M)
    calls = {row.name for row in operations.read()} | set(others)
    assert "graph" in others and calls == set(CLAIM) | UNGRADED


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
