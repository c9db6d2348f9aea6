"""test_unwritten.py: programs name the function that is not written yet, also where it returns no
status and its caller went on with what it made up."""

import os
import subprocess

import pytest
from submission import ROOT

# As their skeletons end; each is put in the place of the reference's.
UNWRITTEN = {
    "tl_schedule_lr": ("optim", "double", "(const tl_schedule *s, uint64_t i)", "(void)s, (void)i",
                       "NAN"),
    "tl_tensor_same_shape": ("tensor", "bool", "(const tl_tensor *a, const tl_tensor *b)",
                             "(void)a, (void)b", "false"),
    "tl_tape_wants": ("tape", "bool", "(const tl_tape *t, tl_var *const input[], int inputs)",
                      "(void)t, (void)input, (void)inputs", "false"),
}  # fmt: skip


@pytest.fixture(scope="module")
def link():
    """The command that links the reference's trainer, all of whose objects are there."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    goal = "build/float/train"
    done = subprocess.run(["make", "-nB", "V=1", goal], cwd=ROOT, env=env, capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    lines = [line for line in done.stdout.split("\n") if f" -o {goal} " in line]
    assert len(lines) == 1, done.stderr
    return lines[0].replace(f" -o {goal} ", " -o {} ")


def train(link, folder, name, *options):
    header, kind, parameters, unused, value = UNWRITTEN[name]
    source = folder / "unwritten.c"
    source.write_text(f'''#include <math.h>
#include "tl/status.h"
#include "tl/{header}.h"
{kind} __wrap_{name}{parameters};
{kind} __wrap_{name}{parameters} {{
    {unused};
    (void)TL_FAIL(TL_ENOTIMPL, "{name} is not implemented yet");
    return {value};
}}
''')
    command = f"{link.format(folder / 'train')} {source} -Ilabs/include -Wl,--wrap={name}"
    subprocess.run(command, shell=True, cwd=ROOT, check=True, timeout=60)
    out = folder / "out"
    done = subprocess.run(
        [folder / "train", "NET=a", "DATASET=shapes10", "LIMIT=128", "EPOCHS=1", f"OUT={out}",
         *options], cwd=ROOT, capture_output=True, text=True, timeout=60)  # fmt: skip
    assert not (out / "checkpoint").exists()
    return done


@pytest.mark.parametrize("name", UNWRITTEN)
def test_training_ends_with_the_name_of_what_is_missing(link, tmp_path, name):
    done = train(link, tmp_path, name)
    assert done.returncode == 1
    said = done.stderr.strip().split("\n")[-1]
    assert said.startswith("train: unwritten.c:") and f"{name} is not implemented yet" in said
    assert "diverged" not in done.stderr


def test_a_plan_without_rates_is_none(link, tmp_path):
    plan = tmp_path / "plan"
    done = train(link, tmp_path, "tl_schedule_lr", f"PLAN={plan}", "PLAN_ONLY=1")
    assert done.returncode == 1
    assert "tl_schedule_lr is not implemented yet" in done.stderr
