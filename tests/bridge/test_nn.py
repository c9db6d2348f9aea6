"""A model is switched by one import: what PyTorch's users find the same, and what they then get."""

import copy
import inspect

import comparing
import pytest
import torch
import torch.nn as torch_nn

import gradlab.functional as F
import gradlab.nn as nn
import gradlab.optim as optim

TWINS = sorted(name for name, value in vars(nn).items()
               if inspect.isclass(value) and value.__module__ == nn.__name__
               and not name.startswith("_"))
ARGUMENTS = {
    "BatchNorm1d": [(6,), (6, 1e-3, 0.2, False)], "BatchNorm2d": [(3,), (3, 1e-4, None)],
    "Conv2d": [(4, 6, 3), (4, 6, (2, 3), 1, "same"), (4, 8, 3, 2, 1, 1, 2, False),
               (4, 6, 3, 1, 1, 1, 1, True, "reflect")],
    "CrossEntropyLoss": [(), (None, None, 1, None, "sum", 0.1)], "Dropout": [(), (0.25, True)],
    "Fold": [((5, 6), 2), ((5, 6), (2, 3), 1, 1, 2)], "Linear": [(5, 3), (5, 3, False)],
    "MaxPool2d": [(2,), (3, 2, 1, 1, True, True)], "ReLU": [(), (True,)],
    "Unfold": [(2,), ((2, 3), 1, 1, 2)],
}


def both(name, *arguments, **options):
    """Ours and PyTorch's, made from the same seed."""
    made = []
    for module in (nn, torch_nn):
        torch.manual_seed(1)
        made.append(getattr(module, name)(*arguments, **options))
    return made


def test_twins_are_there():
    assert TWINS == sorted(ARGUMENTS)


@pytest.mark.parametrize("name", TWINS)
def test_arguments_initialisation_and_state(name, device):
    for arguments in ARGUMENTS[name]:
        ours, theirs = both(name, *arguments, device=device) if name in (
            "BatchNorm1d", "BatchNorm2d", "Conv2d", "Linear") else both(name, *arguments)
        assert isinstance(ours, getattr(torch_nn, name)) and repr(ours) == repr(theirs)
        assert str(inspect.signature(type(ours))) == str(inspect.signature(type(theirs)))
        mine, other = ours.state_dict(), theirs.state_dict()
        assert list(mine) == list(other)
        assert all(torch.equal(mine[key], other[key]) for key in mine)
        ours.load_state_dict(theirs.state_dict())
        theirs.load_state_dict(ours.state_dict())


def test_all_else_is_pytorchs():
    assert nn.Module is torch_nn.Module and nn.Conv1d is torch_nn.Conv1d
    assert nn.init is torch_nn.init and nn.functional is F
    assert F.softmax is torch_nn.functional.softmax
    assert optim.AdamW is torch.optim.AdamW and optim.lr_scheduler is torch.optim.lr_scheduler
    with pytest.raises(AttributeError):
        nn.NoSuchLayer  # noqa: B018 (that there is none is what is tested)


def twice(name, x, *arguments, module_options=None, **call):
    """Forward, gradients and buffers of ours and PyTorch's, in training and in evaluation."""
    ours, theirs = (m.to(x) for m in both(name, *arguments, **(module_options or {})))
    for training in (True, False):
        ours.train(training), theirs.train(training)
        results = []
        for module in (ours, theirs):
            leaf = x.clone().requires_grad_()
            out = module(leaf * 1, **call)
            out = out if isinstance(out, tuple) else (out,)
            grads = comparing.gradients(out, [leaf, *module.parameters()])
            results.append([*(y.detach() for y in out), *grads, *module.buffers()])
        for i, (a, b) in enumerate(zip(*results, strict=True)):
            comparing.same(a, b, what=f"{name} {arguments}, result {i}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_modules_compute_the_same(dtype, device):
    image = torch.randn(3, 4, 7, 6, device=device, dtype=dtype)
    for arguments in ARGUMENTS["Conv2d"]:
        twice("Conv2d", image, *arguments)
    twice("Conv2d", image[0], 4, 2, 3)
    for arguments in ARGUMENTS["MaxPool2d"]:
        twice("MaxPool2d", image, *arguments)
    for name, arguments in (("ReLU", (True,)), ("Unfold", (2,))):
        twice(name, image, *arguments)
    twice("Linear", image, 6, 5)
    for arguments in ((4,), (4, 1e-3, None), (4, 1e-3, 0.3, False), (4, 1e-5, 0.1, True, False)):
        twice("BatchNorm2d", image, *arguments)
        twice("BatchNorm1d", image[..., 0], *arguments)
    twice("Fold", torch.randn(2, 12, 20, device=device, dtype=dtype), (5, 6), 2)
    for arguments in ARGUMENTS["CrossEntropyLoss"]:
        twice("CrossEntropyLoss", image, *arguments,
              target=torch.randint(4, (3, 7, 6), device=device))


# ---- dropout -------------------------------------------------------------------------------------

def test_dropout_follows_manual_seed_train_and_eval(device):
    layer, x = nn.Dropout(0.3), torch.randn(40, 500, device=device, requires_grad=True)
    torch.manual_seed(5)
    a, b = layer(x), layer(x)
    torch.manual_seed(5)
    assert torch.equal(layer(x), a) and not torch.equal(a, b)
    dropped = float((a == 0).double().mean())
    assert abs(dropped - 0.3) < 5 * (0.3 * 0.7 / x.numel()) ** 0.5
    comparing.same(a.detach(), torch.where(a == 0, 0, x / 0.7).detach())
    dx, = torch.autograd.grad(a.sum(), x)
    assert torch.equal(dx == 0, a == 0)
    assert layer.eval()(x) is x


# ---- training ------------------------------------------------------------------------------------

def build(module, device):
    torch.manual_seed(2)
    return module.Sequential(
        module.Conv2d(1, 6, 3, padding=1), module.BatchNorm2d(6), module.ReLU(),
        module.MaxPool2d(2), module.Conv2d(6, 8, 3, bias=False), module.ReLU(),
        module.Flatten(), module.Linear(32, 10)).to(device)


OPTIMISERS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}), ("Adam", {"lr": 1e-3}),
    ("Adam", {"lr": 1e-3, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 1e-2})]


def train(module, optimisers, device, name, options, steps=20, dtype=torch.float32):
    model = build(module, device).to(dtype)
    optimiser = getattr(optimisers, name)(model.parameters(), **options)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 7, 0.5)
    generator = torch.Generator().manual_seed(3)
    losses = []
    for _ in range(steps):
        x = torch.randn(16, 1, 8, 8, generator=generator).to(device, dtype)
        label = torch.randint(10, (16,), generator=generator).to(device)
        loss = module.CrossEntropyLoss()(model(x), label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.detach())
    return torch.stack(losses), model, optimiser


@pytest.mark.parametrize("name, options", OPTIMISERS)
def test_a_training_run_is_pytorchs(name, options, device):
    """In double all 20 steps agree to the last digits; floats stay as near as rounding allows that
    a step makes larger, and as far off as PyTorch's own floats are from double."""
    right, *_ = train(torch_nn, torch.optim, device, name, options, dtype=torch.float64)
    mine, *_ = train(nn, optim, device, name, options, dtype=torch.float64)
    torch.testing.assert_close(mine, right, rtol=1e-9, atol=0)
    theirs, *_ = train(torch_nn, torch.optim, device, name, options)
    ours, *_ = train(nn, optim, device, name, options)
    own = float((theirs.double() - right).abs().max())
    assert float((ours.double() - right).abs().max()) <= max(20 * own, 1e-5)
    assert float(ours[0]) != float(ours[-1])


@pytest.mark.parametrize("name, options", OPTIMISERS)
@pytest.mark.parametrize("order", ["ours to theirs", "theirs to ours"])
def test_state_dicts_are_exchanged(name, options, order, device):
    """Five steps by one; its state is loaded by the other; from there both go the same way."""
    giver, taker = order.split(" to ")
    by = {"ours": optim, "theirs": torch.optim}
    _, model, optimiser = train(nn, by[giver], device, name, options, 5, torch.float64)
    other = build(nn, device).double()
    other.load_state_dict(model.state_dict())
    receiver = getattr(by[taker], name)(other.parameters(), lr=9.0)
    receiver.load_state_dict(copy.deepcopy(optimiser.state_dict()))  # it would share its tensors
    assert str(receiver.state_dict()["param_groups"]) == str(optimiser.state_dict()["param_groups"])
    gradients = [torch.randn_like(p) for p in model.parameters()]
    for _ in range(3):
        for one, its in ((model, optimiser), (other, receiver)):
            for p, g in zip(one.parameters(), gradients):
                p.grad = g.clone()
            its.step()
    for a, b in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name, wrong, says", [
    ("SGD", {"dampening": 0.1, "momentum": 0.9}, "dampening"), ("SGD", {"maximize": True}, "max"),
    ("SGD", {"momentum": 1.5}, "momentum"), ("SGD", {"foreach": True}, "foreach"),
    ("SGD", {"fused": True}, "fused"), ("SGD", {"lr": -1.0}, "learning rate"),
    ("SGD", {"nesterov": True}, "Nesterov momentum"), ("Adam", {"amsgrad": True}, "amsgrad"),
    ("Adam", {"maximize": True}, "maximize"), ("Adam", {"capturable": True}, "capturable"),
    ("Adam", {"betas": (1.0, 0.9)}, "beta"), ("Adam", {"eps": -1.0}, "epsilon"),
    ("Adam", {"decoupled_weight_decay": True}, "decoupled_weight_decay")])
def test_what_an_optimiser_lacks_is_refused(name, wrong, says, device):
    parameter = torch.nn.Parameter(torch.ones(3, device=device))
    with pytest.raises((ValueError, RuntimeError), match=says):
        getattr(optim, name)([parameter], **wrong)


def test_optimisers_take_closures_and_parameters_without_gradient(device):
    used, unused = (torch.nn.Parameter(torch.ones(4, device=device)) for _ in range(2))
    wide = torch.nn.Parameter(torch.ones(2, 3, 4, 5, device=device).to(
        memory_format=torch.channels_last))
    optimiser = optim.SGD([used, unused, wide], lr=0.5, momentum=0.9)

    def closure():
        optimiser.zero_grad()
        loss = used.square().sum() + wide.square().sum()
        loss.backward()
        return loss
    assert optimiser.step(closure).item() == 124
    assert torch.equal(used, torch.zeros_like(used)) and torch.equal(unused, torch.ones_like(used))
    assert torch.equal(wide, torch.zeros_like(wide)) and not wide.is_contiguous()
