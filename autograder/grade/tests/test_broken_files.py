"""A file of the student's that does not compile, is missing or has another name: what make says of
it, and that the other tasks keep their points."""

import json
import os
import shutil

import make
import skeletons
from said import ALSO_KNOWN_AS
from submission import ROOT

# Of labs, without spaces, which make takes; tests that run side by side have one each.
FOLDER = "build/tests/broken-" + os.environ.get("PYTEST_XDIST_WORKER", "alone")
BROKEN = """    if (n == 0) return undeclared;
    tl_real *copy = n;
    return TL_NOT_IMPLEMENTED();"""


def run(*words: str):
    return make.run("-C", str(ROOT), *words, f"LABS={FOLDER}", timeout=900, LC_ALL="C")


def hand_out() -> None:
    """The skeletons of lab 0, and a right vector_reverse.cu beside them."""
    labs = ROOT / FOLDER / "lab0"
    clear()
    labs.mkdir(parents=True)
    for name, data in skeletons.of_task(ROOT, "0", "vector_add").items():
        (labs / name.split("/")[-1]).write_bytes(data)
    shutil.copy(ROOT / "solution/lab0/vector_reverse.cu", labs)


def spoil() -> None:
    """One file no longer compiles, another one has got a browser's name."""
    source = ROOT / FOLDER / "lab0/vector_add.cu"
    text = source.read_text()
    source.write_text(text.replace("    return TL_NOT_IMPLEMENTED();", BROKEN))
    assert source.read_text() != text
    source.with_suffix(".c").rename(source.with_name("vector_add (1).c"))


def clear() -> None:
    for folder in [ROOT / FOLDER, *ROOT.glob(f"build/*/from/{FOLDER}")]:
        shutil.rmtree(folder, ignore_errors=True)


def messages_come_once(said: str) -> None:
    heads = [ALSO_KNOWN_AS.sub("", line) for line in said.splitlines()
             if "error: " in line or "warning: " in line]
    assert len(heads) == len(set(heads)) >= 2, said
    for message in ("'undeclared'", "tl_real*"):
        assert [message in line for line in heads].count(True) == 1, said


def the_missing_file_has_one_line(said: str) -> None:
    said = " ".join(said.split())
    assert said.count("is missing") == 1, said
    assert (f"{FOLDER}/lab0/vector_add.c is missing: mv '{FOLDER}/lab0/vector_add (1).c' "
            f"{FOLDER}/lab0/vector_add.c gives that file its name") in said


def the_others_keep_their_points(result: dict) -> None:
    cells = {(c["task"], c["side"]): (c["points"], c.get("kind")) for c in result["claims"]}
    assert cells == {("vector_add", "c"): (0, "missing"), ("vector_add", "cuda"): (0, "compile"),
                     ("vector_reverse", "cuda"): (1, None)}


def test_a_broken_file_and_a_renamed_one_are_named_once_and_cost_their_own_points():
    try:
        hand_out()
        whole = run("lab0")
        assert whole.returncode == 0, whole.stderr
        spoil()
        graded, built = run("grade", "LAB=0", "DEVICES=cpu,hostcuda"), run("lab0")
        result = ROOT / "build/grade" / FOLDER.replace("/", "-") / "lab0/grade.json"
        assert graded.returncode == 0 and built.returncode == 2, graded.stderr
        messages_come_once(graded.stderr)
        messages_come_once(built.stderr)
        the_missing_file_has_one_line(graded.stdout)
        the_missing_file_has_one_line(built.stderr)
        assert "vector_add.cu does not compile: line " in graded.stdout
        assert "vector_add.cu: does not compile" in graded.stdout
        for wrong in ("does not link", "not allowed"):  # it is no illegal CUDA either
            assert wrong not in graded.stdout + graded.stderr
        the_others_keep_their_points(json.loads(result.read_text()))
    finally:
        clear()
