"""optim_golden.py: writes optim_golden.h, the trajectories of PyTorch's optimisers and schedules.

Run it with the Python that has torch: python autograder/claim/optim_golden.py > …/optim_golden.h
Starts, gradients and options are dyadic or rounded to double once, so both sides start from equal
numbers; everything is computed in double.
"""

import textwrap

import torch

N, STEPS, RATES = 7, 30, 24
START = [0.5, -0.25, 1.0, -1.5, 0.125, 2.0, -0.75]
SGD = [("plain", 0.125, 0.0, 0.0, 0), ("momentum", 0.0625, 0.75, 0.0, 0),
       ("Nesterov", 0.0625, 0.875, 0.0, 1), ("decay", 0.125, 0.0, 0.25, 0),
       ("momentum and decay", 0.03125, 0.875, 0.0625, 0),
       ("Nesterov and decay", 0.03125, 0.5, 0.125, 1)]
ADAM = [("default", 0.0078125, 0.9, 0.999, 1e-8, 0.0), ("decay", 0.015625, 0.9, 0.999, 1e-8, 0.25),
        ("short memory", 0.03125, 0.5, 0.875, 1e-3, 0.0)]


def gradients() -> list:
    """Multiples of 1/64 in [-1, 1], none 0: the next number of a small congruence."""
    state, rows = 1, []
    for _ in range(STEPS):
        row = []
        for _ in range(N):
            state = (state * 75 + 74) % 65537
            row.append(((state % 128) - 63.5) / 64)
        rows.append(row)
    return rows


def sgd(w: list, lr: float, momentum: float, decay: float, nesterov: int) -> torch.optim.Optimizer:
    return torch.optim.SGD(w, lr=lr, momentum=momentum, weight_decay=decay, nesterov=bool(nesterov))


def adam(w: list, lr: float, beta1: float, beta2: float, eps: float,
         decay: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(w, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay)


def run(make, *options) -> list:
    """The weights after all steps."""
    w = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimizer = make([w], *options)
    for row in gradients():
        w.grad = torch.tensor(row, dtype=torch.float64)
        optimizer.step()
    return w.detach().tolist()


def rates(make) -> list:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    scheduler, found = make(optimizer), []
    for _ in range(RATES):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def row(values: list) -> str:
    text = ", ".join(repr(v) for v in values)
    return "{" + textwrap.fill(text, 92, subsequent_indent="      ") + "}"


def main() -> None:
    torch.set_num_threads(1)
    schedulers = torch.optim.lr_scheduler
    version = torch.__version__.split("+")[0]
    print(f"""/* optim_golden.h: where optimisers and schedules of PyTorch {version} end, in double.
 * Written by optim_golden.py. */
#ifndef TESTS_OPTIM_GOLDEN_H
#define TESTS_OPTIM_GOLDEN_H

#include "tl/optim.h"

/* clang-format off */
enum {{ GOLDEN_N = {N}, GOLDEN_STEPS = {STEPS}, GOLDEN_RATES = {RATES} }};

__attribute__((unused)) static const double golden_start[GOLDEN_N] =
    {row(START)};
__attribute__((unused)) static const double golden_gradient[GOLDEN_STEPS][GOLDEN_N] = {{""")
    for values in gradients():
        print(f"    {row(values)},")
    print("""};

typedef struct optim_golden {
    const char *name;
    double lr;
    union {
        tl_sgd_options sgd;
        tl_adam_options adam;
    } o;
    double w[GOLDEN_N];
} optim_golden;
""", end="")
    for kind, make, cases in (("sgd", sgd, SGD), ("adam", adam, ADAM)):
        print(f"__attribute__((unused)) static const optim_golden {kind}_goldens[] = {{")
        for name, lr, *options in cases:
            o = ", ".join(map(repr, options))
            print(f'    {{"{name}", {lr!r}, {{.{kind} = {{{o}}}}},\n'
                  f"     {row(run(make, lr, *options))}}},")
        print("};")
    print("""
typedef struct schedule_golden {
    const char *name;
    tl_schedule o;
    double lr[GOLDEN_RATES];
} schedule_golden;
__attribute__((unused)) static const schedule_golden schedule_goldens[] = {""")
    turn, total = 8, RATES
    for name, kind, factor, steps, make in (
            ("StepLR", "TL_SCHEDULE_STEP", 0.5, 5, lambda o: schedulers.StepLR(o, 5, 0.5)),
            ("CosineAnnealingLR", "TL_SCHEDULE_COSINE", 0.0, 1,
             lambda o: schedulers.CosineAnnealingLR(o, total)),
            ("LambdaLR, a triangle", "TL_SCHEDULE_TRIANGULAR", 0.0, turn,
             lambda o: schedulers.LambdaLR(
                 o, lambda i: i / turn if i <= turn else (total - i) / (total - turn)))):
        print(f'    {{"{name}", {{{kind}, 0.1, {factor}, {steps}, {total}}},\n'
              f"     {row(rates(make))}}},")
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
