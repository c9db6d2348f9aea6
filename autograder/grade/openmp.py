"""openmp.py: what is wrong with the threads of a student's C file, whoever finishes first.

Threads that share a variable give right values most of the time, and on a machine with few cores
nearly always: a claim that compares numbers would find it one day and not the next. So it is read
from the source: an `omp parallel` that takes another number of threads than the context says, one
that lets each thread do all of the work, a variable declared outside of it that each of them
writes, a `static` one in what they run. Only what is wrong in any case is told: an element of an
array may be a thread's own, and so may what stands behind `critical`, `atomic` or `single`.
"""

from pathlib import Path
from typing import NamedTuple

import skeletons
import tokens
from tokens import IDENTIFIER, NEWLINE

ROOT = Path(__file__).resolve().parents[2]
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
CONTROL = {"return", "else", "do", "goto", "case", "sizeof", "break", "continue", "if", "for",
           "while", "switch"}
QUALIFIERS = {"const", "static", "unsigned", "signed", "register", "volatile", "restrict", "struct",
              "union", "enum", "long", "short", "inline", "_Alignas"}
OWN = {"private", "firstprivate", "lastprivate", "reduction", "linear"}  # clauses: one for each
APART = {"critical", "atomic", "single", "master", "masked", "ordered", "task", "sections"}
ANY_NUMBER = ("omp parallel without num_threads(ctx->threads): it takes as many threads as the "
              "machine has, whatever the context says")
ALL_BY_EACH = ("omp parallel without `for`: every thread runs all of what follows, and what one of "
               "them writes the others write, too. `omp parallel for` shares a loop out")
WRITTEN_BY_ALL = ("{name} is declared outside of the parallel loop, so there is one of it, and "
                  "each thread writes it: declare it inside, where it is used")
STATIC = ("{name} is static, so there is one of it, and threads of a parallel loop share it: "
          "without `static` each call has its own")


class Region(NamedTuple):
    """An `omp parallel`: its line, its words, the statement behind it, and where in that other
    pragmas of OpenMP stand, with their words."""
    line: int
    words: list
    body: list
    inner: list

    def pragmas(self) -> list:
        return [(0, self.words), *self.inner]


def clause(words: list, names: set) -> set:
    """What stands in the parentheses behind one of these names."""
    found, depth, of_names = set(), 0, False
    for before, word in zip(["", *words], words):
        depth -= word == ")"
        if word == "(":
            of_names = before in names if depth == 0 else of_names
        elif depth and of_names:
            found.add(word)
        depth += word == "("
    return found


def closing(found: list, at: int) -> int:
    """Where the bracket that opens at `at` closes."""
    depth = 0
    for n in range(at, len(found)):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(found[n].text, 0)
        if depth == 0:
            return n
    return len(found) - 1


def statement(found: list, at: int) -> int:
    """The index behind the statement that begins at `at`."""
    while at < len(found) and found[at].text in ("for", "while", "if", "switch"):
        at = closing(found, at + 1) + 1
    if at < len(found) and found[at].text == "{":
        return closing(found, at) + 1
    while at < len(found) and found[at].text != ";":
        at = closing(found, at) + 1 if found[at].text in "([{" else at + 1
    return at + 1


def split(found: list) -> tuple:
    """(tokens without ends of lines and directives, [(index, line, words) of each pragma omp])."""
    plain, pragmas, line = [], [], []
    for token in [*found, tokens.Token(NEWLINE, "\n", 0)]:
        if token.kind != NEWLINE:
            line.append(token)
            continue
        words = [t.text for t in line]
        if words[:3] == ["#", "pragma", "omp"]:
            pragmas.append((len(plain), line[0].line, words[3:]))
        elif words[:1] != ["#"]:
            plain += line
        line = []
    return plain, pragmas


def declared(body: list) -> set:
    """Names that a declaration in it introduces: what stands behind a type, and behind its
    commas."""
    names, at = set(), 0
    begins = True  # of a statement, or of the head of a loop
    while at < len(body):
        if begins and (end := behind_type(body, at)):
            names |= declarators(body, end)
        begins = body[at].text in ("{", "}", ";", "(", ")")
        at += 1
    return names


def behind_type(body: list, at: int) -> int:
    """Where the first name of a declaration stands, or 0: none begins here."""
    texts = [t.text for t in body[at:at + 8]] + [""]
    n = 0
    while texts[n] in QUALIFIERS:
        n += 1
    unnamed = n and texts[n - 1] in ("unsigned", "signed", "long", "short")
    if body[at:] and texts[n:n + 1] and is_name(body, at + n) and (
            is_name(body, at + n + 1) or texts[n + 1] in ("*", "const", "restrict")):
        n += 1
    elif not (unnamed and is_name(body, at + n)):
        return 0
    while texts[n] in ("*", "const", "restrict"):
        n += 1
    return at + n if is_name(body, at + n) and texts[n + 1] in ("=", ",", ";", "[", ":") else 0


def is_name(body: list, at: int) -> bool:
    return (at < len(body) and body[at].kind == IDENTIFIER
            and body[at].text not in CONTROL | QUALIFIERS)


def declarators(body: list, at: int) -> set:
    names, expected = set(), True
    while at < len(body) and body[at].text != ";":
        text = body[at].text
        if expected and is_name(body, at):
            names.add(text)
            expected = False
        elif text == ",":
            expected = True
        if text in "([{":
            at = closing(body, at)
        elif text in ")}":
            break
        at += 1
    return names


def counters(region: Region) -> set:
    """OpenMP makes the counters of loops that it shares out each thread's own, wherever they are
    declared."""
    names = set()
    for at, words in region.pragmas():
        if "for" not in words:
            continue
        texts = [t.text for t in region.body[at:]]
        count = next((int(n) for n in clause(words, {"collapse"}) if n.isdigit()), 1)
        heads = [n for n, text in enumerate(texts) if text == "for"][:count]
        names |= {texts[n + 2] for n in heads if texts[n + 3:n + 4] == ["="]}
    return names


def assigned(body: list) -> list:
    """The tokens of plain variables that get a value: v = …, v += …, v++, ++v."""
    found = []
    for at, token in enumerate(body):
        before = body[at - 1].text if at else ""
        behind = body[at + 1].text if at + 1 < len(body) else ""
        if token.kind != IDENTIFIER or before in (".", "->"):
            continue
        further = body[at + 2] if at + 2 < len(body) else token
        if behind in ASSIGNS and (before != "*" or behind in ("++", "--")):  # (not *p = …)
            # a flag that all set to one number has that number, whoever comes last
            if not (behind == "=" and further.kind != IDENTIFIER
                    and further.text not in ("(", "*", "-", "&", "!", "~", "+")
                    and body[at + 3:at + 4] and body[at + 3].text == ";"):
                found.append(token)
        elif before in ("++", "--") and behind not in ("[", ".", "->", "("):
            found.append(token)
    return found


def functions(plain: list) -> dict:
    """name -> the tokens of its body, of the functions that the file defines."""
    found, at = {}, 0
    while at < len(plain):
        if plain[at].text == "(" and at and is_name(plain, at - 1):
            end = closing(plain, at)
            if plain[end + 1:end + 2] and plain[end + 1].text == "{":
                last = closing(plain, end + 1)
                found[plain[at - 1].text] = plain[end + 1:last + 1]
                at = last
        elif plain[at].text == "{":
            at = closing(plain, at)
        at += 1
    return found


def run_by(body: list, of_file: dict) -> list:
    """The bodies that its threads run: its own, and those of the file's functions it leads to."""
    bodies, names, left = [body], set(), [body]
    while left:
        for token in left.pop():
            if token.text in of_file and token.text not in names:
                names.add(token.text)
                bodies.append(of_file[token.text])
                left.append(of_file[token.text])
    return bodies


def statics(body: list) -> list:
    """(line, name) of each variable in it that outlives its function and is no constant."""
    found = []
    for at, token in enumerate(body):
        end = behind_type(body, at) if token.text == "static" else 0
        if end and "const" not in [t.text for t in body[at:end]]:
            found += [(token.line, name) for name in sorted(declarators(body, end))]
    return found


def written_by_all(region: Region) -> list:
    """(line, name) of each variable from outside that a thread gives a value."""
    own = declared(region.body) | counters(region)
    for _, words in region.pragmas():
        own |= clause(words, OWN)
    told = {}
    for token in assigned(region.body):
        if token.text not in own:
            told.setdefault(token.text, token.line)
    return [(line, name) for name, line in told.items()]


def region_findings(region: Region, of_file: dict) -> list:
    """(line, text) of what is wrong with one parallel region."""
    out, words = [], {word for _, words in region.pragmas() for word in words}
    by_number = any(token.text == "omp_get_thread_num" for token in region.body)
    threads = clause(region.words, {"num_threads"})
    if all(word.isdigit() for word in threads):
        out.append((region.line, ANY_NUMBER))
    if not by_number and not words & ({"for"} | APART):
        out.append((region.line, ALL_BY_EACH))
    elif not by_number and not words & APART:
        out += [(line, WRITTEN_BY_ALL.format(name=name)) for line, name in written_by_all(region)]
    for body in run_by(region.body, of_file):
        out += [(line, STATIC.format(name=name)) for line, name in statics(body)]
    return out


def regions(plain: list, pragmas: list) -> list:
    found = []
    for at, line, words in pragmas:
        if "parallel" in words:
            end = statement(plain, at)
            found.append(Region(line, words, plain[at:end], [
                (n - at, inner) for n, _, inner in pragmas if at <= n < end and inner != words]))
    return found


def file_findings(text: str) -> list:
    """[(line, text)] of one file, in order of lines."""
    plain, pragmas = split(tokens.tokens(text))
    of_file = functions(plain)
    return sorted({found for region in regions(plain, pragmas)
                   for found in region_findings(region, of_file)})


def findings(lab: int, folder: str) -> list:
    """[(file, line, text)] of the lab's C files."""
    paths = [Path(folder, f"lab{lab}", name) for name in skeletons.code_files(ROOT, lab)]
    return [(str(path), line, text) for path in paths if path.suffix == ".c" and path.exists()
            for line, text in file_findings(path.read_bytes().decode("utf-8-sig",
                                                                     "surrogateescape"))]
