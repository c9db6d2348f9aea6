"""elf.py: what an object file holds, read as data: no tool opens what a student's code became.

Only what a compiler makes of a lab's file is taken: known sections, no code that runs before or
beside a call (constructors, indirect functions), no section that is both written and run.
"""

import re
import struct
from pathlib import Path

LARGEST = 1 << 28
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATABLE, SYMTAB, NOBITS = 1, 2, 8
WRITE, EXECUTE = 1, 4
GLOBAL, WEAK = 1, 2
UNDEFINED, IFUNC = 0, 10
SECTIONS = re.compile(
    r"|\.(text|rodata|data|bss|tdata|tbss|debug_\w+|eh_frame|gcc_except_table|comment|group|symtab"
    r"|symtab_shndx|strtab|shstrtab|note\.GNU-stack|note\.gnu\.property|llvm_addrsig)(\..*)?"
    r"|hc_device_(data|const)|hc_host_(data|bss)")  # variables of CUDA files (hostcuda.mk)


class Odd(Exception):
    """One line: why this is no object of a lab's file."""


def at(data: bytes, offset: int, size: int) -> bytes:
    if offset < 0 or size < 0 or offset + size > len(data):
        raise Odd("it ends too early")
    return data[offset:offset + size]


def name_at(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if offset >= len(table) or end < 0:
        raise Odd("a name has no end")
    return table[offset:end].decode("utf-8", "backslashreplace")


def sections_of(data: bytes) -> list:
    """[(name, type, flags, offset, size, link)]"""
    head = HEADER.unpack(at(data, 0, HEADER.size))
    ident, kind, offset = head[0], head[1], head[6]
    size, count, names = head[11:14]
    if ident[:6] != b"\x7fELF\2\1" or kind != RELOCATABLE or size != SECTION.size:
        raise Odd("it is no object file of 64 bits")
    rows = list(SECTION.iter_unpack(at(data, offset, size * count)))
    if names >= len(rows):
        raise Odd("its sections have no names")
    table = at(data, rows[names][4], rows[names][5])
    return [(name_at(table, r[0]), r[1], r[2], r[4], r[5], r[6]) for r in rows]


def check_section(name: str, flags: int, sanitised: bool) -> None:
    # .rela.text changes .text: the section that it is named after has to be a known one
    of = name.removeprefix(".rela")
    starts = sanitised and of.startswith((".init_array", ".fini_array"))
    if not SECTIONS.fullmatch(of) and not starts:
        raise Odd(f"it has a section {name}, which no lab needs")
    if flags & WRITE and flags & EXECUTE:
        raise Odd(f"its section {name} is written and run")
    if of == "hc_device_const" and flags & WRITE:  # (what is const is not counted: hooks.c)
        raise Odd("a const variable of the device can be written: it has a mutable member, or the "
                  "word const belongs to something else, such as a template's argument")
    if of == ".note.GNU-stack" and flags & EXECUTE:  # (a function in a function asks for it)
        raise Odd("it makes the stack a place where code is run")


def read(path: Path, sanitised: bool = False) -> list:
    """[(name, kind)] of the symbols that other files see: U undefined, w weak and undefined, T and
    W defined. Raises Odd for an object that is not taken. (A sanitizer starts before all else.)"""
    if path.stat().st_size > LARGEST:
        raise Odd("it is larger than 256 MiB")
    data = path.read_bytes()
    try:
        sections = sections_of(data)
        for name, _, flags, *_ in sections:
            check_section(name, flags, sanitised)
        return [found for name, kind, _, offset, size, link in sections if kind == SYMTAB
                for found in symbols(data, sections, offset, size, link)]
    except struct.error:
        raise Odd("it ends too early") from None


def symbols(data: bytes, sections: list, offset: int, size: int, link: int):
    if link >= len(sections):
        raise Odd("its symbols have no names")
    names = at(data, sections[link][3], sections[link][4])
    for name, info, _, section, _, _ in SYMBOL.iter_unpack(at(data, offset, size)):
        if info & 15 == IFUNC:
            raise Odd(f"{name_at(names, name)} is an indirect function")
        if info >> 4 in (GLOBAL, WEAK):
            kinds = "Uw" if section == UNDEFINED else "TW"
            yield name_at(names, name), kinds[info >> 4 == WEAK]
