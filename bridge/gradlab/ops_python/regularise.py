"""Batch norm and dropout."""

import torch

from gradlab import checks, contexts
from gradlab.ops_python.register import contiguous, derivative, operator


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
    checks.need(dy.shape == x.shape,
                lambda: "batch_norm_backward: dy and input should have the same size, "
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
    checks.need(0 <= p < 1, lambda: f"dropout probability has to be between 0 and 1, but got {p}",
                ValueError)
    checks.need(seed.dim() == 0 and seed.dtype == torch.int64 and seed.device.type in
                ("cpu", "meta"), lambda: f"dropout: seed should be one int64 on the cpu, but is a "
                f"tensor of size {list(seed.shape)}, {seed.dtype}, on {seed.device}")
    return x.new_empty(x.shape)


@operator("(Tensor dy, float p, Tensor seed) -> Tensor")
def dropout_backward(dy, p, seed):
    return dropout_call("dropout_bwd", dropout_fake(dy, p, seed).zero_(), dy, p, seed)


dropout_backward.register_fake(dropout_fake)
for op in (dropout, dropout_backward):  # a mask and a scale: their own transpose
    derivative(op, lambda i, out: i[1:],
               lambda saved, needs, g: (dropout_backward(g, *saved), None, None))
