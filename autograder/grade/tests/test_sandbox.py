"""What a worker in a sandbox can see and do; and where there can be none, why."""

import subprocess

import pytest
import execute
import sandbox
from conftest import FOLDER


def script_of(folder, monkeypatch, bwrap: str) -> tuple:
    """(path of the script, reason) where `bwrap` is this shell script."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "bwrap").write_text(f"#!/bin/sh\n{bwrap}\n")
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return folder / "sandbox", sandbox.write(folder / "sandbox", [])


def test_a_machine_without_bubblewrap_is_told_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "apt-get install bubblewrap" in sandbox.write(tmp_path / "sandbox", [])


def test_what_bubblewrap_says_is_the_reason(tmp_path, monkeypatch):
    _, reason = script_of(tmp_path, monkeypatch, "echo 'bwrap: no permissions' >&2; exit 1")
    assert reason == "bubblewrap does not work here: bwrap: no permissions"


def test_an_older_bubblewrap_is_asked_for_less(tmp_path, monkeypatch):
    script, reason = script_of(tmp_path, monkeypatch,
                               'case "$*" in *--disable-userns*) exit 1;; esac')
    assert reason == ""
    assert "--disable-userns" not in script.read_text()


def test_walls_are_built_or_it_is_said_why_not(tmp_path):
    script = tmp_path / "sandbox"
    reason = sandbox.write(script, [])
    if reason:
        assert reason.startswith(("bubblewrap ", "bwrap "))
        return
    worker = tmp_path / "w/worker"
    worker.parent.mkdir()
    worker.write_text(f"""#!/bin/sh
touch /tmp/mine && echo 'an empty /tmp'
cat {FOLDER}/skeletons.py || echo 'no repository'
cat {tmp_path}/sandbox || echo 'no folder of the grader'
touch {worker.parent}/x || echo 'read-only'
[ $(wc -l </proc/net/dev) -le 3 ] && echo 'no network'
kill -9 $$
""")
    worker.chmod(0o755)
    done = subprocess.run([script, worker], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["an empty /tmp", "no repository",
                                            "no folder of the grader", "read-only", "no network"]
    assert done.returncode == 128 + 9
    assert not (tmp_path / "w/x").exists()


def test_a_library_of_ones_own_is_let_in(tmp_path):
    own = tmp_path / "own folder"
    own.mkdir()
    (tmp_path / "w").mkdir()
    (own / "mine.c").write_text("int mine(void) { return 7; }\n")
    (own / "main.c").write_text("int mine(void); int main(void) { return mine(); }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", own / "libmine.so", own / "mine.c"],
                   check=True)
    subprocess.run(["gcc", "-o", tmp_path / "w/worker", own / "main.c", own / "libmine.so",
                    f"-Wl,-rpath,{own}"], check=True)
    script = tmp_path / "sandbox"
    assert sandbox.libraries([tmp_path / "w/worker"]) == [str(own / "libmine.so")]
    if not sandbox.write(script, [tmp_path / "w/worker"]):
        assert subprocess.run([script, tmp_path / "w/worker"]).returncode == 7


@pytest.mark.parametrize("device, suffix, words", [
    ("cpu", "", ""), ("hostcuda", "-check", ""), ("cuda", "", "driver of a GPU"),
    ("cpu", "-san", "sanitizer")])
def test_a_gpu_and_a_sanitizer_have_no_walls(monkeypatch, device, suffix, words):
    monkeypatch.setattr(sandbox, "write", lambda script, programs: "")
    runner = execute.Runner(execute.Programs("g", "w", suffix), 1, 1.0)
    reason = runner.build_sandbox([execute.Run("all", device, "float")])
    runner.close()
    assert words in reason and bool(words) == bool(reason)


def test_a_submission_is_not_graded_without_walls(stage, capsys):
    assert stage.grade("LABS=build/submissions/ada-01", "OUT=build/grade/lab9") == 2
    assert "in a sandbox alone, for others wrote it: no sandbox in tests" in capsys.readouterr().err
    assert not stage.runs() and not (stage.folder / "build/grade/lab9/grade.json").exists()


def test_a_submission_has_no_gpu(stage, capsys, monkeypatch):
    """Where there is one, too: its driver needs more than a sandbox gives."""
    import grade
    stage.no_sandbox = ""
    monkeypatch.setattr(grade.machine, "has_gpu", lambda: True)
    for real in ("float", "double"):
        stage.write(f"build/{real}/lab9/all/libtl_cuda.so", "")
    assert stage.grade("LABS=build/submissions/ada-01", "OUT=build/grade/lab9") == 0
    assert {line.split()[1] for line in stage.runs()} == {"cpu", "hostcuda"}
    assert stage.grade("LABS=build/submissions/ada-01", "DEVICES=cuda") == 2
    assert "driver of a GPU" in capsys.readouterr().err


def test_a_student_is_not(stage, capsys):
    assert stage.grade() == 0
    assert "sandbox" not in capsys.readouterr().err


def test_a_grade_says_that_it_ran_in_one(stage, capsys):
    stage.no_sandbox = ""
    assert stage.grade("LABS=build/submissions/ada-01", "OUT=build/grade/lab9") == 0
    assert "sandbox" not in capsys.readouterr().err
    assert stage.result()["sandbox"] == "bwrap"
