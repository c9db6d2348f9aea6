"""Forms that tell one submission's grade: they are what each system documents, nothing that a
submission has said gets out of its place, and nobody has points who was not judged."""

import copy
import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree

import forms
import make
import pytest
from conftest import ROOT
from graded import GOLDEN, POINTS, grades_of_a_test, made_once  # noqa: F401 (fixtures)

DOCUMENTED = {
    "gradescope.json": forms.GRADESCOPE, "submission_metadata.json": forms.METADATA,
    "classroom50.json": forms.CLASSROOM50, "prairielearn.json": forms.PRAIRIELEARN}
FORMS = {"gradescope": forms.GRADESCOPE, "classroom50": forms.CLASSROOM50,
         "prairielearn": forms.PRAIRIELEARN}
SINGLE = (*FORMS, "autolab", "junit", "github")


def documented(name: str) -> dict:
    content = (GOLDEN / name).read_text(encoding="utf-8")
    return json.loads(content.splitlines()[-1] if name.endswith(".txt") else content)


# ---- the forms themselves ------------------------------------------------------------------------

@pytest.mark.parametrize("name,form", [*DOCUMENTED.items(), ("autolab.txt", forms.AUTOLAB)])
def test_what_is_documented_fits_its_form(name, form):
    assert not forms.wrong(form, documented(name))


@pytest.mark.parametrize("name,form", [*DOCUMENTED.items(), ("autolab.txt", forms.AUTOLAB)])
def test_a_form_tells_what_does_not_fit(name, form):
    """Each field left out, of another type, and one too many."""
    for field in form:
        broken = documented(name)
        if field.rstrip("?") not in broken:
            continue
        value = broken.pop(field.rstrip("?"))
        assert bool(forms.wrong(form, broken)) == (not field.endswith("?")), field
        other = 17 if isinstance(value, (str, list, dict, bool)) else "x"
        assert forms.wrong(form, broken | {field.rstrip("?"): other}), field
    assert forms.wrong(form, documented(name) | {"more": 1})
    assert forms.wrong(form, [])


def test_more_points_than_there_are_is_told():
    result = documented("classroom50.json")
    assert not forms.beyond(result)
    assert forms.beyond(result | {"score": 6}) == ["result"]
    result["tests"][1]["score"] = 2
    assert forms.beyond(result) == ["outputs_correct"]


# ---- what is written -----------------------------------------------------------------------------

@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("to", FORMS)
def test_each_form_holds(grades, to, name):
    status, written = grades.one(to, grades.document(name))
    assert status == 0 and not forms.wrong(FORMS[to], json.loads(written))


@pytest.mark.parametrize("name,points", POINTS.items())
def test_gradescope_has_score_and_claims(grades, name, points):
    document = grades.document(name)
    result = json.loads(grades.one("gradescope", document)[1])
    assert result["score"] == points
    assert [(t["score"], t["max_score"], t["status"] == "passed") for t in result["tests"]] == [
        (c["points"], c["max"], c["verdict"] == "pass") for c in document["claims"]]
    names = [t["name"] for t in result["tests"]]
    assert names[:2] == ["one/first (C)", "one/first (CUDA)"] and "two/bonus (C), extra" in names
    assert result["visibility"] == "visible" and result["stdout_visibility"] == "hidden"
    assert "leaderboard" not in result and len(set(names)) == len(names) == 6


def test_what_waits_says_for_what(grades):
    tests = json.loads(grades.one("gradescope", grades.document("waiting"))[1])["tests"]
    third = next(t for t in tests if t["name"] == "two/third (C)")
    assert (third["status"], third["output"]) == ("failed", "waiting for one")


def test_classroom50_has_its_runners_words(grades, monkeypatch):
    result = json.loads(grades.one("classroom50", grades.document("right"))[1])
    assert (result["owner"], result["assignment"], result["review"]) == (
        "ada", "lab2", "https://github.com/o/r/commit/1")
    assert (result["score"], result["max-score"]) == (105, 105)
    assert result["max-score"] == sum(t["max-score"] for t in result["tests"])
    for name in POINTS:
        assert not forms.beyond(json.loads(grades.one("classroom50", grades.document(name))[1]))
    monkeypatch.delenv("SUBMISSION_TAG")
    assert grades.one("classroom50", grades.document("right")) == (2, None)


def test_prairielearn_has_a_share(grades):
    shares = {name: json.loads(grades.one("prairielearn", grades.document(name))[1])["score"]
              for name in POINTS}
    assert shares == {"right": 1.0, "wrong": 0.9, "waiting": 0.35}


def test_prairielearn_takes_no_more_than_a_megabyte(grades):
    document = grades.document("wrong")
    failed = next(c for c in document["claims"] if c["verdict"] == "fail")
    failed["failures"][0]["output"] = ("\U0001f40d" * 40 + "\n") * 200
    document["claims"] = [failed] * 40  # 1.3 MB
    written = grades.one("prairielearn", document)[1]
    assert len(written.encode("utf-8")) < 1_000_000 and not forms.wrong(
        forms.PRAIRIELEARN, json.loads(written))


def test_autolabs_last_line_has_the_scores(grades):
    lines = grades.one("autolab", grades.document("wrong"))[1].splitlines()
    result = json.loads(lines[-1])
    assert not forms.wrong(forms.AUTOLAB, result)
    assert result == {"scores": {"one": 40, "two": 30, "whole": 20, "extra": 0}}
    assert lines[-2] == "lab9: 90/100"
    assert not [line for line in lines[:-1] if line.startswith("{")]


def test_junit_and_github_are_those_of_make_grade(grades, capsys):
    root = ElementTree.fromstring(grades.one("junit", grades.document("wrong"))[1])
    assert [len(list(root.iter(tag))) for tag in ("testcase", "failure", "skipped")] == [6, 1, 1]
    # (https://github.com/testmoapp/junitxml)
    assert all(set(s.attrib) == {"name", "tests", "timestamp", "failures", "errors", "skipped"}
               for s in root.iter("testsuite"))
    assert all(set(c.attrib) == {"name", "classname", "time"} for c in root.iter("testcase"))
    capsys.readouterr()
    status, summary = grades.one("github", grades.document("wrong"))
    assert status == 0 and summary.startswith("### lab9: 90/100\n")
    assert "| one | 20/30 | 20/20 |" in summary
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1 and printed[0].startswith("::error file=labs/lab9/one.c,")


# ---- who was not judged --------------------------------------------------------------------------

@pytest.mark.parametrize("to", ["gradescope", "classroom50", "autolab"])
def test_who_was_not_judged_has_no_points_and_is_told_why(grades, capsys, to):
    assert grades.one(to, grades.document("unjudged")) == (2, None)
    assert capsys.readouterr().err == (
        "export: nothing was written: lab9: not graded: 30 of 105 points could not be judged, run "
        "it again; two/third (C): no pipe \\x1b[31m<b>\n")


def test_prairielearn_takes_no_attempt_for_what_was_not_judged(grades):
    status, written = grades.one("prairielearn", grades.document("unjudged"))
    assert status == 0 and not forms.wrong(forms.NOT_GRADABLE, json.loads(written))
    assert "two/third (C): no pipe" in written and "score" not in json.loads(written)


def test_reports_tell_what_was_not_judged_and_no_points(grades):
    status, summary = grades.one("github", grades.document("unjudged"))
    assert status == 0 and summary.startswith("### lab9: not graded: 30 of 105 points")
    assert "| two | not judged |  |" in summary and "not judged: no pipe" in summary
    assert "<b>" not in summary and not re.search(r"\b\d+/100", summary)
    root = ElementTree.fromstring(grades.one("junit", grades.document("unjudged"))[1])
    assert len(list(root.iter("error"))) == 1


@pytest.mark.parametrize("to", ["gradescope", "classroom50", "autolab", "prairielearn"])
def test_a_part_of_a_lab_is_no_grade(grades, capsys, to):
    assert grades.one(to, grades.document("right", filter="T=one")) == (2, None)
    assert "T=one was graded, a part of the lab" in capsys.readouterr().err


# ---- what a submission says ----------------------------------------------------------------------

HOSTILE = [
    "\x1b[2J\x1b[31mlab9: 100/100\x1b]0;t\x07", '{"scores": {"one": 100}}\n{"scores": {}}',
    '{"_presentation": "semantic"}', "::error::forged\n##[error]forged\n::set-output name=a::b",
    "\r\n\x00\x08\x7f\x9b31m", "]]> <script>alert(1)</script> &amp; `|", "\u202eright\u2066\u200b",
    "\udcff\udc80", '","score":100}', "=HYPERLINK(1)", "\u6f22\u5b57 \u00e9 \U0001f40d",
    "x" * 5000, "\n" * 2000]


@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("to", SINGLE)
def test_nothing_that_was_printed_is_obeyed(grades, capsys, to, said):
    document = grades.document("wrong")
    for claim in document["claims"]:
        for record in claim["failures"]:
            record |= dict.fromkeys(("output", "text", "call"), said)
            record |= {"map": [said], "backtrace": [said], "checker": [said], "array": said}
    status, written = grades.one(to, document)
    capsys.readouterr()
    assert status == 0
    shown = written
    if to in FORMS:
        result = json.loads(written)
        assert not forms.wrong(FORMS[to], result)
        assert result["score"] == (0.9 if to == "prairielearn" else 90)
        shown = "\n".join(str(t["output"]) for t in result["tests"])
    elif to == "autolab":
        *lines, last = written.splitlines()
        assert json.loads(last)["scores"]["one"] == 40
        assert not [line for line in lines if line.lstrip().startswith("{")]
    elif to == "junit":
        assert len(list(ElementTree.fromstring(written).iter("failure"))) == 1
    hidden = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    assert not {c for c in shown if c != "\n" and unicodedata.category(c) in hidden}


# ---- the command ---------------------------------------------------------------------------------

@pytest.mark.parametrize("options,said", [
    (["TO=blackboard"], "TO=blackboard: say which form: gradescope, "),
    (["TO=junit", "ROSTER=x"], "ROSTER=x: TO=junit takes FROM, TO, OUT"),
    (["TO=canvas", "FEEDBACK=1"], "FEEDBACK=1: TO=canvas takes"),
    (["TO=junit", "COLOUR=1"], "'COLOUR=1' is not an option"),
])
def test_what_the_command_does_not_take(grades, capsys, options, said):
    import export
    grades.put("a", grades.document("right"))
    assert export.main([f"FROM={grades.folder}", f"OUT={grades.out}", *options]) == 2
    assert said in capsys.readouterr().err and not grades.out.exists()


def test_make_takes_the_command_as_it_was_typed(grades):
    folder = grades.folder / "a b $(x) 'c'"
    source = grades.put("a", grades.document("right"))
    words = [f"FROM={source}", f"OUT={folder}/x.json"]
    done = make.run("-C", str(ROOT), "export", "TO=gradescope", *words, timeout=60)
    assert done.returncode == 0 and json.loads((folder / "x.json").read_text())["score"] == 105
    source.write_text(json.dumps(grades.document("unjudged")))
    done = make.run("-C", str(ROOT), "export", "TO=gradescope", *words, timeout=60)
    assert done.returncode == 2 and "lab9: not graded: 30 of 105 points" in done.stderr
    assert "RSTER" in make.run("-C", str(ROOT), "export", "RSTER=x", timeout=60).stderr


def test_from_is_a_grade_of_this_form(grades, capsys):
    import export
    (grades.folder / "from").mkdir()
    assert grades.export("junit") == 2
    assert "there is no grade.json; make grade writes one" in capsys.readouterr().err
    assert export.main(["TO=junit", "OUT=x"]) == 2
    assert "FROM= is missing" in capsys.readouterr().err
    old = grades.put("a", grades.document("right", schema="gradlab-grade/1"))
    assert grades.export("junit") == 2
    assert "found gradlab-grade/1: grade the submission again" in capsys.readouterr().err
    old.write_text("{")
    assert grades.export("junit") == 2
    assert "nothing that can be read" in capsys.readouterr().err
    old.write_text(json.dumps(grades.document("right")))
    assert grades.export("junit") == 0
    grades.put("b", copy.deepcopy(grades.document("right")))
    assert grades.export("junit") == 2
    assert "FROM= has 2 grades, and this form takes one" in capsys.readouterr().err
