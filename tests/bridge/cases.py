"""Calls of the namespace's operators over awkward shapes: what gradcheck and opcheck are given.

Schemas are read from the operators; here stand the arguments, and which of them gradients are due
to. Sizes: not square, stride 2, padding, dilation, several images, C unlike K, odd, empty, no bias.
"""

import itertools

import torch

# n, c, h, w, k, r, s, stride, padding, dilation
CONVOLUTIONS = [
    (1, 1, 3, 3, 1, 1, 1, (1, 1), (0, 0), (1, 1)),
    (2, 3, 5, 4, 2, 3, 2, (2, 1), (1, 0), (1, 1)),
    (3, 2, 4, 7, 3, 2, 3, (1, 2), (0, 2), (2, 1)),
    (2, 1, 7, 5, 4, 2, 2, (2, 2), (3, 1), (3, 2)),
    (1, 2, 2, 9, 1, 4, 1, (1, 3), (2, 0), (1, 1)),
    (0, 2, 4, 4, 3, 3, 3, (1, 1), (1, 1), (1, 1)),
]
POOLS = [(2, 2, 5, 6, (2, 2), (2, 2), (0, 0)), (1, 3, 7, 4, (3, 2), (1, 2), (1, 1)),
         (2, 1, 3, 5, (2, 3), (2, 1), (1, 0)), (0, 2, 4, 4, (2, 2), (2, 2), (0, 0))]
PRODUCTS = [(1, 1, 1), (3, 5, 2), (4, 3, 7), (0, 3, 2), (2, 0, 3)]
ROWS = [(1, 2), (5, 3), (4, 10), (0, 3)]
CHANNELS = [(2, 3, 4), (5, 1, 1), (1, 2, 9), (3, 2, 1)]


def values(*size, device="cpu", dtype=torch.float64, leaf=True):
    """Distinct and well apart, so that no maximum and no sign turns within a small step."""
    count = torch.Size(size).numel()
    line = torch.linspace(-1.9, 2.1, count, dtype=torch.float64)
    generator = torch.Generator().manual_seed(count + len(size))
    mixed = line[torch.randperm(count, generator=generator)].reshape(size)
    mixed = torch.where(mixed.abs() < 0.02, 0.05, mixed)
    return mixed.to(device, dtype).requires_grad_(leaf)


def convolutions(t):
    for n, c, h, w, k, r, s, *numbers in CONVOLUTIONS:
        numbers = [list(number) for number in numbers]
        x, filters = t(n, c, h, w), t(k, c, r, s)
        p, q = (torch.nn.functional.conv2d(x.detach(), filters.detach(), None, *numbers)).shape[2:]
        dy, (stride, padding, dilation) = t(n, k, p, q), numbers
        yield "conv2d", (x, filters, t(k), *numbers)
        yield "conv2d", (x, filters, None, *numbers)
        yield "conv2d_backward_input", (dy, filters, [h, w], *numbers)
        yield "conv2d_backward_weight", (dy, x, [r, s], *numbers)
        yield "conv2d_backward_bias", (dy,)
        columns = [[r, s], dilation, padding, stride]
        yield "im2col", (x, *columns)
        yield "col2im", (t(n, c * r * s, p * q), [h, w], *columns)


def pools(t):
    for n, c, h, w, kernel, stride, padding in POOLS:
        x, numbers = t(n, c, h, w), [list(kernel), list(stride), list(padding)]
        y, index = torch.nn.functional.max_pool2d(x.detach(), *numbers, return_indices=True)
        yield "max_pool2d", (x, *numbers)
        yield "max_pool2d_backward", (t(*y.shape), index.int(), [h, w], *numbers)


def products(t):
    for n, inputs, outputs in PRODUCTS:
        x, w, dy = t(n, inputs), t(outputs, inputs), t(n, outputs)
        yield "linear", (x, w, t(outputs))
        yield "linear", (x, w, None)
        yield "linear_backward_input", (dy, w)
        yield "linear_backward_weight", (dy, x)
        yield "linear_backward_bias", (dy,)


def losses(t):
    for rows, classes in ROWS:
        logits = t(rows, classes)
        label = (torch.arange(rows) * 7 % classes).to(logits.device, torch.int32)
        prob = logits.detach().softmax(1)
        yield "cross_entropy_rows", (logits, label)
        yield "cross_entropy_rows_backward", (t(rows), logits, prob, label)


def others(t):
    seed = torch.tensor(1234567890123)
    for size in ((3, 4, 5), (7,), (0, 2)):
        yield "relu", (t(*size),)
        yield "relu_backward", (t(*size), t(*size).detach())
        for p in (0.3, 0.75):
            yield "dropout", (t(*size), p, seed)
            yield "dropout_backward", (t(*size), p, seed)
    for n, c, hw in CHANNELS:
        x, gamma, beta, dy = t(n, c, hw), t(c), t(c), t(n, c, hw)
        mean, var = t(c).detach(), t(c).detach().abs() + 0.5
        yield "batch_norm", (x, gamma, beta, mean, var, 1e-3, 0.1)
        yield "batch_norm_eval", (x, gamma, beta, mean, var, 1e-3)
        yield "batch_norm_backward", (dy, x, gamma, mean, var)


def steps(t):
    """No gradients: what they change lies in their arguments."""
    for n in (1, 5, 0):
        w, m, v, dw = (t(n).detach() for _ in range(4))
        yield "sgd_step", (w, m, dw, 0.1, 0.9, 0.01, True)
        yield "sgd_step", (w, None, dw, 0.1, 0.0, 0.0, False)
        yield "adam_step", (w, m, v.abs(), dw, 3, 0.1, 0.9, 0.99, 1e-8, 0.01)


def calls(device, dtype=torch.float64):
    """(name, arguments) of every case."""
    def t(*size):
        return values(*size, device=device, dtype=dtype)
    return itertools.chain(convolutions(t), pools(t), products(t), losses(t), others(t), steps(t))


def named(name, device, dtype=torch.float64):
    return [arguments for other, arguments in calls(device, dtype) if other == name]


NAMES = sorted({name for name, _ in calls("cpu")})
