"""Which attempt counts, late days, groups, and points by hand."""

import json
from dataclasses import asdict
from datetime import datetime, timedelta, timezone

import downloads
import lateness
import ledger
import page
import pytest
import roster
from skeletons import Refused

DUE = datetime(2026, 11, 20, 18, tzinfo=timezone.utc)
POLICY = lateness.Policy("last", 5, 3, 0, 10)


@pytest.mark.parametrize("hours, extension, days", [
    (-1, 0, 0), (0, 0, 0), (0.15, 0, 0), (0.2, 0, 1), (24, 0, 1), (24.2, 0, 2), (47, 2, 0),
    (49, 2, 1), (12.2, 0.5, 1), (24 * 30, 0, 30)])
def test_each_begun_day_is_a_day_late(hours, extension, days):
    came = DUE + timedelta(hours=hours)
    assert lateness.days_late(came, DUE, extension, POLICY) == days


def test_what_came_at_an_unknown_time_or_was_never_due_is_not_late():
    assert lateness.days_late(None, DUE, 0, POLICY) == 0
    assert lateness.days_late(DUE, None, 0, POLICY) == 0


@pytest.mark.parametrize("days, left, percent_a_day, verdict", [
    (0, 5, 0, (0, 0, 100)), (2, 5, 0, (2, 2, 100)), (4, 5, 0, (4, 0, 0)), (2, 1, 0, (2, 0, 0)),
    (4, 5, 10, (4, 3, 90)), (3, 1, 10, (3, 1, 80)), (20, 0, 10, (20, 0, 0))])
def test_the_allowance_pays_first(days, left, percent_a_day, verdict):
    policy = lateness.Policy("last", 5, 3, percent_a_day, 0)
    assert lateness.judge(days, left, policy) == lateness.Verdict(*verdict)


def test_halves_are_rounded_up():
    assert [lateness.share(points, 90) for points in (0, 5, 15, 99, 100)] == [0, 5, 14, 89, 90]


@pytest.mark.parametrize("text, why", [
    ("allowence = 3", "allowence = 3: it takes attempt, allowance"), ("allowance = '3'", "'3'"),
    ("allowance = -1", "from 0 is needed"), ("attempt = 'first'", "last or best"),
    ("=", "POLICY=")])
def test_a_wrong_policy_is_refused(tmp_path, text, why):
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(Refused, match=why):
        lateness.read(tmp_path / "policy.toml")


def test_lines_of_a_policy_take_the_place_of_ours(tmp_path):
    (tmp_path / "policy.toml").write_text("percent_per_day = 10\n")
    policy = lateness.read(tmp_path / "policy.toml", "best")
    assert policy == lateness.Policy("best", 5, 3, 10, 10)


# ---- from the ledger -----------------------------------------------------------------------------

class Course:
    def __init__(self, out, text="id,group,extension\nada,g,\nbob,g,\ncleo,,2\n"):
        self.out, self.labs = out, {}
        out.mkdir()
        (out / "roster.csv").write_text(text)
        self.known = roster.read(out / "roster.csv")

    def lab(self, lab: int, due: datetime, policy: lateness.Policy = POLICY) -> None:
        self.labs[str(lab)] = {"due": due.isoformat(), "policy": asdict(policy)}
        (self.out / "labs.json").write_text(json.dumps(self.labs))

    def attempt(self, student: str, lab: int, name: str, got: int, came: datetime | None,
                others=(), refused="", late=False, verdict="fail", more=(0, 0),
                counted=None) -> None:
        """`more`: points and most of a second claim; `counted`: what the kernel of it cost."""
        claim = {"claim": "im2col/rows", "side": "c", "points": got, "max": 100, "extra": False,
                 "verdict": verdict, "kind": "mismatch", "diagnosis": "bias", "advice": "one bias",
                 "task": "conv3x3", "counted": counted}
        document = {"student": student, "attempt": int(name.split(".")[0]), "lab": lab,
                    "title": "a lab",
                    "score": {"points": got + more[0], "max": 100 + more[1], "extra": 0},
                    "claims": [claim, claim | {"claim": "im2col/more", "points": more[0],
                                               "max": more[1]}],
                    "submission": {"sha256": f"{student}{name}", "files": {"x.c": student + name}},
                    "handed_in": {
                        "name": "x", "ref": "", "sha256": f"{student}{name}", "late": late,
                        "time": came.isoformat() if came else "", "time_from": "TIMES",
                        "others": list(others)}}
        if refused:
            document = {k: document[k] for k in ("student", "attempt", "lab", "handed_in")} | {
                "refused": refused}
        ledger.publish(self.out, student, lab, name, {
            "refused.json" if refused else "grade.json": json.dumps(document).encode()})

    def rows(self) -> dict:
        return {(r.lab, r.student.id): r for r in page.update(self.out, self.known)}


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path / "out")


def day(n: float) -> datetime:
    return DUE + timedelta(days=n)


def told(row):
    return row.status, row.points, row.paid, row.left


def test_a_group_has_the_points_of_either_and_pays_with_the_own_days(course):
    course.lab(1, DUE)
    course.lab(2, day(10))
    course.attempt("ada", 1, "1", 60, day(-1))
    course.attempt("bob", 1, "1", 80, day(1.5))
    course.attempt("cleo", 1, "1", 90, day(1.5))
    course.attempt("bob", 2, "1", 70, day(13))
    found = course.rows()
    assert told(found[1, "ada"]) == told(found[1, "bob"]) == ("graded", 80, 2, 3)
    assert told(found[1, "cleo"]) == ("graded", 90, 0, 5)
    assert told(found[2, "ada"]) == ("graded", 70, 3, 0)
    assert told(found[2, "cleo"]) == ("nothing handed in", None, 0, 5)


def test_a_group_of_one_lab_leaves_the_others_points_alone(tmp_path):
    course = Course(tmp_path / "out", "id,group,group_lab2\nada,,g\nbob,,g\n")
    course.lab(1, DUE)
    course.lab(2, day(10))
    course.attempt("ada", 1, "1", 100, day(-2))
    course.attempt("bob", 1, "1", 0, day(-1))
    course.attempt("bob", 2, "1", 70, day(9))
    found = course.rows()
    assert [found[1, id].points for id in ("ada", "bob")] == [100, 0]
    assert [found[2, id].points for id in ("ada", "bob")] == [70, 70]
    table = (course.out / "class.csv").read_text()
    assert '1,"ada","","",' in table and '2,"ada","","g",' in table


@pytest.mark.parametrize("ada, bob", [(None, None), (None, day(-1)), (day(-1), day(-1))])
def test_of_a_groups_attempts_in_no_known_order_the_better_counts(course, ada, bob):
    course.lab(1, DUE)
    course.attempt("ada", 1, "1", 10, ada)
    course.attempt("ada", 1, "2", 90, ada)
    course.attempt("bob", 1, "1", 20, bob)
    found = course.rows()
    assert [found[1, id].points for id in ("ada", "bob")] == [90, 90]
    said = "which came last of ada/2 (90 points) and bob/1 (20 points) is not known: the better"
    assert said in found[1, "ada"].note and said in found[1, "bob"].unsure


def test_of_a_groups_attempts_in_a_known_order_the_last_counts(course):
    course.lab(1, DUE)
    course.attempt("ada", 1, "1", 90, day(-2))
    course.attempt("bob", 1, "1", 20, day(-1))
    found = course.rows()
    assert found[1, "ada"].points == 20 and not found[1, "ada"].unsure


def test_who_handed_in_together_has_the_points_without_a_group(course):
    course.lab(1, DUE)
    course.attempt("cleo", 1, "1", 90, day(-1), others=["ada"])
    found = course.rows()
    assert [found[1, id].points for id in ("ada", "bob", "cleo")] == [90, 90, 90]


def test_a_submission_that_is_too_late_leaves_the_one_before(course):
    course.lab(1, DUE)
    course.attempt("cleo", 1, "1", 50, day(-1))
    course.attempt("cleo", 1, "2", 90, day(9))
    course.attempt("ada", 1, "1", 90, day(9))
    found = course.rows()
    assert told(found[1, "cleo"]) == ("graded", 50, 0, 5)
    assert told(found[1, "ada"]) == ("too late", 0, 0, 5)
    assert found[1, "ada"].note == (
        "9 days late; 5 late days were left, and one lab takes at most 3")


def test_the_best_is_the_best_after_what_lateness_costs(course):
    course.lab(1, DUE, lateness.Policy("best", 0, 0, 10, 0))
    course.attempt("cleo", 1, "1", 80, day(-1))
    course.attempt("cleo", 1, "2", 90, day(4))  # 2 days of the extension, 2 late: 72
    course.attempt("cleo", 1, "3", 60, day(-1))
    assert told(course.rows()[1, "cleo"]) == ("graded", 80, 0, 0)


def test_the_best_of_equals_costs_the_fewest_days(course):
    course.lab(1, DUE, lateness.Policy("best", 5, 3, 0, 0))
    course.attempt("cleo", 1, "1", 80, day(3))
    course.attempt("cleo", 1, "2", 80, day(1))
    assert told(course.rows()[1, "cleo"]) == ("graded", 80, 0, 5)


def test_what_cannot_be_graded_does_not_hide_what_can(course):
    course.lab(1, DUE)
    course.attempt("cleo", 1, "1", 80, day(-2))
    course.attempt("cleo", 1, "2", 0, day(-1), refused="a bomb")
    course.attempt("ada", 1, "1", 0, day(-1), refused="a bomb")
    found = course.rows()
    assert told(found[1, "cleo"]) == ("graded", 80, 0, 5)
    assert (found[1, "ada"].status, found[1, "ada"].points, found[1, "ada"].note) == (
        "not graded", None, "a bomb")


def test_a_time_that_is_not_known_is_said(course):
    course.lab(1, DUE)
    course.attempt("cleo", 1, "1", 80, None, late=True)
    course.attempt("ada", 1, "1", 80, None)
    found = course.rows()
    assert "TIMES= can say it" in found[1, "cleo"].note and found[1, "cleo"].points == 80
    assert found[1, "ada"].note == "when it came is not known: counted as in time"


def test_a_regrade_takes_the_place_of_its_attempt(course):
    course.lab(1, DUE)
    for name, got in (("1", 50), ("1.1", 60), ("1.2", 70), ("2", 20)):
        course.attempt("cleo", 1, name, got, day(-1))
    assert course.rows()[1, "cleo"].points == 20
    course.lab(1, DUE, lateness.Policy("best", 5, 3, 0, 10))
    assert course.rows()[1, "cleo"].points == 70


def test_points_by_hand_have_a_reason(course):
    course.lab(1, DUE)
    course.attempt("cleo", 1, "1", 80, day(-1))
    (course.out / "manual.csv").write_text(
        "id,lab,points,reason\ncleo,1,+7,report\ncleo,1,-2,style\nada,1,55,oral check\n")
    found = course.rows()
    assert found[1, "cleo"].points == 85 and found[1, "cleo"].graded == 80
    assert found[1, "cleo"].manual == "+7: report; -2: style"
    assert (found[1, "ada"].points, found[1, "ada"].manual) == (55, "set to 55: oral check")
    for line, why in (("cleo,1,5,", "need a reason"), ("cleo,1,five,x", "points 'five'"),
                      ("zoe,1,5,x", "nobody")):
        (course.out / "manual.csv").write_text(f"id,lab,points,reason\n{line}\n")
        with pytest.raises(Refused, match=why):
            course.rows()


def test_a_withdrawn_claim_lowers_nobody(course):
    course.lab(1, DUE)
    course.attempt("cleo", 1, "1", 40, day(-1), more=(50, 50))
    course.attempt("ada", 1, "1", 90, day(-1), more=(0, 50))
    path = course.out / "withdrawn.csv"
    path.write_text("lab,claim,reason\n1,im2col/more,bound too sharp\n")
    found = course.rows()
    assert found[1, "cleo"].points == 90  # 40 of 100 without it: 60, but it had 90 of 150
    assert "im2col/more" not in (course.out / "class.html").read_text().split("Students")[0]
    assert found[1, "ada"].points == 135 and found[1, "ada"].most == 150
    assert (found[1, "cleo"].manual, found[1, "ada"].manual) == (
        "", "withdrawn im2col/more (bound too sharp): 135 instead of 90")
    path.write_text("lab,claim,reason\n1,im2col/none,x\n")
    with pytest.raises(Refused, match="lab 1 has no claim im2col/none"):
        course.rows()
    path.write_text("lab,claim,reason\n1,im2col/more,\n")
    with pytest.raises(Refused, match="withdrawn.csv:2"):
        course.rows()


def test_the_page_shows_where_the_class_stands(course):
    course.lab(1, DUE)
    course.attempt("cleo", 1, "1", 85, day(-1))
    course.attempt("ada", 1, "1", 100, day(-1), verdict="pass")
    course.rows()
    html = (course.out / "class.html").read_text()
    assert "3 students, mean 95.0 %, median 100 %" in html and "80 to 89 %" in html
    assert "1 of 3" in html and "one bias" in html  # hardest claim, commonest diagnosis
    assert "http" not in html.replace("http-equiv", "") and "<script" not in html
    assert 'href="cleo/lab1/1/feedback.html"' in html


def test_nothing_is_written_over_an_attempt(course):
    course.attempt("cleo", 1, "1", 85, day(-1))
    with pytest.raises(Refused, match="is there already"):
        course.attempt("cleo", 1, "1", 90, day(-1))
    assert not list(course.out.glob("*/lab1/.new-*"))


def test_a_name_for_a_number_is_free(course):
    assert [ledger.next_number(taken) for taken in (set(), {1, 2}, {1, 3}, {2})] == [1, 3, 2, 1]
    assert downloads.plain(" a  b ") == "a_b"
