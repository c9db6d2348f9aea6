"""torch.library.opcheck of every operator: schema, autograd's registration, fake kernels, and what
torch.compile makes of them with fixed and with free sizes. Then a net, compiled and eager."""

import cases
import conftest
import pytest
import torch
from torch._inductor import config as inductor

import gradlab
import gradlab.nn as nn

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor",
         "test_aot_dispatch_dynamic")


def chosen(name, device, dtype):
    """Two cases of each; opcheck traces every one of them several times."""
    found = cases.named(name, device, dtype)
    return found if conftest.ALL else [found[min(1, len(found) - 1)], found[-1]]




@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", cases.NAMES)
def test_opcheck(name, dtype, device):
    op = getattr(gradlab.ops(), name).default
    for arguments in chosen(name, device, dtype):
        if name == "batch_norm_backward":  # it has no derivative, and the check would want one
            arguments = [a.detach() for a in arguments]
        torch.library.opcheck(op, arguments, test_utils=TESTS)


def net(device):
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1, groups=2), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 4, (2, 3), padding="same"), nn.MaxPool2d(3, ceil_mode=True), nn.Flatten(),
        nn.Dropout(0.3), nn.Linear(16, 5)).to(device)


def loss_and_gradients(call, model, x, label):
    torch.manual_seed(11)  # dropout's mask
    loss = call(x, label)
    return [loss.detach(), *torch.autograd.grad(loss, list(model.parameters()))]


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_a_compiled_net_agrees(backend, device, monkeypatch):
    """In one graph (fullgraph), for two sizes of a batch, in training and evaluation. Inductor has
    random numbers of its own; here it draws PyTorch's, so that masks are the same."""
    torch._dynamo.reset()
    monkeypatch.setattr(inductor, "fallback_random", True)
    model = net(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def eager(x, label):
        return criterion(model(x), label)
    compiled = torch.compile(eager, fullgraph=True, backend=backend)
    for batch in (8, 5):
        x = torch.randn(batch, 2, 9, 8, device=device)
        label = torch.arange(batch, device=device) % 5
        running = model[1].running_var.clone()
        wanted = loss_and_gradients(eager, model, x, label)
        moved, model[1].running_var.data = model[1].running_var.clone(), running
        found = loss_and_gradients(compiled, model, x, label)
        torch.testing.assert_close(model[1].running_var, moved)
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    model.eval()
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, label), eager(x, label), rtol=1e-5, atol=1e-6)


def test_a_compiled_dropout_draws_again(device):
    """The seed is no constant of the graph."""
    torch._dynamo.reset()
    layer = torch.compile(nn.Dropout(0.5), fullgraph=True, backend="aot_eager")
    x = torch.ones(1000, device=device)
    assert not torch.equal(layer(x), layer(x))
