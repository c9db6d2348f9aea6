"""Numbers typed by hand beside a value are found, and what is no such number is let be."""

import lint
import pytest


def faults(tmp_path, body, known=("a.cpu.acc",)):
    path = tmp_path / "report.tex"
    path.write_text("\\documentclass{x}\n\\begin{document}\n" + body + "\n\\end{document}\n")
    return lint.check(path, set(known))


@pytest.mark.parametrize("body", [
    r"We reach \val{a.cpu.acc} \%, not 64.2 \%.", "Accuracy \\val{a.cpu.acc}\nafter 5 epochs.",
    r"\val{a.cpu.acc} against 0,642",
])  # fmt: skip
def test_a_typed_number_is_found(tmp_path, body):
    (fault,) = faults(tmp_path, body)
    assert "typed by hand" in fault


@pytest.mark.parametrize("body", [
    r"\val{a.cpu.acc} on CIFAR-10 with a 3\texttimes 3 conv2d, see table~\ref{tab:2}, in float32.",
    r"\val{a.cpu.acc} after \typed{5} epochs. % 64.2", "Five epochs, or 5.\n\n\\val{a.cpu.acc}",
    r"\val{a.cpu.acc}\hspace{3mm} and the H200",
])  # fmt: skip
def test_names_lengths_settings_and_other_paragraphs_are_let_be(tmp_path, body):
    assert faults(tmp_path, body.replace(r"3\texttimes 3", "3\u00d73")) == []


def test_a_name_that_no_result_has_is_found_with_its_line(tmp_path):
    (fault,) = faults(tmp_path, "\nfirst\n\nThe \\val{a.cpu.ac} is good.")
    assert fault.startswith("report.tex:6:") and "a.cpu.acc" in fault


@pytest.mark.parametrize("row, bad", [
    ("Overfull \\hbox (12.3pt too wide) in paragraph", True),
    ("Overfull \\hbox (0.4pt too wide)", False),
    ("LaTeX Warning: Reference `tab:x' on page 3 undefined", True),
    ("Missing character: There is no \u738b in font ec", True),
    ("Underfull \\hbox (badness 10000)", False),
])  # fmt: skip
def test_what_the_reader_would_see_in_the_log(row, bad):
    assert bool(lint.LOG_FAULT.search(row)) == bad
