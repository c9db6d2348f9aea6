"""corpus_table.py CORPUS.jsonl [README.md]: the table of gpu_corpus.py's lines.

Prints it, or puts it between the markers `<!-- corpus-on-gpu: begin -->` and `... end -->` of a
page. A few sentences count, a row a wrong case says who names what.
"""

import json
import os
import sys

from sanitizer_log import TOOLS

BEGIN, END = "<!-- corpus-on-gpu: begin -->", "<!-- corpus-on-gpu: end -->"


def _lines_of(case: dict) -> set[int]:
    return {mark["line"] for mark in case["marks"]}


def _named_by_hostcuda(case: dict, build: str) -> bool:
    """A message with the kind that the case's file gives for this line."""
    said = case[build]
    return isinstance(said, list) and any(
        message["line"] == mark["line"] and message["kind"] in mark["kinds"]
        for message in said for mark in case["marks"])  # fmt: skip


def _at_line(case: dict, tool: str) -> bool:
    return any(_lines_of(case) & set(r["lines"]) for r in case[tool]["reports"])


def _hostcuda_cell(case: dict, build: str) -> str:
    said = case[build]
    if said == "not in this build":
        return "–"
    if _named_by_hostcuda(case, build):
        return "named"
    return "; ".join(f"{m['kind']} (line {m['line']})" for m in said) or "silent"


def _tool_cell(case: dict) -> str:
    """What each tool says: first what it says of the marked line, else its first report."""
    cells, hanging, broken = [], [], []
    for tool in TOOLS:
        reports, how = case[tool]["reports"], case[tool]["how"]
        if how not in ("ran", "hangs"):
            broken.append(f"{tool} {how}")
        if how == "hangs" and not reports:
            hanging.append(tool)
        if not reports:
            continue
        best = next((r for r in reports if _lines_of(case) & set(r["lines"])), reports[0])
        if _at_line(case, tool):
            cells.append(f"**{tool}**: {best['what']}")
        else:
            where = f"line {best['lines'][0]}" if best["lines"] else "no line"
            cells.append(f"{tool}: {best['what']} ({where})")
    if hanging:
        cells.append("hangs" if len(hanging) == len(TOOLS) else f"hangs under {', '.join(hanging)}")
    return "; ".join(cells + broken).replace("|", "\\|") or "silent"


def summary(cases: list[dict]) -> str:
    right = [case for case in cases if case["right"]]
    wrong = [case for case in cases if not case["right"]]

    def count(chosen, test) -> int:
        return sum(1 for case in chosen if test(case))

    compared = [case for case in right if "values" in case]
    worst = max((case["worst"] for case in compared), default=0)
    at = {tool: count(wrong, lambda c, t=tool: _at_line(c, t)) for tool in TOOLS}
    any_line = count(wrong, lambda c: any(_at_line(c, tool) for tool in TOOLS))
    anywhere = count(wrong, lambda c: any(c[tool]["reports"] for tool in TOOLS))
    good = count(right, lambda c: c["good"])
    first = cases[0]
    return (
        f"On one {first['gpu']} (driver {first['driver']}, compute-sanitizer "
        f"{first['sanitizer']}), the same files built by nvcc.\n\n"
        f"* **Right cases**: {good} of {len(right)} agree. {len(compared)} read results back "
        f"({sum(c['values'] for c in compared)} numbers): "
        f"{count(compared, lambda c: c['compared'] == 'equal')} equal, "
        f"{count(compared, lambda c: c['compared'] == 'within bounds')} within the floats' bounds "
        f"(at most {worst:.2g} of a bound), "
        f"{count(compared, lambda c: c['compared'] == 'DIFFERENT')} different. "
        f"{count(right, lambda c: c['compared'] == 'no output')} read nothing back, they only "
        f"expect; "
        f"{count(right, lambda c: c['compared'] == 'open')} show what hostcuda does where CUDA "
        f"leaves it open. Left out are the cases that ask hostcuda for its own counts.\n"
        f"* **Wrong cases**: {len(wrong)}. hostcuda names, with kind and line, "
        f"{count(wrong, lambda c: _named_by_hostcuda(c, 'ordinary'))} in the ordinary build, "
        f"{count(wrong, lambda c: _named_by_hostcuda(c, 'check'))} with CHECK=1. On the GPU alone "
        f"{count(wrong, lambda c: c['alone'] == 'silent')} pass in silence and "
        f"{count(wrong, lambda c: c['alone'] == 'hangs')} hang. compute-sanitizer's four tools "
        f"together report something in {anywhere}, at the line of the mistake in {any_line} "
        f"({', '.join(f'{tool} {n}' for tool, n in at.items())}).\n"
    )


def table(cases: list[dict]) -> str:
    """Markdown: the counts, the right cases that differ, and the wrong ones, a row each."""
    rows = [summary(cases)]
    for case in cases:
        if case["right"] and not case["good"]:
            what = case.get("not_so") or case.get("where", case["compared"])
            rows.append(f"* not so on the GPU: {case['file']}, {case['case']}: {what}; it ended: "
                        f"{case['alone']}")  # fmt: skip
    rows += ["", "named: with kind and line. **Bold**: at the line of the mistake. –: not in this "
             "build's corpus.", "",
             "| case | mistake | hostcuda | CHECK=1 | the GPU alone | compute-sanitizer |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for case in cases:
        if case["right"]:
            continue
        mistake = "; ".join(f"{', '.join(mark['kinds'])} ({case['file']}:{mark['line']})"
                            for mark in case["marks"])  # fmt: skip
        rows.append(f"| {case['case']} | {mistake} | {_hostcuda_cell(case, 'ordinary')} | "
                    f"{_hostcuda_cell(case, 'check')} | {case['alone']} | "
                    f"{_tool_cell(case)} |")  # fmt: skip
    return "\n".join(rows) + "\n"


def fill(page: str, text: str) -> None:
    """Replaces what stands between the markers."""
    with open(page, encoding="utf-8") as file:
        old = file.read()
    if old.count(BEGIN) != 1 or old.count(END) != 1 or old.index(BEGIN) > old.index(END):
        sys.exit(f"corpus_table.py: {page}: needs one `{BEGIN}` and, after it, one `{END}`")
    new = old[: old.index(BEGIN) + len(BEGIN)] + "\n" + text + old[old.index(END) :]
    with open(f"{page}.part", "w", encoding="utf-8") as file:
        file.write(new)
    os.replace(f"{page}.part", page)


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        sys.exit("usage: corpus_table.py CORPUS.jsonl [README.md]")
    with open(arguments[0], encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    if not cases:
        sys.exit(f"corpus_table.py: {arguments[0]} holds no case")
    if len(arguments) == 2:
        fill(arguments[1], table(cases))
    else:
        print(table(cases), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
