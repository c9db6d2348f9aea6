"""Only a lab's own files leave a submission, and what left it nobody changes any more."""

import hashlib
import os
import shutil
import socket
import stat
import subprocess
import threading
import time
import traceback

import intake
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
def test_files_are_found_in_any_of_the_usual_places(given, place):
    (given / place).mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (given / place / name).write_text(f"/* {name} */\n")
    files, said = submission.collect(given, 2)
    assert said == [] and files == {name: f"/* {name} */\n".encode() for name in NAMES}


def test_junk_stays_behind(given):
    (given / "labs/lab2").mkdir(parents=True)
    (given / "tl/include/tl").mkdir(parents=True)
    for name in ("labs/lab2/im2col.c", "labs/lab2/helper.h", "labs/lab2/Makefile", "Makefile",
                 "tl/include/tl/conv2d.h", "labs/lab2/im2col.c~", "labs/lab2/im2col.c.refused",
                 "labs/lab2/\x1b[2J\n.c", "labs/lab2/im2col.c\u202e"):
        (given / name).write_text("x\n")
    (given / os.fsdecode(b"labs/lab2/\xff\xfe.c")).write_text("x\n")
    files, said = submission.collect(given, 2)
    assert files == {"im2col.c": b"x\n"}
    assert sorted(said) == ["\x1b[2J\n.c is no file of this lab; it was not taken",
                            "helper.h is no file of this lab; it was not taken",
                            "your conv2d.h differs from the given one; it was not taken",
                            "\udcff\udcfe.c is no file of this lab; it was not taken"]


def test_a_header_as_it_was_given_is_not_worth_a_word(given):
    (given / "im2col.c").write_text("x\n")
    for name in ("conv2d.h", "alloc.h"):
        shutil.copy(submission.ROOT / "tl/include/tl" / name, given)
    (given / "alloc.h").write_text("/* mine */\n")
    said = submission.collect(given, 2)[1]
    assert said == ["your alloc.h differs from the given one; it was not taken"]


@pytest.mark.parametrize("place", ["hand in", "hand in/lab2", "gradlab-main/labs/lab2"])
def test_all_of_it_may_lie_one_folder_deeper(given, place):
    (given / place).mkdir(parents=True)
    (given / "__MACOSX/lab2").mkdir(parents=True)
    (given / "solution/lab2").mkdir(parents=True)
    for folder in (place, "__MACOSX/lab2", "solution/lab2"):
        (given / folder / "im2col.c").write_text(f"{folder}\n")
    assert submission.collect(given, 2) == ({"im2col.c": f"{place}\n".encode()}, [])
    (given / "another/lab2").mkdir(parents=True)
    (given / "another/lab2/im2col.c").write_text("x\n")
    with pytest.raises(submission.Refused, match="both another/lab2 and .* hand in one of them"):
        submission.collect(given, 2)


def test_what_is_nearer_counts(given):
    for folder in ("deeper/lab2", "lab2"):
        (given / folder).mkdir(parents=True)
        (given / folder / "im2col.c").write_text(f"{folder}\n")
    assert submission.collect(given, 2) == ({"im2col.c": b"lab2\n"}, [])


def test_what_is_no_file_of_its_own_is_called_what_it_is(given, monkeypatch):
    (given / "im2col.c").write_text("x\n")
    os.mkfifo(given / "im2col.cu")
    (given / "col2im.c").mkdir()
    (given / "col2im.cu").symlink_to("/etc/passwd")
    (given / "conv2d_fwd.c").symlink_to("conv2d_fwd.c")
    (given / "conv2d_bwd.c").write_bytes(b" " * (intake.LARGEST + 1))
    os.link(given / "im2col.c", given / "conv2d_bwd.cu")
    with socket.socket(socket.AF_UNIX) as end:
        monkeypatch.chdir(given)  # a socket's path is short
        end.bind("conv2d_fwd.cu")
        files, said = submission.collect(given, 2)
    assert files == {}
    assert sorted(s.removeprefix(f"{given}/") for s in said) == [
        "col2im.c: a folder, not taken", "col2im.cu: a link, not taken",
        "conv2d_bwd.c: larger than 256 KiB, not taken",
        "conv2d_bwd.cu: a hard link, not taken",
        "conv2d_fwd.c: a link, not taken", "conv2d_fwd.cu: a socket, not taken",
        "im2col.c: a hard link, not taken", "im2col.cu: a named pipe, not taken"]


@pytest.mark.parametrize("linked", ["labs", "labs/lab2", "lab2"])
def test_a_folder_that_is_a_link_gives_nothing(tmp_path, given, linked):
    (tmp_path / "secret/lab2").mkdir(parents=True)
    for name in ("secret/im2col.c", "secret/lab2/im2col.c"):
        (tmp_path / name).write_text("the solution\n")
    (given / linked).parent.mkdir(exist_ok=True)
    (given / linked).symlink_to(tmp_path / "secret")
    with pytest.raises(submission.Refused, match="no file of lab 2.*: a link, not followed"):
        submission.collect(given, 2)
    (given / linked).unlink()
    (given / linked).parent.joinpath("a file").write_text("x")
    os.rename((given / linked).parent / "a file", given / linked)
    with pytest.raises(submission.Refused, match="no file of lab 2.*: no folder, not followed"):
        submission.collect(given, 2)


def test_nor_does_a_submission_that_is_one(tmp_path, given):
    (given / "im2col.c").write_text("x\n")
    (tmp_path / "ada").symlink_to(given)
    with pytest.raises(submission.Refused, match="a link: name the folder itself"):
        submission.collect(tmp_path / "ada", 2)


def test_a_file_that_grows_while_it_is_read_is_read_to_the_limit(given, monkeypatch):
    """It is small when it is looked at, and gives without end."""
    (given / "im2col.c").write_text("x\n")
    reads = []

    def endless(fd: int, n: int) -> bytes:
        reads.append(n)
        return b"x" * min(n, 4096)

    monkeypatch.setattr(intake.os, "read", endless)
    files, said = submission.collect(given, 2)
    assert files == {} and said[0].endswith("im2col.c: larger than 256 KiB, not taken")
    assert sum(min(n, 4096) for n in reads) == intake.LARGEST + 1


def test_a_link_put_in_place_of_the_file_meanwhile_is_not_followed(given, tmp_path, monkeypatch):
    (tmp_path / "secret").write_text("the solution\n")
    (given / "im2col.c").write_text("x\n")
    look = os.stat

    def swap(*words, **more):
        found = look(*words, **more)
        (given / "im2col.c").unlink()
        (given / "im2col.c").symlink_to(tmp_path / "secret")
        return found

    monkeypatch.setattr(intake.os, "stat", swap)
    with pytest.raises(intake.Unfit, match="a link"):
        intake.read_file(given / "im2col.c")


def test_nothing_read_tells_of_a_place_outside_while_folders_change(given, tmp_path):
    """A real race: somebody exchanges folder and link all the time."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/im2col.c").write_text("the solution\n")
    (given / "lab2").mkdir()
    (given / "lab2/im2col.c").write_text("x\n")
    (given / "link").symlink_to(tmp_path / "secret")
    done = threading.Event()

    def exchange():
        while not done.is_set():
            for before, after in [("lab2", "kept"), ("link", "lab2"), ("lab2", "link"),
                                  ("kept", "lab2")]:
                os.rename(given / before, given / after)

    thread = threading.Thread(target=exchange)
    thread.start()
    outcomes, end = set(), time.monotonic() + 1
    while time.monotonic() < end:
        try:
            outcomes.add(submission.collect(given, 2)[0].get("im2col.c"))
        except submission.Refused:
            outcomes.add("refused")
    done.set()
    thread.join()
    assert outcomes <= {b"x\n", "refused"} and outcomes


# ---- the snapshot --------------------------------------------------------------------------------

def kept(files: dict, tmp_path, name: str = "ada"):
    to = tmp_path / submission.folder_of(tmp_path / name, files, 2)
    submission.keep(files, 2, to)
    return to


def test_a_snapshot_is_called_by_its_content_and_read_only(tmp_path):
    files = {"im2col.c": b"int x;\r\n", "col2im.c": b""}
    to = kept(files, tmp_path)
    lines = "".join(f"{hashlib.sha256(data).hexdigest()}  lab2/{name}\n"
                    for name, data in sorted(files.items()))
    whole = hashlib.sha256(lines.encode()).hexdigest()
    assert to == tmp_path / "build/submissions" / f"ada-{whole[:16]}"
    assert {p.name: p.read_bytes() for p in (to / "lab2").iterdir()} == files
    assert {stat.S_IMODE(p.stat().st_mode) for p in (to / "lab2").iterdir()} == {0o444}
    assert {stat.S_IMODE(p.stat().st_mode) for p in (to, to / "lab2")} == {0o555}
    assert submission.identity(to, 2)["sha256"] == whole
    assert [p.name for p in to.parent.iterdir()] == [to.name]
    assert kept(files | {"im2col.c": b"int y;\n"}, tmp_path) != to


def test_equal_files_find_the_folder_that_is_there(tmp_path):
    to = kept({"im2col.c": b"x\n"}, tmp_path)
    before = (to.stat().st_ino, (to / "lab2/im2col.c").stat().st_mtime_ns)
    assert kept({"im2col.c": b"x\n"}, tmp_path) == to
    assert (to.stat().st_ino, (to / "lab2/im2col.c").stat().st_mtime_ns) == before


@pytest.mark.parametrize("harm", ["changed", "removed", "added", "linked",
                                  "link added"])
def test_a_snapshot_that_somebody_changed_is_no_grade(tmp_path, harm):
    to = kept({"im2col.c": b"x\n"}, tmp_path)
    path = to / "lab2/im2col.c"
    (to / "lab2").chmod(0o755)
    if harm == "changed":
        path.chmod(0o644)
        path.write_bytes(b"y\n")
    elif harm == "link added":
        (to / "lab2/col2im.c").symlink_to("/etc/passwd")
    elif harm == "added":
        (to / "lab2/col2im.c").write_bytes(b"y\n")
    else:
        path.unlink()
        if harm == "linked":
            (tmp_path / "x").write_bytes(b"x\n")
            path.symlink_to(tmp_path / "x")
    with pytest.raises(submission.Refused, match="was changed"):
        submission.identity(to, 2)
    kept({"im2col.c": b"x\n"}, tmp_path)
    assert path.read_bytes() == b"x\n" and not path.is_symlink()
    assert submission.identity(to, 2) and [p.name for p in to.parent.iterdir()] == [to.name]


NOBODY = 65534


@pytest.fixture
def nobodys(tmp_path):
    """A folder for somebody who may not write into one that is read-only."""
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.name.startswith(("pytest-", "popen-")):
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


def test_it_goes_without_being_root(nobodys):
    """Snapshots are made, replaced and removed."""
    tmp_path = nobodys
    "".encode("utf-8-sig")  # Python may lie where nobody else looks: loaded while we may
    child = os.fork()
    if not child:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            to = kept({"im2col.c": b"x\n"}, tmp_path)
            (to / "lab2/im2col.c").chmod(0o644)
            (to / "lab2/im2col.c").write_bytes(b"y\n")
            assert kept({"im2col.c": b"x\n"}, tmp_path) == to
            assert (to / "lab2/im2col.c").read_bytes() == b"x\n"
            submission.remove(to)
            assert list(to.parent.iterdir()) == []
            status = 0
        except BaseException:
            traceback.print_exc()  # or nobody would hear of it
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_make_clean_takes_snapshots_away(nobodys):
    tmp_path, user = nobodys, NOBODY if os.geteuid() == 0 else None
    kept({"im2col.c": b"x\n"}, tmp_path)
    shutil.copy(submission.ROOT / "Makefile", tmp_path)
    recipe = (tmp_path / "Makefile").read_text().split("\nclean:")[1].split("\nendif")[0]
    (tmp_path / "Makefile").write_text(f"clean:{recipe}\n")
    if user:
        for path in [tmp_path, *tmp_path.rglob("*")]:
            os.chown(path, user, user)
    subprocess.run(["make", "-C", tmp_path, "clean"], check=True, capture_output=True, user=user)
    assert not (tmp_path / "build").exists()


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
def test_what_no_task_allows_is_not_shown_to_a_compiler(tmp_path, text, why):
    data = text if isinstance(text, bytes) else text.encode()
    note = kept({"im2col.c": data}, tmp_path) / "lab2/im2col.c.refused"
    assert f"im2col.c:{why}" in note.read_text() and note.read_text().count("\n") == 1
    fine = kept({"im2col.c": b'#include "tl/status.h"\n'}, tmp_path)
    assert [p.name for p in (fine / "lab2").iterdir()] == ["im2col.c"]


def test_a_gate_that_has_learned_something_judges_a_kept_snapshot_anew(tmp_path, monkeypatch):
    """With new times: objects made before are older than what make sees now."""
    to = kept({"im2col.c": b"int x;\n"}, tmp_path)
    before = (to / "lab2/im2col.c").stat().st_mtime_ns
    monkeypatch.setattr(submission.gate, "file_findings", lambda *words: [(1, "int: no more")])
    assert kept({"im2col.c": b"int x;\n"}, tmp_path) == to
    assert "int: no more" in (to / "lab2/im2col.c.refused").read_text()
    assert (to / "lab2/im2col.c").stat().st_mtime_ns > before


# ---- nothing to grade ----------------------------------------------------------------------------

@pytest.mark.parametrize("lab, words", [(2, "no file of lab 2"), (9, "no such lab")])
def test_nothing_to_grade_is_an_error(given, lab, words):
    (given / "notes.txt").write_text("x\n")
    with pytest.raises(submission.Refused, match=words):
        submission.collect(given, lab)


@pytest.mark.parametrize("place", ["", "lab2", "labs/lab2", "hand in/lab2"])
def test_another_labs_files_are_none_of_this_one(given, place):
    """Every lab has a cases.toml."""
    (given / place).mkdir(parents=True, exist_ok=True)
    for name in ("cases.toml", "im2col.c"):
        (given / place / name).write_text("x\n")
    with pytest.raises(submission.Refused, match="no file of lab 1 .*; files of lab 2 are there"):
        submission.collect(given, 1)
    assert sorted(submission.collect(given, 2)[0]) == ["cases.toml", "im2col.c"]


def test_cases_alone_are_files_of_the_lab(given):
    (given / "cases.toml").write_text("x\n")
    assert list(submission.collect(given, 1)[0]) == ["cases.toml"]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(submission.Refused, match="no such folder"):
        submission.collect(tmp_path / "none", 2)
    (tmp_path / "file").write_text("x")
    with pytest.raises(submission.Refused, match="neither a folder nor a .zip or .tar.gz"):
        submission.collect(tmp_path / "file", 2)
