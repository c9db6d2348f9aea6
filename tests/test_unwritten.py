"""A program names the function that is not written yet, also where that returns no status and its
caller went on with what it made up: a rate that is no number, shapes that "differ"."""

import subprocess

import pytest
from relink import ROOT, unwritten

# header, type, parameters and what the skeleton returns
UNWRITTEN = {
    "tl_schedule_lr": ("optim", "double", "const tl_schedule *schedule, uint64_t i", "NAN"),
    "tl_tensor_same_shape": ("tensor", "bool", "const tl_tensor *a, const tl_tensor *b", "false"),
    "tl_tape_wants": ("tape", "bool", "const tl_tape *tape, tl_var *const input[], int inputs",
                      "false"),
}  # fmt: skip


def train(folder, name, *options, cwd=ROOT) -> str:
    program = unwritten("build/float/train", name, *UNWRITTEN[name], folder)
    done = subprocess.run(
        [program, "NET=a", "DATASET=shapes10", "DEVICE=cpu", "LIMIT=128", "EPOCHS=1",
         f"OUT={folder}/out", *options],
        cwd=cwd, capture_output=True, text=True, timeout=60)  # fmt: skip
    assert not (folder / "out/checkpoint").exists()
    said = done.stderr.strip().split("\n")[-1]
    assert done.returncode == 1
    assert said.startswith("train: unwritten.c:") and f"{name} is not implemented yet" in said
    return said


@pytest.mark.parametrize("name", UNWRITTEN)
def test_training_ends_with_the_name_of_what_is_missing(tmp_path, name):
    train(tmp_path, name)


def test_a_plan_without_rates_is_none(tmp_path):
    train(tmp_path, "tl_schedule_lr", f"PLAN={tmp_path}/plan", "PLAN_ONLY=1")


def test_a_file_in_labs_is_named_with_its_folder_and_the_next_command(tmp_path):
    """And where a handout has the reference of that lab, that it can stand in."""
    (tmp_path / "labs/lab4").mkdir(parents=True)
    (tmp_path / "labs/lab4/unwritten.c").touch()
    next_step = "is not implemented yet: write labs/lab4/unwritten.c first, then: " \
        "make grade LAB=4 T=unwritten"
    said = train(tmp_path, "tl_tape_wants", cwd=tmp_path)
    assert said.endswith(next_step)
    (tmp_path / "given/x86_64/float/solution/lab4").mkdir(parents=True)
    said = train(tmp_path, "tl_tape_wants", cwd=tmp_path)
    assert f"{next_step}; or type the same without MINE=1: then the reference of lab 4" in said
