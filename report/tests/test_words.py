"""Every English text that reaches the page has its Chinese."""

import ast
import re
from pathlib import Path

import words

REPORT = Path(__file__).resolve().parents[1]


def texts():
    # what is translated by a variable's value
    found = {"train", "test", "fwd", "fwd+bwd", "conv2d", "linear"}
    found |= {"batch", "pixels a side", "channels"}
    for path in REPORT.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            at = {"t": 0, "Part": 1}.get(name)
            if at is not None and len(node.args) > at and isinstance(node.args[at], ast.Constant):
                found.add(node.args[at].value)
    for path in (REPORT / "templates").glob("*.j2"):
        found.update(re.findall(r'\bt\("([^"]+)"\)', path.read_text(encoding="utf-8")))
    return found


def test_every_text_is_translated_and_none_is_left_over():
    assert texts() - set(words.ZH) == set()
    assert set(words.ZH) - texts() == set()


def test_the_readme_repeats_the_accuracy_of_its_own_run():
    """What is said of equal runs names the run that the quick start shows."""
    text = (REPORT.parent / "README.md").read_text(encoding="utf-8")
    shown = text.partition("quick-start-output: begin")[2].partition("quick-start-output: end")[0]
    last = re.findall(r"test loss \S+ acc ([\d.]+) %", shown)[-1]
    assert re.search(r"seed 1 ends at ([\d.]+) % on one", text)[1] == last


def test_translations_name_the_same_fields():
    field = re.compile(r"\{(\w+)\}")
    for english, chinese in words.ZH.items():
        assert sorted(field.findall(english)) == sorted(field.findall(chinese)), english
