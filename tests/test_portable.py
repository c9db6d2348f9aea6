"""BITS=portable: equal checkpoints, byte for byte, whatever vectors the program was built for and
however many threads it has; and what cannot promise that is refused.

The trainer is compiled for machines of several widths, all of it, and trains nets for some steps.

GRADLAB_TEST_ALL=1: also net c, PRECISION=bf16, double, AVX2 by gcc and by clang where that has
OpenMP, and the exponential of every float.
"""

import hashlib
import os
import shutil
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import training_runs

ROOT = training_runs.ROOT
ALL = os.environ.get("GRADLAB_TEST_ALL") == "1"
CPU = set(Path("/proc/cpuinfo").read_text().split())

# What the trainer is built for: bits of a vector (1: numbers one by one; fma is then a function of
# libm's, exact as the instruction is) -> what the machine must have, compiler and its options.
WIDTHS = {
    "512": ("avx512vl", ["gcc", "-march=x86-64-v4", "-mprefer-vector-width=512", "-O3"]),
    "256": ("fma", ["gcc", "-march=x86-64-v3", "-O2"]),
    "256 by clang": ("fma", ["clang", "-march=x86-64-v3", "-O2"]),
    "1": ("sse2", ["gcc", "-march=x86-64", "-DVEC_PLAIN", "-O1"]),
}


def has_openmp(compiler: str) -> bool:
    """clang is often there without it."""
    return shutil.which(compiler) is not None and subprocess.run(
        [compiler, "-fopenmp", "-E", "-x", "c", "-"], input="#include <omp.h>", text=True,
        capture_output=True).returncode == 0  # fmt: skip


# (build/float/train is there in any case, of the machine's own width: 512 or 256)
BUILT = ["1"] + (["256"] if "avx512vl" in CPU or ALL else [])
if ALL:
    BUILT += [w for w in ("512", "256 by clang")
              if WIDTHS[w][0] in CPU and has_openmp(WIDTHS[w][1][0])]  # fmt: skip

# Three steps, or twice two, in which each kind of step has its turn.
SHORT = ["LIMIT=36", "BATCH=16", "EPOCHS=1", "SEED=3", "DEVICE=cpu"]
RUNS = {
    "a": ["NET=a", "DATASET=shapes10"],
    "b": ["NET=b", "DATASET=shapes10", "NESTEROV=1", "WD=5e-4", "AUG=crop+flip", "LIMIT=30",
          "EPOCHS=2", "SCHED=step:1:0.3"],
    "m": ["NET=m", "DATASET=mnist", "LIMIT=20", "BATCH=8", "WD=1e-4"],
}  # fmt: skip
# SHA-256 of the weights after these runs, as the first machine had them: what all others must have.
# (A kernel that adds in another order on purpose changes them once, and says so in CHANGELOG.md.)
WEIGHTS = {
    "a": "e6c70441f46c43959917ff7f24c316a7d5076a91b2d4a2b46fc0b012dd7c8fd8",
    "b": "587474daa469cff19bfb03bf462e7573485d957961161ed27354186d956cab7b",
    "m": "8414d8dfd681c0ed1760548f04bd627e280464b5baa9cfcbeb99ceeb099a29c9",
}
MORE_RUNS = {
    # (two images have room for columns alone: kernels/conv2d/01_direct_columns.c)
    "c": ["NET=c", "DATASET=shapes10", "LIMIT=4", "BATCH=2"],
    "bf16": ["NET=b", "DATASET=shapes10", "PRECISION=bf16"],
}


# ---- programs and data ---------------------------------------------------------------------------

def flags_of(source: str) -> list:
    """As mk/modes.mk has them."""
    exact = source.startswith("kernels/") or source == "tl/portable.c"
    return ["-std=gnu11", "-fopenmp", "-fno-math-errno", "-w", "-Wno-psabi", "-Itl/include", "-I.",
            *(["-ffp-contract=off"] if exact else [])]  # fmt: skip


def compile_object(task: tuple) -> str:
    command, source, to, real = task
    subprocess.run([*command, *flags_of(source), *real, "-c", "-o", to, source], cwd=ROOT,
                   check=True, capture_output=True, timeout=600)  # fmt: skip
    return to


def link(to: Path, compiler: str, objects: list) -> Path:
    libs = subprocess.run(["pkg-config", "--libs", "openblas"], capture_output=True, text=True)
    subprocess.run([compiler, "-fopenmp", "-o", to, *objects,
                    *(libs.stdout.split() or ["-lopenblas"]), "-lm", "-ldl"],
                   check=True, capture_output=True, timeout=600)  # fmt: skip
    return to


def sources() -> list:
    places = ("solution/lab*/*.c", "tl/*.c", "kernels/*/*.c", "programs/*.c")
    found = [str(path.relative_to(ROOT)) for place in places for path in ROOT.glob(place)]
    others = {s for s in found if s.startswith("programs/main_")} - {"programs/main_train.c"}
    return sorted(set(found) - others - {"programs/rungs_cuda.c"})


def build(folder: Path, width: str, real: tuple = ()) -> dict:
    """source -> object of a whole trainer of that width."""
    folder.mkdir()
    tasks = {s: (WIDTHS[width][1], s, f"{folder}/{s.replace('/', '_')}.o", real) for s in sources()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = dict(zip(tasks, pool.map(compile_object, tasks.values()), strict=True))
    mode = "double" if real else "float"
    return made | {"build_info": str(ROOT / f"build/{mode}/build_info.o")}


def name_of(width: str) -> str:
    return "train" + width.replace(" ", "_")


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    root = tmp_path_factory.mktemp("portable")
    return {width: build(root / name_of(width), width) for width in BUILT}


@pytest.fixture(scope="module")
def programs(objects, tmp_path_factory):
    root = tmp_path_factory.mktemp("programs")
    return {"the machine's": training_runs.TRAIN} | {
        width: link(root / name_of(width), WIDTHS[width][1][0], made.values())
        for width, made in objects.items()}


@pytest.fixture(scope="module")
def data_root(tmp_path_factory):
    """shapes10, and a set in MNIST's form: noise that gets darker with the label."""
    root = tmp_path_factory.mktemp("data")
    drawn = Path(training_runs.environment()["GRADLAB_DATA"])
    (root / "shapes10").symlink_to(drawn / "shapes10")
    (root / "mnist").mkdir()
    for stem, count in (("train", 60000), ("t10k", 10000)):
        labels = bytes(i * 7 % 10 for i in range(count))
        image = [bytes((i * i + k) % 251 // (k + 1) for i in range(784)) for k in range(10)]
        (root / f"mnist/{stem}-images-idx3-ubyte").write_bytes(
            struct.pack(">4I", 2051, count, 28, 28) + b"".join(image[k] for k in labels))
        (root / f"mnist/{stem}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 2049, count) + labels)
    yield root
    shutil.rmtree(root / "mnist")


def start(program, data_root, out, *options) -> subprocess.CompletedProcess:
    env = training_runs.environment() | {
        "GRADLAB_DATA": str(data_root), "OMP_WAIT_POLICY": "passive"}
    return subprocess.run([program, *SHORT, *options, f"OUT={out}"], env=env, text=True,
                          capture_output=True, timeout=training_runs.PATIENCE_S)  # fmt: skip


def checkpoint(program, data_root, out, *options) -> bytes:
    done = start(program, data_root, out, "BITS=portable", *options)
    assert done.returncode == 0, done.stderr
    return (out / "checkpoint").read_bytes()


def weights(state: bytes) -> bytes:
    found = [state[begin:end] for _, begin, end, name in training_runs.sections(state)
             if name.startswith("w/")]  # fmt: skip
    assert found
    return b"".join(found)


# ---- claims --------------------------------------------------------------------------------------

@pytest.mark.parametrize("net", [*RUNS, *(MORE_RUNS if ALL else {})])
def test_checkpoints_are_equal_at_every_width_and_number_of_threads(
        programs, data_root, tmp_path, net):
    options = (RUNS | MORE_RUNS)[net]
    found = {}
    for width, program in programs.items():
        for threads in (1, 2):
            out = tmp_path / f"{name_of(width)}-{threads}"
            found[width, threads] = checkpoint(
                program, data_root, out, *options, f"THREADS={threads}")
    first = next(iter(found.values()))
    assert [which for which, state in found.items() if state != first] == []
    if net in WEIGHTS:
        found = hashlib.sha256(weights(first)).hexdigest()
        assert found == WEIGHTS[net], "the first machine had others"


if ALL:  # (else it would be skipped, and named)
    @pytest.mark.parametrize("net", ["a", "m"])
    def test_checkpoints_are_equal_in_double(data_root, tmp_path, net):
        made = build(tmp_path / "objects", "1", ("-DTL_REAL_DOUBLE",))
        plain = link(tmp_path / "plain", "gcc", made.values())
        assert checkpoint(plain, data_root, tmp_path / "1", *RUNS[net], "THREADS=1") == checkpoint(
            ROOT / "build/double/train", data_root, tmp_path / "2", *RUNS[net], "THREADS=2")


def planted(objects, tmp_path, source: str, old: str, new: str) -> Path:
    """The trainer without vectors, with another text in one source."""
    text = (ROOT / source).read_text()
    assert text.count(old) == 1, f"{source}: {text.count(old)} of {old}"
    copy = tmp_path / Path(source).name
    copy.write_text(text.replace(old, new))
    command = [*WIDTHS["1"][1], f"-I{(ROOT / source).parent}"]
    to = f"{tmp_path}/planted.o"
    subprocess.run([*command, *flags_of(source), "-c", "-o", to, copy], cwd=ROOT, check=True,
                   capture_output=True, timeout=600)  # fmt: skip
    return link(tmp_path / "planted", command[0], (objects["1"] | {source: to}).values())


# what somebody might change for one machine alone: file, line, what it becomes, net
PLANTS = {
    "lanes_in_another_order": (
        "kernels/conv2d/01_direct_weight.c",
        "for (int i = 0; i < TL_DIRECT_LANES / 2; i++) total += both[i];",
        "for (int i = TL_DIRECT_LANES / 2 - 1; i >= 0; i--) total += both[i];", "a"),
    "a_product_rounded_before_its_sum": (
        "kernels/sgd/01_fma.c",
        "w[i] = lane_fma(down, nesterov ? lane_fma(mu, v, g) : v, w[i]);",
        "{ tl_real by = down * (nesterov ? lane_fma(mu, v, g) : v); w[i] = w[i] + by; }", "b"),
    "an_exponential_of_libm": (
        "kernels/softmax_xent/01_lanes.c", "lanes_exp(e);", "FOR_LANES(l) e[l] = expf(e[l]);", "a"),
    "slices_of_another_length": (
        "kernels/gemm/03_vectors.c", "DEPTH = 1024 / sizeof(tl_real)", "DEPTH = 192", "a"),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
def test_another_order_on_one_machine_shows(objects, data_root, tmp_path, plant):
    *change, net = PLANTS[plant]
    other = planted(objects, tmp_path, *change)
    assert checkpoint(other, data_root, tmp_path / "other", *RUNS[net]) != checkpoint(
        training_runs.TRAIN, data_root, tmp_path / "as_it_is", *RUNS[net])


def test_what_promises_nothing_is_refused(data_root, tmp_path):
    """By name, before a data set is read; a build without fma has no such kernels at all."""
    for options, words in {
        ("BITS=exact",): ["BITS=exact", "fast or portable"],
        ("BITS=portable", "RUNGS=none"): ["leave out RUNGS=none"],
        ("RUNGS=portable",): ["BITS=portable"],
        ("BITS=portable", "DEVICE=hostcuda"): ["BITS=portable", "hostcuda", "DEVICE=cpu"],
    }.items():
        done = start(training_runs.TRAIN, data_root, tmp_path / "refused", *RUNS["a"], *options)
        training_runs.expect_one_line(done.returncode, done.stderr, *words)
    assert not (tmp_path / "refused").exists()


def test_a_run_goes_on_with_the_bits_that_it_began_with(data_root, tmp_path):
    out = tmp_path / "portable"
    checkpoint(training_runs.TRAIN, data_root, out, *RUNS["b"], "STEPS=2")
    done = start(training_runs.TRAIN, data_root, tmp_path / "fast", *RUNS["b"],
                 f"RESUME={out}/checkpoint")  # fmt: skip
    training_runs.expect_one_line(done.returncode, done.stderr, "bits=portable")
    whole = checkpoint(training_runs.TRAIN, data_root, tmp_path / "whole", *RUNS["b"])
    assert whole == checkpoint(training_runs.TRAIN, data_root, tmp_path / "resumed", *RUNS["b"],
                               f"RESUME={out}/checkpoint")  # fmt: skip


# ---- the exponential -----------------------------------------------------------------------------

EXP = """
#include "kernels/lanes16.h"
#include <stdio.h>
#include <stdlib.h>
/* the largest error, in units of the last place of a float, over the floats from `bits` to `end` */
static double worst(uint32_t bits, uint32_t end, uint32_t step) {
    double most = 0;
    for (uint64_t at = bits; at <= end; at += (uint64_t)step * LANES) {
        float x[LANES], y[LANES];
        FOR_LANES(l) {
            uint64_t b = at + (uint64_t)(step * (uint32_t)l);
            uint32_t word = b <= end ? (uint32_t)b : end;
            memcpy(&x[l], &word, sizeof word);
        }
        memcpy(y, x, sizeof y);
        lanes_exp(y);
        FOR_LANES(l) {
            double right = exp((double)x[l]);
            uint64_t exponent;
            memcpy(&exponent, &right, sizeof exponent);
            exponent = (exponent >> 52) - 23; /* 2^23 units in a number of that size, ... */
            if (exponent < 1023 - 149) exponent = 1023 - 149; /* ... of at least 2^-149 */
            exponent <<= 52;
            double unit, error;
            memcpy(&unit, &exponent, sizeof unit);
            error = fabs((double)y[l] - right) / unit;
            if (!(error <= most)) most = error;
        }
    }
    return most;
}
int main(int argc, char **argv) {
    uint32_t step = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    printf("%.6f %.6f\\n", worst(0x80000000u, 0xc2d00000u, step), /* -0 to -104 */
           worst(0, 0x42b17217u, step)); /* 0 to the last below overflow */
    return 0;
}
"""


def test_the_exponential_is_within_two_units(tmp_path):
    """Over all floats with a result; without GRADLAB_TEST_ALL every 211th of them."""
    source = tmp_path / "exp.c"
    source.write_text(EXP)
    subprocess.run(["gcc", "-std=gnu11", "-O3", "-march=native", "-ffp-contract=off",
                    "-fno-math-errno", "-Itl/include", "-I.", "-o", tmp_path / "exp", source,
                    "-lm"], cwd=ROOT, check=True, timeout=120)  # fmt: skip
    done = subprocess.run([tmp_path / "exp", "1" if ALL else "211"], check=True, text=True,
                          capture_output=True, timeout=1800)  # fmt: skip
    assert all(0.5 < float(error) < 2 for error in done.stdout.split()), done.stdout
