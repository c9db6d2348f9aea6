"""Nets: names, sizes and order of the parameters, and dropout by given masks."""

import numpy as np
import pytest
import torch

import nets
import programs


def net_of(name):
    known = programs.nets()[name]
    return nets.build(known["layers"], known["input"])


# DESIGN section 7, worked out by hand: parity could not see a net that both sides have wrong
COUNTED = [
    ("a", 533146, "0 3 6 9 11"),
    ("b", 135062, "0 3 7 9 11"),
    ("c", 2196810, "0 2 5 7 10 12 16 18"),
    ("m", 1199882, "0 2 7 10"),
]


@pytest.mark.parametrize("name, count, modules", COUNTED)
def test_parameters_are_named_and_counted_as_in_the_trainer(name, count, modules):
    named = nets.named_parameters(net_of(name))
    assert sum(parameter.numel() for _, parameter in named) == count
    wanted = []
    for index in modules.split():
        kind = "conv2d" if dict(named).get(f"{index}.conv2d.weight") is not None else "linear"
        wanted += [f"{index}.{kind}.weight", f"{index}.{kind}.bias"]
    assert [parameter_name for parameter_name, _ in named] == wanted


def test_every_net_of_the_trainer_is_counted_above():
    assert sorted(programs.nets()) == sorted(name for name, _, _ in COUNTED)


@pytest.mark.parametrize("layers", ["conv:8", "tanh", "flatten linear:10:1", "flatten linear:x"])
def test_layers_that_do_not_fit_are_refused(layers):
    with pytest.raises(ValueError, match="layer '"):
        nets.build(layers, (3, 32, 32))


@pytest.mark.parametrize("name", [name for name, _, _ in COUNTED])
def test_ten_scores_come_out(name):
    shape = (2, 1, 28, 28) if name == "m" else (2, 3, 32, 32)
    assert net_of(name).eval()(torch.zeros(shape)).shape == (2, 10)


def test_weights_of_another_net_are_refused():
    net = net_of("b")
    weights = {name: p.detach().numpy() + 1 for name, p in nets.named_parameters(net)}
    nets.load_weights(net, weights)
    for name, parameter in nets.named_parameters(net):
        assert np.array_equal(parameter.detach().numpy(), weights[name])
    with pytest.raises(ValueError, match="another net"):
        nets.load_weights(net_of("a"), weights)
    weights["0.conv2d.bias"] = np.zeros(7, np.float32)
    with pytest.raises(ValueError, match="0.conv2d.bias has shape"):
        nets.load_weights(net, weights)


def test_mask_bits_are_read_from_the_lowest():
    packed = torch.tensor([0b00000101, 0b00000010], dtype=torch.uint8)
    wanted = [True, False, True, False, False, False, False, False, False, True, False]
    assert nets.unpack_bits(packed, 11).tolist() == wanted


def test_dropout_follows_its_mask_once():
    layer = nets.PlannedDropout(0.25)
    x = torch.arange(1.0, 9.0, dtype=torch.float64).view(2, 4)
    layer.keep = torch.tensor([0b10000001], dtype=torch.uint8)
    assert layer(x).flatten().tolist() == [1 / 0.75, 0, 0, 0, 0, 0, 0, 8 / 0.75]
    with pytest.raises(RuntimeError, match="mask"):
        layer(x)
    assert torch.equal(layer.eval()(x), x)
