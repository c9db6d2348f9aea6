"""test_mine.py: MINE=1 links a student's files alone: none of the solution, and no quicker kernel."""

import os
import subprocess

import skeletons
import submission

ROOT = submission.ROOT


def linked(goal: str) -> str:
    """What `make goal MINE=1` would link, as the last command for it says."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    said = subprocess.run(["make", "-nB", "V=1", "train", "MINE=1"], cwd=ROOT, env=env, check=True,
                          capture_output=True, text=True, timeout=120).stdout
    return [line for line in said.split("\n") if f" -o {goal} " in line][-1]


def is_made_of(command: str, suffix: str) -> None:
    own = [f"labs/lab{n}/{name}" for n in range(6) for name in skeletons.own_files(ROOT, n)
           if name.endswith(suffix)]
    objects = [word for word in command.split() if word.endswith(".o")]
    assert own
    for name in own:
        stem = name.removesuffix(".c")
        assert [o for o in objects if o.endswith(f"/{stem}.o")], name
    assert not [o for o in objects if "/solution/" in o]
    assert not [o for o in objects if "/kernels/" in o and "/hostcuda/" not in o]


def test_the_trainer_is_made_of_the_students_files():
    is_made_of(linked("build/float/mine/train"), ".c")


def test_the_device_beside_it_is_too():
    is_made_of(linked("build/float/mine/libtl_hostcuda.so"), ".cu")
