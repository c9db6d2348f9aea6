"""sandbox.py: bubblewrap's sandbox around the process that holds a student's code, where it works.

Inside there are the system's libraries, the worker's own folder, both read-only, and an empty /tmp:
no repository with its solution, no network, no other process. The grader starts a worker by the
script that is written here (GRADLAB_SANDBOX). On a GPU its driver needs more than that, and a
sanitizer looks around: there the worker is a process of its own and no more. What others wrote is
judged in a sandbox or not at all (submission.py, grade.py).
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives",
          "/etc/ld.so.cache")
# bubblewrap before 0.8 lacks these: no namespaces within the namespaces, and a small /tmp.
NEWER = "--disable-userns --size 33554432"
SCRIPT = """#!/bin/sh
# started by the grader: {name} WORKER
folder=${{1%/*}}
exec bwrap --unshare-user --unshare-all --uid 65534 --gid 65534 --die-with-parent --new-session \\
    --cap-drop ALL {system} --proc /proc --dev /dev {newer} --tmpfs /tmp \\
    {more} --ro-bind "$folder" "$folder" --remount-ro / --chdir /tmp -- "$1"
"""


def bound(path: str) -> str:
    """/bin is a link to usr/bin on most systems, and a folder on others."""
    if path in SYSTEM and Path(path).is_symlink():
        return f"--symlink {Path(path).readlink()} {path}"
    return f"--ro-bind {shlex.quote(path)} {shlex.quote(path)}" if Path(path).exists() else ""


def libraries(programs: list) -> list:
    """What the programs are linked with and the system's folders do not hold: an OpenBLAS that
    somebody has built, say."""
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, errors="replace",
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}).stdout
    found = sorted(set(re.findall(r"(?:=> |^\s+)(/.+) \(0x", told, re.MULTILINE)))
    return [path for path in found if not path.startswith(tuple(f"{s}/" for s in SYSTEM))]


def write(script: Path, programs: list) -> str:
    """Writes the script for these workers and plug-ins, and tries it; returns why there can be no
    sandbox here, or an empty string. Containers differ in what they allow: only a trial tells."""
    try:
        more = " ".join(map(bound, libraries(programs) if programs else []))
    except FileNotFoundError:
        return "there is no ldd that says which libraries a worker needs"
    system = " ".join(filter(None, map(bound, SYSTEM)))
    reason = ""
    with tempfile.TemporaryDirectory(prefix="gradlab-") as folder:
        trial = Path(folder, "worker")
        trial.write_text("#!/bin/sh\nexit 0\n")
        trial.chmod(0o755)
        for newer in (NEWER, ""):
            script.write_text(SCRIPT.format(name=script.name, system=system, newer=newer,
                                            more=more))
            script.chmod(0o700)
            try:
                done = subprocess.run([script, trial], stdin=subprocess.DEVNULL, timeout=20,
                                      capture_output=True, text=True, errors="replace")
            except subprocess.TimeoutExpired:
                return "bwrap does not come back"
            if done.returncode == 0:
                return ""
            reason = reason or (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    if "not found" in reason:
        return "bubblewrap is not installed (apt-get install bubblewrap)"
    return f"bubblewrap does not work here: {reason}"


def lacking() -> str:
    """Why this machine can build no sandbox, or an empty string."""
    with tempfile.TemporaryDirectory(prefix="gradlab-") as folder:
        return write(Path(folder, "sandbox"), [])


def main() -> int:
    """For `make doctor`: whether this machine has a sandbox, else why not."""
    reason = lacking()
    print(reason or "bubblewrap")
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
