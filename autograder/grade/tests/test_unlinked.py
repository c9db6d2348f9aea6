"""A failed link in words."""

import subprocess
from pathlib import Path

import pytest
import unlinked

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
    assert said == "later is called by tl_im2col, and defined nowhere\n"


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


def test_a_deleted_file_is_called_missing(link):
    said = link({"main.c": CALLER}, {"im2col.o": "labs/lab2/im2col.c: this file is missing (…)\n"})
    assert said == "labs/lab2/im2col.c: this file is missing (…)\n"
