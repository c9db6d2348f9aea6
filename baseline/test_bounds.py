"""One bound: what bench_ops.py judges by is what the labs' claims judge by."""

import os
import shutil
import subprocess

import bench_ops
import bounds
import programs
import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TESTS = os.path.join(ROOT, "autograder", "claim")
# What bound.c wants of a claim, without Criterion.
CLAIM = """#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include "tl/real.h"
#define cr_assert(condition, ...) assert(condition)
typedef struct claim { char bound[200]; } claim;
double *doubles(claim *c, size_t n);
"""
MAIN = r"""#include <stdio.h>
#include "bound.h"
double *doubles(claim *c, size_t n) { (void)c, (void)n; return NULL; }
int main(void) {
    for (size_t n = 1; bound_judges(n) && n <= 70000; n += n < 2000 ? 1 : 997)
        printf("%zu %a\n", n, bound_factor(n));
    return 0;
}
"""


@pytest.mark.parametrize("flags,unit,most", [
    ([], bounds.FLOAT, 1024), (["-DTL_REAL_DOUBLE"], bounds.DOUBLE, 69796),
])  # fmt: skip
def test_the_twins_bound_is_the_labs(tmp_path, flags, unit, most):
    for name in ("bound.c", "bound.h"):
        shutil.copy(os.path.join(TESTS, name), tmp_path)
    (tmp_path / "claim.h").write_text(CLAIM)
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=gnu11", "-ffp-contract=off", *flags,
                    f"-I{ROOT}", f"-I{ROOT}/tl/include", "-o", "bound", "main.c", "bound.c",
                    "-lm"], cwd=tmp_path, check=True)  # fmt: skip
    said = subprocess.run([tmp_path / "bound"], check=True, capture_output=True, text=True).stdout
    theirs = {int(n): float.fromhex(x) for n, x in map(str.split, said.splitlines())}
    assert len(theirs) >= 1024 and max(theirs) == most
    assert {n: bounds.factor(n, unit) for n in theirs} == theirs


@pytest.mark.parametrize("roundings,right", [(5, True), (9, False)])
def test_a_sum_of_four_is_allowed_seven_roundings(roundings, right):
    """(and not 12, as bench_ops.py allowed when it had a bound of its own)"""
    case = bench_ops.Case("linear", (4, 4, 4), "cpu", 1)
    wide = {name: t.double() for name, t in case.inputs.items()}
    results = case.all(wide)
    sizes = case.all({name: t.abs() for name, t in wide.items()})
    ours = {name: result.float() for name, result in results.items()}
    ours["y"] = (results["y"] + roundings * bounds.FLOAT * sizes["y"]).float()
    if right:
        assert 0.5 < case.check(ours)["ours"] <= 1
    else:
        with pytest.raises(programs.ProgramError, match="ours is wrong"):
            case.check(ours)
