"""page.py: class.csv and class.html, made of the ledger whenever something was graded. The page
needs no network and no script: it can be mailed, or lie on a stick.
"""

import statistics
from pathlib import Path

import board
import feedback
import ledger
import points
import roster
import sinks
import text
from feedback import tag

COLUMNS = ("lab", "id", "name", "group", "status", "points", "max", "extra", "graded", "days_late",
           "late_days_used", "late_days_left", "percent", "manual", "attempt", "attempts",
           "handed_in", "time_from", "sha256", "note")
HARDEST = 12


def cells(row: points.Row) -> list:
    came = row.entry.document["handed_in"] if row.entry else {}
    return [row.lab, row.student.id, row.student.name, row.student.group(row.lab), row.status,
            row.points, row.most, row.extra, row.graded, row.days, row.paid, row.left, row.percent,
            row.manual, f"{row.entry.student}/{row.entry.folder.name}" if row.entry else "",
            row.attempts, came.get("time", ""), came.get("time_from", ""), came.get("sha256", ""),
            row.note]


def table(rows: list) -> str:
    lines = [sinks.csv_line(COLUMNS)]
    lines += [sinks.csv_line(["" if c is None else c for c in cells(row)]) for row in rows]
    return "".join(lines)


def number(value) -> str:
    return "" if value is None else str(value)


def distribution(rows: list) -> list:
    """How many students have 0 to 9 points of a hundred, 10 to 19 …, and all of them."""
    shares = [100 * row.points // row.most for row in rows if row.most and row.points is not None]
    counts = [sum(min(s // 10, 10) == ten for s in shares) for ten in range(11)]
    names = [f"{10 * ten} to {10 * ten + 9} %" for ten in range(10)] + ["all"]
    most = max([*counts, 1])
    bars = [tag("tr", tag("td", name), tag("td", str(count), class_="n"),
                tag("td", tag("div", class_="bar", style=f"width: {20 * count / most:.1f}rem")
                    if count else "")) for name, count in zip(names, counts)]
    if not shares:
        return [tag("p", "Nobody has points yet.")]
    middle = (f"{len(shares)} students, mean {statistics.mean(shares):.1f} %, median "
              f"{statistics.median(shares):.0f} %")
    return [tag("p", middle), tag("table", *bars)]


def hardest(rows: list, withdrawn: dict) -> list:
    """Claims by the points that the class has lost there; a withdrawn one costs nobody any."""
    lost = {}
    for row in rows:
        for claim in row.entry.document["claims"] if row.status == points.GRADED else ():
            if claim["claim"] in withdrawn:
                continue
            one = lost.setdefault((claim["claim"], claim["side"]), [0, 0, 0])
            one[0] += claim["verdict"] != "pass"
            one[1] += claim["max"] - claim["points"]
            one[2] += 1
    worst = sorted((c for c in lost.items() if c[1][0]), key=lambda c: (-c[1][1], c[0]))[:HARDEST]
    if not worst:
        return [tag("p", "No claim has failed.")]
    head = tag("tr", *(tag("th", h) for h in ("claim", "side", "failed", "points lost")))
    return [tag("table", head, *(tag("tr", tag("td", claim), tag("td", side), tag(
        "td", f"{failed} of {all_}", class_="n"), tag("td", str(gone), class_="n"))
        for (claim, side), (failed, gone, all_) in worst))]


def diagnoses(rows: list) -> list:
    """What was said to most students."""
    heard = {}
    for row in rows:
        if row.status == points.GRADED:
            for name in {(c["diagnosis"], c["advice"]) for c in row.entry.document["claims"]
                         if c["diagnosis"]}:
                heard.setdefault(name, []).append(row.student.id)
    common = sorted(heard.items(), key=lambda h: (-len(h[1]), h[0]))[:HARDEST]
    if not common:
        return [tag("p", "No mistake has a name.")]
    return [tag("table", *(tag("tr", tag("td", str(len(who)), class_="n"), tag("td", name),
                               tag("td", advice or "")) for (name, advice), who in common))]


def people(rows: list) -> list:
    head = ("id", "name", "points", "of", "extra", "status", "days late", "late days left",
            "manual", "attempt", "note")
    lines = [tag("tr", *(tag("th", h) for h in head))]
    for row in rows:
        where = f"{row.entry.student}/lab{row.lab}/{row.entry.folder.name}" if row.entry else ""
        name = "feedback.html"
        lines.append(tag(
            "tr", tag("td", row.student.id), tag("td", row.student.name),
            tag("td", number(row.points), class_="n"), tag("td", number(row.most), class_="n"),
            tag("td", number(row.extra), class_="n"),
            tag("td", row.status, **({} if row.status == points.GRADED else {"class_": "low"})),
            tag("td", number(row.days), class_="n"), tag("td", str(row.left), class_="n"),
            tag("td", row.manual),
            tag("td", tag("a", where, href=f"{where}/{name}") if where else ""),
            tag("td", text.visible(row.note, 300))))
    return [tag("table", *lines)]


def whole(rows: list, on_board: set, withdrawn: dict) -> str:
    """`on_board`: labs whose kernels are on the board; `withdrawn`: of points.py."""
    inside = [tag("h1", "The class")]
    for lab in sorted({row.lab for row in rows}):
        mine = [row for row in rows if row.lab == lab]
        title = next((r.entry.document["title"] for r in mine
                      if r.entry and not r.entry.refused), "")
        inside += [tag("h2", f"Lab {lab}, {title}" if title else f"Lab {lab}"),
                   *distribution(mine), *[tag("p", tag(
                       "a", "the board of its kernels", href="board.html"))] * (lab in on_board),
                   tag("h3", "Hardest claims"), *hardest(mine, withdrawn.get(lab, {})),
                   tag("h3", "Commonest diagnoses"), *diagnoses(mine),
                   tag("h3", "Students"), *people(mine)]
    return feedback.page("The class", *inside)


def update(out: Path, known: roster.Roster, pending: dict | None = None,
           board_names: bool = False) -> list:
    """Writes both pages, and the board; returns the rows."""
    rows = points.rows(out, known, pending or {})
    on_board = {line.lab for line in board.update(out, rows, board_names)}
    ledger.write(out / "class.csv", table(rows))
    ledger.write(out / "class.html", whole(rows, on_board, points.withdrawn(out)))
    return rows
