"""The board: what kernels cost, without points, and without names unless they are asked for."""

import csv

import board
import common
import grade_class
import options
import page
import pytest
from test_points import DUE, POLICY, Course, day


def cost(sectors: int, conflicts: int = 0, requests: int = 111360) -> dict:
    return {"sectors": sectors, "bank_conflicts": conflicts, "shared_requests": requests}


@pytest.fixture
def course(tmp_path):
    made = Course(tmp_path / "out", "id,name,group\nada,Ada L,g\nbob,Bob,g\ncleo,Cleo,\ndan,Dan,\n"
                                    "eve,Eve,\nfay,Fay,\n")
    made.lab(5, DUE)
    made.attempt("cleo", 5, "1", 85, day(-1), counted=cost(9128, 3))
    made.attempt("ada", 5, "1", 10, day(-1), counted=cost(7336))
    made.attempt("dan", 5, "1", 90, day(-1), counted=cost(9128))
    made.attempt("eve", 5, "1", 95, day(-1))  # a kernel that is wrong
    made.attempt("fay", 5, "1", 0, None, refused="a bomb")
    return made


def rows(course, name="board.csv") -> list:
    with open(course.out / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_fewest_sectors_first_and_a_group_has_one_line(course):
    course.rows()
    assert [list(row.values()) for row in rows(course)] == [
        ["5", "conv3x3", "1", "7336", "0", "111360"], ["5", "conv3x3", "2", "9128", "0", "111360"],
        ["5", "conv3x3", "3", "9128", "3", "111360"]]
    html = (course.out / "board.html").read_text()
    assert html.index("7336") < html.index("9128") and "Lab 5, conv3x3" in html
    assert 'href="board.html"' in (course.out / "class.html").read_text()
    assert "<script" not in html and "http" not in html.replace("http-equiv", "")


def test_nobody_is_named_unless_asked_for(course):
    found = course.rows().values()
    people = ("ada", "bob", "cleo", "dan", "eve", "fay")
    for name in ("board.csv", "board.html"):
        text = (course.out / name).read_text().lower()
        assert not [who for who in people if who in text]
    board.update(course.out, list(found), names=True)
    assert [row["id"] for row in rows(course)] == ["ada bob", "dan", "cleo"]
    text = (course.out / "board.html").read_text()
    assert [who for who in people if who in text] == ["ada", "bob", "cleo", "dan"]
    course.rows()  # whoever writes it next, without a word about names, takes them away
    assert "ada" not in (course.out / "board.csv").read_text()


def test_names_are_asked_for_by_a_word(course):
    page.update(course.out, course.known, None, board.asked("names"))
    assert "ada bob" in (course.out / "board.csv").read_text()
    assert not board.asked("")
    with pytest.raises(options.OptionError, match="BOARD=1: names is needed"):
        board.asked("1")


def test_another_word_is_refused_before_anything_is_done(tmp_path, capsys):
    words = [f"SUBMISSIONS={tmp_path}", "LAB=5", f"OUT={tmp_path}/out", "BOARD=yes"]
    assert common.command("grade-class", grade_class.OPTIONS, grade_class.grade_class, words) == 2
    assert capsys.readouterr().err == (
        "grade-class: BOARD=yes: names is needed, or nothing: then it has none\n")
    assert not (tmp_path / "out").exists()


def test_names_go_from_the_command_to_the_board(course, tmp_path, monkeypatch, capsys):
    """Nothing is left to grade, so only the pages are written anew."""
    (tmp_path / "in/stray/.x").mkdir(parents=True)
    monkeypatch.setattr(grade_class.handed, "collected", lambda *_: ([], [("stray", "why")], 0))
    monkeypatch.setattr(grade_class, "prepared", lambda given: (
        5, course.out, tmp_path / "in", 1, POLICY, []))
    monkeypatch.setattr(common, "started", lambda out: [])
    words = [f"SUBMISSIONS={tmp_path}/in", "LAB=5", f"OUT={course.out}"]
    for names in ([], ["BOARD=names"]):
        common.command("grade-class", grade_class.OPTIONS, grade_class.grade_class,
                       [*words, *names])
        assert ("ada bob" in (course.out / "board.csv").read_text()) == bool(names)


def test_equals_share_a_place(course):
    course.attempt("fay", 5, "2", 0, day(-1), counted=cost(9128))
    course.rows()
    assert [row["place"] for row in rows(course)] == ["1", "2", "2", "4"]


def test_of_as_many_sectors_and_conflicts_fewest_requests_first(course):
    course.attempt("fay", 5, "2", 0, day(-1), counted=cost(7336, 0, 16320))
    course.rows()
    assert [row["shared_requests"] for row in rows(course)][:2] == ["16320", "111360"]
    assert [row["place"] for row in rows(course)] == ["1", "2", "3", "4"]


def test_the_attempt_that_counts_is_the_one(course):
    course.attempt("dan", 5, "2", 90, day(0.5), counted=cost(20000))
    course.rows()
    assert [row["sectors"] for row in rows(course)] == ["7336", "9128", "20000"]
    course.attempt("ada", 5, "2", 100, day(-0.5))  # wrong now
    course.rows()
    assert [row["sectors"] for row in rows(course)] == ["9128", "20000"]


def test_it_gives_no_points(course):
    before = {key: row.points for key, row in course.rows().items()}
    (course.out / "board.csv").write_text("lab,kernel\n")
    assert before == {key: row.points for key, row in course.rows().items()}
    assert before[5, "ada"] == 10 and before[5, "eve"] == 95


def test_without_a_counted_kernel_there_is_none(course, tmp_path):
    other = Course(tmp_path / "other")
    other.lab(2, DUE)
    other.attempt("cleo", 2, "1", 85, day(-1))
    (other.out / "board.csv").write_text("of another day")
    other.rows()
    assert not list(other.out.glob("board.*"))
    assert "board" not in (other.out / "class.html").read_text()
