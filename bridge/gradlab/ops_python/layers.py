"""The linear layer, max pooling and ReLU."""

import torch

from gradlab import checks, contexts
from gradlab.ops_python.register import contiguous, derivative, operator


def linear_call(name, out, first, second, n, inputs, outputs, *bias):
    """tl wants no empty product: then `out` stays as it is."""
    if n and inputs and outputs:
        first, second, *bias = contiguous(first, second, *bias)
        with contexts.of(out) as tl:
            g = tl.geometry("linear", **{"n": n, "in": inputs, "out": outputs})
            tl.call(name, out, first, second, *bias, g)
    return out


@operator("(Tensor x, Tensor w, Tensor? b) -> Tensor")
def linear(x, w, b):
    y = linear_fake(x, w, b)
    if x.shape[1] == 0:
        return y.zero_() if b is None else y.copy_(b.expand_as(y))
    return linear_call("linear_fwd", y, x, w, *x.shape, w.shape[0], b)


@linear.register_fake
def linear_fake(x, w, b):
    return x.new_empty(checks.linear(x, w, b))


@operator("(Tensor dy, Tensor w) -> Tensor")
def linear_backward_input(dy, w):
    dx = linear_backward_input_fake(dy, w).zero_()
    return linear_call("linear_bwd_input", dx, dy, w, *dx.shape, w.shape[0])


@linear_backward_input.register_fake
def linear_backward_input_fake(dy, w):
    checks.linear(dy, w.t() if w.dim() == 2 else w, None)
    return dy.new_empty((dy.shape[0], w.shape[1]))


@operator("(Tensor dy, Tensor x) -> Tensor")
def linear_backward_weight(dy, x):
    dw = linear_backward_weight_fake(dy, x).zero_()
    return linear_call("linear_bwd_weight", dw, dy, x, *x.shape, dy.shape[1])


@linear_backward_weight.register_fake
def linear_backward_weight_fake(dy, x):
    checks.tensors("linear_backward_weight", dy=dy, input=x)
    checks.rank("linear_backward_weight", "dy", dy, 2)
    checks.rank("linear_backward_weight", "input", x, 2)
    checks.need(dy.shape[0] == x.shape[0],
                lambda: "linear_backward_weight: dy and input differ in their "
                f"first dimension: {list(dy.shape)} and {list(x.shape)}")
    return dy.new_empty((dy.shape[1], x.shape[1]))


@operator("(Tensor dy) -> Tensor")
def linear_backward_bias(dy):
    db = linear_backward_bias_fake(dy).zero_()
    if dy.numel():
        with contexts.of(dy) as tl:
            g = tl.geometry("linear", **{"n": dy.shape[0], "in": 1, "out": dy.shape[1]})
            tl.call("linear_bwd_bias", db, dy.contiguous(), g)
    return db


@linear_backward_bias.register_fake
def linear_backward_bias_fake(dy):
    checks.tensors("linear_backward_bias", dy=dy)
    checks.rank("linear_backward_bias", "dy", dy, 2)
    return dy.new_empty((dy.shape[1],))


derivative(linear, lambda i, y: i[:2], lambda saved, needs, dy: (
    linear_backward_input(dy, saved[1]) if needs[0] else None,
    linear_backward_weight(dy, saved[0]) if needs[1] else None,
    linear_backward_bias(dy) if needs[2] else None))
derivative(linear_backward_input, lambda i, y: i, lambda saved, needs, g: (
    linear(g, saved[1], None) if needs[0] else None,
    linear_backward_weight(saved[0], g) if needs[1] else None))
derivative(linear_backward_weight, lambda i, y: i, lambda saved, needs, g: (
    linear(saved[1], g, None) if needs[0] else None,
    linear_backward_input(saved[0], g) if needs[1] else None))
derivative(linear_backward_bias, lambda i, y: (i[0].shape,),
           lambda saved, needs, g: g.expand(saved[0]))

# ---- pooling and ReLU ----------------------------------------------------------------------------

def pool_geometry(tl, x_size, kernel, stride, padding):
    n, c, h, w = x_size
    return tl.geometry("pool2d", n=n, c=c, h=h, w=w, r=kernel[0], s=kernel[1], stride_h=stride[0],
                       stride_w=stride[1], pad_h=padding[0], pad_w=padding[1])


@operator("(Tensor x, int[2] kernel, int[2] stride, int[2] padding) -> (Tensor y, Tensor argmax)")
def max_pool2d(x, kernel, stride, padding):
    y, argmax = max_pool2d_fake(x, kernel, stride, padding)
    if y.numel():
        with contexts.of(x) as tl:
            g = pool_geometry(tl, x.shape, kernel, stride, padding)
            tl.call("maxpool2d_fwd", y, argmax, x.contiguous(), g)
    return y, argmax


@max_pool2d.register_fake
def max_pool2d_fake(x, kernel, stride, padding):
    y = x.new_empty(checks.pool(x, kernel, stride, padding))
    return y, torch.empty_like(y, dtype=torch.int32)


@operator("(Tensor dy, Tensor argmax, int[2] size, int[2] kernel, int[2] stride, int[2] padding) "
          "-> Tensor")
def max_pool2d_backward(dy, argmax, size, kernel, stride, padding):
    dx = max_pool2d_backward_fake(dy, argmax, size, kernel, stride, padding).zero_()
    if dx.numel():
        with contexts.of(dy) as tl:
            g = pool_geometry(tl, dx.shape, kernel, stride, padding)
            tl.call("maxpool2d_bwd", dx, *contiguous(dy, argmax), g)
    return dx


@max_pool2d_backward.register_fake
def max_pool2d_backward_fake(dy, argmax, size, kernel, stride, padding):
    checks.tensors("max_pool2d_backward", dy=dy)
    checks.rank("max_pool2d_backward", "dy", dy, 4)
    checks.pairs("max_pool2d", size=size)
    dx = dy.new_empty((*dy.shape[:2], *size))
    sizes = checks.pool(dx, kernel, stride, padding)
    checks.need(tuple(dy.shape) == sizes and dy.shape == argmax.shape,
                lambda: f"max_pool2d_backward: dy of size {list(dy.shape)} and argmax of size "
                f"{list(argmax.shape)} should have the size of the output, {list(sizes)}")
    checks.need(argmax.dtype == torch.int32 and argmax.device == dy.device,
                lambda: f"max_pool2d_backward: argmax should be int32 on {dy.device}, but is "
                f"{argmax.dtype} on {argmax.device}")
    return dx


derivative(max_pool2d, lambda i, out: (out[1], i[0].shape[2:], *i[1:]),
           lambda saved, needs, dy, _: (max_pool2d_backward(dy, *saved), None, None, None),
           plain=[1])
# each dy went to the pixel that argmax names; so what comes back is read there
derivative(max_pool2d_backward, lambda i, dx: i[1:2], lambda saved, needs, g: (
    g.flatten(2).gather(2, saved[0].flatten(2).long()).view(saved[0].shape),
    None, None, None, None, None))


@operator("(Tensor x) -> Tensor")
def relu(x):
    y = relu_fake(x)
    if y.numel():
        with contexts.of(x) as tl:
            tl.call("relu_fwd", y, x.contiguous(), y.numel())
    return y


@relu.register_fake
def relu_fake(x):
    checks.tensors("relu", input=x)
    return x.new_empty(x.shape)


@operator("(Tensor dy, Tensor y) -> Tensor")
def relu_backward(dy, y):
    dx = relu_backward_fake(dy, y).zero_()
    if dx.numel():
        with contexts.of(dy) as tl:
            tl.call("relu_bwd", dx, *contiguous(dy, y), dx.numel())
    return dx


@relu_backward.register_fake
def relu_backward_fake(dy, y):
    checks.tensors("relu_backward", dy=dy, y=y)
    checks.need(dy.shape == y.shape,
                lambda: "relu_backward: dy and y should have the same size, but got "
                f"{list(dy.shape)} and {list(y.shape)}")
    return dy.new_empty(dy.shape)


derivative(relu, lambda i, y: (y,), lambda saved, needs, dy: relu_backward(dy, saved[0]))
derivative(relu_backward, lambda i, dx: (i[1],),
           lambda saved, needs, g: (relu_backward(g, saved[0]), None))
