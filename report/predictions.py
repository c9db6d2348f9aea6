"""Parts about a trained net's predictions: confusion matrix, filters, misclassified images."""

import classes
import units
from parts import Missing, Plot
from training import DEVICES
from whose import owner


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


def confusion(report, device):
    t, line = report.t, predictions(report, device)
    names = classes.of(line["dataset"])
    matrix = [line["confusion"][i * 10 : i * 10 + 10] for i in range(10)]
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
    k = int(shape[0])
    columns = 8 if k <= 16 else 16
    rows = -(-k // columns)
    images = classes.filters(shape, flat)

    def draw(figure):
        for i, ax in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
            ax.axis("off")
            if i < k:
                ax.imshow(images[i], interpolation="nearest")

    caption = report.t(
        "The {k} filters of the first convolution of net {net}, {device}: weights of the three "
        "colours, each filter scaled to itself; zero is middle grey.",
        k=k, net=line["net"], device=DEVICES[device],
    )  # fmt: skip
    return [Plot(f"filters-{device}", caption, draw, [line], size=(5.6, 0.75 * rows))]


def _test_images(report, line):
    """As classes.images_of; Missing without files."""
    try:
        return classes.images_of(line["dataset"])
    except OSError:
        reason = report.t("the test images of {dataset} are not here", dataset=line["dataset"])
        raise Missing(reason, f"make data DATASET={line['dataset']}") from None


def wrong(report, device):
    line = predictions(report, device)
    image, names = _test_images(report, line), classes.of(line["dataset"])
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
