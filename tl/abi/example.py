"""example.py LIBTL: a matrix product by libtl.so, from Python with the headers alone.

The headers say what a call takes: tl/matmul.h the function, tl/geometry.h its struct, tl/status.h
what comes back, tl/device.h how to open a device. (bridge/ makes operators of PyTorch of it.)
"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_void_p


class MatmulGeom(ctypes.Structure):  # tl_matmul_geom
    _fields_ = [(name, c_int) for name in ("m", "n", "k", "trans_a", "trans_b", "accumulate")]


tl = ctypes.CDLL(sys.argv[1])
tl.tl_error.restype = c_char_p
tl.tl_device_open.argtypes = [POINTER(c_void_p), c_char_p, c_char_p, c_int]
tl.tl_matmul.argtypes = [c_void_p] * 4 + [POINTER(MatmulGeom)]
tl.tl_device_close.argtypes = [c_void_p]


def check(status: int) -> None:
    if status != 0:  # TL_OK
        sys.exit(tl.tl_error().decode())


ctx = c_void_p()
check(tl.tl_device_open(byref(ctx), b"cpu", b"all", 0))
x, w, y = (c_float * 4)(1, 2, 3, 4), (c_float * 4)(1, 0, 0, 1), (c_float * 4)()
check(tl.tl_matmul(ctx, y, x, w, byref(MatmulGeom(2, 2, 2))))
print(list(y))
tl.tl_device_close(ctx)
