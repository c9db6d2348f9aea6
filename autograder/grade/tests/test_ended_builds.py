"""A compiler in a box that somebody outside has ended: the build is done once more, and if that is
ended, too, nothing is graded. What a student's file does is no such end."""

import subprocess

import cuda_legality
import pytest
from execute import CannotGrade
from submission import ROOT

# A box that ends as the lines of a list say, and says what it is; `killed`: it is ended itself.
BOX = """#!/bin/bash
n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) >count
end=$(sed -n "$((n + 1))p" ends)
echo "said $((n + 1))" >&2
[ "$end" != killed ] || kill -9 $$
echo "made $((n + 1))"; exit $end
"""
MAKEFILE = """SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
quote = '$1'
LAB_OFFICIAL := yes
include {root}/mk/workers.mk
a.o: a.c
	@{{ $(call lab_boxed,true,a.c); }} 2>$@.err || $(call lab_not_made,$@.err)
"""


@pytest.fixture
def build(tmp_path):
    """Makes a.o where boxes end so."""
    (tmp_path / "build/box").mkdir(parents=True)
    (tmp_path / "build/box/box").write_text(BOX)
    (tmp_path / "build/box/box").chmod(0o755)
    (tmp_path / "a.c").touch()
    (tmp_path / "Makefile").write_text(MAKEFILE.format(root=ROOT))

    def make(*ends: str):
        (tmp_path / "ends").write_text("\n".join(ends))
        done = subprocess.run(["make", "-s", "a.o"], cwd=tmp_path, text=True, timeout=60,
                              capture_output=True)
        made = tmp_path / "a.o"
        return done, made.read_text() if made.exists() else None, int(
            (tmp_path / "count").read_text()), (tmp_path / "a.o.err").read_text()

    return make


@pytest.mark.parametrize("end", ["126", "killed"])
def test_a_build_that_was_ended_is_done_once_more(build, end):
    done, made, tries, said = build(end, "0")
    assert done.returncode == 0, done.stderr
    assert (made, tries, said) == ("made 2\n", 2, "said 2\n")  # nothing of the first is left


@pytest.mark.parametrize("end", ["126", "killed"])
def test_one_that_is_ended_twice_is_no_grade(build, end):
    done, made, tries, _ = build(end, end, "0")
    assert (done.returncode, made, tries) == (2, None, 2)
    assert "grade: a.o could not be made here: nothing was graded" in done.stderr


@pytest.mark.parametrize("end", ["1", "127", "143", "152"])
def test_what_a_file_does_costs_the_file(build, end):
    done, made, tries, said = build(end, "0")
    assert (done.returncode, made, tries, said) == (0, None, 1, "said 1\n"), done.stderr


def test_where_there_is_no_box_nothing_is_graded(build):
    done, made, tries, _ = build("125", "0")
    assert (done.returncode, made, tries) == (2, None, 1)


def test_the_judge_of_cuda_is_asked_once_more_too(monkeypatch):
    ends = []
    monkeypatch.setattr(cuda_legality, "judge_headers", lambda script: "")
    monkeypatch.setattr(cuda_legality, "submitted", lambda path: True)
    monkeypatch.setattr(cuda_legality, "judge", lambda path, boxed=False:
                        subprocess.CompletedProcess([], ends.pop(0), "", ""))
    for ended in (126, -9):
        ends[:] = [ended, 0]
        assert cuda_legality.ask("a.cu") == "" and not ends
        ends[:] = [ended, ended]
        with pytest.raises(CannotGrade, match="ended from outside"):
            cuda_legality.ask("a.cu")
