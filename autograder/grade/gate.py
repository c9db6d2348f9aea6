"""gate.py: what a student's source may not hold.

Races, reads of uninitialised memory and memory sectors are counted in the process that runs the
student's code, by hooks that its compiler places: so they prove something only about source that
cannot switch the hooks off, tell a CPU from a GPU, or hand its work to somebody else. And CUDA has to
be CUDA, although a host compiler would take more. Everything is judged by tokens, as a compiler sees
them; what a file uses of others is also judged by the undefined symbols of its object (allow.toml).
"""

import fnmatch
import functools
import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tokens
from runs import CannotGrade
from table import tomllib
from tokens import IDENTIFIER, ODD, STRING

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent
MODES = ("float", "double", "float-debug", "double-debug", "float-san", "double-san")

HEADERS = {"assert.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdbool.h", "stddef.h",
           "stdint.h", "stdio.h", "stdlib.h", "string.h", "omp.h", "cassert", "cfloat", "climits",
           "cmath", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "cuda_runtime.h",
           "math_constants.h"}
DIRECTIVES = {"include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif",
              "pragma", "error"}
PRAGMAS = (r"omp .*", r"once", r"unroll( .*)?", r"GCC unroll .*", r"(GCC|clang) diagnostic .*",
           r"nv_(diag|exec)\w* .*")
ATTRIBUTES = {"unused", "aligned", "fallthrough"}

# Names that begin as a compiler's own do, and that a student may write. Families by their beginning.
RESERVED = {
    "__func__", "__FILE__", "__LINE__", "__VA_ARGS__", "__cplusplus", "__restrict", "__restrict__",
    "__inline", "__inline__", "__typeof__", "__alignof__", "__int128", "__attribute__",
    "_Bool", "_Static_assert", "_Alignas", "_Alignof", "_Generic", "_Noreturn", "_OPENMP", "_Atomic",
    "__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__",
    "__grid_constant__", "__launch_bounds__", "__align__", "__forceinline__", "__noinline__",
    "__syncthreads", "__syncthreads_and", "__syncthreads_count", "__syncthreads_or", "__syncwarp",
    "__activemask", "__all_sync", "__any_sync", "__ballot_sync", "__match_all_sync",
    "__match_any_sync", "__threadfence", "__threadfence_block", "__threadfence_system",
    "__popc", "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__brev", "__brevll", "__mul24",
    "__umul24", "__mulhi", "__umulhi", "__mul64hi", "__umul64hi", "__saturatef", "__sad", "__usad",
    "__expf", "__exp10f", "__logf", "__log2f", "__log10f", "__powf", "__sinf", "__cosf", "__tanf",
    "__sincosf", "__fdividef", "__float_as_int", "__int_as_float", "__float_as_uint",
    "__uint_as_float", "__double_as_longlong", "__longlong_as_double",
}
RESERVED_FAMILIES = (r"__shfl(_up|_down|_xor)?_sync", r"__reduce_\w+_sync", r"__ld(g|cg|ca|cs|cv|lu)",
                     r"__st(wb|cg|cs|wt)",
                     r"__(f|d)(add|sub|mul|div|ma|maf|rcp|sqrt|rsqrt)_r[nzud]", r"__fmaf?_r[nzud]",
                     r"__(float|double|int|uint|ll|ull)2(float|double|int|uint|ll|ull)_r[nzud]")

ASM = {"asm", "__asm", "__asm__"}
LOADERS = {"dlopen", "dlsym", "dlvsym", "dlmopen", "dl_iterate_phdr", "syscall", "getauxval"}
DETECTS = "tells this build or machine from another; code has to do the same everywhere"
OWN_BUILD = {"HOSTCUDA", "TL_CUDA_DEVICE", "getenv", "secure_getenv", "cudaGetDeviceProperties",
             "cudaDeviceGetAttribute", "cudaRuntimeGetVersion", "cudaDriverGetVersion"}
KEYWORDS = {"if", "else", "for", "while", "do", "switch", "case", "return", "break", "continue",
            "goto", "int", "float", "double", "char", "short", "long", "unsigned", "signed", "void",
            "const", "volatile", "static", "extern", "inline", "restrict", "struct", "union", "enum",
            "typedef", "sizeof", "bool", "true", "false", "template", "namespace",
            "class", "using", "auto", "register", "include", "define", "pragma", "defined"}


class Rules:
    """What one file may use: the lists for every file of its half and those of its task."""

    def __init__(self, lab: int, path: Path):
        lists = tomllib.loads((FOLDER / "allow.toml").read_text(encoding="utf-8"))
        half = "cuda" if path.suffix == ".cu" else "c"
        own = lists.get(f"lab{lab}", {}).get(path.stem, {}).get(half, {})
        every = lists["every"][half]
        self.calls = every["calls"] + own.get("calls", [])
        self.members = every["members"] + own.get("members", [])
        self.headers = HEADERS | set(own.get("headers", []))

    @staticmethod
    def allows(names: list, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in names)


def directive_findings(line: list, rules: Rules) -> list:
    """(line, text) for one preprocessor line."""
    word, rest = line[0], line[1:]
    spelled = " ".join(t.text for t in rest)
    if word.text not in DIRECTIVES:
        if word.text == "#":  # an empty directive
            return []
        return [(word.line, f"#{word.text}: this directive has no use in a lab")]
    if word.text == "include":
        return include_findings(word.line, "".join(t.text for t in rest), rules)
    if word.text == "pragma" and not any(re.fullmatch(p, spelled) for p in PRAGMAS):
        return [(word.line, f"#pragma {spelled}: only omp, unroll and diagnostic pragmas are allowed")]
    if word.text in ("define", "undef") and rest:
        name = rest[0].text
        if (name in KEYWORDS or name.startswith(("tl_", "TL_", "_"))
                or name in ("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize")):
            return [(word.line, f"#{word.text} {name}: this name is not yours to change")]
    if any(t.text == "##" for t in rest):
        return [(word.line, "## makes names out of pieces, which nobody can read: write them out")]
    return []


def include_findings(line: int, what: str, rules: Rules) -> list:
    if match := re.fullmatch(r'"tl/(\w+\.h)"', what):
        if not (ROOT / "labs/include/tl" / match[1]).exists():
            return [(line, f"#include {what}: there is no such header in labs/include")]
        return []
    if (match := re.fullmatch(r"<([\w./]+)>", what)) and match[1] in rules.headers:
        return []
    if re.fullmatch(r'"[^"]*"|<[^>]*>', what):
        return [(line, f"#include {what}: this task includes headers of tl/ and of the C library "
                       "alone; what you need of your own goes into this file")]
    return [(line, f"#include {what}: name the header itself")]


def attribute_findings(found: list, at: int) -> list:
    """After __attribute__: only attributes that change neither code nor checks."""
    depth, text = 0, []
    for token in found[at + 1:]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.kind == IDENTIFIER and depth == 2 and token.text.strip("_") not in ATTRIBUTES:
            text.append(token.text)
        if depth <= 0:
            break
    if text:
        return [(found[at].line, f"__attribute__(({text[0]})): attributes that change what the "
                                 "compiler makes of your code are not allowed")]
    return []


def reserved(name: str) -> bool:
    return (name.startswith("__") or re.match(r"_[A-Z]", name) is not None) and (
        name not in RESERVED and not any(re.fullmatch(f, name) for f in RESERVED_FAMILIES))


def name_finding(name: str) -> str:
    """Why a name may stand nowhere, or an empty string."""
    if name in ASM:
        return f"{name}: assembly is not allowed; write it in C"
    if name in ("_Pragma", "__pragma"):
        return f"{name}: write #pragma on a line of its own"
    if name in LOADERS:
        return f"{name}: a lab's code has no use for it"
    if name in OWN_BUILD or name.lower().startswith(("hostcuda", "hc_")):
        return f"{name} {DETECTS}"
    if name in ("__CUDA_ARCH__", "__CUDACC__", "__NVCC__", "__GNUC__", "__clang__", "__has_include",
                "__has_feature", "__OPTIMIZE__") or name.startswith("__SANITIZE"):
        return f"{name} {DETECTS}"
    if name.startswith("__builtin_"):
        return f"{name} belongs to one compiler: write it in C or CUDA"
    if "$" in name:
        return f"{name}: $ in a name is not C"
    if reserved(name):
        return f"{name}: names that begin with two underscores belong to compilers, and this one is " \
               "none that a lab needs"
    return ""


def token_findings(found: list, rules: Rules) -> list:
    out = []
    for at, token in enumerate(found):
        after = [t.text for t in found[at + 1:at + 3]] + ["", ""]
        before = found[at - 1].text if at else ""
        if token.kind == ODD:
            out.append((token.line, token.text))
        elif token.kind == STRING and "hostcuda" in token.text.lower():
            out.append((token.line, f"{token.text} {DETECTS}"))
        elif token.text == "[" and after[0] == "[":
            out.append((token.line, "[[…]]: attributes are not allowed"))
        elif token.text == "__attribute__":
            out += attribute_findings(found, at)
        elif token.kind == IDENTIFIER:
            if why := name_finding(token.text):
                out.append((token.line, why))
            elif token.text == "tl_backend" and "*" not in rules.members:
                out.append((token.line, "tl_backend leads to every operation: this task is to be "
                                        "written without the others"))
            elif token.text == "ops" and "*" not in rules.members and not (
                    before in ("->", ".") and after[0] == "->" and rules.allows(rules.members, after[1])):
                member = after[0] + after[1] if after[0] == "->" else ""
                out.append((token.line, f"ops{member}: this task is to be written without the "
                                        "operations of the dispatch table"))
            elif token.text == "name" and before in ("->", "."):
                out.append((token.line, f"{before}name {DETECTS}"))
    return out


def object_of(lab: int, folder: str, name: str) -> Path | None:
    """The student's object, as labs.mk built it, in any plain mode."""
    clean = folder.strip("/")
    inside = "" if clean == "labs" else f"from/{clean}/"
    suffix = ".hostcuda.o" if name.endswith(".cu") else ".o"
    stem = name if name.endswith(".cu") else name.removesuffix(".c")
    for mode in MODES:
        path = Path("build", mode, f"{inside}labs", f"lab{lab}", stem + suffix)
        if path.exists():
            return path
    return None


def as_written(symbol: str) -> str | None:
    """A symbol as the source has it; None for what only hostcuda's own headers and rewriter call."""
    if symbol.startswith("hc_blas_"):
        return "cublas" + symbol.removeprefix("hc_blas_")
    if match := re.fullmatch(r"hc_([A-Z]\w*)", symbol):
        return "cuda" + match[1]
    if symbol.startswith("hc_"):
        return None
    return symbol


def symbols(obj: Path) -> list:
    """(name, type) as nm has them: U undefined, capitals are visible to other files."""
    said = subprocess.run(["nm", "-C", "-P", obj], capture_output=True, text=True, check=True).stdout
    found = (re.match(r"(.+?) ([A-Za-z])( |$)", line) for line in said.splitlines())
    return [(m[1], m[2]) for m in found if m]


def symbol_findings(obj: Path, found: list, rules: Rules, exported: set) -> list:
    lines, out = {}, []
    for token in found:
        lines.setdefault(token.text, token.line)
    for symbol, kind in symbols(obj):
        name = as_written(symbol)
        if kind in "Uw":
            if name and not rules.allows(rules.calls, name):
                out.append((lines.get(name, 1), f"{name}: this task is to be written without it"))
            continue
        name = re.sub(r"\(.*", "", symbol)
        if kind.isupper() and name in lines and name in EVERYBODYS | contracts() - exported:
            out.append((lines[name], f"{name}: a function of this name is somebody else's; give yours "
                                     "another one, and make it static"))
    return out


@functools.cache
def contracts() -> set:
    """All functions of the contracts."""
    texts = (p.read_text(encoding="utf-8") for p in (ROOT / "labs/include/tl").glob("*.h"))
    return {name for text in texts for name in re.findall(r"\b(tl_\w+)\(", text)}


# Functions that, defined anew, would be called by others than the file that defines them.
EVERYBODYS = {"malloc", "calloc", "realloc", "free", "memcpy", "memmove", "memset", "memcmp", "write",
              "read", "open", "close", "mmap", "mprotect", "munmap", "abort", "exit", "_exit", "printf",
              "fprintf", "sigaction", "signal", "dlopen", "dlsym", "sysconf", "getenv", "raise", "kill"}


def exports(lab: int, name: str) -> set:
    """What the skeleton of this file defines for others."""
    for folder in (ROOT / "solution", FOLDER / "skeletons"):
        path = folder / f"lab{lab}" / name
        if path.exists():
            text = path.read_text(encoding="utf-8")
            return set(re.findall(r"^(?!static\b)\w[\w *]*?\b(tl_\w+)\(", text, re.MULTILINE))
    return set()


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def file_findings(lab: int, path: Path, obj: Path | None) -> list:
    """(line, text) of one file."""
    rules = Rules(lab, path)
    found = tokens.tokens(read(path))
    plain, inside = tokens.directives(found)
    out = []
    for line in inside:
        out += directive_findings(line, rules)
        if line[0].text not in ("include", "error"):
            out += token_findings(line[1:], rules)
    out += token_findings(plain, rules)
    if obj:
        out += symbol_findings(obj, [t for t in found if t.kind == IDENTIFIER], rules,
                               exports(lab, path.name))
    return out


LEGALITY = ROOT / "kernels/hostcuda/legality.sh"
CACHE = Path("build/legality")


def legality_key() -> bytes:
    """Of everything but the file that decides whether it is legal."""
    hashed = hashlib.sha256()
    for path in sorted([LEGALITY, *ROOT.glob("kernels/hostcuda/legality/*"),
                        *ROOT.glob("kernels/hostcuda/include/**/*.h"),
                        *ROOT.glob("labs/include/tl/*.h")]):
        hashed.update(path.read_bytes())
    return hashed.digest()


def legality(path: Path, key: bytes) -> list:
    """(file, line, text): what nvcc, or clang, does not take as CUDA. Judged once for equal files."""
    told = CACHE / f"{hashlib.sha256(key + path.read_bytes()).hexdigest()[:32]}.txt"
    if told.exists():
        text = told.read_text(errors="replace")
    else:
        # clang is quicker, and knows all that labs need
        quick = {"HOSTCUDA_LEGALITY": "clang"} if shutil.which("clang++") else {}
        said = subprocess.run([LEGALITY, f"-I{ROOT / 'labs/include'}", path], text=True,
                              capture_output=True, errors="replace",
                              env=os.environ | quick | {"HOSTCUDA_LEGALITY_CACHE": str(CACHE)})
        if said.returncode not in (0, 1):
            raise CannotGrade(said.stderr.strip().splitlines()[0] if said.stderr.strip()
                              else f"{LEGALITY} ended with status {said.returncode}")
        text = said.stdout.replace(f"{path}:", "\0:")  # (the file may lie elsewhere next time)
        CACHE.mkdir(parents=True, exist_ok=True)
        part = told.with_suffix(f".{os.getpid()}-{path.name}")
        part.write_text(text)
        os.replace(part, told)
    found = (re.match(r"\0:(\d+):(?:\d+:)? *(?:error: )?(.+)", line) for line in text.splitlines())
    return [(str(path), int(match[1]), match[2]) for match in found if match]


def findings(lab: int, folder: str) -> list:
    """(file, line, text) of everything in the lab's files that is not allowed, in order of lines."""
    out, cuda = [], []
    for name in sorted(p.name for p in (ROOT / f"labs/lab{lab}").glob("*.c*")):
        path = Path(folder, f"lab{lab}", name)
        if not path.exists():
            continue
        found = dict.fromkeys(file_findings(lab, path, object_of(lab, folder, name)))
        out += [(str(path), line, text) for line, text in sorted(found)]
        if path.suffix == ".cu":
            cuda.append(path)
    key = legality_key()
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        return out + [f for found in pool.map(lambda path: legality(path, key), cuda) for f in found]
