"""The twin's precisions: where values are rounded (tl/include/tl/precision.h)."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import precision

CPU = torch.device("cpu")


@pytest.mark.parametrize("bits, wanted", [
    (0x3F800000, 0x3F800000), (0x3F801000, 0x3F802000), (0x3F800FFF, 0x3F800000),
    (0x7F7FFFFF, 0x7F800000), (0x7F800000, 0x7F800000),
])  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_tf32_is_the_nearest_and_ties_go_away_from_0(bits, wanted, sign):
    x = torch.tensor([bits], dtype=torch.int32).view(torch.float32) * sign
    y = torch.tensor([wanted], dtype=torch.int32).view(torch.float32) * sign
    assert torch.equal(precision.to_tf32(x), y)
    assert precision.to_tf32(torch.tensor([torch.nan])).isnan().all()


def in_double(layer, x, weight, bias):
    x, weight, bias = x.double(), weight.double(), bias.double()
    if isinstance(layer, nn.Linear):
        return functional.linear(x, weight, bias)
    return functional.conv2d(x, weight, bias, padding=layer.padding)


@pytest.mark.parametrize("layer, shape", [
    (nn.Conv2d(3, 5, 3, padding=1), (2, 3, 8, 8)), (nn.Linear(40, 6), (7, 40)),
])  # fmt: skip
def test_tf32_rounds_the_operands_of_all_three_products(layer, shape):
    rng = torch.Generator().manual_seed(1)
    x = torch.randn(shape, generator=rng).requires_grad_()
    y = precision.prepared(nn.Sequential(layer), "tf32", CPU)(x)
    dy = torch.randn(y.shape, generator=rng)
    y.backward(dy)
    operands = [precision.to_tf32(t.detach()) for t in (x, layer.weight)]
    operands = [t.double().requires_grad_() for t in operands]
    wanted = in_double(layer, *operands, layer.bias.detach())
    wanted.backward(precision.to_tf32(dy).double())
    pairs = [(y, wanted), (x.grad, operands[0].grad), (layer.weight.grad, operands[1].grad)]
    for ours, theirs in pairs:
        assert (ours.double() - theirs).norm() <= 1e-6 * theirs.norm()
    # what is no product is not rounded
    others = [d for d in range(dy.dim()) if d != 1]
    assert torch.allclose(layer.bias.grad, dy.sum(others), rtol=1e-5)
    plain = layer(x.detach())
    assert (y - plain).norm() >= 1e-5 * plain.norm()


@pytest.mark.parametrize("name, dtype", [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_16_bits_are_autocast_and_end_with_its_block(name, dtype):
    layer, x = nn.Linear(4, 4), torch.randn(2, 4)
    with precision.computing(name, CPU):
        assert layer(x).dtype == dtype
    with precision.computing("fp32", CPU):
        assert layer(x).dtype == torch.float32
    assert layer(x).dtype == torch.float32
