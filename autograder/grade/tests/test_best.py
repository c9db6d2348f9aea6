"""The best counts of a kernel are kept beside the student's files, and are no part of a grade."""

import json

import pytest
from conftest import LAB, fail

CHECKED = 'build = "check"\ncuda = '
ALONE = CHECKED + "40"  # on the CUDA side
COUNTED = LAB.replace('["float", "double"]', '["float"]').replace("c = 20\ncuda = 20", ALONE)
KEPT = {"schema": "gradlab-best/1", "best": {"one": {"sectors": 0, "bank_conflicts": 0,
                                                     "time": "2026-01-01T"}}}
ESCAPED = json.dumps(KEPT).replace("2026-01-01T", "\\u001b[2J")


@pytest.fixture
def counted(stage):
    """Grades a kernel with these counts; the lines about it, and what is kept."""
    stage.write("autograder/lab9/lab.toml", COUNTED)
    stage.write("labs/lab9/one.cu", "a kernel")
    path = stage.folder / "labs/lab9/best.json"

    def grade(sectors, conflicts=0, *arguments, capsys, record=None, requests=None) -> tuple:
        counters = {"launches": 1, "sectors": sectors, "bank_conflicts": conflicts}
        counters |= {"shared_requests": requests} if requests is not None else {}
        stage.says["lab9_one/first@hostcuda"] = (record or {}) | {
            "said": f"{sectors} sectors", "counters": counters}
        assert stage.grade(*arguments) == 0
        out = capsys.readouterr().out.split("\n")
        lines = [line for line in out if line.startswith("one: ") or "best.json" in line]
        kept = json.loads(path.read_text())["best"]["one"] if path.exists() else None
        return lines, kept and (kept["sectors"], kept["bank_conflicts"])

    return grade


def test_the_best_is_kept_and_told_beside_what_was_counted(counted, stage, capsys):
    told, kept = counted(900, 4, capsys=capsys)
    assert told == ["one: 900 sectors and 4 conflicts of banks, the first that are kept"]
    day = stage.result()["time"][:10]
    told, kept = counted(950, capsys=capsys)
    assert told == ["one: 950 sectors and 0 conflicts of banks; your best had 900 sectors and 4 "
                    f"conflicts of banks, {day}"] and kept == (900, 4)
    told, kept = counted(900, 2, capsys=capsys)
    assert told == ["one: 900 sectors and 2 conflicts of banks: your best; before that 900 sectors "
                    f"and 4 conflicts of banks, {day}"] and kept == (900, 2)
    told, kept = counted(900, 2, capsys=capsys)
    assert told == [f"one: 900 sectors and 2 conflicts of banks, as your best of {day}"]


def test_of_as_many_sectors_and_conflicts_fewer_requests_are_better(counted, stage, capsys):
    counted(900, capsys=capsys)  # as an older version kept it, without requests
    day = stage.result()["time"][:10]
    told, _ = counted(900, capsys=capsys, requests=80)
    assert told == ["one: 900 sectors, 0 conflicts of banks and 80 requests to shared memory: your "
                    f"best; before that 900 sectors and 0 conflicts of banks, {day}"]
    told, _ = counted(900, capsys=capsys, requests=90)
    assert "your best had 900 sectors, 0 conflicts of banks and 80 requests" in told[0]


def test_the_page_tells_it_as_the_terminal_does(counted, stage, capsys):
    page = stage.folder / "build/grade/lab9/grade.html"
    counted(900, 4, capsys=capsys)
    assert not page.exists()
    told, _ = counted(900, 2, "HTML=1", capsys=capsys)
    assert len(told) == 1 and f"<p>{told[0]}</p>" in page.read_text()
    stage.write("labs/lab9/best.json", "{")
    told, _ = counted(900, 2, "HTML=1", capsys=capsys)
    assert len(told) == 2 and all(f"<p>{line}</p>" in page.read_text() for line in told)


def test_a_rung_that_is_not_reached_has_a_best_too(counted, capsys):
    _, kept = counted(900, capsys=capsys, record=fail("sectors", text="900 sectors"))
    assert kept == (900, 0)


@pytest.mark.parametrize("kind", ["mismatch", "race", "no_launch", "crash"])
def test_a_wrong_kernel_has_none(counted, stage, capsys, kind):
    assert counted(1, capsys=capsys, record=fail(kind)) == ([], None)
    assert not [claim for claim in stage.result()["claims"] if "counted" in claim]


def test_nor_has_one_of_which_not_all_is_known(counted, stage, capsys):
    stage.write("autograder/lab9/lab.toml", COUNTED.replace(
        "c = 10", CHECKED + "10"))
    assert counted(7, 0, "T=one/first", capsys=capsys) == ([], None)
    assert counted(7, capsys=capsys)[1] == (7, 0)


def test_no_grade_depends_on_it(counted, stage, capsys):
    counted(900, capsys=capsys)
    before = stage.result()
    stage.write("labs/lab9/best.json", json.dumps(KEPT))
    told, kept = counted(900, capsys=capsys)
    assert kept == (0, 0) and "your best had 0 sectors" in told[0]
    after = stage.result()
    assert [before[k] for k in ("score", "claims")] == [after[k] for k in ("score", "claims")]
    assert "best" not in json.dumps(after["claims"])


def test_another_folders_kernel_is_no_best_of_ones_own(counted, stage, capsys):
    stage.write("solution/lab9/one.cu", "a kernel")
    assert counted(5, 0, "LABS=solution", capsys=capsys) == ([], None)
    assert not (stage.folder / "solution/lab9/best.json").exists()


@pytest.mark.parametrize("content", [
    "", "{", "[]", '{"schema": "gradlab-best/1", "best": {"one": 7}}', ESCAPED])
def test_a_damaged_file_is_told_and_begun_anew(counted, stage, capsys, content):
    stage.write("labs/lab9/best.json", content)
    told, kept = counted(900, capsys=capsys)
    assert told == ["labs/lab9/best.json cannot be read: your best begins anew",
                    "one: 900 sectors and 0 conflicts of banks, the first that are kept"]
    assert kept == (900, 0)


def test_a_best_that_cannot_be_kept_costs_no_grade(counted, stage, capsys, monkeypatch):
    import best
    monkeypatch.setattr(best.skeletons, "replace", lambda *_: open("/proc/nothing", "w"))
    told, kept = counted(900, capsys=capsys)
    assert told[-1] == "labs/lab9/best.json cannot be written: No such file or directory"
    assert kept is None and stage.result()["score"]["points"] > 0
