"""Who is to blame for SIGKILL: nobody in a box can send it, nor choose a status that says so, and
no limit of the box's does; so who ended by it was ended from outside (box_end.c)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sandbox
from test_box import LIMIT_S, TIERS, boxed

FAILED, OUTSIDE = 125, 126
PYTHON = ("/usr/bin/env", "python3", "-c")


def named(command: bytes, end: float) -> int:
    """The process that was started by this command."""
    while time.monotonic() < end:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if path.read_bytes() == command:
                    return int(path.parent.name)
            except OSError:  # it has ended meanwhile
                continue
        time.sleep(0.02)
    raise AssertionError(f"{command} was not started")


def ended(tier: str, profile: str, command: list, victim: list, says: str = ""):
    """A box, one of its processes ended from outside as soon as it is there, or has said so."""
    with subprocess.Popen([sandbox.BOX, "run", profile, "--", *command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=os.environ | {"GRADLAB_TIER": tier}) as box:
        try:
            if says:
                assert box.stdout.readline() == says
            pid = named("\0".join([*victim, ""]).encode(), time.monotonic() + LIMIT_S)
            os.kill(pid, signal.SIGKILL)
            said = box.communicate(timeout=LIMIT_S)
        finally:
            box.kill()
    return subprocess.CompletedProcess(command, box.returncode, *said)


def sleeper(number: int) -> list:
    """No other test's."""
    return ["/bin/sleep", f"{number}{os.getpid()}"]


@pytest.mark.parametrize("tier", TIERS)
class TestEnd:
    def test_a_program_that_somebody_outside_ends_is_not_to_blame(self, tier):
        for profile in ("worker", "build"):
            sleep = sleeper(1)
            assert ended(tier, profile, sleep, sleep).returncode == OUTSIDE

    def test_nor_is_a_build_whose_compiler_somebody_ends(self, tier):
        """The shell's status is its own to choose, and so is what it says."""
        sleep = sleeper(2)
        script = ["/bin/sh", "-c", f"{' '.join(sleep)} || exit 1"]
        done = ended(tier, "build", script, sleep)
        assert done.returncode == OUTSIDE and "box: SIGKILL came from outside" in done.stderr
        # a build that goes on to its end is one, and a worker's children are its own affair
        for profile, code in (("build", 0), ("worker", 3)):
            script = ["/bin/sh", "-c", f"{' '.join(sleep)}; exit {code}"]
            assert ended(tier, profile, script, sleep).returncode == code

    def test_a_build_that_was_ended_has_not_failed(self, tier, tmp_path):
        (spent := tmp_path / "builds").touch()
        sleep = sleeper(3)
        command = [sandbox.BOX, "run", "build", f"spent={spent}", "of=a.c", "--", *sleep]
        with subprocess.Popen(command, env=os.environ | {"GRADLAB_TIER": tier}) as box:
            os.kill(named("\0".join([*sleep, ""]).encode(), time.monotonic() + LIMIT_S), 9)
            assert box.wait(LIMIT_S) == OUTSIDE
        assert spent.read_text().split()[1:] == ["0", "a.c"]

    def test_who_took_much_memory_may_have_brought_it_about(self, tier):
        program = [*PYTHON, "import time; x = bytearray(600 << 20); "
                   f"print('memory is there', flush=True); time.sleep({os.getpid()}99)"]
        victim = ["python3", *program[2:]]
        for profile, status in (("worker", 128 + 9), ("build", 1)):
            done = ended(tier, profile, program, victim, "memory is there\n")
            assert done.returncode == status

    def test_who_leaves_others_behind_too(self, tier):
        """Their memory is not its own, and may have been what was too much."""
        program = [*PYTHON, "import os, time; os.fork() or time.sleep(600); "
                   f"time.sleep({os.getpid()}98)"]
        with subprocess.Popen([sandbox.BOX, "run", "worker", "--", *program],
                              env=os.environ | {"GRADLAB_TIER": tier}) as box:
            command = "\0".join(["python3", *program[2:], ""]).encode()
            first = named(command, time.monotonic() + LIMIT_S)
            children = Path(f"/proc/{first}/task/{first}/children")
            while not children.read_text():
                time.sleep(0.02)
            os.kill(first, signal.SIGKILL)
            assert box.wait(LIMIT_S) == 128 + 9

    @pytest.mark.parametrize("profile", ["worker", "build"])
    def test_nobody_inside_can_send_it(self, tier, profile):
        ways = {"import os; os.kill(os.getpid(), 9)": 1,
                "import signal; signal.raise_signal(9)": 128 + signal.SIGSYS,
                "import fcntl; F_SETSIG = 10; fcntl.fcntl(0, F_SETSIG, 9)": 1,
                "import resource as r; r.prlimit(0, r.RLIMIT_CPU, (1, 1))": 1,
                "import os, resource as r; r.prlimit(os.getppid(), r.RLIMIT_NOFILE, (1, 1))": 1,
                "import ctypes, platform as p; "
                "exit(ctypes.CDLL(None).syscall(56 if p.machine() == 'x86_64' else 220, 9, 0, 0, 0,"
                " 0) == -1)": 1}
        for way, status in ways.items():
            assert boxed(tier, profile, [*PYTHON, way]).returncode == status, way
        # outside, each of those that Python has for it does
        assert subprocess.run([sys.executable, "-c", list(ways)[1]]).returncode == -9
        # and what labs and compilers need of these calls they have
        script = ("import ctypes, os, resource as r, subprocess as s; "
                  "assert ctypes.CDLL(None).syscall(436, 99, 200, 0) == 0; "  # close_range
                  "s.run(['/bin/true'], check=True); r.setrlimit(r.RLIMIT_NOFILE, (20, 20)); "
                  "os.abort()")
        assert boxed(tier, profile, [*PYTHON, script]).returncode == 128 + signal.SIGABRT

    def test_a_programs_own_status_says_nothing(self, tier):
        for code in (FAILED, OUTSIDE):
            assert boxed(tier, "worker", ["/bin/sh", "-c", f"exit {code}"]).returncode == 127
        assert boxed(tier, "worker", ["/bin/sh", "-c", "exit 137"]).returncode == 137
        # (of a build it is what a shell says of `box` itself, if that was ended)
        assert boxed(tier, "build", ["/bin/sh", "-c", "exit 137"]).returncode == 1
        assert boxed(tier, "worker", ["/nonexistent"]).returncode == FAILED

    def test_the_limit_of_time_ends_otherwise(self, tier):
        show = ["/bin/sh", "-c", "ulimit -S -t; ulimit -H -t"]
        for profile, seconds in (("worker", "600"), ("build", "20")):
            assert boxed(tier, profile, show).stdout.split() == [seconds, "unlimited"]
        # a machine may have a hard one, which does end with SIGKILL
        spin = ["/bin/sh", "-c", "while :; do :; done"]
        for profile, status in (("worker", 128 + 9), ("build", 1)):
            done = boxed(tier, profile, spin, before=("prlimit", "--cpu=1"))
            assert done.returncode == status

    def test_who_stands_around_the_program_is_out_of_its_reach(self, tier):
        script = ("import os\ntry:\n    open(f'/proc/{os.getppid()}/mem', 'r+b')\n"
                  "except OSError:\n    exit(3)")
        assert boxed(tier, "worker", [*PYTHON, script]).returncode == 3
        if tier == "C":  # its starter is somebody of ours, and is not seen
            return
        sleep = sleeper(4)
        inner = ["/box", "inner", "worker"]
        with subprocess.Popen([sandbox.BOX, "run", "worker", "--", *sleep],
                              env=os.environ | {"GRADLAB_TIER": tier}) as box:
            pid = named("\0".join([*sleep, ""]).encode(), time.monotonic() + LIMIT_S)
            stat = Path(f"/proc/{pid}/stat").read_text()
            first = int(stat.rsplit(")", 1)[1].split()[1])
            assert Path(f"/proc/{first}/cmdline").read_text().split("\0")[:3] == inner
            os.kill(first, signal.SIGKILL)
            assert box.wait(LIMIT_S) == OUTSIDE
