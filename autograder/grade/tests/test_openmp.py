"""What openmp.py says of C files: what is wrong in any case, and nothing of what may be right."""

from pathlib import Path

import openmp
import pytest

ROOT = Path(__file__).resolve().parents[3]
FUNCTION = "tl_status f(tl_ctx *ctx, tl_real *y, const tl_real *x, int n, int m) {{\n{}\n}}\n"
PARALLEL = "#pragma omp parallel for num_threads(ctx->threads)"


def said(body: str, before: str = "") -> list:
    found = openmp.file_findings(before + FUNCTION.format(body))
    return [(line - before.count("\n") - 1, text) for line, text in found]


RIGHT = {
    "one line": f"{PARALLEL}\nfor (int i = 0; i < n; i++) y[i] = x[i];",
    "counter declared before": f"int i;\n{PARALLEL}\nfor (i = 0; i < n; i++) y[i] = x[i];",
    "two counters shared out": f"int i, j;\n{PARALLEL} collapse(2)\nfor (i = 0; i < n; i++)\n"
                               "for (j = 0; j < m; j++) y[i * m + j] = 0;",
    "another line of the pragma": "#pragma omp parallel for \\\n    num_threads(ctx->threads)\n"
                                  "for (int i = 0; i < n; i++) y[i] = x[i];",
    "number in a variable": "int t = ctx->threads;\n#pragma omp parallel for num_threads(t)\n"
                            "for (int i = 0; i < n; i++) y[i] = x[i];",
    "own variables of each kind": f"{PARALLEL}\nfor (int i = 0; i < n; i++) {{\n"
                                  "const tl_real *row = x + i, *end;\ntl_real sum = 0, most;\n"
                                  "unsigned long count = 0;\nsize_t k;\nstruct pair p, q;\n"
                                  "unsigned bits;\nconv2d_place place = at(i);\n"
                                  "end = row + m; most = 0; k = 0; count++; p = q; bits = 1u;\n"
                                  "place = at(k); for (; row < end; row++) sum += *row;\n"
                                  "y[i] = sum + most; }",
    "private": f"int j;\n{PARALLEL} private(j)\nfor (int i = 0; i < n; i++)\n"
               "for (j = 0; j < m; j++) y[i * m + j] = 0;",
    "reduction": f"tl_real sum = 0;\n{PARALLEL} reduction(+ : sum)\n"
                 "for (int i = 0; i < n; i++) sum += x[i];",
    "for inside of a region": "#pragma omp parallel num_threads(ctx->threads)\n{\nint i;\n"
                              "#pragma omp for\nfor (i = 0; i < n; i++) y[i] = x[i];\n}",
    "by numbers of threads": "#pragma omp parallel num_threads(ctx->threads)\n{\n"
                             "for (int i = omp_get_thread_num(); i < n; i += m) y[i] = x[i];\n}",
    "critical": f"tl_real sum = 0;\n{PARALLEL}\nfor (int i = 0; i < n; i++) {{\n"
                "#pragma omp critical\nsum += x[i];\n}",
    "a flag": f"int bad = 0;\n{PARALLEL}\nfor (int i = 0; i < n; i++)\nif (x[i] < 0) bad = 1;",
    "behind the loop": f"{PARALLEL}\nfor (int i = 0; i < n; i++) y[i] = x[i];\nn = 3;",
    "simd alone": "tl_real s = 0;\n#pragma omp simd\nfor (int i = 0; i < n; i++) s = x[i];",
    "a table that is constant": f"{PARALLEL}\nfor (int i = 0; i < n; i++) {{\n"
                                "static const int order[2] = {1, 0};\ny[i] = x[order[i % 2]]; }",
    "fields": f"{PARALLEL}\nfor (int i = 0; i < n; i++) {{ tl_pair p; p.a = i; y[i] = p.a; }}",
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_nothing_is_said_of_what_is_right(body):
    assert said(body) == []


WRONG = {
    "any number": ("#pragma omp parallel for\nfor (int i = 0; i < n; i++) y[i] = x[i];",
                   [(1, openmp.ANY_NUMBER)]),
    "always four": ("#pragma omp parallel for num_threads(4)\n"
                    "for (int i = 0; i < n; i++) y[i] = x[i];", [(1, openmp.ANY_NUMBER)]),
    "no for": ("#pragma omp parallel num_threads(ctx->threads)\n"
               "for (int i = 0; i < n; i++) y[i] = x[i];", [(1, openmp.ALL_BY_EACH)]),
    "sum of all": (f"tl_real sum = 0;\n{PARALLEL}\nfor (int i = 0; i < n; i++) sum += x[i];",
                   [(3, openmp.WRITTEN_BY_ALL.format(name="sum"))]),
    "inner counter": (f"int j;\n{PARALLEL}\nfor (int i = 0; i < n; i++)\n"
                      "for (j = 0; j < m; j++) y[i * m + j] = 0;",
                      [(4, openmp.WRITTEN_BY_ALL.format(name="j"))]),
    "inner counter of collapse(1)": (
        f"int i, j;\n{PARALLEL} collapse(1)\nfor (i = 0; i < n; i++)\n"
        "for (j = 0; j < m; j++) y[i * m + j] = 0;",
        [(4, openmp.WRITTEN_BY_ALL.format(name="j"))]),
    "pointer that walks": (f"{PARALLEL}\nfor (int i = 0; i < n; i++) *y++ = x[i];",
                           [(2, openmp.WRITTEN_BY_ALL.format(name="y"))]),
    "counts up": (f"int k = 0;\n{PARALLEL}\nfor (int i = 0; i < n; i++) {{ y[i] = x[i]; ++k; }}",
                  [(3, openmp.WRITTEN_BY_ALL.format(name="k"))]),
    "in the region around": ("int a;\n#pragma omp parallel num_threads(ctx->threads)\n{\n"
                             "#pragma omp for\nfor (int i = 0; i < n; i++) {\na = i;\n"
                             "y[a] = x[a]; } }", [(6, openmp.WRITTEN_BY_ALL.format(name="a"))]),
    "static": (f"{PARALLEL}\nfor (int i = 0; i < n; i++) {{\nstatic tl_real t[4], s = 1;\n"
               "t[0] = x[i]; y[i] = t[0]; }",
               [(3, openmp.STATIC.format(name="s")), (3, openmp.STATIC.format(name="t"))]),
}


@pytest.mark.parametrize(("body", "wanted"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_with_its_line(body, wanted):
    assert said(body) == wanted


def test_static_in_a_function_that_threads_run_but_not_in_another():
    before = ("static tl_real most(const tl_real *x) {\nstatic tl_real best;\nbest = x[0];\n"
              "return best; }\nstatic tl_real of(const tl_real *x) { return most(x); }\n"
              "static int once(void) {\nstatic int done;\nreturn done++; }\n")
    found = said(f"once();\n{PARALLEL}\nfor (int i = 0; i < n; i++) y[i] = of(x + i);", before)
    assert found == [(2 - before.count("\n") - 1, openmp.STATIC.format(name="best"))]


@pytest.mark.parametrize("folder", ["solution", "kernels"])
def test_our_own_threads_share_nothing(folder):
    files = sorted((ROOT / folder).rglob("*.c"))
    found = {str(path): openmp.file_findings(path.read_text(encoding="utf-8")) for path in files}
    assert sum("omp parallel" in path.read_text(encoding="utf-8") for path in files) >= 15
    assert {path: said for path, said in found.items() if said} == {}
