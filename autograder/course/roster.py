"""roster.py: who is in the course. A CSV file with a line of names above it; `id` is needed:

    id,name,mail,group,extension,extension_lab2,aliases
    ada,Ada Lovelace,ada@example.edu,g1,0,2,12345;ada-l

`aliases` are further names by which a system knows the student: a number in Moodle, a user name on
GitHub. `group` is for who hands in together; all of a group have the points of the group's work.
`group_labN` takes its place for that lab: pairs change in a term, and labs that are graded do not
change with them; an empty cell there is who works alone. `extension` are days for every lab,
`extension_labN` for that one, where it has any. What other columns hold is nobody's to read here,
and is said.
"""

import csv
import io
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

import downloads
from skeletons import Refused

LARGEST_GROUP = 2
COLUMNS = re.compile(r"id|name|mail|group(_lab\d)?|aliases|extension(_lab\d)?")
# names of OUT's own
RESERVED = ("class", "labs", "roster", "manual", "withdrawn", "regrade", "forgotten")


@dataclass
class Student:
    id: str
    name: str = ""
    mail: str = ""
    groups: dict = field(default_factory=dict)  # lab, or "" for all others -> group
    extensions: dict = field(default_factory=dict)  # lab, or "" for all others -> days

    def group(self, lab: int) -> str:
        return self.groups.get(str(lab), self.groups.get("", ""))

    def extension(self, lab: int) -> float:
        return self.extensions.get(str(lab), self.extensions.get("", 0.0))


@dataclass
class Roster:
    """students by id; and by every name that is theirs alone. Without a file everybody who hands in
    is a student."""

    students: dict = field(default_factory=dict)
    names: dict = field(default_factory=dict)
    open: bool = False
    written: dict = field(default_factory=dict)  # of an open roster: id -> the name it came of
    unread: list = field(default_factory=list)  # columns

    def knows(self, name: str) -> bool:
        return folded(name) in self.names

    def who(self, ids: list) -> Student:
        """The student whom one of these names means; Refused if none does, or several."""
        if self.open:
            return self.whoever(ids[0])
        meant = list(dict.fromkeys(self.names[folded(i)] for i in ids if self.knows(i)))
        if len(meant) > 1:
            raise Refused(f"{', '.join(map(repr, ids))} may mean {' or '.join(meant)}; give one of "
                          "them another alias")
        if meant:
            return self.students[meant[0]]
        raise Refused(f"nobody in the roster is called {' or '.join(map(repr, ids))}; give one of "
                      "them this alias")

    def whoever(self, name: str) -> Student:
        """Of an open roster: the student is called by this name, as far as a folder can be."""
        id = checked(downloads.plain(name))
        if self.written.setdefault(id, name) != name:
            raise Refused(f"{name!r} and {self.written[id]!r} would both be called {id}")
        return self.students.get(id) or self.add(Student(id, name if name != id else ""), [])

    def add(self, student: Student, names: list) -> Student:
        if any(folded(student.id) == folded(other) for other in self.students):
            raise Refused(f"{student.id!r} comes twice, or with other capitals")
        self.students[student.id] = student
        for name in filter(None, [student.id, *names]):
            # a name that two have is nobody's
            owner = self.names.get(folded(name), student.id)
            self.names[folded(name)] = student.id if owner == student.id else ""
        return student

    def together(self, id: str, lab: int) -> list:
        """The ids of a student's group in a lab, with the own."""
        group = self.students[id].group(lab)
        return sorted(s.id for s in self.students.values() if s.group(lab) == group) if group \
            else [id]


def folded(name: str) -> str:
    """For comparing: systems write names in one form or another."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def checked(id: str) -> str:
    if id.startswith(".") or id.split(".")[0].casefold() in RESERVED:
        raise Refused(f"{id!r} cannot be a student's id: OUT has files of that name")
    return id


def rows(path: Path, needed: tuple) -> list:
    """[(line, {column: cell})] of a CSV file with , or ; between its cells."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise Refused(f"{path}: cannot be read: {why}") from None
    head = text.split("\n", 1)[0]
    reader = csv.DictReader(io.StringIO(text), delimiter=";" if head.count(";") > head.count(",")
                            else ",")
    columns = [(name or "").strip().lower() for name in reader.fieldnames or []]
    for name in needed:
        if columns.count(name) != 1:
            raise Refused(f"{path}:1: it needs one column {name}, and has {', '.join(columns)}")
    reader.fieldnames = columns
    return [(reader.line_num, {k: (v or "").strip() for k, v in row.items() if k})
            for row in reader if any(row.values())]


def days(text: str, where: str) -> float:
    if text and not re.fullmatch(r"\d{1,3}(\.\d{1,3})?", text):
        raise Refused(f"{where}: an extension of {text!r}: a number of days is needed")
    return float(text or 0)


def read(path: Path) -> Roster:
    found = Roster()
    for line, row in rows(path, ("id",)):
        where = f"{path}:{line}"
        found.unread = [name for name in row if not COLUMNS.fullmatch(name)]
        try:
            id = checked(downloads.plain(row["id"]))
            extensions = {k.removeprefix("extension").removeprefix("_lab"): days(v, where)
                          for k, v in row.items() if re.fullmatch(r"extension(_lab\d)?", k) and v}
            groups = {k.removeprefix("group").removeprefix("_lab"): v for k, v in row.items()
                      if re.fullmatch(r"group(_lab\d)?", k)}
            student = Student(id, row.get("name", ""), row.get("mail", ""), groups, extensions)
            found.add(student, [row["id"], student.name, student.mail,
                                *row.get("aliases", "").split(";")])
        except Refused as error:
            raise Refused(str(error) if where in str(error) else f"{where}: {error}") from None
    found.names = {name: id for name, id in found.names.items() if id}
    check_groups(found, path)
    return found


def check_groups(found: Roster, path: Path) -> None:
    for student in found.students.values():
        for lab in {int(lab or 0) for lab in student.groups}:
            if len(mine := found.together(student.id, lab)) > LARGEST_GROUP:
                raise Refused(f"{path}: group {student.group(lab)} has more than {LARGEST_GROUP} "
                              f"students: {', '.join(mine)}")
