"""hostcuda/check/unhooked.awk: what g++ places no hook at, and where it leads. The compiler's own
dump is judged, so a g++ that writes another one shows here."""

import os
import subprocess
from pathlib import Path

import pytest

AWK = Path(__file__).resolve().parents[3] / "hostcuda/check/unhooked.awk"
FLAGS = ["-std=c++17", "-O1", "-g1", "-fPIC", "-fsanitize=thread", "-fno-elide-constructors", "-w",
         "-fsanitize=object-size,bounds-strict,alignment", "-fno-tree-fre", "-fno-tree-forwprop",
         "-fno-ipa-pure-const"]
GIVEN = """#define F extern "C" __attribute__((noinline))
struct everything { float at[1L << 50]; };
struct result { long u, v, w; };
typedef void (*plain)(result *, long);
static const char constant[64] = "constant";
static const float table[9] = {1, 2};
static float own_5(float x) { return x * 2; }
extern "C" int abs(int) noexcept __attribute__((const));
"""
NO_ELEMENTS = "an array of no elements"
# what is said: functions of that kind
REFUSED = {
    "begins at a function": [
        "F float f(long i) { return ((everything *)abs)->at[i]; }",
        "F void f() { *(volatile long *)((char *)abs + 0x1234560) = 0; }"],
    "begins at a label": [
        "F float f(long i) { here: return ((everything *)&&here)->at[i]; }",
        "F void f() { there: *(volatile long *)((char *)&&there + 0x123450) = 0; }"],
    "begins outside of": [
        "F float f(long i) { return ((everything *)(constant - (1L << 48)))->at[i]; }",
        'F float f(long i) { const char *t = "a ] + (b"; '
        'return ((everything *)(t - 65536))->at[i]; }',
        "F float f() { return *(const float *)(constant - 4096); }",
        "F float f(long i) { return ((everything *)(constant + (1L << 62)))->at[i]; }",
        "typedef float four[4]; F float f(long i) { return (*(four *)(constant - 4096))[i]; }"],
    "whose bound is a variable": [
        "F float f(long i, long n) { typedef float many[n]; return (*(many *)constant)[i]; }"],
    NO_ELEMENTS: [
        "struct none { int n; float x[0]; }; static const none c = {1, {}};\n"
        "F float f(long i) { return c.x[i]; }"],
    "returns a struct": [
        "result operator+(result a, long) { return a; } "
        "auto *p = (result(*)(result, long))operator+;",
        "F result r(long a) { return {a, a, a}; } F void f(result *p) { ((plain)r)(p, 1); }",
        "F result r(long a) { return {a, a, a}; } union { result (*a)(long); plain b; } u = {r};",
        "struct s { virtual result get(long a) { return {a, a, a}; } }; "
        "F void f(s *p) { new (p) s; }",
        "F auto f() { result (*p)(long) = [](long a) { return result{a, a, a}; }; return p; }"],
}
PASSES = [
    "F float f(long i) { return table[i] + constant[i] + \"text\"[i] + own_5(i); }",
    "F float f(const float *p, long i) { return p[i] + p[-1] + *(float *)((char *)p - 8); }",
    "F result r(long a) { return {a, a, a}; } F long f(long n) { return r(n).u + r(n + 1).v; }",
    "struct tile { float at[16]; float get(int i) { return at[i]; } };\n"
    "F float f(int i) { tile t = {}; t.at[i] = 1; return t.get(i) + ((float *)&t)[i]; }",
    "static float rows(float (*m)[4], int i) { return m[1][i]; }\n"
    "F float f(int i) { float m[4][4] = {}; m[i][i] = 1; return rows(m, i); }",
    "result operator+(result a, result b) { return {a.u + b.u, 0, 0}; }\n"
    "void operator+=(result &a, result b) { a = a + b; }",
    "struct odd { float a; odd(const odd &o) : a(o.a) {} }; odd r(odd &o) { return o; }",
    "template <class... A> __attribute__((noinline)) float all(A &&...a) {\n"
    "return (((const result &)a).u + ...); } F float f(result *p) { return all(*p, p[1]); }",
    "F float f(float (*p)(float), float x) { return p(x) + (x > 0 ? own_5 : p)(x); }",
]


def judged(folder: Path, code: str) -> tuple:
    """(exit status, what was said)"""
    cxx = os.environ.get("CXX") or "g++"
    source, text, seen = folder / "x.cu", folder / "x.ii", folder / "seen"
    source.write_text(GIVEN + "#include <new>\n" + code + "\n")
    subprocess.run([cxx, *FLAGS, "-x", "c++", "-E", "-o", text, source], check=True)
    subprocess.run([cxx, *FLAGS, f"-fdump-tree-tsan-lineno={seen}", "-c", "-o", folder / "x.o",
                    text], check=True)
    said = subprocess.run(["awk", "-f", AWK, seen, text], capture_output=True, text=True)
    assert not said.stderr
    return said.returncode, said.stdout


pytestmark = pytest.mark.skipif("clang" in (os.environ.get("CXX") or "g++"),
                                reason="clang leaves no such dump")


@pytest.mark.parametrize("words, code", [(w, c) for w, codes in REFUSED.items() for c in codes])
def test_what_leads_anywhere_without_a_hook_is_refused(tmp_path, words, code):
    status, said = judged(tmp_path, code)
    line = len(GIVEN.splitlines()) + 1 + len(code.splitlines())
    if words == NO_ELEMENTS and b"__ubsan_handle_out_of_bounds" in (tmp_path / "x.o").read_bytes():
        return  # g++ 13 and newer ask whether such an index is in bounds, and none is
    assert status == 1 and words in said and f"x.cu:{line}:" in said, said


@pytest.mark.parametrize("code", PASSES)
def test_what_has_a_hook_or_a_bound_passes(tmp_path, code):
    assert judged(tmp_path, code) == (0, "")
