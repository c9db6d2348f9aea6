"""Commands that end when we do: a measurement that was stopped must not go on unseen."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

PATIENCE_S = 3  # for a command that is to end, before the next signal
SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


class Stopped(BaseException):
    """A signal ends the program (no Exception: nobody on the way may take it for a failure)."""


def run(command, folder):
    """Exit status and output of a command, which lives no longer than this function."""
    # in a session of its own, so that one signal reaches it and all that it starts
    process = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
    try:
        said, _ = process.communicate()
    except BaseException:
        end(process)
        raise
    return process.returncode, said


def end(process):
    """Ends a command with all that it has started. It is asked first: so it removes its files."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)


def _stop(number, _):
    for name in SIGNALS:  # the first one counts
        signal.signal(name, signal.SIG_IGN)
    raise Stopped(number)


def end_with_us(name, main):
    """Runs a program's main; a signal ends it and what `run` has started, with one line."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves SIGHUP
            signal.signal(number, _stop)
    try:
        main()
    except Stopped as stopped:
        number = stopped.args[0]
        print(f"\n{name}: stopped by {SIGNALS[number]}; what was measured before is kept, and the "
              "same command goes on from there", flush=True)  # fmt: skip
        sys.exit(128 + number)
