"""plants.py: ways to hide a function in a handout, each as {file: bytes}.

    PLANTS[name](text) -> {name of a file: its content}
"""

import base64
import bz2
import codecs
import gzip
import html
import io
import json
import lzma
import re
import struct
import subprocess
import tarfile
import tempfile
import urllib.parse
import zipfile
import zlib
from pathlib import Path

KEPT = set("if else for while do return switch case default break continue goto sizeof const "
           "static int float double void char struct unsigned inline bool".split())  # fmt: skip


def renamed(text: str) -> str:
    """Other names, other numbers, no comments, one line."""
    names = {}
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"[A-Za-z_]\w*", lambda m: m[0] if m[0] in KEPT else
                  names.setdefault(m[0], f"v{len(names)}"), text)  # fmt: skip
    return " ".join(re.sub(r"(?<!\w)\d+\b", "7", text).split())


def wrapped(text: str, width: int = 64) -> str:
    return "\n".join(text[i:i + width] for i in range(0, len(text), width))


def in_base64(data: bytes) -> str:
    return wrapped(base64.b64encode(data).decode())


def zipped(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes/old.txt", text)
    return out.getvalue()


def tarred(data: bytes, mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        member = tarfile.TarInfo("src/util.c")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def compiled(source: str, *options: str, suffix: str = ".o", gcc: str = "gcc") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "x" + suffix)
        subprocess.run([gcc, "-xc", "-", "-c", "-o", out, *options], input=source.encode(),
                       check=True, capture_output=True)
        return out.read_bytes()


def library(*members: bytes) -> bytes:
    return b"!<arch>\n" + b"".join(
        f"{f'part{i}.o/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(m):<10}`\n".encode() + m
        + b"\n" * (len(m) % 2) for i, m in enumerate(members))


def c_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def in_object(text: str) -> bytes:
    return compiled(f"const char s[] = {c_string(text)};", "-g0")


def catalogue(text: str) -> str:
    lines = "\n".join(c_string(line + "\n") for line in text.splitlines())
    return f'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "help"\nmsgstr ""\n{lines}\n'


def compiled_catalogue(text: str) -> bytes:
    texts = [b"help", text.encode()]
    at = 28 + 16
    return (struct.pack("<7I", 0x950412de, 0, 1, 28, 36, 0, 0) + struct.pack("<2I", 4, at)
            + struct.pack("<2I", len(texts[1]), at + 5) + b"\0".join(texts) + b"\0")


def pdf(text: str, metadata: str = "") -> bytes:
    escaped = re.sub(r"([()\\])", r"\\\1", text)
    shown = "BT " + "".join(f"({line}) Tj T*\n" for line in escaped.splitlines()) + " ET"
    stream = zlib.compress(shown.encode())
    return (b"%PDF-1.5\n1 0 obj <</Length " + str(len(stream)).encode() + b">> stream\n" + stream
            + b"\nendstream endobj\n2 0 obj <</Title (" + metadata.encode() + b")>> endobj\n%%EOF")


def patch(text: str) -> str:
    lines = text.splitlines()
    return (f"--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,{len(lines)} @@\n-    return TL_NOT_IMPLEMENTED();\n"
            + "".join(f"+{line}\n" for line in lines))


def notebook(text: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": text.splitlines(True)}]})


def coloured(text: str) -> str:
    words = re.sub(r"(?<!&)\b([A-Za-z_]\w*)\b(?!;)", r'<span class="n">\1</span>',
                   html.escape(text))  # fmt: skip
    return f"<html><pre>{words}</pre></html>"


def dump(text: str) -> str:
    data = text.encode()
    return "\n".join(f"{i:08x}: {data[i:i + 16].hex(' ', 2)}  ................"
                     for i in range(0, len(data), 16))


def hexdump(text: str) -> str:
    data = text.encode()
    return "\n".join(f"{i:08x}  {data[i:i + 8].hex(' ')}  {data[i + 8:i + 16].hex(' ')}  |........|"
                     for i in range(0, len(data), 16))


def numbered(text: str) -> str:
    return "\n".join(f"{i:4}  {line}" for i, line in enumerate(text.splitlines(), 1))


def begin_with(sign: str):
    return lambda text: {"a.txt": "".join(sign + line + "\n" for line in text.splitlines())}


def file(name: str, make):
    return lambda text: {name: make(text)}


def in_two(text: str) -> dict:
    lines = text.splitlines(True)
    return {"a.md": "".join(lines[:len(lines) // 2]), "b.md": "".join(lines[len(lines) // 2:])}


def in_many(text: str) -> dict:
    """So few tokens in each that no file tells."""
    tokens = re.findall(r"\w+|[^\w\s]+", text)
    return {f"{i:03}.txt": " ".join(tokens[i:i + 27]) for i in range(0, len(tokens), 9)}


def base64_in_two(text: str) -> dict:
    lines = in_base64(text.encode()).splitlines(True)
    return {"a.key": "".join(lines[:len(lines) // 2]), "b.key": "".join(lines[len(lines) // 2:])}


def base64_in_c(text: str) -> str:
    lines = in_base64(text.encode()).splitlines()
    return "static const char key[] =\n" + "\n".join(f'    "{line}"' for line in lines) + ";\n"


def in_base64_line(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def in_runs(text: str) -> str:
    runs = (re.findall(r"\S+\s*|\s+", html.escape(line)) for line in text.splitlines())
    return '<?xml version="1.0"?><w:document>' + "".join("<w:p>" + "".join(
        f'<w:r><w:t xml:space="preserve">{run}</w:t></w:r>' for run in line) + "</w:p>"
        for line in runs) + "</w:document>"


def rich(text: str) -> str:
    escaped = re.sub(r"([\\{}])", r"\\\1", text).replace("*", r"\'2a").replace("[", r"{\b [}")
    return r"{\rtf1\ansi\f0 " + "".join(f"{line}\\par\n" for line in escaped.splitlines()) + "}"


def in_commands(text: str) -> str:
    escaped = re.sub(r"([_{}&%#$])", r"\\\1", text).replace("->", r"\(\to\)")
    bold = re.sub(r"\b(\w+)\b", r"\\textbf{\1}", escaped)
    return "".join(f"\\texttt{{{line}}}\\\\\n" for line in bold.splitlines())


def take_turns(text: str) -> dict:
    tokens = re.findall(r"\w+|[^\w\s]+", text)
    lines = [" ".join(tokens[i:i + 6]) + "\n" for i in range(0, len(tokens), 6)]
    return {"d/a.txt": "".join(lines[::2]), "d/b.txt": "".join(lines[1::2])}


def lines_cut(text: str) -> dict:
    cuts = [(line[:len(line) // 2], line[len(line) // 2:]) for line in text.splitlines()]
    return {f"d/{name}.txt": "\n".join(half) for name, half in zip("ab", zip(*cuts))}


def cut_in_two(text: str) -> tuple:
    return text[:len(text) // 2], text[len(text) // 2:]


def printed(*command: str) -> bytes:
    """What a program says of a text: its last argument."""
    return subprocess.run(command[:-1], input=command[-1].encode(), check=True,
                          capture_output=True).stdout


NUMBERS = {"hex": lambda data: data.hex(), "array": lambda data: ", ".join(map(hex, data)),
           "escapes": lambda data: "".join(f"\\x{b:02x}" for b in data),
           "decimals": lambda data: ", ".join(map(str, data))}  # fmt: skip

PLANTS = {
    "as it is": file("a.txt", str),
    "renamed, reflowed": file("a.c", renamed),
    "base64": file("a.md", lambda t: f"Some notes.\n\n{in_base64(t.encode())}\n\nThe end.\n"),
    "base64 of gzip": file("a.md", lambda t: in_base64(gzip.compress(t.encode()))),
    "base64 of base64 of xz": file("a", lambda t: in_base64(
        in_base64(lzma.compress(t.encode())).encode())),
    "base64 in two files": base64_in_two,
    "base64 in strings of C": file("a.c", base64_in_c),
    "base64 of addresses": file("a", lambda t: base64.urlsafe_b64encode(t.encode()).decode()),
    "base32": file("a", lambda t: wrapped(base64.b32encode(t.encode()).decode())),
    "base85": file("a", lambda t: wrapped(base64.b85encode(t.encode()).decode())),
    "ascii85": file("a", lambda t: base64.a85encode(t.encode(), adobe=True).decode()),
    **{f"numbers: {name}": file("a.h", lambda t, make=make: make(t.encode()))
       for name, make in NUMBERS.items()},
    "xxd": file("a", dump), "hexdump -C": file("a", hexdump),
    "od -x": file("a", lambda t: printed("od", "-x", t)),
    "quoted-printable": file("a.eml", lambda t: codecs.encode(t.encode(), "quopri")),
    "percent": file("a.url", lambda t: urllib.parse.quote(t)),
    "zip": file("a.zip", zipped),
    "zip behind other bytes": file("a.bin", lambda t: b"\1\2\3" * 99 + zipped(t)),
    "tar": file("a.tar", lambda t: tarred(t.encode(), "w")),
    "tar.gz": file("a.tgz", lambda t: tarred(t.encode(), "w:gz")),
    "zip in tar.xz": file("a.txz", lambda t: tarred(zipped(t), "w:xz")),
    "lzma": file("a.lzma", lambda t: lzma.compress(t.encode(), format=lzma.FORMAT_ALONE)),
    "bzip2": file("a.bz2", lambda t: bz2.compress(t.encode())),
    "zlib in the middle": file("a.dat", lambda t: b"\xff" * 77 + zlib.compress(t.encode())),
    "an object's strings": file("a.o", in_object),
    "a library's object": file("a.a", lambda t: library(compiled("int x;"), in_object(t))),
    "an object's .comment": file("a.o", lambda t: compiled(
        f"__asm__({c_string('.ident ' + c_string(t))});")),
    "UTF-16": file("a.txt", lambda t: t.encode("utf-16")),
    "UTF-16 in a binary": file("a.bin", lambda t: b"\xfe\1\xff" * 9 + t.encode("utf-16-le")),
    "UTF-7": file("a.txt", lambda t: t.encode("utf-7")),
    "EBCDIC": file("a.txt", lambda t: t.encode("cp037")),
    "XOR": file("a.bin", lambda t: bytes(b ^ 0x5a for b in t.encode())),
    "ends of lines of a Mac": file("a.c", lambda t: t.replace("\n", "\r")),
    "capitals": file("a.txt", str.upper),
    "letters one by one": file("a.c", lambda t: "{" + ", ".join(map(repr, t)) + "}"),
    "base64, narrow": file("a", lambda t: wrapped(base64.b64encode(t.encode()).decode(), 10)),
    "UTF-32": file("a.txt", lambda t: t.encode("utf-32-be")),
    "catalogue": file("de.po", catalogue),
    "catalogue, renamed": file("de.po", lambda t: catalogue(renamed(t))),
    "compiled catalogue": file("de.mo", compiled_catalogue),
    "PDF": file("a.pdf", pdf),
    "PDF's metadata": file("a.pdf", lambda t: pdf("Lab 2", renamed(t))),
    "JSON": file("a.json", lambda t: json.dumps({"text": t})),
    "JSON in JSON": file("a.json", lambda t: json.dumps({"text": json.dumps({"body": t})})),
    "notebook": file("a.ipynb", notebook),
    "YAML with written ends of lines": file("a.yml", lambda t: "body: " + t.replace("\n", "\\n")),
    "diff": file("a.patch", patch),
    "diff, renamed": file("a.patch", lambda t: patch(renamed(t).replace(";", ";\n"))),
    "quoted": begin_with("> "), "commented out": begin_with("// "), "in Python": begin_with("# "),
    "numbered": file("a.txt", numbered),
    "in a comment": file("a.c", lambda t: "int x; /* " + re.sub(r"/\*.*?\*/", "", t, flags=re.S)
                         + " */ int y;"),
    "a comment, renamed": file("a.c", lambda t: f"int x; // {renamed(t)}\nint y;"),
    "HTML": file("a.html", coloured),
    "LaTeX": file("a.tex", lambda t: re.sub(r"([_{}&%#$])", r"\\\1", t)),
    "rot13": file("a.txt", lambda t: codecs.encode(t, "rot13")),
    "reversed": file("a.txt", lambda t: t[::-1]),
    "fullwidth": file("a.txt", lambda t: "".join(
        chr(ord(c) + 0xfee0) if "!" <= c <= "~" else c for c in t)),
    "invisible characters": file("a.txt", lambda t: re.sub(r"\b", "\u200b", t)),
    "a macro": file("a.h", lambda t: "#define BODY \\\n" + renamed(t).replace(";", "; \\\n")),
    "two files": in_two,
    "two files, renamed": lambda t: dict(zip("ab", cut_in_two(renamed(t)))),
    "many files": in_many,
    "colours of a terminal": file("a.log", lambda t: re.sub(
        r"(\w+|[^\w\s])", "\x1b[1;31m\\1\x1b[0m", t)),
    "typed twice": file("a.log", lambda t: re.sub(r"(\w)", "\\1\b\\1", t)),
    "a word processor's XML": file("a.docx", lambda t: zipped(in_runs(t))),
    "RTF": file("a.rtf", rich),
    "LaTeX, a command a line": file("a.tex", in_commands),
    "base64, a syllable a line": file("a", lambda t: wrapped(in_base64_line(t), 7)),
    "base64, mirrored": file("a", lambda t: wrapped(in_base64_line(t)[::-1])),
    "base64 of zlib, percent": file("a.md", lambda t: "https://x.org/client/" + urllib.parse.quote(
        base64.b64encode(zlib.compress(json.dumps({"source": t}).encode())).decode(), safe="/")),
    "deflate": file("a", lambda t: zlib.compress(t.encode(), wbits=-15)),
    "zeros and ones": file("a", lambda t: "".join(f"{b:08b}" for b in t.encode())),
    "lines take turns": take_turns, "each line cut": lines_cut,
    "a file's name": lambda t: {" ".join(renamed(t).replace("/", "").split())[:240]: b""},
}  # fmt: skip

