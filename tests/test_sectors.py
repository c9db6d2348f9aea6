"""What hostcuda counts of a warp's accesses, against a GPU's profiler: results/h200/sectors.jsonl.

The part that measures runs here as well, with programs that stand in for nvcc, ncu and nvidia-smi.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gpu_sectors
import ladder
import pytest
import sectors

ROOT = Path(__file__).resolve().parents[1]

# Nsight Compute on an H200 of the given kernel of conv3x3, with -G and -O3, 3 and 120 blocks.
GIVEN = {"load_sectors": 186112, "store_sectors": 3840, "load_requests": 67584,
         "store_requests": 960}  # fmt: skip


@pytest.fixture(scope="module")
def counted():
    program = ROOT / sectors.PROGRAM
    assert program.exists(), f"no {sectors.PROGRAM}: make {sectors.PROGRAM}"
    done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=300)
    return sectors.read_lines(done.stdout)


def test_the_given_convolution_counts_as_on_a_gpu(counted):
    """Lanes that skip a pixel outside of the image do not split the warp's request."""
    assert {figure: counted["conv3x3_given"][figure] for figure in GIVEN} == GIVEN


def test_counts_are_a_gpus(counted):
    measured = sectors.read_lines((ROOT / sectors.MEASURED).read_text())
    assert len(measured) >= 20
    assert sectors.differences(counted, measured) == []


def test_the_header_says_what_the_given_kernel_costs(counted):
    text = (ROOT / "tl/include/tl/conv3x3.h").read_text()
    given = counted["conv3x3_given"]
    total = given["load_sectors"] + given["store_sectors"]
    assert re.search(r"TL_CONV3X3_GIVEN = (\d+)", text)[1] == str(total)


def the_ladders_page_has_what_is_counted():
    row = re.compile(r"^\| (\d+) \|.*?\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", re.M)
    said = {f"gemm:{rung}": [int(figure.replace(",", "")) for figure in figures]
            for rung, *figures in row.findall(ladder.PAGE.read_text())}  # fmt: skip
    assert said == {rung: [c["load_sectors"], c["store_sectors"], c["bank_conflicts"]]
                    for rung, c in ladder.counted().items() if "gemm:" in rung}  # fmt: skip


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (half a minute: it counts products of 512 rows)
    test_the_ladders_page_has_what_is_counted = the_ladders_page_has_what_is_counted


def test_the_pages_of_reductions_have_what_is_counted_and_no_figure_of_nowhere():
    """Counts in, speeds replaced: a page is what the script makes of it."""
    counts = ladder.run_sectors("reductions")
    measured = re.compile(r" [\d,]+ \|(?: [\d,]+ \|)?$")
    for page, text in ((ladder.REDUCE, ladder.reduce_table(counts, [])),
                       (ladder.SOFTMAX, ladder.softmax_table([]))):  # fmt: skip
        said = page.read_text().partition(ladder.BEGIN)[2].partition(ladder.END)[0].strip()
        missing = ladder.NOT_MEASURED
        for line, made in zip(said.splitlines(), text.strip().splitlines(), strict=True):
            speeds = made.count(missing)
            assert line.rsplit("|", speeds + 1)[0] == made.rsplit("|", speeds + 1)[0]
            assert not speeds or missing in line or measured.search(line)


def test_from_rung_4_on_reduce_loads_each_sector_once():
    counts = ladder.run_sectors("reductions")
    for what, numbers in (("sum", 1 << 18), ("columns", 64 * 1024)):
        least = numbers * 4 // 32
        loads = {n: counts[f"reduce:{n} {what}"]["load_sectors"] for n in range(1, 7)}
        left = counts[f"reduce:6 {what}"]["store_sectors"]  # by its first launch, for the second
        assert (loads[4], loads[5]) == (least, least) and least < loads[6] <= least + left
        assert loads[1 if what == "sum" else 2] == 8 * least
    assert all(c["bank_conflicts"] == 0 for c in counts.values())


def test_speeds_of_a_reduction_are_bytes_a_second():
    line = {"kind": "ladder", "op": "sum", "cache": "warm", "rung": "reduce:6", "flops": 1e6,
            "device": "cuda"}  # fmt: skip
    lines = [line | {"bytes": 4e9, "median": 1e-3}]
    counts = {f"reduce:{n} {what}": dict.fromkeys(("load_sectors", "store_sectors",
                                                   "bank_conflicts"), 0)
              for n in range(1, 7) for what in ("sum", "columns")}  # fmt: skip
    last = ladder.reduce_table(counts, lines).splitlines()[-1]
    assert last.endswith("| 4,000 | not measured |")


def test_lab_1s_limit_is_that_of_plain_tiles_and_right_for_more_designs_than_one():
    text = (ROOT / "tl/include/tl/matmul.h").read_text()
    size = int(re.search(r"tl_matmul_counted = \{(\d+), \1, \1, 0, 0, 0\}", text)[1])
    total = {case: c["load_sectors"] + c["store_sectors"]
             for case, c in ladder.counted(size).items()}  # fmt: skip
    plain = int(re.search(r"TL_MATMUL_PLAIN_TILES = (\d+)", text)[1])
    limit = plain * 13 // 10
    assert "TL_MATMUL_SECTORS = TL_MATMUL_PLAIN_TILES * 13 / 10" in text
    assert total["multiply_tiles"] == plain
    plainly = f"of such a block without them {total['multiply_plainly']:,}"
    assert plainly in text.replace("\n * ", " ")
    rungs = {case for case in total if case.startswith("gemm:")}
    inside = {"multiply_tiles", "matmul"} | rungs - {"gemm:1", "gemm:2"}
    assert {case for case, sectors in total.items() if sectors <= limit} == inside, total


# The plain design of each rung of lab 5's ladder.
PLAIN = {0: "0:given", 1: "1:places_by_4", 2: "2:pixels_32x8_by_4", 3: "3:tile_16x16_by_8",
         4: "4:tile_32x8_by_16", 5: "5:four_places_32x8"}  # fmt: skip
MEASURED_CONVOLUTIONS = ROOT / "results/h200/conv3x3.jsonl"
RUNGS = (1, 2, 3, 4, 5)


def constants_of_the_convolution() -> dict:
    text = (ROOT / "tl/include/tl/conv3x3.h").read_text()
    found = {name: int(value) for name, value in re.findall(r"TL_CONV3X3_(\w+) = (\d+)", text)}
    for rung, plain, tenths in ((1, "CHANNELS", 13), (2, "PIXELS", 11), (3, "WEIGHTS", 12)):
        assert f"TL_CONV3X3_RUNG_{rung} = TL_CONV3X3_{plain} * {tenths} / 10" in text
        found[f"RUNG_{rung}"] = found[plain] * tenths // 10
    assert "TL_CONV3X3_RUNG_4 = TL_CONV3X3_LEAST * 8 / 5" in text
    n, c, k, h, w = (found[name] for name in ("N", "C", "K", "HIGH", "WIDE"))
    found["LEAST"] = (n * (c + k) * h * w + k * c * 9) * 4 // 32
    found["RUNG_4"] = found["RUNG_5"] = found["LEAST"] * 8 // 5
    assert "TL_CONV3X3_RUNG_5_REQUESTS = TL_CONV3X3_FOUR_PLACES * 4 / 3" in text
    found["RUNG_5_REQUESTS"] = found["FOUR_PLACES"] * 4 // 3
    return found


@pytest.fixture(name="designs", scope="module")
def fixture_designs(counted):
    said = subprocess.run([ROOT / sectors.PROGRAM, "convolutions"], check=True,
                          capture_output=True, text=True, timeout=300).stdout  # fmt: skip
    return sectors.read_lines(said)


def sectors_in_all(designs) -> dict:
    return {case: d["load_sectors"] + d["store_sectors"] for case, d in designs.items()}


def tables_of_lab_5() -> list[list[str]]:
    page = (ROOT / "labs/lab5/conv3x3.md").read_text(encoding="utf-8").replace(",", "")
    return [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in page.splitlines() if line.startswith("| ")]  # fmt: skip


def test_lab_5s_limits_are_those_of_plain_designs(designs):
    limit, total = constants_of_the_convolution(), sectors_in_all(designs)
    plain = {"GIVEN": 0, "CHANNELS": 1, "PIXELS": 2, "WEIGHTS": 3}
    assert {name: limit[name] for name in plain} == {n: total[PLAIN[r]] for n, r in plain.items()}
    for name, rung in {"ONE_PLACE": 4, "FOUR_PLACES": 5}.items():
        assert limit[name] == designs[PLAIN[rung]]["shared_requests"]


def test_each_of_lab_5s_limits_refuses_the_rung_below(designs):
    limit, total = constants_of_the_convolution(), sectors_in_all(designs)
    for rung in RUNGS[:-1]:
        assert total[PLAIN[rung]] <= limit[f"RUNG_{rung}"] < total[PLAIN[rung - 1]]
    below, last = (designs[PLAIN[rung]]["shared_requests"] for rung in RUNGS[-2:])
    assert last <= limit["RUNG_5_REQUESTS"] < below


def test_each_of_lab_5s_rungs_takes_its_designs_and_none_of_the_rung_below(designs):
    """The last two only without conflicts of banks, the last with few requests, too."""
    limit, total = constants_of_the_convolution(), sectors_in_all(designs)
    assert limit["RUNG_4_CONFLICTS"] == 0
    reached = {}
    for case, d in designs.items():
        holds = {5: d["shared_requests"] <= limit["RUNG_5_REQUESTS"] and d["bank_conflicts"] == 0,
                 4: d["bank_conflicts"] == 0}  # fmt: skip
        reached[case] = tuple(rung for rung in RUNGS if total[case] <= limit[f"RUNG_{rung}"]
                              and holds.get(rung, True))  # fmt: skip
    for rung in (0, *RUNGS):
        mine = {case: rungs for case, rungs in reached.items() if case.startswith(f"{rung}:")}
        assert len(mine) >= (3 if rung == 5 else 2)
        assert set(mine.values()) == {tuple(range(1, rung + 1))}, mine


def test_lab_5s_handout_says_these_counts_and_limits(designs):
    limit, total, rows = constants_of_the_convolution(), sectors_in_all(designs), tables_of_lab_5()
    ladder = {row[0]: row[1:] for row in rows if len(row) == 6 and row[0].isdigit()}
    allowed = {str(rung): str(limit[f"RUNG_{rung}"]) for rung in RUNGS}
    allowed |= {"0": "", "5": f"{limit['RUNG_5_REQUESTS']} requests"}
    assert {rung: row[1] for rung, row in ladder.items()} == allowed
    assert all(row[3:] == ["", ""] for row in ladder.values())  # predicted, and measured
    assert f"close to the least {limit['LEAST']}" in ladder["4"][0]
    worked = {"1 the given kernel": PLAIN[0], "4 nothing shared (rung 1)": PLAIN[1],
              "4 blocks of 32 x 8 places that share pixels (rung 2)": PLAIN[2],
              "4 and weights too": "2:tile_32x8_by_4",
              "8 blocks of 16 x 16 places (rung 3)": PLAIN[3],
              "16 blocks of 32 x 8 places (rung 4)": PLAIN[4]}  # fmt: skip
    shown = {row[0]: row[1:] for row in rows if len(row) == 5 and row[0] in worked}
    assert set(shown) == set(worked)
    for name, case in worked.items():
        pixels, weights, stores, in_all = map(int, shown[name])
        assert pixels + weights == designs[case]["load_sectors"]
        assert [stores, in_all] == [designs[case]["store_sectors"], total[case]]
    shown = {row[0]: row[1:] for row in rows if len(row) == 6}
    requests = {"one every time (rung 4)": PLAIN[4], "one pixels once": "4:one_place_32x8",
                "two": "4:two_places_32x8", "four (rung 5)": PLAIN[5]}  # fmt: skip
    blocks, fetching = 12 * limit["C"], 11 + 5  # times input channels; tile and weights of a block
    for name, case in requests.items():
        pixels, weights, in_all, warps, counted = map(int, shown[name])
        assert pixels + weights == in_all and counted == designs[case]["shared_requests"]
        assert counted == blocks * (fetching + warps * in_all)


@pytest.fixture(name="measured_convolutions", scope="module")
def fixture_measured_convolutions():
    """Of each design its line at both shapes, the smaller one first."""
    lines = [json.loads(line) for line in MEASURED_CONVOLUTIONS.read_text().splitlines()]
    assert {line["gpu"] for line in lines} == {"NVIDIA H200"}
    at = [{line["case"]: line for line in lines if (line["n"], line["c"], line["k"]) == shape}
          for shape in gpu_sectors.SHAPES]  # fmt: skip
    return {case: (at[0][case], at[1][case]) for case in at[0]}


def test_each_of_lab_5s_rungs_is_quicker_on_a_gpu_at_both_shapes(measured_convolutions):
    for rung in RUNGS:
        below, above = (measured_convolutions[PLAIN[r]] for r in (rung - 1, rung))
        for slow, quick in zip(below, above, strict=True):
            assert max(quick["us_of_runs"]) < min(slow["us_of_runs"])
            assert rung == 5 or quick["load_sectors"] < slow["load_sectors"]


def test_whatever_reaches_lab_5s_last_rung_is_quicker_than_the_one_below(measured_convolutions,
                                                                         designs):  # fmt: skip
    last = {case for case in designs if case.startswith("5:")} - {"5:solution"}
    for case in last:
        for slow, quick in zip(measured_convolutions[PLAIN[4]], measured_convolutions[case],
                               strict=True):  # fmt: skip
            assert max(quick["us_of_runs"]) < min(slow["us_of_runs"]), case


def test_lab_5s_handout_says_what_was_measured(measured_convolutions):
    rows = tables_of_lab_5()
    shown = {row[0]: row[1:] for row in rows if len(row) == 5}
    for rung, case in PLAIN.items():
        said = []
        for line in measured_convolutions[case]:
            million = (line["load_sectors"] + line["store_sectors"]) / 1e6
            said += [f"{million:.2f}", f"{line['us']:.1f}"]
        assert shown[str(rung)] == said
    beside = {"one channel a thread pixels in shared memory": "1:pixels_32x8",
              "one channel a thread weights there too": "2:tile_32x8",
              "16 channels a thread blocks of 16 x 16 places with conflicts": "3:tile_16x16_by_16",
              "one channel a thread as given but `int` for `size_t`": "0:places_by_1",
              "one place a thread weights read four at a time": "5:vectors_32x8",
              "two places a thread blocks of 32 x 8 places": "5:two_places_32x8",
              "two places a thread blocks of 32 x 24 places": "5:two_places_32x24"}  # fmt: skip
    shown = {row[0]: row[1:] for row in rows if len(row) == 3}
    for name, case in beside.items():
        assert shown[name] == [f"{line['us']:.1f}" for line in measured_convolutions[case]]


def test_the_ladders_speeds_are_those_of_the_largest_shape():
    line = {"kind": "ladder", "op": "gemm", "cache": "warm", "rung": "gemm:6", "device": "cuda"}
    lines = [line | {"flops": 2e9, "median": 1e-3}, line | {"flops": 1e9, "median": 1e-9},
             line | {"flops": 2e9, "median": 1, "cache": "cold"},
             line | {"flops": 2e9, "median": 1, "device": "cpu"}]  # fmt: skip
    library = {"kind": "ladder_rounded", "rung": "0", "flops": 2e9}
    lines += [line | library | {"precision": "tf32", "median": 1e-4},
              line | library | {"precision": "bf16", "median": 5e-5}]  # fmt: skip
    assert ladder.speeds(lines) == {"gemm:6": "2,000", "0 tf32": "20,000", "0 bf16": "40,000"}


# ---- measuring, without a GPU ----

FAKES = {
    # the same program, as nvcc would build it
    "nvcc": """case $1 in --version) echo "release 13.0, V13.0.88"; exit;; esac
while [ "$1" != -o ]; do shift; done
cp "$SECTORS" "$2" """,
    "nvidia-smi": "echo 'NVIDIA H200, 580.1'",
    # ncu: the program's own counts; what a case launches behind its first kernel counts nothing
    "ncu": '''case $1 in --version) echo "Version 2025.3.1.0 (build 1)"; exit;; esac
exec "$PYTHON" - "$@" <<'END'
import csv, json, subprocess, sys
log, *program = sys.argv[sys.argv.index("--log-file") + 1:]
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
figures = ["load_sectors", "store_sectors", "load_requests", "store_requests", "bank_conflicts",
           "ns"]
said = subprocess.run(program, check=True, capture_output=True, text=True).stdout
with open(log, "w", newline="") as file:
    print("==PROF== Connected to process 1 (/tmp/sectors)", file=file)
    out = csv.writer(file, quoting=csv.QUOTE_ALL)
    out.writerow(["ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit",
                  "Metric Value"])
    number = 0
    for line in map(json.loads, said.splitlines()):
        for k in range(line["kernels"]):
            for metric, figure in zip(metrics, figures):
                value = line.get(figure, 1234567) if k == 0 else 0
                out.writerow([number, "kernel", "Command line profiler metrics", metric, "sector",
                              f"{value:,}"])
            number += 1
END''',
}


@pytest.fixture(name="machine")
def fixture_machine(tmp_path, monkeypatch):
    """A PATH on which the programs of a GPU machine seem to lie."""
    for name, text in FAKES.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("SECTORS", str(ROOT / sectors.PROGRAM))
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.chdir(ROOT)
    return tmp_path


def test_a_measurement_becomes_lines_that_agree(machine, counted, monkeypatch):
    out = machine / "sectors.jsonl"
    monkeypatch.setattr(gpu_sectors, "SHAPES", ((1, 4, 16),))
    monkeypatch.setattr(gpu_sectors, "RUNS", 1)
    assert gpu_sectors.main(str(out), "sm_90") == 0
    measured = sectors.read_lines(out.read_text())
    assert measured.keys() == counted.keys()
    line = measured["softmax_xent_fwd"]
    assert line["kind"] == "sectors" and line["gpu"] == "NVIDIA H200"
    assert line["G"]["load_sectors"] == counted["softmax_xent_fwd"]["load_sectors"]
    assert sectors.differences(counted, measured) == []
    assert "| conv3x3_given | 186,112 + 3,840 | 186,112 + 3,840 |" in sectors.table(counted,
                                                                                   measured)
    designs = sectors.read_lines((machine / "conv3x3.jsonl").read_text())
    given, best = designs["0:given"], designs["5:solution"]
    assert given["kind"] == "conv3x3" and given["n"] == 1 and given["gpu"] == "NVIDIA H200"
    assert given["us"] == 1234.567 and len(given["us_of_runs"]) == gpu_sectors.RUNS
    assert given["load_sectors"] == 186112 // 2 and best["load_sectors"] < 186112 // 20


def test_a_count_that_is_3_percent_off_is_told(counted):
    measured = {case: line | {"G": dict(line), "O3": dict(line), "gpu": "NVIDIA H200"}
                for case, line in counted.items()}  # fmt: skip
    measured["conv3x3_given"]["G"]["load_sectors"] = 180500
    measured.pop("add")
    assert sectors.differences(counted, measured) == [
        "add: not measured",
        "conv3x3_given: 186112 load_sectors, and 180500 on the NVIDIA H200 (-G)"]  # fmt: skip


def test_a_launch_too_many_is_refused(counted):
    cases = list(counted.values())
    launches = [dict.fromkeys(gpu_sectors.METRICS, 1)] * (len(cases) + 2)
    with pytest.raises(SystemExit, match="launch .* kernels, and ncu has seen"):
        gpu_sectors.cut_into_cases(cases, launches)


def test_a_metric_that_ncu_does_not_know_is_told():
    log = '"ID","Metric Name","Metric Value"\n"0","' + gpu_sectors.METRICS["load_sectors"] + '","7"'
    with pytest.raises(SystemExit, match="bank_conflicts, .* for launch 0"):
        gpu_sectors.read_launches(log, gpu_sectors.METRICS)
