"""grade_page.py: grade.json as one page of HTML (make grade HTML=1): what the text says, of every
failed claim in full, and with it pictures: the numbers around the worst element, and what of an
image that is made of. Words and order are those of the text: it is render.py's report, and only
what it writes with is replaced. (By hand, not by jinja2: grading needs no more than a bare Python.)
"""

import failure_kinds
import geometry
import language
import pictures
import text
from failure import SIDE_NAMES, title_of
from markup import page, tag
from render import Report, last_line

NOT_IN_FULL = (*failure_kinds.OF_A_FILE, "not_implemented")  # said for a file, or by the table
NO_PICTURE = ("there are none: the grader's numbers around the worst element are not as it writes "
              "them ({why}). Its fault, not yours: run it again, and report it if it stays.")
UNLIMITED = 10**9  # columns: lines break in the reader's window


class GradePage(Report):
    """Collects elements in the place of lines."""

    def __init__(self, document: dict, changes: list, hints: int | None, best: list):
        super().__init__(document, changes, lambda _colour, line: line, UNLIMITED, True, hints)
        self.inside, self.best = [], best

    # ---- what the report writes with ----

    def put(self, line: str = "") -> None:
        if line.strip():
            self.inside.append(tag("p", line))

    def paragraph(self, label: str, content: str) -> None:
        self.put(label + content)

    def entry(self, name: str, *parts) -> None:
        """A name and what belongs to it, in the list that stands last."""
        if not self.inside or self.inside[-1].tag != "dl":
            self.inside.append(tag("dl"))
        self.inside[-1].extend([tag("dt", name), tag("dd", *parts)])

    def field(self, name: str, content: str, colour: str = "") -> None:
        if content:
            self.entry(name, tag("strong", content) if colour == "bold" else content)

    def block(self, name: str, lines: list) -> None:
        if lines:
            self.entry(name, tag("pre", "\n".join(lines)))

    def picture(self, record: dict) -> None:
        try:
            window = pictures.window_of(record)
        except pictures.Malformed as why:
            window = None
            self.field("pictures", NO_PICTURE.format(why=why))
        if window:
            self.entry("where", *pictures.maps(window))
        else:
            super().picture(record)
        if drawn := geometry.figure(record):
            self.entry("geometry", drawn)

    # ---- its parts ----

    def title(self, result: dict) -> None:
        self.inside.append(tag("h2", " ".join(title_of(result)), id=anchor(result)))

    def record(self, record: dict, result: dict) -> None:
        self.inside.append(tag("dl"))
        super().record(record, result)

    def command(self, name: str, line: str) -> None:
        self.entry(name, tag("code", line))

    def in_full(self) -> list:
        return [r for r in self.document["claims"]
                if r["verdict"] == "fail" and r["kind"] not in NOT_IN_FULL]

    def failures(self) -> None:
        for result in self.in_full():
            before, self.inside = self.inside, []
            self.failure(result)
            before.append(tag("section", *self.inside))
            self.inside = before

    def contents(self) -> None:
        if failed := self.in_full():
            self.inside.append(tag("nav", tag("ul", *(tag("li", tag(
                "a", " ".join(title_of(r)), href=f"#{anchor(r)}")) for r in failed))))

    def passed(self) -> None:
        names = [f"{r['claim']} ({SIDE_NAMES[r['side']]})" for r in self.document["claims"]
                 if r["verdict"] == "pass"]
        if names:
            self.inside.append(tag("details", tag("summary", f"{len(names)} passed"),
                                   tag("ul", *(tag("li", name) for name in names))))

    def personal_best(self) -> None:
        """What best.py tells, which the terminal has behind the report."""
        for line in self.best:
            self.put(line)

    def table(self) -> None:
        rows = self.document["tasks"]
        sides = [h for h in SIDE_NAMES if any(h in row["sides"] for row in rows)]
        lines = [tag("tr", *(tag("th", h, scope="col") for h in (
            "task", *(SIDE_NAMES[s] for s in sides), "how it stands")))]
        for row in rows:
            cells, notes = [tag("th", row["task"], scope="row")], []
            for side in sides:
                cell = row["sides"].get(side)
                cells.append(tag("td", points_of(cell), class_="n"))
                notes += [self.state(cell)] if cell else []
            notes += self.waiting(row["task"], row["sides"])
            said = "; ".join(dict.fromkeys(note for note in notes if note))
            lines.append(tag("tr", *cells, tag("td", said)))
        self.inside += [tag("h2", "Points"), tag("table", *lines)]

    def body(self) -> list:
        d = self.document
        score = last_line(d).split(": ", 1)[1]
        self.inside.append(tag("h1", f"Lab {d['lab']}, {d['title']}: {score}"))
        self.graded()
        self.contents()
        for part in (self.files, self.failures, self.unjudged, self.measured, self.personal_best,
                     self.table, self.since_last_run, self.what_next, self.passed):
            part()
        self.put(language.notice())
        return self.inside


def anchor(result: dict) -> str:
    return text.visible(f"{result['claim']}-{result['side']}", 100).replace(" ", "_")


def points_of(cell: dict | None) -> str:
    if not cell:
        return ""
    return f"{cell['points'] + cell['extra']}/{cell['max'] + cell['extra_max']}"


def html(document: dict, changes: list, hints: int | None = None, best: list = ()) -> str:
    """best: the lines of best.py, if it is the student's own kernel."""
    return page(f"Lab {document['lab']}: {last_line(document).split(': ', 1)[1]}",
                *GradePage(document, changes, hints, best).body(), more_style=pictures.STYLE,
                lang=language.code())
