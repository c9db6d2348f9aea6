"""make.py: a make of its own, started from within another one."""

import os
import signal
import subprocess


def run(*words: str, timeout: float, **env: str) -> subprocess.CompletedProcess:
    """`make WORDS` in the current folder, with what it said. `env` is added to the environment;
    what was typed for the make around it is not for this one. SIGQUIT does what it does for who
    types the command: a shell's background jobs ignore it, and make gradcheck ends by it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    return subprocess.run(["make", *words], env=kept | env, capture_output=True, text=True,
                          errors="replace", timeout=timeout, preexec_fn=_heed)  # fmt: skip


def _heed() -> None:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
