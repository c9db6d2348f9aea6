"""Folders on a full disk or read-only, for root too: mounts in a namespace of their own, which only
the commands started in it see and which end with it.

Not every machine allows that (containers often do not); then `Mount.make` returns None and says why
in Mount.refusal, and a test falls back to what works everywhere.
"""

import os
import shutil
import subprocess
from pathlib import Path


class Mount:
    refusal = ""

    def __init__(self, folder: Path, keeper: subprocess.Popen):
        self.keeper = keeper
        # words that start a command inside; the keeper's user namespace is entered first
        self.inside = ["nsenter", "-t", str(keeper.pid), "-U", "-m", "--preserve-credentials"]
        self.folder = Path(f"/proc/{keeper.pid}/root{folder}")  # as seen from outside

    @classmethod
    def make(cls, folder: Path, script: str) -> "Mount | None":
        """`script` mounts something on "$1", which is the folder."""
        if not (shutil.which("unshare") and shutil.which("nsenter")):
            cls.refusal = "no unshare or nsenter (util-linux) here"
            return None
        keeper = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c", f"{script} && echo ready && exec sleep 1000", "sh",
             str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        mount = cls(folder, keeper)
        if keeper.stdout.readline() == "ready\n" and os.access(mount.folder, os.X_OK):
            return mount
        cls.refusal = keeper.communicate()[1].strip() or "the mount cannot be seen from outside"
        return None

    @classmethod
    def small_disk(cls, folder: Path, size: str) -> "Mount | None":
        return cls.make(folder, f'mount -t tmpfs -o size={size} none "$1"')

    @classmethod
    def read_only(cls, folder: Path) -> "Mount | None":
        return cls.make(folder, 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"')

    def __enter__(self) -> "Mount":
        return self

    def __exit__(self, *_) -> None:
        self.keeper.kill()
        self.keeper.communicate()
