"""PyTorch's own judges on your convolution: gradcheck and opcheck.

    GRADLAB_TL=build/lib-mine python bridge/examples/judge.py [python|cpp]

gradcheck compares the gradients with central differences, in double; opcheck asks whether the
operator keeps PyTorch's rules (its schema, its sizes without data, torch.compile).
"""

import sys

import torch
from torch.autograd import gradcheck

import gradlab
from gradlab import functional

CASES = {  # what is tried: x, weight, bias?, and the numbers of the convolution
    "plain": ((2, 3, 5, 6), (4, 3, 3, 3), True, {}),
    "padding": ((1, 2, 4, 5), (3, 2, 3, 2), True, {"padding": (1, 2)}),
    "stride": ((2, 1, 7, 6), (2, 1, 3, 3), False, {"stride": (2, 1)}),
    "dilation": ((1, 2, 9, 8), (2, 2, 3, 3), True, {"dilation": (2, 1), "padding": 1}),
}


def judged(name, x_size, w_size, bias, numbers):
    torch.manual_seed(0)
    x, w = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in (x_size, w_size))
    b = torch.randn(w_size[0], dtype=torch.float64, requires_grad=True) if bias else None
    try:
        gradcheck(lambda *tensors: functional.conv2d(*tensors, **numbers), (x, w, b))
    except Exception as error:  # whatever it is, it is what the judge says
        return f"{type(error).__name__}: {error}"
    return ""


def main():
    if len(sys.argv) > 1:
        gradlab.use(sys.argv[1])
    failures = 0
    for name, case in CASES.items():
        said = judged(name, *case)
        failures += bool(said)
        print(f"gradcheck, {name:9} {said.strip().splitlines()[0] if said else 'passed'}")
    operator = getattr(torch.ops, f"gradlab_{gradlab.way()}").conv2d.default
    arguments = (torch.randn(2, 3, 5, 6, requires_grad=True), torch.randn(4, 3, 3, 3),
                 torch.randn(4), [1, 1], [1, 1], [1, 1])  # fmt: skip
    if failures == 0:
        for test, said in torch.library.opcheck(operator, arguments).items():
            print(f"opcheck,   {test}: {said}")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
