"""SGD and Adam as optimisers of PyTorch: `import gradlab.optim as optim` switches a script.

Their state_dict is PyTorch's own, and can be loaded by either. A step is one call of tl for each
parameter. Everything else that torch.optim has is PyTorch's own.
"""

import torch
import torch.optim as _torch
from torch.optim import *  # noqa: F403 (torch.optim, but for what is defined below)

import gradlab


def __getattr__(name: str):
    return getattr(_torch, name)


def _refuse(optimiser: str, group: dict, *names: str) -> None:
    """What tl's formula has no number for is refused, never passed over."""
    for name in names:
        if group.get(name):
            raise ValueError(f"gradlab.optim.{optimiser} does not support {name}={group[name]}")


def _run(optimiser, closure):
    """The loss, if there is a closure; then each parameter that has a gradient."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in optimiser.param_groups:
        optimiser._check(group)
        for parameter in group["params"]:
            gradient = parameter.grad
            if gradient is None:
                continue
            if gradient.layout != torch.strided:
                raise RuntimeError(f"gradlab.optim.{type(optimiser).__name__} does not support "
                                   "sparse gradients")
            optimiser._update(parameter, gradient, optimiser.state[parameter], group)
    return loss


class SGD(_torch.SGD):
    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False,
                 **others):
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov, **others)

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        self._check(self.param_groups[-1])

    def _check(self, group):
        _refuse("SGD", group, "dampening", "maximize", "foreach", "differentiable", "fused")
        if not 0 <= group["momentum"] < 1:
            raise ValueError(f"Invalid momentum value: {group['momentum']}: gradlab.optim.SGD "
                             "supports 0 <= momentum < 1")

    @torch.no_grad()
    def step(self, closure=None):
        return _run(self, closure)

    def _update(self, parameter, gradient, state, group):
        momentum = float(group["momentum"])
        velocity = state.get("momentum_buffer")
        if momentum and velocity is None:
            velocity = state["momentum_buffer"] = torch.zeros_like(parameter)
        gradlab.ops().sgd_step(parameter, velocity if momentum else None, gradient,
                               float(group["lr"]), momentum, float(group["weight_decay"]),
                               group["nesterov"])


class Adam(_torch.Adam):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 amsgrad=False, **others):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **others)

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        self._check(self.param_groups[-1])

    def _check(self, group):
        _refuse("Adam", group, "amsgrad", "maximize", "foreach", "capturable", "differentiable",
                "fused", "decoupled_weight_decay")

    @torch.no_grad()
    def step(self, closure=None):
        return _run(self, closure)

    def _update(self, parameter, gradient, state, group):
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        beta1, beta2 = group["betas"]
        gradlab.ops().adam_step(parameter, state["exp_avg"], state["exp_avg_sq"], gradient,
                                int(state["step"]), float(group["lr"]), float(beta1), float(beta2),
                                float(group["eps"]), float(group["weight_decay"]))
        state["step"] += 1
