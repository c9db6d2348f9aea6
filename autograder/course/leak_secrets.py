"""leak_secrets.py: what a handout must not hold, and which pieces of it tell.

Secrets are the functions, macros and tables of SECRET, the comments of each of its files, the
sections of its documents, and each mutant and hostile case. What a handout holds anyway is no
secret: a piece that also stands in a skeleton, or in a file of GIVEN, tells nothing, but a file of
GIVEN does not speak for itself: a secret that somebody has copied into one of them, and committed,
is found there.
"""

import hashlib
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import leak_machine
import leak_pieces
import skeletons
from leak_files import Opener
from leak_layers import COMMENTS, comments, strings

DOCUMENTS = r"INSTRUCTOR\.md|autograder/SECURITY\.md"
SECRET = re.compile(r"(solution/lab\d|kernels|autograder/(oracle|hostile))/.*\.(cu?h?|h|py|toml)"
                    rf"|autograder/(claim/\w+\.c|lab\d/(mutants\.toml|\w+_test\.c))|{DOCUMENTS}")
GIVEN = re.compile(r"(labs|tl|programs|hostcuda|baseline|data|tools|mk|bridge|report"
                   rf"|autograder/(grade|call|worker|box))/.*|(?!{DOCUMENTS})[^/]+")
OUR_NAME = re.compile(r"[A-Za-z_]\w{4,}")  # what is shorter, others may call something, too


@dataclass(eq=False)
class Secret:
    """One function; `own` are its pieces that no given file has, `owned` those that just one has:
    piece -> file."""
    file: str
    name: str
    stream: dict
    own: dict = field(default_factory=dict)
    owned: dict = field(default_factory=dict)

    @property
    def key(self) -> tuple:
        return self.file, self.name


class Nothing(Exception):
    """One line: why there is nothing to look for."""


def tracked(root: Path) -> list:
    """Files of the repository; without git, all that are there."""
    done = subprocess.run(["git", "ls-files", "-zco", "--exclude-standard"], cwd=root,
                          capture_output=True, text=True)
    names = done.stdout.split("\0") if done.returncode == 0 else [
        str(path.relative_to(root)) for path in root.rglob("*")]
    return sorted(n for n in names if n and (root / n).is_file() and not n.startswith("build/"))


def c_chunks(text: str) -> list:
    """Functions and what else stands at the left margin, as clang-format leaves it."""
    chunks, lines = [], []
    for line in COMMENTS.sub(" ", re.sub(r"(?m)^\s*//@.*", "", text)).splitlines():
        directive = re.match(r"\s*#", line) and not lines
        if directive and not re.match(r"\s*#\s*define", line):
            continue
        lines.append(line)
        of_macro = lines[0].lstrip().startswith("#")
        ends = (not line.endswith("\\") if of_macro else
                line.startswith("}") or line[:1].strip() and line.rstrip().endswith((";", "}")))
        if ends:
            chunks.append("\n".join(lines))
            lines = []
    return [*chunks, "\n".join(lines)]


def c_name(chunk: str) -> str:
    head = chunk.partition("{")[0]
    called = [n for n in re.findall(r"(\w+)\s*\(", head) if not n.startswith("__")]
    names = called or re.findall(r"[A-Za-z_]\w*", head)[-1:]
    return names[0] if names else ""


def cut(path: str, text: str) -> list:
    """(name, text) of each secret of a file."""
    if path.endswith(".toml"):
        parts = re.split(r"(?m)^\[\[\w+\]\]$", text)[1:]
        return [(re.search(r'name = "(\w+)"', part)[1], " ".join(strings(part))) for part in parts]
    if path.endswith(".py"):
        parts = re.split(r"(?m)^(?=def |class )", text)[1:]
        return [(re.match(r"\w+ (\w+)", part)[1], part) for part in parts]
    if path.endswith(".md"):
        return [(part.partition("\n")[0].strip("# "), part)
                for part in re.split(r"(?m)^(?=#+ )", text)]
    return [(c_name(chunk), chunk) for chunk in c_chunks(text)]


class Secrets:
    def __init__(self, root: Path):
        self.root, self.known = root, leak_pieces.Words()
        self.secrets, self.exported, self.labs = [], {}, set()
        files = tracked(root)
        for path in filter(SECRET.fullmatch, files):
            self.read(path, (root / path).read_text(encoding="utf-8"))
        if not self.labs:
            raise Nothing(f"{root} has no solution/: a handout is looked at where the secrets are")
        self.seen = {}  # hash of a given file -> what was found in it: most stand in a handout
        self.index = {kind: defaultdict(list) for kind in leak_pieces.K}
        for secret in self.secrets:
            for kind, index in self.index.items():
                for piece in set(leak_pieces.pieces(secret.stream[kind], kind)):
                    index[piece].append(secret)
        self.names = {s.name for s in self.secrets
                      if s.stream["code"] and OUR_NAME.fullmatch(s.name)}
        self.subtract(root, filter(GIVEN.fullmatch, files))

    def read(self, path: str, text: str) -> None:
        if path.startswith("solution/"):
            lab = skeletons.lab_of(Path(path))
            self.labs.add(lab)
            self.exported.update(dict.fromkeys(skeletons.exported(text), lab))
        for name, chunk in cut(path, text):
            self.add(path, name, chunk, is_code=not path.endswith(".md"))
        if not path.endswith((".md", ".toml", ".py")):
            self.add(path, "comments", "\n".join(comments(text)), is_code=False)

    def add(self, path: str, name: str, text: str, is_code: bool) -> None:
        tokens = leak_pieces.tokens_of(text)
        self.known.learn(tokens)
        self.secrets.append(Secret(path, name, {
            "code": leak_pieces.code(tokens) if is_code else "",
            "words": leak_pieces.words(tokens, self.known)}))

    def find(self, texts) -> dict:
        """kind -> piece of a secret -> the place where it was met first."""
        found = {kind: {} for kind in leak_pieces.K}
        for place, text in texts:
            tokens = leak_pieces.tokens_of(text)
            for kind, stream in (("code", leak_pieces.code(tokens)),
                                 ("words", leak_pieces.words(tokens, self.known))):
                known = filter(self.index[kind].__contains__, leak_pieces.pieces(stream, kind))
                for piece in known:
                    found[kind].setdefault(piece, place)
        return found

    def knows(self, data: bytes) -> bool:
        """Is it a file that is given?"""
        return hashlib.sha256(data).digest() in self.seen

    def find_in(self, data: bytes, opener: Opener) -> tuple:
        """What `find` does, and [(place, kind, bytes or text)] of what a compiler made."""
        digest = hashlib.sha256(data).digest()
        if digest in self.seen:
            return self.seen[digest]
        made = []
        opener.see = lambda place, what: made.extend(
            (place, kind, what) for kind in leak_machine.kinds(what))
        return self.find(opener.texts(data)), made

    def subtract(self, root: Path, files) -> None:
        """What given files have tells nothing: those pieces, and those names."""
        given = [(path, (root / path).read_bytes()) for path in files
                 if not re.fullmatch(r"labs/lab\d/\w+\.cu?", path)]  # (somebody may work on one)
        given += [("", data) for data in skeletons.skeletons(root).values()]
        holder = {kind: {} for kind in leak_pieces.K}  # the one that has it, "" where more have it
        for path, data in given:
            self.names.difference_update(re.findall(r"\w+", data.decode("utf-8", "replace")))
            found, made = self.find_in(data, Opener())
            self.seen[hashlib.sha256(data).digest()] = found, made
            for kind, pieces in found.items():
                for piece in pieces:
                    one = holder[kind].setdefault(piece, path)
                    holder[kind][piece] = path if one == path else ""
        for kind, index in self.index.items():
            for piece in [piece for piece in index if holder[kind].get(piece) == ""]:
                del index[piece]
            for secret in self.secrets:
                mine = set(leak_pieces.pieces(secret.stream[kind], kind)) & index.keys()
                secret.owned[kind] = {p: holder[kind][p] for p in mine if p in holder[kind]}
                secret.own[kind] = mine - secret.owned[kind].keys()
