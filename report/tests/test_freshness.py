"""Results of other code, machines or data sets do not pass."""

import subprocess
import sys
from pathlib import Path

import freshness
import pytest
import store
from conftest import BUILD, CODE


def faults(lab, lines, name="results/local/all.jsonl"):
    lab.write(lines, name)
    results = store.read(lab.root, ["results"])
    return freshness.Freshness(lab.root).faults(results.lines)


def test_results_of_this_code_pass(lab):
    assert faults(lab, lab.everything()) == []


def test_our_other_code_is_refused(lab):
    lines = lab.training()
    lines[0]["sources"] = "ffffffff" + BUILD
    assert any("other code of labs/" in fault for fault in faults(lab, lines))


def test_other_code_behind_a_comparison_is_refused(lab):
    line = lab.operations()[0]
    line["ours_run"]["sources"] = "ffffffff" + BUILD
    assert any("other code of labs/" in fault for fault in faults(lab, [line]))


def test_a_comparison_that_does_not_name_our_build_is_refused(lab):
    line = lab.operations()[0]
    del line["ours_run"]
    assert any("which build of ours" in fault for fault in faults(lab, [line]))


def test_other_code_of_the_twin_is_refused(lab):
    (lab.root / "baseline/nets.py").write_text("# more\n")
    assert any("other code of baseline/" in fault for fault in faults(lab, lab.training()))


def test_other_flags_are_refused_here_and_expected_elsewhere(lab):
    line = lab.training()[0] | {"sources": CODE + "00000000"}
    assert any("other flags" in fault for fault in faults(lab, [line]))
    (lab.root / "results/local/all.jsonl").unlink()
    assert faults(lab, [line], "results/h200/train.jsonl") == []
    assert faults(lab, [line], "results/local/gpu/train.jsonl") == []


def test_mixed_machines_and_data_sets_are_refused(lab):
    a, b = lab.training()[:2]
    assert any("devices are mixed" in f for f in faults(lab, [a, b | {"machine": "another"}]))
    assert any("data sets are mixed" in f for f in faults(lab, [a, b | {"dataset": "shapes10"}]))


def test_mnist_of_net_m_is_no_mixture(lab):
    a, b = lab.training()[:2]
    assert faults(lab, [a, b | {"dataset": "mnist", "net": "m"}]) == []


def test_a_fresh_line_goes_before_a_later_stale_one(lab):
    a = lab.training()[0]
    lab.write([a, a | {"sources": "f" * 16, "time": "2027-01-01T00:00:00Z"}])
    lines = store.read(lab.root, ["results"]).lines
    fresh = freshness.Freshness(lab.root)
    assert fresh.pick(lines) is lines[0] and fresh.pick(lines[1:]) is lines[1]


@pytest.mark.twin
def test_the_hash_of_baseline_is_the_one_its_programs_write():
    root = Path(__file__).resolve().parents[2]
    code = "import lines; print(lines.origin('x')['sources'][:8])"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=root / "baseline", check=True,
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout.strip() == freshness.twin_code(root)
