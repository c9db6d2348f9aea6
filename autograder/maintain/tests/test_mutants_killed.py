"""Rules that the reference cannot show to work: what breaks one is graded as a student's file would
be, loses points, and its first message says what is wrong. (All mutants: make mutants)"""

import re

import mutants
import pytest
import table
from conftest import ROOT

KILLED = {  # lab: mutants, one for each rule
    1: ["cuda_elementwise_launch_not_asked_about", "cuda_matmul_by_the_host"],
    4: ["module_sequential_known_by_its_forward", "tape_host_writes_the_first_gradient"],
    5: ["train_evaluation_recorded", "cuda_conv3x3_by_the_host"],
}


def graded(lab: int, name: str) -> dict:
    mutant = next(m for m in mutants.load(table.load(lab)) if m.name == name)
    try:
        document = mutants.grade(mutant, lab, verbose=False)
    finally:
        mutants.clean(mutant, lab)
    outcome = mutants.judge(mutant, document)
    assert outcome["right"] and outcome["points"] > 0, mutants.line(mutant, outcome)
    return document


@pytest.mark.parametrize("lab, name", [(lab, name) for lab in KILLED for name in KILLED[lab]])
def test_what_breaks_a_rule_is_named(lab, name, monkeypatch):
    monkeypatch.chdir(ROOT)
    graded(lab, name)


@pytest.mark.parametrize("lab, name, taken", [
    (1, "tensor_struct_kept_without_elements", "make_view (tensor.c:"),
    (4, "module_list_of_children_not_freed", "tl_module_append (module.c:"),
    (4, "module_layers_parameter_hung_late", "new_param (module_layers.c:"),
    (4, "module_layers_drawn_weights_kept_after_a_failure", "draw_weights (module_layers.c:")])
def test_kept_memory_is_told_with_who_took_it(lab, name, taken, monkeypatch):
    monkeypatch.chdir(ROOT)
    told = [f["text"] for c in graded(lab, name)["claims"] for f in c.get("failures", ())]
    line = re.compile("not freed( at the end)?, taken by " + re.escape(taken))
    assert any(map(line.search, told)), told
