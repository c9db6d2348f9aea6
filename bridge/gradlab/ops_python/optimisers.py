"""A step of SGD and of Adam, in place."""

from gradlab import checks, contexts
from gradlab.ops_python.register import contiguous, operator


def optimiser_call(name, updated, dw, step, options):
    """`updated` change in place; one that is not contiguous is written back from a copy."""
    checks.tensors(name, **{f"argument {i}": t for i, t in enumerate([*updated, dw])})
    for t in updated:
        checks.need(t is None or t.shape == dw.shape, lambda: f"{name}: the gradient has size "
                    f"{list(dw.shape)}, what it changes has {t is not None and list(t.shape)}")
    if dw.numel() == 0:
        return
    plain = contiguous(*updated)
    with contexts.of(dw) as tl:
        tl.set_step(**step)
        made = tl.tl.make(options[0], **options[1])
        tl.call(name, *plain, dw.contiguous(), dw.numel(), tl.step, made)
    for t, copy in zip(updated, plain):
        if t is not None and t is not copy:
            t.copy_(copy)


@operator("(Tensor(a!) w, Tensor(b!)? velocity, Tensor dw, float lr, float momentum, "
          "float weight_decay, bool nesterov) -> ()", mutates=("w", "velocity"))
def sgd_step(w, velocity, dw, lr, momentum, weight_decay, nesterov):
    optimiser_call("sgd_step", (w, velocity), dw, {"lr": lr},
                   ("tl_sgd_options", {"momentum": momentum, "weight_decay": weight_decay,
                                       "nesterov": nesterov}))


@operator("(Tensor(a!) w, Tensor(b!) m, Tensor(c!) v, Tensor dw, int index, float lr, "
          "float beta1, float beta2, float eps, float weight_decay) -> ()",
          mutates=("w", "m", "v"))
def adam_step(w, m, v, dw, index, lr, beta1, beta2, eps, weight_decay):
    optimiser_call("adam_step", (w, m, v), dw, {"lr": lr, "index": index},
                   ("tl_adam_options", {"beta1": beta1, "beta2": beta2, "eps": eps,
                                        "weight_decay": weight_decay}))
