"""The walls of a box, in every tier that this machine has. What is refused there succeeds outside:
else a wall would prove nothing."""

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
import sandbox

FOLDER = Path(__file__).resolve().parent
ROOT = sandbox.ROOT
LIMIT_S = 60


def tier_of(letter: str) -> bool:
    return subprocess.run([sandbox.BOX, "tier", sandbox.SECRET], capture_output=True,
                          env=os.environ | {"GRADLAB_TIER": letter}).returncode == 0


assert sandbox.lacking() == "", sandbox.lacking()
TIERS = [letter for letter in "ABC" if tier_of(letter)]


def boxed(tier: str, profile: str, command: list, *options: str, before: tuple = ()):
    return subprocess.run([*before, sandbox.BOX, "run", profile, *options, "--", *command],
                          capture_output=True, text=True, errors="replace", timeout=LIMIT_S,
                          env=os.environ | {"GRADLAB_TIER": tier})


def commands() -> str:
    """Of all processes. (A bare Debian has no ps.)"""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found.append(path.read_text(errors="replace"))
    return "\n".join(found)


@pytest.fixture(scope="session")
def no_namespaces(tmp_path_factory) -> Path:
    program = tmp_path_factory.mktemp("box") / "no_namespaces"
    subprocess.run(["cc", "-o", program, FOLDER / "no_namespaces.c"], check=True)
    return program


def test_as_root_all_tiers_hold():
    assert TIERS == (["A", "B", "C"] if os.geteuid() == 0 else ["B"])


def test_the_self_test_sees_a_missing_wall(tmp_path):
    """Outside of a box there is none."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    done = subprocess.run([sandbox.BOX, "walls", "worker", secret], capture_output=True, text=True)
    holes = {line.split(": ")[2] for line in done.stderr.splitlines()}
    assert done.returncode == 125 and {"it opens files of the grader's", "it has a network",
                                       "it has sockets", "it writes to /tmp"} <= holes


def test_where_no_namespaces_can_be_made_root_has_tier_c(no_namespaces):
    done = subprocess.run([no_namespaces, sandbox.BOX, "tier", sandbox.SECRET], text=True,
                          capture_output=True, env=os.environ | {"GRADLAB_TIER": ""})
    wanted = "C root in a container" if os.geteuid() == 0 else "A: tier A bubblewrap as root needs"
    assert done.stdout.startswith(wanted), done.stdout
    assert boxed("B", "worker", ["/bin/true"], before=(no_namespaces,)).returncode != 0
    if os.geteuid() == 0:
        assert boxed("C", "worker", ["/bin/true"], before=(no_namespaces,)).returncode == 0


@pytest.mark.parametrize("tier", TIERS)
def test_a_workers_shared_memory_is_its_own(tier, tmp_path):
    """As LLVM's OpenMP takes it; nothing of it is seen in /dev/shm."""
    (tmp_path / "main.c").write_text("""#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    int file = shm_open("/gradlab_shared", O_CREAT | O_EXCL | O_RDWR, 0666);
    return file < 0 || ftruncate(file, 1024) != 0 || access("/dev/shm/gradlab_shared", F_OK) == 0 ||
           mmap(0, 1024, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED;
}
""")
    program = tmp_path / "shared"
    subprocess.run(["cc", "-static", "-o", program, tmp_path / "main.c",
                    ROOT / "autograder/worker/worker_shm.c"], check=True)
    tmp_path.chmod(0o755)
    done = boxed(tier, "worker", ["/shared"] if tier == "C" else [program],
                 *([f"tree={tmp_path}"] if tier == "C" else [f"in={tmp_path}", f"see={program}"]))
    assert done.returncode == 0, done.stderr


def test_a_launcher_that_runs_nothing_is_no_tier(tmp_path):
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bwrap").chmod(0o755)
    done = subprocess.run([sandbox.BOX, "tier", sandbox.SECRET], capture_output=True, text=True,
                          env={"PATH": f"{tmp_path}:/usr/bin:/bin", "GRADLAB_TIER": "B"})
    assert done.returncode == 1 and "the self-test did not run" in done.stdout


@pytest.mark.parametrize("tier", TIERS)
class TestTier:
    def test_its_status_is_the_programs(self, tier):
        for profile in ("worker", "build"):
            assert boxed(tier, profile, ["/bin/sh", "-c", "exit 7"]).returncode == 7
            done = boxed(tier, profile, ["/usr/bin/env", "python3", "-c", "import os; os.abort()"])
            assert done.returncode == 128 + 6
        assert boxed(tier, "worker", ["/nonexistent"]).returncode == 125

    def test_a_build_sees_what_it_is_shown_and_leaves_nothing(self, tier):
        script = ("cat tl/include/tl/status.h >/dev/null && echo seen; cat Makefile; "
                  "echo x >build/box/made && cat build/box/made; echo $PATH; ls solution")
        done = boxed(tier, "build", ["/bin/sh", "-c", script], f"in={ROOT}", "see=tl/include",
                     "make=build/box")
        assert done.stdout.split() == ["seen", "x", "/usr/local/bin:/usr/bin:/bin"], done.stdout
        assert done.stderr.count("No such file") == 2, done.stderr
        assert not (ROOT / "build/box/made").exists()

    def test_what_it_is_shown_is_not_written_to(self, tier):
        before = (ROOT / "tl/include/tl/status.h").read_bytes()
        boxed(tier, "build", ["/bin/sh", "-c", "echo x >>tl/include/tl/status.h"], f"in={ROOT}",
              "see=tl/include")
        assert (ROOT / "tl/include/tl/status.h").read_bytes() == before

    def test_a_file_has_an_end(self, tier):
        done = boxed(tier, "build", ["/bin/sh", "-c", "head -c 1200000000 /dev/zero >$TMPDIR/x"])
        assert done.returncode != 0

    def test_a_flood_of_processes_is_bounded_and_ends(self, tier):
        """Each sleeps, so that all would be there at once; what was started ends with the box."""
        mark = f"3{os.getpid()}"
        begin = time.monotonic()
        script = f"for i in $(seq 400); do sleep {mark} & done 2>/dev/null; jobs | wc -l"
        done = boxed(tier, "build", ["/bin/sh", "-c", script])
        assert time.monotonic() - begin < LIMIT_S
        assert "fork" in done.stderr or int(done.stdout or 0) < 100, done
        assert "pytest" in commands() and mark not in commands()

    def test_what_a_build_says_is_cut_and_ends(self, tier):
        script = "{ echo first; yes | head -c 3000000; echo last; } >&2"
        done = boxed(tier, "build", ["/bin/sh", "-c", script])
        assert done.returncode == 0 and len(done.stderr) < 250_000
        assert done.stderr.startswith("first\ny\n") and done.stderr.endswith("y\nlast\n")
        assert re.search(r"^\.\.\. \(27\d{5} more bytes of messages are left out\)$", done.stderr,
                         re.MULTILINE)
        begin = time.monotonic()
        done = boxed(tier, "build", ["/bin/sh", "-c", "yes >&2; sleep 50"])
        assert done.returncode > 128 and time.monotonic() - begin < 30
        assert done.stderr.endswith("box: error: stopped, for it had said more than 4 MB\n")

    def test_builds_of_one_list_have_their_time_together(self, tier, tmp_path):
        (spent := tmp_path / "builds").touch()
        work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3"

        def build(of, script="exit 0"):
            return boxed(tier, "build", ["/bin/sh", "-c", script], f"spent={spent}", f"of={of}")

        assert build("a.c", work).returncode == 3
        ms, failed, name = spent.read_text().split()
        assert int(ms) > 20 and (failed, name) == ("1", "a.c")  # all that ran inside is counted
        assert build("a.c").returncode == 0
        spent.write_text("6000 1 a.c\n9000 0 b.c\n")
        assert "not tried again" in (done := build("a.c")).stderr and done.returncode == 1
        assert build("b.c").returncode == 0
        with spent.open("a") as file:
            file.write("120000 0 c.c\n")
        assert "not tried, for the files" in (done := build("d.c")).stderr and done.returncode == 1
        spent.unlink()
        assert build("a.c").returncode == 125

    def test_nobody_else_can_be_named(self, tier):
        neighbour = subprocess.Popen(["/bin/sleep", "30"])
        try:
            for signal in (0, 9):
                done = boxed(tier, "worker", ["/usr/bin/env", "python3", "-c",
                                              f"import os; os.kill({neighbour.pid}, {signal})"])
                assert done.returncode == 1 and ("PermissionError" in done.stderr
                                                 or "ProcessLookupError" in done.stderr)
            assert neighbour.poll() is None
        finally:
            neighbour.kill()

    @pytest.mark.parametrize("call", [
        "socket.socket()", "socket.socket(socket.AF_UNIX)", "os.setuid(0)",
        "libc.msgctl(libc.msgget(0, 0o1600), 0, None) == 0 or exit(1)",
        "libc.unshare(0x10000000) == 0 or exit(1)",
        "libc.personality(0x40000) >= 0 or exit(1)"],
        ids=["inet", "unix", "root", "message-queue", "namespace", "personality"])
    def test_calls_that_no_lab_needs_are_refused(self, tier, call):
        python = ["/usr/bin/env", "python3", "-c",
                  f"import ctypes, os, socket; libc = ctypes.CDLL(None); {call}"]
        assert boxed(tier, "worker", python).returncode == 1
        if "setuid" not in call or os.geteuid() == 0:
            assert subprocess.run(python).returncode == 0


OWN_USERS = [t for t in TIERS if t != "B"]


def of_own_users(test):
    """In each tier whose boxes are users of their own; who is not root has no such tier, and so no
    such test (one without a tier would be skipped, and named)."""
    return pytest.mark.parametrize("tier", OWN_USERS)(test) if OWN_USERS else None


@of_own_users
def test_boxes_side_by_side_are_different_users(tier):
    """(By user namespace all are nobody, and none sees another.) One that ends, in tier C with all
    of its user's processes, leaves the others alone."""
    script = ["/bin/sh", "-c", "id -u; sleep 3; echo lived"]
    boxes = [subprocess.Popen([sandbox.BOX, "run", "worker", "--", *script], text=True,
                              stdout=subprocess.PIPE, env=os.environ | {"GRADLAB_TIER": tier})
             for _ in range(3)]
    users = [box.stdout.readline().strip() for box in boxes]
    for other in ("A", "C"):
        users.append(boxed(other, "worker", ["/usr/bin/id", "-u"]).stdout.strip())
    assert len(set(users[:3])) == 3 and not set(users[:3]) & set(users[3:]) and all(users), users
    assert [box.communicate(timeout=LIMIT_S)[0].strip() for box in boxes] == ["lived"] * 3


@of_own_users
def test_boxes_of_another_system_are_other_users(tier):
    """Containers and changed roots have a /run of their own, and their processes may be in sight of
    their host's, where tier C ends all of a user's. (Two of a thousand may meet by chance.)"""
    system = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"]
    box = [sandbox.BOX, "run", "worker", "--", "/bin/sh", "-c", "id -u; sleep 3; echo lived"]
    boxes = [subprocess.Popen([*before, *box], text=True, stdout=subprocess.PIPE,
                              env=os.environ | {"GRADLAB_TIER": tier})
             for before in ([], system, system, system)]
    users = [box.stdout.readline().strip() for box in boxes]
    assert all(users) and len(set(users)) >= 3, users
    assert [box.communicate(timeout=LIMIT_S)[0].strip() for box in boxes] == ["lived"] * 4
