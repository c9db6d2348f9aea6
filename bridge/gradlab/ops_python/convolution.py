"""Convolution and its three gradients; the columns that it is made of."""

import functools

from gradlab import checks, contexts
from gradlab.ops_python.register import contiguous, derivative, operator


def conv2d_geometry(tl, x_size, w_size, stride, padding, dilation):
    (n, c, h, w), (k, _, r, s) = x_size, w_size
    return tl.geometry("conv2d", n=n, c=c, h=h, w=w, k=k, r=r, s=s, stride_h=stride[0],
                       stride_w=stride[1], pad_h=padding[0], pad_w=padding[1], dil_h=dilation[0],
                       dil_w=dilation[1])


@operator("(Tensor x, Tensor w, Tensor? b, int[2] stride, int[2] padding, int[2] dilation) "
          "-> Tensor")
def conv2d(x, w, b, stride, padding, dilation):
    y = conv2d_fake(x, w, b, stride, padding, dilation)
    if y.numel() == 0 or x.numel() == 0:  # no images, or no channels to sum over
        return y.zero_() if b is None else y.copy_(b[:, None, None].expand_as(y))
    x, w, b = contiguous(x, w, b)
    with contexts.of(x) as tl:
        g = conv2d_geometry(tl, x.shape, w.shape, stride, padding, dilation)
        tl.call("conv2d_fwd", y, x, w, b, g, tl.work(g, x))
    return y


@conv2d.register_fake
def conv2d_fake(x, w, b, stride, padding, dilation):
    return x.new_empty(checks.conv2d(x, w, b, stride, padding, dilation))


@operator("(Tensor dy, Tensor w, int[2] size, int[2] stride, int[2] padding, int[2] dilation) "
          "-> Tensor")
def conv2d_backward_input(dy, w, size, stride, padding, dilation):
    dx = conv2d_backward_input_fake(dy, w, size, stride, padding, dilation).zero_()
    if dx.numel() == 0:
        return dx
    dy, w = contiguous(dy, w)
    with contexts.of(dy) as tl:
        g = conv2d_geometry(tl, dx.shape, w.shape, stride, padding, dilation)
        tl.call("conv2d_bwd_input", dx, dy, w, g, tl.work(g, dy))
    return dx


@conv2d_backward_input.register_fake
def conv2d_backward_input_fake(dy, w, size, stride, padding, dilation):
    checks.tensors("conv2d_backward_input", dy=dy, weight=w)
    checks.rank("conv2d_backward_input", "dy", dy, 4)
    checks.rank("conv2d_backward_input", "weight", w, 4)
    checks.pairs("convolution", size=size)
    dx = dy.new_empty((dy.shape[0], w.shape[1], *size))
    checks.conv2d_gradient("input", dy, checks.conv2d(dx, w, None, stride, padding, dilation))
    return dx


@operator("(Tensor dy, Tensor x, int[2] kernel, int[2] stride, int[2] padding, int[2] dilation) "
          "-> Tensor")
def conv2d_backward_weight(dy, x, kernel, stride, padding, dilation):
    dw = conv2d_backward_weight_fake(dy, x, kernel, stride, padding, dilation).zero_()
    if x.numel() == 0:
        return dw
    dy, x = contiguous(dy, x)
    with contexts.of(dy) as tl:
        g = conv2d_geometry(tl, x.shape, dw.shape, stride, padding, dilation)
        tl.call("conv2d_bwd_weight", dw, dy, x, g, tl.work(g, dy))
    return dw


@conv2d_backward_weight.register_fake
def conv2d_backward_weight_fake(dy, x, kernel, stride, padding, dilation):
    checks.tensors("conv2d_backward_weight", dy=dy, input=x)
    checks.rank("conv2d_backward_weight", "dy", dy, 4)
    checks.rank("conv2d_backward_weight", "input", x, 4)
    checks.pairs("convolution", kernel_size=kernel)
    dw = dy.new_empty((dy.shape[1], x.shape[1], *kernel))
    checks.conv2d_gradient("weight", dy, checks.conv2d(x, dw, None, stride, padding, dilation))
    return dw


@operator("(Tensor dy) -> Tensor")
def conv2d_backward_bias(dy):
    db = conv2d_backward_bias_fake(dy).zero_()
    if dy.numel() == 0:
        return db
    dy = dy.contiguous()
    with contexts.of(dy) as tl:
        n, k, p, q = dy.shape  # as the outputs of a filter of one tap, whose image has their size
        g = conv2d_geometry(tl, (n, 1, p, q), (k, 1, 1, 1), (1, 1), (0, 0), (1, 1))
        tl.call("conv2d_bwd_bias", db, dy, g)
    return db


@conv2d_backward_bias.register_fake
def conv2d_backward_bias_fake(dy):
    checks.tensors("conv2d_backward_bias", dy=dy)
    checks.rank("conv2d_backward_bias", "dy", dy, 4)
    return dy.new_empty((dy.shape[1],))


# y = conv(x, w) is linear in x and in w. So of y, dx = A(w)ᵀ dy and dw = B(x)ᵀ dy each derivative
# is again one of the three. `needs` saves the work for gradients that nobody asked for.

def conv2d_backward(saved, needs, dy):
    x, w, *numbers = saved
    return (conv2d_backward_input(dy, w, x.shape[2:], *numbers) if needs[0] else None,
            conv2d_backward_weight(dy, x, w.shape[2:], *numbers) if needs[1] else None,
            conv2d_backward_bias(dy) if needs[2] else None, None, None, None)


def conv2d_backward_input_backward(saved, needs, g):
    dy, w, *numbers = saved
    return (conv2d(g, w, None, *numbers) if needs[0] else None,
            conv2d_backward_weight(dy, g, w.shape[2:], *numbers) if needs[1] else None,
            None, None, None, None)


def conv2d_backward_weight_backward(saved, needs, g):
    dy, x, *numbers = saved
    return (conv2d(x, g, None, *numbers) if needs[0] else None,
            conv2d_backward_input(dy, g, x.shape[2:], *numbers) if needs[1] else None,
            None, None, None, None)


derivative(conv2d, lambda i, y: (i[0], i[1], *i[3:]), conv2d_backward)
derivative(conv2d_backward_input, lambda i, y: (i[0], i[1], *i[3:]), conv2d_backward_input_backward)
derivative(conv2d_backward_weight, lambda i, y: (i[0], i[1], *i[3:]),
           conv2d_backward_weight_backward)
derivative(conv2d_backward_bias, lambda i, y: (i[0].shape,),
           lambda saved, needs, g: g[:, None, None].expand(saved[0]))

# ---- columns -------------------------------------------------------------------------------------

def columns_call(name, image, col, kernel, dilation, padding, stride):
    """tl_im2col and tl_col2im have columns [C*R*S, n*P*Q]: those of all images side by side."""
    g_of = functools.partial(conv2d_geometry, w_size=(1, 1, *kernel), stride=stride,
                             padding=padding, dilation=dilation)
    with contexts.of(image) as tl:
        g = g_of(tl, image.shape)
        n, rows, blocks = image.shape[0], g.c * g.r * g.s, g.p * g.q
        if name == "im2col":
            wide = col.new_empty((rows, n, blocks))
            tl.call(name, wide, image, n, g)
            col.copy_(wide.transpose(0, 1))
        else:
            tl.call(name, image, col.transpose(0, 1).contiguous(), n, g)


@operator("(Tensor x, int[2] kernel, int[2] dilation, int[2] padding, int[2] stride) -> Tensor")
def im2col(x, kernel, dilation, padding, stride):
    col = im2col_fake(x, kernel, dilation, padding, stride)
    if col.numel():
        columns_call("im2col", x.contiguous(), col, kernel, dilation, padding, stride)
    return col


@im2col.register_fake
def im2col_fake(x, kernel, dilation, padding, stride):
    return x.new_empty(checks.unfold(x, kernel, dilation, padding, stride))


@operator("(Tensor col, int[2] size, int[2] kernel, int[2] dilation, int[2] padding, "
          "int[2] stride) -> Tensor")
def col2im(col, size, kernel, dilation, padding, stride):
    x = col2im_fake(col, size, kernel, dilation, padding, stride).zero_()
    if x.numel():
        columns_call("col2im", x, col, kernel, dilation, padding, stride)
    return x


@col2im.register_fake
def col2im_fake(col, size, kernel, dilation, padding, stride):
    return col.new_empty(checks.fold(col, size, kernel, dilation, padding, stride))


derivative(im2col, lambda i, y: (i[0].shape[2:], *i[1:]),
           lambda saved, needs, g: (col2im(g, *saved), None, None, None, None))
derivative(col2im, lambda i, y: i[2:],
           lambda saved, needs, g: (im2col(g, *saved), None, None, None, None, None))
