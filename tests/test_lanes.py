"""kernels/lanes16.h: the same bits at every width of vectors, and without any.

The loss by lanes, whose exponential is its own, is compiled for machines of several widths; each
program prints a hash over the bits of what it made.
"""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# what the machine needs, and what makes gcc take that width
WIDTHS = {"none": ("fma", ["-march=x86-64-v3", "-O0"]),
          "16 bytes": ("fma", ["-march=x86-64-v3", "-O3", "-mprefer-vector-width=128"]),
          "32 bytes": ("avx2", ["-march=x86-64-v3", "-O3", "-mprefer-vector-width=256"]),
          "64 bytes": ("avx512vl", ["-march=x86-64-v4", "-O3", "-mprefer-vector-width=512"]),
          "without fma": ("sse2", ["-march=x86-64", "-O3"])}  # fmt: skip

MAIN = """
#include SOURCE
#include <stdio.h>
tl_status tl_fail(tl_status status, const char *file, int line, const char *format, ...) {
    (void)file, (void)line;
    puts(format);
    return status;
}
enum { ROWS = 50, MOST = 70 };
static tl_real x[ROWS * MOST], p[ROWS * MOST], row_loss[ROWS];
static void hash(uint64_t *sum, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        *sum = (*sum ^ ((const unsigned char *)from)[i]) * 0x100000001b3u;
}
int main(void) {
    tl_ctx ctx = {.threads = 1};
    tl_backend ops = {0};
    int32_t label[ROWS] = {0};
    uint64_t state = 1, sum = 0xcbf29ce484222325u;
    tl_rung_softmax_xent_lanes(&ops);
    for (int classes = 1; classes <= MOST; classes++) {
        for (int i = 0; i < ROWS * classes; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            int whole = (int)((state >> 33) % 4096) * (i % ROWS); /* exact: no rounding here */
            x[i] = (tl_real)(whole - 90 * 1024) / 1024;
        }
        tl_real loss;
        if (ops.softmax_xent_fwd(&ctx, &loss, row_loss, p, x, label, ROWS, classes)) return 1;
        hash(&sum, p, sizeof *p * (size_t)(ROWS * classes));
    }
    printf("%016llx\\n", (unsigned long long)sum);
    return 0;
}
"""


def hash_of(tmp_path, name, flags, source):
    program = tmp_path / name.replace(" ", "_")
    main = program.with_suffix(".c")
    main.write_text(MAIN.replace("SOURCE", f'"{source}"'))
    subprocess.run(["gcc", "-std=gnu11", "-fno-math-errno", *flags, "-Itl/include", "-I.", "-o",
                    program, main, "tl/portable.c", "-lm"],
                   cwd=ROOT, check=True, timeout=120)  # fmt: skip
    return subprocess.run([program], check=True, capture_output=True, text=True,
                          timeout=120).stdout.strip()  # fmt: skip


def hashes(tmp_path, source, *flags):
    has = set(Path("/proc/cpuinfo").read_text().split())
    return {name: hash_of(tmp_path, name, [*options, *flags], source)
            for name, (needs, options) in WIDTHS.items() if needs in has}  # fmt: skip


@pytest.mark.parametrize("real", ["float", "double"])
def test_bits_are_equal_at_every_width(tmp_path, real):
    flags = ["-DTL_REAL_DOUBLE"] if real == "double" else []
    found = hashes(tmp_path, "kernels/softmax_xent/01_lanes.c", *flags)
    assert len(found) >= 3 and len(set(found.values())) == 1, found


def test_a_product_that_may_be_rounded_twice_shows(tmp_path):
    """One `a * b + c` in the place of fma: compilers round it as they like."""
    lanes = (ROOT / "kernels/lanes16.h").read_text()
    written = "p[l] = lane_fma(p[l], r[l], TL_R(1 / factorial[term]))"
    assert lanes.count(written) == 1
    (tmp_path / "lanes16.h").write_text(
        lanes.replace(written, "p[l] = p[l] * r[l] + TL_R(1 / factorial[term])"))
    rung = (ROOT / "kernels/softmax_xent/01_lanes.c").read_text()
    planted = tmp_path / "planted.c"
    planted.write_text(rung.replace('"kernels/lanes16.h"', f'"{tmp_path}/lanes16.h"')
                       .replace('"kernels/rungs.h"', f'"{ROOT}/kernels/rungs.h"'))
    assert len(set(hashes(tmp_path, planted).values())) > 1
