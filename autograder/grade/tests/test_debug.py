"""`make debug`: the recorder keeps what a worker is asked and changes nothing; gdb stops in what
the student writes; what is missing is said in a line."""

import json
import os
import re
import shutil
import subprocess

import pytest

import debug
import table

# A worker that answers each byte with the next one, and ends when nothing more comes.
ECHO = """#!/usr/bin/env python3
import os
while data := os.read(3, 100):
    os.write(4, bytes(b + 1 for b in data))
"""


@pytest.fixture
def recorded(tmp_path):
    """(the recorder of ECHO, the file that it fills)"""
    worker, kept = tmp_path / "worker", tmp_path / "kept.requests"
    worker.write_text(ECHO)
    worker.chmod(0o755)
    return debug.recorder(worker, kept), kept


def test_the_recorder_keeps_requests_and_hands_on_replies(recorded):
    script, kept = recorded
    ask_r, ask_w = os.pipe()
    reply_r, reply_w = os.pipe()

    def files():
        spare = [os.dup2(ask_r, 20), os.dup2(reply_w, 21)]
        os.dup2(spare[0], debug.REQUESTS)
        os.dup2(spare[1], debug.REPLIES)

    with subprocess.Popen([script], preexec_fn=files, close_fds=False) as process:
        os.close(ask_r)
        os.close(reply_w)
        os.set_inheritable(ask_w, False)
        os.write(ask_w, b"HAL")
        assert os.read(reply_r, 10) == b"IBM"
        os.close(ask_w)
        assert process.wait(20) == 0
    assert os.read(reply_r, 10) == b""
    os.close(reply_r)
    assert kept.read_bytes() == b"HAL"


@pytest.mark.parametrize("side, stops", [("c", ["im2col.c:tl_im2col"]),
                                         ("cuda", ["im2col.cu:tl_im2col"])])
def test_gdb_stops_in_what_the_student_writes(side, stops):
    lab = table.load(2)
    claim = lab.task("im2col").claims[0]
    assert debug.functions(lab, claim, side) == stops


def test_no_page_ends_before_gdb_has_stopped():
    words = debug.gdb("worker", "kept", "break f", "run")
    assert words.index("set pagination off") < words.index("break f")


SOURCE = """// __global__ void no(int) {}
/* __global__ void nor_this() */
template <int N>
static __global__ void __launch_bounds__(128, 2) add(float *y, int n) { y[n] = N; }
__global__ static void sub(float *y);
__global__ static void sub(float *y) { add<1><<<1, 1>>>(y, 0); }
"""
# Two threads of a kernel one after the other, as hostcuda runs them.
THREADS = """typedef struct { unsigned x, y, z; } uint3;
extern "C" { __thread uint3 hc_blockIdx, hc_threadIdx; }
static void add(float *y) {
    int i = (int)hc_threadIdx.x;
    y[i] = 1;
}
static void sub(float *y) {
    y[hc_threadIdx.x] = 2;
}
int main() {
    float y[8];
    hc_blockIdx.x = 3;
    for (hc_threadIdx.x = 6; hc_threadIdx.x < 8; hc_threadIdx.x++) add(y);
    sub(y - 1);
}
"""


def test_kernels_are_found_by_their_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labs/lab2").mkdir(parents=True)
    (tmp_path / "labs/lab2/im2col.cu").write_text(SOURCE)
    lab = table.load(2)
    assert debug.kernels(lab, lab.task("im2col").claims[0]) == ["im2col.cu:add", "im2col.cu:sub"]


def test_gdb_stops_in_the_first_thread_of_a_kernel_and_shows_which(tmp_path):
    (tmp_path / "one.cu").write_text(THREADS)
    subprocess.run(["g++", "-g", "-x", "c++", "one.cu", "-o", "one"], cwd=tmp_path, check=True)
    (tmp_path / "stops").write_text(debug.stops_in_kernels(["one.cu:add", "one.cu:sub"]))
    done = subprocess.run(["gdb", "-q", "-nx", "-ex", "source stops", "one"], cwd=tmp_path,
                          input="run\nnext\ncontinue\ncontinue\n", capture_output=True, text=True)
    if "Operation not permitted" in done.stdout + done.stderr:
        pytest.skip("gdb may not trace here")
    shown = re.findall(r"(hc_\w+) = \{x = (\d+)", done.stdout)
    # at the stop, and after `next`; the second thread is let go on; in the next kernel both again
    where = [[("hc_blockIdx", "3"), ("hc_threadIdx", thread)] for thread in "6688"]
    assert shown == sum(where, []), done.stdout + done.stderr


CALLS = """static int mine(int x) { return x + 1; }
static int call_execute(int n) { return n < 3 ? mine(mine(n)) : n; }
int main() {
    for (int n = 1; n <= 4; n++) call_execute(n);
}
"""


@pytest.mark.parametrize("stop, entered", [("calls.c:mine", 2), ("calls.c:main", 0)])
def test_the_last_call_that_enters_the_students_functions_is_found(tmp_path, stop, entered):
    """The one that fails may be one that compares alone what earlier ones have made."""
    (tmp_path / "calls.c").write_text(CALLS)
    worker = tmp_path / "calls"
    subprocess.run(["gcc", "-g", "calls.c", "-o", "calls"], cwd=tmp_path, check=True)
    (tmp_path / "kept").touch()
    try:
        assert debug.calls(worker, tmp_path / "kept", [stop]) == (4, entered)
    except debug.Nothing as error:
        if "Operation not permitted" not in str(error):
            raise
        pytest.skip("gdb may not trace here")


if not shutil.which("gdb"):  # (they would be skipped, and named: make setup installs none)
    del test_gdb_stops_in_the_first_thread_of_a_kernel_and_shows_which
    del test_the_last_call_that_enters_the_students_functions_is_found


@pytest.fixture
def graded(monkeypatch, tmp_path):
    """Takes (claim, side, verdict, records) for what `make grade LAB=2` has just found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(debug.shutil, "which", lambda name: name)
    monkeypatch.setattr(debug, "keep_requests", lambda *arguments: recorded_with.append(arguments))
    recorded_with = []

    real_of = {claim.short_name: claim.real[0] for claim in table.load(2).claims}

    def write(*results):
        path = tmp_path / "build/grade/lab2/part.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"claims": [
            {"claim": claim, "task": claim.split("/")[0], "side": side, "verdict": verdict,
             "kind": (records or [{}])[0].get("kind", ""),
             "failures": [{"real": real_of[claim]} | r for r in records]}
            for claim, side, verdict, records in results]}))
        return recorded_with

    return write


def record(kind: str, device: str, **more) -> dict:
    return {"kind": kind, "device": device, "seed": 7, **more}


IM2COL = ("im2col/columns_hold_receptive_fields", "im2col/padding_becomes_zero")


@pytest.mark.parametrize("results, status, said", [
    ([], 2, "columns_hold_receptive_fields: gdb has no call of it to stop in: mend first what"),
    ([(IM2COL[0], "c", "fail", [record("compile", "cpu")])], 2, "gdb has no call of it to stop in"),
    ([(c.short_name, "c", "pass", []) for c in table.load(2).task("im2col").claims], 0,
     "im2col: no failure, so there is nothing to stop in")])
def test_what_was_not_built_is_no_claim_that_holds(graded, capsys, results, status, said):
    graded(*results)
    words = ["LAB=2", "T=im2col", "DEVICES=cpu", "WORKER=build/{mode}/{variant}/worker"]
    assert debug.main(words) == status
    out = capsys.readouterr()
    assert said in " ".join((out.err if status else out.out).split())


def found(given: dict) -> tuple:
    lab = table.load(2)
    words = {"LAB": "2", "T": "im2col", "DEVICES": "", "SUFFIX": "",
             "WORKER": "build/{mode}/{variant}/worker", "LABS": "labs"}
    return debug.failing(lab, lab.task("im2col").claims, words | given)


def test_on_hostcuda_the_checkers_judge_and_the_build_for_gdb_replays(graded):
    """What only a checker sees is found as by a grade, and stopped in where gdb sees variables."""
    asked = graded((IM2COL[0], "cuda", "fail",
                    [record("race", "hostcuda", file="im2col.cu", line=7)]))
    _, run, worker, _, told = found({"DEVICES": "hostcuda"})
    (programs, _, recorded_run, seed, _), = asked
    assert programs.worker_of(recorded_run).parts[1] == f"{run.real}-check" and seed == 7
    assert worker.parts[1] == f"{run.real}-debug"
    assert debug.place_told(told) == " at im2col.cu:7"


@pytest.mark.parametrize("results, claim, device", [
    # what is not written on one side waits for what is wrong on the other
    ([(IM2COL[0], "cuda", "fail", [record("not_implemented", "hostcuda")]),
      (IM2COL[1], "c", "fail", [record("mismatch", "cpu")]),
      (IM2COL[1], "cuda", "fail", [record("not_implemented", "hostcuda")])], IM2COL[1], "cpu"),
    # C before CUDA, also where the first claim fails in CUDA alone
    ([(IM2COL[0], "cuda", "fail", [record("mismatch", "hostcuda")]),
      (IM2COL[1], "c", "fail", [record("mismatch", "cpu")])], IM2COL[1], "cpu"),
    # whoever waits for another task's file is not at fault
    ([(IM2COL[0], "c", "waiting", [record("not_implemented", "cpu")]),
      (IM2COL[1], "c", "fail", [record("mismatch", "cpu")])], IM2COL[1], "cpu"),
    # nothing is written
    ([(IM2COL[0], "c", "fail", [record("not_implemented", "cpu")])], IM2COL[0], "cpu"),
    # what only the source shows has no call
    ([(IM2COL[0], "c", "fail", [{"kind": "openmp"}]),
      (IM2COL[1], "c", "fail", [record("mismatch", "cpu")])], IM2COL[1], "cpu")])
def test_the_failure_is_the_one_that_the_grade_shows_in_full(graded, results, claim, device):
    graded(*results)
    stopped, run, *_ = found({})
    assert (stopped.short_name, run.device) == (claim, device)


def test_without_gdb_one_line_says_what_installs_it(monkeypatch, capsys):
    monkeypatch.setattr(debug.shutil, "which", lambda name: None)
    assert debug.main(["LAB=2", "T=im2col"]) == 2
    assert "debug: no gdb here: apt-get install gdb" in capsys.readouterr().err


def test_a_claim_has_to_be_named(capsys, monkeypatch):
    monkeypatch.setattr(debug.shutil, "which", lambda name: name)
    assert debug.main(["LAB=2"]) == 2
    assert "T= says which claim" in capsys.readouterr().err
    assert debug.main(["LAB=2", "T=im2cl"]) == 2
    assert "im2col is the nearest" in capsys.readouterr().err
