"""run.py: grades submissions by `make grade SUBMISSION=`, several side by side, and gives back the
disk that each has taken.

What all of them need is built before the first, by grading the untouched skeleton: if that cannot
be done, or has points, no student's grade would be worth anything. Equal files are graded once,
for they have the same seed, and the same grade.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import ledger
import skeletons
import submission
import text
from ledger import LONGEST_LOG, not_allowed
from skeletons import Refused

ROOT = Path(__file__).resolve().parents[2]
NAME = "class"  # of every folder that is graded, and so of its snapshot
LIMIT_S = 3600  # each step of a grade has its own, shorter limit: this one ends what hangs
PATIENCE_S = 20
JUDGED = "build/legality/*.txt"  # cuda_legality.py's answers
JUDGED_BEFORE = "build/course.judged"


class NotGraded(Exception):
    """Why, in a line; `log` is what make said."""

    def __init__(self, why: str, log: bytes = b""):
        super().__init__(why)
        self.log = log


@dataclass
class Work:
    """Files that are to be graded, and the attempts that will have this grade."""

    digest: str
    path: Path
    attempts: list
    words: list  # for make: where the seed comes from


class Makes:
    """The makes that run now."""

    def __init__(self, fds: list):
        self.fds, self.live, self.stopped = fds, set(), threading.Event()

    def run(self, words: list) -> tuple:
        """(status, what it said) of make with these words. It holds our locks as long as it lives,
        and everything it starts does, too."""
        # (a workflow's summary is no place for a class, and what is kept of one is in English)
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("MAKE", "GITHUB_"))
               and k not in ("MFLAGS", "OUT", "LANGUAGE")}
        if self.stopped.is_set():
            raise NotGraded("interrupted")
        with subprocess.Popen(
                ["make", *words], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                # (what a box sees is read by a user of its own)
                pass_fds=self.fds, umask=0o022) as process:
            self.live.add(process)
            try:
                if self.stopped.is_set():  # (stop() came while it was being started)
                    self.end(process)
                said = process.communicate(timeout=LIMIT_S)[0]
            except subprocess.TimeoutExpired:
                self.end(process)
                said = process.communicate()[0]
            finally:
                self.live.discard(process)
        return process.returncode, shortened(said)

    def end(self, process: subprocess.Popen) -> None:
        """grade.py ends its workers when it is interrupted; not when it is killed."""
        for sign in (signal.SIGINT, signal.SIGKILL):
            try:
                os.killpg(process.pid, sign)
                process.wait(PATIENCE_S)
                return
            except subprocess.TimeoutExpired:
                continue
            except ProcessLookupError:
                return

    def stop(self) -> None:
        self.stopped.set()
        live = list(self.live)
        for process in live:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        for process in live:  # (who has not begun to listen is told again, and then ended)
            self.end(process)


def shortened(said: bytes) -> bytes:
    """JSON on stdout is kept elsewhere; of a long log its end says more than its beginning."""
    if len(said) <= LONGEST_LOG:
        return said
    return b"... (%d bytes more)\n" % (len(said) - LONGEST_LOG) + said[-LONGEST_LOG:]


# ---- one submission ------------------------------------------------------------------------------

def staged(digest: str) -> Path:
    return ROOT / "build/course" / digest[:16] / NAME


def snapshot(digest: str) -> str:
    return f"{submission.SNAPSHOTS}/{NAME}-{digest[:16]}"


def result(digest: str, lab: int) -> Path:
    return ROOT / "build/grade" / snapshot(digest).replace("/", "-") / f"lab{lab}/grade.json"


def stage(files: dict, digest: str, lab: int) -> Path:
    folder = staged(digest) / f"lab{lab}"
    shutil.rmtree(folder.parents[1], ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder.parent


def free(pattern: str) -> None:
    """Takes away what was made of snapshots whose hash begins like this (or is *)."""
    of = f"{submission.SNAPSHOTS}/{NAME}-{pattern}"
    for name in (of, f"{submission.SNAPSHOTS}/.???-{NAME}-{pattern}"):  # (begun by who was killed)
        for path in ROOT.glob(name):
            submission.remove(path)
    for where in (f"build/*/from/{of}", f"{submission.SPENT}/{of}",
                  f"build/grade/{of.replace('/', '-')}", f"build/course/{pattern}"):
        for path in ROOT.glob(where):
            shutil.rmtree(path)


def grade(makes: Makes, lab: int, files: dict, digest: str, words: list) -> tuple:
    """(grade.json, log) of these files; NotGraded says why there is none."""
    try:
        status, log = makes.run(["grade", f"LAB={lab}", f"SUBMISSION={stage(files, digest, lab)}",
                                 *words])
        if status != 0:
            last = [x for x in log.decode("utf-8", "replace").splitlines()
                    if x and not x.startswith("make:")]
            raise NotGraded(text.visible(last[-1] if last else f"make ended with {status}", 300),
                            log)
        document = json.loads(result(digest, lab).read_text(encoding="ascii"))
        if document["submission"]["sha256"] != digest:
            raise NotGraded("the grade is that of other files", log)
        return document, log
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotGraded(f"no grade that can be read: {error}") from None
    finally:
        free(digest[:16])


def warm_up(makes: Makes, lab: int, jobs: int, words: list) -> None:
    """Builds what all grades of this lab need. If the skeleton has points, the grader is wrong."""
    files = {Path(name).name: data for name, data in skeletons.skeletons(submission.ROOT).items()
             if Path(name).parent.name == f"lab{lab}"}
    if not files:
        raise Refused(f"LAB={lab}: there is no such lab")
    try:
        document, log = grade(makes, lab, files, submission.digest(files, lab),
                              [f"-j{jobs}", *words])
    except NotGraded as error:
        said = error.log.decode("utf-8", "replace").splitlines()[-20:]
        raise Refused("\n".join(["the untouched skeleton cannot be graded, so nothing was:",
                                 str(error), *said])) from None
    if document["score"]["points"]:
        raise Refused(f"the untouched skeleton has {document['score']['points']} points: this "
                      "grader is wrong, and nothing was graded")


# ---- all of them ---------------------------------------------------------------------------------

class Progress:
    """A line for each that is done, with the time that is left."""

    def __init__(self, total: int):
        self.total, self.done, self.begin = total, 0, time.monotonic()

    def step(self, what: str) -> None:
        self.done += 1
        spent = time.monotonic() - self.begin
        left = spent / self.done * (self.total - self.done)
        tail = f"; about {duration(left)} left" if self.done < self.total else ""
        print(f"[{self.done}/{self.total}] {text.visible(what, 200)}{tail}", file=sys.stderr,
              flush=True)


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def one(makes: Makes, lab: int, work: Work) -> tuple:
    files, _ = submission.collect(work.path, lab)
    if submission.digest(files, lab) != work.digest:
        raise NotGraded("it was changed meanwhile")
    return *grade(makes, lab, files, work.digest, work.words), files


def queue(makes: Makes, lab: int, works: list, jobs: int, publish) -> list:
    """Grades all of it; `publish(work, document, log, files)` is called for one after the other.
    What the machine kept from being graded is tried once more, alone. [(work, why not)]"""
    again, left = [], []
    progress = Progress(sum(len(w.attempts) for w in works))

    def told(work, outcome):
        for attempt in work.attempts:
            progress.step(f"{attempt.student}, attempt {attempt.number}: {outcome}")

    with ThreadPoolExecutor(jobs) as pool:
        begun = {pool.submit(one, makes, lab, work): work for work in works}
        try:
            for done in as_completed(begun):
                work = begun.pop(done)
                try:
                    graded = done.result()
                except (NotGraded, Refused, OSError) as why:
                    again.append((work, why))
                    continue
                publish(work, *graded)
                told(work, points_of(graded[0]))
        except BaseException:
            makes.stop()
            pool.shutdown(cancel_futures=True)
            raise
    for work, _ in again:
        try:
            graded = one(makes, lab, work)
            publish(work, *graded)
            told(work, points_of(graded[0]))
        except (NotGraded, Refused, OSError) as why:
            left.append((work, why))
            told(work, f"not graded: {why}")
    return left


def points_of(document: dict) -> str:
    score = f"{document['score']['points']}/{document['score']['max']}"
    return "; ".join(filter(None, [score, not_allowed(document)]))


def judged_before() -> set:
    """What was known of what is CUDA before the class was begun: after a kill, before the first of
    those that were killed."""
    noted = ROOT / JUDGED_BEFORE
    if noted.exists():
        return set(noted.read_text().splitlines())
    names = sorted(path.name for path in ROOT.glob(JUDGED))
    noted.parent.mkdir(parents=True, exist_ok=True)
    ledger.write(noted, "".join(f"{name}\n" for name in names))
    return set(names)


def forget_judged(before: set) -> None:
    """Answers are kept by content, which no other submission has."""
    for path in ROOT.glob(JUDGED):
        if path.name not in before:
            path.unlink(missing_ok=True)
    (ROOT / JUDGED_BEFORE).unlink(missing_ok=True)


def whole_class(lab: int, works: list, jobs: int, fds: list, words: list, publish) -> list:
    """What a command does with all that is to be graded: builds (`words` are for the skeleton),
    grades, and cleans up whatever ends it. [(work, why it could not be graded)]"""
    makes = Makes(fds)
    for sign in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.default_int_handler)
    before = judged_before()
    print(f"lab {lab}: {sum(len(w.attempts) for w in works)} to grade, {jobs} side by side; first "
          "what all of them need is built", file=sys.stderr, flush=True)
    try:
        free("*")  # of a run that was killed
        warm_up(makes, lab, jobs, words)
        return queue(makes, lab, works, jobs, publish)
    except KeyboardInterrupt:
        makes.stop()
        raise
    finally:
        free("*")
        forget_judged(before)
