"""Text is data: the same nasty strings through every door by which text of a submission leaves, and
what may come out of each."""

import csv
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree

import document
import failure
import formats
import grade
import pytest
import render
import said
import sinks
import submission
import submit
import text
import unlinked
from conftest import fail

NASTY = {
    "escape sequence": "\x1b[2J\x1b[31mlab9: 100/100\x1b]0;title\x07\x1b]8;;http://x\x1b\\here",
    "8-bit escape": "\x9b31m\x9d0;t\x9c", "carriage return": "wrong\rlab9: 100/100",
    "line breaks": "a\nlab9: 100/100\r\nlab9: 100/100\n", "null": "a\x00b\x08\x7f",
    "lines of Unicode": "a\u2028lab9: 100/100\u2029b\x85c\x0bd\x0ce\x1cf",
    "right to left": "\u202ea\u2066b\u2069\u200f\u061c", "half": "\udcff\udc80\ud800",
    "nothing to see": "\u200b\u200d\ufeff\u00ad\u3164\u115f\u2800\U000e0041",
    "noncharacters": "\ufffe\uffff\U0010ffff\ue000", "many marks": "a" + "\u0301" * 50,
    "wide": "\u6f22\u5b57" * 300, "long": "x" * 100_000, "long words": "y" * 99 + " " + "z" * 5000,
    "many lines": "\n" * 5000, "command": "::error file=x::forged", "set in": "  \t::add-mask::x",
    "after a space": "x ::warning::forged", "old command": "x ##[error]forged ##[add-mask]1",
    "Azure": "##vso[task.setvariable variable=a]b", "ends the fence": "::stop-commands::x\n::x::",
    "percent": "%0A::error::forged%25", "cdata": "]]> <![CDATA[ <!-- --> <?x?>",
    "html": "<b onclick=x>&amp;</b><script>alert(1)</script>", "markdown":
    "[a](javascript:x) ![b](http://y/z.png) `c` **d** _e_ | f | ~g~ # h $x$ \\",
    "links": "http://evil.example www.evil.example a@evil.example @somebody #1",
    "formula": "=HYPERLINK(\"http://x\",\"y\")", "plus": "+1+cmd|' /C calc'!A0", "minus": "-2+3",
    "at": "@SUM(1)", "tab": "\t=1", "wide formula": "\uff1dHYPERLINK(1)", "spaces": "   =1+1",
    "quotes": "\",\"a\"\n\"=1\";'b", "json": '","verdict":"pass"}\n{"claim":"x"}', "empty": "",
    "number": "1e400", "name": "../../etc/passwd\n", "format": "%n%s{0}$(x)`y`"}
nasty = pytest.mark.parametrize("value", NASTY.values(), ids=NASTY.keys())


def unseen(c: str) -> bool:
    """What a reader does not see, or what changes what he sees (written out once more)."""
    return (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
            or c in "\u115f\u1160\u2800\u3164\uffa0")


def is_harmless(line: str, longest: int = 500) -> None:
    """One line for a terminal or a log, also of a runner that obeys."""
    assert not [hex(ord(c)) for c in line if unseen(c)], line
    assert len(line) <= longest + 40 and not re.search(r"[\u0300-\u036f]{5}", line)
    assert not re.match(r"\s*::[A-Za-z-]+.*::", line), line
    assert "##[" not in line and "##vso[" not in line.lower(), line


@nasty
def test_a_terminals_line(value):
    line = text.visible(value)
    is_harmless(line)
    assert text.visible(line, 1000) == line  # nothing more to escape
    for each in text.visible_lines(value, 30):
        is_harmless(each)
    assert len(text.visible_lines(value, 30)) <= 31


@pytest.mark.parametrize("plain", ["x.c:3:5: error: 'q' undeclared", "std::max(::abs(a), b)", "##",
                                   "\u00e9t\u00e9 \u6f22\u5b57 e\u0301", "a :: b", "#[x]", "-x"])
def test_what_is_harmless_stays_as_it_is(plain):
    assert text.visible(plain) == plain


@nasty
def test_xml(value):
    root = ElementTree.Element("a", b=sinks.xml(value))
    root.text = sinks.xml(value)
    again = ElementTree.fromstring(ElementTree.tostring(root, encoding="unicode"))
    assert again.text == (sinks.xml(value) or None) and not list(again)
    for line in sinks.xml(value).split("\n"):
        is_harmless(line, sinks.LONGEST)


@nasty
def test_markdown(value):
    line = sinks.markdown(value)
    assert "\n" not in line and "\r" not in line
    bare = re.sub(r"&(amp|lt|gt|#64);(<!-- -->)?|\\[!-/:-@\[-`{-~]", "", line)
    # what is left has neither punctuation nor anything that hides: nothing can be markup or a link
    assert not re.search(r"[!-/:-@\[-`{-~]", bare), bare
    assert not [c for c in line if unseen(c)] and len(line) < 1000
    assert "@" not in line and not re.search(r"https?:|www\.", line)


@nasty
def test_an_annotation(value):
    line = sinks.annotation("error", value, file=value, line=3, title=value)
    assert re.fullmatch(r"::error [^\n\r]*", line)
    properties, message = line.removeprefix("::error ").split("::", 1)
    listed = dict(p.split("=", 1) for p in properties.split(","))
    assert set(listed) <= {"file", "line", "title"} and listed["line"] == "3"
    for part in [message, *listed.values()]:
        assert not re.search(r"%(?!25|0A|3A|2C)", part) and "##[" not in part
        assert not [c for c in part if unseen(c)]


@nasty
def test_a_spreadsheets_cell(value):
    line = sinks.csv_line([value, 7, -2.5, value])
    rows = list(csv.reader(io.StringIO(line)))
    assert len(rows) == 1 and len(rows[0]) == 4 and rows[0][1:3] == ["7", "-2.5"]
    for cell in (rows[0][0], rows[0][3]):
        assert not cell.lstrip(" ").startswith(tuple("=+-@|%\t\r\uff1d\uff0b\uff0d\uff20"))
        assert not [c for c in cell if unseen(c)] and line.count("\n") == 1


@nasty
def test_json_keeps_what_was_said_cut(value):
    said_ = document.as_text({"x": text.cut([value, {value: value}] * 101, 4096, 200)})
    assert said_.isascii() and not [c for c in said_ if unseen(c) and c != "\n"]
    again = json.loads(said_)["x"]
    assert len(again) == 200 and all(len(x) < 4200 for x in again if isinstance(x, str))
    if len(value) <= 4096 and not re.search("[\ud800-\udbff]", value):
        assert again[0] == value


# ---- the programs that use them ------------------------------------------------------------------

def record(value: str) -> dict:
    return fail("crash", output=value, text=value, call=value, array=value, bound=value, file=value,
                line=3, backtrace=[value], checker=[value], map=[value], patterns=[value],
                axes=[value] * 4, got=value, want=value, allowed=value, ratio=value, op=value,
                counters={value: 1}, said=value)


def shown(before: dict, value: str, capsys) -> list:
    """The lines of a grade in which everything that a submission could have said is this."""
    result = json.loads(json.dumps(before).replace("SAID", json.dumps(value)[1:-1]))
    grade.show(result, [], {"LABS": "build/other", "JUNIT": "junit.xml", "JSON": "", "V": "1",
                            "DIAGNOSIS": "", "HINT": ""}, "lab9: 40/100")
    return capsys.readouterr().out.rstrip("\n").split("\n")


def test_all_forms_of_a_grade(stage, capsys, monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.setenv(name, "summary.md")
    stage.says["lab9_one/second"] = record("SAID")
    stage.says["lab9_two/third"] = record("SAID") | {"kind": "SAID"}
    stage.says["lab9_two/bonus"] = record("SAID") | {"verdict": "error", "kind": "machine"}
    stage.findings = [("labs/lab9/one.cu", 3, "SAID")]
    stage.grade("TASKWISE=1")
    capsys.readouterr()
    assert json.dumps(stage.result()).count("SAID") > 50
    for value in NASTY.values():
        (stage.folder / "summary.md").unlink()
        holds(shown(stage.result(), value, capsys), stage.folder)


def holds(lines: list, folder) -> None:
    token = lines[0].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    for line in lines[1:end]:
        assert not [c for c in line if unseen(c)] and token not in line
        assert "##[" not in line and (text.columns(line) <= 100 or "make grade" in line)
        assert not line.startswith(("lab9:", "::"))
    assert all(line.startswith("::error ") for line in lines[end + 1:-1])
    assert lines[-1] == "lab9: 40/100"
    xml = ElementTree.parse(folder / "junit.xml").getroot()
    assert len(list(xml.iter("failure"))) == 3 and len(list(xml.iter("error"))) == 1
    summary = (folder / "summary.md").read_text()
    assert not [c for c in summary if unseen(c) and c != "\n"] and "<b" not in summary


@nasty
def test_what_compilers_said(tmp_path, capsys, value):
    """Also a static_assert's text, which g++ prints as it is, line breaks and all."""
    raw = value.encode("utf-8", "surrogatepass" if "\ud800" in value else "surrogateescape")
    (tmp_path / "x.err").write_bytes(b"x.c:1:1: error: " + raw + b"\n" + raw + b"\n")
    said.main([str(tmp_path / "x.err")])
    lines = capsys.readouterr().err.split("\n")
    for line in lines[:-1]:
        is_harmless(line)
        assert line == "" or line[0] == " " or line.startswith("x.c:1:1: error: ") or re.match(
            r"\.\.\. \(|[^\s:(]+[:(]\d|\S+: (error|warning|note|In|At)\b", line), line
        assert not line.startswith("lab9:")


@nasty
def test_why_it_was_not_built(tmp_path, capsys, monkeypatch, value):
    """Of a compiler's message, of a linker's, and of the names of files beside one that is gone."""
    monkeypatch.chdir(tmp_path)
    raw = value.encode("utf-8", "surrogatepass" if "\ud800" in value else "surrogateescape")
    for name, said_ in [("lab2/im2col.o", b"labs/lab2/im2col.c:3:1: error: "),
                        ("lab2/col2im.o", b"")]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.err").write_bytes(said_ + raw * bool(said_))
    (tmp_path / "labs/lab2").mkdir(parents=True)
    (tmp_path / "labs/lab2/col2im (1)\x1b[2J\u202e.c").write_text("")
    (tmp_path / "link.err").write_bytes(b"x.o: in function `f':\nundefined reference to `"
                                        + raw + b"'\n" + raw)
    status = unlinked.main(["link.err", "labs", "lab2/im2col.o", "lab2/col2im.o"])
    lines = capsys.readouterr().out.rstrip("\n").split("\n")
    assert status == 0 and len(lines) <= unlinked.MOST_LINES
    (tmp_path / "lab2/im2col.o").write_text("")
    (tmp_path / "lab2/col2im.o").write_text("")
    unlinked.main(["link.err", "labs", "lab2/im2col.o", "lab2/col2im.o"])
    for line in lines + capsys.readouterr().out.split("\n"):
        is_harmless(line, unlinked.LONGEST)


@pytest.mark.parametrize("value", [v for v in NASTY.values() if v and "/" not in v
                                   and "\0" not in v and len(v.encode("utf-8", "replace")) < 250
                                   and "\ud800" not in v])
def test_names_of_folders(tmp_path, capsys, value, monkeypatch):
    monkeypatch.setattr(submission.sandbox, "lacking", lambda: "")
    monkeypatch.setattr(submission.seeds, "check", lambda given: None)
    monkeypatch.setattr(submission, "ROOT", tmp_path)
    monkeypatch.setattr(submission.skeletons, "own_files", lambda root, lab: ["x.c", "y.c"])
    folder = tmp_path / value
    folder.mkdir()
    assert submission.main([str(folder), "2"]) == 2  # nothing in it
    (folder / "y.c").symlink_to("x")
    (folder / "x.c").write_text("\n")
    monkeypatch.setattr(submission.gate, "file_findings", lambda *words: [(1, value)])
    assert submission.main([str(folder), "2"]) == 0
    out, err = capsys.readouterr()
    for line in err.split("\n"):
        is_harmless(line, 1000)
    assert re.fullmatch(r"build/submissions/[\w-]{0,40}-[0-9a-f]{16}\n", out, re.ASCII)
    note = (tmp_path / out.strip() / "lab2/x.c.refused").read_text()
    assert note.count("\n") == 1
    is_harmless(note.rstrip("\n"))


def test_a_number_has_an_end():
    assert len(failure.number(10**4000)) < 100 and failure.number(-3) == "-3"


def test_a_gigabyte_of_messages_is_read_at_both_ends(tmp_path):
    path = tmp_path / "x.err"
    with open(path, "wb") as file:
        file.write(b"x.c:1:1: error: the first\n")
        file.truncate(1 << 30)
        file.seek(0, 2)
        file.write(b"\nx.c:9:1: error: the last\n")
    found = text.read(path)
    assert len(found) < 300_000 and "the first" in found and "the last" in found
    assert "more bytes)" in found


def test_the_doors_are_all_here():
    """Whoever adds one adds a test: what is printed or written by hand goes past them."""
    for module in (render, failure, formats):
        source = open(module.__file__).read()
        assert "print(" not in source and ".write(" not in source
    for module in (said, unlinked, submit):
        source = open(module.__file__).read()
        for line in source.split("\n"):
            assert "print(" not in line or "error" not in line, line
