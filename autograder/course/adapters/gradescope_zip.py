"""gradescope_zip.py LAB=n [OUT=file.zip] [SECRET=file]: the archive that Gradescope takes as an
autograder (Configure Autograder, Zip file upload), by its specification:
https://gradescope-autograders.readthedocs.io/en/latest/specs/

At its root stand setup.sh, which runs once when Gradescope builds its image, and run_autograder,
which runs for each submission; below gradlab/ this repository as it lies here, of what git knows,
and the course's secret. Equal files give equal bytes.
"""

import io
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import document
import options
import seeds
import table
import text
from options import OptionError
from skeletons import Refused, replace

ROOT = Path(__file__).resolve().parents[3]
EPOCH = (1980, 1, 1, 0, 0, 0)  # as in submit.py: a time is no part of it
SETUP = """\
#!/bin/bash
# setup.sh: runs as root when the image is built: what grading needs, and the lab's reference. The
# solution is graded as any submission will be: an image that does not give it all points is none.
set -euo pipefail
cd "${{1:-/autograder/source}}/gradlab"
export GRADLAB_COMMIT={version}
chmod 600 .course-secret
find . -name '*.sh' -exec chmod +x {{}} +  # (not all that unpacks keeps modes)
command -v make >/dev/null || {{ apt-get update && apt-get install -y make; }}
make YES=1 setup lab{lab}
make grade LAB={lab} SUBMISSION=solution MIN={total}
rm -rf build/grade
"""
RUN = """\
#!/bin/bash
# run_autograder: grades submission/ into results/results.json, below the folder it is started in.
export GRADLAB_COMMIT={version} PYTHONPATH=autograder/grade:tools
root=$PWD
cd source/gradlab && exec python3 autograder/course/adapters/gradescope_run.py \\
    "ROOT=$root" LAB={lab}
"""


def tracked() -> list:
    """Names of the files that belong to the repository, as they are in the working tree."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise OptionError("the archive holds what git knows of this repository, and there is no "
                          "git or no repository here: make it in your clone")
    return [n for n in sorted(map(os.fsdecode, done.stdout.split(b"\0"))) if (ROOT / n).is_file()]


def archive(lab: table.Lab, secret: bytes) -> bytes:
    words = {"lab": lab.number, "total": lab.total, "version": shlex.quote(document.version())}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as out:
        def put(name: str, data: bytes, mode: int) -> None:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            out.writestr(entry, data)

        put("setup.sh", SETUP.format(**words).encode(), 0o755)
        put("run_autograder", RUN.format(**words).encode(), 0o755)
        put(f"gradlab/{seeds.DEFAULT}", secret + b"\n", 0o600)
        for name in tracked():
            mode = 0o755 if os.access(ROOT / name, os.X_OK) else 0o644
            put(f"gradlab/{name}", (ROOT / name).read_bytes(), mode)
    return packed.getvalue()


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"LAB": "", "OUT": "", "SECRET": ""})
        lab = table.load(options.whole(given, "LAB"))
        out = Path(given["OUT"] or f"build/gradescope/lab{lab.number}.zip")
        data = archive(lab, seeds.secret(given))
        before = os.umask(0o077)  # it holds the secret and every solution
        try:
            replace(out, data)
        finally:
            os.umask(before)
    except (OptionError, Refused, table.TableError, OSError) as error:
        text.say([text.visible(f"gradescope: nothing was written: {error}", 1000)], sys.stderr)
        return 2
    print(f"{out}: {len(data) >> 20} MiB, with the solutions and the course's secret in it: give "
          "it to Gradescope and to nobody else")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
