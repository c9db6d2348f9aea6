"""`make debug`: the recorder keeps what a worker is asked and changes nothing; gdb stops in what
the student writes; what is missing is said in a line."""

import os
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
