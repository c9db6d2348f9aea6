"""classes.py: what the classes of the data sets are called, and the pixels of their test images.
Bare Python: what is shown without a report needs no more."""

import os
from pathlib import Path

DIGITS = tuple(str(i) for i in range(10))
CLASSES = {
    "cifar10": ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "shapes10": ("disc", "square", "triangle", "star", "cross", "ring", "heart", "moon", "arrow",
                 "bolt"),
    "mnist": DIGITS,
}


def of(dataset):
    return CLASSES.get(dataset, DIGITS)


def images_of(dataset):
    """Function from the number of a test image to its rows of (r, g, b); OSError without files."""
    folder = Path(os.environ.get("GRADLAB_DATA") or "data") / dataset
    data = (folder / ("t10k-images-idx3-ubyte" if dataset == "mnist" else
                      "test_batch.bin")).read_bytes()

    def colour(i):
        planes = [data[at : at + 1024] for at in range(i * 3073 + 1, (i + 1) * 3073, 1024)]
        return [[[p[y * 32 + x] / 255 for p in planes] for x in range(32)] for y in range(32)]

    def grey(i):
        at = 16 + i * 784
        return [[[data[at + y * 28 + x] / 255] * 3 for x in range(28)] for y in range(28)]

    return grey if dataset == "mnist" else colour


def filters(shape, flat):
    """Filters of a first convolution as rows of (r, g, b), each scaled to itself: 0 is middle grey;
    grey for one channel, colour for three."""
    k, c, r, s = (int(n) for n in shape)

    def image(i):
        own = flat[i * c * r * s : (i + 1) * c * r * s]
        most = max(abs(v) for v in own) or 1
        level = [0.5 + 0.5 * v / most for v in own]
        channels = range(3) if c == 3 else (0, 0, 0)
        return [[[level[(n * r + y) * s + x] for n in channels] for x in range(s)]
                for y in range(r)]  # fmt: skip

    return [image(i) for i in range(k)]
