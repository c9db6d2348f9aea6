"""Finds libtl.so, sees that it is the one that this package was written for, and reads from its
headers how its functions are called.

    $GRADLAB_TL      a folder made by `make lib PREFIX=folder`
    gradlab/tl       else the one that was bundled when this package was installed

Types of arguments come from include/tl/ops.def, fields of structs from the headers beside it: a new
operation needs no line here.
"""

import ctypes
import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path

import torch

ABI = 1  # TL_ABI of tl/version.h: the C interface that this package speaks
DTYPES = {torch.float32: "float", torch.float64: "double"}  # libtl.so and libtl_double.so
NAMES = {torch.float32: "libtl.so", torch.float64: "libtl_double.so"}

C_TYPES = {"int": ctypes.c_int, "bool": ctypes.c_bool, "double": ctypes.c_double,
           "size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32,
           "uint64_t": ctypes.c_uint64}
# What tl_status says that PyTorch's users catch by another type than RuntimeError.
ERRORS = {"TL_ENOTIMPL": NotImplementedError, "TL_ENOMEM": torch.OutOfMemoryError}


def folder() -> Path:
    """The tree that `make lib` laid out."""
    chosen = os.environ.get("GRADLAB_TL")
    tree = Path(chosen).absolute() if chosen else Path(__file__).resolve().parent / "tl"
    if not (tree / "include/tl/ops.def").is_file():
        where = f"GRADLAB_TL={chosen}" if chosen else f"{tree}, and GRADLAB_TL is not set"
        raise RuntimeError(
            f"gradlab: libtl.so is not here: {where}. Run `make lib PREFIX=folder` in the course's "
            "repository and set GRADLAB_TL=folder, or install the bridge again")
    return tree


# ---- what the headers say ------------------------------------------------------------------------

@dataclass(frozen=True)
class Argument:
    kind: str  # IN, OUT, INOUT, INOUT_UNLESS, WORK, VALUE or GEOM, as ops.def has it
    type: str
    name: str


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def read_operations(tree: Path) -> dict:
    """name -> its arguments behind ctx, of every row of ops.def."""
    nested = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    text = without_comments((tree / "include/tl/ops.def").read_text(encoding="utf-8"))
    found = {}
    for row in re.findall(r"^OP\w*\((.*?)\)$(?=\s*(?:^OP|^#|\Z))", text, re.M | re.DOTALL):
        name = re.match(r"\w+", row)[0]
        arguments = []
        for kind, rest in re.findall(rf"\(\s*([A-Z_]+)\s*,((?:[^()]|{nested})*)\)", row):
            words = [word.strip() for word in rest.split(",")]
            if kind == "WORK":
                arguments.append(Argument(kind, "void", words[0]))
            elif kind != "VIA":
                arguments.append(Argument(kind, words[0], words[1]))
        found[name] = tuple(arguments)
    return found


def read_fields(body: str) -> list:
    """[(name, ctypes type)] of `int n, c; double eps; void *stream;`"""
    fields = []
    for line in body.split(";"):
        match = re.fullmatch(r"\s*(?:const )?(?:struct )?(\w+)\s+(.+?)\s*", line, re.DOTALL)
        if not match:
            continue
        for name in match[2].split(","):
            pointer = name.strip().startswith("*")
            fields.append((name.strip(" *\n"), ctypes.c_void_p if pointer else C_TYPES[match[1]]))
    return fields


def read_struct(tree: Path, name: str) -> type:
    """A struct of the headers as ctypes has it."""
    for header in sorted((tree / "include/tl").glob("*.h")):
        text = without_comments(header.read_text(encoding="utf-8"))
        match = re.search(rf"typedef struct {name} \{{([^}}]*)\}} {name};", text)
        if match:
            return type(name, (ctypes.Structure,), {"_fields_": read_fields(match[1])})
    raise RuntimeError(f"gradlab: no header of {tree} has a struct {name}")


class Backend(ctypes.Structure):
    """How tl_backend begins (tl/backend.h); the functions that follow are called by name."""
    _fields_ = [("name", ctypes.c_char_p), ("column_bytes", ctypes.c_size_t)]


# ---- the library ---------------------------------------------------------------------------------

class Library:
    """libtl.so in one precision. Its functions raise what a tl_status says."""

    def __init__(self, tree: Path, dtype: torch.dtype):
        self.dtype, self.tree = dtype, tree
        self.path = tree / "lib/tl" / DTYPES[dtype] / NAMES[dtype]
        try:
            self.cdll = ctypes.CDLL(str(self.path))  # RTLD_LOCAL: both precisions have equal names
        except OSError as error:
            raise RuntimeError(f"gradlab: {self.path} cannot be loaded: {error}") from None
        self._check_version()
        self.cdll.tl_error.restype = self.cdll.tl_status_name.restype = ctypes.c_char_p
        self.operations = read_operations(tree)
        self.struct = functools.cache(functools.partial(read_struct, tree))
        self.function = functools.cache(self._function)

    def _check_version(self) -> None:
        """First of all: another version may take other arguments, and would crash."""
        try:
            abi = self.cdll.tl_abi()
            self.cdll.tl_real_bytes.restype = ctypes.c_size_t
            real = self.cdll.tl_real_bytes()
        except AttributeError as error:
            raise RuntimeError(f"gradlab: {self.path} is no libtl.so: {error}") from None
        if abi != ABI:
            raise RuntimeError(f"gradlab: {self.path} has version {abi} of the C interface, and "
                               f"this package was written for version {ABI}")
        if real != self.dtype.itemsize:
            raise RuntimeError(f"gradlab: {self.path} computes with numbers of {real} bytes, and "
                               f"{self.dtype} has {self.dtype.itemsize}: it is the other precision")

    def _function(self, name: str):
        """tl_<name>: of an operation the types of arguments are known."""
        function = getattr(self.cdll, f"tl_{name}")
        if name in self.operations:
            function.argtypes = [ctypes.c_void_p] + [
                self._real_type(a.type) if a.kind == "VALUE" else ctypes.c_void_p
                for a in self.operations[name]]
        return function

    def _real_type(self, name: str):
        real = ctypes.c_float if self.dtype == torch.float32 else ctypes.c_double
        return real if name == "tl_real" else C_TYPES[name]

    def make(self, struct: str, **fields):
        """A geometry or options. ctypes would cut a number that does not fit: that is refused."""
        made = self.struct(struct)(**fields)
        for name, value in fields.items():
            if isinstance(value, int) and getattr(made, name) != value:
                raise RuntimeError(f"{struct}: {name} = {value} does not fit the library's type")
        return made

    def check(self, status: int) -> None:
        """Raises what a call that did not return TL_OK means; first thing after the call, for the
        line of text belongs to the thread's latest failure."""
        if status:
            name = self.cdll.tl_status_name(status).decode()
            text = self.cdll.tl_error().decode(errors="replace")
            raise ERRORS.get(name, RuntimeError)(f"gradlab: {text} ({name})")


@functools.cache
def load(dtype: torch.dtype) -> Library:
    return Library(folder(), dtype)
