"""Bit-fields, which no .cu file may have: each colon is one's, or something else's."""

import gate_fields
import pytest
import tokens
from test_gate import judge

FIELDS = [
    "struct s { unsigned of : 31; };", "struct s { int x; const word of : 3; };",
    "struct s { int a = c ? 1 : 2, b : 3; };", "struct s { int of : c ? 3 : 4; };",
    "struct s { public: int of : 3; };", "struct s { int final : 3; };",
    "struct s { enum e { A, B } of : 3; };", "struct s { enum { A } of : 3; };",
    "struct s { enum e of : 3; };", "struct s { enum class e of : 3; };",
    "struct s { decltype(x) of : 3; };", "struct s { holder<struct x>::type of : 3; };",
    "struct s { int of __attribute__((unused)) : 3; };", "struct s { int of __align__(4) : 3; };",
    "struct s { int of ((aligned(4))) : 3; };",  # (__attribute__ is left out where macros bring it)
    "struct s { void f() {} int of : 3; };", "struct s { s() : a(1) {} int of : 3; };",
    "template <class T> struct s { T of : 3; };", "f([] { struct s { int a : 3; }; });",
    "union u { struct { unsigned a : 1; } b; int c; };", "struct s {\n#if 1\nint a : 3; };",
]
OTHERS = [
    "x = c ? a : b; y = c ? T{1} : T{2}; z = a ? b ? 1 : 2 : 3;", "for (auto v : values) f(v);",
    "switch (x) { case 1: case B ? 1 : 2: y(); break; default: z(); }",
    "void f() { if (a) goto done; for (;;) {} done: free(x); }",
    "void f() { here: x(); there: y(); }",
    "void f() { enum { B }; here: x(); }", "struct a : b { };", "struct a final : public b { };",
    "struct x<int> : y { };", "template <class T> struct a : b<T> { };",
    "typedef struct a : b { } c;",
    "struct __align__(16) a : b { };", "enum e : int { A };", "enum class e : unsigned char { A };",
    "enum : int { A };", "struct a { a(int n) : b(n), m{n} {} int m; };",
    "class a { public: a() noexcept : b(1) {} a(int) noexcept(true) : b(1) {} private: int b; };",
    "f([&] { return a ? b : c; });", "int x = a::b ? ::c : d;",
]


def found(text: str) -> list:
    return gate_fields.findings(tokens.directives(tokens.tokens(text, "c++"))[0])


@pytest.mark.parametrize("text", FIELDS)
def test_a_bit_field_is_refused(text):
    assert len(found(text)) == 1


@pytest.mark.parametrize("text", OTHERS)
def test_other_colons_pass(text):
    assert not found(text)


@pytest.mark.parametrize("text", [") : x", "} : x", "x } : y;", "] : ( : ) : }", ": :"])
def test_brackets_without_a_partner_are_for_the_compiler_to_tell(text):
    found(text)  # and end no grader


def test_only_in_cuda(tmp_path):
    text = "struct s { unsigned of : 3; };"
    assert not judge(tmp_path, text, "lab2/im2col.c")
    assert any("a bit-field" in said for _, said in judge(tmp_path, text, "lab2/im2col.cu"))
