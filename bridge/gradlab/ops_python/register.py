"""How a Python function becomes an operator of PyTorch: registration, batching, derivative."""

import functools

import torch

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
