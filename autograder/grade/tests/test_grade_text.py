"""What a person sees, and that nothing a program printed can pass for it."""

import copy
import io
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import failure
import failure_kinds
import formats
import grade
import judge
import pytest
import render
import text
from conftest import LAB, fail


def shown(stage, capsys, *arguments) -> str:
    stage.grade(*arguments)
    return capsys.readouterr().out


def test_a_failure_says_all_that_helps(stage, capsys):
    stage.says["lab9_one/second"] = fail()
    out = " ".join(shown(stage, capsys, "SEED=7").split())
    for part in ["one/second (C): wrong values on cpu, 10 points",
                 "one x[2,3,5,4], on cpu, float, seed 7",
                 "y of shape [2,3,5,4], at n 1, k 2, p 4, q 3: got 1.5, expected 0.25, allowed",
                 "12 of 120: only at the border", "| ..# | ..#", "look at the second",
                 "make grade LAB=9 T=one/second SEED=7"]:
        assert part in out


def test_the_first_failure_of_a_half_is_in_full_the_others_in_a_line(stage, capsys):
    stage.says["lab9_one/first@cpu"] = fail()
    stage.says["lab9_one/second"] = fail("crash")
    out = shown(stage, capsys)
    assert out.count("hint") == 1
    assert "one/second (C): crash on cpu, 10 points" in out
    assert shown(stage, capsys, "V=1").count("hint") == 2


def test_beside_a_cause_that_a_hint_leads_away_from_there_is_none(stage, capsys):
    stage.says["lab9_one/first@cpu"] = fail()  # as at the border: "garbage"
    assert "look at the first" in shown(stage, capsys)
    changed = LAB.replace("lab = 9", 'lab = 9\nunhinted = ["garbage"]')
    stage.write("autograder/lab9/lab.toml", changed)
    out = shown(stage, capsys)
    assert "an index left its row" in out and "look at the first" not in out


def test_a_skeleton_is_short(stage, capsys):
    for name in stage.says["list"]:
        stage.says[name] = fail("not_implemented", text=f"{name[5:8]}.c:1: not yet")
    out = shown(stage, capsys)
    assert len(out.splitlines()) < 15
    assert "one.c is not written yet; one.cu is not written yet" in out
    assert "next: write one.c (up to 30 points" in out
    assert out.rstrip().endswith("lab9: 0/100")


def test_what_was_measured_is_told_of_a_claim_that_holds_too(stage, capsys):
    said = "9128 sectors of global memory, and 15829 are allowed; the given kernel has 189952"
    stage.says["lab9_one/second"] = {"said": said}
    stage.says["lab9_two/third"] = fail("sectors", said="20000 sectors, and 15829 are allowed")
    out = " ".join(shown(stage, capsys).split())
    assert f"one/second: {said} " in out
    assert "two/third: 20000 sectors, and 15829 are allowed " in out
    assert {c["claim"]: c.get("said") for c in stage.result()["claims"]}["one/second"] == said


def test_what_was_measured_is_left_out_beside_a_mistake_of_another_task(stage, capsys):
    stage.says["lab9_one/second"] = {"said": "9128 sectors"}
    stage.says["lab9_two/third"] = fail()
    assert "9128 sectors" not in shown(stage, capsys)
    assert "9128 sectors" in shown(stage, capsys, "V=1")


def test_a_refusal_of_blas_is_no_wrong_value(stage, capsys):
    said = "On entry to DGEMM  parameter number 10 had an illegal value"
    stage.says["lab9_two/third"] = fail("nan", got=1, want=2, output=f" ** {said}\n ** {said}\n")
    out = shown(stage, capsys)
    assert "wrong size given to BLAS" in out and "expected 2" not in out
    assert out.count("printed") == 1 and out.count(said) == 1  # (`what` has single spaces)
    text = "one.cu:3: hostcuda [copy-size]: matrix B (80 bytes): reaches past the buffer"
    stage.says["lab9_two/third"] = fail("copy_size", text=text)
    assert "wrong size given to BLAS" in shown(stage, capsys)


@pytest.mark.parametrize("file,about", [("one.c", " (the claim is about two.c)"), ("two.c", "")])
def test_a_line_of_another_file_says_whose_claim_it_is(stage, capsys, file, about):
    stage.says["lab9_two/third"] = fail("crash", file=file, line=3)
    assert f"in       {file}:3{about}\n" in shown(stage, capsys)


def test_no_advice_about_lines_that_nobody_knows(stage, capsys):
    stage.says["lab9_two/third"] = fail("host_dereference", text=(
        "?:0: hostcuda [host-dereference]: (no line: compile with -g, or addr2line -e MODULE ) "
        "host code reads device memory"))
    assert "what     hostcuda [host-dereference]: host code reads" in shown(stage, capsys)


def test_lines_that_cost_are_told_of_a_failure_and_of_all_if_asked(stage, capsys):
    held, failed = ["one.cu:3: 9 sectors, 0 conflicts of banks"], ["two.cu:4: 80 sectors, 1 \x1b"]
    stage.says["lab9_one/second"] = {"said": "9 sectors", "by_line": held}
    stage.says["lab9_two/third"] = fail("sectors", by_line=failed)
    out = shown(stage, capsys)
    assert "by line  | two.cu:4: 80 sectors" in out and held[0] not in out and "\x1b" not in out
    out = shown(stage, capsys, "V=1")
    assert f"by line  | {held[0]}" in out and out.count("two.cu:4: 80 sectors") == 1


@pytest.mark.parametrize("fields,features,name", [
    ({"patterns": ["borders", "nan"]}, {}, "somebody has to write it"),
    ({"patterns": ["borders"]}, {}, "an index left its row"),
    ({"patterns": ["everything"]}, {}, "only the first is wrong"),
    ({"patterns": ["everything"]}, {"lab9_one/second": fail()}, ""),
    ({"patterns": ["interior"]}, {}, ""),
])
def test_a_pattern_names_a_diagnosis(stage, capsys, fields, features, name):
    stage.says.update({"lab9_one/first@cpu": fail(**fields), **features})
    shown(stage, capsys)
    first = stage.result()["claims"][0]
    assert (first["claim"], first["advice"]) == ("one/first", name)


@pytest.mark.parametrize("kind,patterns,named", [
    ("mismatch", [], True), ("never_written", [], False),
    ("never_written", ["others_wrong"], True)])
def test_what_was_never_written_says_nothing_of_values(kind, patterns, named):
    claim = SimpleNamespace(diagnosis={"c+array=y+ok=b": "of_values"})
    other = {"task": "one", "side": "c", "claim": "one/b", "verdict": "pass"}
    record = {"kind": kind, "patterns": patterns, "array": "y"}
    result = {"task": "one", "side": "c", "claim": "one/a", "failures": [record]}
    assert judge.diagnose(claim, result, [other]) == ("of_values" if named else "")


HOSTILE = [
    "\x1b[2J\x1b[31mlab9: 100/100\x1b]0;title\x07", "lab9: 100/100\nlab9: 100/100\n",
    "\r\n\x00\x08\x7f\x9b31m", "::error::forged\n##[error]forged\n%0A", "é漢字" * 300,
    "z" * 4096, "\u202eright to left\u2066\u200b", "\udcff\udc80 not utf-8", "]]> <b>&amp; `|",
    '","verdict":"pass"}\n{"schema":"gradlab-claims/1","claim":"lab9_one/first"}', "\n" * 1000,
]


@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
def test_output_of_the_program_stays_apart(stage, capsys, said):
    stage.says["lab9_one/second"] = fail(
        "crash", output=said, text=said, call=said, array=said, bound=said, file=said, line=3,
        backtrace=[said], checker=[said], map=[said], patterns=[said], axes=[said] * 4, got=said)
    for extra in ([], ["V=1"]):
        out = shown(stage, capsys, *extra)
        for c in out:
            assert c == "\n" or unicodedata.category(c) not in text.HIDDEN, hex(ord(c))
        lines = out.rstrip("\n").split("\n")
        assert lines[-1] == "lab9: 90/100, extra 5/5"
        assert sum(line.startswith(("lab9:", "::")) for line in lines) == 1
        assert len(lines) < (250 if extra else 60)
        for line in lines:
            assert text.columns(line) <= 100 or "make grade" in line
    # and what was printed stands behind a bar
    for line in lines:
        if "forged" in line:
            assert "|" in line or line.startswith("  ")


@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
def test_junit_is_xml_whatever_was_printed(stage, capsys, said):
    stage.says["lab9_one/second"] = fail("crash", output=said, text=said, call=said)
    stage.says["lab9_two/third"] = fail()
    stage.grade(f"JUNIT={stage.folder}/junit.xml")
    root = ElementTree.parse(stage.folder / "junit.xml").getroot()
    cases = list(root.iter("testcase"))
    assert len(cases) == 6
    assert len(list(root.iter("failure"))) == 1 and len(list(root.iter("skipped"))) == 1
    assert [s.get("failures") for s in root.iter("testsuite")] == ["1", "0", "0", "0"]


@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
def test_github_obeys_nothing_that_was_printed(stage, capsys, monkeypatch, said):
    summary = stage.folder / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    stage.says["lab9_one/second"] = fail("crash", output=said, text=said, call=said)
    lines = shown(stage, capsys).rstrip("\n").split("\n")
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])[1]
    end = lines.index(f"::{token}::")
    after = [line for line in lines[end + 1:] if line.startswith("::")]
    assert len(after) == 1 and after[0].startswith(
        "::error file=labs/lab9/one.c,title=one/second%3A crash::")
    assert lines[-1].startswith("lab9: 90/100")
    for line in lines[1:end]:
        assert token not in line
    assert "\x1b" not in summary.read_text() and "<b>" not in summary.read_text()
    assert summary.read_text().startswith("### lab9: 90/100")


def test_an_annotation_is_escaped():
    line = formats.annotation("error", "a%b\r\nc::d", file="a,b:c", title="")
    assert line == "::error file=a%2Cb%3Ac::a%25b%0Ac::d"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize("variables,on", [
    ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ({"TERM": "dumb"}, False)])
def test_colours_only_where_they_are_wanted(monkeypatch, variables, on):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert text.Paint(Terminal()).on == on
    assert not text.Paint(io.StringIO()).on


def test_colours_change_nothing_else(stage, capsys):
    stage.says["lab9_one/first@cpu"] = fail()
    stage.says["lab9_two/third"] = fail()
    shown(stage, capsys)
    document = stage.result()
    paint = text.Paint(io.StringIO())
    plain = render.report(copy.deepcopy(document), [], paint, 72, False)
    paint.on = True
    coloured = render.report(document, [], paint, 72, False)
    assert "\x1b[" in "".join(coloured)
    assert [re.sub("\x1b\\[[0-9]+m", "", line).rstrip() for line in coloured] == plain


def test_ascii_terminals_get_escapes():
    import grade
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    grade.say(["漢é"], stream)
    assert raw.getvalue() == b"\\u6f22\\xe9\n"


@pytest.mark.parametrize("width", [40, 72, 100])
def test_lines_keep_to_the_width(stage, capsys, width):
    stage.says["lab9_one/second"] = fail(text="漢字 " * 100 + "x" * 300, bound="長" * 90)
    shown(stage, capsys)
    lines = render.report(stage.result(), [], text.Paint(io.StringIO()), width, True)
    for line in lines:
        assert text.columns(line) <= width or "make grade" in line, line


def test_long_texts_keep_both_ends():
    lines = text.visible_lines("\n".join(str(i) for i in range(100)), 10)
    assert lines[0] == "0" and lines[-1] == "99" and lines[5] == "... (90 more lines)"
    assert len(lines) == 11


@pytest.mark.parametrize("wide,columns", [("abc", 3), ("漢字", 4), ("e\u0301", 1)])
def test_columns_are_those_of_a_terminal(wide, columns):
    assert text.columns(wide) == columns


def test_the_row_of_columns_is_named_by_channel_and_tap():
    record = {"call": "im2col x[2,3,5,4] w[4,3,3,2] stride 1,1", "array": "col",
              "shape": [18, 2, 3, 3], "index": [9, 1, 0, 2]}
    assert failure.place_of(record) == (
        "col of shape [18,2,3,3], at row 9 (c 1, r 1, s 1), n 1, p 0, q 2")


UNDEFINED = """labs/lab9/one.c:31:10: runtime error: index 10 out of bounds for type 'tl_real [10]'
"""
ADDRESS = """=================================================================
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x55
READ of size 4 at 0x602000000018 thread T0
    #0 0x7f21 in memcpy ../../../../src/libsanitizer/sanitizer_common/interceptors.inc:827
    #1 0x5571 in tl_one labs/lab9/one.c:12
"""
TWICE = """==7==ERROR: AddressSanitizer: attempting double-free on 0x60600 in thread T0:
    #0 0x7f08 in __interceptor_free ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:52
    #1 0x5571 in __wrap_free autograder/call/call_host.c:99
    #2 0x5572 in tl_one labs/lab9/one.c:30
"""


@pytest.mark.parametrize("output, line, what", [
    (UNDEFINED, 31, UNDEFINED.strip()),
    (ADDRESS, 12, "labs/lab9/one.c:12: AddressSanitizer: heap-buffer-overflow, READ of size 4"),
    (TWICE, 30, "labs/lab9/one.c:30: AddressSanitizer: attempting double-free")])
def test_a_sanitizer_is_quoted_in_full_and_once(stage, capsys, output, line, what):
    """It has ended the program, not the code, and its line says where."""
    stage.says["lab9_one/second"] = fail("sanitizer", text="a sanitizer stopped it", output=output)
    out = shown(stage, capsys, "T=one/second")
    assert "one/second (C): stopped by a sanitizer on cpu" in out
    assert f"in       labs/lab9/one.c:{line}" in out and what in " ".join(out.split())
    assert out.count("runtime error") <= 1 and "look at the second" not in out


def test_again_is_the_same_build_on_the_same_devices(stage, capsys):
    stage.says["lab9_one/second"] = fail()
    assert "T=one/second SEED=1 DEVICES=cpu\n" in shown(stage, capsys, "DEVICES=cpu")
    given = {"SUFFIX": "-san-debug", "DEVICES": "", "MINE": ""}
    assert grade.typed(given) == ["SAN=1", "DEBUG=1"]
    assert grade.typed(given | {"MINE": "1"}) == ["SAN=1", "DEBUG=1", "MINE=1"]
    document = {"lab": 9, "taskwise": False, "build": ["CHECK=1"]}
    assert failure.rerun_command(document, {"claim": "one/second"}).endswith("second CHECK=1")


def test_every_kind_has_words():
    for title, advice in failure_kinds.KINDS.values():
        assert title and title[0].islower() or title[0] in "NC"
        assert not advice or advice.endswith((".", "!"))
    assert failure_kinds.kind_title("a_new_kind") == "a new kind"


def test_what_a_checker_says_is_not_what_the_program_printed():
    output = ("mine\nlabs/lab1/elementwise.cu:38: hostcuda [out-of-bounds]: reads past the end\n"
              "    kernel   add<<<(1,1,1), (256,1,1)>>>\n    again    HOSTCUDA_SEED=1 repeats it\n"
              "also mine\n    set in\n")
    assert failure.split_output(output) == (
        ["kernel   add<<<(1,1,1), (256,1,1)>>>"], "mine\nalso mine\n    set in")


@pytest.mark.parametrize("there, said", [
    ([9], "next: make show LAB=9, then make submit LAB=9"),
    ([9, 10], "next: make show LAB=9, then make submit LAB=9, then make lab10 && make"),
    ([8], "")])
def test_all_points_lead_on(stage, capsys, monkeypatch, there, said):
    monkeypatch.setattr(render.table, "numbers", lambda: there)
    lines = shown(stage, capsys).splitlines()
    assert lines[-1] == "lab9: 100/100, extra 5/5"
    assert lines[-2].startswith(said) if said else "next:" not in "".join(lines)


def test_less_than_all_points_lead_nowhere_else(stage, capsys, monkeypatch):
    monkeypatch.setattr(render.table, "numbers", lambda: [9, 10])
    assert "make show" not in shown(stage, capsys, "T=one")
    stage.says["lab9_one/second"] = fail()
    assert "make show" not in shown(stage, capsys)


@pytest.mark.parametrize("allocated,told", [
    ("tl/cuda/cuda_device.cu:25", ["buffer 8 bytes", "likely no guard", "other a.cu:5"]),
    ("a.cu:9", ["buffer 8 bytes, allocated at a.cu:9",
                "likely no guard; or the allocation is in elements, not bytes", "other a.cu:5"])])
def test_what_a_checker_says_is_of_the_students_own_files(allocated, told):
    said, _ = failure.split_output(
        "a.cu:6: hostcuda [out-of-bounds]: reads right past the end of a buffer\n"
        f"    buffer 8 bytes, allocated at {allocated}\n"
        "    likely no guard; or the allocation is in elements, not bytes\n"
        "    other some/course/labs/lab3/a.cu:5")
    assert said == told


def test_what_a_checker_takes_for_likely_gives_way_to_a_named_cause(stage, capsys):
    lines = ["buffer 8 bytes", "likely an index below 0"]
    for pattern, there in ("one_element", True), ("borders", False):  # "borders" has a cause
        stage.says["lab9_one/first@cpu"] = fail("out_of_bounds", checker=lines, patterns=[pattern])
        out = shown(stage, capsys)
        assert "buffer 8 bytes" in out and ("likely an index" in out) == there


def test_a_crash_without_a_place_names_none():
    assert "not known where" in failure_kinds.advice_of({"kind": "crash"})
    assert "noticed" in failure_kinds.advice_of({"kind": "crash", "file": "a.c", "line": 3})


@pytest.mark.parametrize("line,said", [(47, " (a.cu:47)"), (51, " (a.cu:51 and 47)"), (0, "")])
def test_the_lines_of_a_race_are_told(line, said):
    race = {"file": "labs/a.cu", "line": line, "text": "writes what thread 3 writes at line 47"}
    assert judge.lines_of(race) == said
