"""contracts.py: functions that the headers in tl/include promise, and which of them are nobody's.

In a handout of the first labs those of the later ones are declared, called by the given code, and
defined by no file: absent.py writes what stands for them, as for every other file that a worker
lacks.
"""

import re
from pathlib import Path

import skeletons

PROTOTYPE = re.compile(r"^(?!static|typedef)((?:const )?\w+ \*?)(tl_\w+)\(([^;{}]*)\);", re.M)
LATER = ("later/all.c", "later/all.cu")  # called as files of a lab are: for workers and plug-ins
OF_THE_LIBRARY = "version.h"  # what libtl.so alone defines (tl/abi)


def prototypes(root: Path) -> dict:
    """function -> (header, type of its result, parameters)."""
    found = {}
    for header in sorted((root / "tl/include/tl").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        for result, name, parameters in PROTOTYPE.findall(text):
            found[name] = header.name, result, " ".join(parameters.split())
    return found


def later(root: Path, exported: dict) -> dict:
    """LATER with the functions that no file of `exported` (file -> functions) defines, nor a given
    one; nothing where all labs are here."""
    given = {name for path in [*(root / "tl").glob("*.c"), *(root / "tl/cuda").glob("*.c*")]
             for name in skeletons.exported(path.read_text(encoding="utf-8"))}
    promised = {name for name, (header, *_) in prototypes(root).items() if header != OF_THE_LIBRARY}
    names = frozenset(promised - given - frozenset().union(*exported.values()))
    return dict.fromkeys(LATER, names) if names else {}
