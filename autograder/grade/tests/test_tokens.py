"""The gate reads a file as compilers do: over thousands of random files made of what is hard to
read, every name that a compiler sees in a file that passes is one that the gate has seen. And it
reads whatever is handed in within seconds."""

import random
import re
import shutil
import subprocess
import time

import gate
import intake
import pytest
import tokens

# What begins, ends, splices or hides tokens, alone and in whole pieces.
PIECES = [
    "a", "b", "asm", "x1", "R", "u8", "L", "e", "1", "0x1p", "'", '"', "\\", "\n", "\n", "\r",
    "\r\n", " ", "\t", "\f", "\v", "/*", "*/", "//", "/", "*", "#", "include", "??/", "<", ":", "%",
    ">", "::", "\\\n", "\\ \n", "\\\t\r\n", ".", "+", "''", "\0", "\x1a", "\ufeff", "\u00e9", "(",
    ")", "[", "$", "'x'", "'\\''", '"s"', '"\\""', '"\\\\"', 'R"(', ')"', "1'a", "2'3", "'5'6",
    "/* c */", "/*\n*/", "// d\n", "// d\r", "// d\\\n", "// d\\\r", "// d ??/\n", "#if 0\n",
    "\n#if 1\n", "\n#endif\n", "\n#\n", '\n#include "tl/status.h"\n', "\n#include <math.h>\n",
    "\n # /* c */ include /* d */ <math.h> // e\n", '"tl/status.h"', "<math.h>", "</*c*/math.h>",
    "\nasm b\n", "a b", "\u2028", "\n#error it's\n", "\n#line 7\n", "\n# 7 \"f\"\n",
]  # fmt: skip
FILES = 1500
COMPILERS = [("gcc", "c", "gnu11"), ("gcc", "c++", "c++17"), ("clang", "c", "gnu11"),
             ("clang", "c++", "c++17")]  # fmt: skip
SUFFIX = {"c": ".c", "c++": ".cu"}


def drawn(language: str) -> list:
    """Files that the gate lets pass, as text: what it refuses no compiler needs to agree on."""
    draw = random.Random(language)
    return ["".join(draw.choices(PIECES, k=draw.randint(2, 9))) for _ in range(FILES)]


def words(texts: list) -> set:
    """Everything in them that some reader could take for a name."""
    joined = "\n".join([*texts, *(tokens.splice(text)[0] for text in texts)])
    runs = set(re.findall(r"[A-Za-z_0-9]+", joined))
    parts = {run[at:] for run in runs for at in range(len(run))}
    return {w for w in parts if not w[0].isdigit()} - {"defined"}


def seen_by_gate(text: str, language: str) -> list:
    """The names, and each header once more, in their order."""
    found, line = [], []
    for token in [*tokens.tokens(text, language), tokens.Token(tokens.NEWLINE, "", 0)]:
        if token.kind != tokens.NEWLINE:
            line.append(token)
            continue
        if [t.text for t in line[:2]] == ["#", "include"]:
            found.append("probe")
        elif not line or line[0].text != "#":
            found += [t.text for t in line if t.kind == tokens.IDENTIFIER]
        line = []
    return found


def seen_by_compiler(command: list, texts: dict, folder) -> dict:
    """number -> names: each name is a macro that says its name."""
    names = words(list(texts.values()))
    (folder / "names.h").write_text("".join(f"#define {w} @{w}@\n" for w in sorted(names)))
    for header in ("tl/status.h", "math.h"):
        (folder / "include" / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / "include" / header).write_text("@probe@\n")
    for number, text in texts.items():
        (folder / f"{number}.x").write_bytes(text.encode())
    (folder / "all").write_text("".join(f'"file {n}"\n#include "{n}.x"\n' for n in texts))
    done = subprocess.run([*command, "-E", "-P", "-w", "-nostdinc", "-imacros", "names.h",
                           "-Iinclude", "all"], cwd=folder, capture_output=True)
    said = re.split(r'"file (\d+)"', done.stdout.decode(errors="replace"))
    return {int(n): re.findall(r"@ ?([A-Za-z_]\w*) ?@", text)
            for n, text in zip(said[1::2], said[2::2])}


def is_part(short: list, long: list) -> bool:
    rest = iter(long)
    return all(name in rest for name in short)


@pytest.mark.parametrize("compiler, language, standard", COMPILERS)
def test_what_passes_is_read_alike(tmp_path, compiler, language, standard):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here to compare with")
    texts = {}
    for number, text in enumerate(drawn(language)):
        path = tmp_path / f"gate/x{SUFFIX[language]}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        said = [s for _, s in gate.file_findings(2, path, []) if not s.startswith("asm: ")]
        if not said:
            texts[number] = text
    assert FILES / 5 < len(texts) < FILES
    seen = seen_by_compiler([compiler, "-x", language, f"-std={standard}"], texts, tmp_path)
    assert set(seen) == set(texts)
    for number, text in texts.items():
        names = seen_by_gate(text, language)
        if "#if" in text or language == "c++":  # it reads all branches, and x in "s"x
            assert is_part(seen[number], names), repr(text)
        else:
            assert seen[number] == names, repr(text)


# ---- time ----------------------------------------------------------------------------------------

# what: one piece of a long file, or (what stands in front, a piece)
LONG = {
    "escaped quotes": '\\"', "quotes": '"', "single quotes": "'", "escaped single quotes": "\\'",
    "numbers with quotes": "1'", "comments that open": "/*", "half comments": "/ *",
    "backslashes": "\\", "backslashes and blanks": "\\ ", "splices": "\\\n",
    "splices in a comment": ("//", "x\\\n"), "a line of blanks": " ", "line ends": "\n",
    "carriage returns": "\r", "less": "<", "launches": "<<<", "digraphs": "<:", "dots": ".",
    "parentheses": "(", "brackets": "[", "a macro of parentheses": ("#define A ", "("),
    "attributes": "__attribute__", "attributes that open": "__attribute__((",
    "attributes in attributes": "__attribute__((aligned(",
    "an attribute of parentheses": ("__attribute__((aligned", "("), "one name": "a",
    "one number": "1", "exponents": "1e+", "names": "a ", "reserved names": "__a ",
    "assembly": "asm ", "directives": "#\n", "definitions": "#define a(\n",
    "headers": "#include <\n",
    "a header": ("#include <", "a"), "pragmas": "#pragma a\n", "a pragma": ("#pragma omp ", "a "),
    "strings": '"a" ', "a string": ('"', "a"), "raw strings": 'R"(', "NULs": "\0",
    "what is no character": b"\xff", "trigraphs": "??/", "members": "->ops",
}  # fmt: skip


def cpu_seconds(tmp_path, what: str, size: int) -> float:
    """Of one look at a file of this size."""
    front, piece = LONG[what] if isinstance(LONG[what], tuple) else ("", LONG[what])
    piece = piece if isinstance(piece, bytes) else piece.encode()
    path = tmp_path / "im2col.cu"
    path.write_bytes((front.encode() + piece * (size // len(piece) + 1))[:size])
    begin = time.process_time()
    assert len(gate.file_findings(2, path, [])) <= gate.MOST
    return time.process_time() - begin


@pytest.mark.parametrize("what", LONG)
def test_time_grows_with_the_length_alone(tmp_path, what):
    """A file four times as long takes four times as long, not sixteen times. (What is over in an
    instant tells nothing; a quadratic reader takes minutes for the longest file.)"""
    small, large = (min(cpu_seconds(tmp_path, what, size) for _ in range(2))
                    for size in (8_192, 32_768))
    assert large < 9 * small + 0.05


@pytest.mark.parametrize("what", ["escaped quotes", "directives", "names"])
def test_the_largest_file_is_read_within_seconds(tmp_path, what):
    assert cpu_seconds(tmp_path, what, intake.LARGEST) < 5
