"""gate_names.py: the names that the gate knows: what a student's source may say, and what not."""

import re

HEADERS = {"assert.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdbool.h", "stddef.h",
           "stdint.h", "stdio.h", "stdlib.h", "string.h", "omp.h", "cassert", "cfloat", "climits",
           "cmath", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "cuda_runtime.h",
           "math_constants.h"}
DIRECTIVES = {"include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif",
              "pragma"}
PRAGMAS = (r"omp .*", r"once", r"unroll( .*)?", r"GCC unroll .*", r"(GCC|clang) diagnostic .*",
           r"nv_(diag|exec)\w* .*")
ATTRIBUTES = {"unused", "aligned", "fallthrough"}
LONGEST_ATTRIBUTE = 40  # tokens of its list
# [[gnu::section("…")]], whatever macros the brackets come from.
NAMESPACES = {"gnu", "clang"}

# Names that begin as a compiler's own do, and that a student may write; families of them below.
RESERVED = {
    "__func__", "__FILE__", "__LINE__", "__VA_ARGS__", "__cplusplus", "__restrict", "__restrict__",
    "__inline", "__inline__", "__typeof__", "__alignof__", "__int128", "__attribute__",
    "_Bool", "_Static_assert", "_Alignas", "_Alignof", "_Generic", "_Noreturn", "_OPENMP",
    "_Atomic",
    "__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__",
    "__grid_constant__", "__launch_bounds__", "__align__", "__forceinline__", "__noinline__",
    "__syncthreads", "__syncthreads_and", "__syncthreads_count", "__syncthreads_or", "__syncwarp",
    "__activemask", "__all_sync", "__any_sync", "__ballot_sync", "__match_all_sync",
    "__match_any_sync", "__threadfence", "__threadfence_block", "__threadfence_system",
    "__popc", "__popcll", "__clz", "__clzll", "__ffs", "__ffsll", "__brev", "__brevll", "__mul24",
    "__umul24", "__mulhi", "__umulhi", "__mul64hi", "__umul64hi", "__saturatef", "__sad", "__usad",
    "__expf", "__exp10f", "__logf", "__log2f", "__log10f", "__powf", "__sinf", "__cosf", "__tanf",
    "__fdividef", "__float_as_int", "__int_as_float", "__float_as_uint",
    "__uint_as_float", "__double_as_longlong", "__longlong_as_double",
}
RESERVED_FAMILIES = (
    r"__shfl(_up|_down|_xor)?_sync", r"__reduce_\w+_sync",
    r"__ld(g|cg|ca|cs|cv|lu)", r"__st(wb|cg|cs|wt)",
    r"__(f|d)(add|sub|mul|div|ma|maf|rcp|sqrt|rsqrt)_r[nzud]", r"__fmaf?_r[nzud]",
    r"__(float|double|int|uint|ll|ull)2(float|double|int|uint|ll|ull)_r[nzud]")

ASM = {"asm", "__asm", "__asm__"}
LOADERS = {"dlopen", "dlsym", "dlvsym", "dlmopen", "dl_iterate_phdr", "syscall", "getauxval"}
DETECTS = "tells this build or machine from another; code has to do the same everywhere"
# A sin and a cos become a call of it, so that symbols tell nothing.
WRITES = {"sincos", "sincosf", "sincospi", "sincospif"}
OWN_BUILD = {"HOSTCUDA", "TL_CUDA_DEVICE", "getenv", "secure_getenv", "cudaGetDeviceProperties",
             "cudaDeviceGetAttribute", "cudaRuntimeGetVersion", "cudaDriverGetVersion"}
KEYWORDS = {
    "if", "else", "for", "while", "do", "switch", "case", "return", "break", "continue", "goto",
    "int", "float", "double", "char", "short", "long", "unsigned", "signed", "void", "bool",
    "const", "volatile", "static", "extern", "inline", "restrict", "register", "auto", "struct",
    "union", "enum", "typedef", "sizeof", "true", "false", "template", "namespace", "class",
    "using", "include", "define", "pragma", "defined"}
BUILTIN_VARIABLES = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}
# Macros by which a compiler, a sanitizer or a device tells itself from another.
COMPILERS = {"__CUDA_ARCH__", "__CUDACC__", "__NVCC__", "__GNUC__", "__clang__", "__has_include",
             "__has_feature", "__OPTIMIZE__"}
# Functions that, defined anew, would be called by others than the file that defines them.
EVERYBODYS = {
    "malloc", "calloc", "realloc", "free", "memcpy", "memmove", "memset", "memcmp", "write", "read",
    "open", "close", "mmap", "mprotect", "munmap", "abort", "exit", "_exit", "printf", "fprintf",
    "sigaction", "signal", "dlopen", "dlsym", "sysconf", "getenv", "raise", "kill"}


def reserved(name: str) -> bool:
    return (name.startswith("__") or re.match(r"_[A-Z]", name) is not None) and (
        name not in RESERVED and not any(re.fullmatch(f, name) for f in RESERVED_FAMILIES))


def why_not(name: str) -> str:
    """Why a name may stand nowhere, or an empty string."""
    if name in ASM:
        return f"{name}: assembly is not allowed; write it in C"
    if name in NAMESPACES:
        return f"{name}: a compiler's own attributes are not allowed"
    if name in ("_Pragma", "__pragma"):
        return f"{name}: write #pragma on a line of its own"
    if name in LOADERS:
        return f"{name}: a lab's code has no use for it"
    if name in WRITES:
        return f"{name} writes through pointers, where no checker looks: call sin and cos"
    if name in ("FILE", "va_list", "va_start"):
        return f"{name}: print by printf, or by fprintf to stdout or stderr"
    if name in OWN_BUILD or name.lower().startswith(("hostcuda", "hc_")):
        return f"{name} {DETECTS}"
    if name in COMPILERS or name.startswith("__SANITIZE"):
        return f"{name} {DETECTS}"
    if name.startswith("__builtin_"):
        return f"{name} belongs to one compiler: write it in C or CUDA"
    if "$" in name:
        return f"{name}: $ in a name is not C"
    if reserved(name):
        return (f"{name}: names that begin with two underscores belong to compilers, and this one "
                "is none that a lab needs")
    return ""
