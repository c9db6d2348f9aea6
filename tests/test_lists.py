"""What is said once is listed once: operations in tl/ops.def, nets in tl/nets.c, options of
programs in programs/options.def, rungs in kernels/rungs.def, labs by their folders.

A name stands in its definition and where it is used for itself: in the rooms of its lab, in its
oracle, in its kernel, in what tests it. Whatever else names one is a list that somebody keeps by
hand, and that a new operation would be missing from; so each such file is here with its reason.
Comments and docstrings may name what they like.
"""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import operations
import pytest
from test_rooms import ROOT, tracked

TEXTS = (".c", ".h", ".cu", ".cuh", ".cpp", ".inc", ".def", ".py", ".sh", ".mk", ".awk", ".toml",
         ".yml", "Makefile")
# what is written by programs, what this test reads, and what a step of tests/grow adds
NOT_READ = ("results/*", "tests/grow/*", "tests/test_lists.py")

# ---- operations ----------------------------------------------------------------------------------

OPERATION_ROOMS = {
    "tl/include/tl/*": "rows and contracts",
    "solution/lab*": "what is written",
    "labs/lab*": "what is to be written",
    "autograder/lab*": "claims, tasks and mutants of its lab",
    "autograder/oracle/*": "its definition in double",
    "autograder/claim/*": "data and oracles of claims about it",
    "autograder/hostile/*": "two operations stand for all, whose code is replaced",
    "kernels/*": "a rung replaces it",
    "programs/bench/*": "what the oracle says of it, and the shapes that it is timed at",
    "programs/show/*": "what is shown of each lab runs its operations",
    "bridge/*": "an operator of PyTorch is written around it, by hand and twice",
    "hostcuda/*": "tasks and BLAS routines of equal names: hostcuda knows none of ours",
    "tests/*": "a test names what it tests",
    "*/test_*.py": "a test names what it tests",
    "*/tests/*": "a test names what it tests",
}
OPERATION_FILES = {
    "autograder/call/call_ops.c": "batch_load leads to more memory than a row says",
    "autograder/call/call_table.c": "batch_load, likewise",
    "autograder/grade/allowed_calls.toml": "no task may hand its product to tl_gemm",
    "autograder/call/call_graph_ops.c": "operations of the tape, which are no rows",
    "autograder/maintain/cost.py": "no operation: a sum",
    "baseline/bench_ops.py": "PyTorch's way to run what is timed",
    "baseline/kinks.py": "PyTorch's functions of equal names",
    "baseline/nets.py": "PyTorch's modules of equal names",
    "baseline/twin.py": "no operation: PyTorch's reduction",
    "tl/abi/example.c": "an example of a call",
    "tl/abi/example.py": "an example of a call",
    "programs/ceilings.c": "the largest product and copy: ceilings of the machine",
    "programs/main_bench_conv2d.c": "the loss of the net whose convolutions are timed",
    "programs/main_predict.c": "it loads the batches that it predicts",
    "programs/profile.c": "batch_load begins a step",
    "report/build.py": "no operation: a scale",
    "report/operators.py": "the tables of convolutions, and operations that have a Chinese name",
    "report/words_zh.py": "operations that have a Chinese name",
    "tl/block.c": "what a block runs in the place of single operations",
    "tl/cuda/cuda_device.cu": "the entries of the table that are no rows",
    "tl/cuda/metrics.cu": "metrics_add is given",
    "tl/geometry.c": "geometry is checked by its name",
    "tl/metrics.c": "metrics_add is given",
    "tl/nets.c": "layers of nets",
    "tl/optimizer.c": "which optimiser is which step",
    "tl/precision_apply.c": "where operations round, and what it takes the place of",
    "tl/trainer.c": "a step of training",
}
PREFIX = r"(?:tl_|tl_op_|tl_module_|call_|oracle_|ops->|ops\.)"


def without_comments(name: str, text: str) -> str:
    """Also without Python's docstrings; C's strings stay."""
    if name.endswith((".py", ".toml")):
        text = re.sub(r'^\s*"""(?:.|\n)*?"""', "", text, flags=re.M)
    if name.endswith((".py", ".sh", ".mk", ".toml", ".yml", ".awk", "Makefile")):
        return re.sub(r"(^|\s)#.*", r"\1", text)
    return re.sub(r"//[^\n]*|/\*(?:.|\n)*?\*/", "", text)


def texts(root: Path) -> dict:
    names = [n for n in tracked(root, *TEXTS) if not any(fnmatchcase(n, p) for p in NOT_READ)]
    return {n: without_comments(n, (root / n).read_text(encoding="utf-8", errors="replace"))
            for n in names}


def named(names: list) -> re.Pattern:
    """An operation in code: with a prefix of ours; or alone, quoted or in a list of words, where
    its name is no word of every day's C."""
    plain = sorted((n for n in names if "_" in n or not n.isalpha()), key=len, reverse=True)
    every = sorted(names, key=len, reverse=True)
    alone = rf"(?<![\w.\-/])({'|'.join(plain)})(?!\w)"
    quoted = rf"['\"]({'|'.join(every)})['\"]"
    return re.compile(rf"\b{PREFIX}({'|'.join(every)})(?!\w)|{alone}|{quoted}")


def unlisted(root: Path, pattern: re.Pattern, rooms: dict, files: dict) -> list:
    """`file: name` of what stands outside of the allow list."""
    found = []
    for name, text in texts(root).items():
        if name in files or any(fnmatchcase(name, room) for room in rooms):
            continue
        said = {next(filter(None, match.groups())) for match in pattern.finditer(text)}
        found += [f"{name}: {word}" for word in sorted(said)]
    return found


def operation_names() -> list:
    return [row.name for row in operations.read()]


def test_operations_are_named_in_their_rooms_alone():
    assert not unlisted(ROOT, named(operation_names()), OPERATION_ROOMS, OPERATION_FILES)


# ---- nets, options, rungs, labs ------------------------------------------------------------------

def words_in_a_row(names: list) -> re.Pattern:
    """Two of the names beside each other, as lists have them: "a", "b"; a|b|c; a,b; a b c."""
    one = rf"['\"]?(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})['\"]?"
    return re.compile(rf"(?<![\w.\[(])({one}(?:(?:, ?|\|| ){one}){{2,}})(?![\w.])")


def net_names() -> list:
    return re.findall(r'\.name = "(\w+)"', (ROOT / "tl/nets.c").read_text())


def option_names() -> list:
    return re.findall(r"^OPTION\((\w+),", (ROOT / "programs/options.def").read_text(), re.M)


def rung_functions() -> list:
    rows = (ROOT / "kernels/rungs.def").read_text()
    return re.findall(r"^(?:RUNG|STEP)_\w+\(\w+, \d+, (\w+)[,)]", rows, re.M)


def lab_names() -> list:
    return sorted(path.parent.name for path in (ROOT / "autograder").glob("lab*/lab.toml"))


NET_FILES = {
    "autograder/grade/tests/test_tokens.py": "letters",
    "tl/include/tl/ops_row.h": "letters",
    "baseline/test_nets.py": "parameters of each net, worked out by hand: a test of its own",
    "report/measure.py": "what is measured for a report, and how long that takes",
    "tools/gpu_suite.sh": "which nets are trained to their accuracies on a GPU",
}
RUNG_FILES = {
    "tests/sectors/products.cuh": "each file in a namespace of its own, as the other kernels there",
    "tests/sectors/reductions.cuh": "likewise",
    "tests/test_bench.py": "a rung is spoilt by a wrong one around it",
    "tests/test_lanes.py": "one rung by itself, compiled for several machines",
}
# TWIN_OPTIONS and the options of goals are what a goal takes, not what there is
OPTION_FILES = {
    "mk/options.mk": "which options a goal takes",
    "baseline/bench_step.py": "which options of a run it sets itself",
    "baseline/parity.py": "which options of a run it sets itself",
}
LAB_FILES = {
    "data/fetch.sh": "numbers of CIFAR-10's batches",
}


def test_nets_are_listed_once():
    assert net_names() == ["a", "b", "c", "m"]
    nets = re.compile(r"""(["']a["'], ?["']b["']|\ba\|b\|c|\ba,b,c\b|\ba, b, c\b)""")
    assert not unlisted(ROOT, nets, {"hostcuda/*": "letters of examples"}, NET_FILES)


def test_rungs_are_listed_once():
    rooms = {"kernels/*": "where they are written"}
    assert rung_functions()
    pattern = re.compile(rf"\b({'|'.join(rung_functions())})\b")
    assert not unlisted(ROOT, pattern, rooms, RUNG_FILES)


def test_options_are_listed_once():
    """Three or more of them in a row are a list."""
    tests = {"*/test_*.py": "what a test types", "tests/*": "what a test types",
             "*/tests/*": "what a test types"}
    found = unlisted(ROOT, words_in_a_row(option_names()), tests, OPTION_FILES)
    assert not found


def test_labs_are_their_folders():
    labs = lab_names()
    assert len(labs) == 6
    pattern = re.compile(rf"({words_in_a_row(labs).pattern}|\b0 1 2 3 4 5\b|\b1 2 3 4 5\b)")
    tests = {"*/test_*.py": "what a test types", "tests/*": "what a test types",
             "*/tests/*": "what a test types", "tl/*": "TL_EACH counts", "hostcuda/*": "numbers",
             "autograder/*_test.c": "numbers"}
    assert not unlisted(ROOT, pattern, tests, LAB_FILES)


# ---- and each of them sees -----------------------------------------------------------------------

@pytest.mark.parametrize("line", ['NAMES = ["conv2d_fwd"]', "x = call_relu_fwd", 'f("scale")'])
def test_a_planted_operation_is_named(tmp_path, line):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/planted.py").write_text(f'"""conv2d_fwd"""\n# {line}\n')
    pattern = named(operation_names())
    assert not unlisted(tmp_path, pattern, OPERATION_ROOMS, OPERATION_FILES)
    (tmp_path / "tools/planted.py").write_text(f"{line}\n")
    assert len(unlisted(tmp_path, pattern, OPERATION_ROOMS, OPERATION_FILES)) == 1


@pytest.mark.parametrize("names, line", [
    (option_names, "RUN = LR SEED BATCH"), (option_names, 'x = ("LR", "SEED", "BATCH")'),
    (lab_names, "GOALS = lab0 lab1 lab2"), (lab_names, 'labs = ["lab0", "lab1", "lab2"]')])
def test_a_planted_list_is_named(tmp_path, names, line):
    (tmp_path / "planted.mk").write_text(f"{line}\n")
    assert len(unlisted(tmp_path, words_in_a_row(names()), {}, {})) == 1


@pytest.mark.parametrize("rooms", [OPERATION_FILES, NET_FILES, OPTION_FILES, LAB_FILES])
def test_the_allow_list_names_files_that_are_there(rooms):
    assert not [name for name in rooms if not (ROOT / name).is_file()]
