"""What an operator refuses, in the words that PyTorch's own operator has for it.

Both ways and functional.py ask here. A check looks at types and sizes alone, never at values, so it
holds for fake tensors and under torch.compile too.
"""

import torch

SUPPORTED = (torch.float32, torch.float64)
# As PyTorch names types in "not implemented for 'Half'".
SCALARS = {torch.float16: "Half", torch.bfloat16: "BFloat16", torch.bool: "Bool",
           torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int",
           torch.int64: "Long", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble"}
DEVICES = ("cpu", "cuda", "meta")


def need(condition: bool, text, error: type = RuntimeError) -> None:
    """`text` is a string, or what makes one: putting sizes into words costs as much as a kernel."""
    if not condition:
        raise error(text() if callable(text) else text)


def tensors(operator: str, **named) -> None:
    """All on one device and of one type, which tl has kernels for; None is passed over."""
    there = {name: t for name, t in named.items() if t is not None}
    for name, t in there.items():
        need(isinstance(t, torch.Tensor),
             lambda: f"{operator}(): argument '{name}' must be Tensor, not {type(t).__name__}",
             TypeError)
    first, x = next(iter(there.items()))
    for name, t in there.items():
        need(t.device == x.device,
             lambda: f"{operator}: Expected all tensors to be on the same device, but {first} is "
             f"on {x.device} and {name} is on {t.device}")
        need(t.layout == torch.strided,
             lambda: f"{operator}: {name} has layout {t.layout}, and only dense tensors are "
             f"supported")
    need(x.device.type in DEVICES,
         lambda: f"{operator}: {first} is on {x.device}; gradlab has kernels for cpu and cuda",
         NotImplementedError)
    for name, t in there.items():
        need(t.dtype == x.dtype,
             lambda: f"{operator}: Input type ({words(x.dtype)}) and {name} type "
             f"({words(t.dtype)}) should be the same")
    need(x.dtype in SUPPORTED,
         lambda: f"\"{operator}\" not implemented for '{SCALARS.get(x.dtype, x.dtype)}': {first} "
         "must be float32 or float64, tl has no kernel for other types", NotImplementedError)


def words(dtype: torch.dtype) -> str:
    return {torch.float32: "float", torch.float64: "double"}.get(dtype, str(dtype)[6:])


def rank(operator: str, name: str, x: torch.Tensor, wanted: int) -> None:
    need(x.dim() == wanted,
         lambda: f"{operator}: Expected a {wanted}D tensor for {name}, but got size: "
         f"{list(x.shape)}")


def pairs(operator: str, **named) -> None:
    """An int[2] of a schema fills a single number up itself; other lengths are refused here."""
    for name, value in named.items():
        need(len(value) == 2,
             lambda: f"expected {name} to be a single integer value or a list of 2 values to match "
             f"the {operator} dimensions, but got {name}={list(value)}")


def window(operator: str, size, kernel, stride, padding, dilation) -> tuple:
    """(P, Q): where a window of `kernel` taps can stand in `size` pixels; the numbers are sound."""
    pairs(operator, size=size, kernel_size=kernel, stride=stride, padding=padding,
          dilation=dilation)
    need(all(v > 0 for v in stride),
         lambda: f"non-positive stride is not supported: stride={list(stride)}")
    need(all(v >= 0 for v in padding),
         lambda: f"negative padding is not supported: padding={list(padding)}")
    need(all(v > 0 for v in dilation),
         lambda: f"non-positive dilation is not supported: dilation={list(dilation)}")
    need(all(v > 0 for v in kernel),
         lambda: f"kernel size should be greater than zero, but got kernel_size={list(kernel)}")
    return tuple((i + 2 * p - d * (k - 1) - 1) // s + 1
                 for i, k, s, p, d in zip(size, kernel, stride, padding, dilation))


def conv2d(x, w, b, stride, padding, dilation) -> tuple:
    """The sizes [N, K, P, Q] of the output."""
    tensors("conv2d", input=x, weight=w, bias=b)
    need(x.dim() == 4,
         lambda: "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of "
         f"size: {list(x.shape)}")
    need(w.dim() == 4,
         lambda: f"Expected 4D weight to conv2d, but got weight of size: {list(w.shape)}")
    need(w.shape[0] > 0,
         lambda: "Given groups=1, expected weight to be at least 1 at dimension 0, but got "
         f"weight of size {list(w.shape)} instead")
    need(x.shape[1] == w.shape[1],
         lambda: f"Given groups=1, weight of size {list(w.shape)}, expected input{list(x.shape)} "
         f"to have {w.shape[1]} channels, but got {x.shape[1]} channels instead")
    need(b is None or tuple(b.shape) == (w.shape[0],),
         lambda: f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with "
         f"{w.shape[0]} elements, but got bias of size {b is not None and list(b.shape)} instead")
    size = x.shape[2:]
    p, q = window("convolution", size, w.shape[2:], stride, padding, dilation)
    padded = [i + 2 * pad for i, pad in zip(size, padding)]
    reach = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation)]
    need(p > 0 and q > 0,
         lambda: f"Calculated padded input size per channel: ({padded[0]} x {padded[1]}). Kernel "
         f"size: ({reach[0]} x {reach[1]}). Kernel size can't be greater than actual input size")
    need(size[0] > 0 and size[1] > 0,
         lambda: "Only zero batch or zero channel inputs are supported, but "
         f"got input shape: {list(x.shape)}")
    return x.shape[0], w.shape[0], p, q


def conv2d_gradient(name: str, dy, sizes: tuple) -> None:
    """dy must have the sizes of the output that it is the gradient of."""
    need(tuple(dy.shape) == tuple(sizes),
         lambda: f"conv2d_backward_{name}: dy of size {list(dy.shape)} is not the size of the "
         f"output, {list(sizes)}")


def linear(x, w, b) -> tuple:
    """The sizes [n, out] of the output."""
    tensors("linear", input=x, weight=w, bias=b)
    rank("linear", "input", x, 2)
    rank("linear", "weight", w, 2)
    need(x.shape[1] == w.shape[1],
         lambda: f"linear: mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} "
         f"and {w.shape[1]}x{w.shape[0]}): input and weight differ in their last dimension")
    need(b is None or tuple(b.shape) == (w.shape[0],),
         lambda: f"linear: bias must have {w.shape[0]} elements, one for each row of weight, but "
         f"got size {b is not None and list(b.shape)}")
    return x.shape[0], w.shape[0]


def pool(x, kernel, stride, padding) -> tuple:
    """The sizes [N, C, P, Q] of the output."""
    tensors("max_pool2d", input=x)
    need(x.dim() == 4 and all(n > 0 for n in x.shape[1:]),
         lambda: "max_pool2d: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size "
         f"for input, but got: {list(x.shape)}")
    p, q = window("max_pool2d", x.shape[2:], kernel, stride, padding, (1, 1))
    need(all(2 * pad <= k for pad, k in zip(padding, kernel)),
         lambda: f"pad should be at most half of effective kernel size, but got "
         f"padding={list(padding)}, kernel_size={list(kernel)}")
    c, h, w = x.shape[1:]
    need(p > 0 and q > 0,
         lambda: f"Given input size: ({c}x{h}x{w}). Calculated output size: ({c}x{p}x{q})."
         f" Output size is too small for kernel_size={list(kernel)}")
    return x.shape[0], c, p, q


def blocks(operator: str, size, kernel, dilation, padding, stride) -> tuple:
    """(P, Q) of unfold and fold."""
    p, q = window(operator, size, kernel, stride, padding, dilation)
    need(p > 0 and q > 0,
         lambda: f"Given input with spatial size ({size[0]}, {size[1]}), "
         f"kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, padding={tuple(padding)}, "
         f"calculated shape of the array of sliding blocks as ({p}, {q}), but its "
         "components must be at least one.")
    return p, q


def unfold(x, kernel, dilation, padding, stride) -> tuple:
    """The sizes [N, C*R*S, P*Q] of the output."""
    tensors("im2col", input=x)
    need(x.dim() == 4 and all(n > 0 for n in x.shape[1:]),
         lambda: "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
         f"non-zero dimensions for input, but got: {list(x.shape)}")
    p, q = blocks("unfold", x.shape[2:], kernel, dilation, padding, stride)
    return x.shape[0], x.shape[1] * kernel[0] * kernel[1], p * q


def fold(col, size, kernel, dilation, padding, stride) -> tuple:
    """The sizes [N, C, H, W] of the output."""
    tensors("col2im", input=col)
    need(col.dim() == 3 and all(n > 0 for n in col.shape[1:]),
         lambda: "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
         f"non-zero dimensions for input, but got: {list(col.shape)}")
    p, q = window("fold", size, kernel, stride, padding, dilation)
    taps = kernel[0] * kernel[1]
    need(col.shape[1] % taps == 0,
         lambda: "Expected size of input's dimension 1 to be divisible by the product of "
         f"kernel_size, but got input.size(1)={col.shape[1]} and kernel_size={tuple(kernel)}.")
    need(p > 0 and q > 0 and col.shape[2] == p * q,
         lambda: f"Given output_size={tuple(size)}, kernel_size={tuple(kernel)}, dilation="
         f"{tuple(dilation)}, padding={tuple(padding)}, stride={tuple(stride)}, expected size of "
         f"input's dimension 2 to match the calculated number of sliding blocks {p} * {q} = "
         f"{p * q}, but got input.size(2)={col.shape[2]}.")
    return (col.shape[0], col.shape[1] // taps, *size)


def cross_entropy(logits, label) -> None:
    tensors("cross_entropy", input=logits)
    rank("cross_entropy", "input", logits, 2)
    need(label.dtype == torch.int32,
         lambda: f"cross_entropy: expected label of int32, got {label.dtype}")
    need(label.device == logits.device,
         lambda: "cross_entropy: Expected all tensors to be on the same "
         f"device, but input is on {logits.device} and target is on {label.device}")
    need(tuple(label.shape) == (logits.shape[0],),
         lambda: f"Expected input batch_size ({logits.shape[0]}) to match target batch_size "
         f"({label.shape[0] if label.dim() else 1}).", ValueError)


def batch_norm(x, **channels) -> None:
    """x is [n, c, hw], everything else has one number for each channel."""
    tensors("batch_norm", input=x, **channels)
    rank("batch_norm", "input", x, 3)
    for name, t in channels.items():
        need(tuple(t.shape) == (x.shape[1],),
             lambda: f"{name} should contain {x.shape[1]} elements not {t.numel()}")
