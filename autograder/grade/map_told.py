"""map_told.py: what the picture of a plane tells: are whole rows of it wrong, or whole columns? And
that of a list: is it wrong from one place on?"""

import re

FEATURES = {"whole_rows", "rows_between", "whole_columns", "columns_between", "from_one_place_on"}
LINE = re.compile(r"[.#]+")


def features(record: dict) -> set:
    """Right rows behind a wrong one, with a wrong one behind them, are "between"."""
    lines = [line for line in record.get("map") or () if LINE.fullmatch(str(line))]
    if len(lines) == 1 and re.fullmatch(r"\.+##+", lines[0]):
        return {"from_one_place_on"}
    if len(lines) < 2 or len(set(map(len, lines))) != 1 or len(lines[0]) < 2:
        return set()
    found = set()
    for name, cut in (("rows", lines), ("columns", ["".join(column) for column in zip(*lines)])):
        told = "".join("#" if set(line) == {"#"} else "." for line in cut)
        if "#" in told and "." in told and all(len(set(line)) == 1 for line in cut):
            found |= {f"whole_{name}"} | ({f"{name}_between"} if "." in told.strip(".") else set())
    return found
