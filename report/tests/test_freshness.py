"""Results of other code, machines or data sets do not pass."""

import hashlib
import os
import re
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
    line["sources"] = "ffffffff00000000"
    assert any("other code" in f for f in faults(lab, [line], "results/local/gpu/train.jsonl"))


def outlived(lab, name, *lines):
    """Faults and old commits of lines that lie in this file alone."""
    path = lab.write(lines, name)
    fresh = freshness.Freshness(lab.root)
    results = store.read(lab.root, [name])
    path.unlink()
    return fresh.faults(results.lines), fresh.outlived(results.lines)


def test_published_results_of_older_code_keep_their_commit(lab):
    old = lab.training()[0] | {"sources": "ffffffff" + BUILD, "commit": "1f85b51c59" + 30 * "0"}
    assert outlived(lab, "results/h200/a.jsonl", old) == ([], ["1f85b51c59"])
    assert outlived(lab, "results/h200/a.jsonl", lab.training()[0]) == ([], [])
    bench = lab.operations()[0] | {"commit": "abc", "dirty": 1}
    bench["ours_run"] = bench["ours_run"] | {"sources": "ffffffff" + BUILD}
    assert outlived(lab, "results/h200/a.jsonl", bench) == ([], ["abc+"])
    own, commits = outlived(lab, "results/local/a.jsonl", old)
    assert commits == [] and "other code of labs/" in own[0]


def test_published_states_of_the_code_do_not_mix(lab):
    old = lab.training()[0] | {"sources": "ffffffff" + BUILD}
    (fault,) = outlived(lab, "results/h200/a.jsonl", old, lab.training()[0])[0]
    assert fault.startswith("several states of the code of train: ")


def test_the_references_published_results_are_no_students(lab, monkeypatch):
    lab.built("build/float/mine", "facade01" + BUILD)
    monkeypatch.setenv("MINE", "1")
    found, commits = outlived(lab, "results/h200/a.jsonl", lab.training()[0])
    assert commits == [] and "other code of labs/" in found[0]


def test_a_published_line_of_this_code_goes_before_a_later_one_of_older_code(lab):
    a = lab.training()[0]
    later = a | {"sources": "f" * 16, "time": "2027-01-01T00:00:00Z"}
    lab.write([a, later], "results/h200/a.jsonl")
    lines = store.read(lab.root, ["results/h200"]).lines
    assert freshness.Freshness(lab.root).pick(lines) is lines[0]


def test_the_code_is_known_without_programs(lab):
    """make gives its digits; programs of other code that lie here are no measure then."""
    line = lab.training()[0]
    lab.write([line])
    (read,) = store.read(lab.root, ["results/local"]).lines
    assert freshness.Freshness(lab.root, CODE).fault(read) == ""
    assert "other code" in freshness.Freshness(lab.root, "ffffffff").fault(read)
    (lab.root / "build/float/build_info.c").unlink()
    assert freshness.Freshness(lab.root, CODE).fault(read) == ""
    assert "nothing is built" in freshness.Freshness(lab.root).fault(read)


def test_make_knows_the_digits_of_the_code():
    root = Path(__file__).resolve().parents[2]
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    said = subprocess.run(["make", "-n", "report", "DRAFT=1"], cwd=root, env=env, check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    command = re.search(r"tools/build_info.sh code ([^)]*)", said)[0]
    code = subprocess.run(command, shell=True, cwd=root, check=True, capture_output=True, text=True)
    files = command.split()[2:]
    sums = subprocess.run(["sha256sum", *files], cwd=root, check=True, capture_output=True).stdout
    assert len(files) > 100 and code.stdout.strip() == hashlib.sha256(sums).hexdigest()[:8]


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
    assert done.stdout.strip() == freshness.sources.of_folder(root / "baseline")
