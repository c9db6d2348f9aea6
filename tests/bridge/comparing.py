"""Ours against PyTorch's own: results, gradients, refusals."""

import torch

UNIT = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
# What an operator may raise for a call that does not fit; anything else is a defect.
REFUSALS = (RuntimeError, ValueError, TypeError, IndexError)  # NotImplementedError is the first


def outcome(function, *arguments, **options):
    """(results as a list of tensors, None), or (None, the refusal)."""
    try:
        out = function(*arguments, **options)
    except REFUSALS as error:
        return None, error
    return [out] if isinstance(out, torch.Tensor) else list(out), None


def leaves(arguments):
    """The tensors of a call that gradients go to."""
    return [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]


def gradients(outputs, inputs):
    """Of a weighted sum of the outputs that have one: the same weights for equal sizes."""
    roots = [y for y in outputs if y.requires_grad]
    if not roots or not inputs:
        return []
    generator = torch.Generator().manual_seed(7)
    weights = [torch.rand(y.shape, generator=generator, dtype=torch.float64).to(y) for y in roots]
    return torch.autograd.grad(roots, inputs, weights, allow_unused=True)


def same(ours, theirs, truth=None, what="") -> None:
    """Equal but for rounding. For floats `truth` is PyTorch's result of the same numbers in double:
    ours may be as far from it as a few roundings, or as PyTorch's own floats are."""
    assert (ours is None) == (theirs is None), f"{what}: one has no gradient"
    if ours is None:
        return
    assert ours.shape == theirs.shape, f"{what}: size {ours.shape}, PyTorch's {theirs.shape}"
    assert ours.dtype == theirs.dtype and ours.device == theirs.device, what
    if not ours.is_floating_point():
        assert torch.equal(ours, theirs), what
        return
    if ours.numel() == 0:
        return
    right = (theirs if truth is None else truth).double()
    finite = right.isfinite()
    assert torch.equal(ours.double()[~finite].nan_to_num(nan=1.5),
                       right[~finite].nan_to_num(nan=1.5)), f"{what}: not finite elsewhere"
    far = (ours.double() - right)[finite].abs()
    own = (theirs.double() - right)[finite].abs()
    if far.numel():
        size = max(1.0, float(right[finite].abs().max()))
        allowed = 64 * UNIT[ours.dtype] * size + 4 * float(own.max())
        worst = float(far.max())
        assert worst <= allowed, f"{what}: off by {worst:.3g}, allowed {allowed:.3g}"


def copied(value, dtype=None):
    """An argument with storage and gradient of its own; of another float type, if one is given."""
    if isinstance(value, torch.Tensor):
        new = value.detach().clone(memory_format=torch.preserve_format)
        if dtype is not None and new.is_floating_point():
            new = new.to(dtype)
        return new.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return type(value)(copied(v, dtype) for v in value)
    return value


def run(function, arguments, options, dtype=None):
    """Outputs and gradients of a call on copies; the copies show what was changed in place."""
    arguments = [copied(a, dtype) for a in arguments]
    options = {name: copied(value, dtype) for name, value in options.items()}
    out, error = outcome(function, *arguments, **options)
    if error is not None:
        return None, error
    tensors = [*arguments, *options.values()]
    grads = gradients(out, leaves(tensors))
    changed = [t for t in tensors if isinstance(t, torch.Tensor) and not t.requires_grad]
    return [*(y.detach() for y in out), *grads, *changed], None


def agree(ours, theirs, *arguments, what="", **options):
    """"agrees", or "refused" where both refuse or ours does; raises AssertionError otherwise."""
    right, refusal = run(theirs, arguments, options)
    mine, mine_refusal = run(ours, arguments, options)
    if mine_refusal is not None:
        return "refused", mine_refusal, refusal
    assert refusal is None, f"{what}: taken, but PyTorch refuses it: {refusal}"
    truth = [None] * len(right)
    if any(isinstance(t, torch.Tensor) and t.dtype == torch.float32
           for t in [*arguments, *options.values()]):
        truth = run(theirs, arguments, options, torch.float64)[0]
    assert len(mine) == len(right), f"{what}: another number of results"
    for i, results in enumerate(zip(mine, right, truth)):
        same(*results, f"{what}: result or gradient {i}")
    return "agrees", None, None
