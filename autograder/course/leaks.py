"""leaks.py: does a handout hold what students are to write, or how they are judged?

    leaks.py HANDOUT [CLOSED=1,2]     exit 1: one line for each leak. (CLOSED: or as VERSION says)
    leaks.py HANDOUT --same OTHER     exit 1: the first thing in which two handouts differ

Exit 0: clean, and what was looked at. Exit 2: something could not be looked into.

A function is known by its pieces of 16 folded tokens, and of 8 words (leak_pieces.py), that nothing
given has; what a compiler made, by being there (leak_machine.py): a handout has programs and
objects of known names alone (handed.py), and what lies under such a name is believed. Not found is

  rewritten   of which hardly a piece is left whole: all statements in another order, even with
              their names, or each expression written anew; every operator under another name;
              another language; prose
  spread out  over lines of a compiler's messages; bytes of two files in turn; packed, then cut in
              two or laid on pages of a database
  pictures    of letters, and what is hidden in the bits of one, in blanks at ends of lines, in
              numbers that are no bytes; a PDF that places letter by letter, without pdftotext
  encrypted   (a zip with a password is refused)
  short       or like what is given: it has no piece of its own. (Tests: how many that are.)
"""

import itertools
import os
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "autograder/grade"), str(ROOT / "tools")]

import handed  # noqa: E402 (what it needs is found by the line above)
import leak_objects  # noqa: E402
import leak_pieces  # noqa: E402
import options  # noqa: E402
from leak_files import Opener, Unreadable  # noqa: E402
from leak_secrets import Nothing, Secret, Secrets  # noqa: E402

# A secret is found in a file that holds FEWEST of its own pieces, if they are SHARE of them or
# MANY; if it has fewer, by nearly all of them. In all files together, by SHARE_ALL. A file that is
# given anyway may be like a secret: SHARE_GIVEN of its tokens.
# Measured: 23 MB of strangers' headers hold at most 14 code pieces of a secret, where those are 12
# or more 0.11 of it, and 2 of its words; all together 0.13. A given file is at most 0.65 of one.
FEWEST = {"code": 12, "words": 6}
SHARE, MANY, SHARE_GIVEN, SHARE_ALL = 0.2, 30, 0.7, 0.6
FEWEST_OF_SHORT = {"code": 8, "words": 3}
SHARE_OF_SHORT = 0.8
PLACES = 3  # named of each leak


def tells(secret: Secret, kind: str) -> bool:
    """Has it enough pieces of its own to be known by them?"""
    return len(secret.own[kind]) >= FEWEST_OF_SHORT[kind]


def enough(secret: Secret, kind: str, found: set, name: str) -> bool:
    """Is so much of it in one file, or in all together (no name)?"""
    given = any(owner == name for owner in secret.owned[kind].values())
    if given:
        stream = secret.stream[kind]
        return len(found) >= FEWEST[kind] and (
            leak_pieces.covered(stream, found, kind) >= SHARE_GIVEN * len(stream))
    total = len(secret.own[kind])
    if total < FEWEST[kind]:
        return len(found) >= max(FEWEST_OF_SHORT[kind], SHARE_OF_SHORT * total)
    share, many = (SHARE, MANY) if name else (SHARE_ALL, total)
    return len(found) >= min(many, max(FEWEST[kind], share * total))


class Leaks:
    def __init__(self, secrets: Secrets, closed: set):
        self.secrets, self.closed = secrets, closed
        self.ready = handed.names(secrets.root, closed)
        self.opener = Opener()
        self.lines = []
        self.everywhere = {kind: defaultdict(set) for kind in leak_pieces.K}  # piece -> files
        self.told = defaultdict(set)  # file -> secrets
        self.bytes = 0

    def look(self, name: str, data: bytes) -> None:
        """One file of the handout."""
        self.bytes += len(data)
        ready = name in self.ready or handed.is_library(name)
        try:
            found, made = self.secrets.find_in(data, self.opener)
            self.lines += leak_objects.faults(name, made, ready, self.secrets, self.closed)
        except Unreadable as error:
            raise Unreadable(f"{name}{error.place or ''}: {error}") from None
        for kind, pieces in found.items():
            for piece in pieces:
                self.everywhere[kind][piece].add(name)
            self.judge(kind, name, pieces)

    def look_at_all(self, files: dict, links=()) -> None:
        for name, data in files.items():
            self.look(name, data)
        self.look("names of files", "\n".join(files).encode())
        self.look("names in folders", "\n".join(map(os.path.basename, files)).encode())
        self.look("targets of links", b"\n".join(files[name] for name in sorted(links)))
        new = sorted(name for name in files if not self.secrets.knows(files[name]))
        for _, names in itertools.groupby(sorted(new, key=os.path.dirname), os.path.dirname):
            self.look_at_turns(list(names), files)
        self.together()

    def look_at_turns(self, names: list, files: dict) -> None:
        """Files of one folder whose lines take turns, or are halves of lines: they have as many."""
        lines = {name: files[name].decode("utf-8", "replace").split("\n") for name in names}
        for one, other in itertools.permutations(names, 2):
            if abs(len(lines[one]) - len(lines[other])) > 1:
                continue
            both = list(itertools.zip_longest(lines[one], lines[other], fillvalue=""))
            texts = [("", "\n".join(map(between.join, both))) for between in ("\n", "")]
            name = f"{one} and {other}, line by line"
            self.told[name] = self.told[one] | self.told[other]
            for kind, pieces in self.secrets.find(texts).items():
                self.judge(kind, name, pieces)

    def judge(self, kind: str, name: str, pieces: dict) -> None:
        """Names the secrets of which enough is among `pieces`, the largest first: what one of them
        explains speaks for no other."""
        hits, index = defaultdict(set), self.secrets.index[kind]
        for piece in pieces:
            for secret in index.get(piece, ()):
                if piece in secret.own[kind] or secret.owned[kind].get(piece) == name:
                    hits[secret].add(piece)
        used = {piece for secret in self.told[name] for piece in secret.own[kind]}
        for secret, found in sorted(hits.items(), key=lambda hit: (
                -len(hit[1]), not hit[0].file.startswith("solution"), hit[0].file, hit[0].name)):
            if secret not in self.told[name] and enough(secret, kind, found - used, name):
                used |= found
                self.told[name].add(secret)
                self.tell(secret, kind, found, name, pieces)

    def tell(self, secret: Secret, kind: str, found: set, name: str, pieces: dict) -> None:
        places = Counter(place for piece in found for place in (
            [name + pieces[piece]] if name else sorted(pieces[piece])))
        common = leak_pieces.covered(secret.stream[kind], found, kind)
        what = "tokens" if kind == "code" else "words"
        self.lines.append(f"{' and '.join(p for p, _ in places.most_common(PLACES))}: "
                          f"{secret.name} of {secret.file}: {common} of "
                          f"{len(secret.stream[kind])} {what} in common")

    def together(self) -> None:
        """What is spread over several files, so that each of them holds too little."""
        self.told[""] = set().union(*self.told.values())
        for kind, pieces in self.everywhere.items():
            self.judge(kind, "", pieces)


def files_of(folder: Path):
    """(name, path) of all files and links, in the order of their names."""
    for at, folders, names in os.walk(folder):
        folders.sort()
        links = [f for f in folders if os.path.islink(os.path.join(at, f))]
        for name in sorted(names + links):
            path = Path(at) / name
            yield str(path.relative_to(folder)), path


def content(name: str, path: Path, folder: Path) -> bytes:
    if path.is_symlink():
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Unreadable(f"{name}: a link that leads out of the handout: put the file there")
        return os.readlink(path).encode()
    if not path.is_file():
        raise Unreadable(f"{name}: neither a file nor a link")
    return path.read_bytes()


def look(folder: Path, closed: set, root: Path) -> tuple:
    """(lines of leaks, the line of figures)"""
    start = time.monotonic()
    files = {name: content(name, path, folder) for name, path in files_of(folder)}
    if not files:
        raise Unreadable(f"{folder}: no file in it")
    leaks = Leaks(Secrets(root), closed)
    leaks.look_at_all(files, {name for name, path in files_of(folder) if path.is_symlink()})
    secrets = leaks.secrets.secrets
    known = sum(1 for s in secrets if any(tells(s, kind) for kind in leak_pieces.K))
    figures = (f"{len(files)} files, {leaks.bytes / 1e6:.1f} MB, {known} secrets looked for "
               f"({len(secrets) - known} more are too short or too ordinary to tell), "
               f"{time.monotonic() - start:.1f} s")
    return leaks.lines, figures


def difference(one: Path, other: Path) -> str:
    """The first in which two folders differ; nothing if they are equal."""
    left, right = dict(files_of(one)), dict(files_of(other))
    for name in sorted(left.keys() | right.keys()):
        if name not in left or name not in right:
            return f"{name}: only in {one if name in left else other}"
        a, b = left[name], right[name]
        if a.lstat().st_mode != b.lstat().st_mode:
            return f"{name}: mode {a.lstat().st_mode:o} and {b.lstat().st_mode:o}"
        x, y = content(name, a, one), content(name, b, other)
        if x != y:
            at = next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
            return f"{name}: differs at byte {at} (lengths {len(x)} and {len(y)})"
    return ""


def closed_labs(words: list, folder: Path) -> set:
    """As typed; nothing typed: as the handout says of itself."""
    says = folder / "VERSION"
    line = re.search(r"(?m)^closed +(\d+(?:, \d+)*)", says.read_text() if says.is_file() else "")
    text = options.parse(words, {"CLOSED": line[1].replace(" ", "") if line else ""})["CLOSED"]
    if not re.fullmatch(r"(\d+(,\d+)*)?", text):
        raise options.OptionError(f"CLOSED={text}: numbers of labs are needed, as CLOSED=1,2")
    return {int(number) for number in text.split(",") if number}


def main(arguments: list) -> int:
    try:
        if not arguments or arguments[0].startswith("-"):
            raise options.OptionError("say leaks.py HANDOUT [CLOSED=1,2] or HANDOUT --same OTHER")
        folders = [Path(arguments[0])]
        same = arguments[1:2] == ["--same"] and len(arguments) == 3
        folders += [Path(arguments[2])] if same else []
        for folder in folders:
            if not folder.is_dir():
                raise options.OptionError(f"{folder} is no folder: make handout OUT={folder}")
        if same:
            if found := difference(*folders):
                print(f"leaks: not the same: {found}")
                return 1
            print(f"leaks: the same: {sum(1 for _ in files_of(folders[0]))} files")
            return 0
        lines, figures = look(folders[0], closed_labs(arguments[1:], folders[0]), ROOT)
    except (options.OptionError, Unreadable, Nothing, OSError) as error:
        print(f"leaks: {error}", file=sys.stderr)
        return 2
    for line in lines:
        print(f"leak: {line}")
    print(f"leaks: {f'{len(lines)} found' if lines else 'clean'}: {figures}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
