"""lay_out.py: a folder that Dolos and JPlag take as it is.

    TO/students/<name>/im2col.c …   JPlag: the submissions, each of files that differ from what was
                                    given out
    TO/others/<name>/im2col.c …     JPlag, --old: the solution and earlier terms, which are compared
                                    with students alone
    TO/skeleton/im2col.c …          JPlag, --base-code
    TO/dolos/info.csv               Dolos: filename, full_name, labels, created_at
    TO/dolos/students/<name>.cpp …  a submission is one file there: all of its files in one
    TO/dolos/skeleton.cpp           Dolos, --ignore

<name> is that of compared.py. A group's work is there once.
"""

import os
import shlex
import shutil
import tempfile
from pathlib import Path

import common
import compared
import ledger
import points
import roster
import sinks
import skeletons
import submission
from compared import Compared
from skeletons import Refused

COLUMNS = ("filename", "full_name", "labels", "created_at")
# By file view and data set of Dolos 2.9 and the options of JPlag 5.1 and 6.3. Of these two grammars
# Dolos' cpp reads CUDA, and JPlag's c, a scanner, refuses no file.
DOLOS = "dolos run -f csv -l cpp -i dolos/skeleton.cpp -o dolos-report dolos/info.csv"
JPLAG = ("java -jar jplag.jar students --mode=RUN -l c -p .c,.cu --base-code=skeleton --old=others "
         "--csv-export -r jplag-report")


def code_of(files: dict) -> dict:
    """Without data: lists of cases are alike by themselves."""
    return {name: data for name, data in files.items() if name.endswith((".c", ".cu"))}


def files_of_lab(lab: int, folder: str) -> dict:
    """name -> content, of the solution or of what was given out."""
    if folder == compared.SKELETON:
        return code_of({Path(name).name: data
                        for name, data in skeletons.skeletons(submission.ROOT).items()
                        if Path(name).parent.name == f"lab{lab}"})
    return code_of({p.name: p.read_bytes() for p in skeletons.sources(submission.ROOT / folder)
                    if p.parent.name == f"lab{lab}"})


def counting(out: Path, lab: int, known: roster.Roster) -> dict:
    """folder -> (its entry, the rows of all whose attempt this is): the attempts that count, also
    those that count nothing for being late; a group's once."""
    if lab not in ledger.labs(out):
        there = ", ".join(map(str, sorted(ledger.labs(out)))) or "none"
        raise Refused(f"LAB={lab}: {out} has no grades of it; of its labs there are: {there}")
    found = {}
    for row in points.rows(out, known, {}):
        if row.lab == lab and row.entry and not row.entry.refused:
            found.setdefault(row.entry.folder, (row.entry, []))[1].append(row)
    return found


def own(entry: ledger.Entry, given: dict) -> dict:
    """The files in which something was written."""
    return {name: data for name, data in code_of(ledger.files_of(entry)).items()
            if given.get(name) != data}


class Tree:
    """The folder, as it is filled."""

    def __init__(self, folder: Path):
        self.folder, self.lines = folder, []

    def put(self, where: str, name: str, files: dict, *said: str) -> None:
        to = self.folder / where / name
        to.mkdir(parents=True)
        for file, data in files.items():
            (to / file).write_bytes(data)
        self.in_one(f"{where}/{name}.cpp", files)
        self.lines.append((f"{where}/{name}.cpp", *said))

    def in_one(self, name: str, files: dict) -> None:
        to = self.folder / "dolos" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(b"".join(b"/* " + file.encode() + b" */\n" + data + b"\n"
                                for file, data in sorted(files.items())))

    def skeleton(self, files: dict) -> None:
        to = self.folder / compared.SKELETON
        to.mkdir()
        for file, data in files.items():
            (to / file).write_bytes(data)
        self.in_one(f"{compared.SKELETON}.cpp", files)

    def close(self) -> None:
        table = "".join(map(sinks.csv_line, [COLUMNS, *self.lines]))
        (self.folder / "dolos/info.csv").write_text(table, encoding="utf-8")


def students(tree: Tree, out: Path, lab: int, given: dict, key: compared.Key | None) -> list:
    """Who has written nothing, by id."""
    untouched = []
    for entry, rows in counting(out, lab, common.known_students(out, "")).values():
        files = own(entry, given)
        if not files:
            untouched.append(entry.student)
            continue
        name = compared.name_of(Compared("", entry.student, entry.attempt), key)
        people = " and ".join(r.student.name or r.student.id for r in rows)
        tree.put("students", name, files, name if key else people, f"lab{lab}",
                 "" if key else entry.document["handed_in"]["time"])
    return untouched


def earlier(tree: Tree, term: Path, lab: int, given: dict, key: compared.Key | None) -> None:
    label = term.resolve().name
    if not term.is_dir():
        raise Refused(f"EARLIER={term}: there is no such folder")
    for entry, _ in counting(term, lab, common.known_students(term, "")).values():
        if files := own(entry, given):
            name = compared.name_of(Compared(label, entry.student, entry.attempt), key)
            tree.put("others", name, files, name, label, "")


def whole(out: Path, lab: int, to: Path, terms: list, key: compared.Key | None) -> list:
    """Makes the folder, whole or not at all; returns lines about it."""
    labels = [t.resolve().name for t in terms]
    if twice := next((x for x in labels if labels.count(x) > 1 or "~" in x), ""):
        raise Refused(f"EARLIER=: two terms are called {twice}, or a ~ is in that name: call their "
                      "folders as 2026 and 2027")
    given = files_of_lab(lab, compared.SKELETON)
    to.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=to.parent))
    try:
        tree = Tree(made)
        untouched = students(tree, out, lab, given, key)
        laid = len(tree.lines)
        tree.put("others", compared.SOLUTION, files_of_lab(lab, compared.SOLUTION), "the solution",
                 compared.SOLUTION, "")
        for term in terms:
            earlier(tree, term, lab, given, key)
        tree.skeleton(given)
        tree.close()
        if laid < 1:
            raise Refused(f"OUT={out}: nobody has changed a file of lab {lab}: nothing to compare")
        if key:
            key.save()
        made.chmod(0o700)
        os.rename(made, to)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    said = [f"{len(untouched)} handed in what they were given, and are not in it: "
            f"{', '.join(untouched)}"] if untouched else []
    return [*said, f"{to}: {laid} submissions; beside them the solution and "
            f"{len(tree.lines) - laid - 1} of earlier terms", "one of the two:",
            f"  cd {shlex.quote(str(to))} && {DOLOS}",
            f"  cd {shlex.quote(str(to))} && {JPLAG}"]
