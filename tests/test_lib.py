"""make lib: libtl.so for who has its headers alone. What it exports is what they declare, an
operation goes to the device of its context, and what a caller has of its own stays its own."""

import os
import re
import subprocess

import make
import pytest
from relink import ROOT

SYMBOLS = (ROOT / "tl/abi/libtl.symbols").read_text().split()
PRECISIONS = {"float": ("libtl.so", "tl"), "double": ("libtl_double.so", "tl-double")}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The folder, at another place than where it was made."""
    made = tmp_path_factory.mktemp("lib") / "made"
    done = make.run("-C", str(ROOT), "lib", f"PREFIX={made}", timeout=900)
    assert done.returncode == 0, done.stderr
    return made.rename(made.with_name("moved here"))


def run(*command, folder, **environment):
    return subprocess.run([str(c) for c in command], cwd=folder, env=os.environ | environment,
                          capture_output=True, text=True, timeout=120)


def flags(tree, precision):
    done = run("pkg-config", "--cflags", "--libs", PRECISIONS[precision][1], folder=tree,
               PKG_CONFIG_PATH=str(tree / "lib/pkgconfig"))
    assert done.returncode == 0, done.stderr
    return [flag.replace("\\ ", " ") for flag in re.split(r"(?<!\\) ", done.stdout.strip())]


def built(tree, source, precision, *more):
    program = tree / f"{source.stem}-{precision}"
    done = run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", ROOT / source, "-o", program,
               *flags(tree, precision), *more, folder=tree)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_exported_is_what_is_listed(tree, precision):
    library = tree / "lib/tl" / precision / PRECISIONS[precision][0]
    lines = run("nm", "-D", "--defined-only", library, folder=tree).stdout.splitlines()
    names = {line.split()[-1] for line in lines} - {"TL_1"}
    assert names == {f"{name}@@TL_1" for name in [*SYMBOLS, f"tl_is_{precision}"]}


def test_what_is_listed_is_what_the_headers_declare(tree):
    """As a compiler sees them, less what they define inline."""
    whole = tree / "whole.c"
    whole.write_text("#include <tl/tl.h>\n")
    text = run("cc", "-E", "-P", *flags(tree, "float"), whole, folder=tree).stdout
    declared = set(re.findall(r"^[\w *]*?\b(tl_\w+)\([^;{}]*\);", text, re.MULTILINE))
    inline = set(re.findall(r"^static inline[\w *]*?\b(tl_\w+)\(", text, re.MULTILINE))
    assert len(declared) > 100 and declared - inline == set(SYMBOLS)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_a_caller_brings_stays_its_own(tree, precision):
    program = built(tree, ROOT / "tests/lib/caller.c", precision, "-lopenblas")
    done = run(program, "hostcuda", folder="/")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "default_stream" and done.stderr == ""


def test_a_program_of_the_other_precision_is_refused(tree):
    """Compiled for double and linked with float: by the linker."""
    command = ["cc", "-std=c11", ROOT / "tl/abi/example.c", "-o", tree / "mixed"]
    done = run(*command, "-DTL_REAL_DOUBLE", *flags(tree, "float"), folder=tree)
    assert done.returncode != 0 and "undefined reference to `tl_is_double'" in done.stderr


def test_the_examples_print_what_the_page_says(tree):
    page = (ROOT / "tl/abi/README.md").read_text()
    program = built(tree, ROOT / "tl/abi/example.c", "float")
    for device in ("cpu", "hostcuda"):
        done = run(program, device, folder=tree)
        assert done.returncode == 0 and done.stderr == ""
        assert done.stdout in page
    done = run(program, "gpu", folder=tree)
    assert done.returncode == 1 and "unknown device" in done.stderr
    done = run("python3", ROOT / "tl/abi/example.py", tree / "lib/tl/float/libtl.so", folder="/")
    assert done.returncode == 0 and done.stdout.strip() in page


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (it builds a library of its own: a minute)

    def test_of_a_students_files(tmp_path):
        """MINE=1 of the skeletons: what is given works, what is not written says so. (Without a
        CUDA plug-in, which would take a minute to compile.)"""
        done = make.run("-C", str(ROOT), "lib", "MINE=1", "NVCC=none", f"PREFIX={tmp_path}",
                        timeout=900)
        assert done.returncode == 0, done.stderr
        done = run("python3", ROOT / "tl/abi/example.py", tmp_path / "lib/tl/float/libtl.so",
                   folder=tmp_path)
        assert done.returncode == 1 and "tl_matmul is not implemented yet" in done.stderr


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = make.run("-C", str(ROOT), "lib", f"PREFIX={tmp_path}/file/lib", timeout=900)
    assert done.returncode != 0 and "cannot be written: say PREFIX=" in done.stderr
    assert os.listdir(tmp_path) == ["file"]
