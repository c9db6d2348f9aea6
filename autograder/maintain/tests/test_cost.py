"""make grade-cost takes each call of a compiler for the step that it is, and hands in new files."""

import cost
import pytest
from conftest import ROOT
from table import tomllib


@pytest.mark.parametrize(("call", "step"), [
    ("gcc -O2 -c -o build/float/x.o build/float/x.o.i", "c"),
    ("gcc -c -o x.o x.c", "c"),
    ("g++ -std=c++17 -c -o x.o x.o.ii", "cuda"),
    ("g++ -E -o x.o.ii x.hc.cpp", "rest"),
    ("g++ -shared -o libtl_hostcuda.so x.o", "link"),
    ("gcc --version", "rest"),
])
def test_a_call_is_taken_for_its_step(call, step):
    assert cost.step_of(call.split()) == step


def test_what_is_handed_in_is_new_and_can_still_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    cost.hand_in(1, tmp_path)
    for name in ("reduce.c", "reduce.cu", "cases.toml"):
        given = (ROOT / "solution/lab1" / name).read_bytes()
        assert (tmp_path / "lab1" / name).read_bytes().startswith(given)
        assert (tmp_path / "lab1" / name).read_bytes() != given
    cases = tomllib.loads((tmp_path / "lab1/cases.toml").read_text())
    assert cases == tomllib.loads((ROOT / "solution/lab1/cases.toml").read_text())
