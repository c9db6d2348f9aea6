"""leak_objects.py: what an object file says about its source, besides its code.

Objects of a reference that students link against may define the functions of their lab. They name
nothing else: no debug information, no function of a file's own. Anywhere else a function of a lab
is the solution's.
"""

import re
import struct

import elf
import leak_files

ASSEMBLY = {"hostcuda/check/calls.c"}  # given files that have some
REFERENCE = re.compile(r"(.*/)?(reference|solution)/")  # where a handout keeps them
NAMES = re.compile(r"\.(strtab|dynstr|z?debug_\w+)")
DEBUG = re.compile(r"\.(z?debug_|stab|gnu_debug)")
UNDEFINED, LOCAL = 0, 0
DATA_OR_CODE = (0, 1, 2, 10)  # a symbol's type; not a section's, nor a file's
STAND_IN = 128  # bytes: what stands for a function that is missing is smaller, and none of ours
MARK = re.compile(r"\.L.*|\$[xdt](\..*)?|")  # an assembler's own


def symbols(data: bytes):
    """(name, binding, size) of what is defined in it; `.symtab` and `.dynsym`."""
    rows = leak_files.elf_rows(data)
    for _, kind, _, offset, size, link in rows:
        if kind not in (elf.SYMTAB, 11):
            continue
        table = elf.at(data, rows[link][3], rows[link][4])
        whole = size // elf.SYMBOL.size * elf.SYMBOL.size
        for name, info, _, section, _, length in elf.SYMBOL.iter_unpack(
                elf.at(data, offset, whole)):
            if section != UNDEFINED and info & 15 in DATA_OR_CODE:
                yield elf.name_at(table, name), info >> 4, length


def plain(words: set) -> set:
    """Also the names that C++ has put a length before: _ZL8copy_tapPf."""
    inner = {name[:int(length)] for word in words if word.startswith("_Z")
             for length, name in re.findall(r"(\d+)([A-Za-z_]\w*)", word)}
    return words | inner


def names_in(data: bytes) -> set:
    found = set()
    for name, _, _, offset, size, _ in leak_files.elf_rows(data):
        if NAMES.fullmatch(name):
            part = data[offset:offset + size]
            parts = [part, *(inside for _, inside in leak_files.streams(part, leak_files.MOST))]
            for text in parts:
                found |= {w.decode() for w in re.findall(rb"[A-Za-z_]\w+", text)}
    return plain(found)


def faults(name: str, made: list, ready: bool, secrets, closed: set):
    """Lines: what a compiler made and no handout has, and what one of its objects should not say.
    `ready`: a handout has a program, a library or an object of this name."""
    told = set()
    for place, kind, what in made:
        if not ready and name not in ASSEMBLY and kind not in told:
            told.add(kind)
            yield f"{name}{place}: {kind}, of a name that no handout has (handed.py)"
        if isinstance(what, bytes) and what.startswith(b"\x7fELF"):
            try:
                yield from object_faults(name + place, what, secrets, closed)
            except (elf.Odd, struct.error, IndexError) as error:
                odd = leak_files.Unreadable(f"its symbols cannot be read: {error}")
                odd.place = place
                raise odd from None


def object_faults(place: str, data: bytes, secrets, closed: set):
    """What a student learns from this object, or should not have yet."""
    defined = list(symbols(data))
    reference = REFERENCE.match(place)
    labs = {}  # what it defines of each
    for name, binding, size in defined:
        if binding != LOCAL and name in secrets.exported and (reference or size >= STAND_IN):
            labs.setdefault(secrets.exported[name], set()).add(name)
    for lab, names in sorted(labs.items()):
        if not reference:
            yield f"{place}: defines {listed(names)} of lab {lab}, outside of the reference"
        elif lab not in closed:
            yield f"{place}: defines {listed(names)} of lab {lab}, which CLOSED does not name"
    if reference:
        for name in sorted(n for n, *_ in leak_files.elf_rows(data) if DEBUG.match(n)):
            yield f"{place}: debug information: section {name} (strip --strip-unneeded)"
        own = {n for n, binding, _ in defined if binding == LOCAL and not MARK.fullmatch(n)}
        if own:
            yield f"{place}: names {listed(own)}, its file's own (strip --strip-unneeded)"
    if known := names_in(data) & secrets.names:
        yield f"{place}: its tables of names hold {listed(known)}, which only the secrets have"


def listed(names: set) -> str:
    first = ", ".join(sorted(names)[:4])
    return f"{first} and {len(names) - 4} more" if len(names) > 4 else first
