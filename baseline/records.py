"""Reader and writer of tl/include/tl/record.h: checkpoints, plans, weights.

The layout is repeated here from the header, not shared with the C code, so that a file which both
sides accept has been understood twice. Everything is checked before anything is returned: a damaged
plan must stop a comparison, not bend it.
"""

import os
import struct
import zlib

import numpy as np

MAGIC = b"TLRECORD"
VERSION = 1
NAME_BYTES = 48
DIMS = 4

# name, dtype, ndim, dim[4], bytes; the CRC covers these and the data
_FIXED = struct.Struct(f"<{NAME_BYTES}sII{DIMS}QQ")
_TAIL = struct.Struct("<II")  # CRC-32, zero
_HEADER = struct.Struct("<8sII")  # magic, version, sections

_DTYPES = {
    1: np.dtype("<u1"),
    2: np.dtype("<i4"),
    3: np.dtype("<u4"),
    4: np.dtype("<u8"),
    5: np.dtype("<f4"),
    6: np.dtype("<f8"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


class RecordError(Exception):
    """A record file is missing, damaged, or lacks what was asked of it; the text is one line."""


def read(path):
    """All sections of the file as {name: array}, in file order.

    The arrays are read-only views into one buffer (which they keep alive): nothing is copied.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None
    if len(content) < _HEADER.size:
        raise RecordError(f"{path}: {len(content)} bytes are too few for a record header")
    magic, version, count = _HEADER.unpack_from(content)
    if magic != MAGIC:
        raise RecordError(f"{path}: not a record file (it starts with {magic!r})")
    if version != VERSION:
        raise RecordError(f"{path}: record version {version}, this reader knows {VERSION}")

    sections, offset = {}, _HEADER.size
    for number in range(count):
        name, array, offset = _read_section(path, content, number, offset)
        if name in sections:
            raise RecordError(f"{path}: section '{name}' appears twice")
        sections[name] = array
    if offset != len(content):
        raise RecordError(f"{path}: {len(content) - offset} bytes after the last section")
    return sections


def _read_section(path, content, number, offset):
    """Section at `offset`: its name, its array, and the offset of what follows it."""
    where = f"{path}: section {number} at byte {offset}"
    start = offset + _FIXED.size + _TAIL.size
    if start > len(content):
        raise RecordError(f"{where}: the file ends inside its header")
    raw_name, code, ndim, *dims, size = _FIXED.unpack_from(content, offset)
    crc, zero = _TAIL.unpack_from(content, offset + _FIXED.size)

    # The CRC comes first: a flipped bit in a length must not be reported as a short file only.
    if size > len(content) - start:
        raise RecordError(f"{where}: {size} bytes announced, {len(content) - start} are left")
    fixed = memoryview(content)[offset : offset + _FIXED.size]
    data = memoryview(content)[start : start + size]
    if zlib.crc32(data, zlib.crc32(fixed)) != crc:
        raise RecordError(f"{where}: CRC differs, the file is damaged")

    name = raw_name.split(b"\0", 1)[0].decode("utf-8", "replace")
    if code not in _DTYPES:
        raise RecordError(f"{where}: '{name}' has unknown type {code}")
    if not 1 <= ndim <= DIMS or any(dim != 1 for dim in dims[ndim:]):
        raise RecordError(f"{where}: '{name}' has {ndim} dimensions {dims}")
    dtype, shape = _DTYPES[code], tuple(dims[:ndim])
    elements = 1
    for dim in shape:
        elements *= dim
    if elements * dtype.itemsize != size:
        raise RecordError(f"{where}: '{name}' has shape {shape} but {size} bytes")
    end = start + -(-size // 8) * 8
    if zero != 0 or any(content[start + size : end]) or end > len(content):
        raise RecordError(f"{where}: '{name}' is not padded with zeros to a multiple of 8 bytes")
    array = np.frombuffer(content, dtype, elements, start).reshape(shape)
    return name, array, end


def write(path, sections):
    """Writes {name: array} to `path`, by way of path.part so that `path` is never half a file."""
    part = f"{path}.part"
    with open(part, "wb") as file:
        file.write(_HEADER.pack(MAGIC, VERSION, len(sections)))
        for name, array in sections.items():
            array = np.ascontiguousarray(array)
            code = _CODES.get(array.dtype.newbyteorder("<"))
            encoded = name.encode()
            if code is None or array.ndim > DIMS or len(encoded) >= NAME_BYTES:
                raise ValueError(f"section '{name}': {array.dtype}{array.shape} cannot be stored")
            dims = list(array.shape) + [1] * (DIMS - array.ndim)
            data = array.astype(_DTYPES[code], copy=False).tobytes()
            fixed = _FIXED.pack(encoded, code, array.ndim, *dims, len(data))
            file.write(fixed + _TAIL.pack(zlib.crc32(data, zlib.crc32(fixed)), 0))
            file.write(data + bytes(-len(data) % 8))
    os.replace(part, path)


def find(sections, path, name, dtype, elements=None):
    """The section `name`, which must have this dtype and (if given) this many elements."""
    if name not in sections:
        raise RecordError(f"{path}: no section '{name}' (it holds {', '.join(sections) or 'none'})")
    array = sections[name]
    if array.dtype != np.dtype(dtype):
        raise RecordError(f"{path}: '{name}' holds {array.dtype}, wanted {np.dtype(dtype)}")
    if elements is not None and array.size != elements:
        raise RecordError(f"{path}: '{name}' has {array.size} elements, wanted {elements}")
    return array
