"""render.py: grade.json as text for a person: what is wrong, why probably, and what to do next.

Short where there is little to say: the first failure of each side of a task in full, further ones
in a line, what is not written yet in a line, passes only in the table. V=1 shows everything in
full.
"""

import failure_kinds
import judge
import table
import text
import unlinked
from failure import SIDE_NAMES, Page, points
from language import notice, told


OF_NO_MISTAKE = ("not_implemented", *judge.COSTS)  # kinds: unwritten, or dear


class Report(Page):
    """The parts of the whole text, in their order."""

    def __init__(self, document: dict, changes: list, paint, width: int, everything: bool,
                 hints: int | None = None):
        super().__init__(document, paint, width, everything, hints)
        self.changes = changes
        self.told = set()  # claims whose failure has said what they measured

    def files(self) -> None:
        """What is wrong with whole files: what a build lacks, or uses and must not use."""
        whys = dict.fromkeys(line for c in self.document["claims"]
                             if c.get("kind") in failure_kinds.NOT_BUILT
                             for line in text.visible_lines(c["failures"][0]["text"], 20))
        kinds = dict.fromkeys(map(unlinked.kind_of, whys))
        for why in whys:
            label = "does not link: " * (unlinked.kind_of(why) == "build")
            for part in text.wrap(why, self.width, label, "    "):
                self.put(self.paint("red", part))
        for advice in filter(None, map(failure_kinds.kind_advice, kinds)):
            self.paragraph("", told(advice))
        if whys:
            self.put()
        for finding in self.document["gate"]:
            line = f"{finding['file']}:{finding['line']}: {finding['text']}"
            for part in text.wrap(text.visible(line, 1000), self.width, "not allowed: ", "    "):
                self.put(self.paint("red", part))
        if self.document["gate"]:
            self.paragraph("", told(failure_kinds.kind_advice("gate")))
            self.put()

    def failures(self) -> None:
        """By task and side: one in full, the others in a line each. A side of which nothing is
        written yet has its line in the table; what C that runs on a device, too, has done wrong on
        the cpu already is not told in full again."""
        groups = judge.failures_told(self.document["claims"])
        for group in groups.values():
            written = [r for r in group if r["kind"] != "not_implemented"]
            if not written and not self.everything:
                continue
            in_full = group if self.everything else [judge.told_first(written)]
            if not self.everything and self.told_in_c(in_full[0], groups):
                in_full = []
            in_brief = [r for r in group if r not in in_full]
            for result in in_full:
                self.failure(result)
                if result["failures"][0].get("text") == result.get("said"):
                    self.told.add(result["claim"])
            for result in in_brief:
                self.title(result)
            if in_brief and not self.everything:
                self.put(self.paint("dim", f"(T={in_brief[0]['claim']} shows one in full, "
                                           "V=1 all)"))
            self.put()

    def told_in_c(self, result: dict, groups: dict) -> bool:
        """Whether the same C has failed on the cpu in the same way."""
        sides = next(t["sides"] for t in self.document["tasks"] if t["task"] == result["task"])
        in_c = groups.get((result["task"], "c"), ()) if result["side"] == "cuda" else ()
        return any(r["kind"] == result["kind"] and r.get("diagnosis") == result.get("diagnosis")
                   and sides["c"]["file"] == sides["cuda"]["file"] != "" for r in in_c)

    def unjudged(self) -> None:
        for result in self.document["claims"]:
            if result["verdict"] == "unjudged":
                record = result["failures"][0]
                self.put(f"{self.paint('yellow', result['claim'])} "
                         f"({SIDE_NAMES[result['side']]}): not judged on {record.get('device')}")
                self.field("what", text.visible(record.get("text", ""), 600))
                self.field("means", told(failure_kinds.kind_advice(result["kind"])))
                self.again(result)
                self.put()

    def measured(self) -> None:
        """What claims tell of what they have measured, whether they hold or not, as long as there
        is no mistake to be looked at first; of a task that is dear only what is too dear, and not
        what its failure has said already. V=1: all, and by line, too."""
        failed = [r for r in self.document["claims"] if r["verdict"] == "fail"]
        wrong = any(r["kind"] not in OF_NO_MISTAKE for r in failed)
        dear = {r["task"] for r in failed}
        shown = [r for r in self.document["claims"] if r.get("said") and (self.everything or (
            not wrong and (r in failed or r["task"] not in dear) and r["claim"] not in self.told))]
        for result in shown:
            label = "failed: " * (result["verdict"] == "fail") + f"{result['claim']}: "
            self.paragraph(label, text.visible(result["said"], 200))
            if self.everything and result["verdict"] == "pass":
                self.by_line(result)
        if shown:
            self.put()

    def waiting(self, task: str, cells: dict) -> list:
        """For whom sides of a task wait that have nothing else wrong, and with how many points;
        both sides once, where it is the same task. (`next` counts those of one side.)"""
        most = {}
        for side, cell in cells.items():
            mine = [r for r in self.document["claims"] if (r["task"], r["side"]) == (task, side)
                    and cell["state"] == r["verdict"] == "waiting"]
            causes = ", ".join(dict.fromkeys(c for r in mine for c in r["waits_for"]))
            if causes:
                most.setdefault(causes, {})[SIDE_NAMES[side]] = sum(r["max"] for r in mine)
        return [f"waiting for {causes}, up to {points(sum(own.values()))}"
                + f" ({' and '.join(own)})" * (len(cells) > 1) for causes, own in most.items()]

    def state(self, cell: dict) -> str:
        file = cell["file"] or "the lab"
        if cell["state"] == "not_implemented":
            return f"{file} is not written yet"
        if cell["state"] in failure_kinds.OF_A_FILE:
            file = cell["file"] or "one of its files"
            return f"{file}: {told(failure_kinds.kind_title(cell['state']))}"
        if cell["state"] == "unjudged":
            return f"{file}: not judged, run again"
        return ""

    def table(self) -> None:
        """Points of each task and side; and in words what is not to be seen from the numbers."""
        rows = self.document["tasks"]
        sides = [h for h in SIDE_NAMES if any(h in row["sides"] for row in rows)]
        name_width = max([len(row["task"]) for row in rows] + [4])
        head = f"{'task':<{name_width}}" + "".join(f"  {SIDE_NAMES[h]:>7}" for h in sides)
        self.put(self.paint("bold", head))
        for row in rows:
            cells, notes = "", []
            for side in sides:
                cell = row["sides"].get(side)
                if not cell:
                    cells += " " * 9
                    continue
                most, got = cell["max"] + cell["extra_max"], cell["points"] + cell["extra"]
                colour = "green" if cell["state"] == "pass" else "red" if got == 0 else "yellow"
                cells += "  " + self.paint(colour, f"{f'{got}/{most}':>7}")
                notes.append(self.state(cell))
            notes += self.waiting(row["task"], row["sides"])
            note = "; ".join(dict.fromkeys(n for n in notes if n))
            start = f"{row['task']:<{name_width}}"
            room = self.width - name_width - 9 * len(sides) - 2
            pieces = text.wrap(note, max(room, 24)) if note else [""]
            self.put(f"{start}{cells}  {pieces[0]}")
            for piece in pieces[1:]:
                self.put(" " * (name_width + 9 * len(sides) + 2) + piece)
        self.put()

    def since_last_run(self) -> None:
        if not self.changes:
            return
        total = sum(c["points"] for c in self.changes)
        shown = [f"{c['claim']} ({SIDE_NAMES[c['side']]}) {c['points']:+d}"
                 for c in self.changes[: len(self.changes) if self.everything else 4]]
        more = len(self.changes) - len(shown)
        self.paragraph("since the last run of the whole lab: ", f"{total:+d} in all, "
                       + ", ".join(shown) + (f" and {more} more" if more else ""))

    def what_next(self) -> None:
        best = self.document["next"]
        if not best:
            self.after_all()
            return
        file = best["file"]
        sides = [s for row in self.document["tasks"] if row["task"] == best["task"]
                 for s in row["sides"]]
        side = f" in {SIDE_NAMES[best['side']]}" * (len(sides) > 1)
        wins = [f"up to {points(best['points'])}"] * (best["points"] > 0) + [
            f"{points(best['behind'])} wait behind it{side}"] * (best["behind"] > 0)
        if best["task"] == "whole" and not best["file"]:
            action = "look at how the tasks work together"
        elif best["kind"] == "gate":
            action = f"take out of {file} what is not allowed"
        elif best["kind"] == "compile":
            action = f"fix {file}, so that it compiles"
        elif best["kind"] == "missing":
            action = f"put {file} back in its place"
        elif best["kind"] == "no_function":
            action = f"fix {file}, so that it calls only what exists"
        elif best["kind"] == "build":
            action = "write what is missing, so that the lab links"
        elif best["begun"]:
            action = f"fix {file}, beginning with {best['claim'].split('/')[1]}"
        else:
            action = f"write {file}"
        self.paragraph("next: ", f"{action} ({', and '.join(wins)})")

    def after_all(self) -> None:
        """All points of a lab of one's own: what to look at, what hands it in, and how the next lab
        begins."""
        d, score = self.document, self.document["score"]
        if d["filter"] or d["submission"] or score["points"] < score["max"] or score["unjudged"]:
            return
        labs = table.numbers()
        known = d["lab"] in labs and not d.get("steps")
        steps = [f"make {goal} LAB={d['lab']}" for goal in ("show", "submit") if known]
        steps += [f"make lab{d['lab'] + 1} && make grade"] * (d["lab"] + 1 in labs)
        if steps:
            self.paragraph("next: ", ", then ".join(steps))

    def passed(self) -> None:
        for result in self.document["claims"]:
            if result["verdict"] == "pass":
                self.put(f"{self.paint('green', 'passed')} {result['claim']} "
                         f"({SIDE_NAMES[result['side']]}), {points(result['points'])}")
        self.put()

    def graded(self) -> None:
        d = self.document
        count = len({c["claim"] for c in d["claims"]})
        others = ", each task by itself" if d["taskwise"] else ""
        self.paragraph("", f"lab {d['lab']}, {d['title']}: {count} claim{'s' * (count != 1)} on "
                       f"{', '.join(d['devices'])}, seed {d['seed']}, {d['wall_s']:.1f} s{others}")
        self.put()

    def whole(self) -> list:
        self.graded()
        self.files()
        self.failures()
        self.unjudged()
        if self.everything:
            self.passed()
        self.measured()
        self.table()
        self.since_last_run()
        self.what_next()
        if notice():
            self.paragraph("", notice())
        return self.lines


def last_line(document: dict) -> str:
    score = document["score"]
    if score["unjudged"]:
        return (f"lab{document['lab']}: not graded: {score['unjudged']} of "
                f"{score['max'] + score['extra_max']} points could not be judged, run it again")
    extra = f", extra {score['extra']}/{score['extra_max']}" if score["extra"] else ""
    part = f" of what {document['filter']} asked for" if document["filter"] else ""
    if document.get("steps"):  # no points, done or not
        left = score["max"] - score["points"]
        to_go = f"not done, {left} step{'s' * (left != 1)} to go"
        return f"lab{document['lab']}: " + (to_go if left else f"done{part}")
    return f"lab{document['lab']}: {score['points']}/{score['max']}{part}{extra}"


def report(document: dict, changes: list, paint, width: int, everything: bool,
           hints: int | None = None) -> list:
    return Report(document, changes, paint, width, everything, hints).whole()
