"""Calls of the C library that write where their arguments say: what is refused, what passes."""

import os
import subprocess
import time

import elf
import gate
import gate_calls
import pytest
import tokens
from test_gate import judge

# what: (text, words of the finding)
REFUSED = {
    "%n": ('void f(int *p) { printf("a%n", p); }', "%n writes"),
    "%n with a length": ('void f(long *p) { fprintf(stderr, "a%-3.*lln", 1, p); }', "%n writes"),
    "%n by position": ('void f(int *p) { printf("a%1$n", p); }', "%n writes"),
    "%n in two pieces": ('void f(int *p) { printf("a%" "hh" "n", p); }', "%n writes"),
    "%n by escapes": ('void f(int *p) { printf("a\\x25\\156", p); }', "%n writes"),
    "a % that something may follow": ('#define N "n"\nvoid f(int *p) { printf("%" N, p); }',
                                      "in the call"),
    "a % at the end": ('void f(int *p) { printf("%l", p); }', "%n writes"),
    "a format of characters": ('static const char t[] = {37, 110, 0};\n'
                               'void f(int *p) { printf(t, p); }', "in the call"),
    "a format by choice": ('void f(const char *t) { printf(1 ? t : "x"); }', "in the call"),
    "a format made of tokens": ('#define S(x) #x\nvoid f(int *p) { printf("" S(%n), p); }',
                                "in the call"),
    "another name for it": ("#define P printf\n", "by its name"),
    "its address": ("int (*p)(const char *, ...) = &printf;", "by its name"),
    "arguments of a macro": ("#define SAY(...) printf(__VA_ARGS__)\n", "in the call"),
    "no format": ("void f(void) { printf(); }", "in the call"),
    "a message of the library": ("tl_status f(const char *t) { TL_NEED(0, TL_EINVAL, t); }",
                                 "in the call"),
    "its function": ('tl_status f(int *p) { return tl_fail(TL_EINVAL, "x", 1, "%n", p); }',
                     "%n writes"),
    "a stream of one's own": ('void f(void *s) { fprintf(s, "x"); }', "stdout or stderr"),
    "a stream by choice": ('void f(void *s) { fputs("x", s ? s : stdout); }', "stdout or stderr"),
    "a stream in brackets": ("void f(void *s) { fflush((stdout, s)); }", "stdout or stderr"),
    "the struct of a stream": ("void f(FILE *s) { (void)s; }", "print by printf"),
    "sine and cosine": ("void f(float *s) { sincosf(1, s, s); }", "through pointers"),
}
PASSES = {
    "printing": 'void f(int n) { printf("%d of %5.1f%%\\n", n, 1.0); }',
    "in pieces": 'void f(int n) { printf("%d "\n "and %s\\n", n, __func__); }',
    "types of inttypes.h": '#include <inttypes.h>\n'
                           'void f(int64_t n) { printf("%" PRId64 "\\n", n); }',
    "commas within arguments": 'void f(int *p) { printf("%d %d", p[1, 2], g(1, 2)); }',
    "an empty text": 'void f(void) { printf(""); }',
    "to a stream": 'void f(void) { fprintf(stderr, "x"); fputs("%n", stdout); fflush(stdout); }',
    "a message": 'tl_status f(int n) {\n'
                 '    TL_NEED(g(n, 1) > 0, TL_EINVAL, "%s: n is %d", __func__, n); }',
    "a macro with a message": '#define NEED(n) TL_NEED((n) > 0, TL_EINVAL, "n is %d", (n))\n',
}


@pytest.mark.parametrize("name", ["lab2/im2col.c", "lab2/im2col.cu"])
@pytest.mark.parametrize("what", REFUSED)
def test_what_writes_through_pointers_is_refused(tmp_path, what, name):
    text, words = REFUSED[what]
    found = judge(tmp_path, text, name)
    assert found and any(words in said for _, said in found), found


@pytest.mark.parametrize("what", PASSES)
def test_printing_passes(tmp_path, what):
    assert judge(tmp_path, PASSES[what], "lab2/im2col.c") == []


@pytest.mark.parametrize("call", ["putc(", 'printf("a", (', "putc(1, stdout), ("])
def test_calls_in_each_other_take_no_longer(tmp_path, call):
    begun = time.process_time()
    judge(tmp_path, "void f(void) {" + call * (200_000 // len(call)), "lab2/im2col.c")
    assert time.process_time() - begun < 10  # (minutes, where each is read to its end)


@pytest.mark.parametrize("side", ["c", "cuda"])
def test_no_list_grants_what_writes_through_pointers(side):
    granted = set(gate.allow_lists()[side]["calls"])
    assert not granted & {"qsort", "frexp", "frexpf", "modf", "modff", "sprintf", "vprintf",
                          "strcpy", "strncpy", "scanf", "strcat", "gets", "setvbuf"}


def test_every_printing_function_that_a_list_grants_is_judged():
    printing = {"printf", "fprintf", "snprintf", "fputs", "fputc", "putc", "fwrite", "fflush"}
    granted = {name for side in ("c", "cuda") for name in gate.allow_lists()[side]["calls"]}
    assert printing & granted <= set(gate_calls.FORMAT_AT) | set(gate_calls.STREAM_AT)


UNSEEN = ["float v(int, ...);", "float v(int...);", "typedef float (*any)(int, ...);",
          "struct s { int n; float x[]; };", "extern const float t[];", "using t = float[];",
          "float f(const float *p) { return (*(const float (*)[])p)[1]; }",
          "template <class T> void f(holder<int>...);"]
SEEN = ["template <class... A> void f(A... a) { g(a...); h(x<A>(a)...); (a + ...); sizeof...(A); }",
        "extern __shared__ float s[];", "void f(float x[], int n[]);", "const float t[] = {1};",
        "auto f = [](int) {}; g([&] {}); g([] {});", "#define M(...) g(__VA_ARGS__)"]


def unseen(text: str) -> list:
    return gate_calls.unseen(tokens.directives(tokens.tokens(text, "c++"))[0])


@pytest.mark.parametrize("text", UNSEEN)
def test_what_no_checker_sees_is_refused_in_cuda(text):
    assert len(unseen(text)) == 1


@pytest.mark.parametrize("text", SEEN)
def test_packs_shared_arrays_and_parameters_pass(text):
    assert not unseen(text)


ANEW = ["extern const everything tl_shape_text;", 'extern "C" void tl_conv2d_first(void *, int);',
        "extern const struct alignas(8) { int x; } abs;", 'extern "C" { void f(); }',
        'namespace a { extern "C" const char own[64] = ""; }',
        "void f() { extern const all\nown; }",
        'extern "C" namespace b { const everything own; }']
OWN = ['extern "C" tl_status tl_vector_add(tl_ctx *ctx) { return tl_fail(TL_EINVAL, "x", 1, ""); }',
       "void k() { extern __shared__ float tile[]; g = expf(1); }",
       "extern const int mine; int x = abs(y);"]


@pytest.mark.parametrize("text, many", [*((t, 1) for t in ANEW), *((t, 0) for t in OWN)])
def test_what_is_given_is_declared_by_headers_alone(text, many):
    found = tokens.directives(tokens.tokens(text, "c++"))[0]
    given = ["tl_shape_text", "tl_conv2d_*", "tl_fail", "expf", "logf", "abs"]
    assert len(set(gate_calls.declared_anew(found, given))) == many


@pytest.mark.parametrize("text, many", [
    ("((void (*)(void *, int))tl_conv2d_first)(p, 1);", 1), ("auto f = tl_conv2d_first;", 1),
    ("auto f = tl_conv2d_first", 1), ("part = tl_conv2d_first(g, 1); tl_conv2d_part p;", 0)])
def test_a_given_function_is_there_to_be_called(text, many):
    found = tokens.directives(tokens.tokens(text, "c++"))[0]
    assert "tl_conv2d_first" in gate.contracts()
    assert len(gate_calls.given_away(found, gate.contracts())) == many


@pytest.mark.parametrize("variable, taken", [("const float here[4] = {1}", True),
                                             ("kept<const int> here", False)])
def test_a_const_variable_of_the_device_cannot_be_written(tmp_path, variable, taken):
    """Behind the word const the rewriter sees a constant, whose accesses are not counted."""
    made = tmp_path / "x.o"
    subprocess.run([os.environ.get("CXX") or "g++", "-fPIC", "-c", "-x", "c++", "-o", made, "-"],
                   input="template <class T> struct kept { float x[4]; };\nstatic __attribute__(("
                         f'section("hc_device_const"), used)) {variable};', text=True, check=True)
    if taken:
        elf.read(made)
        return
    with pytest.raises(elf.Odd, match="const variable"):
        elf.read(made)
