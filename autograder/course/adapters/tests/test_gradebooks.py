"""Moodle's and Canvas's own files: one column is filled, the rest stays byte for byte, and each
grade that is not in it is told."""

import csv
import io

import pytest
from gradebook import spellings
from graded import GOLDEN, grades_of_a_test, made_once  # noqa: F401 (fixtures)
from options import OptionError
from sheet import Sheet

BOOKS = {"moodle": "Grade", "canvas": "Lab 2 (901)"}


@pytest.fixture
def course(grades):
    """Lab 2 of three students, whose folders have names of three kinds."""
    for place, name, less in (("lukasz", "right", 0), ("eve@example.org", "wrong", 30),
                              ("李 伟", "wrong", 10)):
        document = grades.document(name, lab=2, student=place)
        document["score"]["points"] -= less
        if place.startswith("eve"):
            document["student"] = "eve"
        grades.put(f"{place}/lab2/1", document)
    return grades


def roster(course, to: str, old: str = "", new: str = "") -> str:
    """The golden export, changed in one place."""
    content = (GOLDEN / f"{to}.csv").read_bytes().decode()
    assert not old or content.count(old) == 1, old
    path = course.folder / f"{to}.csv"
    path.write_bytes(content.replace(old, new).encode() if old else content.encode())
    return f"ROSTER={path}"


def cells(course, to: str) -> dict:
    """As another reader of CSV sees what was written: the second name -> the grade."""
    content = course.out.read_text(encoding="utf-8-sig")
    return {list(row.values())[1]: row[BOOKS[to]]
            for row in csv.DictReader(io.StringIO(content, newline=""))}


@pytest.mark.parametrize("to", BOOKS)
def test_one_column_is_filled_and_nothing_else(course, to, capsys):
    assert course.export(to, roster(course, to)) == 1
    assert course.out.read_bytes() == (GOLDEN / f"{to}_filled.csv").read_bytes()
    said = capsys.readouterr()
    assert "lukasz: 105 points, and the gradebook's maximum is 100: 100 were written" in said.err
    assert said.err.count("\n") == 2
    assert said.out.split("no points in lab 2 for ")[1] == {
        "moodle": "row 5 (Participant 20), row 6 (Participant 21)\n",
        "canvas": "row 7 (Hopper, Grace)\n"}[to]


@pytest.mark.parametrize("to", BOOKS)
def test_another_reader_finds_the_same_cells_elsewhere(course, to):
    course.export(to, roster(course, to))
    before, after = (list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"),
                                                 newline="")))
                     for path in (GOLDEN / f"{to}.csv", course.out))
    column = before[0].index(BOOKS[to])
    differ = [(x, y) for x, row in enumerate(before) for y, cell in enumerate(row)
              if cell != after[x][y]]
    assert len(differ) == 3 and {y for _, y in differ} == {column}
    assert [len(row) for row in before] == [len(row) for row in after]


def test_semicolons_and_decimal_commas_are_read(course):
    content = (GOLDEN / "canvas.csv").read_bytes().decode()
    path = course.folder / "canvas.csv"
    path.write_bytes("\ufeff".encode() + content.replace(", ", "@").replace(",", ";").replace(
        "@", ", ").replace("100.00", "100,00").encode())
    assert course.export("canvas", f"ROSTER={path}") == 1
    changed = course.out.read_bytes().split(b"\r\n")
    before = path.read_bytes().split(b"\r\n")
    assert [a for a, b in zip(changed, before, strict=True) if a != b] == [
        "\"Żółć, Łukasz\";501;U1;lukasz;\"Deep Learning, A\";9.00;100;;45.00;45.00".encode(),
        '"伟, 李";502;U2;liwei;"Deep Learning, A";10.00;80;;10.00;10.00'.encode(),
        b"\"=cmd|' /C calc'!A0\";503;U3;eve;\"Deep Learning, A\";;\"60\";;0.00;0.00"]


@pytest.mark.parametrize("content", [
    "p,q\n1,2\n", "p,q\r\n1,2\r\n", "\ufeffp,q\n1,2", "p;q\n1;2,5\n", "p\tq\n1\t\n", "p,q\n1,",
    'p,q\n"x ""y"",\r\nz",\n\n\n', '"p","q"\r\n"",""\r\n', "p,q\r1,2\r", "p\n", "p,q\n1,2\n,\n",
    "\ufeff\"p\",q\n\u6f22,\U0001f40d\n", "p,q\n1,x y\"z\n"])
def test_a_file_comes_out_as_it_went_in(tmp_path, content):
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode())
    if 'y"z' in content:
        with pytest.raises(OptionError, match=":2: a quotation mark"):
            Sheet(path)
        return
    sheet = Sheet(path)
    assert sheet.text() == content
    for number in sheet.full_rows():
        sheet.put(number, 0, 'say "7", please\n')
    again = list(csv.reader(io.StringIO(sheet.text().removeprefix("\ufeff"), newline=""),
                            delimiter=sheet.separator))
    assert all(again[n][0] == 'say "7", please\n' for n in sheet.full_rows())


# ---- who gets no points --------------------------------------------------------------------------

@pytest.mark.parametrize("to", BOOKS)
def test_who_has_no_row_or_no_judgement_is_told(course, to, capsys):
    course.put("ghost/lab2/1", course.document("right", lab=2, student="gh\x1bost"))
    course.put("grace/lab2/1", course.document("unjudged", lab=2, student="grace"))
    assert course.export(to, roster(course, to)) == 1
    said = capsys.readouterr().err
    assert "export: gh\\x1bost: no row of " in said
    assert ("export: grace: lab2: not graded: 30 of 105 points could not be judged, run it again; "
            "two/third (C): no pipe \\x1b[31m<b>: the cell is left as it is\n") in said
    assert course.out.read_bytes() == (GOLDEN / f"{to}_filled.csv").read_bytes()


@pytest.mark.parametrize("to,there", [("moodle", "alan"), ("canvas", "alan")])
def test_a_cell_that_is_not_ours_stays(course, to, there, capsys):
    course.put("alan/lab2/1", course.document("right", lab=2, student=there))
    assert course.export(to, roster(course, to)) == 1
    said = {"moodle": "Moodle says that this grade cannot be changed",
            "canvas": "Canvas has EX there"}[to]
    assert f"alan: {said}: the cell is left as it is" in capsys.readouterr().err
    assert course.out.read_bytes() == (GOLDEN / f"{to}_filled.csv").read_bytes()


def test_nobody_is_guessed_where_two_rows_fit(course, capsys):
    one = roster(course, "moodle", "grace@example.org", "eve@elsewhere.org")
    assert course.export("moodle", one) == 1
    assert "eve: rows 4 and 5 fit this name" in capsys.readouterr().err
    assert cells(course, "moodle")["=HYPERLINK(\"http://x\",\"y\")"] == ""


def test_nobody_is_guessed_where_two_fit_a_row(course, capsys):
    course.put("17/lab2/1", course.document("wrong", lab=2, student="participant 17"))
    assert course.export("moodle", roster(course, "moodle")) == 1
    said = capsys.readouterr().err
    assert "lukasz: row 2 fits participant 17, too" in said
    assert "participant 17: row 2 fits lukasz, too" in said
    assert cells(course, "moodle")["Łukasz Żółć"] == ""


@pytest.mark.parametrize("cell,name", [
    ("Participant 17", "17"), ("ada@example.org", "ada"), ("Lovelace, Ada", "Ada Lovelace"),
    ("Lovelace, Ada Augusta", "lovelaceadaaugusta"), ("Z\u0307o\u0301lw", "\u017b\u00f3lw"),
    ("ADA", "ada"), ("李  伟", "李 伟")])
def test_how_names_are_spelled(cell, name):
    from standings import folded
    assert folded(name) in spellings(cell)


# ---- a class -------------------------------------------------------------------------------------

CLASS = """lab,id,name,group,status,points,max,extra,days_late,manual,note
1,"lukasz","",,"graded",12,100,0,0,"",""
2,"grace","Grace Hopper",,"not graded yet",70,100,0,0,"","one more could not be graded: no box"
2,"k17","Łukasz Żółć","g1","graded",100,100,5,0,"",""
2,"k18","Wei Li","g1","graded",75,100,0,2,"'-5: oral check",""
2,"k19","'=HYPERLINK(""http://x"",""y"")",,"too late",0,100,0,9,"","9 days late, and 0 were left"
2,"k20","Alan Turing",,"nothing handed in",,,,,"",""
2,"k21","Nobody Else",,"nothing handed in",,,,,"",""
2,"k22","Ghost",,"graded",50,100,0,0,"",""
2,"k23","Student, Test",,"not graded",,,,,"","no file of lab 2"
"""
ROSTER = "id,name,mail,aliases\nk18,Wei Li,LiWei@example.org,99;wl\nk19,,,eve\n"


@pytest.fixture
def graded_class(grades):
    """What make grade-class leaves: the pages count, and not the grades below."""
    (grades.folder / "from").mkdir()
    (grades.folder / "from/class.csv").write_text(CLASS, encoding="utf-8")
    (grades.folder / "from/roster.csv").write_text(ROSTER, encoding="utf-8")
    grades.put("k17/lab2/1", grades.document("waiting", lab=2, student="k17"))
    return grades


@pytest.mark.parametrize("source", ["from", "from/class.csv"])
def test_a_class_has_the_points_of_its_page(graded_class, source, capsys):
    path = graded_class.folder / "moodle.csv"
    path.write_bytes((GOLDEN / "moodle.csv").read_bytes())
    words = [f"ROSTER={path}", "LAB=2", "FEEDBACK=1"]
    assert graded_class.export("moodle", *words, source=source) == 1
    assert cells(graded_class, "moodle") == {
        "Łukasz Żółć": "100", "李 伟": "75", '=HYPERLINK("http://x","y")': "0",
        "Grace Hopper": "", "Alan Turing": "55.00"}
    said = capsys.readouterr().err
    assert "grace: not graded yet: one more could not be graded: no box: the cell is left" in said
    assert "k17: 105 points, and the gradebook's maximum is 100" in said
    assert "k22: no row of " in said and "k23: no row of " in said and "k21" not in said
    content = graded_class.out.read_text(encoding="utf-8-sig")
    assert '"lab2: 75/100, 2 days late, -5: oral check"' in content


def test_a_class_has_labs_and_its_own_attempts(graded_class, capsys):
    book = roster(graded_class, "canvas")
    assert graded_class.export("canvas", book) == 2
    assert "grades of lab 1 and lab 2: say LAB=n" in capsys.readouterr().err
    assert graded_class.export("canvas", book, "LAB=2", "ATTEMPT=best") == 2
    assert "which one counts stands in " in capsys.readouterr().err
    (graded_class.folder / "from/class.csv").write_text("lab,who\n2,ada\n")
    assert graded_class.export("canvas", book) == 2
    assert "this is no class.csv of make grade-class" in capsys.readouterr().err


# ---- which grade counts --------------------------------------------------------------------------

@pytest.mark.parametrize("keep,points", [("", "90"), ("last", "90"), ("best", "100")])
def test_which_attempt_counts(grades, keep, points):
    for number, name in ((1, "waiting"), (2, "right"), (3, "wrong")):
        grades.put(f"eve/lab2/{number}", grades.document(name, lab=2, student="eve",
                                                         attempt=number))
    grades.put("eve/lab2/4", grades.document("unjudged", lab=2, student="eve", attempt=0))
    more = [f"ATTEMPT={keep}"] if keep else []
    assert grades.export("canvas", roster(grades, "canvas"), *more) == (keep == "best")
    assert cells(grades, "canvas")["503"] == points


def test_without_a_name_in_the_grade_the_folder_has_it(grades):
    grades.put("eve/lab2/1", grades.document("right", lab=2))
    grades.put("liwei/lab2/1", grades.document("wrong", lab=2, submission={"name": "u2"}))
    assert grades.export("canvas", roster(grades, "canvas")) == 1  # (105 of 100)
    found = cells(grades, "canvas")
    assert (found["502"], found["503"]) == ("90", "100")


def test_several_labs_ask_for_one(course, capsys):
    course.put("grace/lab4/1", course.document("right", lab=4, student="grace"))
    assert course.export("canvas", roster(course, "canvas")) == 2
    assert "grades of lab 2 and lab 4: say LAB=n" in capsys.readouterr().err
    assert course.export("canvas", roster(course, "canvas"), "LAB=2") == 1
    assert course.export("canvas", roster(course, "canvas"), "LAB=3") == 2
    assert "LAB=3: FROM= has grades of lab 2 and lab 4 alone" in capsys.readouterr().err


# ---- files that are not what they should be ------------------------------------------------------

REFUSED = [
    ("moodle", ",100.00,Yes,\"Monday, 5 October 2026, 9", ",10.00,Yes,\"Monday, 5 October 2026, 9",
     "row 3: Maximum Grade is 10.00, and the lab has 100 or, with extra credit, 105 points"),
    ("moodle", "Identifier,", "Name,", "no columns are called 'Identifier'"),
    ("moodle", "\"Maximum Grade\"", "Scale", "no columns are called 'Maximum Grade'"),
    ("moodle", "Status,Grade,", "Grade,Grade,", "2 columns are called 'Grade'"),
    ("moodle", "grace@example.org,", "", "row 5 has 9 cells, and the heading 10"),
    ("canvas", "10.00,100.00,100.00", "10.00,50.00,100.00",
     "Lab 2 (901) has 50.00 points possible"),
    ("canvas", "    Points Possible", "Points", "there is no row Points Possible"),
    ("canvas", "Lab 2 (901)", "Convolution (901)", "0 assignments are called lab2: say COLUMN="),
    ("canvas", "lab20 (902)", "LAB2 (902)", "2 assignments are called lab2: say COLUMN="),
    ("canvas", ",Section,", ",Group,", "no columns are called 'Section'"),
]


@pytest.mark.parametrize("to,old,new,said", REFUSED, ids=[r[3][:40] for r in REFUSED])
def test_what_is_no_export_is_refused(course, to, old, new, said, capsys):
    assert course.export(to, roster(course, to, old, new)) == 2
    assert said in capsys.readouterr().err and not course.out.exists()


def test_a_column_may_be_named(course):
    book = roster(course, "canvas", "Lab 2 (901)", "Convolution, of images (901)".join('""'))
    assert course.export("canvas", book, "COLUMN=Convolution, of images (901)") == 1
    assert course.out.read_bytes().count(b"9.00,100,") == 1


@pytest.mark.parametrize("to", BOOKS)
def test_the_export_is_needed_and_kept(course, to, capsys):
    assert course.export(to) == 2
    assert "export it, and say ROSTER=file.csv" in capsys.readouterr().err
    assert course.export(to, f"ROSTER={course.folder}/none.csv") == 2
    assert "none.csv: No such file" in capsys.readouterr().err
    book = roster(course, to)
    course.out = course.folder / f"{to}.csv"
    assert course.export(to, book) == 2
    assert "OUT= is ROSTER= itself" in capsys.readouterr().err
    course.out.write_bytes("é,1\n".encode("latin-1"))
    course.out = course.folder / "out"
    assert course.export(to, book) == 2
    assert "this is not UTF-8" in capsys.readouterr().err
    assert course.export(to, book, "ATTEMPT=first") == 2
    assert "ATTEMPT=first: which one counts is last or best" in capsys.readouterr().err


def test_feedback_is_one_harmless_line(grades):
    document = grades.document("wrong", lab=2, student="grace")
    failed = next(c for c in document["claims"] if c["verdict"] == "fail")
    failed["claim"] = "one/<b>\n=1+1"
    grades.put("grace/lab2/1", document)
    other = grades.document("right", lab=2, student="liwei")
    other["score"]["points"] -= 10
    grades.put("liwei/lab2/1", other)
    assert grades.export("moodle", roster(grades, "moodle"), "FEEDBACK=1") == 0
    rows = {row["Identifier"]: row for row in csv.DictReader(
        io.StringIO(grades.out.read_text(encoding="utf-8-sig"), newline=""))}
    assert rows["Participant 20"]["Feedback comments"] == (
        "lab2: 90/100. Not right yet: one/&lt;b&gt;\\x0a=1+1 (C)")
    assert rows["Participant 18"]["Feedback comments"] == "lab2: 90/100, extra 5/5"
    assert rows["Participant 18"]["Grade"] == "95"
