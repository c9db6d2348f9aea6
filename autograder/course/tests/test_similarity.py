"""What is laid out for Dolos and JPlag, what is read of their results, and what is asked then."""

import csv
import html
import re
import shutil
from pathlib import Path

import alike
import lay_out
import oral
import pytest
from classroom import REPO, Classroom

GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    room = alike.term(tmp_path_factory.mktemp("term"))
    alike.earlier(room)
    return room


@pytest.fixture
def room(term, tmp_path):
    """A copy that a test may change."""
    shutil.copytree(term.root, tmp_path / "room", symlinks=True)
    copy = Classroom.__new__(Classroom)
    copy.root = tmp_path / "room"
    copy.handed_in, copy.out = copy.root / "in", copy.root / "out"
    return copy


def similarity(room, *words: str, status: int = 0) -> str:
    return room.run("similarity", f"OUT={room.out}", "LAB=2", *words, status=status)


def laid(room, *words: str) -> Path:
    similarity(room, f"TO={room.root / 'to'}", *words)
    return room.root / "to"


def rows(path: Path) -> list:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- laying out ----------------------------------------------------------------------------------

def test_the_attempts_that_count_are_laid_out_once_for_both_tools(room):
    said = similarity(room, f"TO={room.root / 'to'}", f"EARLIER={room.root / '2026'}")
    to = room.root / "to"
    assert sorted(p.name for p in (to / "students").iterdir()) == ["ada~2", "cleo~1", "dan~1"]
    assert sorted(p.name for p in (to / "others").iterdir()) == ["2026~gil~1", "solution"]
    assert (to / "students/ada~2/im2col.c").read_text() == alike.ADA
    solution = {p.name for p in (REPO / "solution/lab2").glob("*.c*")}
    assert {p.name for p in (to / "others/solution").iterdir()} == solution
    assert {p.name: p.read_bytes() for p in (to / "skeleton").iterdir()} == {
        p.name: p.read_bytes() for p in (REPO / "labs/lab2").glob("*.c*")}
    assert "1 handed in what they were given, and are not in it: eve" in said
    for command in (lay_out.DOLOS, lay_out.JPLAG):
        assert f"cd {to} && {command}" in said


def test_the_list_for_dolos_names_every_file_and_whose_it_is(room):
    to = laid(room, f"EARLIER={room.root / '2026'}") / "dolos"
    listed = {r["filename"]: r for r in rows(to / "info.csv")}
    assert set(listed) == {str(p.relative_to(to)) for p in to.glob("*/*")}
    assert listed["students/ada~2.cpp"]["full_name"] == "Ada Lovelace and Bob Babbage"
    assert {name: r["labels"] for name, r in listed.items()} == {
        "students/ada~2.cpp": "lab2", "students/cleo~1.cpp": "lab2", "students/dan~1.cpp": "lab2",
        "others/solution.cpp": "solution", "others/2026~gil~1.cpp": "2026"}
    text = (to / "others/solution.cpp").read_text()
    for path in (REPO / "solution/lab2").glob("*.c*"):
        assert f"/* {path.name} */\n{path.read_text()}" in text


def test_pseudonyms_are_known_to_the_term_folder_alone(room):
    to = laid(room, "PSEUDONYMS=1", f"EARLIER={room.root / '2026'}")
    shown = " ".join(str(p) for p in to.rglob("*")) + (to / "dolos/info.csv").read_text()
    # (the folders of pytest are called by the test)
    shown = shown.replace(str(room.root), "")
    for name in ("ada", "Ada", "cleo", "dan", "gil", "Lovelace"):
        assert name not in shown
    key = rows(room.out / "similarity-key.csv")
    assert {(r["term"], r["id"]) for r in key} == {
        ("", "ada"), ("", "cleo"), ("", "dan"), ("2026", "gil")}
    assert (room.out / "similarity-key.csv").stat().st_mode & 0o077 == 0
    of = {r["id"]: r["pseudonym"] for r in key}
    assert (to / f"students/{of['ada']}~2").is_dir()
    assert (to / f"others/2026~{of['gil']}~1").is_dir()
    similarity(room, f"TO={room.root / 'again'}", "PSEUDONYMS=1")
    assert {p.name for p in (room.root / "again/students").iterdir()} == {
        p.name for p in (to / "students").iterdir()}
    (room.root / "pairs.csv").write_text(
        "id,leftFileId,leftFilePath,rightFileId,rightFilePath,similarity,totalOverlap\n"
        f"1,1,dolos/students/{of['ada']}~2.cpp,2,dolos/others/2026~{of['gil']}~1.cpp,0.8,9\n")
    similarity(room, f"READ={room.root / 'pairs.csv'}")
    (row,) = rows(room.out / "similarity-lab2.csv")
    assert (row["id"], row["with_term"], row["with"]) == ("ada", "2026", "gil")


# ---- reading back --------------------------------------------------------------------------------

FLAGGED = [("ada", "", "cleo"), ("ada", "2026", "gil"), ("cleo", "2026", "gil")]


@pytest.mark.parametrize("tool, golden", [("JPlag", "jplag_results.csv"),
                                          ("Dolos", "dolos_pairs.csv")])
def test_the_result_of_each_tool_is_read(room, tool, golden):
    similarity(room, f"READ={GOLDEN / golden}", "THRESHOLD=60")
    found = rows(room.out / "similarity-lab2.csv")
    assert sorted((r["id"], r["with_term"], r["with"]) for r in found) == FLAGGED
    assert {r["tool"] for r in found} == {tool}
    assert all(0.6 <= float(r["similarity"]) <= 1 for r in found)


def test_the_threshold_decides(room):
    said = similarity(room, f"READ={GOLDEN / 'dolos_pairs.csv'}", "THRESHOLD=96")
    assert "lab2: 1 pairs from 96 % on" in said and "90 to 100 %: 2, 80 to 89 %: 1" in said
    similarity(room, f"READ={GOLDEN / 'dolos_pairs.csv'}", "THRESHOLD=0")
    found = {frozenset((r["id"], r["with"])) for r in rows(room.out / "similarity-lab2.csv")}
    assert {"ada", "solution"} in found
    # (dan and the solution share the skeleton's lines alone; gil is no student of this term)
    assert {"dan", "solution"} not in found and {"solution", "gil"} not in found


def test_two_of_a_group_are_no_pair(room):
    room.hand_in("bob", alike.ADA.replace("93", "94"))
    room.grade()
    head = "submissionName1,submissionName2,averageSimilarity,maxSimilarity\r\n"
    (room.root / "r.csv").write_text(head + "students/ada~2,students/bob~1,1.0,1.0\r\n"
                                     "students/bob~1,students/cleo~1,0.9,0.9\r\n")
    similarity(room, f"READ={room.root / 'r.csv'}")
    assert [(r["id"], r["with"]) for r in rows(room.out / "similarity-lab2.csv")] == [
        ("bob", "cleo")]


# ---- the page and its questions ------------------------------------------------------------------

def page(room) -> str:
    similarity(room, f"READ={GOLDEN / 'jplag_results.csv'}")
    return (room.out / "similarity-lab2.html").read_text()


def questions(text: str) -> dict:
    """student -> the questions on the page."""
    parts = re.split(r"<h3>(\w+)", text)
    return {who: [html.unescape(re.sub("<[^>]*>", "", li)) for li in
                  re.findall(r"<li>(.*?)</li>", part, re.DOTALL)]
            for who, part in zip(parts[1::2], parts[2::2])}


def test_everybody_in_a_pair_has_five_questions_of_their_own(room):
    asked = questions(page(room))
    assert set(asked) == {"ada", "bob", "cleo"}
    assert all(len(q) == len(set(q)) == 5 for q in asked.values())
    for a, b in (("ada", "cleo"), ("ada", "bob"), ("bob", "cleo")):
        assert len({*asked[a]} & {*asked[b]}) <= 1
    assert questions(page(room)) == asked


def test_a_question_cites_a_line_of_the_students_own_file(room):
    for who, asked in questions(page(room)).items():
        lines = (alike.CLEO if who == "cleo" else alike.ADA).split("\n")
        for one in asked:
            number = re.search(r"[Ll]ine (\d+) of im2col.c: ", one)
            assert lines[int(number[1]) - 1].strip() in one
            assert "#include" not in one and "points" not in one


def test_questions_are_about_what_failed_and_what_was_changed(room):
    asked = questions(page(room))
    for who in ("ada", "bob", "cleo"):
        assert "im2col/rows (C) fails, at im2col: one bias for all. Line" in asked[who][0]
    assert "Since attempt 1 you have changed line 6" in asked["ada"][1]
    assert "before, there was `int w = q * g->stride_w - g->pad_w;`" in asked["ada"][1]
    assert not any("attempt 1" in q for q in asked["cleo"])


def test_what_was_mended_is_asked_for(room):
    claim = {"claim": "im2col/rows", "side": "c", "task": "im2col", "advice": "one bias"}
    old = {"claims": [claim | {"verdict": "fail", "kind": "mismatch"}]}
    new = {"claims": [claim | {"verdict": "pass"}]}
    files = [{"im2col.c": b"int a(int x) {\n    return %s;\n}\n" % x} for x in (b"x", b"x + 1")]
    lines = oral.all_lines(files[1], {})
    (one,) = oral.changed(new, files[1], [(1, old, files[0])], lines)
    assert str(one) == (
        "in attempt 1 im2col/rows (C) failed: one bias. Since attempt 1 you have changed line 2 of "
        "im2col.c: `return x + 1;`: before, there was `return x;`: what was wrong then, and why "
        "does this mend it?")


@pytest.mark.parametrize("code, kind, said", [
    ("k<<<blocks, 256>>>(x, n);", "launch", "1000 elements"),
    ("__syncthreads();", "race", "not written yet"),
    ("int i = blockIdx.x * 256 + threadIdx.x;", "threads", "0, 1 and 32"),
    ("for (size_t j = 0; j < n; j++) {", "loop", "`j`"),
    ("while (left > 1) {", "loop", "how often"),
    ("if (x > 0) {", "condition", "not (in `f`)"),
    ("double sum = 0;", "variable", "`sum` be at most"),
    ("to[i] = from[i];", "index", "first and the last"),
    ("left--;", "out", "take this line out (in `f`)")])
def test_each_kind_of_line_has_its_question(code, kind, said):
    data = f"static void f(void) {{\n    {code}\n}}\n".encode()
    lines = oral.own_lines("a.cu", data, b"static void f(void) {\n}\n")
    assert [(x.number, x.text, x.function) for x in lines] == [(2, code, "f")]
    assert said in dict(oral.of_line(lines[0], lines))[kind]


@pytest.mark.parametrize("text, number", [
    ("int x;\n", 5), ("\x00\xff(((", 5), ("{" * 50, 5), ("/* all of it", 0), ("", 0)])
def test_any_file_with_a_line_of_code_has_five_questions(text, number):
    data = text.encode("latin-1")
    lines = oral.all_lines({"im2col.c": data}, {})
    asked = [oral.Question(kind, x.file, x.number, x.text, ask)
             for x in lines for kind, ask in oral.general(x)]
    chosen = oral.choose("ada", "0" * 64, [asked], set())
    assert len(set(chosen)) == number


def test_text_of_students_is_escaped_and_the_page_needs_no_network(room):
    room.hand_in("cleo", alike.CLEO.replace("(0);", "(0); const char *s = \"</li><img src=x>\";"))
    room.grade()
    head = "submissionName1,submissionName2,averageSimilarity,maxSimilarity\r\n"
    (room.root / "r.csv").write_text(head + "students/ada~2,students/cleo~2,1.0,1.0\r\n")
    similarity(room, f"READ={room.root / 'r.csv'}")
    text = (room.out / "similarity-lab2.html").read_text()
    assert "Cleo &lt;b onclick" in text
    assert not re.search(r"<(script|img|link|b )|https?:", text)


def test_a_file_without_code_is_said_to_have_none(room):
    room.hand_in("dan", "/* points 3 */")
    room.grade()
    (room.root / "r.csv").write_text(HEAD + "students/dan~2,students/cleo~1,1.0,1.0\n")
    similarity(room, f"READ={room.root / 'r.csv'}")
    text = (room.out / "similarity-lab2.html").read_text()
    assert "There is no line of code" in text and len(questions(text)["cleo"]) == 5


# ---- what is not as it should be -----------------------------------------------------------------

@pytest.mark.parametrize("words, why", [
    ([], "one of TO=dir (lays out) and READ=csv"), (["TO=a", "READ=b"], "one of TO=dir"),
    (["TO=a", "THRESHOLD=9"], "THRESHOLD=9 goes with READ="),
    (["READ=a", "EARLIER=b"], "EARLIER=b goes with TO="),
    (["TO=a", "PSEUDONYMS=yes"], "PSEUDONYMS=yes: 1 is needed"),
    (["READ=a", "THRESHOLD=101"], "a whole number from 0 to 100"),
    (["READ=/nowhere.csv"], "READ=/nowhere.csv: No such file"),
    (["TO={out}/to"], "it lies in"), (["TO={root}"], "it is there already"),
    (["TO={root}/to", "EARLIER={root}/none"], "there is no such folder"),
    (["TO={root}/to", "EARLIER={root}/in"], "in has no grades of it"),
    (["TO={root}/to", "EARLIER={root}/2026,{root}/2026"], "two terms are called 2026"),
    (["TO={root}/to", "EARLIER={out}"], "this is OUT itself")])
def test_a_mistake_is_a_line_and_nothing_is_written(room, words, why):
    before = room.tree(room.root)
    words = [w.format(out=room.out, root=room.root) for w in words]
    said = similarity(room, *words, status=2)
    assert said.startswith("similarity: ") and why in said and said.count("\n") == 1
    assert room.tree(room.root) == before


def test_a_lab_that_was_not_graded_is_named(room):
    for word in (f"TO={room.root / 'to'}", f"READ={GOLDEN / 'jplag_results.csv'}"):
        said = room.run("similarity", f"OUT={room.out}", "LAB=3", word, status=2)
        assert "LAB=3:" in said and "of its labs there are: 2" in said
    said = room.run("similarity", f"OUT={room.root / 'new'}", "LAB=2", "TO=x", status=2)
    assert "no class was graded there" in said and not (room.root / "new").exists()


HEAD = "submissionName1,submissionName2,averageSimilarity,maxSimilarity\n"


@pytest.mark.parametrize("text, why", [
    ("a,b\n1,2\n", "this is the result of neither tool"), ("", "neither tool. pairs.csv of"),
    ("\x00\x00", "neither tool"),
    (HEAD + "students/mallory~1,students/ada~2,1,1\n", ":2: 'students/mallory~1' is no submission"),
    (HEAD + "students/ada~2,students/ada~9,1,1\n", ":2: 'students/ada~9' is no submission"),
    (HEAD + "students/ada~2,students/im2col.c,1,1\n", "'students/im2col.c' is no submission"),
    (HEAD + "students/ada~2,students/fay~1,1,1\n", "'students/fay~1' is no submission"),
    (HEAD + "students/ada~2,students/dan~1,much,1\n", "a similarity of 'much'"),
    (HEAD + "students/ada~2,students/dan~1,nan,1\n", "a similarity of 'nan'"),
    (HEAD + "students/ada~2,students/dan~1,93,1\n", "a number from 0 to 1")])
def test_a_result_that_is_none_is_refused_by_its_line(room, text, why):
    path = room.root / "r.csv"
    path.write_text(text)
    before = room.tree()
    said = similarity(room, f"READ={path}", status=2)
    assert why in said and said.count("\n") == 1 and room.tree() == before


def test_a_result_without_pairs_is_a_result(room):
    (room.root / "r.csv").write_text(HEAD)
    assert "lab2: 0 pairs" in similarity(room, f"READ={room.root / 'r.csv'}")
    assert "No pair is as alike" in (room.out / "similarity-lab2.html").read_text()


def test_nothing_to_compare_leaves_nothing(tmp_path):
    room = Classroom(tmp_path)
    room.hand_in("eve", (REPO / "labs/lab2/im2col.c").read_text())
    room.grade()
    said = similarity(room, f"TO={tmp_path / 'to'}", status=2)
    assert "nobody has changed a file of lab 2" in said and not (tmp_path / "to").exists()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".new-")]
