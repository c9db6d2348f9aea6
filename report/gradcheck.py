"""The part about gradient checks: the errors that grading lab 2 has left."""

import math

from parts import Missing, Plot


def gradient_errors(report, device):
    """How much of its bound the worst element of each claim uses, from the grader's documents."""
    claims = [c for _, document in report.results.grades for c in document.get("claims", ())]
    shares = {verdict: [] for verdict in ("pass", "fail")}
    for claim in claims:
        share = claim.get("worst")
        if isinstance(share, (int, float)) and share > 0 and math.isfinite(share):
            shares["pass" if claim["verdict"] == "pass" else "fail"].append(math.log10(share))
    every = shares["pass"] + shares["fail"]
    if not every:
        fix = "make lab2 && make grade LAB=2"
        raise Missing(report.t("no gradient check has left its errors"), fix)
    bins = range(math.floor(min(every)), math.ceil(max(*every, 0)) + 1)
    bins = [b + part / 4 for b in bins for part in range(4)]

    def draw(figure):
        ax = figure.subplots()
        looks = {
            "pass": {"color": "0.4", "label": report.t("passed")},
            "fail": {"color": "white", "hatch": "//", "label": report.t("failed")},
        }
        for verdict, own in shares.items():
            if own:
                ax.hist(own, bins=bins, edgecolor="black", linewidth=0.5, **looks[verdict])
        ax.set_axisbelow(True)
        ax.axvline(0, color="black", linestyle="--")
        ax.set_xlabel(report.t("largest error, as a share of what is allowed (power of ten)"))
        ax.set_ylabel(report.t("claims"))
        ax.legend()

    caption = report.t(
        "Errors of {count} claims of the labs: the largest of each, against the definition in "
        "double or against central differences; right of the dashed line a claim fails.",
        count=len(every),
    )
    return [Plot("gradcheck", caption, draw, [])]
