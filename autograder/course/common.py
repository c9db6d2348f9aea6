"""common.py: what the commands of a course share: messages, OUT's locks, who is in it."""

import sys
from pathlib import Path

import ledger
import options
import roster
import run
import text
from skeletons import Refused


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
    if given:
        ledger.write(out / "roster.csv", path.read_text(encoding="utf-8-sig"))
    return found


def locks(out: Path) -> list:
    """One class at a time in this copy of gradlab, and in OUT."""
    def waiting():
        say("somebody grades here, or what a killed grader had begun still runs: waiting for that")

    return [ledger.hold(path, waiting) for path in (run.ROOT / "build/course.lock", out / ".lock")]


def started(out: Path) -> list:
    """OUT is there and ours alone; returns what holds it."""
    out.mkdir(parents=True, exist_ok=True)
    fds = locks(out)
    ledger.sweep(out)
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
