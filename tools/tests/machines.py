"""Machines that lack something, imitated by a PATH of links to what this one has."""

import fnmatch
import os
import re
from pathlib import Path


def links(folder: Path, *lacking: str) -> Path:
    """A folder with a link to every program of this machine's PATH but those that are lacking, by
    name or pattern; the only folder of another machine's PATH."""
    folder.mkdir(parents=True)
    without, taken = re.compile("|".join(map(fnmatch.translate, lacking)) or "(?!)"), set()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in os.scandir(place) if os.path.isdir(place) else ():
            # (a compiler cache would look for the compiler behind itself)
            cache = program.is_symlink() and os.readlink(program.path).endswith("ccache")
            if program.name not in taken and not cache and not without.match(program.name):
                os.symlink(program.path, folder / program.name)
                taken.add(program.name)
    return folder


def script(path: Path, text: str) -> Path:
    """A program of a machine, in place of what is there."""
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path
