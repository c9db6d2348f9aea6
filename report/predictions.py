"""Parts about a trained net's predictions: confusion matrix, filters, misclassified images."""

import os
from pathlib import Path

import units
from parts import Missing, Plot
from training import DEVICES
from whose import owner

_DIGITS = tuple(str(i) for i in range(10))
CLASSES = {
    "cifar10": ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "shapes10": _DIGITS,
    "mnist": _DIGITS,
}


def predictions(report, device):
    lines = report.results.of("predictions", device)
    if lines:
        return report.fresh.pick(lines)
    if device == "cpu":
        folders = f"RESUME=folder/checkpoint OUT={owner().results}/predict"
        fix = owner().make(f"predict NET=a DEVICE=cpu {folders}")
    else:
        fix = owner().make_on_gpu('"build predict"')
    raise Missing(report.t("no trained net was asked about the test images"), fix)


def _names(line):
    return CLASSES.get(line["dataset"], _DIGITS)


def confusion(report, device):
    t, line = report.t, predictions(report, device)
    names, matrix = _names(line), [line["confusion"][i * 10 : i * 10 + 10] for i in range(10)]
    most = max(max(row) for row in matrix) or 1

    def draw(figure):
        ax = figure.subplots()
        ax.imshow(matrix, cmap="Greys", vmin=0, vmax=most)
        for i, row in enumerate(matrix):
            for k, n in enumerate(row):
                color = "white" if n > most / 2 else "black"
                ax.text(k, i, str(int(n)), ha="center", va="center", fontsize=6, color=color)
        ax.set_xticks(range(10), names, rotation=45, ha="right")
        ax.set_yticks(range(10), names)
        ax.set(xlabel=t("answer of the net"), ylabel=t("true class"))
        ax.grid(False)

    value = units.percent(line.get("accuracy"), f"{line.where} accuracy")
    report.set(f"predictions.{device}.acc", value)
    caption = t(
        "Confusion matrix of net {net} on the {images} test images of {dataset}, {device}; "
        "accuracy {acc} %.",
        net=line["net"], images=line.get("images"), dataset=line["dataset"], device=DEVICES[device],
        acc=value.text,
    )  # fmt: skip
    return [Plot(f"confusion-{device}", caption, draw, [line], size=(4.2, 4.0), width=0.65)]


def filters(report, device):
    line = predictions(report, device)
    shape, flat = line.get("filter_shape"), line.get("filters")
    if not shape or not flat or None in flat:
        raise Missing(report.t("the net has no filters to show"), owner().make("predict"))
    k, c, r, s = (int(n) for n in shape)
    columns = 8 if k <= 16 else 16
    rows = -(-k // columns)

    def image(i):
        """One filter as r x s pixels: grey for one channel, colour for three; 0 is middle grey."""
        own = flat[i * c * r * s : (i + 1) * c * r * s]
        most = max(abs(v) for v in own) or 1
        level = [0.5 + 0.5 * v / most for v in own]
        channels = range(3) if c == 3 else (0, 0, 0)
        at = lambda n, y, x: level[(n * r + y) * s + x]  # noqa: E731
        return [[[at(n, y, x) for n in channels] for x in range(s)] for y in range(r)]

    def draw(figure):
        for i, ax in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
            ax.axis("off")
            if i < k:
                ax.imshow(image(i), interpolation="nearest")

    caption = report.t(
        "The {k} filters of the first convolution of net {net}, {device}: weights of the three "
        "colours, each filter scaled to itself; zero is middle grey.",
        k=k, net=line["net"], device=DEVICES[device],
    )  # fmt: skip
    return [Plot(f"filters-{device}", caption, draw, [line], size=(5.6, 0.75 * rows))]


def _test_images(report, line):
    """Function from the number of a test image to its rows of (r, g, b); Missing without files."""
    folder = Path(os.environ.get("GRADLAB_DATA") or "data")
    dataset = line["dataset"]
    path = folder / dataset / ("t10k-images-idx3-ubyte" if dataset == "mnist" else "test_batch.bin")
    try:
        data = path.read_bytes()
    except OSError:
        reason = report.t("the test images of {dataset} are not here", dataset=dataset)
        raise Missing(reason, f"make data DATASET={dataset}") from None

    def colour(i):
        planes = [data[at : at + 1024] for at in range(i * 3073 + 1, (i + 1) * 3073, 1024)]
        return [[[p[y * 32 + x] / 255 for p in planes] for x in range(32)] for y in range(32)]

    def grey(i):
        at = 16 + i * 784
        return [[[data[at + y * 28 + x] / 255] * 3 for x in range(28)] for y in range(28)]

    return grey if dataset == "mnist" else colour


def wrong(report, device):
    line = predictions(report, device)
    image, names = _test_images(report, line), _names(line)
    count = min(16, len(line["wrong_index"]))
    if not count:
        raise Missing(report.t("the net made no mistake"), owner().make("predict"))

    def draw(figure):
        for i, ax in enumerate(figure.subplots(2, 8, squeeze=False).flat):
            ax.axis("off")
            if i < count:
                ax.imshow(image(int(line["wrong_index"][i])), interpolation="nearest")
                label, guess = (names[int(line[n][i])] for n in ("wrong_label", "wrong_guess"))
                ax.set_title(f"{label}\n\u2192 {guess}", fontsize=6)

    caption = report.t(
        "The {count} test images that net {net} is most sure about and wrong, {device}: true "
        "class, and its answer.",
        count=count, net=line["net"], device=DEVICES[device],
    )  # fmt: skip
    return [Plot(f"wrong-{device}", caption, draw, [line], size=(6.0, 2.3), width=1.0)]
