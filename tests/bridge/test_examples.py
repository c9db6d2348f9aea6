"""The scripts that labs/bridge.md sends a student to, each way, and what it says they show."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.one_way  # processes of their own, each of which loads PyTorch


def run(script, *words, **environment):
    return subprocess.run([sys.executable, ROOT / "bridge/examples" / script, *words], cwd=ROOT,
                          env=os.environ | environment, capture_output=True, text=True,
                          timeout=300)  # fmt: skip


def test_one_import_switches_a_model(way):
    done = run("switch.py", way)
    assert done.returncode == 0, done.stderr
    assert float(re.search(rf"{way}: ([\d.]+) % of new images right", done.stdout)[1]) > 97
    assert "convolution gradlab.nn.Conv2d" in done.stdout


def test_both_judges_are_content(way):
    done = run("judge.py", way)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed") == 4 and done.stdout.count("SUCCESS") == 4


@pytest.fixture(scope="session")
def skeletons(tmp_path_factory):
    """libtl.so of files that nobody has written yet."""
    folder = tmp_path_factory.mktemp("mine")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "lib", "MINE=1", "NVCC=none", f"PREFIX={folder}"]
    subprocess.run(command, cwd=ROOT, env=plain, check=True, capture_output=True, timeout=900)
    return folder


def test_what_is_not_written_is_named(way, skeletons):
    done = run("judge.py", way, GRADLAB_TL=str(skeletons))
    assert done.returncode == 1 and done.stdout.count("is not implemented yet") == 4


def test_the_profiler_shows_a_gradient_that_nobody_wants(way):
    naive, mended = (run("naive.py", *words, GRADLAB_WAY=way) for words in ([], ["mended"]))
    assert naive.returncode == 0 and mended.returncode == 0, naive.stderr + mended.stderr
    unwanted = f"gradlab_{way}::conv2d_backward_input"
    assert unwanted in naive.stdout and unwanted not in mended.stdout
    assert f"gradlab_{way}::conv2d_backward_weight" in mended.stdout
