"""Twins of torch.nn: `import gradlab.nn as nn` instead of `import torch.nn as nn` switches a model.

Each class below is a subclass of PyTorch's: arguments, initialisation, state_dict and print are
theirs, only forward is ours. Everything else that torch.nn has is PyTorch's own.
"""

import torch.nn as _torch
from torch.nn import *  # noqa: F403 (torch.nn, but for what is defined below)

from gradlab import functional


def __getattr__(name: str):
    return getattr(_torch, name)


class Conv2d(_torch.Conv2d):
    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._reversed_padding_repeated_twice,
                                   mode=self.padding_mode)
            padding = 0
        return functional.conv2d(input, weight, bias, self.stride, padding, self.dilation,
                                 self.groups)


class Linear(_torch.Linear):
    def forward(self, input):
        return functional.linear(input, self.weight, self.bias)


class MaxPool2d(_torch.MaxPool2d):
    def forward(self, input):
        return functional.max_pool2d(input, self.kernel_size, self.stride, self.padding,
                                     self.dilation, self.ceil_mode, self.return_indices)


class ReLU(_torch.ReLU):
    def forward(self, input):
        return functional.relu(input, self.inplace)


class Dropout(_torch.Dropout):
    def forward(self, input):
        return functional.dropout(input, self.p, self.training, self.inplace)


class Unfold(_torch.Unfold):
    def forward(self, input):
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_torch.Fold):
    def forward(self, input):
        return functional.fold(input, self.output_size, self.kernel_size, self.dilation,
                               self.padding, self.stride)


class CrossEntropyLoss(_torch.CrossEntropyLoss):
    def forward(self, input, target):
        return functional.cross_entropy(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing)


class _BatchNorm:
    """What both batch norms share: by which statistics, and how far the running ones move."""

    def forward(self, input):
        self._check_input_dim(input)
        move = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the average over all batches so far
                move = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        running = not self.training or self.track_running_stats
        return functional.batch_norm(
            input, self.running_mean if running else None, self.running_var if running else None,
            self.weight, self.bias, by_batch, move, self.eps)


class BatchNorm1d(_BatchNorm, _torch.BatchNorm1d):
    pass


class BatchNorm2d(_BatchNorm, _torch.BatchNorm2d):
    pass
