"""The parts of the report, in its order, and where each result came from."""

import ablations
import about
import bridge
import freshness
import gradcheck
import operators
import parts
import predictions
import profiles
import roofline
import rungs
import steps
import tensor_cores
import training
from parts import Part

PARTS = [
    Part("machine", "Machine and software", about.machine, devices=("",), step=""),
    Part("scores", "Lab scores", about.scores, devices=("",), optional=True),
    Part("final", "Training", training.final, step="training"),
    Part("curves", "Loss and accuracy", training.curves, step="training"),
    Part("ablations", "Ablations", ablations.table, optional=True),
    Part("confusion", "Confusion matrix", predictions.confusion, step="test images"),
    Part("filters", "First-layer filters", predictions.filters, step="test images"),
    Part("wrong", "Misclassified images", predictions.wrong, optional=True, step="test images"),
    Part("conv", "Convolution", operators.convolutions, step="operations"),
    Part("convs", "Convolution time", operators.convolution_plot, step="operations"),
    Part("ops", "Forward and backward", operators.forward_backward, step="operations"),
    Part("steps", "Training steps", steps.table, step="steps"),
    Part("batch", "Training steps and batch size", steps.batch_plot, optional=True, step="steps"),
    Part("profile", "Operations of a training step", profiles.profile, step="profile"),
    Part("roofline", "Roofline", roofline.roofline, step="profile"),
    Part("ladder", "Kernel ladder", operators.ladder, optional=True),
    Part("rungs", "Ladder, rung by rung", rungs.table, optional=True, compared=True),
    Part("rungs-roofline", "Roofline of the ladder", rungs.roofline, optional=True, compared=True),
    Part("trainings", "Whole trainings", tensor_cores.trainings, devices=("gpu",), optional=True,
         compared=True),
    Part("tensor-convs", "Convolutions by tensor cores", tensor_cores.convolutions,
         devices=("gpu",), optional=True, compared=True),
    Part("bridge-ops", "Operators inside PyTorch", bridge.operators, optional=True, compared=True),
    Part("bridge-net", "A net of our operators inside PyTorch", bridge.net, optional=True,
         compared=True),
    Part("bridge-calls", "Calls of a step inside PyTorch", bridge.calls, optional=True,
         compared=True),
    Part("gradcheck", "Gradient checks", gradcheck.gradient_errors, devices=("",), optional=True),
    Part("epochs", "Training, epoch by epoch", training.epochs, step="training"),
]


class Origins:
    """States of code on machines that results came from, numbered in order of their first use."""

    def __init__(self):
        self.rows = {}

    def add(self, lines):
        """Numbers of the origins of these lines, as text: "1, 3"."""
        numbers = set()
        for line in lines:
            if line["kind"] == "epoch":
                continue  # its run line says the same
            commit = freshness.commit_of(line)
            ours = (line.get("ours_run") or {}).get("sources")
            sources = line["sources"] + (f" / {ours}" if ours else "")
            machine, threads = line.hardware, str(line.get("threads") or "")
            key = (line["program"], commit, sources, machine, threads)
            new = {"number": len(self.rows) + 1, "days": set(), "places": set()}
            row = self.rows.setdefault(key, new)
            row["days"].add(line["time"][:10])
            row["places"].add(str(line.path))
            numbers.add(row["number"])
        return ", ".join(str(n) for n in sorted(numbers))

    def table(self):
        """Texts of each origin: number, program, commit, sources, machine, threads, days, files."""
        return [
            [str(row["number"]), *key, _span(row["days"]), ", ".join(sorted(row["places"]))]
            for key, row in self.rows.items()
        ]


def _span(days):
    return min(days) if len(days) == 1 else f"{min(days)} .. {max(days)}"


def fix(lines):
    """The commands that measure these lines again."""
    return "; ".join(f"{command} SEED={seeds}" if ", " in seeds else command
                     for command, seeds in parts.commands_of(lines))  # fmt: skip
