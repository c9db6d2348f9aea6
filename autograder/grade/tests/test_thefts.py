"""A product that is taken from the process instead of written: through the dispatch table, by its
place in it, and through the address of the C half. None of it names what it takes, so the source
gate lets it pass; and what it finds refuses."""

import json
import os
import platform
import re
import shutil
import subprocess

import grants
import make
import pytest
import skeletons
from submission import ROOT

# Of labs, without spaces, which make takes; tests that run side by side have one each.
FOLDER = "build/tests/thefts-" + os.environ.get("PYTEST_XDIST_WORKER", "alone")
REFUSED = "is not part of this worker"
HEAD = """#include "tl/matmul.h"

#include <string.h>

typedef tl_status (*product)(tl_ctx *, tl_real *, const tl_real *, const tl_real *,
                             const tl_matmul_geom *);

"""
# The context leads to the table, and the table to the other product.
THROUGH_THE_TABLE = HEAD + """tl_status tl_%(own)s(tl_ctx *ctx, tl_real *C, const tl_real *A,
        const tl_real *B, const tl_matmul_geom *g) {
    void *const *table;
    product other;
    memcpy(&table, (const char *)ctx + %(ops)d, sizeof table);
    memcpy(&other, (const char *)table + %(other)d, sizeof other);
    return other(ctx, C, A, B, g);
}
"""
# On the stack there are addresses of the program; two calls agree on where it lies, and from there
# it is known how far its own tl_matmul is. A kernel without work is launched for the count.
BY_AN_ADDRESS = HEAD.replace("tl/matmul.h", "tl/cuda.h\"\n#include \"tl/matmul.h") + """
static __global__ void decoy() {}

extern "C" tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
        const tl_matmul_geom *g) {
    static const size_t places[] = {%(places)s};
    const volatile size_t *stack;
    void *here = &stack;
    size_t seen[64], of[64], count = 0;
    memcpy(&stack, &here, sizeof stack);
    decoy<<<1, 1, 0, tl_stream(ctx)>>>();
    TL_LAUNCHED();
    for (size_t i = 0; i < 400 && count < 64; i++)
        for (size_t k = 0; k < sizeof places / sizeof *places && count < 64; k++) {
            size_t word = stack[i], base = word - places[k];
            if (word >> 47 || word >> 40 < 0x50 || base & 0xfff) continue;
            for (size_t j = 0; j < count; j++)
                if (seen[j] == base && of[j] != k) {
                    product other;
                    size_t at = base + %(matmul)d;
                    memcpy(&other, &at, sizeof other);
                    return other(ctx, C, A, B, g);
                }
            seen[count] = base;
            of[count++] = k;
        }
    return TL_NOT_IMPLEMENTED();
}
"""


def run(*words: str) -> list:
    """Grades lab 1; its claims."""
    done = make.run("-C", str(ROOT), "grade", "LAB=1", f"LABS={FOLDER}", *words, timeout=900,
                    LC_ALL="C")
    assert done.returncode == 0, done.stderr
    result = ROOT / "build/grade" / FOLDER.replace("/", "-") / "lab1/part.json"
    return json.loads(result.read_text())["claims"]


@pytest.fixture
def lab1():
    """The solution's lab 1, to steal into."""
    def clear() -> None:
        for folder in [ROOT / FOLDER, *ROOT.glob(f"build/*/from/{FOLDER}")]:
            shutil.rmtree(folder, ignore_errors=True)

    clear()
    shutil.copytree(ROOT / "solution/lab1", ROOT / FOLDER / "lab1")
    yield ROOT / FOLDER / "lab1"
    clear()


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> dict:
    """Where the entries of the table lie, as anybody learns from the headers."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "places.c").write_text("""#include <stdio.h>
#include "tl/backend.h"
#include "tl/context.h"
int main(void) {
    printf("{\\"ops\\": %zu, \\"matmul\\": %zu, \\"gemm\\": %zu}", offsetof(tl_ctx, ops),
           offsetof(tl_backend, matmul), offsetof(tl_backend, gemm));
}
""")
    subprocess.run(["gcc", f"-I{ROOT}/tl/include", "-o", folder / "places", folder / "places.c"],
                   check=True)
    return json.loads(subprocess.run([folder / "places"], capture_output=True).stdout)


def sources(program) -> set:
    """The files of C that a program was linked of, as its symbols have them."""
    said = subprocess.run(["nm", "-a", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" a (\S+)$", said, re.MULTILINE))


def holds_what_is_granted(variant: str, side: str) -> None:
    """Of each file either its own object or what stands for it."""
    files = [name.removeprefix("labs/") for name in skeletons.read_manifest(ROOT)]
    world = grants.of_tree(1, files, ROOT).world(variant, side)
    mode, place = ("float-check", "-cuda") if side == "cuda" else ("float", "")
    folder = ROOT / "build" / mode / "from" / FOLDER / "lab1" / (variant + place)
    for program, kind in ([(folder / "worker", ".c")] + [
            (folder / "libtl_hostcuda.so", ".cu")] * (side == "cuda")):
        linked, part = sources(program), world.of_kind(kind)
        short = {f: f.split("/")[-1].removesuffix(".c") for f in (*files, *grants.GIVEN)}
        assert linked >= {f"{short[f]}_absent.c" for f in part.absent}, program
        assert not linked & {f"{short[f]}_absent.c" for f in part.own + part.reference}
        for f in part.absent:
            assert not [s for s in linked if re.fullmatch(rf"{short[f]}(\..*)?\.c(pp)?", s)], f


def steal(lab1, places: dict, own: str, other: str) -> None:
    (lab1 / f"{own}.c").write_text(THROUGH_THE_TABLE % {
        "own": own, "ops": places["ops"], "other": places[other]})


def test_one_product_is_not_had_through_the_entry_of_another(lab1, places):
    steal(lab1, places, "matmul", "gemm")
    steal(lab1, places, "gemm", "matmul")
    claims = run("TASKWISE=1", "DEVICES=cpu", "T=*/*_product_accumulates")
    assert {c["task"] for c in claims} == {"matmul", "gemm"}
    assert all(c["points"] == 0 and REFUSED in c["failures"][0]["text"] for c in claims), claims
    for variant in ("only-matmul", "only-gemm"):
        holds_what_is_granted(variant, "c")


def test_the_entry_is_found_where_it_leads_to_a_product(lab1, places):
    """Or the test above would fail to steal for another reason. (The other task is one's own.)"""
    steal(lab1, places, "matmul", "gemm")
    claims = run("DEVICES=cpu", "T=*/own_product_accumulates")
    assert [c["verdict"] for c in claims] == ["pass"], claims


def returns(worker) -> list:
    """Where calls of the worker's own functions come back to."""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", worker], capture_output=True,
                          text=True, check=True).stdout
    found = []
    for name in ("main", "worker_serve", "call_execute"):
        body = said.split(f"<{name}>:\n")[1].split("\n\n")[0]
        found += re.findall(r"\bcall .*\n\s*([0-9a-f]+):", body)
    return [int(at, 16) for at in found]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads calls of x86-64")
def test_the_c_half_is_not_there_for_the_cuda_half_to_call(lab1):
    asked = "TASKWISE=1", "DEVICES=hostcuda", "T=matmul/own_product_accumulates"
    (lab1 / "matmul.c").write_text("this is broken\n")
    assert [c["verdict"] for c in run(*asked)] == ["pass"]
    worker = ROOT / "build/float-check/from" / FOLDER / "lab1/only-matmul-cuda/worker"
    symbols = subprocess.run(["nm", worker], capture_output=True, text=True, check=True).stdout
    matmul = int(re.search(r"^(\w+) . tl_matmul$", symbols, re.MULTILINE)[1], 16)
    (lab1 / "matmul.cu").write_text(BY_AN_ADDRESS % {
        "places": ", ".join(map(str, returns(worker))), "matmul": matmul})
    claim, = run(*asked)
    # (the call itself is refused before, where jumps are looked at: hostcuda/check/calls.c)
    failure = claim["failures"][0]
    assert claim["points"] == 0 and (failure["kind"] == "foreign_call"
                                     or REFUSED in failure["text"]), failure
    holds_what_is_granted("only-matmul", "cuda")
