"""Parts about what the results were made on, and the scores of the labs."""

import units
from parts import Missing, Table
from training import DEVICES
from whose import owner


def _listed(values):
    return ", ".join(sorted({str(value) for value in values if value not in (None, "")}))


def _facts(t, lines):
    """[(what, text)] of one device's lines, as the programs reported them."""
    ours = [line.get("ours_run") or line.fields for line in lines if line.ours]
    ours += [line["ours_run"] for line in lines if line.get("ours_run")]
    days = sorted({line["time"][:10] for line in lines})
    threads = [line.get("threads") for line in lines if line.device == "cpu"]
    datasets = [line.get("dataset") for line in lines if line.get("dataset") != "random"]
    whose = t("a student's own files, without quicker kernels") if owner().mine else ""
    return [
        (t("ours"), whose),
        (t("GPU"), _listed(line.get("gpu") for line in lines)),
        (t("processor"), _listed(line.get("machine") for line in lines)),
        (t("threads"), _listed(threads)),
        ("PyTorch", _listed(line.get("torch") for line in lines)),
        (t("data sets"), _listed(datasets)),
        (t("ours: sources"), _listed(run.get("sources") for run in ours)),
        (t("measured"), days[0] if len(days) == 1 else f"{days[0]} \u2013 {days[-1]}"),
    ]


def machine(report, device):
    t, rows, used = report.t, [], []
    for name, title in DEVICES.items():
        lines = report.results.lines
        lines = [line for line in lines if line.device == name and line["kind"] != "epoch"]
        # what is stale is not shown, so what it was made on is no matter, unless there is no other
        lines = [line for line in lines if not report.fresh.fault(line)] or lines
        if lines:
            used += lines
            facts = [(what, text) for what, text in _facts(t, lines) if text]
            rows.append(None)
            rows += [["" if i else title, *fact] for i, fact in enumerate(facts)]
    if not rows:
        raise Missing(t("no results"), owner().make("report"))
    caption = t("Machine and software, as the programs reported them.")
    return [Table("machine", caption, "lll", [], rows[1:], [])]


def scores(report, device):
    t, rows = report.t, []
    for name, document in sorted(report.results.grades, key=lambda g: g[1].get("lab", 0)):
        score, lab = document["score"], document.get("lab")
        points, most = score["points"], score["max"]
        value = units.Value(f"{points}/{most}", [points, most], 1.0, str(name))
        extra = f"{score.get('extra', 0)}/{score['extra_max']}" if score.get("extra_max") else ""
        rows.append([
            f"{lab} {document.get('title', '')}", value, extra or units.DASH,
            str(document.get("seed", "")), ", ".join(document.get("devices", [])),
            str(document.get("version", ""))[:12], str(document.get("time", ""))[:10],
        ])  # fmt: skip
        report.set(f"lab{lab}.points", value)
    if not rows:
        raise Missing(t("no lab has been graded here"), "make lab1 && make grade")
    caption = t(
        "Lab scores by `make grade`: practice, on seeds that everybody knows; the official grade "
        "comes from the instructor."
    )
    header = [t("lab"), t("points"), t("extra"), t("seed"), t("devices"), t("version"), t("date")]
    return [Table("scores", caption, "lrrrlll", header, rows, [])]
