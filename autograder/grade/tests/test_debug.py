"""`make debug`: the recorder keeps what a worker is asked and changes nothing; gdb stops in what
the student writes; what is missing is said in a line."""

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


@pytest.mark.parametrize("verdict, status, said", [
    ("missing", 2, "im2col/columns_hold_receptive_fields on cpu could not be run: mend first what"),
    ("pass", 0, "im2col: no failure, so there is nothing to stop in")])
def test_what_was_not_built_is_no_claim_that_holds(monkeypatch, tmp_path, capsys, verdict, status,
                                                   said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(debug.shutil, "which", lambda name: name)

    def one(runner, run, claims, _):
        return {claims[0].full_name: {"verdict": verdict}} if verdict == "pass" else {}, None

    monkeypatch.setattr(debug.execute.Runner, "one", one)
    monkeypatch.setattr(debug.machine, "cpu_factor", lambda folder: 1.0)
    words = ["LAB=2", "T=im2col", "DEVICES=cpu", "WORKER=build/{mode}/{variant}/worker"]
    assert debug.main(words) == status
    out = capsys.readouterr()
    assert f"debug: {said}" in " ".join((out.err if status else out.out).split())


def test_on_hostcuda_the_checkers_judge_and_the_build_for_gdb_replays(monkeypatch, tmp_path):
    """What only a checker sees is found as by a grade, and stopped in where gdb sees variables."""
    monkeypatch.chdir(tmp_path)
    judged, lab = [], table.load(2)

    def one(runner, run, claims, _):
        judged.append(runner.programs.worker_of(run))
        return {claims[0].full_name: {"verdict": "fail", "file": "im2col.cu", "line": 7}}, None

    monkeypatch.setattr(debug.execute.Runner, "one", one)
    monkeypatch.setattr(debug.machine, "cpu_factor", lambda folder: 1.0)
    monkeypatch.setattr(debug, "keep_requests", lambda *arguments: None)
    given = {"LAB": "2", "T": "im2col", "SEED": "", "DEVICES": "hostcuda", "SUFFIX": "",
             "WORKER": "build/{mode}/{variant}/worker", "LABS": "labs"}
    _, run, worker, _, record = debug.failing(lab, lab.task("im2col").claims, given)
    assert [path.parts[1] for path in judged] == [f"{run.real}-check"]
    assert worker.parts[1] == f"{run.real}-debug"
    assert debug.place_told(record) == " at im2col.cu:7"


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
