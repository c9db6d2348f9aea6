"""Every command that README.md and the handouts quote is one that make takes: its goals are there,
and take its options.

make is shown each of them, with a goal before it that is never there: so it reads the whole command
and does nothing. What a student types and needs nothing built is run for real, in a copy.
"""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import make
import pytest
from relink import ROOT

DOCUMENTS = [path for pattern in ("README.md", "*/README.md", "labs/lab*/*.md", "labs/*.md",
                                  "kernels/*/README.md", "autograder/course/README.md",
                                  "tl/abi/README.md", "INSTRUCTOR.md")
             for path in sorted(ROOT.glob(pattern))]
NEVER = "build/never"
STOPPED = re.compile(rf"make(\[\d+\])?: \*\*\* No rule to make target '{NEVER}'\.  Stop\.")
# what this machine lacks is said when goals and options have been looked at
LACKS = re.compile(rf"Makefile:\d+: \*\*\* {NEVER} .*: no .*: "
                   r"run (make setup|\S+ -m pip install) .*\.  Stop\."
                   r"|grade: SUBMISSION= is graded in a sandbox alone, .*"
                   r"|grade: \.course-secret is not there: .*"
                   r"|mk/labs\.mk:\d+: \*\*\* nothing was graded\.  Stop\.")
# what stands in a quotation for something that the reader knows
MEANT = {"N": "2", "n": "1", "s": "7", "GOAL…": "train", "dir": "labs", "folder": "labs"}


@dataclass(frozen=True)
class Command:
    words: tuple  # behind `make`
    lab: int  # the one that is spoken of

    def __str__(self) -> str:
        return "make " + " ".join(self.words)

    def goals(self) -> tuple:
        return tuple(word for word in self.words if "=" not in word)

    def options(self) -> set:
        return {word.split("=")[0] for word in self.words if "=" in word}

    def says_less_than(self, other) -> bool:
        return ((self.lab, self.goals()) == (other.lab, other.goals())
                and self.options() < other.options() and "T" not in self.options())


def meant(word: str, lab: int) -> str:
    """A word of a quotation as somebody would type it; an option may come without its value."""
    if re.fullmatch(r"[A-Z_]+", word):
        word += "="
    name, equals, value = word.partition("=")
    if not equals:
        return MEANT.get(word, word)
    if name == "T" and value in ("task", "<task>"):
        value = task_of(lab)
    value = MEANT.get(value, value).replace("…", "")
    return f"{name}={value if name != 'LAB' else value or lab}"


def task_of(lab: int) -> str:
    listed = (ROOT / "autograder/grade/skeletons.sha256").read_text()
    return re.search(rf"labs/lab{lab}/(\w+)\.", listed)[1]


def commands_in(quoted: str, lab: int) -> list:
    """`VAR=x make a b=c && make d  # why` as two commands."""
    found = []
    for part in re.sub(r"\s(#|\s+\().*", "", quoted).split("&&"):
        words = shlex.split(part)
        while words and "=" in words[0]:
            words.pop(0)
        if words and words[0] == "make":
            lab = lab_of(words, lab)
            found.append(Command(tuple(meant(word, lab) for word in words[1:]), lab))
    return found


def lab_of(words: list, lab: int) -> int:
    named = [int(m[1]) for word in words if (m := re.fullmatch(r"(?:lab|LAB=)(\d)", word))]
    return named[0] if named else lab


def rows(text: str, lab: int) -> list:
    """A table's row is one command: of its goals, and of the options that it lists."""
    found = []
    for line in re.findall(r"^\|.*\|$", text, re.MULTILINE):
        cells = [re.findall(r"`([^`]+)`", cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        goals = [c for quoted in cells[0] if is_make(quoted) for c in commands_in(quoted, lab)]
        options = [word.replace("\\|", "|").split("|")[0] for cell in cells[1:] for code in cell
                   for word in code.split() if re.fullmatch(r"[A-Z_]+(=.*)?", word)]
        if goals and options:
            words = [word for command in goals for word in command.words]
            there, lab_here = {word.split("=")[0] for word in words}, lab_of(words[::-1], lab)
            words += [meant(o, lab_here) for o in options if o.split("=")[0] not in there]
            found.append(Command(tuple(words), lab_here))
    return found


def is_make(quoted: str) -> bool:
    return bool(re.match(r"(\w+=\S+ )*make( |$)", quoted))


def quoted_in(path: Path) -> list:
    """All commands of a document: in blocks, within the text, and in its tables."""
    text = path.read_text(encoding="utf-8")
    lab = int(path.parent.name[3:]) if re.fullmatch(r"lab\d", path.parent.name) else 2
    block = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
    lines = [re.sub(r"^\s*(\$ |again +)?", "", line)
             for inside in block.findall(text) for line in inside.splitlines()]
    text = block.sub("", text)
    lines += [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", text)]
    return [c for line in lines if is_make(line) for c in commands_in(line, lab)] + rows(text, lab)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The repository without anything built; what a command may change is a copy."""
    root = tmp_path_factory.mktemp("tree")
    for path in ROOT.iterdir():
        if path.name in ("labs", "autograder"):
            shutil.copytree(path, root / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.name not in ("build", ".git", ".course-secret"):
            (root / path.name).symlink_to(path)
    (root / "build").mkdir()
    return root


def typed(tree: Path, *words: str) -> subprocess.CompletedProcess:
    return make.run("-C", str(tree), *words, timeout=120, LC_ALL="C", PYTHON=sys.executable)


def refused(tree: Path, command: Command) -> str:
    """Why make does not take it, or nothing."""
    done = typed(tree, "-n", NEVER, *command.words)
    said = [line for line in done.stderr.splitlines() if " *** " in line or ": " in line]
    wrong = [line for line in said if not STOPPED.fullmatch(line)
             and not LACKS.fullmatch(line) and ": *** [" not in line]
    return "\n".join(wrong) if wrong else "" if said else f"it stops nowhere: {done.stdout[-300:]}"


def all_commands() -> dict:
    """command -> where it stands; a document without any is looked at in vain, and says so."""
    found = {}
    for path in DOCUMENTS:
        for command in quoted_in(path):
            found.setdefault(command, path.relative_to(ROOT))
    return found


def test_make_takes_every_command_that_is_quoted(tree):
    found = all_commands()
    asked = complete(found)
    wrong = []
    for lab in sorted({command.lab for command in asked}):
        (tree / "build/lab").write_text(f"{lab}\n")  # the one built last
        here = [command for command in asked if command.lab == lab]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong += [f"{found[command]}: {command}: {why}" for command, why in
                      zip(here, pool.map(lambda c: refused(tree, c), here)) if why]
    assert not wrong, "\n".join(wrong)


def complete(commands) -> list:
    """Without those that are there in full, too."""
    return [c for c in commands if not any(c.says_less_than(other) for other in commands)]


@functools.cache
def needs_nothing_built(tree: Path, goals: tuple) -> bool:
    """(submit grades first, by a make of its own, and bundle packs what was graded)"""
    done = typed(tree, "-n", *goals)
    builds = [word for word in (" -o build/", "make grade", "bundle.py") if word in done.stdout]
    return done.returncode == 0 and not builds


def typed_by_students() -> set:
    """The goals of the first groups of `make`, without what only maintainers run and what installs
    things: of the others each takes minutes, a network or a GPU. (update is a handout's, and
    course/handout_check.sh types it there.)"""
    helped = make.run("-C", str(ROOT), "help", timeout=60).stdout
    groups = re.split(r"\n(?=\S)", helped)
    lines = [line for group in groups if re.match("first|labs", group)
             for line in group.splitlines()[1:] if "the maintainer's" not in line]
    return {line.split()[0] for line in lines if line.strip()} - {"setup", "update"}


def test_what_a_student_types_and_needs_nothing_built_works(tree, capsys):
    goals = typed_by_students() | {"help"}
    assert {"doctor", "grade", "restore", "submit"} <= goals
    plain = complete([c for c in all_commands()
                      if set(c.goals()) <= goals and not c.options() - {"LAB", "T"}])
    tried, shown = [], []
    for command in plain:
        if not needs_nothing_built(tree, command.goals()):
            shown.append(command)
            continue
        for path in tree.glob("labs/lab*/*.c"):  # somebody has worked on it
            path.write_text(path.read_text() + "/* mine */\n")
        done = typed(tree, *command.words)
        assert done.returncode == 0 and done.stdout, f"{command}: {done.stderr}"
        tried.append(command)
    assert {"doctor", "restore"} <= {goal for c in tried for goal in c.goals()}
    with capsys.disabled():
        print(f"\nrun: {', '.join(map(str, tried))}; read only: {', '.join(map(str, shown))}")


@pytest.mark.parametrize("words, said", [
    (["sumbit", "LAB=0"], "there is no goal sumbit; the nearest is submit"),
    (["lab1", "grad"], "there is no goal grad; the nearest is grade"),
    (["setup", "tset"], "there is no goal tset; the nearest is test"),
    (["Makefiles.o"], "there is no goal Makefiles.o; make alone lists them all"),
    (["x';echo 'y"], "there is no goal x';echo; "),
    (["submit", "LAP=0"], "make submit: unknown option LAP; the nearest that it takes is LAB")])
def test_what_make_does_not_take_names_the_nearest(tree, words, said):
    done = typed(tree, "-n", *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_make_alone_shows_a_students_commands_and_all_1_everybodys(tree):
    shown, everything = (typed(tree, *words).stdout for words in ([], ["help", "ALL=1"]))
    known = set(subprocess.run(["awk", "-v", "names=1", "-f", "tools/help.awk", "Makefile"],
                               cwd=ROOT, capture_output=True, text=True).stdout.split())
    listed = [set(re.findall(r"^  ([a-z]\S*) ", text, re.MULTILINE))
              for text in (shown, everything)]
    assert listed[1] == known and listed[0] < known
    assert {"setup", "doctor", "lab0", "grade", "submit", "train", "clean"} <= listed[0]
    assert not {"mutants", "skeletons", "labs-check", "test-all", "gpu-suite"} & listed[0]
    assert "make help ALL=1" in shown and "make help ALL=1" not in everything


def test_make_lists_every_goal_that_is_none_of_its_own():
    """A goal that the help does not list would not be taken. (complete.mk is a makefile of its own,
    which the Makefile does not read.)"""
    texts = [path.read_text() for path in [ROOT / "Makefile", *ROOT.glob("mk/*.mk"),
                                          *ROOT.glob("hostcuda/*.mk")]
             if path.name != "complete.mk"]
    declared = {word for text in texts for line in
                re.findall(r"^\.PHONY: (.*)", text.replace("\\\n", " "), re.MULTILINE)
                for word in line.split() if "$" not in word}
    listed = set(subprocess.run(["awk", "-v", "names=1", "-f", "tools/help.awk", "Makefile"],
                                cwd=ROOT, capture_output=True, text=True).stdout.split())
    assert declared - listed == {"always", "help", "hostcuda-always"}
