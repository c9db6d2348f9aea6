"""A custom operator as it is first written, right and slow in backward, under the profiler.

    python bridge/examples/naive.py [mended]
"""

import sys

import torch
from torch.profiler import ProfilerActivity, profile

import gradlab

ops = getattr(torch.ops, f"gradlab_{gradlab.way()}")
NUMBERS = ([1, 1], [1, 1], [1, 1])  # stride, padding, dilation


class Conv2d(torch.autograd.Function):
    """Forward and backward by three operators of the library."""

    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return ops.conv2d(x, w, b, *NUMBERS)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx = ops.conv2d_backward_input(dy, w, x.shape[2:], *NUMBERS)
        dw = ops.conv2d_backward_weight(dy, x, w.shape[2:], *NUMBERS)
        return dx, dw, ops.conv2d_backward_bias(dy)


class Mended(Conv2d):
    """Asks which gradients somebody waits for."""

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        need_x, need_w, need_b = ctx.needs_input_grad
        dx = ops.conv2d_backward_input(dy, w, x.shape[2:], *NUMBERS) if need_x else None
        dw = ops.conv2d_backward_weight(dy, x, w.shape[2:], *NUMBERS) if need_w else None
        return dx, dw, ops.conv2d_backward_bias(dy) if need_b else None


def main():
    conv2d = Mended.apply if sys.argv[1:] == ["mended"] else Conv2d.apply
    images = torch.randn(64, 16, 32, 32)  # a batch of data: nobody wants its gradient
    w = torch.randn(16, 16, 3, 3, requires_grad=True)
    b = torch.randn(16, requires_grad=True)
    for _ in range(3):  # the first calls load and tune
        conv2d(images, w, b).sum().backward()
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for _ in range(20):
            conv2d(images, w, b).sum().backward()
    rows = [row for row in recorded.key_averages() if row.key.startswith("gradlab")]
    for row in sorted(rows, key=lambda row: -row.cpu_time_total):
        print(f"{row.key:45} {row.count:3} calls  {row.cpu_time_total / 20e3:7.3f} ms a step")


if __name__ == "__main__":
    main()
