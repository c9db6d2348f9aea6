"""completing.py: what TAB offers behind make (tools/complete.sh): asked, or typed at a shell."""

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHELLS = {"bash": ("bash", "--noprofile", "--norc", "-i"), "zsh": ("zsh", "-f", "-i")}
FIRST = {"bash": "bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; PS1='$ '",
         "zsh": "unsetopt beep zle_bracketed_paste prompt_sp; PS1='$ '; autoload -Uz compinit; "
                "compinit -u -D"}
LIMIT_S = 60


class Terminal:
    """A shell that somebody types at, with complete.sh of a copy of gradlab switched on."""

    def __init__(self, shell: str, root: Path = ROOT, folder: str = ""):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(root / folder)
            os.environ |= {"TERM": "dumb", "LC_ALL": "C", "COLUMNS": "200"}
            os.execvp(SHELLS[shell][0], SHELLS[shell])
        self.count = 0
        self.typed(FIRST[shell])
        self.typed(f"source {root}/tools/complete.sh; make() {{ printf '<%s>' \"$@\"; echo; }}")

    def read_until(self, wanted: str) -> str:
        text, end = "", time.monotonic() + LIMIT_S
        while wanted not in text:
            ready, _, _ = select.select([self.file], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {wanted!r} in {text!r}"
            text += os.read(self.file, 4096).decode(errors="replace")
        return text

    def typed(self, line: str) -> str:
        """A line, its TABs pressed, and what came of it."""
        self.count += 1
        os.write(self.file, line.encode() + b"\n")
        # (written in two parts, for the terminal says again what is typed)
        os.write(self.file, f"echo 'end'_'{self.count}_'\n".encode())
        return self.read_until(f"end_{self.count}_")

    def make(self, line: str) -> list:
        """The words that make had of it."""
        return re.findall(r"<([^<>]*)>", self.typed(line).split("\n", 1)[1])

    def close(self) -> None:
        os.close(self.file)
        os.waitpid(self.pid, 0)


# ---- bash: what its function is told, and tells -----------------------------------------------

ASK = """compopt() { :; }
COMP_LINE=$1 COMP_POINT=${#1}
_gradlab_bash make
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(line: str, root: Path = ROOT) -> list:
    """What there is to choose from behind this line."""
    done = subprocess.run(["bash", "-c", f"source tools/complete.sh\n{ASK}", "bash", line],
                          cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [word.rstrip() for word in done.stdout.splitlines() if word]
