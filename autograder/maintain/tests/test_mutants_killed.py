"""Rules that the reference cannot show to work: what breaks one is graded as a student's file would
be, loses points, and its first message says what is wrong. (All mutants: make mutants)"""

import mutants
import pytest
import table
from conftest import ROOT

KILLED = {  # lab: mutants, one for each rule
    1: ["cuda_elementwise_launch_not_asked_about", "cuda_matmul_by_the_host"],
    4: ["module_sequential_known_by_its_forward", "tape_host_writes_the_first_gradient"],
    5: ["train_evaluation_recorded", "cuda_conv3x3_by_the_host"],
}


@pytest.mark.parametrize("lab, name", [(lab, name) for lab in KILLED for name in KILLED[lab]])
def test_what_breaks_a_rule_is_named(lab, name, monkeypatch):
    monkeypatch.chdir(ROOT)
    mutant = next(m for m in mutants.load(table.load(lab)) if m.name == name)
    try:
        outcome = mutants.judge(mutant, mutants.grade(mutant, lab, verbose=False))
    finally:
        mutants.clean(mutant, lab)
    assert outcome["right"] and outcome["points"] > 0, mutants.line(mutant, outcome)
