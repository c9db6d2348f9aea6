"""The whole way, from lines to the words of a PDF."""

import json
import math
import re
import shutil
import statistics
import subprocess

import build
import latex
import pytest
import store
import units


def text_of(pdf):
    done = subprocess.run(
        ["pdftotext", "-layout", str(pdf), "-"], check=True, capture_output=True, text=True
    )
    return done.stdout


def squeezed(text):
    """Without what a typesetter may change: spaces, and the forms of dashes and letters."""
    same = {"\u2013": "-", "\u2212": "-", "\ufb01": "fi", "\ufb02": "fl", "\ufb00": "ff"}
    same |= {"\u03bc": "\u00b5", "\u2192": "->", "\u2019": "'"}
    for old, new in same.items():
        text = text.replace(old, new)
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_value_on_the_page_is_the_number_of_its_line(lab, device):
    lab.write(lab.everything(device))
    page = squeezed(text_of(lab.build()))
    ledger = json.loads((lab.root / "out/tex/values.json").read_text())
    rows = [entry for entry in ledger if "row" in entry]
    assert len(rows) > 15
    for entry in rows:
        row = squeezed("".join(cell["text"] for cell in entry["row"]))
        assert row in page, f"{entry['table']}: {row}"
    cells = [cell for entry in rows for cell in entry["row"] if "raw" in cell]
    cells += [entry for entry in ledger if "value" in entry]
    cells = [cell for cell in cells if cell["text"] != units.DASH]
    for cell in cells:
        check_text(cell)
    traced = [cell for cell in cells if comes_from_its_line(lab, cell)]
    assert len(traced) > 0.9 * len([cell for cell in cells if cell["source"]])
    assert "??" not in page and "STALE" not in page
    # of the ladder the costliest shape, where there is more than one rung
    assert "conv2d_fwdc20fp32" in page and "conv2d:5bf16" in page
    assert "conv2d_fwdc2" in page and "conv2d_fwdsmall" not in page and "sgd_stepa" not in page


def check_text(cell):
    """The text says what the numbers say, to its last digit."""
    shown = re.findall(r"(?:^[-+])?\d+(?:\.\d+)?", cell["text"])
    assert len(shown) == len(cell["raw"])
    for text, raw in zip(shown, cell["raw"]):
        # half a unit of the last digit; from 1000 on the third digit is the last that counts
        decimals, number = len(text.partition(".")[2]), float(text)
        unit = 10.0**-decimals if decimals or number < 1000 else 10.0 ** (len(text) - 3)
        assert abs(number - raw / cell["scale"]) <= 0.5001 * unit, cell


# "file:3 field", "file:3, file:9 field" (their mean), "file:3 field / other.median"
_SOURCE = re.compile(r"((?:\S+:\d+(?:, )?)+) ([^/]+?)(?: / ([^/]+))?")


def comes_from_its_line(lab, cell):
    """Whether the source can be looked up; if so its number must be the cell's."""
    match = _SOURCE.fullmatch(cell["source"])
    if not match or "sum of" in cell["source"]:
        return False
    lines = []
    for place in match[1].split(", "):
        path, _, number = place.rpartition(":")
        lines.append(json.loads((lab.root / path).read_text().splitlines()[int(number) - 1]))
    values = [look_up(line, match[2]) / look_up(line, match[3] or "1") for line in lines]
    assert math.isclose(statistics.fmean(values), cell["raw"][0], rel_tol=1e-12), cell
    return True


def look_up(line, name):
    """A field by its path, of a timing its median, of a list its mean; or the number itself."""
    if re.fullmatch(r"[\d.e+-]+", name):
        return float(name)
    for part in name.split("."):
        line = line[part]
    if isinstance(line, list):
        return statistics.fmean(line)
    return line["median"] if isinstance(line, dict) else line


def test_equal_results_give_equal_bytes(lab):
    lab.write(lab.everything())
    first, second = (lab.build(folder=name).read_bytes() for name in ("one", "two/deeper"))
    assert first == second


def test_stale_results_stop_it_with_the_command_and_draft_marks_them(lab):
    lines = lab.everything()
    for line in lines:
        if line["program"] == "train":
            line["sources"] = "f" * 16
    lab.write(lines)
    with pytest.raises(build.ReportError) as error:
        lab.build()
    assert "make train NET=a DEVICE=cpu DATASET=cifar10" in str(error.value) and "DRAFT=1" in str(
        error.value
    )
    assert not (lab.root / "out/report.pdf").exists()
    text = text_of(lab.build("DRAFT=1"))
    assert "STALE" in text and "DRAFT" in text


def test_published_results_of_older_code_are_shown_with_their_commit(lab):
    """The same lines are refused where this machine's own results lie."""
    lines = lab.everything("cuda")
    for line in lines:
        line["commit"] = "1f85b51c59"
        if line["program"] == "train":
            line["sources"] = "f" * 16
    lab.write(lines, "results/h200/all.jsonl")
    page = re.sub(r"\s+", " ", text_of(lab.build("FROM=results/h200")))
    said = "Measured at commit 1f85b51c59; the code has changed since."
    used = len(re.findall(r"(?:Table|Figure) \d+:", page))
    # training, curves and epochs, our profile and the roofline; the other programs are as they were
    assert page.count(said) == 5 < used and "STALE" not in page
    lab.write(lines)
    with pytest.raises(build.ReportError, match="other code of labs/"):
        lab.build()


@pytest.mark.parametrize("searched", [True, False])
def test_times_of_pytorch_without_cudnns_search_are_said_to_be_so(lab, searched):
    lines = lab.everything("cuda")
    for line in lines:
        line |= {"cudnn_benchmark": True} if searched else {}
    lab.write(lines + lab.everything())
    page = re.sub(r"\s+", " ", text_of(lab.build()))
    assert ("PyTorch ran without cudnn.benchmark" in page) == (not searched)


def test_missing_parts_stop_it_and_optional_ones_are_marked_gaps(lab):
    lab.write(lab.training() + lab.rest())
    with pytest.raises(build.ReportError) as error:
        lab.build()
    assert "Convolution" in str(error.value) and "make bench-ops DEVICE=cpu" in str(error.value)
    lab.write(lab.everything())
    text = text_of(lab.build())
    assert "no lab has been graded here" in text and "make lab1 && make grade" in text


def test_a_handout_misses_nothing_that_it_cannot_measure(lab, capsys):
    lab.write(lab.everything())
    heading, goals = "inside PyTorch", ('"build bridge"', '"build ladder"')
    page = text_of(lab.build())
    said = capsys.readouterr().out
    assert heading in page and all(goal in said for goal in goals)
    (lab.root / "mk/compare.mk").unlink()
    page = text_of(lab.build())
    said = capsys.readouterr().out
    assert heading not in page and not any(goal in said for goal in goals)


@pytest.mark.parametrize("measured", [True, False])
def test_an_operation_that_is_not_written_yet_is_a_gap(lab, measured):
    if measured:
        lab.write(lab.training() + lab.rest())
    path = lab.root / "results/local/report/failures.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"operations": "bench_ops: conv2d_fwd is not implemented"}')
    text = re.sub(r"\s+", " ", text_of(lab.build()))
    assert "not implemented yet: bench_ops: conv2d_fwd" in text
    assert ("as the programs reported them" in text) == measured and "1970" not in text


def test_scores_and_errors_of_claims_are_shown(lab):
    claims = [{"claim": f"c{i}", "verdict": "pass", "worst": 10.0**-i} for i in range(1, 5)]
    claims.append({"claim": "bad", "verdict": "fail", "worst": 7.0})
    claims.append({"claim": "exact", "verdict": "pass"})  # compares nothing
    document = {
        "schema": store.GRADES[-1], "lab": 2, "title": "im2col_convolution", "seed": 7,
        "score": {"points": 87, "max": 100, "extra": 3, "extra_max": 5}, "devices": ["cpu"],
        "claims": claims,
    }  # fmt: skip
    path = lab.root / "build/grade/lab2/grade.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document))
    lab.write(lab.everything())
    text = re.sub(r"\s+", " ", text_of(lab.build()))
    assert "2 im2col_convolution 87/100 3/5" in text
    assert "Errors of 5 claims" in text


@pytest.mark.parametrize("lines", [[], ["{"]])
def test_no_results_is_said(lab, lines):
    lab.write(lines)
    with pytest.raises(build.ReportError, match="no results in results/local"):
        lab.build()


def test_missing_latex_names_packages_and_command(lab, monkeypatch):
    lab.write(lab.everything())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(build.ReportError, match="make setup report\n.*texlive-latex-recommended"):
        lab.build()


def test_a_run_that_diverged_shows_dashes(lab):
    lines = lab.everything()
    for line in lines:
        if line["kind"] == "epoch" and line["program"] == "train" and line["epoch"] == 3:
            line["test_loss"] = line["train_loss"] = float("nan")
    lab.write(lines)
    lab.build()
    ledger = json.loads((lab.root / "out/tex/values.json").read_text())
    texts = {entry["value"]: entry["text"] for entry in ledger if "value" in entry}
    assert texts["a.cpu.ours.loss"] == units.DASH != texts["a.cpu.ours.acc"]


def test_steps_in_another_precision_have_a_table_of_their_own(lab):
    rounded = lab.gpu_steps()
    rounded["ours_run"] = rounded["ours_run"] | {"precision": "bf16"}
    rounded["best_rival"] = "bf16 graph, channels_last"
    rounded["times"] = {
        "ours": {"median": 40.0, "quartiles": [39.0, 41.0]},
        "bf16 graph, channels_last": {"median": 80.0, "quartiles": [79.0, 81.0]},
    }
    lab.write([*lab.everything("cuda"), rounded])
    lab.build()
    ledger = json.loads((lab.root / "out/tex/values.json").read_text())
    texts = {entry["value"]: entry["text"] for entry in ledger if "value" in entry}
    assert texts["step.a.64.bf16.gpu.ratio"] == "0.500"
    assert texts["step.a.64.gpu.ours"] != texts["step.a.64.bf16.gpu.ours"]


def test_timings_on_a_busy_machine_are_said_to_be_so(lab):
    lines = lab.everything()
    for line in lines:
        if line["kind"] in ("bench_op", "bench_step"):
            line["busy"] = 0.42
    lab.write(lines)
    assert "took 42 % of the processor" in re.sub(r"\s+", " ", text_of(lab.build()))


NASTY = "100% _under_ & {b} \\back #1 $x$ ~t^c <i> \"q\" 'a' `g` a--b"


def test_every_character_stands_for_itself(lab, monkeypatch, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text(
        f"title: {NASTY}\ncourse: {NASTY}\nauthor: Zo\u00eb {NASTY}\n", encoding="utf-8"
    )
    real = build.read_names
    monkeypatch.setattr(build, "read_names", lambda path: real(names))
    lab.write(lab.everything())
    page = squeezed(text_of(lab.build()))
    assert page.count(squeezed(NASTY)) >= 3 and "Zo\u00eb" in page


def test_chinese_names_are_set_or_refused(lab, monkeypatch, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("title: T\nauthor: \u738b\u82b3\n", encoding="utf-8")
    real, which = build.read_names, shutil.which
    monkeypatch.setattr(build, "read_names", lambda path: real(names))
    lab.write(lab.everything())
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "xelatex" else which(name))
    with pytest.raises(
        build.ReportError, match="\u738b\u82b3; install xelatex with 'make setup report-zh'"
    ):
        lab.build()


@pytest.mark.parametrize("row", ["autor: X", "no colon", "authors: X"])
def test_a_names_file_that_cannot_be_understood_is_refused(tmp_path, row):
    path = tmp_path / "names.txt"
    path.write_text(f"title: T\n{row}\n")
    with pytest.raises(build.ReportError, match="names.txt:2"):
        build.read_names(path)


def test_escaping_leaves_no_command_and_keeps_what_is_latex():
    assert latex.escape("\\input{x}%") == r"\textbackslash{}input\{x\}\%"
    assert latex.escape(latex.Tex(r"\val{a}")) == r"\val{a}"
    assert latex.escape("a\nb\x00") == "a b"


def test_a_typed_number_stops_the_report(lab, monkeypatch, tmp_path):
    for path in build.HERE.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path / path.name)
    source = tmp_path / "report.tex"
    source.write_text(
        source.read_text().replace("\\section{Discussion}", "\\val{a.cpu.ours.acc} or 64.2")
    )
    monkeypatch.setattr(build, "HERE", tmp_path)
    lab.write(lab.everything())
    with pytest.raises(build.ReportError, match="64.2 is typed by hand"):
        lab.build()
