"""sources.py: the digits of a result that stand for the files a Python program was made of.

`sources` of a result is 16 hexadecimal digits: 8 over the files, equal on any machine with this
code, and 8 over interpreter or compiler, flags and libraries. Of our C programs build_info.sh
makes both.
"""

import hashlib
from pathlib import Path


def digits(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


def of_folder(folder) -> str:
    """8 digits over names and contents of a folder's programs; its tests are none."""
    files = sorted((p for p in Path(folder).glob("*.py") if not p.name.startswith("test_")),
                   key=lambda p: p.name)
    return digits(b"".join(p.name.encode() + b"\0" + p.read_bytes() + b"\0" for p in files))
