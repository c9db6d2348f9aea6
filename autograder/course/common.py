"""common.py: what the commands of a course share: messages, OUT's locks, who is in it."""

import sys
from pathlib import Path

import csv_lines
import forgotten
import ledger
import options
import roster
import run
import text
from skeletons import Refused

FORGETTING = ".forget.json"  # is in OUT as long as forget.py is at work there


def say(*lines: str) -> None:
    text.say([part for line in lines for part in text.visible_lines(line, 60, 600)], sys.stderr)


def known_students(out: Path, given: str) -> roster.Roster:
    """Of ROSTER=, which OUT keeps a copy of, or of that copy; without either whoever hands in."""
    path = Path(given) if given else out / "roster.csv"
    if not given and not path.exists():
        found = roster.Roster(open=True)
        for folder in ledger.students(out):
            found.add(roster.Student(folder), [])
        return found
    found = roster.read(path)
    if not given:
        return found
    if found.unread:
        say(f"ROSTER={path}: nobody reads its columns {', '.join(found.unread)}; those that count "
            "are id, name, mail, group, group_labN, aliases, extension and extension_labN")
    gone = forgotten.Forgotten(out)
    back = [id for id in found.students if gone.means([id])]
    if not back:
        ledger.write(out / "roster.csv", path.read_text(encoding="utf-8-sig"))
        return found
    say(f"ROSTER={path}: left out, for they were forgotten (make forget): {', '.join(back)}")
    delimiter, rows = csv_lines.table(path)
    ledger.write(out / "roster.csv",
                 csv_lines.text(delimiter, forgotten.off_the_roster(rows, back)))
    return roster.read(out / "roster.csv")


def locks(out: Path) -> list:
    """One class at a time in this copy of gradlab, and in OUT."""
    def waiting():
        say("somebody grades here, or what a killed grader had begun still runs: waiting for that")

    return [ledger.hold(path, waiting) for path in (run.ROOT / "build/course.lock", out / ".lock")]


def started(out: Path, forgetting: bool = False) -> list:
    """OUT is there and ours alone; returns what holds it."""
    out.mkdir(parents=True, exist_ok=True)
    fds = locks(out)
    ledger.sweep(out)
    if (out / FORGETTING).exists() and not forgetting:
        raise Refused(f"OUT={out}: a make forget was interrupted there: type that line again "
                      f"({out / FORGETTING} has the id)")
    return fds


def command(name: str, options_of: dict, act, arguments: list) -> int:
    """Runs act(given); every mistake is a line or some, and exit status 2."""
    try:
        return act(options.parse(arguments, options_of))
    except (Refused, options.OptionError) as error:
        say(f"{name}: {error}")
    except OSError as error:
        say(f"{name}: {error.filename}: {error.strerror}" if error.filename else f"{name}: {error}")
    except KeyboardInterrupt:
        say(f"{name}: interrupted; what is graded is kept, and the same line goes on with it")
    return 2
