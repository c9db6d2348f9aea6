"""hostile_world.py: what a submission could want of the host, laid out so that harm to it
shows; and a keeper, under which nothing that a command starts can outlive it unseen.
"""

import ctypes
import functools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
GRACE_S = 0.3  # for what is ending anyway
OURS = ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL", "MAKE_TERMOUT", "MAKE_TERMERR",
        "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GRADLAB_TIER",
        # options of make hostile, which make exports; make grade knows some of them, too
        "CASE", "TIER", "JOBS", "QUICK", "LAYERS", "V")


@functools.cache
def entry_of(operation: str) -> int:
    """Where a dispatch table has it, in bytes, as anybody learns from tl/backend.h."""
    with tempfile.TemporaryDirectory(prefix="gradlab-entry-") as folder:
        source, program = Path(folder, "entry.c"), Path(folder, "entry")
        source.write_text('#include <stdio.h>\n#include "tl/backend.h"\nint main(void) { '
                          f'printf("%zu", offsetof(tl_backend, {operation})); }}\n')
        subprocess.run(["cc", f"-I{ROOT / 'tl/include'}", "-o", program, source], check=True)
        return int(subprocess.run([program], capture_output=True, check=True).stdout)


class World:
    """Files with random tokens where a submission might look, listeners that nobody may call, a
    process that nobody may end. Everybody may read and write the files: walls protect them, or
    nothing does."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gradlab-guarded-")
        guarded = Path(self.folder.name)
        guarded.chmod(0o777)
        mark = secrets.token_hex(6)
        self.files = {
            "HOME_FILE": Path.home() / f".gradlab-guarded-{mark}",
            "TMP_FILE": guarded / "secret",
            "SHM_FILE": Path("/dev/shm") / f"gradlab-guarded-{mark}",
            "GRADE_FILE": ROOT / f"build/grade/neighbour-{mark}/lab0/grade.json",
        }
        self.tokens = {name: f"guarded{secrets.token_hex(12)}" for name in self.files}
        for name, path in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.tokens[name] + "\n")
            path.chmod(0o666)
        self.guarded = guarded
        self.calls = []  # who has called
        self.listeners = {}
        for name, kind, address in (("PORT", socket.AF_INET, ("127.0.0.1", 0)),
                                    ("SOCKET", socket.AF_UNIX, f"\0gradlab-guarded-{mark}")):
            self.listeners[name] = self.listen(name, kind, address)
        self.sleeper = subprocess.Popen(["sleep", "100000"])
        self.socket_name = f"gradlab-guarded-{mark}"
        return self

    def listen(self, name: str, kind: int, address) -> socket.socket:
        own = socket.socket(kind, socket.SOCK_STREAM)
        own.bind(address)
        own.listen()

        def answer():
            while True:
                try:
                    caller, _ = own.accept()
                except OSError:
                    return
                self.calls.append(name)
                caller.close()

        threading.Thread(target=answer, daemon=True).start()
        return own

    def __exit__(self, *_):
        for own in self.listeners.values():
            own.shutdown(socket.SHUT_RDWR)
            own.close()
        self.sleeper.kill()
        self.sleeper.wait()
        for path in self.files.values():
            path.unlink(missing_ok=True)
        grades = self.files["GRADE_FILE"].parent
        for folder in (grades, grades.parent):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        self.folder.cleanup()

    def secrets(self) -> list:
        return list(self.tokens.values())

    def fill(self, text: str) -> str:
        """A case knows everything of its host: paths, port, process."""
        known = {**self.files, "ROOT": ROOT, "GUARDED": self.guarded, "PID": self.sleeper.pid,
                 "PORT": self.listeners["PORT"].getsockname()[1], "SOCKET": self.socket_name,
                 "GEMM_ENTRY": entry_of("gemm"), "ADD_ENTRY": entry_of("add")}
        for name, value in known.items():
            text = text.replace(f"@{name}@", str(value))
        return text

    def harm(self) -> list:
        bad = []
        for name, path in self.files.items():
            if not path.is_file():
                bad.append(f"{name} is gone: {path}")
            elif path.read_text(errors="replace") != self.tokens[name] + "\n":
                bad.append(f"{name} was changed: {path}")
        if new := sorted(p.name for p in self.guarded.iterdir() if p.name != "secret"):
            bad.append(f"new files of the host: {', '.join(new)}")
        if self.calls:
            bad.append(f"it has called the host: {', '.join(self.calls[:5])}")
        if self.sleeper.poll() is not None:
            bad.append("it has ended a process of the host")
        return bad


# ---- the keeper ----------------------------------------------------------------------------------


def keep(command: list, limit_s: float, environment: dict, scratch: Path) -> tuple:
    """(exit status, stdout, stderr, {seconds, largest_mb, left}) of a command, in an environment
    without what make or a runner has put there."""
    env = {k: v for k, v in os.environ.items() if k not in OURS} | environment
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        out, err, told = (Path(name, n) for n in ("out", "err", "told"))
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            keeper = subprocess.run([sys.executable, __file__, str(told), str(limit_s), *command],
                                    stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=env)
        alone = json.loads(told.read_text())
        return (keeper.returncode, out.read_bytes().decode("utf-8", "surrogateescape"),
                err.read_bytes().decode("utf-8", "surrogateescape"), alone)


def children() -> list:
    told = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in told.split()]


def running(pid: int) -> str:
    """Its name; of one that has ended, nothing."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return "" if state in "ZX" else f"{Path(f'/proc/{pid}/comm').read_text().strip()} ({pid})"
    except OSError:
        return ""


def leftovers() -> list:
    """What has lost its parent comes to the keeper: named, and ended."""
    names = []
    until = time.monotonic() + 10
    while time.monotonic() < until and (found := children()):
        for pid in found:
            if name := running(pid):
                names.append(name)
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
    return names


def largest_mb() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def keeper(told: Path, limit_s: float, command: list) -> int:
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    begin = time.monotonic()
    process = subprocess.Popen(command, start_new_session=True)
    try:
        status = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        status = 124
    seconds = time.monotonic() - begin
    time.sleep(GRACE_S)
    left = leftovers()
    told.write_text(json.dumps({"seconds": seconds, "largest_mb": largest_mb(), "left": left}))
    return status


if __name__ == "__main__":
    sys.exit(keeper(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
