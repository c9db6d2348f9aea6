"""Prints what a C++ compiler needs to use the torch of this Python: a line `compile …` and a line
`link …`."""

import torch
from torch.utils.cpp_extension import include_paths, library_paths

abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
folders = library_paths()
print("compile", abi, *(f"-isystem {path}" for path in include_paths()))
# PyTorch's own libstdc++, by its name: a compiler that knows a static one alone would put a second
# into the process, and its streams crash in the first message that holds a number.
print("link", *(f"-L{path} -Wl,-rpath,{path}" for path in folders), "-ltorch -ltorch_cpu -lc10",
      "-l:libstdc++.so.6")
