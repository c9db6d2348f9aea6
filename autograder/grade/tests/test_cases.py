"""A student's own cases are data: what is read, what is refused and in which words, and what the
grader's program is given."""

import cases
import pytest
import table
from conftest import ROOT

KNOWN = table.Cases(calls={"pool": ("n", "h", "pad"), "step": ("rate",)},
                    numbers={"n": (1, 8, None), "h": (2, 16, None), "pad": (0, 5, 0),
                             "rate": (0.0, 1.0, 0.5)},
                    versions=("pool", "step"))


def lines(*rows: str) -> list:
    return cases.lines_of("cases.toml", f"case = [{', '.join(rows)}]".encode(), KNOWN)


def refused(data) -> str:
    with pytest.raises(cases.Unusable) as why:
        cases.lines_of("cases.toml", data if isinstance(data, bytes) else data.encode(), KNOWN)
    assert "\n" not in str(why.value)
    return f"{why.value.kind}: {why.value}"


def test_numbers_stand_in_the_order_of_the_list_and_are_filled_up():
    assert lines('{call="pool", h=3, n=2, seed=7}', '{call="step"}') == [
        "version pool", "version step", "case pool 7 2 3 0 0.5", "case step 1 1 2 0 0.5"]


def test_one_case_a_section_is_the_same():
    text = '[[case]]\ncall = "pool"\nn = 1\nh = 2\n'
    assert cases.lines_of("cases.toml", text.encode(), KNOWN) == lines('{call="pool", n=1, h=2}')


@pytest.mark.parametrize("rows, said", [
    ('{call="pool", h=3}', "case 1, pool: n is missing: a whole number from 1 to 8"),
    ('{call="pool", n=9, h=3}', "case 1, pool: n = 9: a whole number from 1 to 8 is needed"),
    ('{call="pool", n=2.0, h=3}', "n = 2.0: a whole number from 1 to 8"),
    ('{call="pool", n=true, h=3}', "n = True: a whole number"),
    ('{call="pool", n="2", h=3}', "n = '2': a whole number"),
    ('{call="pool", n=1, h=3, w=3}', "'w' is no number of it; it has seed, n, h, pad"),
    ('{call="pool", n=1, h=3, seed=-1}', "seed = -1: a whole number from 0 to 4294967295"),
    ('{call="step"}, {call="pol", n=1}', "case 2: call = 'pol': there is none; one of pool, step"),
    ('{n=1}', "case 1: call is missing; one of pool, step"),
    ('{call=["pool"]}', "case 1: call = ['pool']: there is none"),
    ('{call="step", rate=nan}', "rate = nan: a number from 0.0 to 1.0 is needed"),
    ('{call="step", rate=inf}', "rate = inf: a number from 0.0 to 1.0 is needed"),
    ('3', "case 1: 3 is no table"),
    (", ".join(['{call="step"}'] * 13), "13 cases, and 12 are the most"),
])
def test_a_case_that_is_none_is_named_by_its_number(rows, said):
    assert refused(f"case = [{rows}]").startswith("no_cases: cases.toml: ")
    assert said in refused(f"case = [{rows}]")


@pytest.mark.parametrize("data, said", [
    ("case = [{call=}]", "cannot be read as TOML: "), (b"case = \xff", "cannot be read as TOML: "),
    ("other = 1", "'other': nothing but `case = [ … ]` is read here"),
    ("case = 3", "case = 3: a list is needed"), ('case = {call="pool"}', "a list is needed"),
    ("a=" + "[" * 5000, "cannot be read as TOML: "), ("case = " + "9" * 9000, "cannot be read"),
    ("#" * 17000, "17000 bytes, and 16384 are the most"),
])  # fmt: skip
def test_a_file_that_is_no_list_is_refused(data, said):
    assert said in refused(data)


@pytest.mark.parametrize("data", ["", "# nothing\n", "case = [\n]\n"])
def test_no_case_yet_is_not_written_yet(data):
    assert refused(data) == "not_implemented: cases.toml has no case yet"


def test_control_characters_of_a_file_reach_nobody():
    assert "\x1b" not in refused('case = [{call="\\u001b[31mpool"}]')


def test_a_missing_file_says_how_it_comes_back(tmp_path):
    lab = table.load(2)
    with pytest.raises(cases.Unusable) as why:
        cases.write(tmp_path, 2, lab.task("cases"), tmp_path / "out")
    assert "make restore LAB=2 T=cases" in str(why.value) and why.value.kind == "missing"


WITH_CASES = [lab for lab in map(table.load, table.numbers())
              if any(task.cases for task in lab.tasks)]


@pytest.mark.parametrize("lab", WITH_CASES, ids=lambda lab: f"lab{lab.number}")
def test_the_head_of_the_file_names_every_call_and_number(lab):
    """What the comment of cases.toml does not tell, nobody can know."""
    known = lab.task("cases").cases
    head = (ROOT / f"labs/lab{lab.number}/cases.toml").read_text(encoding="utf-8")
    assert not [name for name in (*known.calls, *known.numbers, "seed") if name not in head]
    assert len(known.versions) == 10 and set(known.versions) <= {t.name for t in lab.tasks}
