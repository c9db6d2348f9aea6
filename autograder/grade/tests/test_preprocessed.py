"""The gate on preprocessed C: whose line is whose, and that what macros hide is seen."""

import subprocess
from pathlib import Path

import gate
import preprocessed
import pytest

ROOT = Path(__file__).resolve().parents[3]


def judged(tmp_path, source: str) -> list:
    """Findings in what gcc makes of a file, and nowhere else."""
    path = tmp_path / "vector_add.c"
    path.write_text(source)
    subprocess.run(["gcc", "-std=gnu11", "-fopenmp", f"-I{ROOT / 'tl/include'}", "-E", path, "-o",
                    f"{path}.i"], check=True)
    return preprocessed.findings(Path(f"{path}.i"), gate.Rules(0, path),
                                 (gate.token_findings, gate.directive_findings))


def test_lines_of_headers_are_not_the_students():
    text = ('# 0 "labs/a.c"\n# 0 "<built-in>"\n#define x\n# 1 "labs/a.c"\none\n\n'
            '# 1 "/usr/include/h.h" 1 3 4\nof a header\n# 4 "labs/a.c" 2\nfour\n'
            '# 9 "labs/a.c" 3 4\nnine\n # 1 "/usr/include/h.h"\nten')
    lines, numbers = preprocessed.own_lines(text)
    assert lines.split("\n") == ["one", "", ";", "four", "nine", ' # 1 "/usr/include/h.h"', "ten"]
    assert numbers == [1, 2, 2, 4, 9, 10, 11]


@pytest.mark.parametrize("source, line, said", [
    ('#define A(x) __##x##__\nA(asm)("nop");\n', 2, "assembly"),
    ('#define J(a, b) a##b\nint f(void) { return J(sys, call)(1); }\n', 2, "syscall"),
    ('#define N "%n"\n#include <stdio.h>\n\nvoid f(int *a) { printf(N, a); }\n', 4, "%n"),
    ('#define HASH #\nHASH pragma GCC optimize("O3")\n', 2, "only omp"),
    ('#define HASH #\nHASH 1 "/usr/include/x.h"\n', 2, "at the beginning"),
    ('#define S _Pragma("GCC optimize(3)")\nS\n', 2, "pragma"),
    ('#define B(x) __builtin_##x\nint a = B(ctz)(8);\n', 2, "__builtin_ctz"),
    ('#define D(x) x x x x x x x x\nint a = D(D(D(D(D(D(D(+1)))))));\n', 1, "macros make")])
def test_what_macros_hide_is_seen(tmp_path, source, line, said):
    assert any(at == line and said in text for at, text in judged(tmp_path, source)), source


def test_what_headers_bring_is_nobodys_fault(tmp_path):
    assert judged(tmp_path, """#include "tl/vector.h"
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
bool f(double x, uint64_t n) {
    assert(x > 0 && n);
    fprintf(stderr, "%" PRIu64 "\\n", n);
    if (isnan(x) || isinf(x) || x > DBL_MAX) return x == INFINITY || x != NAN;
    return signbit(x) || fpclassify(x) == FP_ZERO || offsetof(div_t, rem) > sizeof NULL;
}
tl_status g(size_t n) {
    TL_NEED(n < UINT64_C(4), TL_EINVAL, "%zu is too much", n);
    return TL_OK;
}
""") == []


def test_a_file_that_is_gone_is_no_students_fault(tmp_path):
    with pytest.raises(preprocessed.Lost, match="make clean"):
        preprocessed.tokens_of(tmp_path / "a.o.i", gate.Rules(0, Path("vector_add.c")))
