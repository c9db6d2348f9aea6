"""`make bundle`: facts for a question, and neither source nor names nor paths."""

import io
import json
import subprocess
import types

import pytest

import bundle

GRADE = {
    "grader": {"rules": "0123456789abcdef"}, "contract": "fedcba9876543210",
    "devices": ["cpu"], "seed": 7, "build": [], "filter": "", "score": {"points": 3, "max": 100},
    "compilers": {"c": "gcc 12 in /opt/tools/bin/gcc"},
    "claims": [{"claim": "im2col/a", "side": "c", "verdict": "pass"},
               {"claim": "im2col/b", "side": "c", "verdict": "fail", "kind": "mismatch",
                "failures": [{"kind": "mismatch", "call": "im2col of x[2,3]", "got": 1.5,
                              "text": "int secret = 42;", "output": "hello from mia",
                              "backtrace": ["/home/mia/x.c"]}]}]}  # fmt: skip
SOURCE = "int my_own_idea(void);\n"


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A tree in /…/mia/course with a graded lab 2 of one file, on the host tower."""
    root = tmp_path / "mia/course"
    (root / "build/grade/lab2").mkdir(parents=True)
    (root / "labs/lab2").mkdir(parents=True)
    (root / "labs/lab2/im2col.c").write_text(SOURCE)
    (root / bundle.skeletons.MANIFEST).parent.mkdir(parents=True)
    (root / bundle.skeletons.MANIFEST).write_text(f"{'0' * 64}  labs/lab2/im2col.c\n")
    (root / "build/grade/lab2/part.json").write_text(json.dumps(GRADE))
    (root / "VERSION").write_text("gradlab 1.2.3\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(tmp_path / "mia"))
    monkeypatch.setenv("USER", "mia")
    monkeypatch.setattr(bundle.socket, "gethostname", lambda: "tower")
    doctor = f"  ok  compiler  {tmp_path}/mia/bin/gcc, made on tower by mia, /srv/x/y\n"
    monkeypatch.setattr(bundle.make, "run",
                        lambda *words, timeout: types.SimpleNamespace(stdout=doctor))
    return root


def written(lab, *words) -> str:
    assert bundle.main(["LAB=2", "YES=1", *words]) == 0
    return (lab / "build/bundle/lab2.txt").read_text()


def test_it_holds_what_somebody_has_to_know(lab):
    said = written(lab)
    for part in ["gradlab 1.2.3", "lab 2: 3/100, seed 7, on cpu", "im2col/b (c): mismatch",
                 'call      "im2col of x[2,3]"', "got       1.5", "gcc 12",
                 bundle.skeletons.digest(SOURCE.encode()) + "  labs/lab2/im2col.c", "compiler"]:
        assert part in said, part
    assert "im2col/a" not in said


@pytest.mark.parametrize("name, typed, said", [
    ("part.json", {"filter": "T=im2col DEVICES=cpu", "build": ["DEVICES=cpu"]},
     "lab 2: 3/100 with DEVICES=cpu T=im2col, seed 7"),
    ("grade-mine.json", {"build": ["MINE=1"]}, "lab 2: 3/100 with MINE=1, seed 7")])
def test_what_was_typed_for_the_last_grade_is_said(lab, name, typed, said):
    (lab / "build/grade/lab2/part.json").unlink()
    (lab / "build/grade/lab2" / name).write_text(json.dumps(GRADE | typed))
    assert said in written(lab)


def test_neither_source_nor_names_nor_paths_are_in_it(lab, tmp_path):
    said = written(lab)
    for part in ["my_own_idea", "secret", "hello", "mia", "tower", str(tmp_path), "/opt", "/srv"]:
        assert part not in said, part
    assert "made on (host) by (user), (path)/y" in said and "~/bin/gcc" in said


def test_a_doctor_that_takes_too_long_costs_its_part_alone(lab, monkeypatch):
    def slow(*words, timeout):
        raise subprocess.TimeoutExpired(["make", *words], timeout)

    monkeypatch.setattr(bundle.make, "run", slow)
    said = written(lab)
    assert "== make doctor\n(make doctor had not ended after 120 s, so its part is missing" in said
    assert "im2col/b (c): mismatch" in said and "gcc 12" in said


@pytest.mark.parametrize("has_git", [True, False])
def test_a_copy_without_a_commit_is_known_by_its_hashes(lab, monkeypatch, has_git):
    """An archive of the repository: no VERSION, no .git, and perhaps no git."""
    (lab / "VERSION").unlink()
    monkeypatch.delenv("GRADLAB_COMMIT", raising=False)
    monkeypatch.setattr(bundle.document, "ROOT", lab)
    if not has_git:
        monkeypatch.setenv("PATH", str(lab))
    said = written(lab)
    assert "gradlab of an unknown commit: neither VERSION nor git is here\n" in said
    assert "rules 0123456789abcdef, contract fedcba9876543210\n" in said


def test_it_asks_first(lab, capsys, monkeypatch):
    assert bundle.main(["LAB=2"]) == 2  # nobody there
    said = capsys.readouterr()
    assert "what goes into it:" in said.out and "make bundle LAB=2 YES=1" in said.err
    assert bundle.main(["LAB=2", "OUT=mine.txt"]) == 2
    assert "make bundle LAB=2 OUT=mine.txt YES=1" in capsys.readouterr().err
    terminal = io.StringIO("n\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    assert bundle.main(["LAB=2"]) == 0
    assert "nothing was written" in capsys.readouterr().out
    assert not (lab / "build/bundle").exists()


def test_a_lab_that_was_not_graded_is_named(lab, capsys):
    assert bundle.main(["LAB=3", "YES=1"]) == 2
    assert "lab 3 has not been graded here: make grade LAB=3 first" in capsys.readouterr().err
