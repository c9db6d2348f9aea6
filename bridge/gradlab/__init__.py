"""gradlab: the operators that you wrote in the labs, as operators of PyTorch.

    import gradlab.nn as nn              # instead of: import torch.nn as nn
    import gradlab.functional as F       # instead of: import torch.nn.functional as F
    import gradlab.optim as optim        # instead of: import torch.optim as optim

They come two ways, which compute the same: "cpp", an extension in C++, and "python", which calls
the library from Python and needs no compiler. gradlab.use("python") changes from one to the other;
the environment's GRADLAB_WAY says which one a program starts with.
"""

import importlib
import os

import torch

# A way is a module that registers its operators in the namespace torch.ops.gradlab_<way>.
_MODULES = {"cpp": "gradlab.ops_cpp", "python": "gradlab.ops_python"}
WAYS = tuple(_MODULES)
_way = ""
_ops = None


def use(name: str) -> None:
    """From now on operators run this way: "cpp" or "python". An ImportError or RuntimeError says
    what is missing; the way then stays as it was: never does one stand in for the other."""
    global _way, _ops
    if name not in WAYS:
        raise ValueError(f"there is no way {name!r} to run operators: use one of {WAYS}")
    importlib.import_module(_MODULES[name])
    _way, _ops = name, getattr(torch.ops, f"gradlab_{name}")


def way() -> str:
    """The way that operators run now."""
    return _way


def ops():
    """The operators of that way: torch.ops.gradlab_cpp or torch.ops.gradlab_python."""
    return _ops


use(os.environ.get("GRADLAB_WAY") or WAYS[0])
