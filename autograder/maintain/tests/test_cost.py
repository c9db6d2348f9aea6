"""make grade-cost takes each call of a compiler for the step that it is."""

import cost
import pytest


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
