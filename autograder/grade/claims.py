"""claims.py: what the grader's binary wrote about each claim (claims.jsonl), read with suspicion.

The binary's exit code proves nothing, and nothing the student's program prints gets here: a claim
counts because its line stands in the private file, once, with the run's own device and precision.
"""

import json
from pathlib import Path

SCHEMA = "gradlab-claims/1"
VERDICTS = ("pass", "fail", "error")
# Which of the fields that render shows must have which type; what is absent is not shown.
FIELDS = {
    "call": str, "text": str, "array": str, "bound": str, "output": str, "file": str, "op": str,
    "line": int, "wrong": int, "total": int, "cases": int, "compared": int, "shape": list,
    "index": list, "axes": list, "patterns": list, "map": list, "backtrace": list, "checker": list,
    "got": (int, float, str), "want": (int, float, str), "allowed": (int, float, str),
    "ratio": (int, float, str), "worst": (int, float, str), "cpu_s": (int, float),
    "counters": dict, "said": str, "by_line": list, "window": dict,
    "limit": dict, "output_by_then": int,
}


class LineError(Exception):
    """Why a line cannot be believed."""


def parse_line(line: str) -> dict:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise LineError("is not JSON") from None
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise LineError(f"is not of schema {SCHEMA}")
    for key in ("claim", "device", "real"):
        if not isinstance(record.get(key), str):
            raise LineError(f"lacks {key!r}")
    if not isinstance(record.get("seed"), int):
        raise LineError("lacks 'seed'")
    if record.get("verdict") not in VERDICTS:
        raise LineError(f"has the verdict {record.get('verdict')!r}")
    if record["verdict"] != "pass" and not isinstance(record.get("kind"), str):
        raise LineError("does not say what kind of failure it is")
    for key, kind in FIELDS.items():
        if record.get(key) is None:
            record.pop(key, None)
        elif not isinstance(record[key], kind):
            raise LineError(f"has a {key!r} of the wrong type")
    return record


def read(path: Path, device: str, real: str, expected: set) -> tuple:
    """({claim: record}, [problem]) of one run: only lines that were asked for are kept."""
    records, problems = {}, []
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}, []  # nothing was judged: each claim is missing, and is named as such
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw:
            continue
        try:
            record = parse_line(raw.decode("utf-8", "surrogateescape"))
            name = record["claim"]
            if (record["device"], record["real"]) != (device, real):
                raise LineError(f"speaks of {record['device']}, {record['real']}")
            if name not in expected:
                raise LineError(f"speaks of {name}, which was not asked for")
            if name in records:
                raise LineError(f"is a second one about {name}")
            records[name] = record
        except LineError as error:
            problems.append(f"line {number} of the grader's claims ({device}, {real}) {error}")
    return records, problems
