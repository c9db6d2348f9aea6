"""What a compiler made of a function, in a handout: named wherever it lies, but for the programs
and objects that a handout has ready-made; and those may say no more than they must."""

import gzip
import shutil
import subprocess
from pathlib import Path

import handed
import leak_files
import leak_objects
import leak_secrets
import plants
import pytest
from test_leaks import ROOT, found, secrets_of_small, small_repository  # noqa: F401 (fixtures)

SOURCE = """
static __attribute__((noinline)) int copy_tap(int x) { return x * 3 + 1; }
int tl_im2col(int x) {
    int s = 0;
    for (int i = 0; i < x; i++) s += copy_tap(i ^ s) / (i + 3) + copy_tap(i + s) % (i + 7);
    for (int i = 0; i < x; i++) s -= copy_tap(i | s) / (i + 5) - copy_tap(i & s) % (i + 9);
    return s;
}
"""


# What stands before the names of a compiler and its tools; this machine need not cross (make
# test-all makes a whole handout that does).
TOOLS = [name for name in ("", "aarch64-linux-gnu-") if shutil.which(f"{name}gcc")]


@pytest.fixture(params=TOOLS)
def tools(request):
    return request.param


def stripped(data: bytes, folder: Path, tools: str = "") -> bytes:
    (folder / "x.o").write_bytes(data)
    subprocess.run([tools + "strip", "--strip-unneeded", folder / "x.o"], check=True)
    return (folder / "x.o").read_bytes()


@pytest.mark.parametrize("options, said", [
    (["-O1", "-g"], "debug information: section .debug_info"),
    (["-O1", "-g", "-gz"], "debug information: section .debug_info"),
    (["-O1"], "names copy_tap, its file's own"),
    (["-O1"], "its tables of names hold copy_tap")])
def test_an_object_that_says_too_much(secrets, tools, options, said):
    data = plants.compiled(SOURCE, *options, gcc=tools + "gcc")
    lines = found(secrets, {"reference/lab2/im2col.o": data}, closed=[2])
    assert any(line.startswith(f"reference/lab2/im2col.o: {said}") for line in lines), lines


def test_a_stripped_reference_of_a_closed_lab_is_clean(secrets, tmp_path, tools):
    data = stripped(plants.compiled(SOURCE, "-O1", gcc=tools + "gcc"), tmp_path, tools)
    assert found(secrets, {"given/x86_64/float/solution/lab2/im2col.o": data}, closed=[2]) == []
    assert "reference/lab2/im2col.o: defines tl_im2col of lab 2, which CLOSED does not name" in (
        found(secrets, {"reference/lab2/im2col.o": data}, closed=[1]))
    assert "lib/libx.a: part0.o: defines tl_im2col of lab 2, outside of the reference" in (
        found(secrets, {"lib/libx.a": plants.library(data)}, closed=[2]))


def test_debug_names_in_a_program_are_found(secrets, tmp_path, tools):
    program = tmp_path / "a.out"
    subprocess.run([tools + "gcc", "-xc", "-", "-g", "-gz", "-shared", "-fPIC", "-o", program],
                   input=SOURCE.replace("tl_im2col", "other").encode(), check=True)
    assert any("hold copy_tap" in line for line in found(secrets, {"a": program.read_bytes()}))


LLVM = """; ModuleID = 'x.c'
target triple = "x86_64-pc-linux-gnu"
define i32 @f(ptr %0, i32 %1) {
  %3 = load i32, ptr %0, align 4
  %4 = icmp sgt i32 %3, %1
  %5 = add nsw i32 %3, 1
  %6 = select i1 %4, i32 %5, i32 %1
  ret i32 %6
}
"""
PTX = """.version 9.0
.target sm_75
.visible .entry _Z1fPfS_(
\t.param .u64 _Z1fPfS__param_0
)
{
\t.reg .b32 \t%r<5>;
\t.reg .b64 \t%rd<5>;
\tld.param.u64 \t%rd1, [_Z1fPfS__param_0];
\tcvta.to.global.u64 \t%rd2, %rd1;
\tmov.u32 \t%r1, %ctaid.x;
\tmad.lo.s32 \t%r4, %r2, %r1, %r3;
\tret;
}
"""
SASS = "".join(f"        /*{i * 16:04x}*/       IMAD.MOV.U32 R{i}, RZ, RZ, c[0x0][0x28] ;\n"
               for i in range(8))


def made(*options: str):
    return lambda folder: plants.compiled(SOURCE, "-O2", *options)


def renamed_object(folder: Path) -> bytes:
    (folder / "x.o").write_bytes(stripped(made()(folder), folder))
    subprocess.run(["objcopy", "--redefine-sym", "tl_im2col=helper_one", folder / "x.o"],
                   check=True)  # fmt: skip
    return (folder / "x.o").read_bytes()


def program(folder: Path) -> bytes:
    subprocess.run(["gcc", "-s", "-O2", "-xc", "-", "-o", folder / "x"], check=True,
                   input=(SOURCE + "int main(int n, char **v) { return tl_im2col(n); }").encode())
    return (folder / "x").read_bytes()


def disassembled(folder: Path, *options: str) -> bytes:
    (folder / "x.o").write_bytes(made()(folder))
    return subprocess.run(["objdump", "-d", *options, folder / "x.o"], check=True,
                          capture_output=True).stdout


def code_alone(folder: Path) -> bytes:
    (folder / "x.o").write_bytes(plants.compiled("".join(
        SOURCE.replace("tl_im2col", f"f{i}").replace("copy_tap", f"g{i}") for i in range(4)),
        "-O2", "-falign-functions=16"))
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", folder / "x.o"], check=True)
    return (folder / "x.o").read_bytes()


def gimple(folder: Path) -> bytes:
    subprocess.run(["gcc", "-xc", "-", "-S", "-o", "x.s", f"-fdump-tree-gimple={folder}/x.gimple"],
                   cwd=folder, input=SOURCE.encode(), check=True)  # fmt: skip
    return (folder / "x.gimple").read_bytes()


MADE = {
    "a program or object (ELF)": [renamed_object, program, made("-flto", "-fno-fat-lto-objects")],
    "a static library": [lambda folder: plants.library(renamed_object(folder))],
    "machine code": [code_alone],
    "assembly": [made("-S"), made("-S", "-masm=intel"), disassembled,
                 lambda folder: disassembled(folder, "--no-show-raw-insn"),
                 lambda folder: disassembled(folder, "-Mintel")],
    "GIMPLE": [gimple],
    "LLVM IR": [lambda folder: LLVM.encode()],
    "LLVM bitcode": [lambda folder: b"BC\xc0\xde5\x14\0\0" + bytes(99)],
    "PTX": [lambda folder: PTX.encode()],
    "machine code of a GPU (SASS)": [lambda folder: SASS.encode()],
    "code for a GPU (fatbin)": [lambda folder: b"x" * 9 + b"\x50\xed\x55\xba\1\0" + bytes(99)],
}  # fmt: skip


@pytest.mark.parametrize("kind, make", [(k, make) for k, all_of in MADE.items() for make in all_of])
def test_what_a_compiler_made_is_named(secrets, tmp_path, kind, make):
    """Wherever it lies, and packed; but where a handout keeps such things."""
    data = make(tmp_path)
    said = f"{kind}, of a name that no handout has"
    for name, packed in (("given/x86_64/float/tl/helpers.o", data), ("a", gzip.compress(data))):
        place = "" if packed is data else ": gzip at byte 0"
        lines = found(secrets, {name: packed}, closed=[2])
        assert any(line.startswith(f"{name}{place}: {said}") for line in lines), lines
    name = "given/x86_64/double/lab2/grader"
    assert not [line for line in found(secrets, {name: data}) if said in line]


def test_libraries_of_a_grader_are_known_by_name():
    names = {"lib/libffi.so.8": True, "lib/libgit2.so.1.5": True, "lib/libffi-hints.so": False,
             "lib/libmsg.so.2": False, "libffi.so.8": False}  # fmt: skip
    assert {n: handed.is_library(f"given/x86_64/{n}") for n in names} == names


def test_what_a_compiler_made_is_named_in_a_given_file(tmp_path, small):
    root = tmp_path / "root"
    shutil.copytree(small, root)
    (root / "labs/lab2/hint.s").write_bytes(made("-S")(tmp_path))
    data = (root / "labs/lab2/hint.s").read_bytes()
    line, = found(leak_secrets.Secrets(root), {"labs/lab2/hint.s": data})
    assert line.startswith("labs/lab2/hint.s: assembly"), line


def test_only_files_with_assembly_of_their_own_may_have_some():
    whole = leak_secrets.Secrets(ROOT)
    having = {name for name in leak_secrets.tracked(ROOT) if leak_secrets.GIVEN.fullmatch(name)
              and whole.find_in((ROOT / name).read_bytes(), leak_files.Opener())[1]}
    assert having == leak_objects.ASSEMBLY
