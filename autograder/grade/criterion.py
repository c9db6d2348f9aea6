"""criterion.py: which tests a Criterion binary holds."""

import re
import subprocess
from pathlib import Path

LIMIT_S = 60


def listed(binary: str | Path, env: dict) -> list:
    """suite/test names as the binary lists them: `suite: 2 tests`, then `|-- name` lines. `env`
    is without CRITERION_*, in LC_ALL=C: names with ASCII in front."""
    names, suite = [], ""
    text = subprocess.run([binary, "--list"], env=env, check=True, timeout=LIMIT_S,
                          capture_output=True, text=True).stdout
    for line in text.splitlines():
        if match := re.match(r"(\S+): \d+ tests?", line):
            suite = match[1]
        elif match := re.match(r"[|`]-- (\S+)", line):
            names.append(f"{suite}/{match[1]}")
    return names
