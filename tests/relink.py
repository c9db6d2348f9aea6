"""relink.py: a program or a plug-in of the reference with one function that is not written yet."""

import subprocess
from pathlib import Path

import make

ROOT = Path(__file__).resolve().parents[1]


def link_command(goal: str) -> str:
    """What make would type to link the goal, all of whose objects are there."""
    done = make.run("-C", str(ROOT), "-nB", "V=1", goal, timeout=120)
    lines = [line for line in done.stdout.split("\n") if f" -o {goal} " in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


def unwritten(goal: str, name: str, header: str, kind: str, parameters: str, value: str,
              folder: Path) -> Path:
    """folder/<goal's name>, where the function ends as its skeleton does: it leaves a line, and
    `value` is what it returns. Its calls from other files than its own go there."""
    source, target = folder / "unwritten.c", folder / Path(goal).name
    source.write_text(f'''#include <math.h>
#include "tl/{header}.h"
{kind} __wrap_{name}({parameters});
{kind} __wrap_{name}({parameters}) {{
    tl_status status = TL_FAIL(TL_ENOTIMPL, "{name} is not implemented yet");
    (void)status;
    return {value};
}}
''')
    compiled = source.with_suffix(".o")
    subprocess.run(["gcc", "-Itl/include", "-fPIC", "-c", "-o", compiled, source], cwd=ROOT,
                   check=True, timeout=60)  # fmt: skip
    command = link_command(goal).replace(f" -o {goal} ", f" -o {target} {compiled} ")
    subprocess.run(f"{command} -Wl,--wrap={name}", shell=True, cwd=ROOT, check=True, timeout=60)
    return target
