"""What tests/grow would write still fits into the tree, and CONTRIBUTING.md names those files: the
quick half of `make test-all`'s job `grow`, which also builds and runs them."""

import shutil

import pytest
import table
from grow import grow
from relink import ROOT

NAMES = sorted({step.name for step in grow.STEPS})


def laid(name, tree):
    """[(step, its files, all so far)] of an example, laid over copies of the files it changes."""
    found, together = [], set()
    for step in (s for s in grow.STEPS if s.name == name):
        folder = grow.HERE / step.folder
        for path in folder.rglob("*.insert"):
            file = str(path.relative_to(folder)).removesuffix(".insert")
            if not (tree / file).exists():
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, tree / file)
        own = grow.lay_over(step, tree)
        together |= own
        found.append((step, own, set(together)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_examples_fit_and_are_counted_right(name, tmp_path):
    said = grow.listed((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    steps = laid(name, tmp_path)
    assert steps
    for step, own, together in steps:
        assert said[step.folder] == (len(together), own)
        assert len(together) <= step.at_most
    for path in tmp_path.rglob("lab.toml"):
        assert table.parse(path.read_text(encoding="utf-8"), path).tasks


def test_every_row_that_is_said_to_be_tried_is():
    said = grow.listed((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert set(said) == {step.folder for step in grow.STEPS}


def test_a_wrong_count_and_a_wrong_file_differ():
    row = "| a thing | {} | `a.c`, `{}` | `thing/thing` |"
    assert grow.listed(row.format(2, "b.c")) == {"thing/thing": (2, {"a.c", "b.c"})}
    assert grow.listed(row.format(3, "b.c")) != grow.listed(row.format(2, "b.c"))
    assert grow.listed(row.format(2, "c.c")) != grow.listed(row.format(2, "b.c"))


@pytest.mark.parametrize("where, text", [
    ("before: two", "one\nNEW\ntwo\nthree\n"), ("after: two", "one\ntwo\nNEW\nthree\n"),
    ("instead: two", "one\nNEW\nthree\n"), ("end", "one\ntwo\nthree\nNEW\n")])
def test_pieces_go_where_they_say(where, text):
    assert grow.inserted("one\ntwo\nthree\n", "x", where, "NEW\n") == text


@pytest.mark.parametrize("where", ["before: four", "before: t", "beside: two"])
def test_a_place_that_is_none_or_two_is_refused(where):
    with pytest.raises(grow.GrowError):
        grow.inserted("one\ntwo\nthree\n", "x", where, "NEW\n")
