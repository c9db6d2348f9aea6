"""collect.py ORG=name PREFIX=text ROSTER=csv OUT=folder

Clones the repositories of an organisation that begin with PREFIX and end with somebody of the
roster, as OUT/in/<name>, and writes OUT/times.csv: when GitHub was given what each branch holds now
(a commit's own date is its author's to choose). Of grade-class.yml's first job, which alone has a
token that reads students' repositories: `gh` takes it from GH_TOKEN, and no file keeps it.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import common
import options
import roster
from skeletons import Refused

OPTIONS = dict.fromkeys(("ORG", "PREFIX", "ROSTER", "OUT"), "")
LIMIT_S = 600


def said(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace",
                              timeout=LIMIT_S)
    except FileNotFoundError:
        raise Refused(f"there is no {words[0]} here") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{' '.join(words)}: not done in {LIMIT_S} s") from None
    if done.returncode:
        raise Refused(f"{' '.join(words)}: {' '.join(done.stderr.split())}")
    return done.stdout


def head(tree: Path) -> tuple:
    """(branch, commit) of a clone; None where nothing was ever pushed."""
    def git(*words):
        return subprocess.run(["git", "-C", tree, *words], capture_output=True, text=True)

    commit = git("rev-parse", "--verify", "-q", "HEAD")
    if commit.returncode:
        return None
    return git("symbolic-ref", "HEAD").stdout.strip(), commit.stdout.strip()


def pushed(org: str, name: str, branch: str, commit: str) -> str:
    """When this commit became what the branch holds."""
    page = said("gh", "api", f"repos/{org}/{name}/activity?per_page=100&ref={quote(branch, '')}")
    for activity in json.loads(page):
        if activity["after"] == commit:
            return activity["timestamp"]
    raise Refused(f"{name}: GitHub does not say when {commit[:12]} was pushed, and without that it "
                  "would count as handed in now; start this workflow again")


def collect(given: dict) -> int:
    if missing := [name for name in OPTIONS if not given[name]]:
        raise options.OptionError(f"{', '.join(missing)}: not given")
    org, prefix, out = given["ORG"], given["PREFIX"], Path(given["OUT"])
    known = roster.read(Path(given["ROSTER"]))
    names = said("gh", "api", "--paginate", f"orgs/{quote(org, '')}/repos?per_page=100", "--jq",
                 ".[].name").split()
    names = sorted(name for name in names if name.startswith(prefix))
    strangers = [name for name in names if not known.knows(name.removeprefix(prefix))]
    if strangers:
        common.say(f"{', '.join(strangers)}: of nobody in the roster, not taken")
    rows = []
    (out / "in").mkdir(parents=True)
    for name in (name for name in names if name not in strangers):
        said("gh", "repo", "clone", f"{org}/{name}", str(out / "in" / name), "--", "--quiet",
             "--depth=1", "--no-tags")
        if found := head(out / "in" / name):
            rows.append((name.removeprefix(prefix), pushed(org, name, *found)))
    if not rows:
        raise Refused(f"{org} has no repository {prefix}… of anybody in the roster that holds "
                      "anything and that the token may read")
    with open(out / "times.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "time"), *rows])
    print(f"{len(rows)} repositories of {len(known.students)} students")
    return 0


if __name__ == "__main__":
    sys.exit(common.command("collect", OPTIONS, collect, sys.argv[1:]))
