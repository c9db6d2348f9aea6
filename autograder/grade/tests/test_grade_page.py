"""The page of make grade HTML=1: it says what the text says, its pictures say it in words too, and
nothing that a program printed is markup in it."""

import html.parser
import json
import re

import geometry
import grade_page
import pictures
import pytest
from conftest import fail
from test_sinks import NASTY, record, unseen

CALL = "conv2d_fwd x[2,3,5,7] w[4,3,3,2] stride 2,1 pad 1,0 dilation 1,2 on cpu"
WANT = [[1.0, 2.0, 3.0, 4.0, 5.0], [0.0, -1.0, -2.0, -3.0, -4.0], [9.0, 8.0, 7.0, 6.0, 5.0]]
GOT = [[1.0, 2.0, 3.0, 4.5, 5.0], [0.0, -1.0, -2.0, "nan", -4.0], [9.0, 8.0, 7.0, 6.0, "inf"]]
WRONG = ["...#.", "...#.", "....#"]


def shown(**fields) -> dict:
    """A failure with numbers around its worst element, as the grader writes it."""
    return fail(call=CALL, shape=[2, 4, 3, 5], index=[1, 2, 1, 3], axes=list("nkpq"), map=WRONG,
                window={"row": 0, "col": 0, "got": GOT, "want": WANT, "wrong": WRONG}) | fields


class Page(html.parser.HTMLParser):
    """What a reader's browser makes of it: elements with their attributes, and the text."""

    VOID = ("meta",)

    def __init__(self, source: str):
        super().__init__()
        self.elements, self.open, self.said, self.text = [], [], [], ""
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    def all(self, tag: str) -> list:
        return [attributes for name, attributes in self.elements if name == tag]

    def words(self) -> str:
        return " ".join(self.text.split())


def page_of(stage, capsys, *arguments) -> Page:
    stage.grade("HTML=1", *arguments)
    line = capsys.readouterr().out.rstrip("\n").split("\n")[-2]
    path = line.removeprefix("as a page, with pictures: ")
    return Page((stage.folder / path).read_text(encoding="utf-8"))


# ---- the command ---------------------------------------------------------------------------------

def test_it_is_written_beside_the_grade_and_named_in_a_line(stage, capsys):
    stage.says["lab9_one/second"] = shown()
    stage.grade("HTML=1")
    lines = capsys.readouterr().out.rstrip("\n").split("\n")
    assert lines[-2:] == ["as a page, with pictures: build/grade/lab9/grade.html",
                          "lab9: 90/100, extra 5/5"]
    stage.grade("HTML=1", "T=one")
    assert "lab9/part.html" in capsys.readouterr().out
    stage.grade("HTML=1", "JSON=1")
    told = capsys.readouterr()
    assert json.loads(told.out)["lab"] == 9 and "lab9/grade.html\nlab9: 90/100" in told.err


def test_without_the_option_there_is_none(stage, capsys):
    stage.grade()
    assert "page" not in capsys.readouterr().out
    assert not list(stage.folder.glob("build/grade/**/*.html"))


@pytest.mark.parametrize("value", ["0", "yes", "grade.html"])
def test_another_value_is_refused_before_anything_is_built(stage, capsys, value):
    assert stage.grade(f"HTML={value}", "PLAN=build/plan", "PLUGINS=hostcuda") == 2
    assert capsys.readouterr().err == (
        f"grade: HTML={value}: 1 is needed, which writes the page as well\n")
    assert not (stage.folder / "build/plan").exists()


# ---- what it says --------------------------------------------------------------------------------

def test_it_says_what_the_text_says(stage, capsys):
    stage.says["lab9_one/first@cpu"] = shown(patterns=["borders"])
    stage.says["lab9_one/second"] = shown(kind="crash", text="a signal", output="hello there")
    stage.says["lab9_two/third"] = fail("not_implemented", text="two.c:1: not yet")
    page = page_of(stage, capsys, "SEED=7", "TASKWISE=1")
    stage.grade("SEED=7", "TASKWISE=1", "V=1", "T=one")
    labels = ("call", "worst", "wrong", "what", "means", "perhaps", "hint", "again", "printed")
    field = re.compile(rf"^  ({'|'.join(labels)}) +(\| )?")
    lines = capsys.readouterr().out.split("\n")
    told = [field.sub("", line) for line in lines if field.match(line)]
    assert len(told) > 15
    for line in told:
        assert " ".join(line.split()) in page.words()
    assert "an index left its row" in page.words()
    assert "make grade LAB=9 T=one/second SEED=7 TASKWISE=1" in page.words()
    assert "two.c is not written yet" in page.words()


def test_every_failed_claim_is_in_full_and_can_be_gone_to(stage, capsys):
    stage.says["lab9_one/first@cpu"] = shown()
    stage.says["lab9_one/second"] = shown()
    stage.says["lab9_two/bonus"] = shown()
    page = page_of(stage, capsys, "TASKWISE=1")
    anchors = [a["id"] for a in page.all("h2") if "id" in a]
    assert anchors == ["one/first-c", "one/second-c", "two/bonus-c"]
    assert [a["href"] for a in page.all("a")] == [f"#{name}" for name in anchors]
    assert len(page.all("section")) == 3


def test_it_needs_no_network_and_runs_nothing(stage, capsys):
    stage.says["lab9_one/second"] = shown()
    page = page_of(stage, capsys)
    source = (stage.folder / "build/grade/lab9/grade.html").read_text()
    assert not {"script", "link", "img", "iframe", "object"} & {name for name, _ in page.elements}
    assert not re.search(r"\burl\(|@import|https?:|\bsrc=", source)
    assert all(a["href"].startswith("#") for a in page.all("a"))
    assert {"http-equiv": "Content-Security-Policy",
            "content": "default-src 'none'; style-src 'unsafe-inline'"} in page.all("meta")


# ---- pictures ------------------------------------------------------------------------------------

def test_every_picture_has_its_text(stage, capsys):
    stage.says["lab9_one/second"] = shown()
    page = page_of(stage, capsys)
    drawn = page.all("svg")
    assert len(drawn) == 4 == len(page.all("figcaption"))
    for attributes in drawn:
        assert attributes["role"] == "img" and attributes["aria-label"] in page.words()


def test_maps_show_what_came_out_and_what_was_expected(stage, capsys):
    got, want, apart = pictures.maps(pictures.window_of(shown()))[1:4]
    texts = [[t.text for t in figure.iter("text")][1 + 5 + 3:] for figure in (got, want, apart)]
    assert texts[0] == "1 2 3 4.5 5 0 -1 -2 NaN -4 9 8 7 6 inf".split()
    assert texts[1] == "1 2 3 4 5 0 -1 -2 -3 -4 9 8 7 6 5".split()
    assert texts[2] == "0 0 0 0.5 0 0 0 0 NaN 0 0 0 0 0 inf".split()
    assert "from -4 to 9; at the worst place, p 1, q 3, NaN" in got.find("figcaption").text
    for figure in (got, want, apart):  # shapes, not colours: a corner each, and one frame of two
        assert len(list(figure.iter("path"))) == 3
        assert sum(r.get("fill") == "none" for r in figure.iter("rect")) == 2


def test_the_numbers_stand_in_a_table_too(stage, capsys):
    table = pictures.maps(pictures.window_of(shown()))[4]
    cells = [td.text for td in table.iter("td")]
    assert len(cells) == 15 and cells[:3] == ["1", "2", "3"]
    assert [c for c in cells if "got" in c] == [
        "got 4.5, expected 4", "got NaN, expected -3", "got inf, expected 5"]


def test_what_was_never_written_is_no_nan():
    window = pictures.window_of(shown(kind="never_written"))
    assert "–: never written" in pictures.maps(window)[0].text
    assert "got –, expected -3" in [td.text for td in pictures.maps(window)[4].iter("td")]


@pytest.mark.parametrize("fields, why", [
    ({"window": {}}, "got is missing"),
    ({"window": {"row": 0, "col": 0, "got": GOT, "want": WANT, "wrong": ["."]}},
     "wrong is not 3 by 5, as got begins"),
    ({"window": {"row": 0, "col": 0, "got": [["x"]], "want": [[1]], "wrong": ["#"]}},
     "got holds what is no number"),
    ({"window": {"row": 9, "col": 0, "got": GOT, "want": WANT, "wrong": WRONG}},
     "the worst element, at 1, 3, lies outside of it"),
    ({"window": {"row": 0, "col": 0, "got": [[0.5] * 17], "want": [[1] * 17], "wrong": ["#" * 17]}},
     "it is 1 by 17, and at most 16 by 16 are drawn"),
    ({"index": [1, 2, "a", 3]}, "its place in the array is no row of whole numbers"),
    ({"shape": ["no"]}, "its place in the array is no row of whole numbers"),
    ({"axes": ["n"]}, "4 numbers name the place of the worst element, and 1 axes")])
def test_pictures_that_cannot_be_drawn_are_missed_aloud(stage, capsys, fields, why):
    """The text's map stands in their place, and beside it why there is no more."""
    stage.says["lab9_one/second"] = shown(**fields)
    page = page_of(stage, capsys)
    assert len(page.all("svg")) <= 1 and "...#.\n...#." in page.text
    assert f"as it writes them ({why}). Its fault, not yours" in page.words()


def test_where_nothing_is_to_be_drawn_nothing_is_missed(stage, capsys):
    stage.says["lab9_one/second"] = fail("crash", text="a signal")
    page = page_of(stage, capsys)
    assert "a signal" in page.words() and "pictures" not in page.words()


@pytest.mark.parametrize("value, said", [
    (0.0, "0"), (-1.23456789e-7, "-1.2e-7"), (123456.0, "123456"), (-1234567.0, "-1.23e6"),
    (1.5, "1.5"), (float("nan"), "NaN"), (float("-inf"), "-inf"), (-1.7e-308, "-2e-308")])
def test_a_number_fits_its_cell(value, said):
    assert pictures.short(value) == said and len(said) <= 7


# ---- geometry ------------------------------------------------------------------------------------

def made_of(call: str, array: str, index: list) -> set:
    """The places of the image that the definition says, worked out from every output and tap."""
    h, w, r, s, sh, sw, ph, pw, dh, dw = (int(n) for n in re.findall(r"\d+", re.sub(
        r"x\[\d+,\d+,(\d+),(\d+)\] w\[\d+,\d+,(\d+),(\d+)\]", r"\1 \2 \3 \4",
        call.split(" on ")[0].split(" ", 1)[1])))
    found = set()
    for p in range((h + 2 * ph - dh * (r - 1) - 1) // sh + 1):
        for q in range((w + 2 * pw - dw * (s - 1) - 1) // sw + 1):
            for i in range(r):
                for j in range(s):
                    where = (p * sh - ph + i * dh, q * sw - pw + j * dw)
                    if {"y": [p, q] == index[2:],
                            "col": [p, q] == index[2:] and (i, j) == divmod(index[0] % (r * s), s),
                            "dw": [i, j] == index[2:]}[array]:
                        found.add(where)
    return found


@pytest.mark.parametrize("call", [
    CALL, "im2col x[1,2,4,6] w[1,2,2,3] stride 1,2 pad 0,1 dilation 2,1",
    "conv2d_fwd x[1,1,3,3] w[1,1,3,3] stride 3,3 pad 2,2 dilation 1,1 on hostcuda"])
@pytest.mark.parametrize("array, index", [
    ("y", [0, 0, 0, 1]), ("y", [1, 1, 1, 0]), ("col", [5, 0, 0, 1]), ("dw", [0, 0, 1, 1])])
def test_what_the_worst_is_made_of_is_the_definitions(call, array, index):
    sides = geometry.sides_of(call)
    places = geometry.places_of({"array": array, "index": index}, sides)
    rows, cols = places.image
    assert {(h, w) for h in rows for w in cols} == made_of(call, array, index)
    assert f"{array} at " in places.text


def test_a_gradient_of_the_image_names_the_results_that_use_it():
    sides = geometry.sides_of(CALL)
    for h in range(5):
        for w in range(7):
            rows, cols = geometry.places_of({"array": "dx", "index": [0, 0, h, w]}, sides).result
            using = {(p, q) for p in range(3) for q in range(5)
                     if (h, w) in made_of(CALL, "y", [0, 0, p, q])}
            assert {(p, q) for p in rows for q in cols} == using


def test_a_pools_window_is_drawn():
    drawn = geometry.figure({
        "call": "maxpool2d_fwd x[2,3,7,5] window 3,2 stride 2,2 pad 1,0 on cpu",
        "array": "argmax", "index": [0, 1, 0, 1]})
    said = drawn.find("figcaption").text
    assert said.startswith("A filter of 3 by 2 with stride 2,2, pad 1,0 and dilation 1,1 on an "
                           "image of 7 by 5 gives 4 by 2 results. The worst: argmax at p 0, q 1 is "
                           "made of h -1, 0, 1 and w 2, 3 of the image (in the padding: h -1).")
    assert sum(t.text == "×" for t in drawn.iter("text")) == 6 + 1
    dotted = [r for r in drawn.iter("rect") if r.get("stroke-dasharray")]
    assert len(dotted) == 2 * 5


@pytest.mark.parametrize("fields", [
    {"array": "db", "index": [1]}, {"array": "y", "index": [0, 0, 9, 9]}, {"array": "y"},
    {"array": "y", "index": [0, 0, 0, 0],
     "call": "conv2d_fwd x[1,1,40,40] w[1,1,3,3] stride 1,1 pad 0,0 dilation 1,1"}])
def test_what_cannot_be_drawn_is_told(fields):
    drawn = geometry.figure({"call": CALL} | fields)
    assert not list(drawn.iter("svg")) and "A filter of 3 by" in drawn.find("figcaption").text


@pytest.mark.parametrize("call", [
    "gemm C[3,4], k = 5", "x[1,1,2,2] w[1,1,5,5] stride 1,1 pad 0,0 dilation 1,1", 7,
    "x[1,1,4,4] w[1,1,2,2] stride 0,1 pad 0,0 dilation 1,1",
    f"x[1,1,{'9' * 4000},4] w[1,1,2,2] stride 1,1 pad 0,0 dilation 1,1"])
def test_a_call_without_geometry_has_no_picture(call):
    assert geometry.figure({"call": call, "array": "y", "index": [0, 0, 0, 0]}) is None


# ---- text of a submission ------------------------------------------------------------------------

KNOWN = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "nav", "ul", "li", "a",
         "section", "dl", "dt", "dd", "strong", "pre", "code", "figure", "figcaption", "svg",
         "rect", "text", "path", "details", "summary", "div", "table", "tr", "th", "td"}
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "href", "id", "class", "scope",
              "role", "aria-label", "width", "height", "viewbox", "x", "y", "d", "fill", "stroke",
              "stroke-width", "stroke-dasharray", "text-anchor"}


def test_nothing_that_was_said_is_markup(stage, capsys):
    stage.says["lab9_one/second"] = record("SAID") | {"window": {"row": "SAID"}}
    stage.says["lab9_two/third"] = shown(call=f"SAID {CALL} SAID", output="SAID", array="SAID",
                                         axes=["SAID"] * 4, text="SAID")
    stage.says["lab9_two/bonus"] = record("SAID") | {"verdict": "error", "kind": "machine"}
    stage.findings = [("labs/lab9/one.cu", 3, "SAID")]
    stage.grade("TASKWISE=1")
    capsys.readouterr()
    said = json.dumps(stage.result())
    assert len(Page(grade_page.html(json.loads(said), [])).all("svg")) == 3
    for value in NASTY.values():
        harmless(grade_page.html(json.loads(said.replace("SAID", json.dumps(value)[1:-1])), []))


def harmless(source: str) -> None:
    page = Page(source)
    assert {name for name, _ in page.elements} <= KNOWN
    for name, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES, (name, attributes)
    assert len(page.all("section")) == 2 and len(page.all("h2")) == 3
    assert not [hex(ord(c)) for c in source if unseen(c) and c != "\n"]
    assert len(source.encode("utf-8")) < 400_000


def test_the_grader_itself_takes_what_it_reads(stage, capsys):
    """The window goes from the grader's line to grade.json whole."""
    stage.says["lab9_one/second"] = shown()
    assert stage.grade() == 0
    record_ = stage.result()["claims"][2]["failures"][0]
    assert record_["window"]["want"] == WANT and record_["window"]["wrong"] == WRONG
