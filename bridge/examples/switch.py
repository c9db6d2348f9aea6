"""A model of PyTorch, and the same model on the course's kernels: one import is another.

    python bridge/examples/switch.py pytorch | python | cpp
"""

import sys
import time

import torch

way = sys.argv[1] if len(sys.argv) > 1 else "cpp"
if way == "pytorch":
    import torch.nn as nn
else:
    import gradlab

    gradlab.use(way)
    import gradlab.nn as nn


def model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(16 * 4 * 4, 10))  # fmt: skip


def bars(count, seed):
    """Ten classes of 16x16 pixels: a bar in noise, lying or standing, at one of five places."""
    draw = torch.Generator().manual_seed(seed)
    label = torch.randint(10, (count,), generator=draw)
    x = torch.randn(count, 1, 16, 16, generator=draw)
    for image, kind in zip(x, label.tolist()):
        at = 3 * (kind % 5) + 1
        bar = image[0, at : at + 2] if kind < 5 else image[0, :, at : at + 2]
        bar += 1.5
    return x, label


def main():
    torch.manual_seed(1)
    net, loss_of = model(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    x, label = bars(4000, 1)
    begin = time.perf_counter()
    for first in range(0, len(x), 50):
        loss = loss_of(net(x[first : first + 50]), label[first : first + 50])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if first % 1000 == 0:
            print(f"step {first // 50:3}  loss {loss.item():.4f}")
    seconds = time.perf_counter() - begin
    net.eval()
    x, label = bars(1000, 2)
    right = (net(x).argmax(1) == label).float().mean().item()
    print(f"{way}: {100 * right:.1f} % of new images right, {seconds:.2f} s of training, "
          f"convolution {type(net[0]).__module__}.{type(net[0]).__name__}")  # fmt: skip


if __name__ == "__main__":
    main()
