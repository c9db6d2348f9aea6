"""Builds the C++ extension, and lays the library into the package.

    pip install --no-build-isolation ./bridge

    $GRADLAB_TL    a folder made by `make lib PREFIX=folder`, copied as gradlab/tl; else
                   `make lib` is run in the repository that this folder lies in
"""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from torch.utils.cpp_extension import BuildExtension, CppExtension

HERE = Path(__file__).resolve().parent
TREE = HERE / "gradlab/tl"


def lay_library() -> None:
    """gradlab/tl: headers, libraries and plug-ins."""
    chosen = os.environ.get("GRADLAB_TL")
    if chosen:
        if not (Path(chosen) / "include/tl/ops.def").is_file():
            raise SystemExit(f"GRADLAB_TL={chosen} is no folder made by `make lib PREFIX=folder`")
        if TREE.exists() and TREE.samefile(chosen):
            return
        shutil.rmtree(TREE, ignore_errors=True)
        shutil.copytree(chosen, TREE)
    elif (HERE.parent / "mk/lib.mk").is_file():
        # a make of its own: nothing that an outer one was told is for it
        outer = ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL")
        environment = {k: v for k, v in os.environ.items() if k not in outer}
        command = ["make", f"-j{os.cpu_count()}", "lib", "PREFIX=bridge/gradlab/tl"]
        if subprocess.run(command, cwd=HERE.parent, env=environment).returncode:
            raise SystemExit("`make lib` failed (see above); or set GRADLAB_TL to what it made")
    else:
        raise SystemExit("the library is not here: set GRADLAB_TL to a folder made by "
                         "`make lib PREFIX=folder` in the course's repository")


class WithLibrary(build_py):
    """The package's files. This comes before the extension, which takes the headers from there."""

    def run(self):
        lay_library()
        super().run()
        # (a wheel has no links: of libtl.so and libtl.so.1 the one that is opened becomes a file)
        shutil.copytree(TREE, Path(self.build_lib) / "gradlab/tl", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.so.1", "pkgconfig"))


setup(
    ext_modules=[CppExtension(
        "gradlab._C",
        sorted(str(path.relative_to(HERE)) for path in (HERE / "gradlab/csrc").glob("*.cpp")),
        include_dirs=[str(TREE / "include")],
        extra_compile_args=["-O2", "-g0", "-fvisibility=hidden"],
        libraries=["dl"],
        extra_link_args=["-l:libstdc++.so.6"],  # PyTorch's own, as tools/torch_flags.py says
    )],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False, no_python_abi_suffix=True),
              "build_py": WithLibrary},
)
