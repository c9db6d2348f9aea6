"""Seeds of official grading: made of the secret, the lab and the files, and telling nothing."""

import hashlib
import hmac
import json
import os
import stat
import subprocess
import sys

import options
import pytest
import seeds
import submission
from conftest import FOLDER, fail

KEY = "k" * seeds.LEAST
NONE = {"SECRET": "", "SEED": "", "REGRADE": ""}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADLAB_SECRET", raising=False)


def secret_file(path, content: str = KEY, mode: int = 0o600):
    path.write_text(content)
    path.chmod(mode)
    return path


def test_a_seed_is_that_of_the_rule():
    """Written out once more: a course may have to make a seed again in ten years."""
    message = b"gradlab seed/1\x002\x00" + b"ab" * 32
    want = int(hmac.new(KEY.encode(), message, hashlib.sha256).hexdigest()[:16], 16)
    assert seeds.derived(KEY.encode(), 2, "ab" * 32) == want < 2**64


def test_secret_lab_and_files_each_decide():
    made = {seeds.derived(key, lab, files) for key in (b"a" * 32, b"b" * 32) for lab in (1, 11)
            for files in ("1" + "0" * 63, "0" * 64)}
    assert len(made) == 8


def test_the_secret_is_found_in_its_three_places(tmp_path, monkeypatch):
    secret_file(tmp_path / ".course-secret", "a" * 32 + "\n")
    assert seeds.secret(NONE) == b"a" * 32
    monkeypatch.setenv("GRADLAB_SECRET", str(secret_file(tmp_path / "b", "b" * 32)))
    assert seeds.secret(NONE) == b"b" * 32
    path = secret_file(tmp_path / "c", "c" * 32, 0o400)
    assert seeds.secret(NONE | {"SECRET": str(path)}) == b"c" * 32


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o700, 0o660, 0o200])
def test_a_secret_that_others_may_read_is_none(tmp_path, mode):
    secret_file(tmp_path / ".course-secret", mode=mode)
    with pytest.raises(seeds.Refused, match="chmod 600|cannot be read"):
        seeds.secret(NONE)


@pytest.mark.parametrize("content, words", [
    ("", "holds 0 bytes"), ("k" * 31 + "\n\n", "holds 31 bytes"), ("k" * 5000, "holds 4097")])
def test_it_has_a_length(tmp_path, content, words):
    secret_file(tmp_path / ".course-secret", content)
    with pytest.raises(seeds.Refused, match=words):
        seeds.secret(NONE)


def test_what_is_no_file_of_ones_own_is_none(tmp_path, monkeypatch):
    with pytest.raises(seeds.Refused, match="is not there: .*make secret"):
        seeds.secret(NONE)
    secret_file(tmp_path / "real")
    (tmp_path / ".course-secret").symlink_to("real")
    with pytest.raises(seeds.Refused, match="no link"):
        seeds.secret(NONE)
    for name, make in [("pipe", os.mkfifo), ("folder", os.mkdir)]:
        make(tmp_path / name, 0o600)
        with pytest.raises(seeds.Refused, match="no regular file"):
            seeds.secret(NONE | {"SECRET": name})
    monkeypatch.setattr(seeds.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(seeds.Refused, match="chown"):
        seeds.secret(NONE | {"SECRET": "real"})


def test_a_secret_typed_in_place_of_its_file_is_not_repeated(monkeypatch):
    for given in (NONE | {"SECRET": KEY}, NONE):
        with pytest.raises(seeds.Refused) as error:
            seeds.secret(given)
        assert KEY not in str(error.value)
        monkeypatch.setenv("GRADLAB_SECRET", KEY)


def made(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, FOLDER / "seeds.py", "make", *words], text=True,
                          capture_output=True, umask=0o777)


@pytest.mark.parametrize("words, name", [([], ".course-secret"), (["SECRET=x"], "x")])
def test_make_secret_makes_one_and_never_over_another(tmp_path, words, name):
    done = made(*words)
    assert done.returncode == 0, done.stderr
    content = (tmp_path / name).read_text()
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert len(bytes.fromhex(content)) == 32 and content.strip() not in done.stdout
    assert seeds.secret(NONE | {"SECRET": name}) == content.strip().encode()
    again = made(*words)
    assert again.returncode == 2 and "nothing was written" in again.stderr
    assert (tmp_path / name).read_text() == content
    (tmp_path / name).unlink()
    assert made(*words).returncode == 0 and (tmp_path / name).read_text() != content


# ---- in a grade ----------------------------------------------------------------------------------

def official(stage, *more: str) -> dict:
    """The grade of a snapshot of one file; lab 9 of the stage is no lab of the tree."""
    stage.no_sandbox = ""
    name = submission.folder_of(stage.folder / "ada", {}, 9)
    (stage.folder / name / "lab9").mkdir(parents=True, exist_ok=True)
    status = stage.grade(f"LABS={name}", "SUBMISSION=/inbox/ada", "OUT=build/grade/lab9", *more)
    return stage.result() if status == 0 else {"status": status}


def test_official_grading_has_the_seed_of_its_files(stage, capsys):
    secret_file(stage.folder / ".course-secret")
    stage.says["lab9_one/second"] = fail()
    result = official(stage)
    want = seeds.derived(KEY.encode(), 9, submission.digest({}, 9))
    assert (result["seed"], result["seed_from"]) == (want, "secret")
    assert result["submission"] == {"name": "ada", "sha256": submission.digest({}, 9), "files": {}}
    assert official(stage)["seed"] == want
    out = capsys.readouterr()
    # the student replays the case with this very seed, and learns nothing else
    assert f"make grade LAB=9 T=one/second SEED={want}" in out.out
    assert KEY not in out.out + out.err + json.dumps(result)
    assert stage.grade("T=one/second", f"SEED={want}") == 0
    assert all(KEY not in path.read_text(errors="replace") for path in stage.folder.rglob("*")
               if path.is_file() and path.name != ".course-secret")


def test_a_regrade_says_that_its_seed_was_given(stage):
    result = official(stage, "REGRADE=1", "SEED=18446744073709551615")
    assert (result["seed"], result["seed_from"]) == (2**64 - 1, "given")
    assert official(stage, "SEED=7") == official(stage, "REGRADE=1") == {"status": 2}


def test_a_snapshot_that_changes_meanwhile_is_no_grade(stage, capsys, monkeypatch):
    secret_file(stage.folder / ".course-secret")
    found = iter([{"sha256": "a" * 64, "files": {}}, {"sha256": "b" * 64, "files": {}}])
    monkeypatch.setattr(submission, "identity", lambda folder, lab: next(found))
    assert official(stage) == {"status": 2} and stage.runs()
    assert "was changed meanwhile" in capsys.readouterr().err
    assert not (stage.folder / "build/grade/lab9/grade.json").exists()


def test_ones_own_grade_has_seed_1_or_any(stage, capsys):
    assert stage.grade() == 0
    assert (stage.result()["seed"], stage.result()["seed_from"]) == (1, "default")
    assert stage.grade("SEED=7") == 0
    assert (stage.result()["seed"], stage.result()["seed_from"]) == (7, "given")
    assert stage.grade("REGRADE=1", "SEED=7") == 2
    assert "REGRADE=1 is for SUBMISSION=" in capsys.readouterr().err


def test_without_a_secret_nothing_is_run(stage, capsys):
    assert official(stage) == {"status": 2} and not stage.runs()
    assert "make secret makes one" in capsys.readouterr().err


def test_check_is_what_choose_does(tmp_path):
    secret_file(tmp_path / ".course-secret")
    for given in (NONE, NONE | {"SEED": "7", "REGRADE": "1"}):
        seeds.check(given)
    for given in (NONE | {"SEED": "7"}, NONE | {"REGRADE": "1"},
                  NONE | {"SEED": str(2**64), "REGRADE": "1"}):
        with pytest.raises(options.OptionError):
            seeds.check(given)
