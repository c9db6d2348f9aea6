"""What make is to build for a grade: every worker with its plug-ins, of the right files, and no
name but ours in what make reads."""

import re
from pathlib import Path

import execute
import grants
import make
import plan
import pytest
import table
from submission import ROOT

FILES = ["lab1/gemm.c", "lab2/im2col.c", "lab2/im2col.cu", "lab2/shape.c"]
# im2col may use gemm; shape has no CUDA side, so that its C is judged on the device, too
TASKS = {(1, "gemm"): ("c", {}), (2, "shape"): ("c", {}),
         (2, "im2col"): ("c cuda", {"c": {"calls": ["tl_gemm"]}})}


def granted(files: list) -> grants.Grants:
    exported = {name: frozenset({f"tl_{Path(name).stem}"}) for name in (*files, *grants.GIVEN)}
    found = grants.Grants(2, {}, exported)
    found.tasks = {key: table.Task(key[1], tuple(sides.split()), (), [], allow)
                   for key, (sides, allow) in TASKS.items()}
    return found


def order(*places: str, mine: bool = False, devices: tuple = ("hostcuda",), suffix: str = "",
          files: tuple = FILES) -> plan.Order:
    """`float all`, `float only-shape cuda`, `float-check only-im2col cuda` …"""
    runs = []
    for place in places:
        mode, variant, side = (place + " c").split()[:3]
        real, _, build = mode.partition("-")
        runs.append(execute.Run(variant, {"c": "cpu", "cuda": "hostcuda"}[side], real, build))
    return plan.Order(2, runs, list(files), granted(files), list(devices), suffix, mine)


def read(text: str) -> dict:
    """target or variable -> its words."""
    found = {}
    for line in text.replace(" \\\n", " ").splitlines():
        if match := re.match(r"(\S+?)(:| :=)(?: |$)(.*)", line):
            assert match[1] not in found
            found[match[1]] = match[3].split()
    return found


CPU = ["build/float/autograder/call/absent/plugin.o"]
NO_BLAS = ["build/float/autograder/call/absent/blas.o"]
GIVEN = ["build/float/shared/worker.o"]


def absent(*names: str) -> list:
    return [f"build/float/absent/{name}.o" for name in names]


def test_a_worker_has_the_students_files_and_of_ours_what_they_are_granted():
    made = read(plan.makefile(order("float all")))
    assert made["build/float/$(LAB_FROM)lab2/all/worker"] == [
        "build/float/$(LAB_FROM)labs/lab2/im2col.o", "build/float/$(LAB_FROM)labs/lab2/shape.o",
        "build/float/solution/lab1/gemm.o", *absent("tl/metrics"), *CPU, *NO_BLAS, *GIVEN]
    assert not made["LAB_HOSTCUDA_PLUGINS"] and not made["LAB_HOSTCUDA_OBJECTS"]
    assert made["LAB_GRADERS"] == ["build/float/lab2/grader"]


def test_of_one_task_it_has_the_students_file_alone():
    made = read(plan.makefile(order("float only-shape")))
    assert made["LAB_SOURCES"] == ["$(LABS)/lab2/shape.c"]
    assert made["build/float/$(LAB_FROM)lab2/only-shape/worker"] == [
        "build/float/$(LAB_FROM)labs/lab2/shape.o",
        *absent("lab1/gemm", "lab2/im2col", "tl/metrics"), *CPU, *NO_BLAS, *GIVEN]


def test_on_a_device_host_code_is_linked_that_is_judged_there_and_no_other_c():
    made = read(plan.makefile(order("float all cuda")))
    folder = "build/float/$(LAB_FROM)lab2/all-cuda"
    assert made[f"{folder}/worker"][:3] == ["build/float/$(LAB_FROM)labs/lab2/shape.o",
                                            *absent("lab1/gemm", "lab2/im2col")]
    assert "build/float/tl/device_plugin.o" in made[f"{folder}/worker"]
    assert made[f"{folder}/libtl_hostcuda.so"] == [
        "build/float/$(LAB_FROM)labs/lab2/im2col.cu.hostcuda.o", *absent("tl/cuda/metrics.cu"),
        "build/float/shared/hostcuda.o"]
    assert made["LAB_SHARED"] == [*GIVEN, "build/float/shared/hostcuda.o"]
    assert made["build/float/shared/hostcuda.o"] == ["$(call", "lab_hostcuda_given,float)"]


def test_where_no_host_code_is_judged_all_have_one_worker():
    made = read(plan.makefile(order("float only-im2col cuda", "float-check only-im2col cuda")))
    bare = "build/float/bare/worker"
    assert made[bare] == [*absent("lab1/gemm", "lab2/im2col", "lab2/shape", "tl/metrics"),
                          "build/float/tl/device_plugin.o", *NO_BLAS, *GIVEN]
    assert made["LAB_BARE_WORKERS"] == [bare] and not made["LAB_WORKERS"]
    assert len(made["LAB_BARE_COPIES"]) == 2
    assert {tuple(made[copy]) for copy in made["LAB_BARE_COPIES"]} == {(bare,)}


def test_checkers_look_at_cuda_alone():
    made = read(plan.makefile(order("float-check all cuda", devices=("hostcuda", "cuda"))))
    worker = made["build/float-check/$(LAB_FROM)lab2/all-cuda/worker"]
    assert worker[0] == "build/float/$(LAB_FROM)labs/lab2/shape.o"
    assert not [word for word in worker if "-check" in word]
    assert made["build/float-check/$(LAB_FROM)lab2/all-cuda/libtl_hostcuda.so"][0] == (
        "build/float-check/$(LAB_FROM)labs/lab2/im2col.cu.hostcuda.o")
    assert not made["LAB_CUDA_PLUGINS"] and not made["LAB_CUDA_OBJECTS"]
    assert made["LAB_GRADERS"] == ["build/float/lab2/grader"]


def test_a_gpu_has_a_plugin_of_its_own():
    made = read(plan.makefile(order("float all cuda", devices=("hostcuda", "cuda"))))
    assert made["build/float/$(LAB_FROM)lab2/all-cuda/libtl_cuda.so"] == [
        "build/float/$(LAB_FROM)labs/lab2/im2col.cu.cuda.o", *absent("tl/cuda/metrics.cu"),
        "$(call", "lab_cuda_given,float)"]


def test_mine_takes_the_other_labs_from_the_student_too():
    made = read(plan.makefile(order("float only-im2col", mine=True)))
    assert made["build/float/$(LAB_FROM)lab2-mine/only-im2col/worker"][:3] == [
        "build/float/$(LAB_FROM)labs/lab1/gemm.o", "build/float/$(LAB_FROM)labs/lab2/im2col.o",
        *absent("lab2/shape")]


def test_a_sanitised_build_leaves_the_checkers_theirs():
    made = read(plan.makefile(order("double all", "float-check all cuda", suffix="-san")))
    assert made["LAB_WORKERS"] == ["build/double-san/$(LAB_FROM)lab2/all/worker",
                                   "build/float-check/$(LAB_FROM)lab2/all-cuda/worker"]


def test_for_gdb_a_claim_of_the_checkers_has_its_worker_in_the_debug_mode():
    """gdb replays it in a build without checkers, of the claim's own precision."""
    lab = table.load(5)
    claims = [c for c in lab.task("conv3x3").claims if c.build == "check"]
    suffix = "-debug"
    order = plan.order_of(5, execute.plan(claims, ["hostcuda"], False, suffix), ["hostcuda"],
                          suffix, False)
    text = plan.makefile(order)
    for name in ("worker", "libtl_hostcuda.so"):
        for real in {real for c in claims for real in c.real}:
            assert f"build/{real}-debug/$(LAB_FROM)lab5/all-cuda/{name}:" in text
    assert plan.with_replays(order.runs[:1], "-san") == order.runs[:1]


@pytest.mark.parametrize("name", ["lab2/$(shell touch hit).c", "lab2/a b.c", "lab2/a:.c",
                                  "lab2/%.c", "lab2/a#.c", "lab2/\u00e9.c", "lab2/.c\n"])
def test_a_name_that_make_would_not_take_as_it_stands_is_refused(name):
    with pytest.raises(plan.Unplain, match="has a name of A-Z"):
        plan.makefile(order("float all", files=(*FILES, name)))
    with pytest.raises(plan.Unplain, match="has a name of A-Z"):
        run = execute.Run(f"only-{name[5:-2]}:", "cpu", "float")  # a task's name
        plan.makefile(plan.Order(2, [run], FILES, granted(FILES), ["hostcuda"], "", False))


def test_hostcuda_is_its_check_build_and_a_gpu_the_plain_one():
    made = read(plan.makefile(order("float-count all cuda", devices=("hostcuda", "cuda"))))
    assert made["LAB_HOSTCUDA_PLUGINS"] == [
        "build/float-check/$(LAB_FROM)lab2/all-cuda/libtl_hostcuda.so"]
    assert made["LAB_CUDA_PLUGINS"] == ["build/float/$(LAB_FROM)lab2/all-cuda/libtl_cuda.so"]
    made = read(plan.makefile(order("float-count all cuda")))
    assert made["LAB_CUDA_PLUGINS"] == [] and len(made["LAB_HOSTCUDA_PLUGINS"]) == 1


def test_what_is_planned_is_written_once_and_told(stage, capsys):
    stage.write("autograder/grade/skeletons.sha256",
                "".join(f"{'0' * 64}  labs/lab9/{name}\n" for name in ("one.c", "one.cu", "two.c")))
    stage.write("labs/lab9/$(shell touch hit).c", "")
    asked = ("PLAN=build/plan", "PLUGINS=hostcuda", "TASKWISE=1")
    assert stage.grade(*asked) == 0
    path = Path(capsys.readouterr().out.strip())
    made = read(path.read_text())
    assert [word.replace("$(LAB_FROM)", "") for word in made["LAB_WORKERS"]] == [
        "build/double/lab9/only-one/worker", "build/float/lab9/only-one/worker",
        "build/float/lab9/only-two/worker", "build/float/lab9/whole/worker"]
    assert [word.replace("$(LAB_FROM)", "") for word in made["LAB_BARE_COPIES"]] == [
        "build/double-check/lab9/only-one-cuda/worker",
        "build/float-check/lab9/only-one-cuda/worker"]
    assert "touch" not in path.read_text()
    before = path.stat()
    assert stage.grade(*asked) == 0
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert stage.grade("PLAN=build/plan", "PLUGINS=hostcuda") == 0
    assert len(list(path.parent.iterdir())) == 2


def test_make_reads_names_of_ours_alone(tmp_path):
    """A folder of labs in which files are called after commands, and one of ours is missing."""
    name = f"build/tests/plan-{tmp_path.name}"
    folder = ROOT / name
    (folder / "lab0").mkdir(parents=True)
    try:
        (folder / "lab0/$(shell touch hit-by-a-plan).c").write_text("")
        (folder / "lab0/vector_add.c").write_text("")
        done = make.run("-C", str(ROOT), "-n", "lab0", f"LABS={name}", timeout=120)
    finally:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()
    assert done.returncode == 0, done.stderr
    assert f"{name}/lab0/vector_add.c" in done.stdout and "hit-by-a-plan" not in done.stdout
    assert not (ROOT / "hit-by-a-plan").exists()
    assert not [p for p in (ROOT / "build/plan").glob("*.mk") if name in p.read_text()]


@pytest.mark.parametrize("words", [("lab0",), ("grade", "LAB=0", "TASKWISE=1")], ids=" ".join)
def test_what_is_built_is_not_built_again(words):
    first, second = (make.run("-C", str(ROOT), *words, "LABS=solution", timeout=600)
                     for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert not re.search(r"^(  (CC|CUCC|LINK) |rm )", second.stdout, re.MULTILINE), second.stdout
