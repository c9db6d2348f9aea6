"""Only a lab's own files leave a submission."""

import os
import socket

import pytest
import skeletons
import submission

NAMES = skeletons.own_files(submission.ROOT, 2)


@pytest.fixture
def given(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("place", ["labs/lab2", "lab2", "."])
def test_files_are_found_in_any_of_the_usual_places(tmp_path, given, place):
    (given / place).mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (given / place / name).write_text(f"/* {name} */\n")
    assert submission.take(given, 2, tmp_path / "to") == []
    taken = {p.name: p.read_text() for p in (tmp_path / "to/lab2").iterdir()}
    assert taken == {name: f"/* {name} */\n" for name in NAMES}


def test_junk_stays_behind(tmp_path, given):
    (given / "labs/lab2").mkdir(parents=True)
    (given / "tl/include/tl").mkdir(parents=True)
    for name in ("labs/lab2/im2col.c", "labs/lab2/helper.h", "labs/lab2/Makefile", "Makefile",
                 "tl/include/tl/conv2d.h", "labs/lab2/im2col.c~"):
        (given / name).write_text("x\n")
    submission.take(given, 2, tmp_path / "to")
    assert [p.name for p in (tmp_path / "to").rglob("*") if p.is_file()] == ["im2col.c"]


def test_links_and_huge_files_are_not_taken(tmp_path, given):
    (given / "im2col.c").write_text("x\n")
    (given / "im2col.cu").symlink_to("/etc/passwd")
    (given / "col2im.c").write_bytes(b" " * (submission.LARGEST + 1))
    said = submission.take(given, 2, tmp_path / "to")
    assert [p.name for p in (tmp_path / "to/lab2").iterdir()] == ["im2col.c"]
    assert any("im2col.cu: a link" in s for s in said) and any("larger than" in s for s in said)


def test_what_is_no_file_is_called_what_it_is(tmp_path, given, monkeypatch):
    (given / "im2col.c").write_text("x\n")
    os.mkfifo(given / "im2col.cu")
    (given / "col2im.c").mkdir()
    (given / "col2im.cu").symlink_to("nowhere")
    (given / "conv2d_fwd.c").symlink_to("conv2d_fwd.c")
    with socket.socket(socket.AF_UNIX) as end:
        monkeypatch.chdir(given)  # a socket's path is short
        end.bind("conv2d_fwd.cu")
        said = submission.take(given, 2, tmp_path / "to")
    assert [p.name for p in (tmp_path / "to/lab2").iterdir()] == ["im2col.c"]
    assert [s.removeprefix(f"{given}/") for s in said] == [
        "col2im.c: a folder, not taken", "col2im.cu: a link, not taken",
        "conv2d_fwd.c: a link, not taken", "conv2d_fwd.cu: a socket, not taken",
        "im2col.cu: a named pipe, not taken"]


def test_a_folder_that_is_a_link_gives_nothing(tmp_path, given):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/im2col.c").write_text("the solution\n")
    (given / "labs").mkdir()
    (given / "labs/lab2").symlink_to(tmp_path / "secret")
    submission.take(given, 2, tmp_path / "to")
    assert list((tmp_path / "to/lab2").iterdir()) == []


def test_what_is_equal_keeps_its_time_and_what_is_gone_goes(tmp_path, given):
    (given / "im2col.c").write_text("x\n")
    (given / "col2im.c").write_text("y\n")
    submission.take(given, 2, tmp_path / "to")
    kept = tmp_path / "to/lab2/im2col.c"
    before = kept.stat().st_mtime_ns
    (given / "col2im.c").unlink()
    submission.take(given, 2, tmp_path / "to")
    assert kept.stat().st_mtime_ns == before
    assert [p.name for p in kept.parent.iterdir()] == ["im2col.c"]


@pytest.mark.parametrize("text, why", [
    ('#include "/etc/passwd"\n', '1: not compiled: #include "/etc/passwd"'),
    ("#define AGAIN __FILE__\n#include AGAIN\n", "2: not compiled: #include AGAIN: name"),
    (b'// \r#include "/etc/passwd"\n', '1: not compiled: #include "/etc/passwd"'),
    (b"// \rint x;\n", "1: not compiled: a carriage return"),
    (b'#define A ((section("a\\n.incbin ...")))\nint x __attribute__ A;\n',
     "2: not compiled: __attribute__: write its list right behind it"),
    ('#include "\x1b[2J\u202e"\n', '1: not compiled: #include "\\x1b[2J\\u202e"'),
    ('__asm__(".incbin \\"/etc/passwd\\"");\n', "1: not compiled: __asm__"),
])  # fmt: skip
def test_what_no_task_allows_is_not_shown_to_a_compiler(tmp_path, given, text, why):
    (given / "im2col.c").write_bytes(text if isinstance(text, bytes) else text.encode())
    submission.take(given, 2, tmp_path / "to")
    note = tmp_path / "to/lab2/im2col.c.refused"
    assert f"im2col.c:{why}" in note.read_text()
    (given / "im2col.c").write_text('#include "tl/status.h"\n')
    submission.take(given, 2, tmp_path / "to")
    assert not note.exists()


@pytest.mark.parametrize("lab, words", [(2, "no file of lab 2"), (9, "no such lab")])
def test_nothing_to_grade_is_an_error(tmp_path, given, lab, words):
    (given / "notes.txt").write_text("x\n")
    with pytest.raises(submission.Refused, match=words):
        submission.take(given, lab, tmp_path / "to")


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(submission.Refused, match="no such folder"):
        submission.take(tmp_path / "none", 2, tmp_path / "to")
