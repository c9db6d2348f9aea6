"""leak_files.py: every text that can be got out of a file: archives, streams, objects."""

import bz2
import io
import lzma
import re
import shutil
import struct
import subprocess
import tarfile
import zipfile
import zlib

import elf
import leak_layers

DEEPEST_TEXT = 3  # readers of leak_layers.py, one within the other
DEEPEST = 12
MOST = 1 << 30  # bytes that all files may unpack to

PIECE = 1 << 16


class Unreadable(Exception):
    """One line: why something could not be looked into; `place` is where in its file it lies."""
    place = None


# ---- parts that lie in a file as they are: [(name, offset, size)] --------------------------------

def tar_parts(data: bytes) -> list:
    if data[257:262] != b"ustar":
        return []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            return [(m.name, m.offset_data, m.size) for m in tar if m.isfile()]
    except tarfile.TarError as error:
        raise Unreadable(f"a tar archive that does not open: {error}") from None


def ar_parts(data: bytes) -> list:
    """Members of a static library; long names stand in a member called //."""
    if not data.startswith(b"!<arch>\n"):
        return []
    found, at, long_names = [], 8, b""
    while at + 60 <= len(data):
        name, size = data[at:at + 16].strip(), data[at + 48:at + 58].strip()
        if not size.isdigit():
            raise Unreadable("an ar archive that ends in the middle")
        if name == b"//":
            long_names = data[at + 60:at + 60 + int(size)]
        elif re.fullmatch(rb"/\d+", name):
            name = long_names[int(name[1:]):].partition(b"/\n")[0]
        found.append((name.decode("latin-1").rstrip("/") or "index", at + 60, int(size)))
        at += 60 + int(size) + int(size) % 2
    return found


def elf_rows(data: bytes) -> list:
    """[(name, type, flags, offset, size, link)] of the sections of an ELF file of any kind."""
    if not data.startswith(b"\x7fELF\2\1"):
        return []
    try:
        head = elf.HEADER.unpack(elf.at(data, 0, elf.HEADER.size))
        rows = list(elf.SECTION.iter_unpack(elf.at(data, head[6], elf.SECTION.size * head[12])))
        table = elf.at(data, rows[head[13]][4], rows[head[13]][5]) if rows else b""
        return [(elf.name_at(table, r[0]), r[1], r[2], r[4], r[5], r[6]) for r in rows]
    except (elf.Odd, struct.error, IndexError) as error:
        raise Unreadable(f"an ELF file whose sections cannot be read: {error}") from None


def elf_parts(data: bytes) -> list:
    return [(f"section {name}", offset, size) for name, kind, _, offset, size, _ in elf_rows(data)
            if kind != elf.NOBITS and size]


# ---- streams that are unpacked, wherever they begin ----------------------------------------------

STREAMS = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|BZh[1-9]1AY&SY|\xfd7zXZ\x00"
                     rb"|\x28\xb5\x2f\xfd|\x5d\x00\x00[\x00-\xff][\x00-\x0f]", re.DOTALL)
CLOSED = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar", b"\x04\x22\x4d\x18": "lz4",
          b"LZIP": "lzip", b"\x1f\x9d": "compress"}  # fmt: skip


def zstd(data: bytes) -> bytes:
    if not shutil.which("zstd"):
        raise Unreadable("a stream of zstd: install the program zstd")
    done = subprocess.run(["zstd", "-dcq", "-M1024MB"], input=data, capture_output=True)
    return done.stdout


def unpacker(magic: bytes):
    if magic.startswith(b"BZh"):
        return bz2.BZ2Decompressor(), "bzip2"
    if magic.startswith((b"\xfd7z", b"\x5d\x00")):
        return lzma.LZMADecompressor(), "xz"
    return zlib.decompressobj(47), "gzip" if magic.startswith(b"\x1f") else "zlib"


def unpack(data: bytes, at: int, magic: bytes, room: int) -> tuple:
    """(name, bytes, where the stream ends). Two bytes are soon a beginning by chance: then nothing
    comes out, or not to the end, which is shown as far as it goes."""
    stream, name = unpacker(magic)
    out, size, source = [], 0, at
    try:
        while not stream.eof and source < len(data) and size <= room:
            out.append(stream.decompress(data[source:source + PIECE]))
            size += len(out[-1])
            source += PIECE
    except (zlib.error, OSError, lzma.LZMAError):
        stream = None
    if size > room:
        raise Unreadable(f"it unpacks to more than {MOST >> 20} MiB")
    end = min(source, len(data)) - len(stream.unused_data) if stream and stream.eof else at + 1
    return name, b"".join(out), end


def streams(data: bytes, room: int):
    """(name, bytes) of each."""
    at = 0
    while match := STREAMS.search(data, at):
        at = match.end()
        if match[0].startswith(b"\x28\xb5"):
            name, inside = "zstd", zstd(data[match.start():])
        else:
            name, inside, end = unpack(data, match.start(), match[0], room)
            at = max(at, end)
        if len(inside) >= leak_layers.LEAST // 2:
            yield f"{name} at byte {match.start()}", inside
        elif not match.start() and len(match[0]) > 2 and len(data) > 64:
            raise Unreadable(f"a stream of {name} that does not open")


def deflated(data: bytes, room: int):
    """A stream of deflate without a head: anything may be the beginning of one, so it has to reach
    the file's end, and to be text."""
    stream = zlib.decompressobj(-15)
    try:
        inside = stream.decompress(data, room + 1)
    except zlib.error:
        return
    if len(inside) > room:
        raise Unreadable(f"it unpacks to more than {MOST >> 20} MiB")
    if stream.eof and not stream.unused_data and leak_layers.sensible(inside):
        yield "deflate", inside


def zip_members(data: bytes):
    if not zipfile.is_zipfile(io.BytesIO(data)):
        if data.startswith(b"PK\3\4"):
            raise Unreadable("a zip archive that does not open")
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.infolist():
                if member.file_size > MOST:
                    raise Unreadable(f"{member.filename} unpacks to {member.file_size} bytes")
                yield member.filename, archive.read(member)
            yield "its comment", archive.comment
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        said = re.sub(r"<ZipInfo filename='(.*?)'.*?>", r"\1", str(error))
        raise Unreadable(f"a zip archive: {said}") from None


def pdf_text(data: bytes):
    """As a reader sees it: letters may be numbers of a font's pictures."""
    if data.startswith(b"%PDF") and shutil.which("pdftotext"):
        done = subprocess.run(["pdftotext", "-layout", "-", "-"], input=data, capture_output=True)
        yield "pages", done.stdout


# ---- text ----------------------------------------------------------------------------------------

PRINTED = re.compile(rb"[\t\n\r\x20-\x7e]{4,}")
WIDE = {  # two and four bytes a character
    "utf-16-le": re.compile(rb"(?:[\t\n\r\x20-\x7e]\x00){8,}"),
    "utf-16-be": re.compile(rb"(?:\x00[\t\n\r\x20-\x7e]){8,}"),
    "utf-32-le": re.compile(rb"(?:[\t\n\r\x20-\x7e]\x00\x00\x00){8,}"),
    "utf-32-be": re.compile(rb"(?:\x00\x00\x00[\t\n\r\x20-\x7e]){8,}"),
}


def texts_of(data: bytes):
    """(encoding, text): all of it where it is text, else what can be printed of it."""
    try:
        text = re.sub(rb"\0{2,}", b"\0", data).decode("utf-8")
    except UnicodeDecodeError:
        text = b"\n".join(PRINTED.findall(data)).decode("ascii")
    yield "", text.replace("\r\n", "\n").replace("\r", "\n")
    if b"\0" in data:
        for name, pattern in WIDE.items():
            if found := b"".join(pattern.findall(data)):
                yield name, found.decode(name)
    if data.count(b"\x40") > max(len(data) / 20, data.count(b" ")):  # its blank
        yield "EBCDIC", data.decode("cp037")
    yield from masked(data)


def masked(data: bytes):
    """Every byte XOR the same number: neighbours still differ as those of a word of C do."""
    number, keys = int.from_bytes(data, "big"), set()
    steps = (number ^ number >> 8).to_bytes(len(data), "big")
    for word in (b"return ", b" for (", b"void ", b" if ("):
        of_word = re.escape(bytes(a ^ b for a, b in zip(word, word[1:])))
        keys |= {data[m.start() - 1] ^ word[0] for m in re.finditer(of_word, steps, re.DOTALL)}
    for key in sorted(keys - {0}):
        yield f"XOR {key}", b"\n".join(PRINTED.findall(data.translate(
            bytes(i ^ key for i in range(256))))).decode("ascii")


class Opener:
    """Opens files; counts what comes out, for an archive may unpack to more than a disk holds."""

    def __init__(self):
        self.room = MOST
        self.see = lambda place, what: None  # is shown all bytes and texts

    def texts(self, data: bytes, place: str = "", depth: int = 0):
        """(place, text) of everything in `data`."""
        try:
            self.room -= len(data)
            if self.room < 0:
                raise Unreadable(f"all files together unpack to more than {MOST >> 20} MiB")
            if depth > DEEPEST:
                raise Unreadable(f"archives in archives, {DEEPEST} deep")
            if name := next((name for magic, name in CLOSED.items() if data.startswith(magic)), ""):
                raise Unreadable(f"nothing here opens {name}: hand it out as zip or tar.gz")
            self.see(place, data)
            for name, part in self.inside(data):
                yield from self.texts(part, f"{place}: {name}", depth + 1)
        except Unreadable as error:
            error.place = place if error.place is None else error.place
            raise
        for name, text in texts_of(self.rest(data)):
            yield from self.layers(text, f"{place}: {name}" if name else place, depth, 0)

    def inside(self, data: bytes):
        for name, at, size in self.parts(data):
            yield name, data[at:at + size]
        rest = self.rest(data)
        yield from zip_members(rest)
        yield from pdf_text(rest)
        yield from streams(rest, self.room)
        yield from deflated(data, self.room)

    def parts(self, data: bytes) -> list:
        return tar_parts(data) or ar_parts(data) or elf_parts(data)

    def rest(self, data: bytes) -> bytes:
        """What lies beside the parts: headers, gaps, and what was hung on behind."""
        parts, rest = self.parts(data), bytearray(data)
        if not parts:
            return data
        for _, at, size in parts:
            rest[at:at + size] = b"\0" * len(rest[at:at + size])
        return re.sub(rb"\0{2,}", b"\0", bytes(rest))

    def layers(self, text: str, place: str, depth: int, readers: int):
        self.see(place, text)
        yield place, text
        if readers == DEEPEST_TEXT:
            return
        for name, reader in leak_layers.READERS.items():
            for found in reader(text):
                inner = f"{place}: {name}"
                if isinstance(found, bytes):
                    yield from self.texts(found, inner, depth + 1)
                elif len(found) >= leak_layers.LEAST:
                    yield from self.layers(found, inner, depth, readers + 1)
