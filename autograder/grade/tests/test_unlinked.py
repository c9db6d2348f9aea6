"""A failed link in words."""

import subprocess
from pathlib import Path

import pytest
import unlinked

NO_FUNCTION = ("labs/lab2/im2col.c: there is no function later, which tl_im2col calls: is it "
               "spelled right?")
CALLER = "int tl_im2col(void); int main(void) { return tl_im2col(); }\n"


@pytest.fixture
def link(tmp_path, capsys):
    """Compiles files into <tmp>/build/lab2/, links them, and returns what is said of it."""
    def run(files: dict, missing: dict | None = None) -> str:
        labs, build = tmp_path / "labs", tmp_path / "build/lab2"
        (labs / "lab2").mkdir(parents=True)
        build.mkdir(parents=True)
        objects = []
        for name, text in files.items():
            source = labs / "lab2" / name
            source.write_text(text)
            objects.append(build / name.replace(".c", ".o"))
            subprocess.run(["gcc", "-c", "-o", objects[-1], source], check=True)
        for name, said in (missing or {}).items():
            objects.append(build / name)
            (build / f"{name}.err").write_text(said)
        errors = tmp_path / "why.err"
        with open(errors, "w") as file:
            status = subprocess.run(["gcc", "-o", tmp_path / "program", *objects], stderr=file,
                                    env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).returncode
        assert status != 0
        unlinked.main([str(errors), str(labs), *map(str, objects)])
        return capsys.readouterr().out.replace(str(tmp_path) + "/", "")
    return run


def test_a_missing_function_is_named_with_its_file_and_lab(link):
    said = link({"main.c": CALLER, "im2col.c": "int tl_im2row(void) { return 0; }\n"})
    assert said.startswith("labs/lab2/im2col.c does not define tl_im2col, which lab 2 asks for")
    assert said.count("\n") == 1


def test_a_helper_that_nobody_defines_is_named_with_its_caller(link):
    said = link({"main.c": CALLER, "im2col.c": "int later(void);\n"
                 "int tl_im2col(void) { return later(); }\n"})
    assert said == NO_FUNCTION + "\n"


@pytest.mark.parametrize("linker", ["", "/usr/bin/ld: ", "/usr/bin/x86_64-linux-gnu-ld.bfd: "])
def test_linkers_name_the_caller(linker):
    text = (f"{linker}b/lab2/im2col.o: in function `tl_im2col':\n"
            "im2col.c:(.text+0x5): undefined reference to `later'")
    assert unlinked.missing(text, [Path("b/lab2/im2col.o")], Path("labs")) == [NO_FUNCTION]


def said_of(tmp_path, name: str) -> str:
    """What is said of a call of `name`, by tl_im2col."""
    (tmp_path / "labs/lab2").mkdir(parents=True, exist_ok=True)
    (tmp_path / "labs/lab2/col2im.c").write_text("static int helper(int n)\n{\n    return n;\n}\n")
    text = (f"{tmp_path}/lab2/im2col.o: in function `tl_im2col':\n"
            f"im2col.c:(.text+0x5): undefined reference to `{name}'")
    lines = unlinked.missing(text, [tmp_path / "lab2/im2col.o"], tmp_path / "labs")
    return " ".join(lines).replace(f"{tmp_path}/", "")


def test_a_name_that_is_no_function_is_told_with_what_the_compiler_offers(tmp_path):
    (tmp_path / "lab2").mkdir()
    (tmp_path / "lab2/im2col.o.err").write_text(
        "labs/lab2/im2col.c:18:48: warning: implicit declaration of function ‘tl_var_free’; did "
        "you mean ‘tl_tape_free’? [-Wimplicit-function-declaration]\n")
    said = said_of(tmp_path, "tl_var_free")
    assert said.startswith("labs/lab2/im2col.c: there is no function tl_var_free, which ")
    assert said.endswith(": is it spelled right? (the compiler offers tl_tape_free)")
    assert "offers" not in said_of(tmp_path, "later")


@pytest.mark.parametrize("name", ["tl_alloc_get", "cblas_dgemm", "hc_blas_Sgemm", "helper"])
def test_a_function_that_there_is_somewhere_is_not_called_none(tmp_path, name):
    assert " is called by tl_im2col, and defined nowhere" in said_of(tmp_path, name)


def test_a_function_of_two_files_is_named_with_both(link):
    said = link({"main.c": CALLER, "im2col.c": "int tl_im2col(void) { return 0; }\n",
                 "col2im.c": "int tl_im2col(void) { return 1; }\n"})
    assert "tl_im2col is defined in labs/lab2/im2col.c and in labs/lab2/col2im.c" in said


@pytest.mark.parametrize("says", [
    "/usr/bin/ld: b/lab2/col2im.o: in function `tl_im2col':\ncol2im.c:(.text+0x0): ",
    "x86_64-linux-gnu-ld.bfd: b/lab2/col2im.o: in function `tl_im2col':\ncol2im.c:(.text+0x0): ",
    "ld.bfd: b/lab2/col2im.o(.text+0x0): "], ids=["ld", "another name", "no function"])
def test_linkers_have_many_names(says):
    text = f"{says}multiple definition of `tl_im2col'; b/lab2/im2col.o:im2col.c: first defined here"
    objects = [Path("b/lab2/im2col.o"), Path("b/lab2/col2im.o")]
    said = unlinked.twice(text, objects, Path("labs"))[0]
    assert said.startswith("tl_im2col is defined in labs/lab2/im2col.c and in labs/lab2/col2im.c:")


def test_a_function_of_what_is_given_is_named_so():
    """Whose object is linked of many files, and called by none of them."""
    text = ("/usr/bin/ld: build/float/shared/worker.o: in function `tl_shape_text':\nshape.c:(.text"
            "+0x0): multiple definition of `tl_shape_text'; b/lab2/im2col.o:im2col.c: first defined"
            " here")
    said = unlinked.twice(text, [Path("b/lab2/im2col.o")], Path("labs"))[0]
    assert said.startswith("tl_shape_text is defined in labs/lab2/im2col.c and in what is given:")


@pytest.mark.parametrize("said, stopped", [
    ("gcc: fatal error: Killed signal terminated program cc1\n", True),
    ("cc1plus: out of memory allocating 65536 bytes\n", True),
    ("im2col.c:3:9: error: expected ';'\n    3 | fail(\"out of memory\")\n", False),
])
def test_a_compiler_that_was_stopped_is_not_the_students_riddle(link, said, stopped):
    assert ("the compiler was stopped" in link({"main.c": CALLER}, {"im2col.o": said})) == stopped


def test_a_file_that_does_not_compile_is_named_with_the_first_error(link):
    said = link({"main.c": CALLER}, {"im2col.cu.hostcuda.o": "im2col.cu: In function 'f':\n"
                                     "im2col.cu:3:1: error: expected ';'\n"})
    assert said == "labs/lab2/im2col.cu does not compile: im2col.cu:3:1: error: expected ';'\n"


@pytest.mark.parametrize("error, short", [
    ("labs/lab2/im2col.c:3:12: error: cannot convert 'tl_real' {aka 'float'} to 'int *'",
     "line 3: cannot convert 'tl_real' to 'int *'"),
    ("labs/lab2/im2col.c(7): error: identifier \"x\" is undefined",  # as nvcc has it
     "line 7: identifier \"x\" is undefined"),
    ("gcc: internal compiler error: Aborted", "gcc: internal compiler error: Aborted")])
def test_an_error_in_short_is_its_line_and_what_is_wrong(error, short):
    assert unlinked.in_short(error, Path("labs/lab2/im2col.c")) == short


RESTORE = "make restore LAB=2 T=im2col puts its skeleton back"


@pytest.mark.parametrize("beside, fix", [
    ("notes.txt", RESTORE), ("col2im.c", RESTORE),
    ("im2col.C",
     f"mv labs/lab2/im2col.C labs/lab2/im2col.c gives that file its name, or {RESTORE}"),
    ("im2col (1).c", "mv 'labs/lab2/im2col (1).c' labs/lab2/im2col.c gives that file its name, or "
     + RESTORE)])
def test_a_deleted_file_is_called_missing_with_what_mends_it(tmp_path, monkeypatch, capsys, beside,
                                                             fix):
    monkeypatch.chdir(tmp_path)
    Path("labs/lab2").mkdir(parents=True)
    Path("labs/lab2", beside).write_text("int x;\n")
    Path("lab2").mkdir()
    Path("lab2/im2col.o.err").write_text("")
    Path("why.err").write_text("gcc: error: lab2/im2col.o: No such file or directory\n")
    assert unlinked.main(["why.err", "labs", "lab2/im2col.o"]) == 0
    assert capsys.readouterr().out == f"labs/lab2/im2col.c is missing: {fix}\n"


def test_of_a_submission_nothing_is_restored():
    said = unlinked.gone(Path("build/submissions/ada/lab2/im2col.c"))
    assert said == "build/submissions/ada/lab2/im2col.c is missing"


@pytest.mark.parametrize("line, kind", [
    ("labs/lab2/im2col.c does not compile: line 3: a is missing b", "compile"),
    ("labs/lab2/im2col.c is missing: make restore …", "missing"),
    (NO_FUNCTION, "no_function"),
    ("helper is called by tl_im2col, and defined nowhere", "build")])
def test_each_line_speaks_of_one_kind_of_failure(line, kind):
    assert unlinked.kind_of(line) == kind


@pytest.mark.parametrize("said", [
    "/usr/bin/ld: build/float/tl/alloc.o: in function `tl_alloc_new':\n"
    "alloc.c:(.text+0x5): undefined reference to `tl_shape_size'\n",
    "/usr/bin/ld: build/float/autograder/call/call_table.o:(.data+0x8): undefined reference to "
    "`tl_shape_size'\n",
    "/usr/bin/ld: build/float/solution/lab2/col2im.o: in function `tl_col2im':\n"
    "/usr/bin/ld: col2im.c:9: undefined reference to `tl_shape_size'\n"])
def test_a_given_file_that_is_missing_is_no_students_fault(tmp_path, capsys, said):
    (tmp_path / "why.err").write_text(said)
    assert unlinked.main([str(tmp_path / "why.err"), "labs"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and "tl_shape_size, which build/float/" in told.err
    assert "a given file is missing or changed" in told.err


@pytest.mark.parametrize("said", ["/usr/bin/ld: cannot find -lopenblas: No such file or directory",
                                  "/usr/bin/ld: final link failed: No space left on device"])
def test_what_the_machine_lacks_is_no_students_fault(tmp_path, capsys, said):
    (tmp_path / "why.err").write_text(f"{said}\n")
    assert unlinked.main([str(tmp_path / "why.err"), "labs"]) == 2
    assert capsys.readouterr().err == f"grade: nothing can be built here: {said}\n"


def test_a_student_cannot_make_a_machine_of_a_mistake(link):
    said = link({"main.c": CALLER}, {"im2col.o": "labs/lab2/im2col.c:1:2: error: #error No space "
                                     "left on device\n"})
    assert "does not compile" in said
