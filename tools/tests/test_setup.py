"""make setup: what it takes to be missing, what it says of that, and how it fails."""

import http.server
import os
import platform
import shutil
import subprocess
import threading
from pathlib import Path

import machines
import pytest
from conftest import ROOT

LABS = {"gcc", "g++", "libcriterion-dev", "python3", "binutils", "clang"}  # what bare ones want
APT = """case "$*" in
*--print-uris*) echo "'http://mirror/x.deb' x.deb 74000000 SHA256:0" ;;
*) {} >&2; exit 100 ;;
esac"""


@pytest.fixture
def setup(tree, tmp_path, monkeypatch):
    """Runs setup.sh on a machine without some programs and with an apt-get that fails."""
    def run(*goals: str, lacking=(), apt="echo no route to host", user=0, **env: str):
        path = machines.links(tmp_path / "bin", "apt-get", "sudo", "python3.*", *lacking)
        machines.script(path / "apt-get", APT.format(apt))
        machines.script(path / "id", f"echo {user}")  # whoever tests
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith("PIP_") and k != "GRADLAB_DATA"}
        return subprocess.run([tree / "tools/setup.sh", *goals], cwd=tree, text=True,
                              env=kept | {"PATH": str(path)} | env, capture_output=True,
                              timeout=300, stdin=subprocess.DEVNULL)
    return run


BARE = ("gcc*", "g++*", "cc", "c++*", "c[89]9*", "clang*", "nvcc", "python*", "nm", "objdump")


def packages(text: str) -> set:
    """Of `setup: packages: a b c (with …)` or of an apt-get command."""
    lines = [line for line in text.splitlines() if "packages: " in line or "--no-install" in line]
    return set(lines[0].split("packages: ")[-1].split("recommends ")[-1].split(" (with")[0].split())


def test_setup_alone_installs_what_labs_and_training_need(setup):
    done = setup(lacking=BARE, NVCC="none")
    assert LABS <= packages(done.stdout), done.stdout + done.stderr
    assert "74.0 MB to fetch" in done.stdout
    assert "of that clang, about 60 MB, is here for one thing" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("setup: apt-get cannot fetch gcc")


def test_setup_of_a_lab_installs_what_grading_it_needs(setup):
    done = setup("lab3", lacking=("clang*", "objdump"), NVCC="none")
    assert packages(done.stdout) == {"binutils", "clang"}, done.stdout + done.stderr


def test_clang_is_not_installed_where_nvcc_judges(setup, say):
    if not shutil.which("nvcc"):
        say("clang not installed beside nvcc: not tried, no nvcc here")
        return
    done = setup("lab1", lacking=("clang*", "objdump"))
    assert packages(done.stdout) == {"binutils"}, done.stdout + done.stderr
    assert "clang" not in done.stdout


def test_who_is_not_root_gets_one_command(setup):
    done = setup(lacking=BARE, NVCC="none", user=1000)
    last = done.stderr.splitlines()[-1].strip()
    assert done.returncode == 1 and last.startswith("apt-get update && apt-get install -y")
    assert LABS <= packages(done.stderr) and "have root run this" in done.stderr


def test_a_full_disk_is_no_missing_network(setup):
    done = setup("data", lacking=("curl",), apt="echo E: write error: No space left on device")
    assert "(the disk is full)" in done.stderr and "network" not in done.stderr


class Index(http.server.BaseHTTPRequestHandler):
    """A package index that has torch, though no CPU build of it."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        torch = [line.split("==")[1] for line in (ROOT / "baseline/requirements.txt").read_text()
                 .split() if line.startswith("torch==")][0]
        page = f'<a href="torch-{torch}-py3-none-any.whl">torch-{torch}-py3-none-any.whl</a>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())


def test_an_index_that_cannot_be_reached_is_named(setup, say):
    if platform.machine() != "x86_64" or Path("/dev/nvidia0").exists():
        say("an index of CPU builds out of reach: not tried, this machine takes others")
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    nowhere = "http://127.0.0.1:9"
    try:
        done = setup("baseline", PIP_INDEX_URL=f"http://127.0.0.1:{server.server_port}/simple",
                     PIP_CONFIG_FILE="/dev/null", PIP_RETRIES="0", HTTPS_PROXY=nowhere,
                     https_proxy=nowhere, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    finally:
        server.shutdown()
    assert "about 250 MB to fetch, 900 MB on the disk" in done.stdout, done.stdout + done.stderr
    assert "https://download.pytorch.org/whl/cpu cannot be reached" in done.stderr, done.stderr
    assert "in any index" not in done.stderr
