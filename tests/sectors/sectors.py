"""sectors.py [MEASURED.jsonl [README.md]]: what hostcuda counts, beside a GPU's profiler.

Runs build/hostcuda/gcc-check/sectors (sectors.cu: kernels of the course, and some written for it)
and compares with the lines of gpu_sectors.py, default results/h200/sectors.jsonl:
sectors of loads and of stores may differ by 2 % from Nsight Compute's for the build with -G, which
keeps every access of the source as hostcuda does; those with -O3 are next to. Prints a table, or
puts it between the markers `<!-- sectors: begin -->` and `... end -->` of a page. Exit status 1:
some differ.
"""

import json
import os
import subprocess
import sys

PROGRAM = "build/hostcuda/gcc-check/sectors"
MEASURED = "results/h200/sectors.jsonl"
FIGURES = ("load_sectors", "store_sectors", "load_requests", "store_requests")
JUDGED = FIGURES[:2]
TOLERANCE = 0.02
BEGIN, END = "<!-- sectors: begin -->", "<!-- sectors: end -->"


def read_lines(text: str) -> dict[str, dict]:
    """Lines of JSON, by their case."""
    lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    by_case = {line["case"]: line for line in lines}
    if len(by_case) != len(lines):
        sys.exit("sectors.py: a case stands in more than one line")
    return by_case


def counted() -> dict[str, dict]:
    if not os.path.exists(PROGRAM):
        sys.exit(f"no {PROGRAM}: make {PROGRAM}")
    return read_lines(subprocess.run([PROGRAM], check=True, capture_output=True, text=True,
                                     timeout=300).stdout)  # fmt: skip


def apart(ours: int, theirs: int) -> float:
    return abs(ours - theirs) / max(theirs, 1)


def differences(ours: dict[str, dict], measured: dict[str, dict]) -> list[str]:
    """A line for each case that is not within the tolerance, or that only one side has."""
    found = [f"{case}: not measured" for case in ours if case not in measured]
    found += [f"{case}: measured, but there is no such case" for case in measured
              if case not in ours]  # fmt: skip
    for case, line in measured.items():
        for figure in JUDGED if case in ours else ():
            mine, theirs = ours[case][figure], line["G"][figure]
            if apart(mine, theirs) > TOLERANCE:
                found.append(f"{case}: {mine} {figure}, and {theirs} on the {line['gpu']} (-G)")
    return found


def table(ours: dict[str, dict], measured: dict[str, dict]) -> str:
    """A row a case: sectors of loads + stores, then requests; hostcuda's, with -G, with -O3."""

    def pair(counts: dict, what: str) -> str:
        return f"{counts[f'load_{what}']:,} + {counts[f'store_{what}']:,}"

    first = next(iter(measured.values()))
    rows = [f"Nsight Compute {first['ncu']} on one {first['gpu']}, nvcc {first['nvcc']}; loads + "
            "stores of global memory.", "",
            "| kernel | sectors: hostcuda | -G | -O3 | requests: hostcuda | -G | -O3 |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    for case, line in measured.items():
        sides = (ours[case], line["G"], line["O3"])
        cells = [pair(side, what) for what in ("sectors", "requests") for side in sides]
        rows.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def put_into(page: str, text: str) -> None:
    with open(page, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    if not rest or not after:
        sys.exit(f"{page}: the markers {BEGIN} and {END} are missing")
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}{END}{after}")


def main(path: str = MEASURED, page: str = "") -> int:
    ours = counted()
    with open(path, encoding="utf-8") as file:
        measured = read_lines(file.read())
    found = differences(ours, measured)
    if page:
        put_into(page, table(ours, measured))
    else:
        print(table(ours, measured))
    print("\n".join(found) or f"{len(measured)} cases within {TOLERANCE:.0%}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
