"""Twelve submissions as a class hands them in, and the points that a person gives them who has read
autograder/lab1/lab.toml. Its points, by task and side:

             tensor  elementwise  reduce  transpose  matmul  gemm  whole    all
    C           13        8         12        3        10      5      2      53
    CUDA         1        8         12        5        12      7      2      47

    make test             one of them, in an archive
    GRADLAB_TEST_ALL=1    all (make test-all)
"""

import json
import os
import shutil
import time

import make
import pytest
import sandbox
import skeletons
import submission
import submit
from submission import ROOT

LAB = 1
NAMES = skeletons.own_files(ROOT, LAB)


def solution() -> dict:
    return {name: (ROOT / f"solution/lab{LAB}" / name).read_bytes() for name in NAMES}


def skeleton() -> dict:
    made = skeletons.skeletons(ROOT)
    return {name: made[f"labs/lab{LAB}/{name}"] for name in NAMES}


def partial() -> dict:
    """tensor.c, elementwise.c and .cu are written, the other files are as they were handed out."""
    done = {"tensor.c", "elementwise.c", "elementwise.cu"}
    return skeleton() | {name: data for name, data in solution().items() if name in done}


def with_body(name: str, head: bytes, line: bytes) -> dict:
    """The solution, one function of which begins with something else."""
    files = solution()
    begin = files[name].index(b"{\n", files[name].index(head)) + 2
    files[name] = files[name][:begin] + line + files[name][begin:]
    return files


def lay(folder, files: dict, place: str = "") -> None:
    (folder / place).mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / place / name).write_bytes(data)


# ---- the twelve: each makes a submission and says where it is ------------------------------------

def whole_solution(folder):
    lay(folder, solution())
    return folder


def untouched(folder):
    lay(folder, skeleton(), "labs/lab1")
    return folder


def half_done(folder):
    lay(folder, partial(), "lab1")
    return folder


def compile_error(folder):
    lay(folder, with_body("reduce.cu", b"tl_sum", b"    int 2x = ;\n"))
    return folder


def hang(folder):
    lay(folder, with_body("matmul.c", b"tl_matmul", b"    for (volatile int x = 0;; x++) {}\n"))
    return folder


def crash(folder):
    lay(folder, with_body("transpose.c", b"tl_transpose", b"    *(volatile int *)8 = 1;\n"))
    return folder


def late(folder):
    """Handed in years after the deadline, by files from the future: which is the course's to judge,
    by the time of the receipt."""
    lay(folder, solution())
    for path in [*folder.iterdir(), folder]:
        os.utime(path, (time.time() + 1e8,) * 2)
    return folder


def junk(folder):
    """A whole home folder around it, with things in it that would spoil the build if taken."""
    lay(folder, solution(), "labs/lab1")
    for name in ("Makefile", "labs/lab1/Makefile", "labs/lab1/tensor.c.refused", "lab1.zip",
                 "labs/lab1/tensor.o", "labs/lab1/tensor (1).c", "labs/lab1/helper.c",
                 "build/float/lab1/all/worker", "labs/lab1/\u202e\x1b[2J.c",
                 "autograder/lab1/lab.toml", ".git/config"):
        lay((folder / name).parent, {(folder / name).name: b"#error junk\n\xff\x00"})
    lay(folder / "lab1", skeleton())  # an older copy, behind labs/lab1
    return folder


def lines_of_windows(folder):
    lay(folder, {name: data.replace(b"\n", b"\r\n") for name, data in partial().items()})
    return folder


def missing_files(folder):
    files = solution()
    del files["transpose.cu"], files["gemm.c"]
    lay(folder, files)
    return folder


def changed_headers(folder):
    """Headers, claims and a makefile that would give everything to everybody, around a skeleton of
    which transpose is written."""
    done = {"transpose.c": solution()["transpose.c"], "transpose.cu": solution()["transpose.cu"]}
    lay(folder, skeleton() | done, "labs/lab1")
    lay(folder, {"status.h": b"#define TL_NOT_IMPLEMENTED() TL_OK\n"}, "tl/include/tl")
    lay(folder, {"status.h": b"#define TL_NOT_IMPLEMENTED() TL_OK\n"}, "labs/lab1/tl")
    lay(folder, {"lab.toml": b'lab = 1\ntitle = "all mine"\n'}, "autograder/lab1")
    lay(folder, {"Makefile": b"grade:\n\t@echo lab1: 100/100\n"})
    return folder


def archive(folder):
    path = folder.with_suffix(".zip")
    path.write_bytes(submit.packed({f"lab1/{name}": data for name, data in partial().items()}))
    return path


TWELVE = {
    # name: (submission, points in C, points in CUDA)
    "solution": (whole_solution, 53, 47),
    "skeleton": (untouched, 0, 0),
    # tensor and elementwise; nothing of `whole`, for which all tasks are due
    "partial": (half_done, 11 + 8, 1 + 8),
    # reduce.cu costs its own 12 points, and `whole` in CUDA
    "compile error": (compile_error, 53, 47 - 12 - 2),
    # matmul.c never comes back: 8 points, and `whole` in C
    "hang": (hang, 53 - 8 - 2, 47),
    # transpose.c ends its process: 2 points, and `whole` in C
    "crash": (crash, 53 - 2 - 2, 47),
    "late": (late, 53, 47),
    # what lies beside the files is not taken
    "junk": (junk, 53, 47),
    # a line's end is no mistake: as `partial`
    "CRLF": (lines_of_windows, 11 + 8, 1 + 8),
    # gemm.c: 5 points and `whole` in C; transpose.cu: 5 points and `whole` in CUDA
    "missing file": (missing_files, 53 - 5 - 2, 47 - 5 - 2),
    # graded with our headers and claims: transpose alone
    "changed header": (changed_headers, 2, 5),
    # as `partial`
    "zip": (archive, 11 + 8, 1 + 8),
}
IN_BRIEF = ["zip"]
ALL = os.environ.get("GRADLAB_TEST_ALL") == "1"


@pytest.fixture
def secret(tmp_path, monkeypatch):
    path = tmp_path / "secret"
    path.write_text("a course's secret of 32 bytes or more")
    path.chmod(0o600)
    monkeypatch.setenv("GRADLAB_SECRET", str(path))


def clear(path) -> None:
    """What was made of a submission."""
    copy = submission.folder_of(path, submission.collect(path, LAB)[0], LAB)
    if (ROOT / copy).exists():
        submission.remove(ROOT / copy)
    for made in [*ROOT.glob(f"build/*/from/{copy}"),
                 *ROOT.glob(f"build/grade/{str(copy).replace('/', '-')}")]:
        shutil.rmtree(made)


@pytest.mark.skipif(bool(sandbox.lacking()), reason=f"no sandbox: {sandbox.lacking()}")
@pytest.mark.parametrize("name", TWELVE if ALL else IN_BRIEF)
def test_a_submission_gets_what_a_person_would_give_it(tmp_path, secret, name):
    make_it, in_c, in_cuda = TWELVE[name]
    path = make_it(tmp_path / f"ordinary-{name.replace(' ', '-')}")
    try:
        done = make.run("-C", str(ROOT), "grade", f"LAB={LAB}", f"SUBMISSION={path}", "TASKWISE=1",
                        "JSON=1", timeout=900)
        assert done.returncode == 0, done.stderr
        lines = done.stdout
        result = json.loads(lines[lines.index("{\n"):lines.rindex("}\n") + 2])
    finally:
        clear(path)
    got = {side: sum(c["points"] for c in result["claims"] if c["side"] == side)
           for side in ("c", "cuda")}
    lost = [f"{c['claim']} ({c['side']}): {c['kind']}" for c in result["claims"]
            if c["verdict"] != "pass"]
    assert got == {"c": in_c, "cuda": in_cuda}, lost
    assert result["score"] | {"points": in_c + in_cuda, "max": 100, "unjudged": 0} == \
        result["score"]
    assert done.stderr.rstrip().split("\n")[-1].startswith((f"lab1: {in_c + in_cuda}/100", "make"))


def test_the_points_are_those_of_the_list():
    """Of the table above: a change of lab.toml is a reason to work them out again."""
    import table
    lab = table.load(LAB)
    found = {(t.name, side): sum(c.points.get(side, 0) for c in lab.claims if c.task == t.name)
             for t in lab.tasks for side in ("c", "cuda")}
    names = ("tensor", "elementwise", "reduce", "transpose", "matmul", "gemm", "whole")
    assert [found[n, "c"] for n in names] == [11, 8, 12, 2, 8, 5, 2]
    assert [found[n, "cuda"] for n in names] == [1, 8, 12, 5, 12, 7, 2]
    assert len(TWELVE) == 12 and set(IN_BRIEF) < set(TWELVE)
