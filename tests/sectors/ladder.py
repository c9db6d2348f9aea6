"""ladder.py [LADDER.jsonl]: the table of kernels/gemm/README.md, between its markers.

Sectors and bank conflicts are hostcuda's counts of a product of 256^3 (`sectors products 256`). The
last column is filled from lines of `make bench OUT=file` on a GPU: kind ladder, op gemm, warm, the
shape with the most arithmetic; without them it says so.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import sectors

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "kernels/gemm/README.md"
BEGIN, END = "<!-- ladder: begin -->", "<!-- ladder: end -->"
HEAD = re.compile(r"/\* [^:]*: rung (\d+) of gemm: (.*?)\.\n", re.S)


def ideas() -> dict[str, str]:
    """By rung, what the first sentence of its file says."""
    found = {}
    for path in sorted((ROOT / "kernels/gemm").glob("*.cu")):
        number, idea = HEAD.match(path.read_text()).groups()
        found[f"gemm:{number}"] = re.sub(r"\s*\n \*\s*", " ", idea)
    return found


def counted(size: int = 256) -> dict[str, dict]:
    """Of square products, by the rungs of gemm and by other kernels (products.cuh)."""
    said = subprocess.run([ROOT / sectors.PROGRAM, "products", str(size)], check=True,
                          capture_output=True, text=True, timeout=300).stdout  # fmt: skip
    return sectors.read_lines(said)


def speeds(lines: list[dict]) -> dict[str, str]:
    mine = [line for line in lines if line["kind"] == "ladder" and line["op"] == "gemm"
            and line["cache"] == "warm"]  # fmt: skip
    most = max((line["flops"] for line in mine), default=0)
    return {line["rung"]: f"{line['flops'] / line['median'] / 1e9:,.0f}"
            for line in mine if line["flops"] == most}  # fmt: skip


def table(counts: dict[str, dict], speed: dict[str, str]) -> str:
    rows = ["| rung | idea | sectors loaded | stored | bank conflicts | GFLOP/s |",
            "|---|---|---|---|---|---|",
            f"| 0 | cuBLAS | – | – | – | {speed.get('0', 'not measured')} |"]  # fmt: skip
    for rung, idea in ideas().items():
        c = counts[rung]
        rows.append(f"| {rung[5:]} | {idea} | {c['load_sectors']:,} | {c['store_sectors']:,} | "
                    f"{c['bank_conflicts']:,} | {speed.get(rung, 'not measured')} |")  # fmt: skip
    return "\n".join(rows) + "\n"


def put_into(page: str, text: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()] \
        if len(sys.argv) > 1 else []
    PAGE.write_text(put_into(PAGE.read_text(), table(counted(), speeds(lines))))
