"""intake.py: reads what others hand in, a folder, a .zip or a .tar.gz, and believes nothing of it.

A folder belongs to somebody who may change it while it is read, and who may have put links into it
that lead to the solution. So nothing is asked by a path twice: folders are opened one by one, no
link is followed, and what a file is, is asked of the file that is open. Each is read once, up to a
limit, however large it says it is. No tool is run, and nothing is unpacked onto the disk.
"""

import errno
import io
import itertools
import os
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path

from skeletons import Refused

LARGEST = 1 << 18  # bytes of one file, 25 times what the longest of the solution has
LARGEST_ARCHIVE = 1 << 23
LARGEST_TAR = 1 << 25  # unpacked: gzip makes a thousand zeros one byte
MOST_ENTRIES = 1000
ENDINGS = (".zip", ".tar.gz", ".tgz", ".tar")
KINDS = {"a link": stat.S_ISLNK, "a folder": stat.S_ISDIR, "a named pipe": stat.S_ISFIFO,
         "a socket": stat.S_ISSOCK,
         "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode)}
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# (a pipe that nobody writes to would keep who opens it waiting for ever)
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
# what zipfile and tarfile are known to raise
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RecursionError,
           NotImplementedError, RuntimeError, ValueError, OverflowError, KeyError, IndexError)


class Unfit(Exception):
    """Why a file is not taken, in two or three words."""


def kind_of(mode: int) -> str:
    """What it is if it is no file, else an empty string."""
    return next((kind for kind, is_kind in KINDS.items() if is_kind(mode)), "")


def bounded(read, largest: int) -> bytes:
    """All that read(n) gives; Unfit where there is more than `largest`."""
    data = b""
    while piece := read(largest + 1 - len(data)):
        data += piece
        if len(data) > largest:
            raise Unfit(f"larger than {largest >> 10} KiB")
    return data


def read_file(name, largest: int = LARGEST, folder: int | None = None) -> bytes | None:
    """The file's content, None if there is none of this name. `folder`: an open one."""
    try:
        # (opening a device can do something; opening a socket says nothing that helps)
        if kind := kind_of(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise Unfit(kind)
        fd = os.open(name, FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unfit("a link" if error.errno == errno.ELOOP else error.strerror) from None
    try:
        is_ = os.fstat(fd)
        if kind := kind_of(is_.st_mode):
            raise Unfit(kind)
        if is_.st_nlink > 1:  # of somebody else's file, perhaps, which only the reader may read
            raise Unfit("a hard link")
        return bounded(lambda n: os.read(fd, n), largest)
    finally:
        os.close(fd)


def no_folder(name: str, above: int) -> str:
    """What somebody has put in a folder's place."""
    try:
        mode = os.stat(name, dir_fd=above, follow_symlinks=False).st_mode
    except OSError:  # gone again
        return ""
    return "a link" if stat.S_ISLNK(mode) else "no folder"


class Folder:
    """A submission that is a folder. It is named by who grades; what is below it is not."""

    def __init__(self, path: Path):
        try:
            self.fd = os.open(path, FOLDER)
        except FileNotFoundError:
            raise Refused(f"SUBMISSION={path}: there is no such folder") from None
        except NotADirectoryError:  # (a link is none either, if it is not followed)
            what = "a link: name the folder itself" if path.is_symlink() else \
                "neither a folder nor a .zip or .tar.gz"
            raise Refused(f"SUBMISSION={path}: this is {what}") from None

    def close(self) -> None:
        os.close(self.fd)

    def open_below(self, place: tuple) -> int | None:
        """The open folder of this name below, None if there is none; Unfit if it is no folder."""
        fd = os.dup(self.fd)
        for name in place:
            try:
                above, fd = fd, os.open(name, FOLDER, dir_fd=fd)
            except FileNotFoundError:
                above, fd = fd, -1
            except OSError as error:
                why = no_folder(name, fd) if error.errno in (errno.ELOOP, errno.ENOTDIR) else ""
                os.close(fd)
                raise Unfit(why or error.strerror) from None
            os.close(above)
            if fd < 0:
                return None
        return fd

    def read(self, place: tuple, names: list) -> dict:
        """name -> content, or the Unfit that says why not, of those that are there."""
        fd = self.open_below(place)
        if fd is None:
            return {}
        found = {}
        try:
            for name in names:
                try:
                    found[name] = read_file(name, folder=fd)
                except Unfit as why:
                    found[name] = why
        finally:
            os.close(fd)
        return {name: data for name, data in found.items() if data is not None}

    def names(self, place: tuple) -> dict:
        """name -> whether it is a folder, of the first MOST_ENTRIES that lie in this place."""
        fd = self.open_below(place)
        if fd is None:
            return {}
        try:
            with os.scandir(fd) as entries:
                return {entry.name: entry.is_dir(follow_symlinks=False)
                        for entry in itertools.islice(entries, MOST_ENTRIES)}
        finally:
            os.close(fd)


class Archive:
    """A submission that is one file, as submit.py or a student's own tool makes them. It stays
    packed; one whose names lead elsewhere, or that different readers would understand differently,
    is refused."""

    def __init__(self, path: Path):
        self.path = path
        try:
            data = read_file(path, LARGEST_ARCHIVE)
        except Unfit as why:
            raise Refused(f"SUBMISSION={path}: {why}") from None
        if data is None:
            raise Refused(f"SUBMISSION={path}: there is no such file")
        try:
            entries = self.index(data)
        except Unfit as why:
            raise Refused(f"SUBMISSION={path}: {why}") from None
        except DAMAGED:
            raise Refused(f"SUBMISSION={path}: this is no {self.kind}, or a damaged one") from None
        if len(entries) > MOST_ENTRIES:
            raise Refused(f"SUBMISSION={path}: more than {MOST_ENTRIES} entries")
        self.entries = {}
        for name, entry in entries:
            if odd_name(name):
                raise Refused(f"SUBMISSION={path}: it has an entry called {name!r}, which leads "
                              "out of it or means another file elsewhere")
            if name in self.entries:
                raise Refused(f"SUBMISSION={path}: it has two entries called {name}")
            self.entries[name] = entry

    def close(self) -> None:
        """Nothing is open: all of it was read."""

    def read(self, place: tuple, names: list) -> dict:
        """As Folder.read."""
        found = {}
        for name in names:
            if entry := self.entries.get("/".join((*place, name))):
                try:
                    found[name] = self.content(entry)
                except Unfit as why:
                    found[name] = why
                except DAMAGED:
                    found[name] = Unfit("damaged")
        return found

    def names(self, place: tuple) -> dict:
        """As Folder.names. (A folder may be there without an entry of its own.)"""
        above, found = "".join(f"{name}/" for name in place), {}
        for path in self.entries:
            name, slash, _ = path.removeprefix(above).partition("/")
            if path.startswith(above) and name:
                found[name] = bool(slash) or found.get(name, False)
        return found


class Zip(Archive):
    kind = ".zip"

    def index(self, data: bytes) -> list:
        self.zip = zipfile.ZipFile(io.BytesIO(data))
        return [(entry.orig_filename, entry) for entry in self.zip.infolist()]

    def content(self, entry: zipfile.ZipInfo) -> bytes:
        if kind := kind_of(entry.external_attr >> 16):
            raise Unfit(kind)
        # (lzma may ask for gigabytes before its first byte)
        if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED,
                                                              zipfile.ZIP_DEFLATED):
            raise Unfit("encrypted or packed in an unusual way")
        with self.zip.open(entry) as file:
            return bounded(file.read, LARGEST)


class Tar(Archive):
    """Plain or by gzip. Its entries can only be found one after the other, so it is unpacked in
    memory, up to a limit."""

    kind = ".tar or .tar.gz"

    def index(self, data: bytes) -> list:
        self.tar = tarfile.open(fileobj=io.BytesIO(gunzipped(data)), mode="r:")
        entries = itertools.islice(self.tar, MOST_ENTRIES + 1)
        # `tar c .` writes ./ before every name
        return [(entry.name.removeprefix("./"), entry) for entry in entries if entry.name != "."]

    def content(self, entry: tarfile.TarInfo) -> bytes:
        if entry.islnk():
            raise Unfit("a hard link")
        if not entry.isreg():
            is_ = {tarfile.SYMTYPE: stat.S_IFLNK, tarfile.DIRTYPE: stat.S_IFDIR,
                   tarfile.FIFOTYPE: stat.S_IFIFO}.get(entry.type, stat.S_IFCHR)
            raise Unfit(kind_of(is_))
        return bounded(self.tar.extractfile(entry).read, LARGEST)


def gunzipped(data: bytes) -> bytes:
    """Of all its parts (gzip files can be joined); what is no gzip as it is."""
    whole = b""
    while data[:2] == b"\x1f\x8b":
        part = zlib.decompressobj(wbits=31)
        whole += part.decompress(data, LARGEST_TAR + 1 - len(whole))
        if len(whole) > LARGEST_TAR:
            raise Unfit(f"unpacks to more than {LARGEST_TAR >> 20} MiB")
        if not part.eof:
            raise zlib.error("ends early")
        data = part.unused_data
    return whole or data


def odd_name(name: str) -> bool:
    parts = name.removesuffix("/").split("/")
    return ("\\" in name or ":" in name or any(p in ("", ".", "..") for p in parts)
            or not name.isprintable())


def ending(name: str) -> str:
    """.zip, .tar.gz …, as it is written there, or an empty string."""
    low = name.lower()
    return next((name[-len(e):] for e in ENDINGS if low.endswith(e) and low != e), "")


def opened(path: Path) -> Folder | Archive:
    """A folder may be called x.zip, too."""
    kind = "" if path.is_dir() else ending(path.name).lower()
    if not kind:
        return Folder(path)
    return Zip(path) if kind == ".zip" else Tar(path)
