"""seeds.py FOLDER: writes the files that fuzzing starts from to FOLDER/<target>/.

For a data set an input is a row of edits (fuzz_dataset.c): what to do, in which file, a byte, where.
For the reader of checkpoints it is a record file (tl/record.h), as small as they come.
"""

import struct
import sys
import zlib
from pathlib import Path

CHANGE, CUT, LENGTH, CUT_WHILE_READ, READ_ERROR = range(5)
CIFAR_RECORD, MNIST_HEADER = 3073, 8  # bytes: a record of CIFAR-10, the header of MNIST's labels


def edits(*rows: tuple) -> bytes:
    return b"".join(struct.pack("<BBBI", *row) for row in rows)


def data_set(second_label: int) -> dict:
    """`second_label`: where the label of image 7 lies in the last file, to spoil the balance."""
    return {
        "label": edits((CHANGE, 0, 200, 0)),
        "header": edits((CHANGE, 0, 8, 3)),
        "cut": edits((CUT, 0, 0, 1000)),
        "length": edits((LENGTH, 0, 2, 0)),
        "cut-while-read": edits((CUT_WHILE_READ, 0, 0, 70)),
        "read-error": edits((READ_ERROR, 1, 0, 0)),
        "balance": edits((CHANGE, 5, 3, second_label), (CHANGE, 1, 3, MNIST_HEADER + 7)),
    }


def section(name: str, dtype: int, dims: list, data: bytes) -> bytes:
    header = name.encode().ljust(48, b"\0") + struct.pack("<II", dtype, len(dims))
    header += struct.pack("<4QQ", *(dims + [1] * (4 - len(dims))), len(data))
    checksum = struct.pack("<II", zlib.crc32(header + data), 0)
    return header + checksum + data + b"\0" * (-len(data) % 8)


def record(*sections: bytes) -> bytes:
    return b"TLRECORD" + struct.pack("<II", 1, len(sections)) + b"".join(sections)


SEEDS = {
    "cifar10": data_set(7 * CIFAR_RECORD),
    "mnist": data_set(MNIST_HEADER + 7),
    "record": {
        "none": record(),
        "three": record(section("options", 1, [5], b"net=a"),
                        section("position", 4, [4], struct.pack("<4Q", 1, 2, 3, 4)),
                        section("w/a", 5, [2, 3], bytes(24))),
    },
}


def main(arguments: list) -> int:
    if len(arguments) != 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    for target, files in SEEDS.items():
        folder = Path(arguments[0]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
