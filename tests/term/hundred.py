"""hundred.py LAB=n FOLDER=dir [STUDENTS=100] [JOBS=2] [OUT=file] [WRITE=1]: a whole class is graded
twice, and each student has the points that were worked out before.

A hundred submissions of one lab: solutions in the form of each system's download, untouched
skeletons, solutions with one file unwritten, bugs of mutants.toml, functions that never come back,
end their process or print verdicts, and archives that must be refused. What an unwritten or broken
file costs stands in lab.toml: its task's points on that side, and those of `whole`. What a bug
costs does not: hundred.json has it, from `make grade LABS= TASKWISE=1` of each by itself, which
knows neither sandbox nor class, with a digest of the lab's claims and of the file with the bug in
it (WRITE=1 finds out what is missing there, or was found out from other claims).

Said, and with OUT= kept: seconds of each run, and that they are linear in the number of students:
what a grading of the first third took on the average, and one of the last; the front end's largest
process, what more lies in build/ afterwards. Exit status 1 if a grade is wrong, the last third more
than half as slow again as the first, the front end too large or the disk not given back.
"""

import csv
import hashlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / f"autograder/{room}") for room in ("grade", "maintain")]
sys.path[:0] = [str(ROOT / "tools")]

import document  # noqa: E402 (found by the lines above)
import make  # noqa: E402
import mutants  # noqa: E402
import options  # noqa: E402
import skeletons  # noqa: E402
import table  # noqa: E402

COSTS = ROOT / "tests/term/hundred.json"
SIDE = {".c": "c", ".cu": "cuda", ".toml": "c"}
LIMIT_S = 7200
FRONT_END_MB = 300
LEFT_MB = 5
SLOWER = 1.5  # the last third of a class's gradings than the first
FEWEST = 12  # gradings of which thirds say something
WAITS = {"timeout", "stuck"}  # kinds of failure that take the time that they are given
# with what each function of a file begins: it ends its process, it asks for what the gate refuses
REFUSED_LINE = '    asm volatile("syscall");\n'
BROKEN = ["    *(volatile int *)8 = 1;\n", REFUSED_LINE]
FUNCTION = re.compile(r"^\w[^;{}#]*\) *\{\n", re.MULTILINE)
# bugs that write beside an array: what they cost depends on what lies there
UNDEFINED = {"ops_layers_winners_of_a_byte"}
LOOPS = "    for (volatile int x = 0;; x++) {}\n"  # each of its claims waits: once is enough


class Lab:
    """What the submissions of one lab are made of."""

    def __init__(self, number: int):
        self.number, self.table = number, table.load(number)
        self.names = skeletons.own_files(ROOT, number)
        self.solution = {n: (ROOT / f"solution/lab{number}/{n}").read_bytes() for n in self.names}
        made = skeletons.skeletons(ROOT)
        self.skeleton = {n: made[f"labs/lab{number}/{n}"] for n in self.names}

    def cost(self, name: str, line: str = "") -> int:
        """What a file that does nothing right costs: its task on its side, and `whole` there if
        that needs the task, or if the file is refused and no extra credit. Where a task has none of
        its kernels, its C file is judged on a device, too."""
        path = Path(name)
        task, whole = self.table.task(path.stem), self.table.task("whole")
        sides = {SIDE[path.suffix]} | ({"cuda"} if "cuda" not in task.sides else set())
        extra = all(claim.extra for claim in self.table.claims if claim.task == task.name)
        concerned = task.name in whole.needs or (line == REFUSED_LINE and not extra)
        due = {task.name} | ({"whole"} if concerned else set())
        return sum(points for claim in self.table.claims if claim.task in due and not claim.extra
                   for side, points in claim.points.items() if side in sides)

    def broken(self, name: str, line: str) -> dict:
        """The solution, every function of one file of which begins with that line."""
        text, count = FUNCTION.subn(lambda head: head[0] + line, self.solution[name].decode())
        assert count > 0, name
        return self.solution | {name: text.encode()}


# ---- how files are handed in: (folder, id, lab, files) -> nothing --------------------------------

def lay(folder: Path, files: dict) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def as_folder(to: Path, who: str, lab: int, files: dict) -> None:
    lay(to / who, files)


def as_repository(to: Path, who: str, lab: int, files: dict) -> None:
    lay(to / who / f"labs/lab{lab}", files)
    (to / who / ".git").mkdir()


def as_zip(to: Path, who: str, lab: int, files: dict, name: str = "{}.zip") -> None:
    with zipfile.ZipFile(to / name.format(who), "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(f"lab{lab}/{file}", data)


def as_moodle(to: Path, who: str, lab: int, files: dict) -> None:
    as_zip(to, who, lab, files, f"Student {who}_{who[1:]}_assignsubmission_file_lab{lab}.zip")


def as_canvas(to: Path, who: str, lab: int, files: dict) -> None:
    as_zip(to, who, lab, files, f"{who}_LATE_{who[1:]}_77_lab{lab}.zip")


def as_tar(to: Path, who: str, lab: int, files: dict) -> None:
    with tarfile.open(to / f"{who}.tar.gz", "w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(f"./my work/lab{lab}/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


FORMS = [as_folder, as_repository, as_zip, as_moodle, as_canvas, as_tar]


# ---- what must be refused ------------------------------------------------------------------------

def a_bomb(to: Path, who: str, lab: int, files: dict) -> None:
    packer = zlib.compressobj(9, wbits=31)
    (to / f"{who}.tgz").write_bytes(packer.compress(bytes(1 << 26)) + packer.flush())


def a_way_out(to: Path, who: str, lab: int, files: dict) -> None:
    as_zip(to, who, lab, {f"../../{n}": d for n, d in files.items()})


def links(to: Path, who: str, lab: int, files: dict) -> None:
    (to / who).mkdir()
    for name in files:
        (to / who / name).symlink_to(ROOT / f"solution/lab{lab}" / name)


def torn(to: Path, who: str, lab: int, files: dict) -> None:
    as_zip(to, who, lab, files)
    path = to / f"{who}.zip"
    path.write_bytes(path.read_bytes()[:200])


def nothing_of_the_lab(to: Path, who: str, lab: int, files: dict) -> None:
    lay(to / who, {"notes.txt": b"to do"})


REFUSED = [a_bomb, a_way_out, links, torn, nothing_of_the_lab]


# ---- a class -------------------------------------------------------------------------------------

def known_costs() -> dict:
    """name -> [points, digest]"""
    return json.loads(COSTS.read_text()) if COSTS.exists() else {}


def digest(mutant: mutants.Mutant, lab: int) -> str:
    """Of all that decides what a bug costs, short of the grader itself: points, claims, the file
    with the bug in it. (Texts decide nothing.)"""
    points = [[claim.name, claim.points, claim.extra] for claim in table.load(lab).claims]
    claims = [p.read_bytes() for p in sorted((ROOT / f"autograder/lab{lab}").glob("*.[ch]"))]
    parts = [json.dumps(points).encode(), *claims, mutants.mutated(mutant).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def chosen(bugs: list, count: int) -> list:
    """Of those that were in the class before, as many as there are, before others: a new bug in the
    list changes nothing here."""
    known = known_costs()
    first = [bug for bug in bugs if bug.name in known]
    rest = [bug for bug in bugs if bug.name not in known]
    pool = first if len(first) >= count else first + rest[:count - len(first)]
    return [pool[i * len(pool) // count] for i in range(count)]


def cost_of(mutant: mutants.Mutant, lab: int, write: bool) -> int:
    """Points that a bug costs: of the list, or found out by itself and noted there."""
    known, of = known_costs(), digest(mutant, lab)
    if known.get(mutant.name, ["", ""])[1] != of:
        if not write:
            raise SystemExit(f"hundred: {COSTS.name} does not know what {mutant.name} costs by "
                             "today's claims: WRITE=1")
        folder = mutants.make_folder(mutant, lab)
        done = make.run("grade", f"LAB={lab}", f"LABS={folder}", "DEVICES=cpu,hostcuda",
                        "TASKWISE=1", timeout=600)
        path = Path("build/grade", str(folder).replace("/", "-"), f"lab{lab}", "grade.json")
        if done.returncode:
            raise SystemExit(f"hundred: {mutant.name}: make grade: {done.stderr.strip()[-300:]}")
        score = json.loads(path.read_text())["score"]
        known[mutant.name] = [score["max"] - score["points"], of]
        COSTS.write_text(written(known))
        mutants.clean(mutant, lab)
    return known[mutant.name][0]


def written(costs: dict) -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(cost)}" for name, cost in sorted(costs.items()))
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def submissions(lab: Lab, count: int, write: bool) -> list:
    """(how it is handed in, its files, the points that it must get, or None where it is refused)"""
    draw = random.Random(lab.number)
    bugs = [bug for bug in mutants.load(lab.table) if bug.name not in UNDEFINED]
    made = [(lab.solution | {Path(m.file).name: mutants.mutated(m).encode()},
             100 - cost_of(m, lab.number, write)) for m in chosen(bugs, count * 4 // 10)]
    names = lab.names * count
    made += [(lab.solution | {n: lab.skeleton[n]}, 100 - lab.cost(n))
             for n in names[:count // 10]]
    code = [n for n in names if n != "cases.toml"]  # data has no functions to break
    broken = [(n, BROKEN[i % len(BROKEN)]) for i, n in enumerate(code[1:count // 10])]
    made += [(lab.broken(n, line), 100 - lab.cost(n, line))
             for n, line in [(code[0], LOOPS), *broken]]
    made += [(lab.skeleton, 0)] * (count // 10)
    made += [(lab.solution, 100)] * (count - count // 10 - len(made))
    handed = [(FORMS[i % len(FORMS)], files, points) for i, (files, points) in enumerate(made)]
    handed += [(REFUSED[i % len(REFUSED)], lab.solution, None) for i in range(count - len(handed))]
    draw.shuffle(handed)
    return handed


def hand_in(handed: list, lab: int, to: Path) -> dict:
    """id -> points."""
    to.mkdir(parents=True)
    expected = {}
    for number, (form, files, points) in enumerate(handed):
        who = f"s{1000 + number}"
        form(to, who, lab, files)
        expected[who] = "" if points is None else str(points)
    return expected


ROSTER_HEAD = "id,name,aliases\n"


def roster(expected: dict, path: Path) -> None:
    path.write_text(ROSTER_HEAD + "".join(f"{who},Student {who},{who[1:]}\n" for who in expected))


class Watch(threading.Thread):
    """The largest resident set of grade_class.py or grade.py, asked for while they run."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most_mb, self.done = 0.0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.5):
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    if any(w.endswith((b"grade_class.py", b"/grade.py")) for w in words[1:3]):
                        lines = (folder / "status").read_text().splitlines()
                        most = next(line for line in lines if line.startswith("VmHWM"))
                        self.most_mb = max(self.most_mb, int(most.split()[1]) / 1024)
                except (OSError, StopIteration):
                    pass  # it has ended


def used_mb(folder: Path) -> float:
    return sum(p.lstat().st_size for p in folder.rglob("*") if not p.is_dir()) / 1e6


def gradings(term: Path, lab: int, jobs: int) -> list:
    """Seconds of each grading in the order in which they were begun; those without failures that
    wait for a limit. Equal files were graded once, refused ones never. When one ends, the next
    begins, in order of ids (run.py): so the first JOBS, which began together, are left out."""
    ends, waited = {}, set()
    for path in sorted(term.glob(f"*/lab{lab}/1/grade.json")):
        document = json.loads(path.read_text())
        digest = document["submission"]["sha256"]
        ends[digest] = min(ends.get(digest, path.stat().st_mtime), path.stat().st_mtime)
        if any(f["kind"] in WAITS for c in document["claims"] for f in c["failures"]):
            waited.add(digest)
    begins = sorted(ends.values())
    return [end - begin for (digest, end), begin in zip(list(ends.items())[jobs:], begins)
            if digest not in waited]


def thirds(seconds: list) -> tuple:
    """(mean of the first third, mean of the last, whether that is linear)"""
    if len(seconds) < FEWEST:
        return 0.0, 0.0, True
    part = len(seconds) // 3
    first, last = sum(seconds[:part]) / part, sum(seconds[-part:]) / part
    return first, last, last <= SLOWER * first


def grade_once(lab: int, folder: Path, term: Path, jobs: str, expected: dict) -> dict:
    watch, began = Watch(), time.time()
    watch.start()
    done = make.run("-C", str(ROOT), "grade-class", f"SUBMISSIONS={folder / 'in'}", f"LAB={lab}",
                    f"OUT={term}", f"SECRET={folder / 'secret'}",
                    f"ROSTER={folder / 'roster.csv'}", f"JOBS={jobs}", timeout=LIMIT_S)  # fmt: skip
    watch.done.set()
    seconds = time.time() - began
    if done.returncode not in (0, 2) or not (term / "class.csv").exists():
        raise SystemExit(f"hundred: make grade-class: {done.stdout[-500:]}{done.stderr[-500:]}")
    with open(term / "class.csv", newline="") as file:
        got = {row["id"]: row["points"] for row in csv.DictReader(file)}
    wrong = {who: f"{got.get(who)} instead of {points or 'none'}"
             for who, points in expected.items() if got.get(who) != points}
    return {"seconds": seconds, "gradings": gradings(term, lab, int(jobs)), "wrong": wrong,
            "front_end_mb": watch.most_mb}


def main(arguments: list) -> int:
    given = options.parse(arguments, {"LAB": "", "FOLDER": "", "STUDENTS": "100", "JOBS": "2",
                                      "OUT": "", "WRITE": ""})
    os.chdir(ROOT)
    lab, folder = Lab(options.whole(given, "LAB")), Path(given["FOLDER"]).absolute()
    handed = submissions(lab, options.whole(given, "STUDENTS"), bool(given["WRITE"]))
    expected = hand_in(handed, lab.number, folder / "in")
    roster(expected, folder / "roster.csv")
    subprocess.run(["make", "secret", f"SECRET={folder / 'secret'}"], check=True,
                   stdout=subprocess.DEVNULL)
    # what all submissions share is built by one of them, of no class
    make.run("grade", f"LAB={lab.number}", "LABS=solution", "DEVICES=cpu,hostcuda", timeout=1800)
    before, bad = used_mb(ROOT / "build"), False
    lines = [f"{document.version()}, {os.cpu_count()} cores, JOBS={given['JOBS']}"]
    for run in (1, 2):
        term = folder / f"term{run}"
        shutil.rmtree(term, ignore_errors=True)
        said = grade_once(lab.number, folder, term, given["JOBS"], expected)
        left = used_mb(ROOT / "build") - before
        first, last, linear = thirds(said["gradings"])
        each = (f"a grading {first:.2f} s in the first third, {last:.2f} s in the last"
                f"{'' if linear else ': NOT LINEAR'}" if first else "too few gradings for thirds")
        lines.append(f"lab {lab.number}, run {run}: {len(expected)} submissions in "
                     f"{said['seconds']:.0f} s ({len(said['gradings'])} compared: {each}), "
                     f"front end {said['front_end_mb']:.0f} MB, build/ {left:+.1f} MB, "
                     f"{len(said['wrong'])} wrong")
        lines += [f"  {who}: {what}: {term / who}" for who, what in said["wrong"].items()]
        print(*lines[-1 - len(said["wrong"]):], sep="\n", flush=True)
        bad |= bool(said["wrong"]) or not linear
        bad |= said["front_end_mb"] > FRONT_END_MB or left > LEFT_MB
    if given["OUT"]:
        Path(given["OUT"]).write_text("\n".join(lines) + "\n")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
