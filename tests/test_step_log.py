"""The loss of each step (STEP_LOG=1) is that of its own images, captured in a graph or not.

GRADLAB_DEVICES: the devices of the runs (default: cpu and hostcuda).
"""

import json
import os

import pytest
import training_runs

DEVICES = os.environ.get("GRADLAB_DEVICES", "cpu,hostcuda").split(",")
SHORT = ("LIMIT=40", "EPOCHS=2", "STEP_LOG=1")  # batches of 16, 16 and 8 in each epoch


def lines_of(out, device: str, rungs: str, graph: int) -> list[dict]:
    training_runs.run(out, *SHORT, f"DEVICE={device}", f"RUNGS={rungs}", f"GRAPH={graph}")
    return [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]


def losses(lines: list[dict]) -> list[float]:
    return [line["loss"] for line in lines if line["kind"] == "step"]


@pytest.mark.parametrize("rungs", ["none", "all"])
@pytest.mark.parametrize("device", DEVICES)
def test_each_step_logs_its_own_loss(tmp_path, device, rungs):
    captured = lines_of(tmp_path / "captured", device, rungs, 1)
    plain = lines_of(tmp_path / "plain", device, rungs, 0)
    found = losses(captured)
    assert found == losses(plain) and len(set(found)) == 6, (found, losses(plain))
    weighted = (16 * found[0] + 16 * found[1] + 8 * found[2]) / 40
    epoch = next(line for line in captured if line["kind"] == "epoch")
    assert weighted == pytest.approx(epoch["train_loss"], rel=1e-5)
