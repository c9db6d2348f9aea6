"""Learning-rate schedules, written a second time so that the trainer's own can be checked."""

import math

import numpy as np

from plans import PlanError


def learning_rates(options, first, count):
    """Rates of the optimiser steps first .. first+count-1, by LR, SCHED and the length of the run.

    SCHED is constant, cosine, step:EPOCHS:FACTOR (times FACTOR after every EPOCHS epochs), or
    triangular:EPOCH (up from 0 to LR at EPOCH, then down to 0); formulas: tl/include/tl/optim.h.
    """
    base, per_epoch = options["lr"], options["steps_per_epoch"]
    total = options["epochs"] * per_epoch
    kind, *numbers = options["sched"].split(":")
    wanted = {"constant": 0, "cosine": 0, "step": 2, "triangular": 1}
    if wanted.get(kind) != len(numbers):
        raise PlanError(f"SCHED={options['sched']}: not a schedule that the twin knows")
    # epochs may be fractions; a turn is a whole step, rounded half up, and never step 0
    turn = max(1, math.floor(float(numbers[0]) * per_epoch + 0.5)) if numbers else 1

    def rate(i):
        if kind == "step":
            return base * float(numbers[1]) ** (i // turn)
        if kind == "cosine":
            return base * (1 + math.cos(math.pi * i / total)) / 2
        if kind == "triangular":
            return base * (i / turn if i < turn else (total - i) / (total - turn))
        return base

    return np.array([rate(i) for i in range(first, first + count)])


def check(options, number, planned, where):
    """PlanError unless `planned`, the rates of epoch `number`, are what this schedule gives."""
    first = number * options["steps_per_epoch"]
    own = learning_rates(options, first, len(planned))
    # a few roundings of pow or cos may differ; measured against LR, for a rate may pass through 0
    wrong = ~(np.abs(own - planned) <= 1e-14 * options["lr"])
    if wrong.any():
        i = int(np.argmax(wrong))
        raise PlanError(
            f"{where}: learning rate of step {first + i} is {planned[i]!r}, "
            f"SCHED={options['sched']} gives {own[i]!r}"
        )
