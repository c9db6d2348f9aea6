"""seeds.py: which seed a grade has.

    seeds.py make [SECRET=file]     makes the course's secret
    seeds.py check [SECRET=file]    whether there is one that grading takes, else why not, on stdout

Inputs are drawn from the seed, so whoever knows it knows the inputs. Your own `make grade` has
SEED=1. Official grading (SUBMISSION=) makes the seed of the course's secret, the lab and the hash
of the submission's files: equal files have equal seeds, so nobody tries again for a luckier one,
and nobody knows it before the files are handed in. A seed tells nothing of the secret, and may be
shown: with it a student replays a failing case.

The secret is a file, SECRET=file or the one that GRADLAB_SECRET names, else .course-secret. Its
content is never an argument, in the environment, in a log or in grade.json.
"""

import hmac
import os
import secrets
import stat
import sys
from pathlib import Path

import options
import text
from skeletons import Refused

DEFAULT = ".course-secret"
LEAST, MOST = 32, 4096  # bytes
NEEDED = "official grading makes its seeds of the course's secret, which nobody else knows"
BITS = 64


def place(given: dict) -> tuple:
    """(file of the secret, how it is called in messages). Its name is not shown where somebody
    typed it: that may be the secret itself, given by mistake."""
    if given.get("SECRET"):
        return Path(given["SECRET"]), "the file that SECRET= names"
    if named := os.environ.get("GRADLAB_SECRET"):
        return Path(named), "the file that GRADLAB_SECRET names"
    return Path(DEFAULT), DEFAULT


def secret(given: dict) -> bytes:
    """The course's secret, without white space around it; Refused says how to mend it."""
    path, name = place(given)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise Refused(f"{name} is not there: {NEEDED} (make secret makes one; SECRET=file names "
                      "another)") from None
    except OSError as error:
        raise Refused(f"{name} cannot be read ({error.strerror}): it has to be a file of your own, "
                      "and no link") from None
    try:
        is_ = os.fstat(fd)
        if not stat.S_ISREG(is_.st_mode):
            raise Refused(f"{name} is no regular file: make secret makes one")
        if is_.st_uid != os.geteuid():
            raise Refused(f"{name} belongs to somebody else, who can read it: chown it to yourself")
        if stat.S_IMODE(is_.st_mode) not in (0o600, 0o400):
            raise Refused(f"{name} can be read by others (mode {stat.S_IMODE(is_.st_mode):04o}): "
                          "chmod 600 it; if somebody may have read it, make a new one")
        data = os.read(fd, MOST + 1).strip()
    finally:
        os.close(fd)
    if not LEAST <= len(data) <= MOST:
        raise Refused(f"{name} holds {len(data)} bytes, and {LEAST} to {MOST} are needed: make "
                      "secret makes one")
    return data


def derived(key: bytes, lab: int, submission: str) -> int:
    """HMAC-SHA256 of what is graded, cut to what a seed has."""
    message = "\0".join(["gradlab seed/1", str(lab), submission]).encode()
    return int.from_bytes(hmac.digest(key, message, "sha256")[:BITS // 8], "big")


def check(given: dict) -> None:
    """Of official grading, before anything is done: is there a seed to be had?"""
    if given["SEED"] and not given["REGRADE"]:
        raise options.OptionError(
            "SEED= beside SUBMISSION=: the seed comes from the course's secret and the files; "
            "REGRADE=1 SEED=s grades once more with the seed of an earlier grade.json")
    if given["REGRADE"] and not given["SEED"]:
        raise options.OptionError("REGRADE=1: say SEED=s, the `seed` of the earlier grade.json")
    if given["SEED"]:
        options.whole(given, "SEED", high=2**BITS - 1)
    else:
        secret(given)


def choose(given: dict, submission: dict | None) -> tuple:
    """(seed, where it is from: default, given, secret)"""
    if submission:
        check(given)
    elif given["REGRADE"]:
        raise options.OptionError("REGRADE=1 is for SUBMISSION=; your own code takes any SEED=")
    if given["SEED"]:
        return options.whole(given, "SEED", high=2**BITS - 1), "given"
    if not submission:
        return 1, "default"
    return derived(secret(given), int(given["LAB"]), submission["sha256"]), "secret"


def make(given: dict) -> None:
    """Never over one that is there: grades made with it could not be made again."""
    path, name = place(given)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                     0o600)
    except FileExistsError:
        raise Refused(f"{name} is there already, and the grades made with it need it: nothing was "
                      "written. SECRET=file makes another one") from None
    with open(fd, "wb") as file:
        os.fchmod(fd, 0o600)  # (whatever the umask takes away)
        file.write(secrets.token_hex(LEAST).encode() + b"\n")
    print(f"{name} is made: keep a copy where students cannot read it; without it no seed can be "
          "made again")


def told(given: dict) -> int:
    """For a workflow that asks before it begins."""
    try:
        secret(given)
    except Refused as error:
        print(text.visible(str(error), 600))
        return 1
    return 0


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments[1:], {"SECRET": ""})
        if arguments[:1] == ["check"]:
            return told(given)
        if arguments[:1] != ["make"]:
            raise options.OptionError("seeds.py make or seeds.py check, and [SECRET=file]")
        make(given)
    except (Refused, options.OptionError) as error:
        print(f"secret: {text.visible(str(error), 600)}", file=sys.stderr)
        return 2
    except OSError as error:  # (without the file's name, which somebody typed)
        print(f"secret: nothing was made: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
