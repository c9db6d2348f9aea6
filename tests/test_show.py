"""`make show`: what is not written yet is one line that names the task; what is, is shown, on the
cpu and by hostcuda, whatever becomes of later labs."""

import json
import os
import shutil

import make
import pytest
from relink import ROOT

ALL = os.environ.get("GRADLAB_TEST_ALL") == "1"  # (else they would be skipped, and named)


WRONG = """
tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    TL_TRY(right(ctx, C, A, B, g));
    C[0] += 1;
    return TL_OK;
}
"""


def shown(lab: int, out, *words: str, status: int = 0) -> str:
    done = make.run("-C", str(ROOT), "--no-print-directory", "show", f"LAB={lab}", f"OUT={out}",
                    *words, timeout=600)
    assert done.returncode == (2 if status else 0), done.stdout + done.stderr
    return done.stderr if status else done.stdout


def lines(out, kind: str) -> list:
    read = [json.loads(line) for line in (out / "show.jsonl").read_text().splitlines()]
    return [line for line in read if line["kind"] == kind]


def test_an_unwritten_task_is_named_with_its_file(tmp_path):
    said = shown(2, tmp_path / "out", status=2)
    assert "tl_conv2d_fwd is not implemented yet: write labs/lab2/conv2d_fwd.c first, then: " \
        "make grade LAB=2 T=conv2d_fwd" in said
    assert not (tmp_path / "out/show.png").exists()


def test_a_picture_is_filtered(tmp_path):
    said = shown(2, tmp_path / "out", "LABS=solution")
    assert "blurred" in said and "upright edges" in said
    picture, blurred, *_ = lines(tmp_path / "out", "picture")

    def roughness(p: dict) -> float:
        return sum(abs(a - b) for a, b in zip(p["value"], p["value"][1:]))

    assert roughness(blurred) < 0.6 * roughness(picture)
    inner = [r * 32 + c for r in range(2, 30) for c in range(2, 30)]
    mean = [sum(p["value"][i] for i in inner) / len(inner) for p in (picture, blurred)]
    assert abs(mean[0] - mean[1]) < 0.02  # a blur moves light, and takes none away


def test_what_there_is_not_is_refused(tmp_path):
    assert "lab 0 has nothing to look at" in shown(0, tmp_path, status=2)
    assert "one of cpu, hostcuda, cuda, auto" in shown(2, tmp_path, "DEVICE=tpu", status=2)


if ALL:

    @pytest.mark.parametrize("device", ["cpu", "hostcuda"])
    def test_the_loss_of_a_chain_falls(tmp_path, device):
        shown(3, tmp_path / "out", "LABS=solution", f"DEVICE={device}")
        curve, = lines(tmp_path / "out", "curve")
        assert curve["loss"][-1] < 0.6 * curve["loss"][0]

    def test_spirals_are_told_apart_and_the_tape_is_drawn(tmp_path):
        said = shown(4, tmp_path / "out", "LABS=solution")
        points, = lines(tmp_path / "out", "points")
        assert points["right"] >= 190 and "t6[1] = softmax_xent(t5)" in said
        graph = (tmp_path / "out/tape.dot").read_text()
        assert graph.count("->") == 3 * 3 + 2 + 1 and '"x" -> t1' in graph

    def test_a_wrong_product_is_no_quick_one(tmp_path):
        labs = ROOT / "build/show_wrong"
        shutil.copytree(ROOT / "solution/lab1", labs / "lab1", dirs_exist_ok=True)
        try:
            file = labs / "lab1/matmul.c"
            text = file.read_text()
            assert text.count("tl_status tl_matmul(") == 1
            file.write_text(text.replace("tl_status tl_matmul(", "tl_status right(") + WRONG)
            said = shown(1, tmp_path / "out", "LABS=build/show_wrong", status=2)
        finally:
            shutil.rmtree(labs)
        assert "is wrong, and how quick it is says nothing: make grade LAB=1 T=matmul" in said
