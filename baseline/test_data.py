"""Data: files are checked, bytes become the right numbers, crops and flips follow the plan."""

import numpy as np
import pytest
import torch

import data


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (12, 3, 8, 8), dtype=np.uint8)
    return data.Split(images, rng.integers(0, 10, 12, dtype=np.uint8))


@pytest.fixture(scope="module")
def lut(split):
    return data.table(*data.statistics(split.images), torch.float64)


def test_statistics_are_mean_and_biased_deviation(split):
    mean, std = data.statistics(split.images)
    values = split.images.transpose(1, 0, 2, 3).reshape(3, -1) / 255
    assert np.allclose(mean, values.mean(1), rtol=1e-14, atol=0)
    assert np.allclose(std, values.std(1), rtol=1e-13, atol=0)
    assert data.statistics(np.full((2, 1, 4, 4), 9, np.uint8))[1] == [1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_table_is_rounded_once(dtype):
    table = data.table([0.47, 0.3], [0.2, 0.25], dtype)
    for channel, (mean, std) in enumerate(((0.47, 0.2), (0.3, 0.25))):
        for byte in range(256):
            wanted = torch.tensor((byte / 255 - mean) / std, dtype=torch.float64).to(dtype)
            assert table[channel, byte] == wanted


@pytest.mark.parametrize("layout", ["nchw", "channels_last"])
@pytest.mark.parametrize("pad", [0, 2])
def test_crop_and_flip_match_a_naive_loop(split, lut, layout, pad):
    rng = np.random.default_rng(pad)
    index = torch.from_numpy(rng.permutation(12)[:7])
    crop = torch.from_numpy(rng.integers(0, 2 * pad + 1, (7, 2)))
    flip = torch.from_numpy(rng.integers(0, 2, 7))
    x, label = data.Loader(split, lut, layout, True, pad).batch(index, crop, flip)
    for i in range(7):
        assert label[i] == split.labels[index[i]]
        for c in range(3):
            for h in range(8):
                for w in range(8):
                    row = h + int(crop[i, 0]) - pad
                    column = (7 - w if flip[i] else w) + int(crop[i, 1]) - pad
                    inside = 0 <= row < 8 and 0 <= column < 8
                    byte = split.images[index[i], c, row, column] if inside else 0
                    assert x[i, c, h, w] == lut[c, int(byte)]


@pytest.mark.parametrize("layout", ["nchw", "channels_last"])
def test_plain_batches_are_in_their_layout(split, lut, layout):
    loader = data.Loader(split, lut, layout)
    x, label = loader.batch(torch.tensor([5, 0, 11]))
    wanted = lut[torch.arange(3).view(3, 1, 1), torch.from_numpy(split.images[[5, 0, 11]]).long()]
    assert torch.equal(x, wanted) and label.tolist() == split.labels[[5, 0, 11]].tolist()
    formats = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}
    assert x.is_contiguous(memory_format=formats[layout])
    parts = list(loader.whole(5))
    assert [len(part) for part, _ in parts] == [5, 5, 2]
    assert torch.equal(torch.cat([part for part, _ in parts])[[5, 0, 11]], wanted)


def test_generated_sets_load(data_root):
    train, test = data.load("cifar10", data_root)
    assert train.images.shape == (50000, 3, 32, 32) and test.images.shape == (10000, 3, 32, 32)
    raw = np.fromfile(f"{data_root}/cifar10/data_batch_2.bin", np.uint8)
    assert train.labels[10001] == raw[3073] and train.images[10001, 2, 31, 31] == raw[2 * 3073 - 1]
    train, test = data.load("mnist", data_root, limit=100)
    assert train.images.shape == (100, 1, 28, 28) and len(test.labels) == 100


def test_damaged_sets_are_refused(tmp_path):
    folder = tmp_path / "cifar10"
    folder.mkdir()
    with pytest.raises(data.DataError, match="data_batch_1.bin: No such file"):
        data.load("cifar10", tmp_path)
    (folder / "data_batch_1.bin").write_bytes(bytes(30729999))
    with pytest.raises(data.DataError, match="30729999 bytes"):
        data.load("cifar10", tmp_path)
    for i in range(1, 6):
        content = np.zeros((10000, 3073), np.uint8)
        content[9999, 0] = 10 if i == 5 else 0
        content.tofile(folder / f"data_batch_{i}.bin")
    with pytest.raises(data.DataError, match="labels"):
        data.load("cifar10", tmp_path)
    with pytest.raises(data.DataError, match="unknown"):
        data.load("imagenet", tmp_path)


@pytest.mark.parametrize("name", ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"])
@pytest.mark.parametrize(
    "change", [lambda b: b[:-1], lambda b: b + b"\0", lambda b: b"\1" + b[1:], lambda b: b""]
)
def test_damaged_mnist_is_refused(tmp_path, name, change):
    folder = tmp_path / "mnist"
    folder.mkdir()
    for stem in ("train", "t10k"):
        header = np.array([2051, 2, 28, 28], ">u4").tobytes()
        (folder / f"{stem}-images-idx3-ubyte").write_bytes(header + bytes(2 * 784))
        header = np.array([2049, 2], ">u4").tobytes()
        (folder / f"{stem}-labels-idx1-ubyte").write_bytes(header + bytes(2))
    assert len(data.load("mnist", tmp_path)[0].labels) == 2
    path = folder / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(data.DataError):
        data.load("mnist", tmp_path)
