"""oral.py: five questions to a student about the file that they handed in and the cases that it
failed. The same file has the same questions whenever they are asked; two students with one file
have other ones each, as far as the file has that many.
"""

import difflib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import ledger
import tokens
from failure import SIDE_NAMES
from tokens import IDENTIFIER, NEWLINE

MOST = 5
SIDE_OF = {".c": "c", ".cu": "cuda"}
# Statements that are no work of a student's.
GIVEN_WORDS = {"TL_NEED", "TL_NOT_IMPLEMENTED", "TL_LAUNCHED"}
NO_FUNCTION = {"if", "for", "while", "switch", "return", "sizeof", "TL_R"}
LOOPS = {"for", "while"}
TYPES = {"int", "size_t", "tl_real", "float", "double", "bool", "char", "long", "unsigned"}
OF_THREADS = {"blockIdx", "threadIdx", "tl_thread", "tl_threads"}


@dataclass(frozen=True)
class Question:
    kind: str
    file: str
    line: int
    code: str  # of that line
    ask: str
    before: str = ""  # what was the case, where the question needs it

    @property
    def where(self) -> str:
        return f"line {self.line} of {self.file}"

    def __str__(self) -> str:
        return " ".join(filter(None, [self.before, f"{self.where}: `{self.code}`:", self.ask]))


@dataclass(frozen=True)
class Line:
    """A line of code that is not the skeleton's."""

    file: str
    number: int
    text: str
    words: tuple  # its tokens
    function: str


def functions(found: list) -> dict:
    """line -> the function in whose braces it is."""
    inside, depth, name, last, of = {}, 0, "", [], ""
    for token in found:
        if token.kind == IDENTIFIER and not depth:
            last.append(token.text)
        if token.text == "(" and not depth and last:
            of = of or last[-1]
        elif token.text == "{":
            name = of if not depth else name
            depth += 1
        elif token.text == "}":
            depth = max(0, depth - 1)
        if depth:
            inside.setdefault(token.line, name)
        elif token.text in (";", "}"):
            last, of = [], ""
    return inside


def own_lines(name: str, data: bytes, given: bytes) -> list:
    """In order; all lines with code where none is theirs alone."""
    text = data.decode("utf-8", "replace")
    found = tokens.tokens(text, "c++" if name.endswith(".cu") else "c")
    lines, inside, by_line = text.split("\n"), functions(found), {}
    for token in found:
        if token.kind not in (NEWLINE, tokens.ODD):
            by_line.setdefault(token.line, []).append(token.text)
    known = {line.strip() for line in given.decode("utf-8", "replace").split("\n")}
    made = [Line(name, number, lines[number - 1].strip(), tuple(words), inside.get(number, ""))
            for number, words in by_line.items()
            if words[0] not in ("#", "}") and len("".join(words)) > 2
            and not GIVEN_WORDS.intersection(words)]
    return [line for line in made if line.text not in known] or made


def all_lines(files: dict, given: dict) -> list:
    mine = {name: data for name, data in files.items() if data != given.get(name)} or files
    return [line for name, data in sorted(mine.items())
            for line in own_lines(name, data, given.get(name, b""))]


# ---- what can be asked of a line -----------------------------------------------------------------

def declared(words: tuple) -> str:
    """The name that a line declares with a value, if it does."""
    if words[0] in TYPES or (words[0] == "const" and len(words) > 1 and words[1] in TYPES):
        for a, b in zip(words, words[1:]):
            if b == "=" and re.fullmatch(r"[A-Za-z_]\w*", a):
                return a
    return ""


def loop(line: Line) -> str:
    name = next((b for a, b in zip(line.words, line.words[1:]) if b == "=" or a in TYPES), "")
    name = next((a for a, b in zip(line.words, line.words[1:]) if b == "="), name)
    which = f"which values does `{name}` take" if name else "how often does this loop run"
    return (f"{which} in the smallest call that you can think of, and what goes wrong with one "
            "step more?")


def of_line(line: Line, lines: list) -> list:
    """[(kind, question)]"""
    words, made = set(line.words), []
    at = f" (in `{line.function}`)" if line.function else ""
    if "<<<" in words:
        made.append(("launch", "how many threads does this start for 1000 elements, and what do "
                               "those do that find none?"))
    if "__syncthreads" in words:
        made.append(("race", "which thread would read what another has not written yet, if this "
                             "were not here?"))
    if words & OF_THREADS:
        made.append(("threads", f"which elements do threads 0, 1 and 32 take here{at}?"))
    if words & LOOPS:
        made.append(("loop", loop(line)))
    if words & {"if", "?"}:
        made.append(("condition", f"name a call for which this is true and one for which it is "
                                  f"not{at}. What does each give?"))
    if name := declared(line.words):
        uses = [str(x.number) for x in lines if x.file == line.file and x.number > line.number
                and name in x.words][:3]
        used = f" It is used in line {', '.join(uses)}: for what?" if uses else ""
        made.append(("variable", f"what can `{name}` be at most, and at least?{used}"))
    if "[" in words:
        made.append(("index", "what are the first and the last place that this touches, and what "
                              "keeps it inside?"))
    if line.text.endswith(";"):
        made.append(("out", f"take this line out{at}. Does it still compile, and which claim of "
                            "the grader fails first?"))
    return made


def general(line: Line) -> list:
    """What any line can be asked, so that a short file has five questions, too."""
    return [("purpose", "what is this for, in your own words?"),
            ("other", "write it in another way, with the same result."),
            ("claim", "which claim of the grader looks at this, and with what call?"),
            ("cost", "how often is this done for a batch of 512?"),
            ("wrong", "change one sign in it. What comes out?")]


# ---- what the grader and earlier attempts say ----------------------------------------------------

def verdicts(document: dict) -> dict:
    """(claim, side) -> the claim, of those that were judged."""
    return {(c["claim"], c["side"]): c for c in document.get("claims", ())
            if c["verdict"] in ("pass", "fail")}


def nearest(claim: dict, lines: list) -> list:
    """Lines of the file that a claim is about; of that side or all where it has none."""
    task = [x for x in lines if Path(x.file).stem == claim["task"]
            and SIDE_OF.get(Path(x.file).suffix) == claim["side"]]
    return task or [x for x in lines if SIDE_OF.get(Path(x.file).suffix) == claim["side"]] or lines


def failed(document: dict, lines: list) -> list:
    """Of each claim that failed one question for every loop, index … of its file."""
    made = []
    for claim in document.get("claims", ()):
        if claim["verdict"] != "fail":
            continue
        record = (claim.get("failures") or [{}])[0]
        call = record.get("call", "")
        why = claim.get("advice") or claim.get("diagnosis") or claim.get("kind", "")
        before = (f"{claim['claim']} ({SIDE_NAMES[claim['side']]}) fails"
                  + f", at {call}" * bool(call) + f": {why}." * bool(why))
        made += [Question("failed", x.file, x.number, x.text, "what does this line do in that "
                          "call? If the mistake is elsewhere, where?", before)
                 for x in nearest(claim, lines)]
    return made


def changes(now: dict, before: dict, lines: list) -> list:
    """[(line of now, the text that it took the place of)]"""
    at, found = {(x.file, x.number): x for x in lines}, []
    for name, data in sorted(now.items()):
        old, new = ([line.strip() for line in d.decode("utf-8", "replace").split("\n")]
                    for d in (before.get(name, b""), data))
        for what, i, _, j, j_end in difflib.SequenceMatcher(None, old, new).get_opcodes():
            if what in ("replace", "insert"):
                found += [(at[name, n + 1], old[i + n - j] if what == "replace" and
                           i + n - j < len(old) else "")
                          for n in range(j, j_end) if (name, n + 1) in at]
    return found


def changed(document: dict, files: dict, earlier: list, lines: list) -> list:
    """Of claims that failed in an earlier attempt and hold now, by the lines that differ."""
    made, now = [], verdicts(document)
    for number, old, old_files in earlier:
        mended = [c for key, c in verdicts(old).items() if c["verdict"] == "fail"
                  and now.get(key, {}).get("verdict") == "pass"]
        said = [f"in attempt {number} {c['claim']} ({SIDE_NAMES[c['side']]}) failed: "
                f"{c.get('advice') or c.get('diagnosis') or c.get('kind', '')}." for c in mended]
        ask = "what was wrong then, and why does this mend it?" if mended else "why did you?"
        for line, was in changes(files, old_files, lines):
            told = said[len(made) % len(said)] if said else ""
            before = f"{told} Since attempt {number} you have changed".strip()
            made.append(Question("changed", line.file, line.number, line.text,
                                 (f"before, there was `{was}`: " if was else "") + ask, before))
    return made


# ---- the choice ----------------------------------------------------------------------------------

def pools(lines: list) -> dict:
    """kind -> questions."""
    found = {}
    for line in lines:
        for kind, ask in of_line(line, lines):
            found.setdefault(kind, []).append(
                Question(kind, line.file, line.number, line.text, ask))
    return found


def choose(student: str, digest: str, groups: list, asked: set) -> list:
    """One of each kind, by a hash of student and file, then further ones; of the first group
    first. What somebody else is asked comes last, and so does a line that was asked about."""
    def place(question):
        return hashlib.sha256(f"{student} {digest} {question}".encode()).hexdigest()

    chosen = []
    while len(chosen) < MOST:
        kinds, lines = [q.kind for q in chosen], {(q.file, q.line) for q in chosen}
        left = [(g, q) for g, group in enumerate(groups) for q in group if q not in chosen]
        if not left:
            break
        chosen.append(min(left, key=lambda x: (
            kinds.count(x[1].kind), x[0], x[1] in asked, (x[1].file, x[1].line) in lines,
            place(x[1])))[1])
    asked.update(chosen)
    return chosen


def questions(student: str, entry: ledger.Entry, every: list, given: dict, asked: set) -> list:
    """`every`: the student's attempts of this lab; `given`: the skeleton's files; `asked`: what
    others on the same page are asked."""
    files, document = ledger.files_of(entry), ledger.whole(entry)
    lines = all_lines(files, given)
    before = [(e.attempt, ledger.whole(e), ledger.files_of(e)) for e in every
              if e.attempt < entry.attempt and not e.refused]
    ordinary = [Question(kind, x.file, x.number, x.text, ask)
                for x in lines for kind, ask in general(x)]
    groups = [failed(document, lines), changed(document, files, before, lines),
              [q for pool in pools(lines).values() for q in pool], ordinary]
    return choose(student, entry.document["submission"]["sha256"], groups, asked)
