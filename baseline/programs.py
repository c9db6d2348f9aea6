"""Running our own programs, build/<mode>/train and replay, talking to replay by its pipe."""

import functools
import json
import os
import subprocess
import tempfile

import numpy as np

from lines import ROOT, read_lines

# MINE=1: a student's own programs (mk/mine.mk) are compared, and their results kept apart.
MINE = bool(os.environ.get("MINE"))
RESULTS = os.path.join(ROOT, "results", "mine" if MINE else "local")


class ProgramError(Exception):
    """One of our programs is missing or failed; the text is one line that names it."""


def path(mode, name):
    """build/<mode>/<name>, which must exist: a comparison never builds behind its user's back."""
    goal = f"build/{mode}/mine/{name}" if MINE else f"build/{mode}/{name}"
    program = os.path.join(ROOT, goal)
    if not os.access(program, os.X_OK):
        raise ProgramError(f"{goal} is not built; run: make {goal}{' MINE=1' if MINE else ''}")
    return program


def arguments(options):
    given = options | ({"RUNGS": "none"} if MINE else {})  # the quicker kernels are ours
    return [f"{name}={value}" for name, value in given.items()]


def train(mode, options):
    """Runs the trainer to its end; its text output is shown only if it fails."""
    command = [path(mode, "train"), *arguments(options)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        given = " ".join(arguments(options))
        raise ProgramError(f"train, {mode}, {given}: exit {done.returncode}: {said}")


@functools.cache
def nets(mode="float"):
    """{name: {"input": [c, h, w], "layers": words}} of the nets that the trainer knows."""
    done = subprocess.run([path(mode, "train"), "--nets"], capture_output=True, text=True)
    if done.returncode != 0:
        raise ProgramError(f"train --nets: exit {done.returncode}: {done.stderr.strip()}")
    return {line["net"]: line for line in map(json.loads, done.stdout.splitlines())}


def train_lines(folder):
    """The run line, the epoch lines and {step: loss} of OUT/train.jsonl."""
    run, epochs, losses = {}, [], {}
    for line in read_lines(os.path.join(folder, "train.jsonl")):
        if line.get("kind") == "run":
            run = line
        elif "step" in line:
            losses[line["step"]] = line["loss"]
        elif line.get("kind") == "epoch":
            epochs.append(line)
    return run, epochs, losses


class Replay:
    """A running build/<mode>/replay: weights in; loss and gradients of the next step out."""

    def __init__(self, mode, options, shapes):
        self.dtype = np.dtype("<f8" if mode == "double" else "<f4")
        self.shapes = shapes
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [path(mode, "replay"), *arguments(options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip

    def step(self, weights):
        """Sends one array per parameter; returns (loss, gradients in the same order and shapes)."""
        try:
            for array in weights:
                self.process.stdin.write(np.ascontiguousarray(array, self.dtype).tobytes())
            self.process.stdin.flush()
        except BrokenPipeError:
            self._fail("it stopped reading weights")
        loss = float(np.frombuffer(self._read(8), "<f8")[0])
        gradients = []
        for shape in self.shapes:
            data = self._read(int(np.prod(shape)) * self.dtype.itemsize)
            gradients.append(np.frombuffer(data, self.dtype).reshape(shape))
        return loss, gradients

    def close(self):
        """Ends the program, which must have nothing more to say and exit with 0."""
        self.process.stdin.close()
        rest = self.process.stdout.read(1)
        if self.process.wait() != 0 or rest:
            self._fail("it did not end after its last step")

    def stop(self):
        """Ends the program without asking what it thinks of that; after `close` it does nothing."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdout, self.errors):
            pipe.close()

    def _read(self, count):
        data = self.process.stdout.read(count)
        if len(data) != count:
            self._fail(f"{len(data)} bytes instead of {count} came back")
        return data

    def _fail(self, what):
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        raise ProgramError(f"replay: {what}: exit {code}: {said[-1] if said else 'no words'}")
