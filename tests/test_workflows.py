"""GitHub's workflows: ours, and the one that an instructor copies (autograder/course/github). What
they run is pinned, may do no more than it must, sees no secret that it does not need, and takes no
name that somebody else chose into a shell's text. No student's copy has one.
"""

import fnmatch
import os
import re
import subprocess
import sys
import tomllib

import handout
import pytest
import yaml
from test_rooms import ROOT, tracked

FILES = [name for name in tracked(ROOT, ".yml", ".yaml")
         if fnmatch.fnmatch(name, ".github/*") or fnmatch.fnmatch(name, "*/github/*")]
OURS = "autograder/course/github/grade-class.yml"
USES = re.compile(r"^\s*(?:- )?uses: (\S+)(.*)$", re.M)
PINNED = re.compile(r"([\w.-]+/[\w./-]+)@([0-9a-f]{40})")
VERSION = re.compile(r" # (v\d+\.\d+\.\d+)")
SECRET = re.compile(r"secrets(?:\.|\[)\W*(\w+)")
# what may run with more than its author has given it
TRIGGERS = {"pull_request_target", "workflow_run", "issue_comment", "issues"}
OF_WORKFLOWS = {"name", "on", "permissions", "concurrency", "defaults", "jobs", "env"}
OF_JOBS = {"name", "needs", "if", "strategy", "runs-on", "container", "timeout-minutes",
           "permissions", "env", "steps"}
OF_STEPS = {"name", "if", "uses", "with", "run", "env"}


def workflow(text: str) -> dict:
    """(YAML reads the word on as true)"""
    return {("on" if key is True else key): value for key, value in yaml.safe_load(text).items()}


def steps(found: dict) -> list:
    return [(name, step) for name, job in found["jobs"].items() for step in job["steps"]]


def of_actions(text: str) -> list:
    """By lines, for a comment says the version."""
    wrong = []
    for action, behind in USES.findall(text):
        if not PINNED.fullmatch(action):
            wrong.append(f"{action}: pinned by no commit")
        elif not VERSION.fullmatch(behind):
            wrong.append(f"{action}: which version is that?")
    return wrong


def of_permissions(found: dict) -> list:
    named = {"the workflow": found.get("permissions")} | {
        name: job["permissions"] for name, job in found["jobs"].items() if "permissions" in job}
    return [f"{where}: permissions {given}: name each, and none but read"
            for where, given in named.items()
            if not isinstance(given, dict) or set(given.values()) - {"read", "none"}]


def of_secrets(found: dict) -> list:
    """A secret is for one step: in its env, or an action's token."""
    wrong = [f"env of {where}: every step would see {name}"
             for where, part in [("the workflow", found), *found["jobs"].items()]
             for name in SECRET.findall(str(part.get("env", "")))]
    for job, step in steps(found):
        elsewhere = {k: v for k, v in step.items() if k not in ("env", "with")} | {
            k: v for k, v in step.get("with", {}).items() if k != "token"}
        wrong += [f"{job}: {name} stands outside of env and token"
                  for name in SECRET.findall(str(elsewhere))]
        if "actions/checkout@" in step.get("uses", "") and \
                step.get("with", {}).get("persist-credentials") is not False:
            wrong.append(f"{job}: a checkout leaves its token in the clone")
    return wrong


def of_shells(found: dict) -> list:
    """GitHub puts what stands in ${{ }} into the text before a shell reads it: only in env it is
    data."""
    wrong = [f"{job}: ${{{{ in a shell's text: {step['run'][:60]!r}" for job, step in steps(found)
             if "${{" in step.get("run", "")]
    for job, step in steps(found):
        done = subprocess.run(["bash", "-n"], input=step.get("run", ""), capture_output=True,
                              text=True)
        wrong += [f"{job}: {done.stderr.strip()}"] * (done.returncode != 0)
    return wrong


def of_form(found: dict) -> list:
    """What a misspelt word would do silently, and what GitHub would refuse."""
    wrong = [f"{key}: no key of a workflow" for key in set(found) - OF_WORKFLOWS]
    on = found["on"]
    wrong += [f"on {event}: it runs for strangers" for event in set(on) & TRIGGERS]
    for name, job in found["jobs"].items():
        wrong += [f"{name}: {key}: no key of a job" for key in set(job) - OF_JOBS]
        wrong += [f"{name}: no {key}" for key in ("runs-on", "timeout-minutes", "steps")
                  if not job.get(key)]
        needs = job.get("needs", [])
        wrong += [f"{name} needs {other}, which is not there"
                  for other in ([needs] if isinstance(needs, str) else needs)
                  if other not in found["jobs"]]
    for job, step in steps(found):
        wrong += [f"{job}: {key}: no key of a step" for key in set(step) - OF_STEPS]
        if ("run" in step) == ("uses" in step):
            wrong.append(f"{job}: a step runs or uses, one of both: {step}")
    return wrong


def faults(text: str) -> list:
    found = workflow(text)
    return (of_form(found) or of_actions(text) + of_permissions(found) + of_secrets(found)
            + of_shells(found))


@pytest.mark.parametrize("name", FILES)
def test_a_workflow_is_pinned_and_may_do_little(name):
    assert not faults((ROOT / name).read_text(encoding="utf-8"))


def test_all_of_them_are_looked_at_and_pin_an_action_alike():
    assert {".github/workflows/ci.yml", OURS} <= set(FILES)
    pins = {}
    for name in FILES:
        for action, behind in USES.findall((ROOT / name).read_text(encoding="utf-8")):
            pins.setdefault(action.split("@")[0], set()).add((action, behind))
    assert len(pins) >= 3 and not [p for p in pins.values() if len(p) > 1]


GOOD = """
name: x
on: {workflow_dispatch: {inputs: {a: {type: string}}}}
permissions: {}
jobs:
  one:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: {persist-credentials: false}
      - env: {A: "${{ inputs.a }}"}
        run: echo "$A"
"""


@pytest.mark.parametrize("was, becomes, said", [
    ("@3d3c42e5aac5ba805825da76410c181273ba90b1 #", "@v7 #", "pinned by no commit"),
    ("3d3c42e5", "3d3c42e", "pinned by no commit"),
    (" # v7.0.1", "", "which version"), (" # v7.0.1", " # newest", "which version"),
    ("permissions: {}\n", "", "permissions None"),
    ("permissions: {}", "permissions: write-all", "permissions write-all"),
    ("permissions: {}", "permissions: {contents: write}", "none but read"),
    ("timeout-minutes: 5", "timeout-minutes: 5\n    permissions: {id-token: write}", "one: perm"),
    ("timeout-minutes: 5", "timeout-minutes: 5\n    env: {T: '${{ secrets.T }}'}", "every step"),
    ("{persist-credentials: false}", "{path: x}", "leaves its token"),
    ("{persist-credentials: false}", "{persist-credentials: false, path: '${{ secrets.T }}'}",
     "T stands outside"),
    ('echo "$A"', 'echo "${{ inputs.a }}"', "in a shell's text"),
    ('echo "$A"', "echo ${{ secrets.T }}", "in a shell's text"),
    ('echo "$A"', "if true; the echo", "syntax error"),
    ("on: {", "on: {pull_request_target: {}, ", "runs for strangers"),
    ("timeout-minutes: 5", "timeout: 5", "timeout: no key of a job"),
    ("timeout-minutes: 5", "timeout-minutes: 5\n    needs: two", "needs two, which is not there"),
    ("      - env:", "      - shell: sh\n        env:", "shell: no key of a step")])
def test_a_planted_fault_is_named(was, becomes, said):
    assert not faults(GOOD) and was in GOOD
    assert any(said in fault for fault in faults(GOOD.replace(was, becomes)))


def test_no_students_copy_has_a_workflow():
    rules = tomllib.loads((ROOT / handout.LIST).read_text())
    files = handout.chosen(tracked(ROOT, ""), rules, [0, 1])
    assert files and not [f for f in files if f.endswith((".yml", ".yaml")) or f.startswith(".ci")]
    for name in FILES:
        assert [p for p in rules["withheld"] if fnmatch.fnmatch(name, p)], name


# ---- the one that grades a class -----------------------------------------------------------------

def test_who_reads_students_repositories_runs_nothing_of_theirs():
    """The token and the course's secret are in a job each, and what students wrote is compiled in
    the second, which has no token."""
    found = workflow((ROOT / OURS).read_text(encoding="utf-8"))
    where = {name: set(SECRET.findall(str(job))) for name, job in found["jobs"].items()}
    assert where == {"collect": {"GRADLAB_READ_TOKEN"}, "grade": {"GRADLAB_COURSE_SECRET"},
                     "merge": set()}
    runs = {job: " ".join(step.get("run", "") for j, step in steps(found) if j == job)
            for job in where}
    assert "grade-class" in runs["grade"] and "make" not in runs["collect"]
    assert "grade-class" not in runs["merge"]
    secret = [step for _, step in steps(found) if "COURSE_SECRET" in step.get("env", {})]
    assert [s["run"] for s in secret] == [
        "umask 077 && printf '%s\\n' \"$COURSE_SECRET\" >\"$RUNNER_TEMP/course-secret\""]


def script(name: str) -> str:
    found = workflow((ROOT / OURS).read_text(encoding="utf-8"))
    return next(step["run"] for _, step in steps(found) if step.get("name") == name)


def bash(text: str, folder, **env: str) -> subprocess.CompletedProcess:
    """As GitHub's runner starts it."""
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
                          cwd=folder, env=os.environ | env, capture_output=True, text=True)


def stand_in(folder, name: str, text: str) -> dict:
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
    (folder / "bin" / name).chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


@pytest.mark.parametrize("private, status", [("true", 0), ("false", 1), ("", 1)])
def test_a_public_repository_is_refused(tmp_path, private, status):
    text = script("this repository has to be private")
    assert bash(text, tmp_path, PRIVATE=private).returncode == status


def test_without_a_box_nothing_is_graded(tmp_path):
    for status, said in ((0, "C root in a container"), (2, "no tier holds here")):
        (tmp_path / "class/gradlab").mkdir(parents=True, exist_ok=True)
        env = stand_in(tmp_path, "python3", f"echo '{said}'; exit {status}")
        done = bash(script("a box for what students wrote, or nothing"), tmp_path, **env)
        assert (done.returncode != 0) == (status != 0) and said in done.stdout
        assert ("::error::nothing was graded" in done.stdout) == (status != 0)


@pytest.mark.parametrize("there, graded, complete", [
    ([1, 2, 3], "success", True), ([1, 3], "failure", False), ([1, 2, 3], "failure", False)])
def test_what_is_missing_is_named_and_the_rest_is_merged(tmp_path, there, graded, complete):
    for folder in ["class/gradlab", *(f"parts/{i}-of-3" for i in there)]:
        (tmp_path / folder).mkdir(parents=True)
    for i in there:
        subprocess.run(["tar", "-czf", f"part-{i}.tar.gz", f"parts/{i}-of-3"], cwd=tmp_path,
                       check=True)
    subprocess.run(["tar", "-czf", "class.tar.gz", "class"], cwd=tmp_path, check=True)
    env = stand_in(tmp_path, "make", 'echo "$*" >made; mkdir "${!#}" 2>/dev/null || mkdir term; '
                                     'mkdir -p class/term')
    done = bash(script("one class of all parts, and what is missing"), tmp_path, PARTS="[1, 2, 3]",
                GRADED=graded, **env)
    assert done.returncode == 0, done.stderr
    parts = ",".join(f"{tmp_path}/class/parts/{i}-of-3" for i in there)
    assert (tmp_path / "made").read_text() == (
        f"-C class/gradlab merge FROM={parts} OUT={tmp_path}/class/term\n")
    assert ("::error::missing: part 2" in done.stdout) == (2 not in there)
    assert (bash(script("all of it is there"), tmp_path).returncode == 0) == complete


GH = """
case "$*" in
*"/repos?per_page=100"*) cat {root}/names ;;
"repo clone "*) git clone -q "{root}/org/${{3#*/}}" "$4" 2>&1 ;;
*/activity*) cat "{root}/activity-$(sed -E 's,.*repos/[^/]+/([^/]+)/.*,\\1,' <<<"$2")" ;;
*) echo "gh: not $*" >&2; exit 1 ;;
esac
"""


def repository(root, name: str, stamp: str | None) -> None:
    """One of the organisation's; nothing was ever pushed to it without a stamp."""
    folder = root / "org" / name
    folder.mkdir(parents=True)
    git = ["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run([*git, "init", "-q", "-b", "a&b"], check=True)
    with open(root / "names", "a") as file:
        file.write(name + "\n")
    if stamp:
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True,
                                check=True).stdout.strip()
        (root / f"activity-{name}").write_text(
            f'[{{"after": "{"0" * 40}", "timestamp": "2027-03-09T00:00:00Z"}},'
            f'{{"after": "{commit}", "timestamp": "{stamp}"}}]')


def collected(root) -> subprocess.CompletedProcess:
    (root / "roster.csv").write_text("id,aliases\nada,ada-l\nbob,\ncyd,\n")
    env = stand_in(root, "gh", GH.format(root=root))
    env["PYTHONPATH"] = ":".join(str(ROOT / p) for p in (
        "autograder/course", "autograder/grade", "tools"))
    return subprocess.run(
        [sys.executable, ROOT / "autograder/course/github/collect.py", "ORG=org", "PREFIX=lab2-",
         f"ROSTER={root / 'roster.csv'}", f"OUT={root / 'class'}"],
        env=os.environ | env, capture_output=True, text=True)


def test_repositories_are_cloned_with_the_time_of_the_push(tmp_path):
    repository(tmp_path, "lab2-ada-l", "2027-03-01T10:00:00Z")
    repository(tmp_path, "lab2-bob", None)
    repository(tmp_path, "lab2-eve", "2027-03-01T11:00:00Z")
    repository(tmp_path, "lab1-cyd", "2027-03-01T12:00:00Z")
    done = collected(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "lab2-eve: of nobody in the roster" in done.stderr
    assert sorted(p.name for p in (tmp_path / "class/in").iterdir()) == ["lab2-ada-l", "lab2-bob"]
    assert (tmp_path / "class/times.csv").read_text().split() == [
        "id,time", "ada-l,2027-03-01T10:00:00Z"]


def test_a_push_that_nobody_knows_of_stops_it(tmp_path):
    repository(tmp_path, "lab2-ada-l", "2027-03-01T10:00:00Z")
    (tmp_path / "activity-lab2-ada-l").write_text("[]")
    done = collected(tmp_path)
    assert done.returncode == 2 and "GitHub does not say when" in done.stderr
    assert not (tmp_path / "class/times.csv").exists()


def test_what_gh_refuses_is_said(tmp_path):
    (tmp_path / "names").write_text("lab2-bob\n")
    done = collected(tmp_path)
    assert done.returncode == 2 and "gh repo clone org/lab2-bob" in done.stderr
