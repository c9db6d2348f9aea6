"""data/fetch.sh against a server that does everything a bad network does."""

import fcntl
import gzip
import hashlib
import http.server
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

FETCH = Path(__file__).with_name("fetch.sh")
SIZES = {"train-images-idx3-ubyte": 47040016, "train-labels-idx1-ubyte": 60008,
         "t10k-images-idx3-ubyte": 7840016, "t10k-labels-idx1-ubyte": 10008}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The four files of MNIST in size, though not in content: fetch.sh knows sizes and sums."""
    folder = tmp_path_factory.mktemp("archives")
    for name, size in SIZES.items():
        noise = bytes(i * i % 251 for i in range(5000))  # so that an archive has some length
        data = (noise * (size // 5000 + 1))[:size]
        (folder / f"{name}.gz").write_bytes(gzip.compress(data, compresslevel=1, mtime=0))
    return folder


class Server(http.server.BaseHTTPRequestHandler):
    """The first part of the path says how this mirror behaves; ranges are served."""

    archives: Path

    def log_message(self, *_):
        pass

    def do_GET(self):
        # (as a proxy it is asked for whole addresses)
        _, manner, name = self.path.removeprefix("http://mirror.example").split("/")
        data = (self.archives / name).read_bytes()
        start = 0
        if (wanted := self.headers.get("Range")) and manner != "norange":
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if manner == "refuse":
            return self.send_error(503, "busy")
        if manner == "redirect":
            self.send_response(302)
            self.send_header("Location", f"/good/{name}")
            return self.end_headers()
        if manner == "html":
            data, start = b"<html>Please log in</html>", 0
        if manner == "corrupt":
            data = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
        if manner == "long":
            data += bytes(4 << 20)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if manner != "long":  # its length shows only while it comes
            self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        body = data[start:]
        if manner in ("truncate", "stall"):
            body = body[: len(body) // 2]
        self.wfile.write(body)
        if manner == "stall":
            self.wfile.flush()
            time.sleep(6)


@pytest.fixture(scope="module")
def server(archives):
    Server.archives = archives
    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=http_server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http_server.server_port}"
    http_server.shutdown()


def fetch(folder, archives, server, *manners, source="", before=(), **env):
    """Runs fetch.sh with one mirror per manner, in order; returns the finished process. `before`:
    words in front of the command."""
    table = folder.parent / "mirrors.tsv"
    rows = []
    for name in SIZES:
        data = (archives / f"{name}.gz").read_bytes()
        for manner in manners or ("good",):
            rows.append(f"mnist\t{name}.gz\t{len(data)}\t{hashlib.sha256(data).hexdigest()}"
                        f"\t{server}/{manner}/{name}.gz\n")
    table.write_text("# a table\n" + "".join(rows))
    clean = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    return subprocess.run([*before, FETCH, "mnist", folder, *([source] if source else [])],
                          env=clean | {"MIRRORS": str(table), "PATIENCE": "2"} | env,
                          capture_output=True, text=True, timeout=120)


def whole(folder) -> bool:
    return all((folder / "mnist" / name).stat().st_size == size for name, size in SIZES.items())


def nothing_half_written(folder) -> bool:
    return not (folder / "mnist").exists()


def test_a_good_mirror_gives_a_checked_set(tmp_path, archives, server):
    folder = tmp_path / "data"
    done = fetch(folder, archives, server)
    assert done.returncode == 0 and whole(folder), done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["mnist"]
    again = fetch(folder, archives, server, "refuse")  # needs no network the second time
    assert again.returncode == 0 and "every file has its sum" in again.stdout


@pytest.mark.parametrize("manner, said", [
    ("refuse", "503"), ("html", "is not the archive"), ("corrupt", "is not the archive"),
    ("long", "more than the archive's"), ("truncate", "broke off"), ("stall", "stalled"),
])
def test_the_next_mirror_takes_over(tmp_path, archives, server, manner, said):
    folder = tmp_path / "data"
    done = fetch(folder, archives, server, manner, "good")
    assert done.returncode == 0 and whole(folder), done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("manner", ["refuse", "html", "corrupt", "long", "stall"])
def test_only_bad_mirrors_end_in_one_line_and_nothing_written(tmp_path, archives, server, manner):
    folder = tmp_path / "data"
    done = fetch(folder, archives, server, manner)
    assert done.returncode == 1 and nothing_half_written(folder)
    last = done.stderr.strip().splitlines()[-1]
    assert "FROM=" in last and "shapes10" in last


def test_a_redirect_is_followed(tmp_path, archives, server):
    folder = tmp_path / "data"
    assert fetch(folder, archives, server, "redirect").returncode == 0 and whole(folder)


def test_a_broken_download_is_resumed(tmp_path, archives, server):
    folder = tmp_path / "data"
    name = "train-images-idx3-ubyte.gz"
    (folder / ".fetch-mnist").mkdir(parents=True)
    data = (archives / name).read_bytes()
    (folder / ".fetch-mnist" / f"{name}.partial").write_bytes(data[:1000])
    done = fetch(folder, archives, server)
    assert done.returncode == 0 and whole(folder), done.stderr
    assert "1 of" in done.stdout.splitlines()[0]


def test_a_partial_file_of_something_else_is_replaced(tmp_path, archives, server):
    folder = tmp_path / "data"
    (folder / ".fetch-mnist").mkdir(parents=True)
    (folder / ".fetch-mnist" / "train-images-idx3-ubyte.gz.partial").write_bytes(b"x" * 5000)
    done = fetch(folder, archives, server)
    assert done.returncode == 0 and whole(folder), done.stderr


def test_a_server_without_ranges_starts_again(tmp_path, archives, server):
    folder = tmp_path / "data"
    name = "train-images-idx3-ubyte.gz"
    (folder / ".fetch-mnist").mkdir(parents=True)
    (folder / ".fetch-mnist" / f"{name}.partial").write_bytes((archives / name).read_bytes()[:1000])
    done = fetch(folder, archives, server, "norange")
    assert done.returncode == 0 and whole(folder), done.stderr


def test_from_takes_a_folder_and_refuses_another_file(tmp_path, archives, server):
    folder = tmp_path / "data"
    done = fetch(folder, archives, server, "refuse", source=str(archives))
    assert done.returncode == 0 and whole(folder), done.stderr
    spoilt = tmp_path / "spoilt"
    shutil.copytree(archives, spoilt)
    (spoilt / "t10k-labels-idx1-ubyte.gz").write_bytes(b"<html>")
    done = fetch(tmp_path / "other", archives, server, "refuse", source=str(spoilt))
    assert done.returncode == 1 and "not the official t10k-labels" in done.stderr
    assert nothing_half_written(tmp_path / "other")


def test_a_changed_file_is_named(tmp_path, archives, server):
    folder = tmp_path / "data"
    assert fetch(folder, archives, server).returncode == 0
    with open(folder / "mnist" / "train-labels-idx1-ubyte", "r+b") as file:
        file.write(b"!")
    done = fetch(folder, archives, server)
    assert done.returncode == 1 and "train-labels-idx1-ubyte: FAILED" in done.stderr


def test_an_incomplete_folder_is_kept_beside(tmp_path, archives, server):
    folder = tmp_path / "data"
    (folder / "mnist").mkdir(parents=True)
    (folder / "mnist" / "mine").write_text("notes")
    assert fetch(folder, archives, server).returncode == 0 and whole(folder)
    assert [p.read_text() for p in folder.glob("mnist.before.*/mine")] == ["notes"]


def test_no_network_is_one_clear_line(tmp_path, archives):
    done = fetch(tmp_path / "data", archives, "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "no way there" in done.stderr and "shapes10" in done.stderr.splitlines()[-1]


def test_a_proxy_is_used(tmp_path, archives, server):
    folder = tmp_path / "data"
    done = fetch(folder, archives, "http://mirror.example", http_proxy=server)
    assert done.returncode == 0 and whole(folder), done.stderr


def test_the_broken_download_of_another_set_is_kept(tmp_path, archives, server):
    folder = tmp_path / "data"
    other = folder / ".fetch-cifar10/cifar-10-binary.tar.gz.partial"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"half of it")
    assert fetch(folder, archives, server).returncode == 0 and whole(folder)
    assert other.read_bytes() == b"half of it"


def test_a_second_call_at_the_same_time_is_refused(tmp_path, archives, server):
    folder = tmp_path / "data"
    (folder / ".fetch-mnist").mkdir(parents=True)
    with open(folder / ".fetch-mnist/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = fetch(folder, archives, server)
    assert done.returncode == 1 and nothing_half_written(folder)
    assert "another call is fetching" in done.stderr


def test_killed_at_any_moment_it_goes_on(tmp_path, archives, server):
    """Whatever a killed call has left, the next one makes a whole set of it."""
    folder = tmp_path / "data"
    for tenths in (1, 3, 5, 8, 12, 16, 20):
        fetch(folder, archives, server, before=["timeout", "-s", "KILL", str(tenths / 10)])
        assert nothing_half_written(folder) or whole(folder)
    done = fetch(folder, archives, server)
    assert done.returncode == 0 and whole(folder), done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["mnist"]


# ---- full disks and read-only folders ------------------------------------------------------------


def mounted(mount: str) -> list:
    """Words that run a command with `mount` done on its third word, fetch.sh's folder, where no
    other process sees it; what is in the folder afterwards is listed."""
    return ["unshare", "-rm", "sh", "-c", f'{mount} || exit 99; "$@"; status=$?; '
            'ls -A "$3" | sed "s/^/left: /"; exit $status', "sh"]


def may_mount() -> bool:
    try:
        done = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/tmp"],
                              capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


@pytest.fixture
def plenty(tmp_path):
    """A PATH whose df tells of room that is not there, as it does where a quota rules."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "df").write_text("#!/bin/sh\necho Filesystem\necho none 9 1 999999999 1% /\n")
    (tools / "df").chmod(0o755)
    return f"{tools}:{os.environ['PATH']}"


@pytest.mark.parametrize("source, kilobytes, said", [
    ("mirror", 8, "the disk is full"), ("FROM=", 8, "(full?)"), ("mirror", 20000, "disk full?")])
def test_a_disk_that_fills_is_named(tmp_path, archives, server, plenty, capsys, source, kilobytes,
                                    said):
    folder = tmp_path / "data"
    folder.mkdir()
    if may_mount():
        before = mounted(f'mount -t tmpfs -o size={kilobytes}k none "$3"')
    else:
        before = ["prlimit", f"--fsize={kilobytes << 10}"]
        said = ""  # the limit has other words for it, and sometimes only a signal
        with capsys.disabled():
            print("\nfull disk: by a limit on file sizes, for no tmpfs can be mounted here")
    done = fetch(folder, archives, server, source=str(archives) if source == "FROM=" else "",
                 before=before, PATH=plenty)
    assert done.returncode == 1 and nothing_half_written(folder), done.stderr
    assert "left: mnist" not in done.stdout and done.stderr.splitlines()[-1].startswith("data: ")
    assert said in done.stderr


def test_a_disk_that_is_too_small_is_named_before_anything_is_fetched(tmp_path, archives, server,
                                                                      plenty):
    df = Path(plenty.split(":")[0], "df")
    df.write_text(df.read_text().replace("999999999", "8000"))
    folder = tmp_path / "data"
    done = fetch(folder, archives, server, PATH=plenty)
    assert done.returncode == 1 and nothing_half_written(folder)
    assert "MB are needed" in done.stderr and "GRADLAB_DATA=dir" in done.stderr


def test_a_read_only_folder_is_named(tmp_path, archives, server, capsys):
    folder = tmp_path / "data"
    folder.mkdir()
    if may_mount():
        before = mounted('mount --bind "$3" "$3" && mount -o remount,bind,ro "$3"')
        done = fetch(folder, archives, server, before=before)
    else:  # /proc takes no files, not even from root
        with capsys.disabled():
            print("\nread-only folder: /proc, for nothing can be mounted here")
        done = fetch(folder, archives, server, before=["sh", "-c", 'exec "$1" "$2" /proc', "sh"])
    assert done.returncode == 1 and nothing_half_written(folder)
    assert done.stderr.count("\n") == 1 and "GRADLAB_DATA=dir" in done.stderr


def test_what_a_call_killed_behind_its_last_rename_left_is_removed(tmp_path, archives, server):
    folder = tmp_path / "data"
    assert fetch(folder, archives, server).returncode == 0
    (folder / ".fetch-mnist").mkdir()
    (folder / ".fetch-mnist/archive.gz").write_bytes(b"was unpacked")
    done = fetch(folder, archives, server)
    assert done.returncode == 0 and whole(folder), done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["mnist"]
