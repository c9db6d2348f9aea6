"""The gate: what it must find, however it is written, and what it must let pass."""

import os
import re
import subprocess
from pathlib import Path

import gate
import cuda_legality
import pytest
import table
import tokens

ROOT = Path(__file__).resolve().parents[3]


def judge(tmp_path, text: str, name: str = "lab2/im2col.cu") -> list:
    """(line, text) of a file that holds `text`; bytes pass unchanged."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return gate.file_findings(int(name[3]), path, [])


# what: (text, line of the finding, words in it)
EVASIONS = {
    "asm": ('void f(void) { asm("nop"); }', 1, "assembly"),
    "asm with underscores": ("void f(void) {\n__asm__ volatile(\"\"); }", 2, "assembly"),
    "asm label": ('int x asm("hc_now");', 1, "assembly"),
    "asm over a spliced line": ("as\\\nm(\"nop\");", 1, "assembly"),
    "asm over a splice with blanks": ("as\\  \nm(\"nop\");", 1, "assembly"),
    "asm behind a comment in the middle": ("/* x */ asm /* y */ (\"nop\");", 1, "assembly"),
    "asm after a comment that a splice goes on": ("// x \\\n y\nasm(\"\");", 3, "assembly"),
    "asm by a macro": ("#define A asm\nA(\"nop\");", 1, "assembly"),
    "asm by pasting": ("#define A(x, y) x##y\nA(a, sm)(\"nop\");", 1, "## makes names"),
    "asm by pasting through a digraph": ("#define A(x, y) x %:%: y\n", 1, "digraph"),
    "asm in an #if that is false": ("#if 0\nasm(\"\");\n#endif\n", 2, "assembly"),
    "a directive by a digraph": ("%:pragma GCC optimize(\"O0\")\n", 1, "digraph"),
    "a directive by a trigraph": ("??=pragma GCC optimize(\"O0\")\n", 1, "trigraph"),
    "a splice by a trigraph": ("as??/\nm(\"nop\");", 1, "trigraph"),
    "a universal character name": ("\\u0061sm(\"nop\");", 1, "\\u"),
    "a raw string that hides code": ('const char *s = R"(")"; asm("nop");', 1, "raw string"),
    "a raw string with a prefix": ('const char *s = u8R"x(" )x";', 1, "raw string"),
    "no_sanitize": ('__attribute__((no_sanitize("thread"))) void f(void);', 1, "no_sanitize"),
    "no_sanitize spelled otherwise": ("__attribute__((__no_sanitize_thread__)) void f(void);", 1,
                                      "__no_sanitize_thread__"),
    "the second of two attributes": ("__attribute__((unused, optimize(3))) void f(void);", 1,
                                     "optimize"),
    "an attribute by a macro": ("#define A optimize(0)\n__attribute__((A)) void f(void);", 2, "A"),
    "half an attribute": ("__attribute((target(\"avx2\"))) void f(void);", 1, "__attribute"),
    "attributes of C++": ("[[gnu::no_sanitize(\"thread\")]] void f(void);", 1, "[["),
    "attributes of C++, apart": ("[ [gnu::optimize(0)]] void f(void);", 1, "[["),
    "declspec": ("__declspec(no_sanitize) void f(void);", 1, "__declspec"),
    "a constructor": ("__attribute__((constructor)) static void f(void) {}", 1, "constructor"),
    "pragma optimize": ("#pragma GCC optimize(\"O0\")", 1, "#pragma GCC optimize"),
    "pragma target": ("#pragma GCC target(\"avx2\")", 1, "#pragma GCC target"),
    "pragma push_options": ("# /* x */ pragma GCC push_options", 1, "push_options"),
    "pragma over a spliced line": ("#pragma GCC \\\noptimize(\"O0\")", 1, "optimize"),
    "pragma clang attribute": ("#pragma clang attribute push(__attribute__((disable_sanitizer_"
                               "instrumentation)), apply_to = function)", 1, "#pragma clang"),
    "pragma redefine_extname": ("#pragma redefine_extname f g", 1, "redefine_extname"),
    "pragma weak": ("#pragma weak tl_gemm = tl_im2col", 1, "weak"),
    "_Pragma": ('_Pragma("GCC optimize(\\"O0\\")")', 1, "_Pragma"),
    "_Pragma by a macro": ('#define P(x) _Pragma(#x)\nP(GCC optimize("O0"))', 1, "_Pragma"),
    "hostcuda's macro": ("#ifdef HOSTCUDA\nint x;\n#endif", 1, "HOSTCUDA"),
    "hostcuda's macro in defined()": ("#if defined(HOSTCUDA_CHECK)\n#endif", 1, "HOSTCUDA_CHECK"),
    "hostcuda's functions": ("void f(void) { hc_barrier(0); }", 1, "hc_barrier"),
    "hostcuda's counters": ("void hostcuda_counts_get(void);", 1, "hostcuda_counts_get"),
    "the name of the device": ("int f(tl_ctx *c) { return c->ops->name[0] == 'h'; }", 1, "name"),
    "the name of the device, compared": (
        'int f(const char *s) { return !strcmp(s, "hostcuda"); }', 1, '"hostcuda"'),
    "the device's macro": ("const char *s = TL_CUDA_DEVICE;", 1, "TL_CUDA_DEVICE"),
    "the compiler's macro": ("#ifndef __CUDA_ARCH__\n#endif", 1, "__CUDA_ARCH__"),
    "the compiler's name": ("#if __GNUC__ > 11\n#endif", 1, "__GNUC__"),
    "the sanitizer's macro": ("#ifdef __SANITIZE_THREAD__\n#endif", 1, "__SANITIZE_THREAD__"),
    "has_feature": ("#if __has_feature(thread_sanitizer)\n#endif", 1, "__has_feature"),
    "a device property": ("void f(void) { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); }", 1,
                          "cudaGetDeviceProperties"),
    "the environment": ('int f(void) { return getenv("X") != 0; }', 1, "getenv"),
    "dlopen": ("void f(void) { dlopen(0, 1); }", 1, "dlopen"),
    "dlsym by a pointer": ("void *(*f)(void *, const char *) = &dlsym;", 1, "dlsym"),
    "syscall": ("long f(void) { return syscall(39); }", 1, "syscall"),
    "a hook of the sanitizer": ("void __tsan_write4(void *p) {}", 1, "__tsan_write4"),
    "a builtin without a hook": ("void f(char *a, char *b) { __builtin_memcpy(a, b, 8); }", 1,
                                 "__builtin_memcpy"),
    "an atomic of the compiler": ("int f(int *a) { return __sync_fetch_and_add(a, 1); }", 1,
                                  "__sync_fetch_and_add"),
    "a header of the system": ("#include <dlfcn.h>", 1, "<dlfcn.h>"),
    "a header by its path": ('#include "/etc/passwd"', 1, "/etc/passwd"),
    "a header out of the folder": ('#include "../../kernels/rungs.h"', 1, "kernels/rungs.h"),
    "a header of hostcuda": ("#include <hostcuda/kernel.h>", 1, "hostcuda/kernel.h"),
    "a header of tl that is none": ('#include "tl/../../common/status_internal.h"', 1, "status"),
    "a header by a macro": ("#define H <dlfcn.h>\n#include H", 2, "name the header itself"),
    "include_next": ("#include_next <math.h>", 1, "include_next"),
    "import": ("#import <dlfcn.h>", 1, "#import"),
    "embed": ("#embed \"/etc/passwd\"", 1, "#embed"),
    "other line numbers": ("#line 1 \"other.c\"\n", 1, "#line"),
    "other line numbers, briefly": ("# 7 \"other.c\"\n", 1, "#7"),
    "a keyword redefined": ("#define if while\n", 1, "not yours"),
    "a barrier redefined": ("#define __syncthreads() \n", 1, "not yours"),
    "threadIdx redefined": ("#define threadIdx blockIdx\n", 1, "not yours"),
    "a contract redefined": ("#define TL_LAUNCHED() \n", 1, "not yours"),
    "undef": ("#undef TL_CUDA\n", 1, "not yours"),
    "an operation of the table": ("void f(tl_ctx *c) { c->ops->gemm(c, 0, 0, 0, 0); }", 1,
                                  "ops->gemm"),
    "the table by another name": ("void f(tl_ctx *c) { const void *o = c->ops; }", 1, "ops"),
    "the table's type": ("void f(void *c) { tl_backend *o = *(tl_backend **)c; }", 1, "tl_backend"),
    "a byte that no C file has": (b"int x; \x00 int y;", 1, "no use for"),
    "a byte order mark in the middle": ("int x;\n\ufeff int y;", 2, "no use for"),
    "a form feed before a directive": ("\f#pragma GCC optimize(\"O0\")", 1, "optimize"),
    "a comment that does not end": ("int x; /* asm", 1, "does not end"),
    "lines that end with CR alone": (b"int x;\r#pragma GCC optimize(\"O0\")\r", None, "optimize"),
    "a dollar": ("int a$b;", 1, "$"),
    "a lone CR that ends a comment": (b'int x; // \r#include "/etc/passwd"\n', 1, "CR"),
    "another file's name behind a lone CR": (b'//\n// \r#line 1 "/a/0600/file"\n', 2, "CR"),
    "a lone CR in a string": (b'const char *s = "\r";', 1, "CR"),
    "a NUL in a comment": (b"int x; // \x00\n", 1, "0x00"),
    "what moves a cursor": (b"/* \x1b[2K */ int x;", 1, "0x1b"),
    "two bytes a character": ("\ufeffint x;".encode("utf-16-le"), 1, "0x00"),
    "an attribute's list in a macro": (
        '#define A ((section("a")))\n__attribute__ A int x = 1;', 2, "right behind it"),
    "half of an attribute's list in a macro": (
        '#define A (section("a")))\n__attribute__( A int x = 1;', 2, "right behind it"),
    "an attribute's end in a macro": (
        '#define A 8))) __attribute__((section("a")\n'
        "__attribute__((aligned(A))) int x = 1;", 1, "partner"),
    "a list's end in a macro, for what is given": (
        '#define A 8), section("a"), aligned(8\nstruct __align__(A) s { int x; };', 1, "partner"),
    "an attribute's name is a macro": (
        '#define unused section("a")\n__attribute__((unused)) int x = 1;', 1, "not yours"),
    "an attribute's name is a parameter": (
        '#define A(unused) __attribute__((unused))\nA(section("a")) int x = 1;', 1, "not yours"),
    "an attribute's end in a branch that is false": (
        '__attribute__((aligned(8\n#if 0\n)))\n#endif\n), section("a"))) int x = 1;', 1,
        "right behind it"),
    "a second list in the first": ('__attribute__((unused) (section("a"))) int x;', 1,
                                   "right behind it"),
    "attributes of C++ by a macro": ('#define L [\nL L gnu::section("a") ]] int x = 1;', 2, "gnu"),
    "attributes of C++, half by a macro": ('#define A [gnu::section("a")]\n[A] int x = 1;', 1,
                                           "gnu"),
    "an operation of the table under an allowed name": (
        "#define column_bytes gemm\nvoid f(tl_ctx *c) { c->ops->column_bytes(c, 0, 0, 0, 0); }", 1,
        "not yours"),
    "an operation of the table by a parameter": (
        "#define F(column_bytes) c->ops->column_bytes(c)\nvoid f(tl_ctx *c) { F(gemm); }", 1,
        "not yours"),
    "an operation of the table behind a branch that is false": (
        "void f(tl_ctx *c) { c->ops\n#if 0\n->column_bytes\n#endif\n->gemm(c, 0, 0, 0, 0); }", 1,
        "ops"),
    "a comment in the name of a header": ("#include </*x*/stdio.h>\n", 1, "</*x*/stdio.h>"),
    "blanks in the name of a header": ("#include <stdio.h >\n", 1, "<stdio.h >"),
    "a directive behind two signs": ("# #pragma GCC optimize(\"O0\")\n", 1, "no use in a lab"),
    "a message that begins a comment": (
        '#if 0\n#error don\'t /*\n#endif\n#include "/etc/passwd"\n// */\n', 2, "#error"),
    "a raw string with a long name": ('const char *s = R"aaaaaaaaaaaaaaaaaaaaaaa(")";', 1,
                                      "raw string"),
    "a quote at the end of a number": ("int x = 1'; asm(\"\"); //'\n", 1, "quote"),
}
EVASIONS_IN_C = {
    "code between two quotes in numbers": (
        "#define DROP(x)\nDROP(1'a') asm(\"\"); DROP('5'6)\n", 2, "quote"),
    "a digraph that C++ has not": ("int a<::b;", 1, "digraph"),
}


@pytest.mark.parametrize("what", EVASIONS)
def test_an_evasion_is_found(tmp_path, what):
    text, line, words = EVASIONS[what]
    is_found(judge(tmp_path, text), line, words)


def test_no_call_makes_a_struct_in_place(tmp_path):
    made = "void f(size_t at) { new ((void *)at) piece(made()); }"
    assert any("new" in said for _, said in judge(tmp_path, made, "lab2/im2col.cu"))
    assert judge(tmp_path, "int f(int old) { int new = old; return new; }", "lab2/im2col.c") == []


@pytest.mark.parametrize("what", EVASIONS_IN_C)
def test_an_evasion_in_c_is_found(tmp_path, what):
    text, line, words = EVASIONS_IN_C[what]
    is_found(judge(tmp_path, text, "lab2/im2col.c"), line, words)


def is_found(found: list, line: int, words: str) -> None:
    assert any(words in said for _, said in found), found
    if line:
        assert line in [at for at, said in found if words in said]
    assert all(0 < at and "\n" not in said for at, said in found)


HONEST = {
    "words in a comment": "/* asm, __attribute__((no_sanitize)), HOSTCUDA */ // dlopen\nint x;",
    "words in a string": 'const char *s = "asm dlopen __builtin_trap ??= %: R";',
    "a quote as a character": "char c = '\"'; char d = '\\''; int x;",
    "an escaped quote": 'const char *s = "a\\"b"; int x;',
    "pragmas of OpenMP": "#pragma omp parallel for num_threads(n) schedule(static) if (n > 4)\n",
    "unroll": "#pragma unroll\nfor (;;) {}\n#pragma unroll 4\nfor (;;) {}\n",
    "shared memory": "__global__ void k() { extern __shared__ float s[]; __syncthreads(); }",
    "bounds and alignment": "__global__ void __launch_bounds__(256, 2) k(float *__restrict__ x);",
    "warps": "float f(float v) { return __shfl_down_sync(~0u, v, 1) + __shfl_sync(1, v, 0); }",
    "intrinsics": "float f(float a) { return __fmaf_rn(a, a, __fadd_rn(a, a)) + __expf(a); }",
    "a load through the cache": "float f(const float *a) { return __ldg(a); }",
    "unused": "static __attribute__((unused)) int f(void) { return 0; }",
    "attributes by a macro of ones own": "#define UNUSED __attribute__((unused))\n"
                                         "#define AT(n) __attribute__((aligned(n), unused))\n"
                                         "static UNUSED int f(void) { return 0; }\n"
                                         "struct AT(4 * sizeof(int)) s { int x; };",
    "an attribute over two lines": "static __attribute__((unused,\n  aligned(8))) int x;",
    "a header with words behind it": "#include <math.h> // sqrtf\n#include <stdio.h> /* x */\n",
    "form feeds between functions": "int f(void);\n\f\nint g(void);\n\v\n",
    "a pragma of clang": '#pragma clang diagnostic ignored "-Wunused"\n',
    "quotes that are characters": "char a = '\\'', b = '\\\\', c = '\"'; int d = 'x';",
    "a template": "template <typename T, int N>\n"
                  "static __device__ T f(const T (&a)[N]) { return a[N - 1]; }",
    "nested templates": "vec<vec<int>> a; int b = x<::y>(z); int c = a[b[0]];",
    "printing": '#include <stdio.h>\nvoid f(void) { printf("%d\\n", __LINE__); }',
    "its own macro": "#define AT(i, j) ((i) * 4 + (j))\n#undef AT\n",
    "a macro that is a cast": "#define T (float)\n#define ZERO /* */ (int)0\nint x = ZERO;\n",
    "a macro with a string": '#define SHOW(x) printf("%s", #x)\n',
    "both precisions": "#ifdef TL_REAL_DOUBLE\nint x;\n#else\nint y;\n#endif\n",
    "headers": '#include "tl/conv2d.h"\n#include "tl/cuda.h"\n'
               "#include <math.h>\n#include <stdint.h>\n",
    "an empty directive": "#\nint x;\n",
    "if 0": "#if 0\nint x = 1;\n#endif\n",
    "a spliced macro": "#define A(x) \\\n    ((x) + 1)\nint y = A(1);\n",
    "question marks": "int f(int a) { return a ? a ? 1 : 2 : 3; } /* why??! */",
    "operators": "int f(int a, int b) { return a%b + (a<b) - (a>b) + a % (b) ; }",
    "windows line ends": "int x;\r\n#include <math.h>\r\nint y;\r\n",
    "umlauts in a comment": "// Größe: wᵀ · dy\nint x; /* ≤ */",
    "numbers": "double a = 1e-5, b = 0x1p-3, c = 1'000; unsigned d = 0xffffffffu;",
    "a member called names": "struct s { int names; } s; int f(struct s *p) { return p->names; }",
    "column bytes": "size_t f(tl_ctx *c) { return c->ops->column_bytes; }",
}


@pytest.mark.parametrize("what", HONEST)
def test_honest_code_passes(tmp_path, what):
    assert judge(tmp_path, HONEST[what]) == []


def test_lines_are_those_of_the_file(tmp_path):
    text = ("int a;\n#define B(x) \\\n  ((x) + \\\n   1)\n"
            "/* two\n lines */ asm(\"\");\nint c; asm(\"\");\n")
    assert [line for line, _ in judge(tmp_path, text)] == [6, 7]


def test_what_editors_of_other_systems_leave_is_no_code(tmp_path):
    """A byte order mark at the start, and lines that end in two characters."""
    assert judge(tmp_path, b"\xef\xbb\xbfint f(int x) {\r\n    return x + \\\r\n1;\r\n}\r\n") == []


def test_splices_keep_the_line_where_a_token_begins():
    found = tokens.tokens("a\\\nb c\\\n\\\nd\ne")
    identifiers = [(t.text, t.line) for t in found if t.kind == tokens.IDENTIFIER]
    assert identifiers == [("ab", 1), ("cd", 2), ("e", 5)]


@pytest.mark.parametrize("lab", table.numbers())
@pytest.mark.parametrize("folder", ["solution", "labs"])
def test_solution_and_skeleton_pass(lab, folder, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert gate.findings(lab, folder) == []


# ---- what an object uses of others ---------------------------------------------------------------

# Errors from gcc 14 on, whatever its other options; so everywhere, for these tests to hold there.
ERRORS = [f"-Werror={what}" for what in ("implicit-function-declaration", "implicit-int",
                                         "int-conversion", "incompatible-pointer-types")]


def compiled(source: Path, obj: Path, *flags: str) -> Path:
    obj.parent.mkdir(parents=True, exist_ok=True)
    for made in (["-E", "-o", f"{obj}.i"], ["-c", "-o", obj]):  # as workers.mk does
        subprocess.run(["gcc", "-std=gnu11", *ERRORS, "-fopenmp", "-O1",
                        f"-I{ROOT / 'tl/include'}", *flags, *made, source], check=True)
    return obj


def symbols(tmp_path, text: str, name: str = "lab1/matmul.c") -> list:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    obj = compiled(path, tmp_path / "x.o")
    found = gate.symbols_of(obj)
    return [said for _, said in gate.file_findings(int(name[3]), path, [found])]


@pytest.mark.parametrize("declared, call", [
    ("int cblas_sgemm(int, int);", "cblas_sgemm(1, 2)"), ("int tl_gemm(int);", "tl_gemm(0)"),
    ("int sgemm_(int);", "sgemm_(0)"),
    ("#include <stdio.h>", "(fopen(\"/proc/self/maps\", \"r\") != 0)"),
    ("#include <unistd.h>", "fork()"), ("#include <stdlib.h>", "system(\"ls\")"),
    ("#include <time.h>", "clock()"), ("int tl_plugin_open(int);", "tl_plugin_open(0)"),
    ("#include <sys/mman.h>", "mprotect(0, 1, 2)")])
def test_a_task_cannot_hand_its_work_over(tmp_path, declared, call):
    found = symbols(tmp_path, f"{declared}\nint tl_matmul(int a) {{\n return (int){call}; }}\n")
    symbol = re.search(r"\w+", call)[0]
    assert any(said.startswith(f"{symbol}: this task") for said in found), found


def test_a_call_by_a_declared_pointer_is_found_too(tmp_path):
    found = symbols(tmp_path, "extern int cblas_dgemm();\nint (*p)() = cblas_dgemm;\n")
    assert found == ["cblas_dgemm: this task is to be written without it"]


def test_a_refusal_names_what_takes_its_place_where_that_is_allowed(tmp_path):
    text = "int tl_alloc_get(int);\nint %s(int a) { return tl_alloc_get(a); }\n"
    said = "tl_alloc_get: this task is to be written without it"
    assert symbols(tmp_path, text % "tl_op_mul", "lab4/ops_math.c") == [
        f"{said}; tl_tape_scratch takes memory that a reset of the tape gives back"]
    assert symbols(tmp_path, text % "tl_relu_fwd", "lab3/relu.c") == [said]


def test_what_a_compiler_adds_is_nobodys_fault(tmp_path):
    assert symbols(tmp_path, """#include <math.h>
#include <stdio.h>
#include <string.h>
#include <assert.h>
int tl_matmul(float *a, float *b, int n) {
    float t[512];
    assert(n > 0);
    memset(t, 0, sizeof t);
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] = b[i] + sqrtf(t[i]) + expf(b[i]);
    struct { float x[400]; } c, d = {{0}};
    c = d;
    printf("%f\\n", c.x[n]);
    return 0;
}
""") == []


def test_tasks_may_use_what_is_theirs(tmp_path):
    text = "int cblas_sgemm(int);\nint tl_gemm(int a) { return cblas_sgemm(a); }\n"
    assert symbols(tmp_path, text, "lab1/gemm.c") == []


@pytest.fixture
def two_precisions(tmp_path, monkeypatch):
    """A submission whose product leaves its work to BLAS in double alone, built in both."""
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "given/lab1/matmul.c"
    source.parent.mkdir(parents=True)
    source.write_text("int cblas_dgemm(int);\nint tl_matmul(int a) {\n"
                      "#ifdef TL_REAL_DOUBLE\n    return cblas_dgemm(a);\n#else\n    return a;\n"
                      "#endif\n}\n")
    place = "from/given/labs/lab1/matmul.o"
    compiled(source, tmp_path / "build/float" / place)
    compiled(source, tmp_path / "build/double" / place, "-DTL_REAL_DOUBLE")
    return source


def test_work_is_not_handed_over_in_one_precision_either(two_precisions):
    assert gate.findings(1, "given") == [
        ("given/lab1/matmul.c", 1, "cblas_dgemm: this task is to be written without it")]


def test_an_object_older_than_its_source_says_nothing_of_it(two_precisions):
    two_precisions.write_text("int tl_matmul(int a) { return a; }\n")
    for obj in Path("build").rglob("*.o"):
        os.utime(obj, (0, 0))
    assert gate.findings(1, "given") == []


def test_a_function_of_somebody_else_must_not_be_defined_anew(tmp_path):
    found = symbols(tmp_path, "void *malloc(unsigned long n) { return (void *)n; }\n"
                    "int tl_gemm(void) { return 0; }\nstatic int mine(void) { return 0; }\n"
                    "int tl_matmul(void) { return mine(); }\nint helper(void) { return 1; }\n")
    assert len(found) == 2
    assert found[0].startswith("malloc: a function of this name is somebody else's")
    assert found[1].startswith("tl_gemm: a function of this name")


# ---- CUDA, not only C++ that a host compiler takes -----------------------------------------------

def legal(tmp_path, monkeypatch, text: str) -> list:
    monkeypatch.setattr(cuda_legality, "CACHE", tmp_path / "cache")
    path = tmp_path / "x.cu"
    path.write_text('#include "tl/cuda.h"\n' + text)
    first, again = (cuda_legality.findings(path, cuda_legality.key()) for _ in range(2))
    assert first == again  # the second time from what was kept
    return [(line, said) for _, line, said in first]


def test_cuda_passes(tmp_path, monkeypatch):
    text = ("__global__ void k(float *x) { x[threadIdx.x] = sqrtf(1); }\n"
            "void f(float *x) { k<<<1, 32>>>(x); }\n")
    assert legal(tmp_path, monkeypatch, text) == []


def test_a_kernel_that_calls_the_host_is_not_cuda(tmp_path, monkeypatch):
    found = legal(tmp_path, monkeypatch, "static int host() { return 1; }\n"
                  "__global__ void k(int *x) {\n    x[0] = host();\n}\n")
    assert {line for line, _ in found} == {4}  # nvcc has two reasons, clang one
    assert "not legal CUDA" in found[0][1]


@pytest.mark.parametrize("says, status, words", [
    ("no compiler: apt-get install clang", 2, "apt-get install clang"),
    ("wrong, but not where", 1, "wrong, but not where")])
def test_who_cannot_judge_grades_nothing(tmp_path, monkeypatch, says, status, words):
    script = tmp_path / "legality.sh"
    script.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {status}\n")
    script.chmod(0o755)
    monkeypatch.setattr(cuda_legality, "LEGALITY", script)
    with pytest.raises(cuda_legality.CannotGrade, match=words):
        legal(tmp_path, monkeypatch, "int x;\n")
    assert not list((tmp_path / "cache").glob("*.txt"))
