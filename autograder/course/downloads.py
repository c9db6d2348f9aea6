"""downloads.py: what the names in a download say: whose submission it is, and which of theirs.

Each system has its form; a plain folder or archive is called by its student. Nothing here opens a
submission: what is in one is its student's own word.

  Moodle        Ada Lovelace_12345_assignsubmission_file_, a folder, or with the file's name behind
  Canvas        lovelaceada_LATE_123_456_lab2.zip: user, attachment
  Gradescope    submission_123, said by submission_metadata.yml in the export
  Autolab       ada@example.edu_3_lab2.zip: the third version
  git           repositories: <classroom>-<assignment>-<username> (Classroom 50, GitHub Classroom)
"""

import os
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import intake
from skeletons import Refused

METADATA = "submission_metadata.yml"
BESIDE = re.compile(r"\._.*|\.DS_Store|\.git|__MACOSX|scores\.csv|desktop\.ini", re.IGNORECASE)
MOODLE = re.compile(r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<file>.*)")
CANVAS = re.compile(r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<user>\d+)_(?P<file>\d+)_.+")
AUTOLAB = re.compile(r"(?P<note>annotated_)?(?P<mail>[^/]+@[^/_]+)_(?P<version>\d+)_.+")
# What a roster, a folder and a spreadsheet can all hold. Letters of any script, and no marks that
# hide, turn round or pile up.
PLAIN = re.compile(r"\w[\w@+.' -]{0,79}")


@dataclass
class Found:
    """One submission as its name tells it."""

    path: Path
    ids: list  # of one student, any of which the roster may know; without a roster the first counts
    ref: str = ""  # the system's own number of it, where it has one
    others: list = field(default_factory=list)  # ids of who handed it in together with them
    time: datetime | None = None
    time_from: str = ""
    late: bool = False  # the system says so, but not by how much

    @property
    def name(self) -> str:
        return self.path.name


def plain(name: str) -> str:
    """A name that a folder may have; Refused where it would mean another, or show nothing."""
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not PLAIN.fullmatch(name) or name.endswith((".", " ")) or \
            any(unicodedata.combining(c) for c in name):
        raise Refused(f"{name!r} is no name for a folder, which has letters, digits and _ @ + - . "
                      "alone; a ROSTER= gives its owner an id")
    return name.replace(" ", "_").replace("'", "")


def moment(text: str) -> datetime:
    """2026-11-23 18:00, with seconds and a zone if it has them (else this machine's)."""
    text = text.strip().strip("'\"").replace(" UTC", "Z")
    # (Python before 3.11 knows three or six digits of a second)
    text = re.sub(r"\.(\d+)", lambda m: f".{m[1]:0<6.6}", text)
    text = re.sub(r"\s+(?=[+-]\d\d:?\d\d$)", "", text).replace("Z", "+00:00")
    text = re.sub(r"(:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)$", r"\1:\2", text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{text!r} is no time: write 2026-11-23 18:00, or with a zone "
                      "2026-11-23 18:00+01:00") from None
    return (when if when.tzinfo else when.astimezone()).astimezone(timezone.utc)


def metadata(text: str) -> dict:
    """submission_123 -> {people: [[sid, mail, name]], time} of Gradescope's export. Of YAML no more
    is read than its own form has: a submission, below it its submitters and when it came."""
    found, one, section = {}, None, ""
    for line in text.splitlines():
        if match := re.fullmatch(r"(submission_\w+):\s*", line):
            one, section = found.setdefault(match[1], {"people": [], "time": ""}), ""
        elif one is None:
            continue
        elif match := re.fullmatch(r"  :(\w+): *(.*)", line):
            section = match[1]
            if section == "created_at":
                one["time"] = match[2]
        elif section == "submitters" and (match := re.fullmatch(
                r" {2,6}(- |  ):(name|sid|email): *(\S.*)", line)):
            if match[1] == "- " or not one["people"]:
                one["people"].append({})
            one["people"][-1][match[2]] = match[3].strip("'\"")
    for one in found.values():
        one["people"] = [[who[k] for k in ("sid", "email", "name") if k in who]
                         for who in one["people"]]
    return found


def of_gradescope(path: Path, said: dict) -> Found:
    one = said.get(path.name)
    if not one or not one["people"]:
        raise Refused(f"{path.name}: {METADATA} does not say whose it is")
    first, *others = one["people"]
    time = moment(one["time"]) if one["time"] else None
    return Found(path, first, path.name.removeprefix("submission_"), others, time,
                 "Gradescope" if time else "")


def mtime(path: Path) -> datetime:
    """Of an archive its own, of a folder that of its newest file, as deep as a lab's may lie."""
    files, folders = [path], [path] if path.is_dir() else []
    for _ in range(4):
        entries = [e for folder in folders for e in os.scandir(folder)][:intake.MOST_ENTRIES]
        files += [e for e in entries if not e.is_dir(follow_symlinks=False)]
        folders = [e for e in entries if e.is_dir(follow_symlinks=False) and e.name != ".git"]
    newest = max(os.lstat(f).st_mtime for f in (files[1:] or files))
    return datetime.fromtimestamp(int(newest), timezone.utc)


def of_name(path: Path, prefix: str, known) -> Found | None:
    """By the form of its name; None for what a system has put beside the submissions."""
    name = path.name
    if match := MOODLE.fullmatch(name):
        if match["kind"] != "file":
            return None
        full = match["name"]
        return Found(path, [f"{full} {match['number']}", match["number"], full])
    if (match := AUTOLAB.fullmatch(name)) and not path.is_dir():
        if match["note"]:  # a copy with a teacher's notes
            return None
        return Found(path, [match["mail"], match["mail"].split("@")[0]], match["version"])
    if (match := CANVAS.fullmatch(name)) and not path.is_dir():
        return Found(path, [f"{match['name']}_{match['user']}", match["user"], match["name"]],
                     match["file"], late=bool(match["late"]))
    time, stem = mtime(path), name.removesuffix(intake.ending(name))
    if (path / ".git").exists():
        return Found(path, git_ids(stem, prefix, known), time=time, time_from="mtime")
    return Found(path, [stem], time=time, time_from="mtime")


def git_ids(name: str, prefix: str, known) -> list:
    """Names of people hold hyphens, and so do those of classrooms and assignments: the roster knows
    where one ends, else what all the repositories begin with."""
    ends = [name[m.end():] for m in re.finditer("-", name)]
    named = [end for end in ends if known(end)]
    return [*named[:1], *([name.removeprefix(prefix)] if prefix else []), name]


def common_prefix(names: list) -> str:
    """cs1-lab2- of cs1-lab2-ada and cs1-lab2-bob."""
    if len(names) < 2:
        return ""
    low, high = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(low, high)) if a != b), min(len(low), len(high)))
    return low[:low.rfind("-", 0, same) + 1]


def kind_of(path: Path) -> str:
    """What keeps an entry from being a submission, or an empty string."""
    if path.is_symlink():
        return "a link, not followed"
    if path.is_dir() or (path.is_file() and intake.ending(path.name)):
        return ""
    return "neither a folder nor a .zip or .tar.gz"


def listed(folder: Path, known=lambda name: False) -> tuple:
    """([Found], [(name, why it is none)]) of a folder of submissions, in the order of names."""
    if not folder.is_dir():
        raise Refused(f"SUBMISSIONS={folder}: this is no folder; unpack the download first")
    entries = sorted(p for p in folder.iterdir() if not BESIDE.fullmatch(p.name))
    if len(entries) == 1 and (entries[0] / METADATA).is_file():
        return listed(entries[0], known)  # the export lies in a folder of its own
    said = None
    if (folder / METADATA).is_file():
        said = metadata((folder / METADATA).read_text(encoding="utf-8", errors="replace"))
        entries = [p for p in entries if p.name != METADATA]
    prefix = common_prefix([p.name for p in entries if (p / ".git").exists()])
    found, refused = [], []
    for path in entries:
        try:
            if why := kind_of(path):
                refused.append((path.name, why))
            elif one := (of_gradescope(path, said) if said is not None
                         else of_name(path, prefix, known)):
                found.append(one)
        except (Refused, OSError) as error:
            refused.append((path.name, str(error)))
    return found, refused
