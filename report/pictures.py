"""Parts to look at: confusion matrix, filters, misclassified images, errors of gradient checks."""

import math
import os
from pathlib import Path

import units
from parts import Missing, Plot, Table
from training import LANES

CLASSES = {
    "cifar10": ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "shapes10": tuple(str(i) for i in range(10)),
    "mnist": tuple(str(i) for i in range(10)),
}


def predictions(report, lane):
    lines = report.results.of("predictions", lane)
    if not lines:
        device = "cpu" if lane == "cpu" else "cuda"
        raise Missing(report.t("no trained net was asked about the test images"),
                      f"make predict NET=a DEVICE={device} RESUME=…/checkpoint OUT=results/local/predict-{device}")  # fmt: skip
    return report.fresh.pick(lines)


def _names(line):
    return CLASSES.get(line["dataset"], tuple(str(i) for i in range(10)))


def confusion(report, lane):
    t, line = report.t, predictions(report, lane)
    names, matrix = _names(line), [line["confusion"][i * 10 : i * 10 + 10] for i in range(10)]

    def draw(figure):
        ax = figure.subplots()
        most = max(max(row) for row in matrix) or 1
        ax.imshow(matrix, cmap="Greys", vmin=0, vmax=most)
        for i, row in enumerate(matrix):
            for k, n in enumerate(row):
                ax.text(k, i, str(int(n)), ha="center", va="center", fontsize=6,
                        color="white" if n > most / 2 else "black")  # fmt: skip
        ax.set_xticks(range(10), names, rotation=45, ha="right")
        ax.set_yticks(range(10), names)
        ax.set(xlabel=t("answer of the net"), ylabel=t("true class"))
        ax.grid(False)

    value = units.percent(line.get("accuracy"), f"{line.where} accuracy")
    report.set(f"predictions.{lane}.acc", value)
    return [Plot(f"confusion-{lane}", t("Confusion matrix of net {net} on the {images} test images of "
                 "{dataset}, {lane}; accuracy {acc} %.", net=line["net"], images=line.get("images"),
                 dataset=line["dataset"], lane=LANES[lane], acc=value.text),
                 draw, [line], size=(4.2, 4.0), width=0.65)]  # fmt: skip


def filters(report, lane):
    line = predictions(report, lane)
    shape, flat = line.get("filter_shape"), line.get("filters")
    if not shape or not flat or None in flat:
        raise Missing(report.t("the net has no filters to show"), "make predict")
    k, c, r, s = (int(n) for n in shape)

    def image(i):
        """One filter as r x s pixels: grey for one channel, colour for three; 0 is middle grey."""
        own = flat[i * c * r * s : (i + 1) * c * r * s]
        most = max(abs(v) for v in own) or 1
        level = lambda ch, y, x: 0.5 + 0.5 * own[(ch * r + y) * s + x] / most  # noqa: E731
        channels = range(3) if c == 3 else (0, 0, 0)
        return [[[level(ch, y, x) for ch in channels] for x in range(s)] for y in range(r)]

    def draw(figure):
        columns = 8 if k <= 16 else 16
        rows = -(-k // columns)
        for i, ax in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
            ax.axis("off")
            if i < k:
                ax.imshow(image(i), interpolation="nearest")

    return [Plot(f"filters-{lane}", report.t("The {k} filters of the first convolution of net {net}, {lane}: "
                 "weights of the three colours, each filter scaled to itself; zero is middle grey.", k=k,
                 net=line["net"], lane=LANES[lane]), draw, [line], size=(5.6, 0.75 * -(-k // (8 if k <= 16 else 16))))]  # fmt: skip


def _test_images(report, line):
    """Function from the number of a test image to its rows of (r, g, b); Missing without the files."""
    folder = Path(os.environ.get("GRADLAB_DATA") or "data")
    dataset = line["dataset"]
    path = folder / dataset / ("t10k-images-idx3-ubyte" if dataset == "mnist" else "test_batch.bin")
    try:
        data = path.read_bytes()
    except OSError:
        raise Missing(report.t("the test images of {dataset} are not here", dataset=dataset),
                      f"make data DATASET={dataset}") from None  # fmt: skip

    def colour(i):
        at = i * 3073 + 1
        planes = [data[at + ch * 1024 : at + (ch + 1) * 1024] for ch in range(3)]
        return [
            [[planes[ch][y * 32 + x] / 255 for ch in range(3)] for x in range(32)]
            for y in range(32)
        ]

    def grey(i):
        at = 16 + i * 784
        return [[[data[at + y * 28 + x] / 255] * 3 for x in range(28)] for y in range(28)]

    return grey if dataset == "mnist" else colour


def wrong(report, lane):
    line = predictions(report, lane)
    image, names = _test_images(report, line), _names(line)
    count = min(16, len(line["wrong_index"]))
    if not count:
        raise Missing(report.t("the net made no mistake"), "make predict")

    def draw(figure):
        for i, ax in enumerate(figure.subplots(2, 8, squeeze=False).flat):
            ax.axis("off")
            if i < count:
                ax.imshow(image(int(line["wrong_index"][i])), interpolation="nearest")
                label, guess = (names[int(line[n][i])] for n in ("wrong_label", "wrong_guess"))
                ax.set_title(f"{label}\n\u2192 {guess}", fontsize=6)

    return [Plot(f"wrong-{lane}", report.t("The {count} test images that net {net} is most sure about and wrong, "
                 "{lane}: true class, and its answer.", count=count, net=line["net"], lane=LANES[lane]),
                 draw, [line], size=(6.0, 2.3), width=1.0)]  # fmt: skip


def gradient_errors(report, lane):
    """How much of its bound the worst element of each claim uses, from the grader's documents."""
    ratios = []
    for _, document in report.results.grades:
        for claim in document.get("claims", ()):
            for record in [claim, *claim.get("failures", ())]:
                ratio = (
                    record.get("worst", record.get("ratio")) if isinstance(record, dict) else None
                )
                if isinstance(ratio, (int, float)) and ratio > 0 and math.isfinite(ratio):
                    ratios.append(ratio)
    if not ratios:
        raise Missing(
            report.t("no gradient check has left its errors"), "make lab4 && make grade LAB=4"
        )

    def draw(figure):
        ax = figure.subplots()
        ax.hist([math.log10(r) for r in ratios], bins=20, color="0.4", edgecolor="white")
        ax.axvline(0, color="black", linestyle="--")
        ax.set(xlabel=report.t("largest error, as a share of what is allowed (power of ten)"),
               ylabel=report.t("claims"))  # fmt: skip

    return [Plot("gradcheck", report.t("Errors of the checks against the definition and against central "
                 "differences; right of the dashed line a claim fails."), draw, [])]  # fmt: skip


# ---- what it was made on, and lab scores ----


def machine(report, lane):
    t, rows, lines = report.t, [], []
    for name in ("cpu", "gpu"):
        own = [
            line for line in report.results.lines if line.lane == name and line["kind"] != "epoch"
        ]
        usable = [line for line in own if not report.fresh.fault(line)] or own
        if not usable:
            continue
        ours = [line for line in usable if line.ours] or [
            line for line in usable if line.get("ours_run")
        ]
        twin = [line for line in usable if line.get("torch")]
        rows.append(None)
        add = lambda what, text: rows.append(
            [LANES[name] if rows[-1] is None else "", what, str(text)]
        )  # noqa: E731
        gpus = sorted({line.get("gpu") for line in usable if line.get("gpu")})
        if gpus:
            add(t("GPU"), ", ".join(gpus))
        add(t("processor"), ", ".join(sorted({line.get("machine") or "?" for line in usable})))
        threads = sorted({line.get("threads") for line in usable if line.get("threads")})
        if threads and name == "cpu":
            add(t("threads"), ", ".join(map(str, threads)))
        if twin:
            add("PyTorch", ", ".join(sorted({line["torch"] for line in twin})))
        add(t("data sets"), ", ".join(sorted({line.get("dataset") for line in usable
                                              if line.get("dataset") not in (None, "random")})))  # fmt: skip
        add(
            t("ours: sources"),
            ", ".join(
                sorted(
                    {(line.get("ours_run") or line.fields).get("sources") or "?" for line in ours}
                )
            ),
        )
        days = sorted({line["time"][:10] for line in usable})
        add(t("measured"), days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}")
    if not rows:
        raise Missing(t("no results"), "make report")
    return [Table("machine", t("Machine and software, as the programs reported them."), "lll",
                  [], rows[1:], lines)]  # fmt: skip


def scores(report, lane):
    t, rows = report.t, []
    for name, document in sorted(report.results.grades, key=lambda g: g[1].get("lab", 0)):
        score = document["score"]
        extra = (
            f"{score.get('extra', 0)}/{score.get('extra_max', 0)}"
            if score.get("extra_max")
            else units.DASH
        )
        rows.append([f"{document.get('lab')} {document.get('title', '')}",
                     units.Value(f"{score['points']}/{score['max']}", [score["points"], score["max"]], 1.0, str(name)),
                     extra, str(document.get("seed", "")), ", ".join(document.get("devices", [])),
                     str(document.get("version", ""))[:12], str(document.get("time", ""))[:10]])  # fmt: skip
        report.set(f"lab{document.get('lab')}.points", rows[-1][1])
    if not rows:
        raise Missing(t("no lab has been graded here"), "make lab1 && make grade")
    return [Table("scores", t("Lab scores by `make grade`: practice, on seeds that everybody knows; the official "
                  "grade comes from the instructor."), "lrrrlll",
                  [t("lab"), t("points"), t("extra"), t("seed"), t("devices"), t("version"), t("date")],
                  rows, [])]  # fmt: skip
