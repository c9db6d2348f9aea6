"""ladder.py [LADDER.jsonl]: the tables of the pages of kernels/ that teach by steps.

Sectors and bank conflicts are hostcuda's counts: of a product of 256^3 for gemm (`sectors products
256`), of a sum of 2^18 numbers and of 64 columns of 1,024 for reduce (`sectors reductions`). Speeds
are those of lines of `make bench OUT=file` on a GPU: kind ladder or ladder_rounded, warm, the shape
with the most arithmetic. Without such lines a speed is "not measured".
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import sectors

ROOT = Path(__file__).resolve().parents[2]
PAGE, REDUCE, SOFTMAX = (ROOT / f"kernels/{op}/README.md" for op in ("gemm", "reduce",
                                                                      "softmax_xent"))  # fmt: skip
BEGIN, END = "<!-- ladder: begin -->", "<!-- ladder: end -->"
HEAD = re.compile(r"/\* [^:]*: rung (\d+) of \w+: (.*?)\.\n", re.S)
NOT_MEASURED = "not measured"
LIBRARY = {"0": "cuBLAS", "0 tf32": "cuBLAS in TF32",
           "0 bf16": "cuBLAS in bfloat16, operands of 16 bits in memory",
           "0 fp16": "cuBLAS in half precision, operands of 16 bits in memory"}  # fmt: skip

OF_HOPPER = {"9": "stored in TF32, copied by boxes, multiplied by warpgroups (9.0 alone)",
             "10": "the same in bfloat16"}  # fmt: skip


def ideas(op: str = "gemm") -> dict[str, str]:
    """By rung, what the first sentence of its file says."""
    found = {}
    for path in sorted((ROOT / "kernels" / op).glob("*.cu")):
        head = HEAD.match(path.read_text())
        if head and head[1] != "0":  # LIBRARY names that one, OF_HOPPER what hostcuda cannot count
            found[f"{op}:{head[1]}"] = re.sub(r"\s*\n \*\s*", " ", head[2])
    return found


def counted(size: int = 256) -> dict[str, dict]:
    """Of square products, by the rungs of gemm and by other kernels (products.cuh)."""
    return run_sectors("products", str(size))


def run_sectors(*words: str) -> dict[str, dict]:
    said = subprocess.run([ROOT / sectors.PROGRAM, *words], check=True,
                          capture_output=True, text=True, timeout=300).stdout  # fmt: skip
    return sectors.read_lines(said)


def speeds(lines: list[dict], op: str = "gemm", what: str = "flops") -> dict[str, str]:
    """Of each rung, in units of 1e9 a second; "0 tf32": of the library in that precision."""
    mine = [line for line in lines if line["kind"] in ("ladder", "ladder_rounded")
            and line["op"] == op and line["cache"] == "warm"
            and line["device"] == "cuda"]  # fmt: skip
    most = max((line["flops"] for line in mine), default=0)
    return {rung_of(line): f"{line[what] / line['median'] / 1e9:,.0f}"
            for line in mine if line["flops"] == most}  # fmt: skip


def rung_of(line: dict) -> str:
    """Rung 0 is there once in each precision."""
    library = line["rung"] == "0" and line["kind"] == "ladder_rounded"
    return f"0 {line['precision']}" if library else line["rung"]


def table(counts: dict[str, dict], speed: dict[str, str]) -> str:
    rows = ["| rung | idea | sectors loaded | stored | bank conflicts | GFLOP/s |",
            "|---|---|---|---|---|---|",
            *(f"| {rung} | {idea} | – | – | – | {speed.get(rung, NOT_MEASURED)} |"
              for rung, idea in LIBRARY.items())]  # fmt: skip
    for rung, idea in OF_HOPPER.items():
        rows.append(f"| {rung} | {idea} | – | – | – | {speed.get(f'gemm:{rung}', NOT_MEASURED)} |")
    for rung, idea in ideas().items():
        c = counts[rung]
        rows.append(f"| {rung[5:]} | {idea} | {c['load_sectors']:,} | {c['store_sectors']:,} | "
                    f"{c['bank_conflicts']:,} | {speed.get(rung, NOT_MEASURED)} |")  # fmt: skip
    head = 2 + len(LIBRARY)
    rows[head:] = sorted(rows[head:], key=lambda row: int(row.split("|")[1]))
    return "\n".join(rows) + "\n"


def reduce_table(counts: dict[str, dict], lines: list[dict]) -> str:
    """Sectors of a sum and of columns: loads and stores together."""
    sums, columns = (speeds(lines, op, "bytes") for op in ("sum", "sum_rows"))
    rows = ["| rung | idea | sectors, sum | columns | bank conflicts | GB/s, sum | columns |",
            "|---|---|---|---|---|---|---|",
            f"| 0 | plain path (lab 1) | – | – | – | {sums.get('0', NOT_MEASURED)} | "
            f"{columns.get('0', NOT_MEASURED)} |"]  # fmt: skip
    for rung, idea in ideas("reduce").items():
        one, many = counts[f"{rung} sum"], counts[f"{rung} columns"]
        total = [c["load_sectors"] + c["store_sectors"] for c in (one, many)]
        rows.append(f"| {rung.partition(':')[2]} | {idea} | {total[0]:,} | {total[1]:,} | "
                    f"{one['bank_conflicts'] + many['bank_conflicts']:,} | "
                    f"{sums.get(rung, NOT_MEASURED)} | "
                    f"{columns.get(rung, NOT_MEASURED)} |")  # fmt: skip
    return "\n".join(rows) + "\n"


def softmax_table(lines: list[dict]) -> str:
    speed = speeds(lines, "softmax_xent_fwd", "bytes")
    rows = ["| rung | idea | GB/s |", "|---|---|---|",
            f"| 0 | plain path (lab 3) | {speed.get('0', NOT_MEASURED)} |"]
    rows += [f"| {rung.partition(':')[2]} | {idea} | {speed.get(rung, NOT_MEASURED)} |"
             for rung, idea in ideas("softmax_xent").items()]
    return "\n".join(rows) + "\n"


def put_into(page: str, text: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}"


def tables(lines: list[dict]) -> dict[Path, str]:
    return {PAGE: table(counted(), speeds(lines)),
            REDUCE: reduce_table(run_sectors("reductions"), lines),
            SOFTMAX: softmax_table(lines)}  # fmt: skip


if __name__ == "__main__":
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()] \
        if len(sys.argv) > 1 else []
    for page, text in tables(lines).items():
        page.write_text(put_into(page.read_text(), text))
