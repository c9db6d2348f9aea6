"""What markers mean, and which ones are refused."""

import markers
import pytest
from conftest import SKELETON, SOLUTION


def generate(text: str) -> str:
    return markers.generate(text, "solution/lab2/x.c", 2)


def test_a_piece_becomes_its_text_and_its_skeleton():
    assert generate(SOLUTION) == SKELETON


def test_a_piece_without_text_leaves_no_trace():
    made = generate("int a;\n\n//@lab 2:\nint b;\n//@end\n\nint c;\n")
    assert made == "int a;\n\nint c;\n"


def test_a_text_without_skeleton_is_a_comment_alone():
    assert generate("//@lab 2: A kernel.\nint b;\n//@end\n") == "/* TODO(lab 2): A kernel. */\n"


def test_an_empty_line_of_text_begins_a_paragraph():
    made = generate("//@lab 2: One.\n//@\n//@  Two.\nint b;\n//@end\n")
    assert made == "/* TODO(lab 2): One.\n *\n * Two. */\n"


@pytest.mark.parametrize("length", range(60, 110))
def test_no_line_is_longer_than_a_hundred(length):
    word = "w" * 7
    text = " ".join([word] * (length // 8))[:length]
    for indent in ("", "    ", "        "):
        made = generate(f"{indent}//@lab 2: {text}\n{indent}int b;\n{indent}//@end\n")
        assert max(map(len, made.splitlines())) <= 100
        assert made.rstrip().endswith("*/")


def test_a_skeleton_may_hold_an_empty_line():
    assert generate("//@lab 2:\nint b;\n//@skeleton\n// int a;\n//\n// int c;\n//@end\n") == (
        "int a;\n\nint c;\n")


BAD = {
    "no piece": ("int a;\n", 1, "no //@lab"),
    "no end": ("int a;\n//@lab 2: x\nint b;\n", 2, "without //@end"),
    "end alone": ("int a;\n//@end\n", 2, "without //@lab"),
    "skeleton alone": ("//@skeleton\n", 1, "outside of a piece"),
    "two skeletons": ("//@lab 2:\nint b;\n//@skeleton\n//@skeleton\n//@end\n", 4, "second"),
    "nested": ("//@lab 2:\nint b;\n//@lab 2:\nint c;\n//@end\n//@end\n", 3, "//@end is missing"),
    "other lab": ("//@lab 3:\nint b;\n//@end\n", 1, "belongs to lab 2"),
    "misspelt": ("//@lab 2:\nint b;\n//@ends\n//@end\n", 3, "no marker is called //@ends"),
    "no number": ("//@lab: x\nint b;\n//@end\n", 1, "no marker"),
    "behind code": ("int b; //@lab 2: x\n", 1, "a line of its own"),
    "empty piece": ("//@lab 2: x\n\n//@end\n", 3, "leaves nothing out"),
    "text later": ("//@lab 2: x\nint b;\n//@  more\n//@end\n", 3, "follows no"),
    "text of nothing": ("//@lab 2:\n//@  more\nint b;\n//@end\n", 2, "follows no"),
    "skeleton not a comment": ("//@lab 2:\nint b;\n//@skeleton\nint c;\n//@end\n", 4, "comments"),
    "indented otherwise": ("    //@lab 2:\n    int b;\n//@end\n", 3, "indented"),
    "too long": ("//@lab 2: x\n" + "int b;\n" * 41 + "//@end\n", 1, "41 lines"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_marker_is_named_with_its_line(what):
    text, line, words = BAD[what]
    with pytest.raises(markers.MarkerError) as error:
        generate(text)
    assert str(error.value).startswith(f"solution/lab2/x.c:{line}: ")
    assert words in str(error.value)
