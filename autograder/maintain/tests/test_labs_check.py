"""The maintainer's check of skeletons and solution finds what it is there for."""

import json
import subprocess
import sys

import generate
import labs_check
import pytest
from conftest import ROOT


def run(root, *arguments) -> subprocess.CompletedProcess:
    program = ROOT / "autograder/maintain/labs_check.py"
    return subprocess.run([sys.executable, program, "--root", root, *arguments],
                          capture_output=True, text=True)


def test_what_was_written_is_found_in_order(root):
    generate.write(root)
    assert labs_check.files(root) == []
    assert run(root, "files").returncode == 0


def test_check_names_what_differs(root):
    generate.write(root)
    (root / "labs/lab2/x.c").write_text("int mine;\n")
    (root / "labs/lab2/x.cu").unlink()
    (root / "labs/lab2/z.c").write_text("int z;\n")
    wrong = "\n".join(labs_check.files(root))
    assert "labs/lab2/x.c: is not what the solution's markers give" in wrong
    assert "labs/lab2/x.cu: missing" in wrong
    assert "labs/lab2/z.c: no solution has this file" in wrong
    assert run(root, "files").returncode == 1


def test_a_line_of_the_solution_in_a_skeleton_is_a_leak(root):
    path = root / "solution/lab2/x.cu"
    path.write_text(path.read_text().replace("    // (void)a;\n",
                                             "    // (void)a;\n    // int b = trick(a);\n"))
    generate.write(root)
    assert any("`int b = trick(a);` is left out by the piece" in w for w in labs_check.files(root))


def test_the_committed_skeletons_are_those_of_the_solution():
    assert labs_check.files(ROOT) == []


# ---- what the objects export ---------------------------------------------------------------------

def built(root, skeleton: str):
    """build/check of one compiler: this as the skeleton's object, tl_x as the solution's."""
    for side, text in (("solution", "int tl_x(void) { return 1; }\n"), ("labs", skeleton)):
        folder = root / "check/gcc/float" / side / "lab2"
        folder.mkdir(parents=True)
        (folder / "x.c").write_text(text)
        subprocess.run(["gcc", "-c", "-o", folder / "x.o", folder / "x.c"], check=True)
    return root / "check"


def test_equal_names_are_in_order(root):
    assert labs_check.symbols(built(root, "int tl_x(void) { return 0; }\n")) == []


def test_a_function_that_the_skeleton_lacks_is_named(root):
    wrong = labs_check.symbols(built(root, "static int tl_x(void) { return 0; }\n"
                                     "int tl_z(void) { return tl_x(); }\n"))
    assert len(wrong) == 1 and wrong[0].endswith(": tl_x, tl_z")


def test_no_objects_are_no_proof(root):
    assert "no objects to compare" in labs_check.symbols(root / "check")[0]


# ---- grades of both sides ------------------------------------------------------------------------

def claim(verdict: str, kind: str = "", points: int = 0, task: str = "x", side: str = "c") -> dict:
    return {"claim": f"{task}/right", "task": task, "side": side, "verdict": verdict, "kind": kind,
            "points": points}


def judged(root, side: str, *claims: dict) -> list:
    return labs_check.graded(root / side, {"lab": 2, "claims": list(claims)})


def test_a_solution_passes_and_a_skeleton_is_not_implemented(root):
    generate.write(root)
    assert judged(root, "solution", claim("pass", points=3)) == []
    assert judged(root, "labs", claim("fail", "not_implemented"), claim("waiting", "waiting")) == []


@pytest.mark.parametrize("side, one, words", [
    ("solution", claim("fail", "mismatch"), "the solution fails: mismatch"),
    ("solution", claim("unjudged", "machine"), "the solution fails: machine"),
    ("labs", claim("pass", points=3), "3 points for a skeleton"),
    ("labs", claim("fail", "crash"), "is not `not implemented`, but crash")])
def test_a_wrong_grade_is_named(root, side, one, words):
    (root / "labs/lab2").mkdir(parents=True)
    (root / "labs/lab2/x.c").write_text("return TL_NOT_IMPLEMENTED();\n")
    assert [words in found for found in judged(root, side, one)] == [True]


@pytest.mark.parametrize("text", ["/* a planted bug */\n",
                                  "slowly<<<1, 1>>>(y); return TL_NOT_IMPLEMENTED();\n"])
def test_a_skeleton_with_code_in_it_may_fail_as_it_likes_but_not_pass(root, text):
    (root / "labs/lab2").mkdir(parents=True)
    (root / "labs/lab2/x.c").write_text(text)
    assert judged(root, "labs", claim("fail", "race")) == []
    assert judged(root, "labs", claim("pass", points=1))


def test_a_grade_without_claims_is_no_proof(root):
    (root / "grade.json").write_text(json.dumps({"lab": 2, "claims": []}))
    result = run(root, "graded", "solution", root / "grade.json")
    assert result.returncode == 1
    assert "no claim was judged" in result.stdout


def test_a_grade_that_cannot_be_read_is_an_error(root):
    (root / "grade.json").write_text("{")
    assert run(root, "graded", "solution", root / "grade.json").returncode == 2
