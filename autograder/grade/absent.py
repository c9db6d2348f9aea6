"""absent.py FOLDER: writes what stands for the reference's files in workers that lack them.

The dispatch table, the rows of calls and the given code name every function of the labs, and a
worker holds few of them (grants.py). For each file of the labs FOLDER gets a C file with the same
functions, after their contracts in tl/include: each fails with TL_ENOTIMPL, and says why. They are
as strong as the reference's: who defines one of them beside is told so by the linker.
"""

import sys
from pathlib import Path

import contracts
import grants
import skeletons

ROOT = Path(__file__).resolve().parents[2]
HEAD = "/* What stands for {file} in a worker without it: by autograder/grade/absent.py. */\n"


class Unknown(Exception):
    """One line: a function without a contract."""


def function(name: str, result: str, parameters: str) -> str:
    """A result that is no status says nothing: who frees what he never had keeps his error."""
    said = (f'TL_FAIL(TL_ENOTIMPL, "{name} is not part of this worker: "\n'
            '                                "the task that is graded here may not use it");\n')
    body = {"tl_status ": f"    return {said}", "void ": ""}.get(
        result, f"    (void){said}    return 0;\n")
    return f"\n{result}{name}({parameters}) {{\n{body}}}\n"


def source(file: str, names, known: dict) -> str:
    if lost := sorted(set(names) - set(known)):
        raise Unknown(f"absent: {lost[0]} of {file} has no contract in tl/include/tl")
    headers = sorted({known[name][0] for name in names} | {"status.h"})
    includes = "".join(f'#include "tl/{header}"\n' for header in headers)
    return HEAD.format(file=file) + includes + "".join(
        function(name, *known[name][1:]) for name in sorted(names))


def place(file: str) -> str:
    """lab1/gemm_absent.c of lab1/gemm.c, lab1/gemm.cu_absent.c of lab1/gemm.cu."""
    return f"{file.removesuffix('.c')}_absent.c"


def main(arguments: list) -> int:
    files = [name.removeprefix("labs/") for name in skeletons.read_manifest(ROOT)]
    known = contracts.prototypes(ROOT)
    try:
        for file, names in grants.exports(ROOT, [*files, *grants.GIVEN]).items():
            path, data = Path(arguments[0], place(file)), source(file, names, known).encode()
            if not path.exists() or path.read_bytes() != data:
                skeletons.replace(path, data)
    except (Unknown, skeletons.Refused) as error:
        print(f"grade: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
