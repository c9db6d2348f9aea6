"""The machine's factor, an interrupt that leaves nothing running, and where programs lie."""

import json
import os
import signal
import subprocess
import sys
import time

import machine
import pytest
import execute
from conftest import FOLDER


def test_the_factor_is_measured_once(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "measure", lambda: 3.5)
    assert machine.cpu_factor(tmp_path) == 3.5
    monkeypatch.setattr(machine, "measure", lambda: 9.0)
    assert machine.cpu_factor(tmp_path) == 3.5


def test_a_factor_of_another_machine_or_a_damaged_one_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "measure", lambda: 2.0)
    path = tmp_path / "machine.json"
    for damaged in ["", "{}", "[1]", '{"machine": "other", "cpu_factor": 1}']:
        path.write_text(damaged)
        assert machine.cpu_factor(tmp_path) == 2.0
    kept = json.loads(path.read_text())
    for factor in (0.01, 1e9):  # no deadline of no time, and none for ever
        path.write_text(json.dumps(kept | {"cpu_factor": factor}))
        assert machine.cpu_factor(tmp_path) == 2.0


def test_a_measured_factor_makes_no_deadline_shorter():
    assert machine.LEAST <= machine.measure(1) <= machine.MOST


def test_closing_ends_what_still_runs(tmp_path):
    """Also what the grader has started, in sessions of their own or not."""
    grader = tmp_path / "grader"
    grader.write_text(f"#!/bin/sh\nsleep 60 &\necho $! >{tmp_path}/child\nwait\n")
    grader.chmod(0o755)
    code = f"""
import signal, sys; sys.path.insert(0, {str(FOLDER)!r})
import execute, table
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
run = execute.Run("all", "cpu", "float")
claim = table.Claim("one", "first", "lab9_one", ("float",), {{"c": 1}}, "proved")
runner = execute.Runner(execute.Programs({str(grader)!r}, {str(grader)!r}), 1, 1.0)
try:
    runner.run({{run: [claim]}}, {{}})
except KeyboardInterrupt:
    sys.exit(7)
finally:
    runner.close()
"""
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        child = tmp_path / "child"
        for _ in range(100):
            if child.exists() and child.read_text():
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 7
    pid = int(child.read_text())
    for _ in range(50):  # ended, and reaped by whoever inherited it
        if not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat").read().split()[2]:
            return
        time.sleep(0.1)
    raise AssertionError("the grader's child still runs")


@pytest.mark.parametrize("suffix, build, grader, worker", [
    ("", "", "float", "float"), ("", "check", "float", "float-check"),
    ("", "count", "float", "float-check"),
    ("-san", "", "float-san", "float-san"), ("-san", "check", "float", "float-check"),
    ("-check", "", "float", "float-check"), ("-check", "check", "float", "float-check"),
    ("-debug", "", "float-debug", "float-debug")])
def test_grader_and_worker_lie_where_make_has_built_them(tmp_path, monkeypatch, suffix, build,
                                                         grader, worker):
    monkeypatch.chdir(tmp_path)  # whatever lies in build/ after somebody's last grade
    programs = execute.Programs("build/{mode}/grader", "build/{mode}/lab2/{variant}/worker", suffix)
    for device, folder in (("cpu", "only-im2col"), ("hostcuda", "only-im2col-cuda"),
                           ("cuda", "only-im2col-cuda")):
        run = execute.Run("only-im2col", device, "float", build)
        assert str(programs.grader_of(run)) == f"build/{grader}/grader"
        assert str(programs.worker_of(run)) == f"build/{worker}/lab2/{folder}/worker"
