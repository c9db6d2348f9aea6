"""make format-check: which clang-format judges, what is said where there is another one, that CI
runs it; and that no formatter pushed the lists in comments together."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHECK = ROOT / "tools/format_check.sh"


def program(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def tools(folder, *names):
    """A PATH with these programs of the machine alone."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).symlink_to(shutil.which(name))
    return folder


def clang_format(folder, version, status):
    """One that answers as this version does, and finds the files right (0) or wrong (1)."""
    program(folder, "clang-format", f"""
if [ "$1" = --version ]; then echo "Debian clang-format version {version}.0.6"; exit; fi
[ {status} = 0 ] || echo "$3:1:5: error: code should be clang-formatted" >&2
exit {status}""")


@pytest.fixture
def check(tmp_path):
    """check(text): format_check.sh of a file with this text; (status, what it said)."""
    bin = tools(tmp_path / "bin", "bash", "grep", "sed")

    def run(text):
        file = tmp_path / "x.c"
        file.write_text(text)
        done = subprocess.run([CHECK, file], env={"PATH": str(bin)}, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    run.bin = bin
    return run


@pytest.mark.parametrize("status", [0, 1])
def test_version_14_judges(check, status):
    clang_format(check.bin, 14, status)
    code, said = check("int x;\n")
    assert code == status and f"{2 - status} passed, {status} failed" in said
    assert ("error: code should be" in said) == (status == 1)


def test_another_version_is_said_not_to_judge(check):
    clang_format(check.bin, 19, 1)
    code, said = check("int x;\n")
    assert code == 0 and said.endswith("1 passed, 0 failed\n")
    assert said.startswith("format-check: the style was not judged: here is clang-format 19")


def test_without_clang_format_it_says_what_to_type(check):
    code, said = check("int x;\n")
    assert code == 1 and "make setup format-check" in said and "1 passed, 1 failed" in said


def test_a_long_line_of_a_comment_is_named(check):
    """clang-format leaves comments alone (ReflowComments), so it does not see them."""
    clang_format(check.bin, 14, 0)
    code, said = check("int x;\n/* " + 94 * "\u2026" + " */\n/* " + 95 * "x" + " */\n")
    assert code == 1 and re.search(r"x\.c:3:/\* x", said) and "x.c:2" not in said
    assert "ReflowComments: false" in (ROOT / ".clang-format").read_text()


@pytest.mark.parametrize("status", [0, 1])
def test_python_is_judged_where_ruff_is(check, status):
    clang_format(check.bin, 14, 0)
    assert "Python was not judged" in check("int x;\n")[1]
    program(check.bin, "ruff", f"exit {status}")
    code, said = check("int x;\n")
    assert code == status and said.endswith(f"{3 - status} passed, {status} failed\n")


@pytest.mark.parametrize("failed", [0, 1])
def test_ci_counts_it(tmp_path, failed):
    """.ci/run with a make that only says its counts: those of format-check count."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / ".ci", clone / ".ci")
    needed = ("bash", "dirname", "mktemp", "rm", "tee", "grep", "tail", "sort", "cat")
    bin = tools(tmp_path / "bin", *needed)
    program(bin, "make", f"""
case "$*" in
*format-check*) echo "1 passed, {failed} failed"; exit {failed} ;;
*) echo "10 passed, 0 failed" ;;
esac""")
    done = subprocess.run([clone / ".ci/run"], env={"PATH": str(bin), "TMPDIR": str(tmp_path)},
                          capture_output=True, text=True)
    assert done.stdout.endswith(f"21 passed, {failed} failed\n") and done.returncode == failed
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text()


# a list's name and its gap in the midst of prose; and a list's line that goes on outside of it
MIDST = re.compile(r"^ *\* \S.*[a-z.)] \w+ {2,}\w.*", re.M)
SPILT = re.compile(r"^ *\* {2,}\S.*\S {2,}\S.*\n *\* [a-z].*", re.M)


def sources():
    for room in ("tl", "programs", "labs", "solution", "kernels", "hostcuda", "autograder",
                 "tests"):
        for kind in ("*.h", "*.c", "*.cu", "*.cpp"):
            yield from (ROOT / room).rglob(kind)


def test_lists_in_comments_are_lists():
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path in sources()
             for pattern in (MIDST, SPILT)
             for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace"))]
    assert not found, "\n".join(found)
