"""tl's contexts: one for each host thread, device, stream and precision.

A tl_ctx serves one host thread at a time, and autograd runs backward in threads of its own, so each
thread has its contexts. Work is queued on PyTorch's current stream, on memory that PyTorch
allocated; the number of cpu threads is PyTorch's. With that a call of ours is like one of theirs.
"""

import contextlib
import ctypes
import os
import sys
import threading

import torch

from gradlab import library

ALIGNMENT = 256  # of scratch (tl/conv2d.h); PyTorch aligns to 64 bytes on the cpu


class Context:
    """A tl_ctx, and the calls that are made with it."""

    def __init__(self, tl: library.Library, device: torch.device, stream: int):
        self.tl, self.threads = tl, threads()
        options = tl.make("tl_device_options", threads=self.threads)
        if device.type == "cuda":
            options.index, options.borrow_stream, options.stream = device.index, True, stream
        self.handle = ctypes.c_void_p()
        tl.check(tl.function("device_open_with")(ctypes.byref(self.handle), device.type.encode(),
                                                 ctypes.byref(options)))
        fields = tl.struct("tl_ctx").from_address(self.handle.value)
        self.column_bytes = library.Backend.from_address(fields.ops).column_bytes
        self.step = fields.step

    def __del__(self):
        # at the program's end the system takes all back, and CUDA may be gone already
        if getattr(self, "handle", None) and not sys.is_finalizing():
            self.tl.function("device_close")(self.handle)

    def set_threads(self, count: int) -> None:
        if count != self.threads:
            self.tl.check(self.tl.function("device_set_threads")(self.handle, count))
            self.threads = count

    def set_step(self, **numbers) -> None:
        """Queues the numbers of a step, for operations that take tl_step."""
        now = self.tl.make("tl_step", **numbers)
        self.tl.check(self.tl.function("device_set_step")(self.handle, ctypes.byref(now)))

    def geometry(self, kind: str, **sizes):
        """tl_<kind>_geom, checked: the derived sizes are filled in."""
        geom = self.tl.make(f"tl_{kind}_geom", **sizes)
        if hasattr(self.tl.cdll, f"tl_{kind}_check"):
            self.tl.check(self.tl.function(f"{kind}_check")(ctypes.byref(geom)))
        return geom

    def work(self, geom, like: torch.Tensor) -> torch.Tensor:
        """Scratch for the columns of a convolution, aligned as tl wants it."""
        count = self.tl.function("conv2d_work_bytes")
        count.restype = ctypes.c_size_t
        size = count(ctypes.byref(geom), ctypes.c_size_t(self.column_bytes))
        block = torch.empty(size + ALIGNMENT, dtype=torch.uint8, device=like.device)
        return block[-block.data_ptr() % ALIGNMENT:]

    def call(self, name: str, *arguments) -> None:
        """tl_<name>(ctx, …) with tensors for pointers, in the order of ops.def. Tensors are taken
        as they lie in memory: the caller has made them contiguous."""
        rows = self.tl.operations[name]
        assert len(rows) == len(arguments), (name, [row.name for row in rows])
        plain = [self._plain(row, value) for row, value in zip(rows, arguments)]
        self.tl.check(self.tl.function(name)(self.handle, *plain))

    def _plain(self, row: library.Argument, value):
        if row.type == "tl_step":
            return self.step
        if row.kind == "GEOM":
            return ctypes.addressof(value)
        if row.kind == "VALUE":
            return self._number(row, value)
        if value is None:
            return None
        wanted = {"tl_real": self.tl.dtype, "int32_t": torch.int32, "void": torch.uint8}[row.type]
        assert value.dtype == wanted and value.is_contiguous(), (row, value.dtype, value.stride())
        return value.data_ptr()

    def _number(self, row: library.Argument, value):
        if row.type == "int" and not 0 <= value <= 2**31 - 1:
            raise RuntimeError(f"{row.name} = {value} does not fit int")
        return value


# ---- which context -------------------------------------------------------------------------------

_mine = threading.local()  # .contexts: of this thread; they go when it ends
_parents = []  # contexts of the process that this one was forked from: kept, never touched
_forked = False


def threads() -> int:
    """As many as PyTorch would use. A forked child has one: OpenMP's threads stayed behind."""
    return 1 if _forked else min(torch.get_num_threads(), 1024)


def _forget() -> None:
    global _mine, _forked
    _parents.append(getattr(_mine, "contexts", None))
    _mine, _forked = threading.local(), True


os.register_at_fork(after_in_child=_forget)


@contextlib.contextmanager
def of(tensor: torch.Tensor):
    """The context for a tensor's device and type, on this thread and PyTorch's current stream; the
    device is the thread's current one meanwhile."""
    device, stream = tensor.device, 0
    if device.type == "cuda":
        torch.cuda.init()  # in a forked child this is PyTorch's own error
        stream = torch.cuda.current_stream(device).cuda_stream
    key = (device, stream, tensor.dtype)
    contexts = _mine.__dict__.setdefault("contexts", {})
    with torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext():
        if key not in contexts:
            contexts[key] = Context(library.load(tensor.dtype), device, stream)
        contexts[key].set_threads(threads())
        yield contexts[key]
