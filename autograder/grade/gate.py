"""gate.py: what a student's source may not hold.

Races, reads of uninitialised memory and memory sectors are counted in the process that runs the
student's code, by hooks that its compiler places: so they prove something only about source that
cannot switch the hooks off, tell a CPU from a GPU, or hand its work to somebody else. Everything is
judged by tokens, as a compiler sees them (tokens.py, gate_names.py); what a file uses of others is
also judged by the undefined symbols of its objects (allowed_calls.toml), and whether CUDA is CUDA
by a compiler (cuda_legality.py).
"""

import fnmatch
import functools
import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gate_calls as calls
import gate_fields
import gate_names as names
import cuda_legality
import elf
import machine
import preprocessed
import skeletons
import table
import tokens
from table import tomllib
from tokens import HEADER, IDENTIFIER, NUMBER, ODD, PUNCTUATOR, STRING

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent
MOST = 100  # findings of one file; nobody reads more
# What is called often where it may not be -> what most of these tasks may call, and what that does.
INSTEAD = {"tl_alloc_get": ("tl_tape_scratch", "takes memory that a reset of the tape gives back")}
MODES = ("float", "double", "float-debug", "double-debug", "float-san", "double-san",
         "float-check", "double-check")


@functools.cache
def allow_lists() -> dict:
    return tomllib.loads((FOLDER / "allowed_calls.toml").read_text(encoding="utf-8"))


@functools.cache
def own_lists(lab: int) -> dict:
    """task -> side -> what its list of claims allows it."""
    return {task.name: task.allow for task in table.load(lab).tasks}


class Rules:
    """What one file may use: the lists for every file of its side and those of its task."""

    def __init__(self, lab: int, path: Path):
        side = "cuda" if path.suffix == ".cu" else "c"
        self.cuda = side == "cuda"
        own = own_lists(lab).get(path.stem, {}).get(side, {})
        every = allow_lists()[side]
        self.calls = every["calls"] + own.get("calls", [])
        self.members = every["members"] + own.get("members", [])
        self.keywords = {"new"} if side == "cuda" else set()  # (makes structs in place)
        self.headers = names.HEADERS | set(own.get("headers", []))

    @staticmethod
    def allows(patterns: list, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def directive_findings(line: list, rules: Rules) -> list:
    """(line, text) for one preprocessor line."""
    word, rest = line[0], line[1:]
    if word.text not in names.DIRECTIVES:
        if line == [word] and word.text == "#":  # an empty directive
            return []
        return [(word.line, f"#{word.text}: this directive has no use in a lab")]
    if word.text == "include":
        return include_findings(word.line, rest, rules)
    spelled = " ".join(t.text for t in rest)
    if word.text == "pragma" and not any(re.fullmatch(p, spelled) for p in names.PRAGMAS):
        return [(word.line, f"#pragma {spelled}: only omp, unroll and diagnostic pragmas are "
                            "allowed")]
    if word.text in ("define", "undef"):
        return macro_findings(word, rest, rules)
    return []


def macro_findings(word: tokens.Token, rest: list, rules: Rules) -> list:
    """#define and #undef: what this gate reads must mean the same to a compiler. So no name that
    it lets pass may be given another meaning, no name come out of pieces, and no macro close a
    parenthesis that it has not opened."""
    fixed = names.KEYWORDS | names.BUILTIN_VARIABLES | names.ATTRIBUTES | set(rules.members)
    texts = [t.text for t in rest]
    name = texts[0] if texts else ""
    parameters = []
    if texts[1:2] == ["("] and rest[1].at == rest[0].at + len(name) and ")" in texts:
        parameters = texts[1:texts.index(")")]
    taken = [t for t in [name, *parameters] if t in fixed]
    if taken or name.startswith(("tl_", "TL_", "_")):
        shown = taken[0] if taken else name
        return [(word.line, f"#{word.text} {shown}: this name is not yours to change")]
    if "##" in texts:
        return [(word.line, "## makes names out of pieces, which nobody can read: write them out")]
    depths = list(itertools.accumulate({"(": 1, ")": -1}.get(text, 0) for text in texts))
    if depths and (depths[-1] or min(depths) < 0):
        return [(word.line, f"#define {name}: each parenthesis in a macro needs its partner there")]
    return []


def include_findings(line: int, rest: list, rules: Rules) -> list:
    what = "".join(t.text for t in rest)
    if [t.kind for t in rest] != [HEADER]:
        return [(line, f"#include {what}: name the header itself, and nothing behind it")]
    if match := re.fullmatch(r'"tl/(\w+\.h)"', what):
        if not (ROOT / "tl/include/tl" / match[1]).exists():
            return [(line, f"#include {what}: there is no such header in tl/include")]
        return []
    if (match := re.fullmatch(r"<([\w./]+)>", what)) and match[1] in rules.headers:
        return []
    return [(line, f"#include {what}: this task includes headers of tl/ and of the C library "
                   "alone; what you need of your own goes into this file")]


def attribute_findings(found: list, at: int) -> list:
    """After __attribute__: its list as it stands, ((a, b(…))), and only attributes that change
    neither code nor checks. (Where a macro could bring the list, it could bring a section's name,
    which compilers write into assembly as it is.)"""
    texts = [t.text for t in found[at + 1:at + 1 + names.LONGEST_ATTRIBUTE]]
    depth = 0
    for n, text in enumerate(texts):
        token = found[at + 1 + n]
        if n < 2 and text != "(" or depth == 1 and n > 1 and text != ")":
            break
        depth += {"(": 1, ")": -1}.get(text, 0)
        if depth == 0:
            return []
        if token.kind == IDENTIFIER and depth == 2 and text not in names.ATTRIBUTES:
            return [(found[at].line, f"__attribute__(({text})): attributes that change what the "
                                     "compiler makes of your code are not allowed")]
        if token.kind not in (IDENTIFIER, PUNCTUATOR, NUMBER) or text == "__attribute__":
            break
    return [(found[at].line, "__attribute__: write its list right behind it, as in "
                             "__attribute__((unused))")]


def identifier_finding(name: str, before: str, after: list, rules: Rules) -> str:
    """Why a name may not stand between these tokens, or an empty string."""
    if why := names.why_not(name):
        return why
    if name in rules.keywords:
        return f"{name}: memory of the device comes from the contract's arguments or cudaMalloc"
    if name == "hc" and (before == "namespace" or after[0] == "::"):
        return f"hc:: {names.DETECTS}"
    if name == "name" and before in ("->", "."):
        return f"{before}name {names.DETECTS}"
    if "*" in rules.members:
        return ""
    if name == "tl_backend":
        return ("tl_backend leads to every operation: this task is to be written without the "
                "others")
    if name == "ops":
        member = after[1] if after[0] == "->" else ""
        if before not in ("->", ".") or not rules.allows(rules.members, member):
            shown = f"->{member}" if member else ""
            return (f"ops{shown}: this task is to be written without the operations of the "
                    "dispatch table")
    return ""


def token_findings(found: list, rules: Rules) -> list:
    if out := calls.too_deep(found):
        return out
    for at, token in enumerate(found):
        if token.kind == ODD:
            out.append((token.line, token.text))
        elif token.kind == STRING and "hostcuda" in token.text.lower():
            out.append((token.line, f"{token.text} {names.DETECTS}"))
        elif token.text == "[" and found[at + 1:at + 2] and found[at + 1].text == "[":
            out.append((token.line, "[[…]]: attributes are not allowed"))
        elif token.text == "__attribute__":
            out += attribute_findings(found, at)
        elif token.kind == IDENTIFIER:
            before = found[at - 1].text if at else ""
            after = [t.text for t in found[at + 1:at + 3]] + ["", ""]
            why = (identifier_finding(token.text, before, after, rules)
                   or calls.call_finding(found, at))
            if why:
                out.append((token.line, why))
    return out


def plain_findings(found: list, rules: Rules) -> list:
    """Of what is no directive."""
    out = token_findings(found, rules)
    if rules.cuda:
        out += calls.unseen(found) + gate_fields.findings(found)
        out += calls.declared_anew(found, rules.calls) + calls.given_away(found, contracts())
    return out


def objects_of(lab: int, folder: str, source: Path) -> list:
    """The objects of a student's file, as workers.mk built them in the plain modes. All of them are
    looked at, for a call may stand in one precision alone; one that is older than the source would
    speak of another source, and is linked nowhere."""
    clean = folder.strip("/")
    inside = "" if clean == "labs" else f"from/{clean}/"
    name = f"{source.name}.hostcuda.o" if source.suffix == ".cu" else f"{source.stem}.o"
    paths = (Path("build", mode, f"{inside}labs", f"lab{lab}", name) for mode in MODES)
    return [p for p in paths if p.exists() and p.stat().st_mtime >= source.stat().st_mtime]


def as_written(symbol: str) -> str | None:
    """A symbol as the source has it; None for what only hostcuda's headers and rewriter call."""
    if symbol.startswith("hc_blas_"):
        return "cublas" + symbol.removeprefix("hc_blas_")
    if match := re.fullmatch(r"hc_([A-Z]\w*)", symbol):
        return "cuda" + match[1].removesuffix("Bytes")  # (what cudaMalloc<T>, a template, calls)
    if symbol.startswith("hc_"):
        return None
    return symbol


def symbols_of(obj: Path) -> list:
    """[(name, kind)] of what other files see: U and w undefined, T and W defined."""
    found = elf.read(obj, sanitised="-san/" in str(obj))
    return [(unmangled(name), kind) for name, kind in found]


def unmangled(symbol: str) -> str:
    """The name of a plain function of C++; the gate asks for no others."""
    match = re.match(r"_Z(\d+)(\w+)", symbol)
    return match[2][:int(match[1])] if match else symbol


def symbol_findings(symbols: list, found: list, rules: Rules, exported: set) -> list:
    lines, out = {}, []
    for token in found:
        lines.setdefault(token.text, token.line)
    for symbol, kind in symbols:
        name = as_written(symbol)
        if kind in "Uw":
            if name and not rules.allows(rules.calls, name):
                out.append((lines.get(name, 1), f"{name}: this task is to be written without it"
                                                f"{instead_of(name, rules)}"))
            continue
        if (name := symbol) in lines and name in names.EVERYBODYS | contracts() - exported:
            out.append((lines[name], f"{name}: a function of this name is somebody else's; give "
                                     "yours another one, and make it static"))
    return out


def instead_of(name: str, rules) -> str:
    """What the same task may call in its place, in words."""
    other, does = INSTEAD.get(name, ("", ""))
    return f"; {other} {does}" if other and rules.allows(rules.calls, other) else ""


@functools.cache
def contracts() -> set:
    """All functions of the contracts."""
    texts = (p.read_text(encoding="utf-8") for p in (ROOT / "tl/include/tl").glob("*.h"))
    return {name for text in texts for name in re.findall(r"\b(tl_\w+)\(", text)}


def exports(lab: int, name: str) -> set:
    """What the skeleton of this file defines for others."""
    for folder in (ROOT / "solution", ROOT / skeletons.HANDOUT):
        path = folder / f"lab{lab}" / name
        if path.exists():
            return set(skeletons.exported(path.read_text(encoding="utf-8")))
    return set()


def file_findings(lab: int, path: Path, objects: list, made: tuple = ()) -> list:
    """[(line, text)] of one file, in order of lines; `objects`: the symbols of each; `made`: what
    it was when compilers read it."""
    rules = Rules(lab, path)
    found = tokens.tokens(path.read_bytes().decode("utf-8-sig", "surrogateescape"),
                          "c++" if path.suffix == ".cu" else "c")
    plain, inside = tokens.directives(found)
    out = plain_findings(plain, rules)
    for line in inside:
        out += directive_findings(line, rules)
        # (the first word behind #pragma has been judged with it)
        out += token_findings(line[2:] if line[0].text == "pragma" else line[1:], rules)
    for text in made:
        out += preprocessed.findings(text, rules, (plain_findings, directive_findings))
    identifiers = [t for t in found if t.kind == IDENTIFIER]
    for symbols in objects:
        out += symbol_findings(symbols, identifiers, rules, exports(lab, path.name))
    return sorted(set(out))[:MOST]


def findings(lab: int, folder: str) -> list:
    """[(file, line, text)] of everything in the lab's files that is not allowed."""
    paths = [Path(folder, f"lab{lab}", name) for name in skeletons.code_files(ROOT, lab)]
    paths = [path for path in paths if path.exists()]
    out = []
    for path in paths:
        symbols, objects = [], objects_of(lab, folder, path)
        made = [Path(f"{obj}{preprocessed.SUFFIX[path.suffix]}") for obj in objects]
        for obj in objects:
            try:
                symbols.append(symbols_of(obj))
            except elf.Odd as error:
                out.append((str(path), 1, f"what a compiler made of it is refused: {error}"))
        out += [(str(path), line, text) for line, text in file_findings(lab, path, symbols, made)]
    cuda, key = [path for path in paths if path.suffix == ".cu"], cuda_legality.key()
    with ThreadPoolExecutor(machine.cores()) as pool:
        for found in pool.map(lambda path: cuda_legality.findings(path, key), cuda):
            out += found
    return out
