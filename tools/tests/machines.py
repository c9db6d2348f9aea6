"""Machines that lack something, imitated by a PATH of links to what this one has."""

import fnmatch
import os
from pathlib import Path


def links(folder: Path, *lacking: str) -> Path:
    """A folder with a link to every program of this machine's PATH but those that are lacking, by
    name or pattern; the only folder of another machine's PATH."""
    folder.mkdir(parents=True)
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            # (a compiler cache would look for the compiler behind itself)
            if (link.is_symlink() or program.resolve().name == "ccache"
                    or any(fnmatch.fnmatchcase(program.name, name) for name in lacking)):
                continue
            link.symlink_to(program)
    return folder


def script(path: Path, text: str) -> Path:
    """A program of a machine, in place of what is there."""
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path
