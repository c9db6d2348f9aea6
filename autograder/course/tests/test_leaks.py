"""The leak scan: a handout made of what is given is clean, and a function hidden in it is found and
named, whatever it is wrapped in. What is not found is held here, too, so that nobody trusts it."""

import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import leak_files
import leak_pieces
import leak_secrets
import leaks
import plants
import pytest
import skeletons
import tokens

ROOT = Path(__file__).resolve().parents[3]
TAKEN = ["solution/lab2", "labs/lab2", "tl/include", "autograder/oracle", "autograder/lab2",
         "autograder/SECURITY.md", "kernels/gemm/04_registers.cu", "kernels/gemm/operands.h",
         "autograder/hostile/floods.c", "autograder/hostile/submissions/exhaust_dwarf"]  # fmt: skip


@pytest.fixture(name="small", scope="module")
def small_repository(tmp_path_factory):
    """A repository of one lab: as good for this, and read in a second."""
    root = tmp_path_factory.mktemp("repository")
    for name in TAKEN:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name)
        else:
            shutil.copy(ROOT / name, root / name)
    return root


@pytest.fixture(name="secrets", scope="module")
def secrets_of_small(small):
    return leak_secrets.Secrets(small)


def found(secrets, files: dict, closed=(), links=()) -> list:
    looked = leaks.Leaks(secrets, set(closed))
    looked.look_at_all({name: data if isinstance(data, bytes) else data.encode()
                        for name, data in files.items()}, links)
    return looked.lines


def function(path: str, name: str) -> str:
    return dict(leak_secrets.cut(path, (ROOT / path).read_text()))[name]


COPY_ROW = function("solution/lab2/im2col.c", "copy_row")
COPY_TAP = function("solution/lab2/im2col.c", "copy_tap")


# ---- what is found -------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", plants.PLANTS)
def test_a_hidden_function_is_found_and_named(secrets, kind):
    files = plants.PLANTS[kind](COPY_ROW + "\n" + COPY_TAP)
    lines = found(secrets, files)
    named = [line for line in lines if re.search(r"copy_(row|tap) of solution/lab2/im2col", line)]
    assert named, lines
    places = "names" if kind == "a file's name" else "|".join(map(re.escape, files))
    assert all(re.match(places, line) for line in lines), lines


@pytest.mark.parametrize("path, name", [
    ("autograder/oracle/oracle_conv2d.c", "oracle_conv2d_fwd"),
    ("kernels/gemm/04_registers.cu", "multiply_registers"),
    ("solution/lab2/col2im.cu", "tl_col2im"),
    ("autograder/hostile/floods.c", "hostile_floods"),
    ("autograder/lab2/col2im_test.c", "expect_adjoint"),
    ("autograder/SECURITY.md", "Layers")])
def test_secrets_of_each_kind_are_found(secrets, path, name):
    chunks = dict(leak_secrets.cut(path, (ROOT / path).read_text()))
    assert name in chunks, sorted(chunks)
    assert any(path in line for line in found(secrets, {"a.md": chunks[name]}))


def test_comments_of_a_solution_are_found_without_their_code(secrets):
    """In comments, as a text, and not those that the skeleton has, too."""
    path = "solution/lab2/conv2d_bwd.c"
    said = re.findall(r"(?s)/\*.*?\*/|//[^\n]*", (ROOT / path).read_text())
    for text in ("\n".join(said), re.sub(r"/\*|\*/|//|\n \*", " ", "\n".join(said))):
        lines = found(secrets, {"a.md": text})
        assert any(f"comments of {path}" in line for line in lines), lines
    assert not found(secrets, {"a.md": said[0]})


def test_a_mutant_is_found_by_its_words(secrets):
    path = "autograder/lab2/mutants.toml"
    entry = re.split(r"(?m)^(?=\[\[mutant\]\])", (ROOT / path).read_text())[3]
    lines = found(secrets, {"a.md": entry})
    assert any(f"im2col_padding_repeats_the_edge of {path}" in line for line in lines), lines


def test_a_zip_says_which_member_and_how_much(secrets):
    line, = found(secrets, {"docs/a.zip": plants.zipped(COPY_TAP)})
    assert re.fullmatch(r"docs/a\.zip: notes/old\.txt: copy_tap of solution/lab2/im2col\.c: "
                        r"(\d+) of (\d+) tokens in common", line), line


def test_a_leak_in_a_given_file_is_found(tmp_path, small):
    """Committed, and so handed out with the rest: a file does not speak for itself."""
    root = tmp_path / "root"
    shutil.copytree(small, root)
    header = root / "tl/include/tl/conv2d.h"
    header.write_text(header.read_text() + plants.renamed(COPY_TAP))
    lines = found(leak_secrets.Secrets(root), {"tl/include/tl/conv2d.h": header.read_text()})
    assert any(line.startswith("tl/include/tl/conv2d.h: copy_tap of ") for line in lines), lines


# ---- what is clean, in the whole repository, and what a rewritten function still shows -----------

def rewritten(text: str) -> dict:
    """What somebody does who means it, by name; all of it renamed, too."""
    while_for = re.sub(r"\bfor\s*\(([^;()]*);([^;]*);([^()]*)\)", r"\1; while (\2) \3;", text)
    split = re.sub(r"\b(int|size_t|tl_real|double)\s+(\w+) = ([^,;(){}]+);",
                   r"\1 \2; \2 = \3;", text)
    lines = text.split("\n")
    for i in range(1, len(lines) - 2, 2):
        if lines[i].endswith(";") and lines[i + 1].endswith(";"):
            lines[i], lines[i + 1] = lines[i + 1], lines[i]
    pointers = re.sub(r"\b(\w+)\[([^\[\]]+)\]", r"*(\1 + \2)", text)
    return {name: plants.renamed(other) for name, other in (
        ("as it is", text), ("for is while", while_for), ("declarations split", split),
        ("lines swapped", "\n".join(lines)), ("x[i] is *(x + i)", pointers))}


# Share of the functions of solution, oracle and kernels, each alone in a file, that are found. Of
# those with 10 pieces of 16 tokens that are in no skeleton: the others hold no secret to speak of.
FOUND_AT_LEAST = {"as it is": 0.96, "for is while": 0.92, "declarations split": 0.95,
                  "lines swapped": 0.85, "x[i] is *(x + i)": 0.85}  # fmt: skip
EVERY = 3  # takes one in three: two seconds


def functions() -> list:
    made = skeletons.skeletons(ROOT).values()
    given = set().union(*(code_of(data.decode()) for data in made))
    return [text for path in leak_secrets.tracked(ROOT)
            if re.fullmatch(r"(solution/lab\d|autograder/oracle|kernels/\w+)/\w+\.cu?", path)
            for _, text in leak_secrets.cut(path, (ROOT / path).read_text())
            if "{" in text and len(code_of(text) - given) >= 10]


def code_of(text: str) -> set:
    return set(leak_pieces.pieces(leak_pieces.code(leak_pieces.tokens_of(text)), "code"))


def test_given_files_are_clean_and_rewritten_functions_are_found():
    secrets = leak_secrets.Secrets(ROOT)
    names = [n for n in leak_secrets.tracked(ROOT) if n.startswith(("labs/", "tl/"))]
    assert len(names) > 100
    assert not found(secrets, {name: (ROOT / name).read_bytes() for name in names})
    hits, taken = dict.fromkeys(FOUND_AT_LEAST, 0), functions()[::EVERY]
    for text in taken:
        for kind, other in rewritten(text).items():
            hits[kind] += bool(found(secrets, {"a.txt": other}))
    shares = {kind: round(n / len(taken), 3) for kind, n in hits.items()}
    assert len(taken) > 150 and all(shares[k] >= n for k, n in FOUND_AT_LEAST.items()), shares


def test_what_is_not_found(secrets):
    """Each operator under another name."""
    spelled = re.sub(r"[^\w\s]", lambda sign: f" SIGN_{ord(sign[0])} ", plants.renamed(COPY_TAP))
    assert not found(secrets, {"a.txt": spelled})


def test_targets_of_links_are_read_together(secrets):
    lines = COPY_TAP.splitlines()
    files = {f"d/{i:02}": line for i, line in enumerate(lines)}
    said = found(secrets, files, links=files)
    assert any(line.startswith("targets of links: copy_tap of") for line in said), said


# ---- what cannot be looked into is said, not passed over -----------------------------------------

def nested(times: int) -> bytes:
    return plants.gzip.compress(nested(times - 1)) if times else b"the end" * 9


def encrypted() -> bytes:
    data = bytearray(plants.zipped("secret"))
    for magic, at in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        data[data.index(magic) + at] |= 1
    return bytes(data)


CLOSED = {
    "nothing here opens 7z": b"7z\xbc\xaf\x27\x1c" + bytes(99), "old.txt is encrypted": encrypted(),
    "zip archive that does not open": plants.zipped("x" * 999)[:60],
    "sections cannot be read": b"\x7fELF\2\1" + b"\xff" * 99,
    "ends in the middle": b"!<arch>\nx" + b"?" * 80, "xz that does not": b"\xfd7zXZ\0" + bytes(99),
    "archives in archives": nested(14),
}  # fmt: skip


@pytest.mark.parametrize("said", CLOSED)
def test_what_does_not_open(secrets, said):
    data = CLOSED[said]
    with pytest.raises(leak_files.Unreadable, match=said) as error:
        found(secrets, {"docs/x": data})
    assert str(error.value).startswith("docs/x: ")


def test_a_bomb_is_not_unpacked(secrets, monkeypatch):
    monkeypatch.setattr(leak_files, "MOST", 1 << 20)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(1 << 22))
    with pytest.raises(leak_files.Unreadable, match="unpacks to 4194304 bytes"):
        found(secrets, {"x.zip": out.getvalue()})


# ---- the tokens ----------------------------------------------------------------------------------

def test_tokens_are_those_of_the_gate():
    """Of every secret in C: what is folded here is what the gate's reader sees."""
    skipped = (tokens.NEWLINE,)
    for path in leak_secrets.tracked(ROOT):
        if not re.fullmatch(r"(solution|kernels|autograder/oracle)/.*\.(cu?|h)", path):
            continue
        text = (ROOT / path).read_text()
        seen = tokens.tokens(text, "c" if path.endswith(".c") else "c++")
        theirs = "".join(t.text for t in seen if t.kind not in skipped)
        ours = "".join(t for t in leak_pieces.tokens_of(text)
                       if not t.startswith(leak_pieces.COMMENT))
        assert "".join(ours.split()) == "".join(theirs.lower().split()), path


# ---- the program ---------------------------------------------------------------------------------

def run(*arguments) -> subprocess.CompletedProcess:
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([sys.executable, ROOT / "autograder/course/leaks.py", *arguments],
                          capture_output=True, text=True, env=bare)


def test_the_program_says_what_it_looked_at(tmp_path, small, monkeypatch, capsys):
    monkeypatch.setattr(leaks, "ROOT", small)
    (tmp_path / "a").write_text("nothing\n")
    assert leaks.main([str(tmp_path), "CLOSED=1,2"]) == 0
    assert re.fullmatch(r"leaks: clean: 1 files, 0\.0 MB, \d+ secrets looked for \(\d+ more "
                        r"are too short or too ordinary to tell\), \d+\.\d s\n",
                        capsys.readouterr().out)
    (tmp_path / "b").write_text(COPY_TAP)
    assert leaks.main([str(tmp_path)]) == 1
    assert "leak: b: copy_tap of solution/lab2/im2col.c" in capsys.readouterr().out
    (tmp_path / "c").mkdir()
    monkeypatch.setattr(leaks, "ROOT", tmp_path / "c")
    assert leaks.main([str(tmp_path)]) == 2
    assert "has no solution/" in capsys.readouterr().err


def test_the_program_refuses(tmp_path):
    (tmp_path / "out").symlink_to("/etc/hostname")
    for arguments, said in (((tmp_path / "none",), "is no folder"), ((), "say leaks.py HANDOUT"),
                            ((tmp_path, "CLOSED=x"), "numbers of labs are needed"),
                            ((tmp_path, "--sam", "y"), "is not an option"),
                            ((tmp_path,), "out: a link that leads out of the handout")):
        done = run(*arguments)
        assert done.returncode == 2 and said in done.stderr, (arguments, done.stderr)


@pytest.mark.parametrize("version, words, closed", [
    ("closed  1, 2 (not for a GPU: made without nvcc)\n", [], {1, 2}),
    ("closed  none\n", [], set()), ("closed  1\n", ["CLOSED=2,3"], {2, 3}),
    ("labs 0, 1\n", [], set()), (None, [], set())])
def test_which_labs_are_closed_is_said_by_the_handout(tmp_path, version, words, closed):
    if version is not None:
        (tmp_path / "VERSION").write_text(version)
    assert leaks.closed_labs(words, tmp_path) == closed


def test_the_same_bytes_twice(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name / "labs").mkdir(parents=True)
        (tmp_path / name / "labs/a.c").write_text("int a;\n")
    assert leaks.main([str(tmp_path / "one"), "--same", str(tmp_path / "other")]) == 0
    changes = [(lambda f: f.write_text("int b;\n"), "labs/a.c: differs at byte 4"),
               (lambda f: f.chmod(0o755), "labs/a.c: mode"),
               (lambda f: f.rename(f.with_name("b.c")), "labs/a.c: only in")]
    for change, said in changes:
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "other", copy)
        change(copy / "labs/a.c")
        assert leaks.difference(tmp_path / "one", copy).startswith(said)
        assert leaks.main([str(tmp_path / "one"), "--same", str(copy)]) == 1
        shutil.rmtree(copy)
