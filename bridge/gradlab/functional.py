"""Twins of torch.nn.functional, with PyTorch's own arguments.

    import gradlab.functional as F        # instead of: import torch.nn.functional as F

What tl's operations lack is composed here of PyTorch's views and our operators, rung by rung, so
that autograd is right by itself. What is not here is PyTorch's own.
"""

import math

import torch
import torch.nn.functional as _torch

import gradlab
from gradlab import checks
from gradlab.checks import need


def __getattr__(name: str):
    return getattr(_torch, name)


def _pair(name: str, value, function: str) -> list:
    """Two numbers from one, or from two; whatever else is refused by the argument's name."""
    many = value if isinstance(value, (tuple, list)) else (value,)
    for number in many:
        need(isinstance(number, (int, torch.SymInt)) and not isinstance(number, bool),
             lambda: f"{function}(): argument '{name}' must be tuple of ints, not "
             f"{type(number).__name__}", TypeError)
    need(len(many) in (1, 2),
         lambda: f"{function}: expected {name} to be a single integer value or a list "
         f"of 2 values, but got {name}={list(many)}")
    return list(many) * (2 // len(many))


def _tensor(function: str, **named) -> None:
    for name, value in named.items():
        need(isinstance(value, torch.Tensor),
             lambda: f"{function}(): argument '{name}' must be Tensor, not {type(value).__name__}",
             TypeError)


# ---- convolution ---------------------------------------------------------------------------------

def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    _tensor("conv2d", input=input, weight=weight)
    need(input.dim() in (3, 4),
         lambda: "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got "
         f"input of size: {list(input.shape)}")
    need(weight.dim() == 4, lambda: "Expected 4D weight to conv2d, but got weight of size: "
         f"{list(weight.shape)}")
    stride, dilation = _pair("stride", stride, "conv2d"), _pair("dilation", dilation, "conv2d")
    if isinstance(padding, str):
        input, padding = _padding_by_name(input, weight, padding, stride, dilation)
    padding = _pair("padding", padding, "conv2d")
    if input.dim() == 3:
        return conv2d(input[None], weight, bias, stride, padding, dilation, groups)[0]
    if groups == 1:
        return gradlab.ops().conv2d(input, weight, bias, stride, padding, dilation)
    return _grouped(input, weight, bias, stride, padding, dilation, groups)


def _padding_by_name(input, weight, padding, stride, dilation):
    """"same" can need one pixel more on the right than on the left: that one is put there."""
    need(padding in ("same", "valid"), lambda: f"Invalid padding string: {padding!r}")
    if padding == "valid":
        return input, 0
    need(stride == [1, 1], "padding='same' is not supported for strided convolutions")
    need(min(dilation) > 0, lambda: f"non-positive dilation is not supported: dilation={dilation}")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    if any(t % 2 for t in total):
        input = _torch.pad(input, (0, total[1] % 2, 0, total[0] % 2))
    return input, [t // 2 for t in total]


def _grouped(input, weight, bias, stride, padding, dilation, groups):
    """A call for each group: channels and filters are cut into as many parts."""
    need(isinstance(groups, int), lambda: "conv2d(): argument 'groups' must be int, not "
         f"{type(groups).__name__}", TypeError)
    need(groups > 0, "non-positive groups is not supported")
    k, c = weight.shape[:2]
    need(k > 0 and k % groups == 0,
         lambda: f"Given groups={groups}, expected weight to be divisible by "
         f"{groups} at dimension 0, but got weight of size [{list(weight.shape)}] instead")
    need(input.shape[1] == c * groups,
         lambda: f"Given groups={groups}, weight of size {list(weight.shape)}, expected input"
         f"{list(input.shape)} to have {c * groups} channels, but got {input.shape[1]} channels "
         "instead")
    need(bias is None or tuple(bias.shape) == (k,),
         lambda: f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional "
         f"with {k} elements, but got bias of size {bias is not None and list(bias.shape)} instead")
    biases = [None] * groups if bias is None else bias.chunk(groups)
    # by sizes, for chunk() of no channels at all gives one part
    parts = zip(input.split([c] * groups, 1), weight.split([k // groups] * groups), biases)
    return torch.cat([gradlab.ops().conv2d(x, w, b, stride, padding, dilation)
                      for x, w, b in parts], 1)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    _tensor("unfold", input=input)
    need(input.dim() in (3, 4),
         lambda: "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size "
         f"and other non-zero dimensions for input, but got: {list(input.shape)}")
    numbers = [_pair(name, value, "unfold") for name, value in (
        ("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding),
        ("stride", stride))]
    if input.dim() == 3:
        return gradlab.ops().im2col(input[None], *numbers)[0]
    return gradlab.ops().im2col(input, *numbers)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    _tensor("fold", input=input)
    need(input.dim() in (2, 3),
         lambda: "Expected 2D or 3D (batch mode) tensor for input with possibly 0 "
         f"batch size and non-zero dimensions for input, but got: {list(input.shape)}")
    numbers = [_pair(name, value, "fold") for name, value in (
        ("output_size", output_size), ("kernel_size", kernel_size), ("dilation", dilation),
        ("padding", padding), ("stride", stride))]
    if input.dim() == 2:
        return gradlab.ops().col2im(input[None], *numbers)[0]
    return gradlab.ops().col2im(input, *numbers)


# ---- linear --------------------------------------------------------------------------------------

def linear(input, weight, bias=None):
    """Any leading dimensions; a weight of one dimension is one row, whose result has none."""
    _tensor("linear", input=input, weight=weight)
    need(input.dim() >= 1 and weight.dim() >= 1,
         lambda: "both arguments to linear need to be at least 1D, "
         f"but they are {input.dim()}D and {weight.dim()}D")
    need(weight.dim() <= 2,
         lambda: f"t() expects a tensor with <= 2 dimensions, but weight is {weight.dim()}D")
    if weight.dim() == 1:
        need(bias is None or bias.numel() == 1,
             lambda: f"linear: bias must have 1 element for a 1D weight, but got size "
             f"{bias is not None and list(bias.shape)}")
        y = linear(input, weight[None], None if bias is None else bias.reshape(1))
        return y.squeeze(-1)
    lead = input.shape[:-1]
    rows = input.reshape(math.prod(lead), input.shape[-1])
    return gradlab.ops().linear(rows, weight, bias).view(*lead, weight.shape[0])


# ---- max pooling ---------------------------------------------------------------------------------

def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    _tensor("max_pool2d", input=input)
    given = isinstance(stride, int) or stride
    kernel, stride, padding, dilation = (_pair(name, value, "max_pool2d") for name, value in (
        ("kernel_size", kernel_size), ("stride", stride if given else kernel_size),
        ("padding", padding), ("dilation", dilation)))
    if input.dim() == 3:
        out = max_pool2d(input[None], kernel, stride, padding, dilation, ceil_mode, return_indices)
        return (out[0][0], out[1][0]) if return_indices else out[0]
    if dilation == [1, 1] and not ceil_mode:
        y, argmax = gradlab.ops().max_pool2d(input, kernel, stride, padding)
        return (y, argmax.long()) if return_indices else y
    sizes = _pool_sizes(input, kernel, stride, padding, dilation, ceil_mode)
    index = _phases(input.detach(), sizes, kernel, stride, padding, dilation)
    y = input.flatten(2).gather(2, index.flatten(2)).view(index.shape)
    return (y, index) if return_indices else y


def _pool_sizes(input, kernel, stride, padding, dilation, ceil_mode) -> list:
    """P and Q. With ceil_mode the last window may hang over the far edge, but must begin inside."""
    checks.tensors("max_pool2d", input=input)
    need(input.dim() == 4 and all(n > 0 for n in input.shape[1:]),
         lambda: "max_pool2d: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size "
         f"for input, but got: {list(input.shape)}")
    checks.window("max_pool2d", input.shape[2:], kernel, stride, padding, dilation)
    need(all(2 * p <= d * (k - 1) + 1 for p, k, d in zip(padding, kernel, dilation)),
         lambda: f"pad should be at most half of effective kernel size, but got padding={padding}, "
         f"kernel_size={kernel} and dilation={dilation}")
    sizes = []
    for i, k, s, p, d in zip(input.shape[2:], kernel, stride, padding, dilation):
        room = i + 2 * p - d * (k - 1) - 1
        size = (room + (s - 1 if ceil_mode else 0)) // s + 1
        sizes.append(size - 1 if ceil_mode and (size - 1) * s >= i + p else size)
    c, h, w = input.shape[1:]
    need(min(sizes) > 0, lambda: f"Given input size: ({c}x{h}x{w}). Calculated output size: "
         f"({c}x{sizes[0]}x{sizes[1]}). Output size is too small for kernel_size={kernel}")
    return sizes


def _phases(x, sizes, kernel, stride, padding, dilation):
    """Which pixel wins each window: offsets h*W + w, as PyTorch's indices.

    A window of dilation d touches pixels of one residue modulo d only. Windows whose number has the
    same rest by d / gcd(stride, d) share that residue: they are dense windows of the plane that
    takes every d-th pixel, and are pooled together."""
    h, w = x.shape[2:]
    far = [max(0, (n - 1) * s + d * (k - 1) + 1 - i - p) for n, s, d, k, i, p in zip(
        sizes, stride, dilation, kernel, (h, w), padding)]
    padded = _torch.pad(x, (padding[1], far[1], padding[0], far[0]), value=-math.inf)
    index = torch.empty((*x.shape[:2], *sizes), dtype=torch.int64, device=x.device)
    common = [math.gcd(s, d) for s, d in zip(stride, dilation)]
    step = [s // g for s, g in zip(stride, common)]
    turns = [d // g for d, g in zip(dilation, common)]
    for a in range(min(turns[0], sizes[0])):
        for b in range(min(turns[1], sizes[1])):
            first = (a * stride[0], b * stride[1])
            plane = padded[:, :, first[0]::dilation[0], first[1]::dilation[1]]
            argmax = gradlab.ops().max_pool2d(plane, kernel, step, [0, 0])[1].long()
            part = index[:, :, a::turns[0], b::turns[1]]
            argmax = argmax[:, :, :part.shape[2], :part.shape[3]]
            rows, columns = (
                _pixel(along, axis, number, (h, w), kernel, first, padding, dilation, step)
                for axis, along, number in ((0, argmax // plane.shape[3], part.shape[2]),
                                            (1, argmax % plane.shape[3], part.shape[3])))
            part.copy_(rows * w + columns)
    return index


def _pixel(along, axis, number, size, kernel, first, padding, dilation, step):
    """From a row (or column) of a phase's plane to that of the image. Where all of a window is
    -inf, padding can win by coming first: PyTorch then names the window's first pixel of the
    image."""
    d = dilation[axis]
    pixel = first[axis] + along * d - padding[axis]
    begin = first[axis] + torch.arange(number, device=along.device) * step[axis] * d - padding[axis]
    inside = begin + (-begin).clamp(min=0).add(d - 1).div(d, rounding_mode="floor") * d
    inside = inside[:, None] if axis == 0 else inside
    return torch.where((pixel < 0) | (pixel >= size[axis]), inside, pixel)


# ---- ReLU and dropout ----------------------------------------------------------------------------

def relu(input, inplace=False):
    _tensor("relu", input=input)
    y = gradlab.ops().relu(input)
    return input.copy_(y) if inplace else y


def dropout(input, p=0.5, training=True, inplace=False):
    """The seed comes from PyTorch's generator: torch.manual_seed rules the mask, though it is
    another mask than PyTorch's."""
    _tensor("dropout", input=input)
    need(0 <= p <= 1, lambda: f"dropout probability has to be between 0 and 1, but got {p}",
         RuntimeError if p != p else ValueError)
    if not training or p == 0 or input.numel() == 0:
        return input
    checks.tensors("dropout", input=input)
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    seed = torch.randint(2**63 - 1, (), dtype=torch.int64)
    y = gradlab.ops().dropout(input, p, seed)
    return input.copy_(y) if inplace else y


# ---- loss ----------------------------------------------------------------------------------------

def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                  reduction="mean", label_smoothing=0.0):
    _tensor("cross_entropy", input=input, target=target)
    if size_average is not None or reduce is not None:
        reduction = _torch._Reduction.legacy_get_string(size_average, reduce)
    need(reduction in ("none", "mean", "sum"),
         lambda: f"{reduction} is not a valid value for reduction",
         ValueError)
    need(0 <= label_smoothing <= 1,
         lambda: f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    checks.tensors("cross_entropy", input=input, weight=weight)
    need(input.dim() >= 1, "cross_entropy: input must have at least one dimension, the classes")
    classes = input.shape[0 if input.dim() == 1 else 1]
    need(weight is None or tuple(weight.shape) == (classes,),
         lambda: f"cross_entropy: weight tensor should be defined either for all {classes} classes "
         f"or no classes but got weight tensor of shape: "
         f"{weight is not None and list(weight.shape)}")
    need(target.device == input.device,
         lambda: "cross_entropy: Expected all tensors to be on the same "
         f"device, but input is on {input.device} and target is on {target.device}")
    if target.is_floating_point():
        return _soft_loss(input, target, weight, ignore_index, reduction, label_smoothing)
    return _hard_loss(input, target, weight, ignore_index, reduction, label_smoothing)


def _rows(x):
    """(C), (N, C) or (N, C, d1, …) as [rows, C]: each place of each image is a row."""
    return x[None] if x.dim() == 1 else x.movedim(1, -1).reshape(-1, x.shape[1])


def _hard_loss(input, target, weight, ignore_index, reduction, smoothing):
    _check_target(input, target)
    logits, target = _rows(input), target.reshape(-1)
    kept = target != ignore_index
    label = torch.where(kept, target, 0).long()
    if smoothing > 0:
        loss = _smoothed(logits, label, weight, smoothing)
    else:
        loss = _row_loss(logits, label)
        loss = loss if weight is None else loss * _of_class(weight, label)
    loss = torch.where(kept, loss, 0)
    if reduction == "none":
        return loss.view(() if input.dim() == 1 else (input.shape[0], *input.shape[2:]))
    if reduction == "sum":
        return loss.sum()
    if weight is None:
        return loss.sum() / kept.sum()
    return loss.sum() / torch.where(kept, _of_class(weight, label), 0).sum()


def _check_target(input, target) -> None:
    need(target.dtype in (torch.int64, torch.uint8),
         lambda: f"cross_entropy: expected target dtype to be Long or Byte, but got "
         f"{checks.SCALARS.get(target.dtype, target.dtype)}")
    if input.dim() == 1:
        need(target.numel() == 1 and target.dim() <= 1,
             lambda: "For 1D input, 1D target must have size 1, "
             f"but got target size: {target.numel()}", ValueError)
        return
    need(target.dim() >= 1 and target.shape[0] == input.shape[0],
         lambda: f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
         f"({target.shape[0] if target.dim() else 1}).", ValueError)
    need(target.shape[1:] == input.shape[2:],
         lambda: f"cross_entropy: Expected target size {[input.shape[0], *input.shape[2:]]}, got "
         f"{list(target.shape)}")


def _row_loss(logits, label):
    # tl has labels of int32; one that does not fit stays wrong, and is refused as out of bounds
    label = label.clamp(-2**31, 2**31 - 1).to(torch.int32)
    return gradlab.ops().cross_entropy_rows(logits, label)[0]


def _of_class(weight, label):
    """weight[label]; of a label out of bounds the loss itself says so."""
    return weight[label.clamp(0, len(weight) - 1)]


def _minus_log_prob(logits):
    """-log softmax, [rows, C]. The loss for the largest logit's own label is log sum exp(logit -
    largest), which keeps its digits where logits are large."""
    if logits.numel() == 0:
        return logits * 0
    largest, label = logits.max(1, keepdim=True)
    return _row_loss(logits, label[:, 0])[:, None] + (largest - logits)


def _smoothed(logits, label, weight, smoothing):
    """(1 - s) of the loss for the label, and s/C of that for each class."""
    own, each, classes = _row_loss(logits, label), _minus_log_prob(logits), logits.shape[1]
    if weight is not None:
        own, each = own * _of_class(weight, label), each * weight
    return (1 - smoothing) * own + smoothing / max(classes, 1) * each.sum(1)


def _soft_loss(input, target, weight, ignore_index, reduction, smoothing):
    """Probabilities for each class as the target."""
    need(target.shape == input.shape,
         lambda: "cross_entropy: 0D or 1D target tensor expected, multi-target"
         " not supported: a target of probabilities must have the size of the input, "
         f"{list(input.shape)}, but got {list(target.shape)}")
    need(ignore_index < 0, "ignore_index is not supported for floating point target")
    checks.tensors("cross_entropy", input=input, target=target)
    logits, part = _rows(input), _rows(target)
    if smoothing > 0:
        part = part * (1 - smoothing) + smoothing / logits.shape[1]
    each = _minus_log_prob(logits) * part
    loss = (each if weight is None else each * weight).sum(1)
    if reduction == "none":
        return loss.view(() if input.dim() == 1 else (input.shape[0], *input.shape[2:]))
    return loss.sum() if reduction == "sum" else loss.sum() / logits.shape[0]


# ---- batch norm ----------------------------------------------------------------------------------

def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    """Of x[N, C, …]; `training`: by the batch's own statistics, and the running ones change."""
    _tensor("batch_norm", input=input)
    checks.tensors("batch_norm", input=input, weight=weight, bias=bias, running_mean=running_mean,
                   running_var=running_var)
    need(input.dim() >= 2,
         lambda: f"batch_norm: expected input of at least 2 dimensions (N, C, …), but "
         f"got size {list(input.shape)}")
    both = running_mean is not None, running_var is not None
    if training:
        need(both[0] == both[1],
             "running_mean and running_var must either both be None or neither be None", ValueError)
        need(eps > 0,
             lambda: f"batch_norm eps must be positive during training, but got {eps}", ValueError)
        need(input.shape[0] * math.prod(input.shape[2:]) != 1,
             lambda: "Expected more than 1 value per "
             f"channel when training, got input size {input.shape}", ValueError)
    else:
        need(both[0], "running_mean must be defined in evaluation mode")
        need(both[1], "running_var must be defined in evaluation mode")
    c = input.shape[1]
    x = input.reshape(input.shape[0], c, math.prod(input.shape[2:]))
    gamma = input.new_ones(c) if weight is None else weight
    beta = input.new_zeros(c) if bias is None else bias
    if not training:
        y = gradlab.ops().batch_norm_eval(x, gamma, beta, running_mean, running_var, eps)
        return y.view(input.shape)
    return _batch_norm_training(x, gamma, beta, running_mean, running_var, momentum, eps).view(
        input.shape)


def _batch_norm_training(x, gamma, beta, running_mean, running_var, momentum, eps):
    mean = x.new_zeros(x.shape[1]) if running_mean is None else running_mean
    var = x.new_ones(x.shape[1]) if running_var is None else running_var
    # tl takes a momentum of 0 to 1; of another one, 1 gives the batch's own statistics
    own, way = (momentum, 1) if 0 <= momentum <= 1 else (1, momentum)
    y, _, _, mean, var = gradlab.ops().batch_norm(x, gamma, beta, mean, var, eps, own)
    if running_mean is not None and x.numel():
        with torch.no_grad():
            running_mean.lerp_(mean, way)
            running_var.lerp_(var, way)
    return y
