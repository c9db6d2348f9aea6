"""What all programs of baseline/ share: options NAME=value, and lines of JSON with their origin."""

import datetime
import json
import math
import os
import subprocess
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.append(os.path.join(ROOT, "tools"))
import sources  # noqa: E402
from options import OptionError as UsageError  # noqa: E402
from options import parse as parse_options  # noqa: E402, F401
from options import refuse_rest, take_choice, take_number  # noqa: E402, F401


def cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def busy_share(seconds=0.5):
    """Share of the processor, 0..1, that others take while this program waits; None if unknown.

    The load average would also count what this program's caller measured a moment ago.
    """

    def ticks():
        with open("/proc/stat", encoding="utf-8") as file:
            numbers = [int(n) for n in file.readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]  # all; idle, and idle while a disk works

    try:
        before = ticks()
        time.sleep(seconds)
        after = ticks()
    except (OSError, ValueError, IndexError):
        return None
    total, idle = after[0] - before[0], after[1] - before[1]
    return 1 - idle / total if total > 0 else None


def use_fp32_only():
    """No TF32 and no bfloat16 behind a float32 call: both sides compute in equal precision."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


def use_quickest_fp32():
    """For every program that times PyTorch: float32, and of cuDNN's algorithms the quickest.

    cuDNN tries them at the first call of a new shape, so that all shapes must have been run before
    a clock is started or a graph captured. Which one wins may differ from run to run, and with it
    the last bits: what is compared bit by bit or step by step (parity.py) does without.
    """
    use_fp32_only()
    torch.backends.cudnn.benchmark = True


def pick_device(name):
    """torch.device of DEVICE=auto|cpu|cuda; auto means a GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("DEVICE=cuda: this PyTorch sees no GPU; use DEVICE=cpu")
    return torch.device(name)


def _git(*arguments):
    """Output of a git command in the repository, or None where there is no git or no repository."""
    try:
        done = subprocess.run(
            ["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _sources():
    """Of this program: baseline/, and Python with its libraries (tools/sources.py)."""
    libraries = f"{sys.version} {torch.__version__} {torch.__config__.show()}"
    return sources.of_folder(HERE) + sources.digits(libraries.encode())


def origin(program):
    """The fields of DESIGN section 5 that are the same for every line of one run."""
    commit = os.environ.get("GRADLAB_COMMIT") or _git("rev-parse", "HEAD") or "unknown"
    changes = _git("status", "--porcelain", "--", ".", ":(exclude)results")
    return {
        "commit": commit,
        "dirty": int(bool(changes)),
        "sources": _sources(),
        "program": program,
        "framework": "pytorch",
        "torch": torch.__version__,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "machine": _machine(),
    }


def _machine():
    """Model name of the cpu, as the trainer reports it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line[:10] == "model name"]
    except OSError:
        names = []
    return names[0] if names else "unknown cpu"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class LineWriter:
    """Writes JSON objects, one a line; each is flushed, so that a killed run leaves whole lines.

    `truncate` starts the file anew (a run's own log); without it lines are added (results).
    """

    def __init__(self, path, common, truncate=False):
        self.common = common
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            self.file = open(path, "w" if truncate else "a", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def write(self, **fields):
        # JSON has no NaN: a number that is none becomes null, and the line stays readable
        line = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in {**fields, **self.common, "time": now()}.items()
        }
        # Python writes as many digits of a double as are needed to read the same double back
        self.file.write(json.dumps(line, allow_nan=False) + "\n")
        self.file.flush()


def read_lines(path):
    """All JSON objects of a file; UsageError if it is missing or a line is not JSON."""
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}: not JSON lines: {error}") from None
