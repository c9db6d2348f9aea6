"""What a worker in a box can see and do; and where there can be none, why."""

import json
import os
import shutil
import subprocess

import pytest
import execute
import sandbox
from conftest import FOLDER


def test_a_worker_sees_its_folder_and_no_other(tmp_path):
    script = tmp_path / "sandbox"
    worker = tmp_path / "w/worker"
    worker.parent.mkdir()
    worker.write_text(f"""#!/bin/sh
cat {FOLDER}/skeletons.py || echo 'no repository'
cat {tmp_path}/sandbox || echo 'no folder of the grader'
touch {worker.parent}/x || echo 'read-only'
kill -9 $$
""")
    worker.chmod(0o755)
    assert sandbox.write(script, [worker]) == ""
    if sandbox.tier()[0] == "C":  # where a worker's tree has no shell: test_box.py looks there
        return
    done = subprocess.run([script, worker], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["no repository", "no folder of the grader", "read-only"]
    assert done.returncode == 128 + 9 or "not permitted" in done.stderr
    assert not (tmp_path / "w/x").exists()


def test_a_tool_sees_what_workers_became(tmp_path):
    worker = tmp_path / "w/worker"
    worker.parent.mkdir()
    worker.write_text("text")
    assert sandbox.write(tmp_path / "sandbox", [worker]) == ""
    done = subprocess.run([sandbox.tool_of(tmp_path / "sandbox"), shutil.which("addr2line"), "-e",
                           worker, "1"], capture_output=True, text=True)
    assert "file format not recognized" in done.stderr, done


def test_programs_of_a_students_are_not_shown_to_ldd(tmp_path, monkeypatch):
    """It starts their loader."""
    worker, asked = tmp_path / "w/worker", []
    worker.parent.mkdir()
    worker.write_text("text")
    monkeypatch.setattr(sandbox.subprocess, "run", lambda command, **options: (
        asked.append([str(word) for word in command]), original(command, **options))[1])
    assert sandbox.write(tmp_path / "sandbox", [worker]) == ""
    told = [command for command in asked if command[0] == "ldd"]
    assert told and not [command for command in told if str(worker) in command]
    assert any("libopenblas" in path for path in sandbox.libraries([sandbox.LIBRARIES]))


# (root alone can make such a namespace with a /proc of its own)
YOUNG = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"]
if subprocess.run([*YOUNG, "true"], capture_output=True).returncode == 0:
    def test_a_container_without_low_process_numbers_grades():
        """Where bubblewrap is not started in the namespace of its /proc, it looks for a child's low
        number among the machine's."""
        burn = "/bin/true; " * 9
        done = subprocess.run([*YOUNG, f"{burn} make -s -C {sandbox.ROOT} grade LAB=0 LABS=solution"
                               " DEVICES=cpu JSON=1"], capture_output=True, text=True)
        assert json.loads(done.stdout[done.stdout.index("{"):])["score"]["points"] == 2, done


def test_a_machine_without_a_tier_is_told_what_would_mend_it(monkeypatch):
    sandbox.tier.cache_clear()
    monkeypatch.setenv("GRADLAB_TIER", "B")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sandbox.subprocess, "run", lambda command, **options: original(
        command if command[0] != "make" else ["/bin/true"], **options))
    try:
        assert "bubblewrap is not installed" in sandbox.lacking()
        assert "AppArmor" in sandbox.lacking()
    finally:
        sandbox.tier.cache_clear()


@pytest.mark.parametrize("older", [True, False])
def test_the_launcher_is_made_again_behind_a_newer_source(monkeypatch, tmp_path, older):
    sandbox.tier()
    source, made = tmp_path / "box.c", []
    source.touch()
    os.utime(source, ns=(0, 0 if older else 1 << 62))
    monkeypatch.setattr(sandbox, "SOURCES", [source])
    monkeypatch.setattr(sandbox.subprocess, "run", lambda command, **options: made.append(
        command[0]) or original(["/bin/true"], **options))
    sandbox.launcher()
    assert made == ([] if older else ["make"])


original = subprocess.run


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
    assert f"sandbox: tier {sandbox.tier()}\n" in capsys.readouterr().err
    assert stage.result()["sandbox"] == sandbox.tier()
