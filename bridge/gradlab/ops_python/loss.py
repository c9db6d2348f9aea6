"""Softmax cross-entropy, a loss for each row."""

import torch

from gradlab import checks, contexts
from gradlab.ops_python.register import contiguous, derivative, operator


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
                lambda: f"cross_entropy_rows_backward: prob of size {list(prob.shape)} and d_rows "
                f"of size {list(d_rows.shape)} do not belong to logits of size "
                f"{list(logits.shape)}")
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
