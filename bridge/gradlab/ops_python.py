"""Way 1: the library's functions as custom operators of PyTorch, from Python alone.

An operator of one's own is four things, which stand together here for each:

    @operator(schema)        what it is called with, and the function that runs it
    @….register_fake         the sizes of what comes out, without any data: torch.compile asks,
                             and it refuses what does not fit (checks.py); the real one begins so
    derivative(…)            backward, in terms of operators, so that it can be differentiated again
    contexts.of(x)           a tl_ctx on x's device, PyTorch's stream and threads; tl.call("f", …)
                             is tl_f(ctx, …) on the tensors' own memory

The C functions' rules show through: fwd overwrites its output (torch.empty), bwd adds to it
(torch.zeros), and no size may be 0, so that empty batches are answered before the call.
"""

import functools

import torch

from gradlab import checks, contexts, library

for dtype in library.DTYPES:
    library.load(dtype)  # what is missing, or is another version, is said when gradlab is imported

NAMESPACE = "gradlab_python"
OPERATORS = {}  # name -> what torch.library.custom_op made of it


def operator(schema: str, mutates: tuple = ()):
    """Registers the function below as gradlab_python::name, `schema` being what comes behind the
    name. Under autocast it runs in float32; torch.vmap calls it once for each slice."""
    def register(function):
        name = function.__name__
        op = torch.library.custom_op(f"{NAMESPACE}::{name}", function, mutates_args=mutates,
                                     schema=schema)
        OPERATORS[name] = op
        if mutates:
            op.register_fake(lambda *arguments: None)
        else:
            for device in ("cpu", "cuda"):
                op.register_autocast(device, torch.float32)
        op.register_vmap(functools.partial(by_slices, op))
        return op
    return register


def by_slices(op, info, in_dims, *arguments):
    """A batching rule for any operator: slice by slice, then stacked."""
    def slice_of(i):
        return [a.select(dim, i) if isinstance(a, torch.Tensor) and dim is not None else a
                for a, dim in zip(arguments, in_dims)]
    results = [op(*slice_of(i)) for i in range(info.batch_size)]
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results), 0
    if results[0] is None:
        return None, None
    return tuple(torch.stack(parts) for parts in zip(*results)), (0,) * len(results[0])


def derivative(op, keep, backward, plain=()):
    """backward(saved, needs, *gradients) returns a gradient for each argument, or None; `keep`
    chooses what it needs from (inputs, output). plain: outputs that have no derivative."""
    def setup(ctx, inputs, output):
        kept = keep(inputs, output)
        ctx.numbers = [None if isinstance(k, torch.Tensor) else k for k in kept]
        ctx.save_for_backward(*[k if isinstance(k, torch.Tensor) else None for k in kept])
        ctx.mark_non_differentiable(*[output[i] for i in plain])

    def run(ctx, *gradients):
        saved = [n if t is None else t for t, n in zip(ctx.saved_tensors, ctx.numbers)]
        return backward(saved, ctx.needs_input_grad, *gradients)

    op.register_autograd(run, setup_context=setup)


def contiguous(*tensors):
    return [None if t is None else t.contiguous() for t in tensors]


# ---- convolution ---------------------------------------------------------------------------------

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


# ---- linear --------------------------------------------------------------------------------------

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
    checks.need(dy.shape[0] == x.shape[0], "linear_backward_weight: dy and input differ in their "
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
                f"max_pool2d_backward: dy of size {list(dy.shape)} and argmax of size "
                f"{list(argmax.shape)} should have the size of the output, {list(sizes)}")
    checks.need(argmax.dtype == torch.int32 and argmax.device == dy.device,
                f"max_pool2d_backward: argmax should be int32 on {dy.device}, but is "
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
    checks.need(dy.shape == y.shape, "relu_backward: dy and y should have the same size, but got "
                f"{list(dy.shape)} and {list(y.shape)}")
    return dy.new_empty(dy.shape)


derivative(relu, lambda i, y: (y,), lambda saved, needs, dy: relu_backward(dy, saved[0]))
derivative(relu_backward, lambda i, dx: (i[1],),
           lambda saved, needs, g: (relu_backward(g, saved[0]), None))


# ---- loss ----------------------------------------------------------------------------------------

def check_labels(label, classes):
    """On a GPU the answer would have to be waited for; there tl makes such a row's loss NaN."""
    if label.device.type == "cpu":
        bad = label[(label < 0) | (label >= classes)]
        if len(bad):
            raise IndexError(f"Target {int(bad[0])} is out of bounds.")


@operator("(Tensor logits, Tensor label) -> (Tensor row_loss, Tensor prob)")
def cross_entropy_rows(logits, label):
    row_loss, prob = cross_entropy_rows_fake(logits, label)
    check_labels(label, logits.shape[1])
    if prob.numel():
        with contexts.of(logits) as tl:
            tl.call("softmax_xent_fwd", logits.new_empty(1), row_loss, prob,
                    *contiguous(logits, label), *logits.shape)
    return row_loss, prob


@cross_entropy_rows.register_fake
def cross_entropy_rows_fake(logits, label):
    checks.cross_entropy(logits, label)
    return logits.new_empty(logits.shape[:1]), logits.new_empty(logits.shape)


@operator("(Tensor d_rows, Tensor logits, Tensor prob, Tensor label) -> Tensor")
def cross_entropy_rows_backward(d_rows, logits, prob, label):
    """tl's loss is the mean over rows: its gradient, with the number of rows for dloss, is that of
    each row's own loss."""
    d_logits = cross_entropy_rows_backward_fake(d_rows, logits, prob, label).zero_()
    if d_logits.numel():
        rows, classes = prob.shape
        with contexts.of(prob) as tl:
            tl.call("softmax_xent_bwd", d_logits, prob.new_full((1,), rows),
                    *contiguous(prob, label), rows, classes)
    return d_logits.mul_(d_rows[:, None])


@cross_entropy_rows_backward.register_fake
def cross_entropy_rows_backward_fake(d_rows, logits, prob, label):
    checks.cross_entropy(logits, label)
    checks.tensors("cross_entropy_rows_backward", logits=logits, prob=prob, d_rows=d_rows)
    checks.need(prob.shape == logits.shape and d_rows.shape == label.shape,
                f"cross_entropy_rows_backward: prob of size {list(prob.shape)} and d_rows of size "
                f"{list(d_rows.shape)} do not belong to logits of size {list(logits.shape)}")
    return logits.new_empty(logits.shape)


def cross_entropy_rows_backward_backward(saved, needs, g):
    """d_logits = d_rows * (softmax(logits) - onehot), by PyTorch's operations. prob is softmax of
    logits: it is made again, so that its derivative is part of what is differentiated next."""
    d_rows, logits, label = saved
    prob = logits.softmax(1)
    onehot = torch.arange(logits.shape[1], device=logits.device) == label[:, None]
    seen = g - (g * prob).sum(1, keepdim=True)
    return (((prob - onehot.to(prob.dtype)) * g).sum(1), d_rows[:, None] * prob * seen, None, None)


derivative(cross_entropy_rows, lambda i, out: (i[0], out[1], i[1]),
           lambda saved, needs, d_rows, _: (cross_entropy_rows_backward(d_rows, *saved), None),
           plain=[1])
derivative(cross_entropy_rows_backward, lambda i, out: (i[0], i[1], i[3]),
           cross_entropy_rows_backward_backward)


# ---- batch norm and dropout ----------------------------------------------------------------------

def batchnorm_geometry(tl, x, **options):
    return tl.geometry("batchnorm", n=x.shape[0], c=x.shape[1], hw=x.shape[2], **options)


@operator("(Tensor x, Tensor gamma, Tensor beta, Tensor running_mean, Tensor running_var, "
          "float eps, float momentum) -> (Tensor y, Tensor mean, Tensor inv_std, "
          "Tensor new_running_mean, Tensor new_running_var)")
def batch_norm(x, gamma, beta, running_mean, running_var, eps, momentum):
    out = batch_norm_fake(x, gamma, beta, running_mean, running_var, eps, momentum)
    y, mean, inv_std, new_mean, new_var = out
    new_mean.copy_(running_mean)
    new_var.copy_(running_var)
    if x.numel() == 0:
        mean.zero_()
        inv_std.zero_()
        return out
    x, gamma, beta = contiguous(x, gamma, beta)
    with contexts.of(x) as tl:
        g = batchnorm_geometry(tl, x, eps=eps, momentum=momentum)
        tl.call("batchnorm_fwd", y, mean, inv_std, new_mean, new_var, x, gamma, beta, g)
    return out


@batch_norm.register_fake
def batch_norm_fake(x, gamma, beta, running_mean, running_var, eps, momentum):
    checks.batch_norm(x, weight=gamma, bias=beta, running_mean=running_mean,
                      running_var=running_var)
    return x.new_empty(x.shape), *(gamma.new_empty(gamma.shape) for _ in range(4))


@operator("(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor inv_std) "
          "-> (Tensor dx, Tensor dgamma, Tensor dbeta)")
def batch_norm_backward(dy, x, gamma, mean, inv_std):
    out = batch_norm_backward_fake(dy, x, gamma, mean, inv_std)
    dx, dgamma, dbeta = (t.zero_() for t in out)
    if x.numel():
        with contexts.of(x) as tl:
            g = batchnorm_geometry(tl, x)
            tl.call("batchnorm_bwd", dx, dgamma, dbeta, *contiguous(dy, x, gamma, mean, inv_std), g)
    return out


@batch_norm_backward.register_fake
def batch_norm_backward_fake(dy, x, gamma, mean, inv_std):
    checks.batch_norm(x, weight=gamma, mean=mean, inv_std=inv_std)
    checks.tensors("batch_norm_backward", dy=dy, input=x)
    checks.need(dy.shape == x.shape, "batch_norm_backward: dy and input should have the same size, "
                f"but got {list(dy.shape)} and {list(x.shape)}")
    return x.new_empty(x.shape), *(gamma.new_empty(gamma.shape) for _ in range(2))


derivative(batch_norm, lambda i, out: (i[0], i[1], out[1], out[2]),
           lambda saved, needs, dy, *_: (*batch_norm_backward(dy, *saved), *[None] * 4),
           plain=[1, 2, 3, 4])


@operator("(Tensor x, Tensor gamma, Tensor beta, Tensor running_mean, Tensor running_var, "
          "float eps) -> Tensor")
def batch_norm_eval(x, gamma, beta, running_mean, running_var, eps):
    y = batch_norm_eval_fake(x, gamma, beta, running_mean, running_var, eps)
    if y.numel():
        with contexts.of(x) as tl:
            tl.call("batchnorm_eval", y, *contiguous(x, gamma, beta, running_mean, running_var),
                    batchnorm_geometry(tl, x, eps=eps))
    return y


@batch_norm_eval.register_fake
def batch_norm_eval_fake(x, gamma, beta, running_mean, running_var, eps):
    checks.batch_norm(x, weight=gamma, bias=beta, running_mean=running_mean,
                      running_var=running_var)
    return x.new_empty(x.shape)


def batch_norm_eval_backward(saved, needs, dy):
    """A scale and a shift for each channel, by PyTorch's operations."""
    x, gamma, mean, var, eps = saved
    inv_std = (var + eps).rsqrt()
    centred = (x - mean[:, None]) * inv_std[:, None]
    return (dy * (gamma * inv_std)[:, None] if needs[0] else None,
            (dy * centred).sum((0, 2)) if needs[1] else None,
            dy.sum((0, 2)) if needs[2] else None, None, None, None)


derivative(batch_norm_eval, lambda i, y: (i[0], i[1], i[3], i[4], i[5]), batch_norm_eval_backward)


def dropout_call(name, out, given, p, seed):
    """No mask is kept: the seed makes the same draws again (tl/rng.h)."""
    if out.numel():
        with contexts.of(out) as tl:
            tl.set_step(seed=int(seed))
            g = tl.geometry("dropout", n=out.numel(), p=p)
            tl.call(name, out, given.contiguous(), tl.step, g)
    return out


@operator("(Tensor x, float p, Tensor seed) -> Tensor")
def dropout(x, p, seed):
    return dropout_call("dropout_fwd", dropout_fake(x, p, seed), x, p, seed)


@dropout.register_fake
def dropout_fake(x, p, seed):
    checks.tensors("dropout", input=x)
    checks.need(0 <= p < 1, f"dropout probability has to be between 0 and 1, but got {p}",
                ValueError)
    checks.need(seed.dim() == 0 and seed.dtype == torch.int64 and seed.device.type in
                ("cpu", "meta"), f"dropout: seed should be one int64 on the cpu, but is a tensor "
                f"of size {list(seed.shape)}, {seed.dtype}, on {seed.device}")
    return x.new_empty(x.shape)


@operator("(Tensor dy, float p, Tensor seed) -> Tensor")
def dropout_backward(dy, p, seed):
    return dropout_call("dropout_bwd", dropout_fake(dy, p, seed).zero_(), dy, p, seed)


dropout_backward.register_fake(dropout_fake)
for op in (dropout, dropout_backward):  # a mask and a scale: their own transpose
    derivative(op, lambda i, out: i[1:],
               lambda saved, needs, g: (dropout_backward(g, *saved), None, None))


# ---- optimisers ----------------------------------------------------------------------------------

def optimiser_call(name, updated, dw, step, options):
    """`updated` change in place; one that is not contiguous is written back from a copy."""
    checks.tensors(name, **{f"argument {i}": t for i, t in enumerate([*updated, dw])})
    for t in updated:
        checks.need(t is None or t.shape == dw.shape, f"{name}: the gradient has size "
                    f"{list(dw.shape)}, what it changes has {t is not None and list(t.shape)}")
    if dw.numel() == 0:
        return
    plain = contiguous(*updated)
    with contexts.of(dw) as tl:
        tl.set_step(**step)
        made = tl.tl.make(options[0], **options[1])
        tl.call(name, *plain, dw.contiguous(), dw.numel(), tl.step, made)
    for t, copy in zip(updated, plain):
        if t is not None and t is not copy:
            t.copy_(copy)


@operator("(Tensor(a!) w, Tensor(b!)? velocity, Tensor dw, float lr, float momentum, "
          "float weight_decay, bool nesterov) -> ()", mutates=("w", "velocity"))
def sgd_step(w, velocity, dw, lr, momentum, weight_decay, nesterov):
    optimiser_call("sgd_step", (w, velocity), dw, {"lr": lr},
                   ("tl_sgd_options", {"momentum": momentum, "weight_decay": weight_decay,
                                       "nesterov": nesterov}))


@operator("(Tensor(a!) w, Tensor(b!) m, Tensor(c!) v, Tensor dw, int index, float lr, "
          "float beta1, float beta2, float eps, float weight_decay) -> ()",
          mutates=("w", "m", "v"))
def adam_step(w, m, v, dw, index, lr, beta1, beta2, eps, weight_decay):
    optimiser_call("adam_step", (w, m, v), dw, {"lr": lr, "index": index},
                   ("tl_adam_options", {"beta1": beta1, "beta2": beta2, "eps": eps,
                                        "weight_decay": weight_decay}))
