"""`make bench`: rungs are held against the oracle, then timed and recorded; a wrong one is not."""

import json
import os
import re
import subprocess

import make
import pytest
from relink import ROOT, link_command

PROGRAM = "build/float/bench"
ROWS = ["conv2d_fwd", "conv2d_bwd_input", "conv2d_bwd_weight", "conv2d_bwd_bias"]

# A ladder of one rung, which does what the plain path does and then spoils one element.
PLANTED = """
#include "tl/rungs_apply.h"
static tl_status wrong(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                       const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_TRY(tl_conv2d_fwd(ctx, y, x, w, b, g, work));
    y[tl_conv2d_y_size(g) - 1] += %s;
    return TL_OK;
}
static void apply(tl_backend *ops) { ops->conv2d_fwd = wrong; }
const rung rung_table[] = {{"cpu", "conv2d", 1, apply}, {NULL, NULL, 0, NULL}};
"""


# The same for a fused operation, which the plain path lacks: a code, or a number, is another.
PLANTED_FUSED = """
#include "kernels/rungs.h"
#include "tl/rungs_apply.h"
static tl_backend right;
static tl_status wrong(tl_ctx *ctx, tl_real *y, uint8_t *code, const tl_real *x, size_t planes,
                       int h, int w) {
    TL_TRY(right.pool_relu_fwd(ctx, y, code, x, planes, h, w));
    %s;
    return TL_OK;
}
static void apply(tl_backend *ops) {
    tl_rung_pool_relu(&right);
    ops->pool_relu_fwd = wrong;
}
const rung rung_table[] = {{"cpu", "pool", 1, apply}, {NULL, NULL, 0, NULL}};
"""


def planted(tmp_path, text):
    """The program with a ladder of its own."""
    source, program = tmp_path / "planted.c", tmp_path / "bench"
    source.write_text(text)
    compiled = source.with_suffix(".o")
    subprocess.run(["gcc", "-Itl/include", "-I.", "-Itl", "-c", "-o", compiled, source], cwd=ROOT,
                   check=True, timeout=60)  # fmt: skip
    command = link_command(PROGRAM).replace(f" -o {PROGRAM} ", f" -o {program} ")
    rungs = "build/float/programs/rungs_cpu.o"
    assert rungs in command
    subprocess.run(command.replace(rungs, str(compiled)), shell=True, cwd=ROOT, check=True,
                   timeout=60)  # fmt: skip
    return program


def bench(program, out, *words):
    return subprocess.run([program, "DEVICE=cpu", "SAMPLES=3", f"OUT={out}", *words], cwd=ROOT,
                          text=True, capture_output=True, timeout=300)  # fmt: skip


def lines_of(out):
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_make_bench_prints_a_table_and_writes_what_it_shows(tmp_path):
    out = tmp_path / "new" / "ladder.jsonl"
    done = make.run("-C", str(ROOT), "bench", "OP=gemm", "SHAPE=small", "DEVICE=cpu", "THREADS=1",
                    f"OUT={out}", timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    lines = lines_of(out)
    # as many rungs of the product as the ladder has, plain path first, each warm and cold
    assert [(x["rung"], x["cache"]) for x in lines[:2]] == [("0", "warm"), ("0", "cold")]
    for line in lines:
        assert (line["kind"], line["op"], line["shape"]) == ("ladder", "gemm", "small")
        low, high = line["quartiles"]
        assert len(line["samples"]) == 20 and 0 < low <= line["median"] <= high
        assert line["flops"] == 2 * 33 * 32 * 31
        assert line["bytes"] == 4 * (33 * 31 + 31 * 32 + 33 * 32)
        assert line["sources"] and line["machine"] and line["command"].startswith("make bench ")
        assert f"{1e6 * line['median']:.1f}" in done.stdout
    assert lines[0]["of_rung_0"] == 1


SHAPES = "small,odd" if os.environ.get("GRADLAB_TEST_ALL") == "1" else "small"


def test_every_operation_is_right_at_its_small_shape(tmp_path):
    out = tmp_path / "ladder.jsonl"
    done = bench(PROGRAM, out, f"SHAPE={SHAPES}", "THREADS=2")
    assert done.returncode == 0, done.stderr
    rungs = {(x["op"], x["rung"]) for x in lines_of(out)}
    assert {(row, f"conv2d:{n}") for row in ROWS for n in (1, 2, 3)} <= rungs
    assert all(0 <= x["error_of_bound"] <= 1 for x in lines_of(out))


# Counts need the build that watches accesses, which is made for `make test-all` alone.
@pytest.mark.parametrize("op, shape, rungs", [
    ("gemm", "odd", [("0", "fp32"), ("0", "tf32"), ("gemm:7", "tf32"), ("0", "bf16"),
                     ("gemm:8", "bf16"), ("gemm:11", "tf32x3"), ("0", "fp16"),
                     ("gemm:12", "fp16")]),
    ("conv2d_fwd", "deep", [("0", "fp32"), ("conv2d:4", "tf32"), ("conv2d:5", "bf16")]),
    ("linear_bwd_input", "odd", [("0", "fp32"), ("linear:2", "tf32"), ("linear:3", "bf16")])])
def tensor_cores_stand_beside_the_library_of_their_precision(tmp_path, op, shape, rungs):
    """The library's products are judged like ours: its operands are stored in the precision."""
    out, own = tmp_path / "ladder.jsonl", ",".join(rung for rung, _ in rungs)
    done = make.run("-C", str(ROOT), "bench", f"OP={op}", f"SHAPE={shape}", "DEVICE=hostcuda",
                    f"RUNG={own}", f"OUT={out}", timeout=900)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = lines_of(out)
    assert [(x["rung"], x["precision"]) for x in lines] == rungs
    assert all(x["kind"] == "ladder_counts" and 0 <= x["error_of_bound"] <= 1 for x in lines)
    for rung, precision in rungs[1:]:
        assert re.search(rf"^{rung} {precision} +\d", done.stdout, re.M), done.stdout


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (it takes a build of its own)
    test_tensor_cores_stand_beside_the_library_of_their_precision = \
        tensor_cores_stand_beside_the_library_of_their_precision


def test_a_rung_may_be_chosen(tmp_path):
    out = tmp_path / "ladder.jsonl"
    assert bench(PROGRAM, out, "OP=conv2d_fwd", "SHAPE=small", "RUNG=2").returncode == 0
    assert {x["rung"] for x in lines_of(out)} == {"0", "conv2d:2"}


# 1e-5 is less than any bound of numbers from -1 to 1; whole numbers show it all the same
@pytest.mark.parametrize("spoilt", ["1", "1e-5f", "0.f / 0"])
def test_a_wrong_rung_is_named_and_not_timed(tmp_path, spoilt):
    program, out = planted(tmp_path, PLANTED % spoilt), tmp_path / "ladder.jsonl"
    done = bench(program, out, "OP=conv2d_fwd", "SHAPE=small", "RUNG=conv2d:1")
    assert done.returncode == 1
    assert "conv2d_fwd small: rung conv2d:1 is wrong and is not timed: y[511] is" in done.stderr
    assert {x["rung"] for x in lines_of(out)} == {"0"}


@pytest.mark.parametrize("spoilt, named", [("code[count(planes, h, w) - 1] ^= 1", "code[95] is"),
                                           ("y[5] += 1e-6f", "y[5] is"),
                                           ("y[0] = 0.f / 0", "y[0] is")])  # fmt: skip
def test_a_wrong_fused_operation_is_named_and_not_timed(tmp_path, spoilt, named):
    spoilt = spoilt.replace("count(planes, h, w)", "planes * (h / 2) * (w / 2)")
    program, out = planted(tmp_path, PLANTED_FUSED % spoilt), tmp_path / "ladder.jsonl"
    done = bench(program, out, "OP=pool_relu_fwd", "SHAPE=small", "RUNG=pool:1")
    assert done.returncode == 1
    assert f"rung pool:1 is wrong and is not timed: {named}" in done.stderr, done.stderr
    assert lines_of(out) == []


def test_a_fused_operation_is_timed_without_a_rung_0(tmp_path):
    out = tmp_path / "ladder.jsonl"
    done = bench(PROGRAM, out, "OP=pool_relu,relu_mask,xent_head_fwd", "SHAPE=small")
    assert done.returncode == 0, done.stderr
    lines = lines_of(out)
    assert {(x["kind"], x["op"], x["rung"]) for x in lines} == {
        ("ladder_fused", op, "pool:1") for op in ("pool_relu_fwd", "pool_relu_bwd", "relu_mask")}
    assert all("of_rung_0" not in x and x["median"] > 0 for x in lines)
    assert "no rung of this device, of those chosen, takes it" in done.stdout  # xent_head_fwd


def test_every_fused_operation_has_a_definition():
    rows = (ROOT / "tl/include/tl/ops.def").read_text()
    cases = (ROOT / "programs/bench/cases.c").read_text()
    fused = re.findall(r"^OP_FUSED\((\w+),", rows, re.M)
    assert len(fused) >= 11
    assert [op for op in fused if f'{{"{op}", ' not in cases] == []


@pytest.mark.parametrize("word, said", [
    ("OP=gem", "OP=gem: unknown; all, or some of: sum, "), ("SHAPE=huge", "small"),
    ("RUNG=77", "RUNG=77: no such rung"), ("RUNG=mine", "comes with MINE=1"),
    ("SAMPLES=1", "from 3 to 1000"), ("SHPE=a1", "SHPE"),
    ("DEVICE=abacus", "unknown device")])
def test_what_does_not_fit_is_refused(tmp_path, word, said):
    out = tmp_path / "ladder.jsonl"
    done = bench(PROGRAM, out, *(["OP=gemm"] if "OP" not in word else []), word)
    assert done.returncode == 1 and said in done.stderr and not out.exists(), done.stderr
