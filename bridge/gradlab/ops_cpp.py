"""Way 2: the same operators in C++ (csrc/), loaded as a library of PyTorch operators.

What they are called with stands in csrc/operators.h, their derivatives in csrc/autograd*.cpp, the
sizes that torch.compile asks for in csrc/meta.cpp. Here the extension is found and told where
libtl.so lies, and torch.vmap gets its rule.

    $GRADLAB_EXTENSION      a file made by `make bridge`
    gradlab/_C.so           else the one that `pip install ./bridge` made beside this module
"""

import os
from pathlib import Path

import torch

from gradlab import library

NAMESPACE = "gradlab_cpp"


def extension() -> Path:
    """The shared object of csrc/."""
    chosen = os.environ.get("GRADLAB_EXTENSION")
    path = Path(chosen).absolute() if chosen else Path(__file__).resolve().parent / "_C.so"
    if not path.is_file():
        where = (f"GRADLAB_EXTENSION={chosen}" if chosen else
                 f"{path}, and GRADLAB_EXTENSION is not set")
        raise ImportError(
            f"gradlab: the C++ extension is not here: {where}. Run `make bridge` in the course's "
            "repository and set GRADLAB_EXTENSION=build/bridge/gradlab/_C.so, install the bridge "
            'again, or take the way that needs no compiler: gradlab.use("python")')
    return path


def load() -> None:
    path, tree = extension(), library.folder()
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        raise ImportError(f"gradlab: {path} cannot be loaded with PyTorch {torch.__version__}: "
                          f"{error}. Build it again with this Python") from None
    paths = [str(tree / "lib/tl" / library.DTYPES[dtype] / library.NAMES[dtype])
             for dtype in library.DTYPES]
    torch.ops.gradlab.load(*paths)


def by_slices(name: str):
    """A batching rule for any operator: slice by slice, then stacked."""
    op = getattr(torch.ops.gradlab_cpp, name).default

    def rule(info, in_dims, *arguments):
        # (a list of numbers has a list of dimensions)
        results = [op(*(a.select(dim, i) if isinstance(dim, int) else a
                        for a, dim in zip(arguments, in_dims))) for i in range(info.batch_size)]
        if isinstance(results[0], torch.Tensor):
            return torch.stack(results), 0
        return tuple(torch.stack(parts) for parts in zip(*results)), (0,) * len(results[0])
    return rule


def names() -> list:
    """The operators that have no side effect."""
    found = []
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == NAMESPACE and schema.returns and not schema.is_mutable:
            found.append(name)
    return sorted(found)


load()
_vmap = torch.library.Library(NAMESPACE, "FRAGMENT")
for _name in names():
    torch.library.register_vmap(f"{NAMESPACE}::{_name}", by_slices(_name), lib=_vmap)
