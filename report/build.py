#!/usr/bin/env python3
"""Fills and builds the report: every number in it comes from results.

  report/build.py [LANG=en|zh] [FROM="folder or file …"] [DRAFT=1] [OUT=file.pdf] [CODE=digits]

Parts whose results are missing or stale stop it, with the command that fixes each; DRAFT=1 builds
all the same and marks them. What is optional (lab scores, a GPU) leaves a marked gap. Results that
FROM= brings may be of older code: that is said beside them. Equal results give an equal PDF, bit
for bit. CODE is what `sources` of programs built now would begin with (make knows).
"""

import calendar
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import catalogue
import freshness
import latex
import lint
import options
import parts
import store
import units
import words
from measure import UNWRITTEN
from whose import owner

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OPERATIONS = ROOT / "tl/include/tl/ops.def"


def lab_of(operation):
    """Where an operation that is timed is written."""
    rows = OPERATIONS.read_text(encoding="utf-8")
    return re.search(rf"^OP\({operation}_fwd, (\d+),", rows, re.M)[1]


class ReportError(Exception):
    """The report cannot be built; the text says why and what fixes it."""


class Report:
    """What the parts see: results, freshness, words of the language, and the values they leave."""

    def __init__(self, results, fresh, lang):
        self.results, self.fresh, self.lang = results, fresh, lang
        self.values = {}

    def t(self, text, **fields):
        return words.translate(self.lang, text, **fields)

    def set(self, key, value):
        """A number for the text: \\val{key}."""
        self.values[key] = value


OPTIONS = {"LANG": "en", "FROM": "", "DRAFT": "", "OUT": "", "BUILD": "", "CODE": ""}


def parse(arguments):
    given = options.parse(arguments, OPTIONS)
    if given["LANG"] not in ("en", "zh"):
        raise ReportError(f"LANG={given['LANG']}: use en or zh")
    if given["DRAFT"] not in ("", "0", "1"):
        raise ReportError(f"DRAFT={given['DRAFT']}: use 1, or leave it out")
    return given


def read_names(path):
    """{"title": …, "authors": [...]} of names.txt."""
    names = {"title": "", "title-zh": "", "course": "", "authors": []}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    for number, row in enumerate(text.splitlines(), 1):
        if not row.strip() or row.startswith("#"):
            continue
        key, colon, value = row.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or key not in (*names, "author") or key == "authors":
            known = "title, title-zh, course, author"
            raise ReportError(f"{path}:{number}: '{row}' is not 'key: value' with one of {known}")
        if key == "author":
            names["authors"].append(value)
        else:
            names[key] = value
    return names


class Filler:
    """Builds every part and writes what LaTeX reads: one file a part, values, provenance."""

    def __init__(self, report, folder, draft):
        self.report, self.folder, self.draft = report, folder, draft
        self.compares = (ROOT / "mk/compare.mk").is_file()
        self.env = latex.environment()
        self.failures = failures(ROOT)
        self.refused, self.gaps = [], []  # (title, reason, command that fixes it)
        self.used, self.ledger, self.missing = [], [], {}

    def render(self, template, **fields):
        return self.env.get_template(template).render(**fields)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def fill(self):
        done = {}
        catalogued = [p for p in catalogue.PARTS if self.compares or not p.compared]
        for part in catalogued:
            for device in part.devices:
                done.setdefault(part.id, []).append((device, self._build(part, device)))
        # one device is enough: a report from a GPU machine may have no numbers of a processor
        for part in catalogued:
            shown = any(items is not None for _, items in done[part.id])
            for device, items in done[part.id]:
                if items is None:
                    self._gap(part, device, must=not (part.optional or shown))
                else:
                    self._show(part, device, items)
        self._write_values()
        self._write_provenance()

    def _build(self, part, device):
        try:
            return part.build(self.report, device)
        except parts.Missing as missing:
            self.missing[part.id, device] = missing
            return None

    def _name(self, part, device):
        return f"{part.id}-{device}" if device else part.id

    def _gap(self, part, device, must):
        missing = self.missing[part.id, device]
        title = self.report.t(part.title) + (f" ({device.upper()})" if device else "")
        reason, fix = missing.reason, missing.fix
        if device == "gpu":
            fix += f" ({self.report.t('on the GPU machine')})"
        said = self._failure(part, device)
        if said:
            t = self.report.t
            why = t("not implemented yet") if UNWRITTEN in said else t("it could not be measured")
            reason = f"{why}: {said}"
            wrong = re.search(r"(\w+) [\d ]+: ours is wrong", said)  # as bench_ops says it
            if wrong and owner().mine:  # to time it again fixes nothing
                fix = f"make lab{lab_of(wrong[1])} && make grade; {fix}"
        # (a student's build that is not finished lacks what a report must have)
        unfinished = any(UNWRITTEN in said for said in self.failures.values())
        (self.refused if must and not unfinished else self.gaps).append((title, reason, fix))
        text = self.render("gap.tex.j2", title=title, reason=reason, fix=fix)
        self.write(f"{self._name(part, device)}.tex", text)

    def _failure(self, part, device):
        """What was said when this part was measured in vain."""
        for name, said in self.failures.items() if part.step is not None else ():
            if name.startswith(part.step) and name.endswith("cuda") == (device == "gpu"):
                return said
        return ""

    def _show(self, part, device, items):
        text = []
        for item in items:
            mark = "; ".join(self.report.fresh.faults(item.lines))
            if mark:
                title = f"{self.report.t(part.title)}, {item.id}"
                self.refused.append((title, mark, catalogue.fix(item.lines)))
            make = self._table if isinstance(item, parts.Table) else self._plot
            text.append(make(item, mark, self._note(item)))
            if item.lines:
                self.used.append(item)
        self.write(f"{self._name(part, device)}.tex", "\n".join(text))

    def _note(self, item):
        """What a reader must know of its lines, below a table or plot."""
        t, notes = self.report.t, [item.note]
        commits = self.report.fresh.outlived(item.lines)
        if commits:
            notes.append(t("Measured at commit {commits}; the code has changed since.",
                           commits=", ".join(commits)))  # fmt: skip
        if item.timed and any(parts.unsearched(line) for line in item.lines):
            notes.append(t("PyTorch ran without cudnn.benchmark: it can be quicker."))
        return " ".join(note for note in notes if note)

    def _table(self, table, mark, note):
        rows = [row if row is None else [_cell(c) for c in row] for row in table.rows]
        for row in table.rows:
            if row is not None:
                self.ledger.append({"table": table.id, "row": [_entry(c) for c in row]})
        rules = [latex.Tex(f"{a}-{b}") for a, b in parts.groups_rules(table.groups)]
        return self.render(
            "table.tex.j2", id=latex.Tex(table.id), caption=table.caption,
            columns=latex.Tex(table.columns), header=table.header, groups=table.groups,
            rules=rules, rows=rows, note=note, mark=mark,
        )  # fmt: skip

    def _plot(self, plot, mark, note):
        import style

        name = f"{plot.id}.pdf"
        style.save(plot.draw, plot.size, self.folder / name)
        return self.render(
            "plot.tex.j2", id=latex.Tex(plot.id), caption=plot.caption, file=latex.Tex(name),
            width=plot.width, note=note, mark=mark,
        )  # fmt: skip

    def _write_values(self):
        values = dict(sorted(self.report.values.items()))
        self.ledger += [{"value": key, **_entry(value)} for key, value in values.items()]
        texts = {latex.Tex(key): value.text for key, value in values.items()}
        self.write("values.tex", self.render("values.tex.j2", values=texts))
        text = json.dumps(self.ledger, indent=1, ensure_ascii=False)
        self.write("values.json", text + "\n")

    def _write_provenance(self):
        origins, rows = catalogue.Origins(), []
        for item in self.used:
            kind = "tab" if isinstance(item, parts.Table) else "fig"
            numbers, commands = origins.add(item.lines), parts.commands_of(item.lines)
            rows.append((latex.Tex(f"{kind}:{item.id}"), kind, numbers, commands))
        text = self.render(
            "provenance.tex.j2", rows=rows, origins=origins.table(), t=self.report.t,
            notes=self.report.results.notes,
        )  # fmt: skip
        self.write("provenance.tex", text)


def _cell(value):
    return latex.escape(value.text if isinstance(value, units.Value) else value)


def _entry(value):
    if not isinstance(value, units.Value):
        return {"text": str(value)}
    return {"text": value.text, "raw": value.raw, "scale": value.scale, "source": value.source}


def failures(root):
    """{step: what it said} of the last measurement, where something failed."""
    path = root / owner().measured / "failures.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def latest_time(lines):
    """Seconds since 1970 of the latest result used: the date of the report."""
    times = [line["time"] for line in lines]
    if not times:
        return 0
    try:
        return calendar.timegm(time.strptime(max(times), "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return 0


def write_preamble(filler, names, lang, xelatex, epoch, draft):
    title = names["title-zh"] if lang == "zh" and names["title-zh"] else names["title"]
    foreign = latex.foreign(title + names["course"] + "".join(names["authors"]))
    if foreign and not xelatex:
        raise ReportError(
            f"names.txt: pdflatex has no letters for {foreign}; install xelatex with "
            "'make setup report-zh', or write them in Latin letters"
        )
    text = filler.render(
        "preamble.tex.j2", title=title, course=names["course"], authors=names["authors"],
        date=time.strftime("%Y-%m-%d", time.gmtime(epoch)) if epoch else "", xelatex=xelatex,
        draft=draft, lang=lang, compares=filler.compares,
        font=latex.Tex(words.CJK_FONT), t=filler.report.t,
    )  # fmt: skip
    filler.write("preamble.tex", text)


def lacking(what, goal):
    packages = " ".join(words.PACKAGES[goal])
    return ReportError(f"{what}; install it with: make setup {goal}\n  (Debian: {packages})")


def run_latex(source, folder, xelatex, epoch):
    """LaTeX until nothing changes; what it complains about stops the report."""
    engine = "xelatex" if xelatex else "pdflatex"
    for program in ("latexmk", engine):
        if not shutil.which(program):
            raise lacking(f"{program} is missing", "report-zh" if xelatex else "report")
    env = dict(os.environ, SOURCE_DATE_EPOCH=str(epoch), FORCE_SOURCE_DATE="1", LC_ALL="C.UTF-8",
               TEXINPUTS=f"{folder}:{source.parent}:", TZ="UTC", max_print_line="1000")  # fmt: skip
    env.pop("LANG", None)  # make exports LANG=zh, which is no locale
    command = ["latexmk", "-pdfxe" if xelatex else "-pdf", "-interaction=nonstopmode",
               "-halt-on-error", "-silent", f"-outdir={folder}", str(source)]  # fmt: skip
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    log = folder / f"{source.stem}.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if done.returncode != 0:
        said = [row for row in text.splitlines() if row.startswith("!") or row.startswith("l.")]
        first = "\n  ".join(said[:4]) or done.stderr.strip()[-300:] or done.stdout.strip()[-300:]
        raise ReportError(f"{engine} stopped; {log}:\n  {first}")
    bad = [row for row in text.splitlines() if lint.LOG_FAULT.search(row)]
    if bad:
        raise ReportError(f"the page is not right ({log}):\n  " + "\n  ".join(bad[:8]))
    return folder / f"{source.stem}.pdf"


def grouped(refused):
    """Parts with the same fault and cure are said once."""
    titles = {}
    for title, reason, fix in refused:
        titles.setdefault((reason, fix), []).append(title)
    return [(", ".join(names), reason, fix) for (reason, fix), names in titles.items()]


def say_refused(refused):
    rows = ["these parts cannot be shown:"]
    for titles, reason, fix in grouped(refused):
        rows.append(f"  {titles}: {reason}\n    fix: {fix}")
    again = owner().make("report AGAIN=1")
    rows.append(f"  or measure all of it again with '{again}', or build with DRAFT=1, "
                "which marks it")  # fmt: skip
    return "\n".join(rows)


def main(arguments):
    given = parse(arguments)
    lang, draft = given["LANG"], given["DRAFT"] == "1"
    source = HERE / ("report-zh.tex" if lang == "zh" else "report.tex")
    folder = Path(given["BUILD"] or HERE / "build" / lang).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = read_names(HERE / "names.txt")
    places = given["FROM"].split() or [str(owner().results)]
    results = store.read(ROOT, places)
    for note in results.notes:
        print(f"note: {note}")
    if not results.lines and not failures(ROOT):
        raise ReportError(
            f"no results in {', '.join(places)}; '{owner().make('report')}' without FROM and DRAFT "
            "measures the short ones, or give FROM=folder"
        )
    report = Report(results, freshness.Freshness(ROOT, given["CODE"]), lang)
    foreign = latex.foreign("".join(names["authors"]) + names["title"] + names["course"])
    xelatex = lang == "zh" or bool(foreign and shutil.which("xelatex"))
    _use_style(lang)
    filler = Filler(report, folder, draft)
    filler.fill()
    if filler.refused and not draft:
        raise ReportError(say_refused(filler.refused))
    faults = lint.check(source, set(report.values))
    if faults:
        raise ReportError("\n  ".join([f"{len(faults)} faults in {source.name}:", *faults]))
    epoch = latest_time([line for item in filler.used for line in item.lines])
    write_preamble(filler, names, lang, xelatex, epoch, draft)
    pdf = run_latex(source, folder, xelatex, epoch)
    out = Path(given["OUT"] or HERE / "build" / f"{source.stem}.pdf")
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(pdf, out)
    for titles, reason, fix in grouped([*filler.gaps, *filler.refused]):
        print(f"gap: {titles}: {reason} (fix: {fix})")
    print(f"report  {os.path.relpath(out)}: {len(filler.used)} tables and plots")


def _use_style(lang):
    import style

    font = words.font_file() if lang == "zh" else None
    if lang == "zh" and not font:
        raise lacking("no Chinese font", "report-zh")
    style.use(font)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ReportError, options.OptionError) as error:
        sys.exit(f"report: {error}")
    except KeyboardInterrupt:
        print("report: stopped by Ctrl-C", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        sys.exit(f"report: {sys.executable} lacks {error.name}; run: make setup report")
