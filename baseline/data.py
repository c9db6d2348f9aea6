"""Data sets for the twin: the official binary files, standardised as the trainer does it.

A byte becomes (byte/255 - mean)/std through a table of 256 numbers per channel, computed in double
and rounded once, so that both sides train on the same bits. PyTorch's usual loader (decode, crop
and normalise image by image in worker processes) would cost many times a small net's step; here the
whole set lies in memory on the device and a batch is one gather, as quick as PyTorch users get.
"""

import os
from dataclasses import dataclass

import numpy as np
import torch

_IMAGES_AT_ONCE = 2000  # standardised in pieces: the index of a piece is int32, 4 times the bytes


class DataError(Exception):
    """A data file is missing or not what its format says; the text is one line."""


@dataclass
class Split:
    """`images` u8[count,c,h,w], `labels` u8[count], as in the files."""

    images: np.ndarray
    labels: np.ndarray


def default_root():
    """Where data sets are, as the trainer looks for them."""
    return os.environ.get("GRADLAB_DATA") or "data"


def load(name, root, limit=0):
    """Training and test set: "cifar10", "shapes10" or "mnist"; limit > 0: only its first images."""
    folder = os.path.join(root, name)
    if name in ("cifar10", "shapes10"):
        train = [os.path.join(folder, f"data_batch_{i}.bin") for i in range(1, 6)]
        splits = [_cifar(train), _cifar([os.path.join(folder, "test_batch.bin")])]
    elif name == "mnist":
        splits = [_mnist(folder, "train"), _mnist(folder, "t10k")]
    else:
        raise DataError(f"dataset '{name}' is unknown; cifar10, mnist and shapes10 are known")
    if limit > 0:
        splits = [Split(s.images[:limit], s.labels[:limit]) for s in splits]
    return splits


def _bytes(path):
    try:
        return np.fromfile(path, np.uint8)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None


def _cifar(paths):
    """CIFAR-10's form: 10,000 times a label byte and 3x32x32 pixel bytes per file."""
    parts = []
    for path in paths:
        content = _bytes(path)
        if content.size != 10000 * 3073:
            raise DataError(f"{path}: {content.size} bytes, a CIFAR-10 batch has {10000 * 3073}")
        parts.append(content.reshape(10000, 3073))
    rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return _checked(Split(rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].copy()), paths[0])


def _mnist(folder, stem):
    """The idx form: a header of big-endian 32-bit numbers, then bytes."""
    images_path = os.path.join(folder, f"{stem}-images-idx3-ubyte")
    labels_path = os.path.join(folder, f"{stem}-labels-idx1-ubyte")
    images, labels = _bytes(images_path), _bytes(labels_path)
    files = (images_path, images, 2051, 4), (labels_path, labels, 2049, 2)
    for path, content, magic, words in files:
        if content.size < 4 * words or content[:4].view(">u4")[0] != magic:
            raise DataError(f"{path}: not an idx file of the expected kind")
    count, height, width = (int(n) for n in images[4:16].view(">u4"))
    if images.size != 16 + count * height * width:
        raise DataError(f"{images_path}: {images.size} bytes do not hold {count} images")
    if int(labels[4:8].view(">u4")[0]) != count or labels.size != 8 + count:
        raise DataError(f"{labels_path}: does not hold {count} labels")
    return _checked(Split(images[16:].reshape(count, 1, height, width), labels[8:]), labels_path)


def _checked(split, path):
    if split.labels.size == 0 or split.labels.max() > 9:
        raise DataError(f"{path}: labels must be 0 to 9")
    return split


def statistics(images):
    """Mean and standard deviation per channel of byte/255, from exact integer sums.

    The variance is the biased one; a channel without variance gets 1, never a division by 0.
    """
    mean, std = [], []
    for channel in range(images.shape[1]):
        counts = np.bincount(images[:, channel].ravel(), minlength=256).tolist()
        n = sum(counts)
        total = sum(count * byte for byte, count in enumerate(counts))
        squares = sum(count * byte * byte for byte, count in enumerate(counts))
        mean.append(total / (255 * n))
        # Python's integers do not overflow: n * squares - total^2 has no rounding at all
        std.append(((n * squares - total * total) / (255 * n) ** 2) ** 0.5 or 1.0)
    return mean, std


def table(mean, std, dtype):
    """tensor[channels, 256]: the standardised value of each byte, rounded once to `dtype`."""
    byte = np.arange(256, dtype=np.float64) / 255.0
    values = (byte[None, :] - np.array(mean)[:, None]) / np.array(std)[:, None]
    return torch.from_numpy(values).to(dtype)


def standardise(images, lut):
    """u8[n,c,h,w] through the table: lut.dtype[n,c,h,w], on the table's device."""
    channels = torch.arange(images.shape[1], device=lut.device, dtype=torch.int32) * 256
    index = images.to(torch.int32) + channels.view(1, -1, 1, 1)
    return torch.index_select(lut.view(-1), 0, index.view(-1)).view(images.shape)


class Loader:
    """One split on the device, batch by batch.

    Without augmentation the split is standardised once; with it the bytes stay, padded with black
    (byte 0), and each batch is cropped, flipped and standardised. `layout` is "nchw" or
    "channels_last"; batches come in it, without a conversion per step where none is needed.
    """

    def __init__(self, split, lut, layout, augment=False, pad=0):
        self.lut, self.layout, self.augment, self.pad = lut, layout, augment, pad
        self.count = len(split.labels)
        self.labels = torch.from_numpy(split.labels.astype(np.int64)).to(lut.device)
        _, self.channels, self.height, self.width = split.images.shape
        if augment:
            width = ((0, 0), (0, 0), (pad, pad), (pad, pad))
            self.images = torch.from_numpy(np.pad(split.images, width)).to(lut.device)
        else:
            self.images = self._standardise_all(split.images)

    def _standardise_all(self, images):
        """All images in the layout of the batches: [count,c,h,w], or [count,h,w,c]."""
        shape = images.shape
        if self.layout == "channels_last":
            shape = (shape[0], shape[2], shape[3], shape[1])
        whole = torch.empty(shape, dtype=self.lut.dtype, device=self.lut.device)
        for first in range(0, self.count, _IMAGES_AT_ONCE):
            part = np.ascontiguousarray(images[first : first + _IMAGES_AT_ONCE])
            part = standardise(torch.from_numpy(part).to(self.lut.device), self.lut)
            if self.layout == "channels_last":
                part = part.permute(0, 2, 3, 1)
            whole[first : first + len(part)] = part
        return whole

    def batch(self, index, crop=None, flip=None):
        """x[n,c,h,w] and label[n] of images index[n]; augmented: by crop[n,2], flip[n], int64."""
        if self.augment:
            x = standardise(self._cropped(index, crop, flip), self.lut)
            if self.layout == "channels_last":
                x = x.contiguous(memory_format=torch.channels_last)
        else:
            x = torch.index_select(self.images, 0, index)
            if self.layout == "channels_last":
                x = x.permute(0, 3, 1, 2)
        return x, torch.index_select(self.labels, 0, index)

    def _cropped(self, index, crop, flip):
        """u8[n,c,h,w]: rows dy.., columns dx.. of each padded image, mirrored if flip."""
        device = self.images.device
        row = crop[:, :1] + torch.arange(self.height, device=device)
        column = torch.arange(self.width, device=device).expand(len(index), -1)
        # a flipped column w is column width-1-w of the crop
        column = crop[:, 1:] + torch.where(flip[:, None] != 0, self.width - 1 - column, column)
        channel = torch.arange(self.channels, device=device)
        return self.images[
            index[:, None, None, None],
            channel[None, :, None, None],
            row[:, None, :, None],
            column[:, None, None, :],
        ]

    def part(self, first, size):
        """Images from `first` on in their order, never augmented: for evaluation."""
        x = self.images[first : first + size]
        if self.layout == "channels_last":
            x = x.permute(0, 3, 1, 2)
        return x, self.labels[first : first + size]

    def whole(self, size):
        """All images, in batches of `size`."""
        for first in range(0, self.count, size):
            yield self.part(first, size)
