"""The trainer's growing line stays within one row of the terminal, however narrow that is: a line
that is longer scrolls at every redraw, ten times a second."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from training_runs import OPTIONS, ROOT, TRAIN, environment

DRAWS = r"""
#include <stdio.h>
#include <unistd.h>
#include "programs/progress.h"
int main(void) { /* what a quick machine has to show: figures as wide as they become */
    progress p;
    progress_begin(&p, 0);
    for (size_t done = 0; done <= 50000; done += 25000) {
        usleep(110000); /* it draws at most ten times a second */
        progress_show(&p, 9 + done / 25000, 12, done + 1, 50001);
    }
    progress_clear(&p);
    puts("the end");
}
"""


@pytest.fixture(scope="module")
def draws(tmp_path_factory):
    program = tmp_path_factory.mktemp("progress") / "draws"
    program.with_suffix(".c").write_text(DRAWS)
    subprocess.run(["gcc", "-I.", "-o", program, program.with_suffix(".c"),
                    "programs/progress.c"], cwd=ROOT, check=True, timeout=60)
    return program


def seen(command: list, columns: int) -> str:
    """What a program writes to a terminal of this width, standard output and error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    text = b""
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                          env=environment() | {"TERM": "xterm"}) as process:
        os.close(theirs)
        try:
            while data := os.read(ours, 65536):
                text += data
        except OSError:  # so Linux says that the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0, text
    return text.decode()


def redraws(text: str) -> list:
    """What was drawn between two returns to the left, the lines that stay left out."""
    drawn = re.findall(r"\r([^\r\n]*)\x1b\[K", text)
    assert drawn and drawn[-1] == ""  # it is wiped away at the end
    return [line for line in drawn if line]


@pytest.mark.parametrize("columns, most", [(200, 200), (80, 80), (40, 40), (20, 20), (5, 5),
                                           (0, 80)])  # 0: the terminal does not know
def test_no_redraw_reaches_the_last_column(draws, columns, most):
    lines = redraws(seen([draws], columns))
    assert max(map(len, lines), default=0) < most
    assert bool(lines) == (most >= 20)


def test_what_says_least_is_left_out_first(draws):
    wide, normal, narrow, tiny = (redraws(seen([draws], n))[-1] for n in (200, 80, 40, 20))
    whole = r"epoch 11/12 \[(=+)\] 50001/50001  \d+ images/s  0 s left"
    assert len(re.fullmatch(whole, wide)[1]) == 30
    assert re.fullmatch(whole, normal) and len(normal) == 79
    assert narrow == "epoch 11/12 50001/50001  0 s left" and tiny == "epoch 11/12"


def test_lines_of_epochs_stay_whole_on_a_narrow_terminal(tmp_path):
    text = seen([TRAIN, *OPTIONS, "EPOCHS=2", f"OUT={tmp_path}"], 40)
    lines = [line.split("\x1b[K")[-1] for line in text.split("\r\n")]
    whole = r"epoch +\d/2  train loss [\d.]+ acc .* %  test loss .* s  \d+ images/s"
    assert len([line for line in lines if re.fullmatch(whole, line)]) == 2, text
