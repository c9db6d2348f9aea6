"""blas_said.py: what hostcuda's cuBLAS says of an operand, against what the call says of ours.

By columns our B is cuBLAS's first operand, which it calls A. As it lies in memory it has rows of n
elements, or of k if it is stored transposed: these are the rows that cuBLAS has to believe in, and
where it believes in others it was told the other transposition.
"""

import re

ROWS = re.compile(r"the leading dimension of ([AB]) is \d+, but it has (\d+) rows")
CALL = re.compile(r"gemm C\[(\d+),(\d+)\] \+?= A(\(transposed\))? B(\(transposed\))?, k = (\d+)")


def takes_other_flag(record: dict) -> bool:
    """Whether the operand's flag is wrong, and not its leading dimension."""
    rows, call = ROWS.search(record.get("text") or ""), CALL.match(record.get("call") or "")
    if not rows or not call:
        return False
    m, n, k = int(call[1]), int(call[2]), int(call[5])
    lengths = (n, k) if rows[1] == "A" else (k, m)  # of our B's rows, of our A's: as it is, turned
    turned = bool(call[4] if rows[1] == "A" else call[3])
    return int(rows[2]) == lengths[not turned] != lengths[turned]
