"""What the twin's tests share: generated data sets in official form, and plans."""

import json
import os

import numpy as np
import pytest
import torch

import data
import nets
import programs
import records


def write_cifar(root, name="cifar10"):
    """A complete set in CIFAR-10's form, all classes equally often: noise, red by class."""
    rng = np.random.default_rng(7)
    folder = os.path.join(root, name)
    os.makedirs(folder)
    for stem in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        rows = rng.integers(0, 256, (10000, 3073), dtype=np.uint8)
        rows[:, 0] = np.arange(10000) % 10
        rows[:, 1:1025] //= rows[:, :1] + 1
        rows.tofile(os.path.join(folder, f"{stem}.bin"))


def write_mnist(root):
    """A complete set in MNIST's form, of the same kind."""
    rng = np.random.default_rng(8)
    folder = os.path.join(root, "mnist")
    os.makedirs(folder)
    for stem, count in (("train", 60000), ("t10k", 10000)):
        labels = rng.integers(0, 10, count, dtype=np.uint8)
        images = rng.integers(0, 256, (count, 28 * 28), dtype=np.uint8) // (labels[:, None] + 1)
        for kind, header, content in (
            ("images-idx3", [2051, count, 28, 28], images),
            ("labels-idx1", [2049, count], labels),
        ):
            with open(os.path.join(folder, f"{stem}-{kind}-ubyte"), "wb") as file:
                file.write(np.array(header, ">u4").tobytes() + content.tobytes())


@pytest.fixture(scope="session")
def data_root(tmp_path_factory):
    """A folder with generated cifar10 and mnist; emptied at the end, for it holds 230 MB."""
    root = tmp_path_factory.mktemp("data")
    write_cifar(root)
    write_mnist(root)
    yield str(root)
    for folder, _, names in os.walk(root):
        for name in names:
            os.remove(os.path.join(folder, name))


def make_plan(folder, root, net, **changes):
    """A plan folder such as the trainer writes, for the first images of a generated set."""
    options = {
        "net": net, "dataset": "mnist" if net == "m" else "cifar10", "data_root": root, "batch": 8,
        "epochs": 2, "opt": "sgd", "lr": 0.05, "momentum": 0.0, "nesterov": 0, "wd": 0.0,
        "sched": "constant", "aug": "none", "pad": 0, "seed": 1, "limit": 20,
    } | {name: programs.nets()[net][name] for name in ("input", "layers")} | changes  # fmt: skip
    train, _ = data.load(options["dataset"], root, options["limit"])
    options["mean"], options["std"] = data.statistics(train.images)
    count = len(train.labels)
    steps = options["steps_per_epoch"] = -(-count // options["batch"])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "options.json"), "w", encoding="utf-8") as file:
        json.dump(options, file)

    torch.manual_seed(options["seed"])
    model = nets.build(options["layers"], options["input"])
    weights = {f"w/{n}": p.detach().numpy() for n, p in nets.named_parameters(model)}
    records.write(os.path.join(folder, "init.tl"), weights)
    rng = np.random.default_rng(options["seed"])
    for epoch in range(options["epochs"]):
        plan = {"order": rng.permutation(count).astype("<u4")}
        if options["aug"] != "none":
            size = (count, 2)
            plan["crop"] = rng.integers(0, 2 * options["pad"] + 1, size, dtype=np.uint8)
            plan["flip"] = rng.integers(0, 2, count, dtype=np.uint8)
        plan["lr"] = np.full(steps, options["lr"])
        for i, size in enumerate((9216, 128) if net == "m" else ()):
            shape = (steps, -(-options["batch"] * size // 8))
            plan[f"keep{i}"] = rng.integers(0, 256, shape, dtype=np.uint8)
        records.write(os.path.join(folder, f"plan-{epoch:04d}.tl"), plan)
    return str(folder)
