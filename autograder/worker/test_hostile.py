"""What hostile, broken and careless code can do to a grader: every deed of autograder/hostile, from
within the operations of lab 2, must be named by its kind and cost the claims that call it alone."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "autograder/grade"))
import sandbox  # noqa: E402

BUILD = ROOT / "build" / "float"
OPERATIONS = ["im2col", "col2im", "conv2d_fwd", "conv2d_bwd_input", "conv2d_bwd_weight",
              "conv2d_bwd_bias"]
# one claim that calls the operation, and one that does not
CLAIM = {"im2col": "lab2_im2col/padding_becomes_zero",
         "col2im": "lab2_col2im/padding_is_dropped",
         "conv2d_fwd": "lab2_conv2d_fwd/forward_without_bias_matches_definition",
         "conv2d_bwd_input": "lab2_conv2d_bwd/input_gradient_matches_numeric",
         "conv2d_bwd_weight": "lab2_conv2d_bwd/weight_gradient_matches_numeric",
         "conv2d_bwd_bias": "lab2_conv2d_bwd/bias_gradient_matches_numeric"}
OTHER = "lab1_transpose/rows_become_columns"

# deed -> the kind that names it; "pass" where it has no consequence
KIND = {"aborts": "crash", "allocates_without_end": "memory", "changes_its_input": "input_changed",
        "closes_every_file": "closed", "closes_its_output": "pass", "crashes": "crash",
        "damages_the_heap": "crash", "divides_by_zero": "crash", "exits": "exit",
        "exits_with_a_code": "exit", "floods": "flood", "forges_a_reply": "garbage",
        "forges_a_verdict": "pass", "forks": "pass", "leaks_memory": "leak",
        "leaves_a_thread": "garbage", "loops": "timeout", "poses_as_a_broken_worker": "exit",
        "reads_far_away": "crash", "recurses": "crash", "sleeps": "stuck",
        "survives_signals": "timeout", "takes_its_time": "pass",
        "writes_before_the_start": "fence", "writes_garbage": "garbage",
        "writes_past_the_end": "fence"}
# what these do depends on whether the machine lets the worker have a process namespace of its own,
# or on how many calls a claim makes
EITHER = {"kills_itself": {"pass", "crash"}, "kills_its_parent": {"pass", "crash", None},
          "dawdles": {"pass", "timeout"}}
EVERYWHERE = ["crashes", "exits", "floods", "loops", "writes_garbage"]


# Where the worker runs: as a process, and within walls where this machine can build them.
FOLDER = tempfile.TemporaryDirectory(prefix="gradlab-")
WALLS = Path(FOLDER.name, "sandbox")
PLACES = {"process": {}}
if not sandbox.write(WALLS, []):
    PLACES["walls"] = {"GRADLAB_SANDBOX": str(WALLS)}


def deeds() -> list:
    text = (ROOT / "autograder/hostile/hostile.h").read_text()
    return [line.split("X(")[1].split(")")[0] for line in text.splitlines()
            if line.lstrip().startswith("X(")]


@pytest.fixture(scope="session")
def worker(tmp_path_factory) -> Path:
    """One worker that holds all deeds; its name says which of them it does."""
    folder = tmp_path_factory.mktemp("hostile")
    grader = BUILD / "grader"
    assert grader.exists(), "no build/float/grader: make build/float/grader build/float/tests"
    flags = ["-std=gnu11", "-O1", "-g1", "-gdwarf-4", "-fopenmp", "-march=native", "-Ilabs/include",
             "-I."]
    renamed = [f"-Dtl_{o}=reference_{o}" for o in OPERATIONS]
    objects = []

    def compile_c(source: Path, *more: str) -> None:
        target = folder / (source.stem + ".o")
        subprocess.run(["gcc", *flags, *more, "-c", "-o", target, source], cwd=ROOT, check=True)
        objects.append(str(target))

    for source in sorted((ROOT / "autograder/hostile").glob("*.c")):
        compile_c(source)
    for source in sorted((ROOT / "autograder/worker").glob("*.c")):
        compile_c(source)
    for name in ("im2col", "col2im", "conv2d_fwd", "conv2d_bwd"):
        own = [d for d in renamed if f"tl_{name}" in d]
        compile_c(ROOT / f"solution/lab2/{name}.c", *own)
    given = ["labs/common/*.c", "solution/lab[!2]/*.c"]
    given += [f"labs/common/program/{n}.c" for n in ("device", "device_cpu", "device_plugin",
                                                     "rungs_apply")]
    given += [f"autograder/call/call_{n}.c" for n in ("direct", "table", "tensor", "train", "graph",
                                                      "graph_ops")]
    for pattern in given:
        objects += [str(BUILD / s.relative_to(ROOT).with_suffix(".o"))
                    for s in sorted(ROOT.glob(pattern))]
    subprocess.run(["gcc", "-fopenmp", "-o", folder / "worker", *objects, "-lopenblas", "-lm",
                    "-ldl"], check=True)
    return folder / "worker"


def judged(worker: Path, deed: str, operation: str, folder: Path, place="process") -> dict:
    """claim -> its line, for the claim of the operation and one that has nothing to do with it."""
    name = worker.with_name(f"hostile-{deed}-{operation}")
    if not name.exists():
        os.link(worker, name)
    claims = folder / "claims.jsonl"
    claims.unlink(missing_ok=True)
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "GRADLAB_WORKER": str(name),
           "GRADLAB_DEVICES": "cpu", "GRADLAB_RUNGS": "none", "GRADLAB_CLAIMS": str(claims),
           # short deadlines; but taking all memory is work
           "GRADLAB_CPU_FACTOR": "2" if deed == "allocates_without_end" else "0.25"}
    run = subprocess.run([BUILD / "grader", "-j2", "--filter", f"@({CLAIM[operation]}|{OTHER})"],
                         env=env | PLACES[place], capture_output=True, timeout=120, text=True)
    lines = claims.read_text().splitlines() if claims.exists() else []
    found = {line["claim"]: line for line in map(json.loads, lines)}
    assert len(found) == len(lines), run.stderr
    return found


def kind(line) -> str:
    if line is None:
        return None
    return "pass" if line["verdict"] == "pass" else line["kind"]


def test_every_deed_is_listed():
    assert set(deeds()) == set(KIND) | set(EITHER)


@pytest.mark.parametrize("place, operation", [("process", "conv2d_fwd"),
                                              *((place, "im2col") for place in PLACES)])
@pytest.mark.parametrize("deed", sorted(set(KIND) | set(EITHER)))
def test_deed_is_named(worker, tmp_path, deed, operation, place):
    found = judged(worker, deed, operation, tmp_path, place)
    line = found.get(CLAIM[operation])
    assert kind(line) in EITHER.get(deed, {KIND.get(deed)}), line
    assert kind(found.get(OTHER)) == "pass", "another claim has paid for it"
    if line and line["verdict"] == "fail":
        assert line["call"].startswith(operation) and line["text"]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("deed", EVERYWHERE)
def test_deed_is_named_in_every_operation(worker, tmp_path, deed, operation):
    found = judged(worker, deed, operation, tmp_path)
    assert kind(found.get(CLAIM[operation])) == KIND[deed]
    assert kind(found.get(OTHER)) == "pass"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("deed", ["crashes", "divides_by_zero", "recurses", "aborts",
                                  "reads_far_away"])
def test_a_crash_names_file_and_line(worker, tmp_path, deed, place):
    line = judged(worker, deed, "im2col", tmp_path, place)[CLAIM["im2col"]]
    assert line["file"] == f"{deed}.c" and line["line"] > 1
    assert line["backtrace"][0].startswith(f"{deed}.c:{line['line']} ")


def test_calls_that_are_slow_together_use_up_their_claim(worker, tmp_path):
    line = judged(worker, "dawdles", "conv2d_fwd", tmp_path)[CLAIM["conv2d_fwd"]]
    assert line["kind"] == "timeout" and "of this claim" in line["text"]


def test_what_is_printed_is_kept_apart_and_bounded(worker, tmp_path):
    found = judged(worker, "forges_a_verdict", "im2col", tmp_path)
    line = found[CLAIM["im2col"]]
    assert '"verdict":"pass"' in line["output"] and len(line["output"]) <= 4000
    flooded = judged(worker, "floods", "im2col", tmp_path)[CLAIM["im2col"]]
    assert len(flooded["output"]) <= 4000 < flooded["output_bytes"]
