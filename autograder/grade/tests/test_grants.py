"""Which of the reference stands beside a student's code: as little as the lists say, never what a
task is to write, and never its other side."""

import re
from pathlib import Path

import absent
import contracts
import grants
import pytest
import skeletons
import table
from submission import ROOT

FILES = [name.removeprefix("labs/") for name in skeletons.read_manifest(ROOT)
         if not name.endswith(".toml")]
OPERATIONS = {Path(file).stem for file in FILES if grants.lab_of(file) in (1, 2, 3)} - {"tensor"}
AUTOGRAD = {"tensor", "tape", "ops_math"}
LAYERS = AUTOGRAD | {"ops_layers", "ops_regularise", "init", "module_layers", "module"}
# task -> those whose reference stands beside it, on either side; none beside any other task. Who
# changes this asks first whether the product can be had of what is granted (autograder/README.md).
BESIDE = {
    "conv2d_fwd": {"im2col", "gemm", "matmul", "elementwise"},
    "conv2d_bwd": {"im2col", "col2im", "gemm", "matmul"},
    "linear": {"gemm", "matmul"},
    "softmax_xent": {"reduce"},
    "batchnorm": {"reduce"},
    "tape": OPERATIONS | {"tensor", "ops_math", "ops_layers"},
    "ops_math": OPERATIONS | {"tensor", "tape"},
    "ops_layers": OPERATIONS | AUTOGRAD,
    "ops_regularise": OPERATIONS | AUTOGRAD,
    "own": OPERATIONS | AUTOGRAD,
    "module": OPERATIONS | LAYERS - {"module"},
    "module_layers": OPERATIONS | LAYERS - {"module_layers"},
    "train": OPERATIONS | LAYERS | {"sgd", "adam", "schedule", "augment", "metrics"},
}
CALLS_BLAS = {"gemm"}


@pytest.fixture(scope="module")
def lists() -> dict:
    return {lab: grants.of_tree(lab, FILES, ROOT) for lab in table.numbers()}


def runs(lists: dict):
    """(grants, task, side) of every run of a single task."""
    for lab, known in lists.items():
        for task in table.load(lab).tasks:
            for side in sorted({side for claim in task.claims for side in claim.points}):
                if task.code:
                    yield known, task, side


def stems(files) -> set:
    return {Path(file).stem for file in files}


def test_beside_a_task_stands_what_was_agreed_on(lists):
    found = {(task.name, side): stems(known.world(f"only-{task.name}", side).reference)
             for known, task, side in runs(lists)}
    assert found == {key: BESIDE.get(key[0], set()) for key in found}
    assert len(found) > 50 and set(BESIDE) <= {name for name, _ in found}


def test_no_task_has_itself_or_its_other_side(lists):
    for known, task, side in runs(lists):
        world = known.world(f"only-{task.name}", side)
        assert world.own == (f"lab{known.lab}/{task.file(side)}",), task.name
        assert task.name not in stems(world.reference)
        assert set(world.own + world.reference + world.absent) == {*FILES, *grants.GIVEN}


def test_blas_is_linked_with_those_who_call_it_alone(lists):
    for known, task, side in runs(lists):
        world = known.world(f"only-{task.name}", side)
        calls = stems(world.own + world.reference) & CALLS_BLAS
        assert bool(world.blas) == bool(calls), (task.name, side)


def test_where_all_are_the_students_only_earlier_labs_are_ours(lists):
    for lab, known in lists.items():
        for side in table.SIDES:
            world = known.world("all", side)
            given = {grants.lab_of(file) for file in world.reference}
            assert not [n for n in given if n >= lab], (lab, side)


def test_the_whole_lab_goes_without_extra_credit(lists):
    for lab, known in lists.items():
        extra = {task.name for task in table.load(lab).tasks if task.extra}
        for side in table.SIDES:
            left = stems(known.world("all", side).own) - stems(known.world("whole", side).own)
            assert left == extra & stems(known.world("all", side).own)
    assert {"batchnorm", "dropout"} == {t.name for t in table.load(3).tasks if t.extra}


def test_host_code_alone_is_c_on_a_device(lists):
    """And whoever has kernels of his own has no C in the process."""
    for known, task, side in runs(lists):
        if side == "cuda":
            world = known.world(f"only-{task.name}", side).of_kind(".c")
            twins = [f for f in world.own + world.reference if f"{f}u" in FILES]
            assert not twins, task.name
            assert bool(world.own) == ("cuda" not in task.sides)


def test_the_reference_uses_no_more_than_its_task_is_granted(lists):
    """So the closure over the lists is that over the objects, of which nothing is read."""
    known = lists[max(lists)]
    homes = {}
    for file, names in known.exported.items():
        for name in names:
            homes.setdefault((name, Path(file).suffix), file)
    for file in FILES:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", grants.text_of(ROOT, file), flags=re.DOTALL)
        used = {(name, Path(file).suffix) for name in re.findall(r"\b(tl_\w+)\b", text)}
        used |= {(f"tl_{name}", ".c") for name in re.findall(r"\bops->(\w+)", text)}
        needed = {homes[key] for key in used if key in homes} - {file}
        assert needed <= known.direct(file, "c"), file


def test_for_every_function_stands_one_that_refuses():
    known = contracts.prototypes(ROOT)
    for file, names in grants.exports(ROOT, [*FILES, *grants.GIVEN]).items():
        text = absent.source(file, names, known)
        assert names and set(skeletons.exported(text)) == names, file
        assert text.count("is not part of this worker") == len(
            [n for n in names if known[n][1] != "void "])


def test_a_function_without_a_contract_is_a_fault_of_ours():
    with pytest.raises(absent.Unknown, match="tl_nothing of lab1/x.c has no contract"):
        absent.source("lab1/x.c", ["tl_nothing"], {})


def test_functions_of_labs_that_are_not_here_are_somebodys():
    """In a handout of the first labs; where all labs are here, every promise is kept."""
    files = [name.removeprefix("labs/") for name in skeletons.read_manifest(ROOT)]
    assert not set(grants.exports(ROOT, [*files, *grants.GIVEN])) & set(contracts.LATER)
    first = [name for name in files if name.startswith(("lab0/", "lab1/"))]
    found = grants.exports(ROOT, [*first, *grants.GIVEN])
    for name in contracts.LATER:
        assert {"tl_im2col", "tl_train_epoch"} <= found[name]
        assert not {"tl_gemm", "tl_version"} & found[name]
