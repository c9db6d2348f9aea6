"""seeds.py FOLDER: writes the files that fuzzing starts from to FOLDER/<target>/.

For a data set an input is a row of edits (fuzz_dataset.c): what to do, in which file, a byte,
where. For the reader of checkpoints it is a record file (tl/record.h), as small as they come.
"""

import math
import struct
import sys
import zlib
from pathlib import Path

# The kinds of edits, in the order of fuzz_dataset.c.
(CHANGE, CUT, LENGTH, CUT_WHILE_READ, READ_ERROR, SHORT_READS, NO_FILE, NO_SIZE, KIND,
 LIMIT) = range(10)
U8, U64, F32, F64 = 1, 4, 5, 6  # tl_dtype
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
        "signal": edits((READ_ERROR, 1, 1, 0)),
        "short-reads": edits((SHORT_READS, 1, 9, 0), (LIMIT, 0, 7, 0)),
        "missing": edits((NO_FILE, 3, 0, 0)),
        "fstat-fails": edits((NO_SIZE, 2, 0, 0)),
        "folder": edits((KIND, 0, 1, 0)),
        "all-of-it": edits((LIMIT, 0, 0, 0)),
        "balance": edits((CHANGE, 5, 3, second_label), (CHANGE, 1, 3, MNIST_HEADER + 7)),
    }


def section(name: str, dtype: int, dims: list, data: bytes) -> bytes:
    header = name.encode().ljust(48, b"\0") + struct.pack("<II", dtype, len(dims))
    header += struct.pack("<4QQ", *(dims + [1] * (4 - len(dims))), len(data))
    checksum = struct.pack("<II", zlib.crc32(header + data), 0)
    return header + checksum + data + b"\0" * (-len(data) % 8)


def record(*sections: bytes) -> bytes:
    return b"TLRECORD" + struct.pack("<II", 1, len(sections)) + b"".join(sections)


def checkpoint(options: bytes, image: int = 12, filters: tuple = (2, 1, 3, 3), epochs: int = 2,
               history: tuple = (2, 4), accuracy: float = 0.25) -> bytes:
    """Of the run without a net in fuzz_checkpoint.c, which has 23 images. `history`: the dims of
    its section; () leaves it out."""
    figures = struct.pack("<4d", 1.5, accuracy, 1.25, 0.5) * math.prod(history)
    held = [section("history", F64, list(history), figures[:8 * math.prod(history)])]
    arrays = [section(f"{kind}/{name}", F32, dims, bytes(4 * elements))
              for kind in ("w", "s0", "s1")
              for name, dims, elements in (("weight", list(filters), 18), ("bias", [2], 2))]
    return record(section("options", U8, [len(options)], options),
                  section("position", U64, [4], struct.pack("<4Q", epochs, image, 9, 4)),
                  section("sums/loss", F64, [1], struct.pack("<d", 1.5)),
                  section("sums/hits", U64, [2], struct.pack("<2Q", 3, 12)),
                  *(held if history else []), *arrays, section("b/mean", F32, [2], bytes(8)))


SEEDS = {
    "cifar10": data_set(7 * CIFAR_RECORD),
    "mnist": data_set(MNIST_HEADER + 7),
    "checkpoint": {
        "whole": checkpoint(b"net=tiny batch=4"),
        "other-options": checkpoint(b"net=tiny batch=8"),
        "other-shape": checkpoint(b"net=tiny batch=4", filters=(2, 3, 3)),
        "beyond-the-epoch": checkpoint(b"net=tiny batch=4", image=24),
        "first-epoch": checkpoint(b"net=tiny batch=4", epochs=0, history=()),
        "history-too-early": checkpoint(b"net=tiny batch=4", epochs=0),
        "history-missing": checkpoint(b"net=tiny batch=4", history=()),
        "history-short": checkpoint(b"net=tiny batch=4", history=(1, 4)),
        "history-turned": checkpoint(b"net=tiny batch=4", history=(4, 2)),
        "history-no-fraction": checkpoint(b"net=tiny batch=4", accuracy=1.5),
        "epochs-beyond-memory": checkpoint(b"net=tiny batch=4", epochs=2**32 - 1),
        "long-word": checkpoint(b"net=tiny" * 40),
        "options-alone": record(section("options", U8, [16], b"net=tiny,batch=4")),
        "long-name": record(section("x" * 48, F32, [2], bytes(8))),
        "padding": record(section("a", U8, [5], b"hello"))[:-1] + b"\1",
        "two-alike": record(*2 * [section("position", U8, [8], bytes(8))]),
        "none": record(),
        "weights": record(section("w/weight", F32, [2, 1, 3, 3], bytes(72)),
                          section("w/bias", F32, [2], bytes(8)),
                          section("b/mean", F32, [2], bytes(8))),
        "of-double": record(section("w/weight", F64, [2, 1, 3, 3], bytes(144))),
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
