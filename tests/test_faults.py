"""Faults made on purpose around a training run. Each ends in one clear line and exit status 1, or
in nothing at all where it must not matter, and leaves what was saved before as it was.
"""

import concurrent.futures
import json
import resource
import shutil
import signal
import subprocess
from pathlib import Path

from small_mounts import Mount
from training_runs import (epochs, expect_one_line, files, final_state, finish, run, sections,
                           start, state_after, uninterrupted, wait_for_checkpoint)

CHECKPOINT_BYTES = 4_300_000  # about: net a with momentum


def limited(size: int):
    """What a process does before it starts: no file of its own gets longer than this."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


# ---- a full disk ---------------------------------------------------------------------------------


def test_a_disk_that_fills_keeps_both_checkpoints(tmp_path, say):
    out = tmp_path / "out"
    out.mkdir()
    disk = Mount.small_disk(out, "10m")  # two checkpoints, and no third beside them
    if disk is None:
        say(f"full disk: by a limit on file sizes, no tmpfs could be mounted ({Mount.refusal})")
        return fill_by_limit(out)
    with disk:
        status, errors = finish(start(out, before=disk.inside))
        expect_one_line(status, errors, "No space left on device", out, f"RESUME={out}/checkpoint")
        left = files(disk.folder)
        assert sorted(left) == ["checkpoint", "checkpoint.previous", "train.jsonl"]
        assert left["checkpoint"] == state_after(16)
        assert left["checkpoint.previous"] == state_after(8)
        # with room again the run goes on, here into another folder
        run(tmp_path / "roomy", f"RESUME={out}/checkpoint", before=disk.inside)
    assert (tmp_path / "roomy/checkpoint").read_bytes() == final_state()
    say("full disk: by a tmpfs of 10 MB")


def fill_by_limit(out: Path) -> None:
    run(out, "STEPS=16")
    before = files(out)
    status, errors = finish(start(out, f"RESUME={out}/checkpoint", preexec_fn=limited(10 ** 6)))
    expect_one_line(status, errors, "File too large", out, f"RESUME={out}/checkpoint")
    left = files(out)
    assert left.pop("train.jsonl").startswith(before.pop("train.jsonl")) and left == before
    run(out, f"RESUME={out}/checkpoint")
    assert (out / "checkpoint").read_bytes() == final_state()


def test_a_limit_on_file_sizes_is_told_like_a_full_disk(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    fill_by_limit(out)


def test_a_disk_that_is_full_from_the_start_keeps_an_older_run(tmp_path):
    out = tmp_path / "out"
    run(out, "STEPS=16")
    before = files(out)
    status, errors = finish(start(out, preexec_fn=limited(100)))
    expect_one_line(status, errors, "cannot write", out, "OUT=")
    assert files(out) == before


def test_a_log_that_cannot_grow_ends_the_run(tmp_path):
    """Room for a checkpoint, none for the log: a line of it is lost, and said to be."""
    out = tmp_path / "out"
    run(out, "STEPS=16")
    with open(out / "train.jsonl", "a") as log:
        log.write("\n" * (2 * CHECKPOINT_BYTES))
    saved = {name: data for name, data in files(out).items() if name != "train.jsonl"}
    size = (out / "train.jsonl").stat().st_size
    status, errors = finish(start(out, f"RESUME={out}/checkpoint", preexec_fn=limited(size)))
    expect_one_line(status, errors, "cannot write", out / "train.jsonl", f"RESUME={out}/checkpoint")
    assert {name: data for name, data in files(out).items() if name != "train.jsonl"} == saved


def test_standard_output_that_is_full_is_no_success(tmp_path):
    out = tmp_path / "out"
    with open("/dev/full", "w") as full:
        status, errors = finish(start(out, stdout=full))
    expect_one_line(status, errors, "standard output", out / "train.jsonl")
    assert (out / "checkpoint").read_bytes() == final_state()


def test_what_is_printed_to_closed_streams_goes_into_no_file(tmp_path):
    out = tmp_path / "out"
    process = start(out, before=["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
    assert finish(process) == (0, "")
    assert (out / "checkpoint").read_bytes() == final_state()
    assert epochs(out) == epochs(uninterrupted()[0])


def test_a_data_set_that_does_not_fit_is_not_left_half_drawn(tmp_path, say):
    root = tmp_path / "data"
    root.mkdir()
    disk = Mount.small_disk(root, "40m")  # one of six files fits
    how = {"before": disk.inside} if disk else {"preexec_fn": limited(10 ** 7)}
    status, errors = finish(start(tmp_path / "out", env={"GRADLAB_DATA": str(root)}, **how))
    expect_one_line(status, errors, "cannot write", root, "184 MB")
    folder = (disk.folder if disk else root) / "shapes10"
    left = {path.name for path in folder.iterdir()}
    assert "VERSION" not in left and not [name for name in left if name.endswith(".part")]
    if disk:
        disk.__exit__()
    else:
        say(f"full data folder: by a limit on file sizes ({Mount.refusal})")


# ---- folders -------------------------------------------------------------------------------------


def test_a_read_only_folder_is_named_and_left_alone(tmp_path, say):
    out = tmp_path / "out"
    run(out, "STEPS=16")
    before = files(out)
    mount = Mount.read_only(out)
    if mount:
        with mount:
            status, errors = finish(start(out, before=mount.inside))
        expect_one_line(status, errors, "Read-only file system", out, "OUT=")
    else:
        # /proc takes no files, not even from root
        say(f"read-only folder: /proc, for nothing could be mounted ({Mount.refusal})")
        expect_one_line(*finish(start("/proc/gradlab")), "cannot make folder /proc/gradlab", "OUT=")
    assert files(out) == before


def test_a_folder_that_vanishes_ends_the_run(tmp_path):
    out = tmp_path / "out"
    process = start(out)
    wait_for_checkpoint(process, out)
    process.send_signal(signal.SIGSTOP)  # so that it is not done before the folder is gone
    out.rename(tmp_path / "gone")
    process.send_signal(signal.SIGCONT)
    expect_one_line(*finish(process), "No such file", out)
    for name in ("checkpoint", "checkpoint.previous"):
        if (tmp_path / "gone" / name).exists():
            sections((tmp_path / "gone" / name).read_bytes())  # whole
    run(out, f"RESUME={tmp_path}/gone/checkpoint")
    assert (out / "checkpoint").read_bytes() == final_state()


def test_of_runs_that_start_together_in_one_folder_one_goes_on(tmp_path):
    out = tmp_path / "out"
    ends = [finish(process) for process in [start(out) for _ in range(3)]]
    refused = [end for end in ends if end[0] != 0]
    assert len(refused) < len(ends)
    for status, errors in refused:
        expect_one_line(status, errors, f"another run writes to {out}", "OUT=")
    assert (out / "checkpoint").read_bytes() == final_state()
    assert epochs(out) == epochs(uninterrupted()[0])


def test_a_second_run_is_refused_and_the_first_not_disturbed(tmp_path):
    out = tmp_path / "out"
    first = start(out)
    wait_for_checkpoint(first, out)
    first.send_signal(signal.SIGSTOP)  # so that it is not done before the second one comes
    expect_one_line(*finish(start(out)), f"another run writes to {out}", "OUT=")
    first.send_signal(signal.SIGCONT)
    assert finish(first)[0] == 0 and (out / "checkpoint").read_bytes() == final_state()


# ---- a clock that goes back ----------------------------------------------------------------------

BACKWARDS = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
time_t time(time_t *to) {
    static time_t now = 1900000000;
    now -= 3600;
    if (to) *to = now;
    return now;
}
int gettimeofday(struct timeval *to, void *zone) {
    (void)zone;
    *to = (struct timeval){.tv_sec = time(NULL)};
    return 0;
}
int clock_gettime(clockid_t id, struct timespec *to) {
    if (id != CLOCK_REALTIME) return (int)syscall(SYS_clock_gettime, id, to);
    *to = (struct timespec){.tv_sec = time(NULL)};
    return 0;
}
"""


def test_a_clock_that_goes_back_an_hour_at_a_time_changes_no_result(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    (tmp_path / "clock.c").write_text(BACKWARDS)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "clock.so",
                    tmp_path / "clock.c"], check=True)
    out = tmp_path / "out"
    run(out, env={"LD_PRELOAD": str(tmp_path / "clock.so")})
    assert (out / "checkpoint").read_bytes() == final_state()
    lines = [json.loads(line) for line in open(out / "train.jsonl")]
    times = [line["time"] for line in lines]
    assert len(times) == 5 and times == sorted(times, reverse=True), "the clock did not go back"
    assert all(line["train_s"] > 0 and line["images_per_s"] > 0 for line in lines[1:])


# ---- damaged checkpoints -------------------------------------------------------------------------


def damaged_files(whole: bytes) -> dict:
    """name -> (content, a word of the line). Every boundary and field of every section is damaged
    in checkpoint_damage_test.c; here it is the program that must say so."""
    found = sections(whole)
    at, begin, end, name = found[len(found) // 2]
    cases = {f"cut before {name}": (whole[:at], "ends beyond the file"),
             f"cut behind the header of {name}": (whole[:begin], "ends beyond the file"),
             f"cut behind {name}": (whole[:end], "ends beyond the file"),
             "empty": (b"", "0 bytes hold no record header"),
             "a byte short": (whole[:-1], "ends beyond the file"),
             "longer": (whole + bytes(8), "8 bytes follow the last section")}
    padded = [s for s in found if s[2] % 8]
    assert padded, "no section has padding: change the options of the runs"
    for what, where, word in [
            ("magic", 0, "TLRECORD"), ("version", 8, "version"), ("count", 12, "section"),
            ("name", at, "CRC-32"), ("dtype", at + 48, "dtype"), ("ndim", at + 52, "dims"),
            ("dim", at + 56, "its bytes differ"), ("bytes", at + 88, "its bytes differ"),
            ("crc", at + 96, "CRC-32"), ("reserved word", at + 100, "reserved word"),
            ("data", begin + 2, "CRC-32"), ("padding", padded[0][2], "padding is not zero")]:
        spoilt = bytearray(whole)
        spoilt[where] ^= 2
        cases[f"a bit of {what}"] = (bytes(spoilt), word)
    return cases


def test_every_damaged_checkpoint_is_refused_and_left_as_it_is(tmp_path):
    cases = damaged_files(state_after(8))

    def resume(case) -> str:
        number, (name, (content, word)) = case
        path, out = tmp_path / f"checkpoint{number}", tmp_path / f"out{number}"
        path.write_bytes(content)
        status, errors = finish(start(out, f"RESUME={path}"))
        try:
            fix = "write it again" if "version" in name else "use a copy"
            expect_one_line(status, errors, path, word, fix)
            assert path.read_bytes() == content and not out.exists()
        except AssertionError as error:
            return f"{name}: {error}"
        return ""

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [line for line in pool.map(resume, enumerate(cases.items())) if line]
    assert not failures, "\n".join(failures)
