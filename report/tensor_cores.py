"""Parts about tensor cores: whole trainings beside PyTorch's quickest loop, and convolutions beside
cuDNN's."""

import units
from parts import Missing, Table
from steps import latest
from whose import owner

_PRECISIONS = {"fp32": "float32", "tf32": "TF32", "bf16": "bfloat16", "fp16": "float16"}
_PASSES = ("forward", "dx", "dw")


def _chosen(report, kind, why, stage, *names):
    found = latest(report, kind, "gpu", *names)
    if not found:
        raise Missing(why, owner().make_on_gpu(f'"build {stage}"'))
    order = list(_PRECISIONS)
    return sorted(found.values(), key=lambda line: order.index(line["precision"]))


def trainings(report, device):
    t = report.t
    lines = _chosen(report, "bench_train", t("no whole training was timed on a GPU"),
                    "train-times", "net", "precision", "batch")  # fmt: skip
    rows = []
    for line in lines:
        rows += [None] if rows else []
        ratio = units.quantity(1 / line["ratio"], 1.0, f"{line.where} 1 / ratio")
        for side, who in (("ours", t("ours")), ("torch", "PyTorch")):
            where, mine = f"{line.where} sides.{side}", line["sides"][side]
            first = [line["net"], _PRECISIONS[line["precision"]]] if side == "ours" else ["", ""]
            accuracy = [a / 100 for a in mine["test_acc"]]
            rows.append([*first, who,
                         units.over_seeds(mine["seconds"], "seconds", f"{where}.seconds"),
                         units.over_seeds(accuracy, "percent", f"{where}.test_acc / 100"),
                         units.DASH if side == "ours" else ratio])  # fmt: skip
    caption = t(
        "Whole trainings on the GPU, {epochs} epochs with augmentation and evaluation, from equal "
        "weights; PyTorch in its quickest loop, its step compiled and in one CUDA graph. Mean over "
        "{seeds} seeds, in brackets the smallest and the largest. The ratio is that of medians.",
        epochs=lines[0]["epochs"],
        seeds=lines[0]["seeds"],
    )
    header = [t("net"), t("precision"), "", f"{t('time')} (s)", t("accuracy (%)"), t("ratio")]
    return [Table("trainings-gpu", caption, "lllrrr", header, rows, lines)]


def convolutions(report, device):
    t = report.t
    lines = _chosen(report, "bench_conv2d", t("no convolution by tensor cores was timed"),
                    "conv2d", "layer", "precision", "batch")  # fmt: skip
    rows = []
    for line in lines:
        sums = {side: sum(line[f"{side}_us"].values()) for side in ("ours", "cudnn")}
        rows += [None] if rows else []
        for side, who in (("ours", t("ours")), ("cudnn", "cuDNN")):
            where, mine = f"{line.where} {side}_us", line[f"{side}_us"]
            first = [line["layer"], _PRECISIONS[line["precision"]]] if side == "ours" else ["", ""]
            times = [units.quantity(mine[one], 1.0, f"{where}.{one}") for one in _PASSES]
            whole = units.quantity(sums[side], 1.0, f"{line.where} sum of {side}_us")
            ratio = units.quantity(sums["ours"] / sums["cudnn"], 1.0,
                                   f"{line.where} sum of ours_us / sum of cudnn_us")  # fmt: skip
            rows.append([*first, who, *times, whole, units.DASH if side == "ours" else ratio])
    caption = t(
        "Convolutions of net c by tensor cores, batch {batch}, microseconds of each pass as Nsight "
        "Compute times its kernels: ours do bias, ReLU and pool, too, cuDNN's the convolution "
        "alone. The ratio is that of the sums.",
        batch=lines[0]["batch"],
    )
    header = [t("layer"), t("precision"), "", *_PASSES, t("total"), t("ratio")]
    return [Table("tensor-convs-gpu", caption, "lllrrrrr", header, rows, lines)]
