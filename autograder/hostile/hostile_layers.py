"""hostile_layers.py [CASE=name,name] [TIER=A|B|C] [V=1]: does each layer stop something by itself?

A case of cases.toml with `alone = [layers]` is handed in to a copy of this repository in which
those layers are cut out of the source: there it has to succeed. Then to copies in which all of them
but one are cut out: that one has to stop it. So nothing passes by luck, and where several layers
are named, each is enough. The copies are scratch: nothing here, and no environment, can switch a
layer off.

The last line is `N passed, N failed`, of layers; exit 1 if one does not stop its case, or the case
fails where all are cut out; 2 if nothing could be tested.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import hostile_submissions as hostile
import options

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {"CASE": "", "TIER": "", "V": "", "TRY": ""}

# layer -> [(file, what stands there, what stands there without the layer)]
GRADE = "autograder/grade"
CUTS = {
    "snapshot": [
        (f"{GRADE}/intake.py", "    try:\n        # (opening a device", "    try:\n"
         "        with open(os.open(name, os.O_RDONLY, dir_fd=folder), 'rb') as file:\n"
         "            return file.read()\n    except FileNotFoundError:\n        return None\n"
         "    try:\n        # (opening a device")],
    "source gate": [
        (f"{GRADE}/gate.py", "def token_findings(found: list, rules: Rules) -> list:\n",
         "def token_findings(found: list, rules: Rules) -> list:\n    return []\n"),
        (f"{GRADE}/gate.py", '    """(line, text) for one preprocessor line."""\n',
         "    return []\n")],
    "build box": [
        ("mk/workers.mk", "lab_boxed = $(if $(LAB_OFFICIAL),", "lab_boxed = $(if ,")],
    "object check": [
        (f"{GRADE}/elf.py", '    # .rela.text changes .text', '    return\n    # .rela.text'),
        (f"{GRADE}/gate.py", "    for symbols in objects:\n", "    for symbols in []:\n")],
    "link closure": [
        (f"{GRADE}/grants.py", "if f in there - own)", "if f not in own)"),
        (f"{GRADE}/grants.py", "tuple(f for f in order if f not in there), tuple(sorted(blas))",
         '(), (".c", ".cu")')],
    "worker box": [
        (f"{GRADE}/sandbox.py", '{box} run worker {options} -- "$1"', '"$1"')],
    "pipes": [
        ("autograder/call/call_remote.h", "REMOTE_OUTPUT = 4 << 20", "REMOTE_OUTPUT = 1 << 30")],
    "counts": [
        ("autograder/claim/claim.c", "c->copies ? NULL : call_idle_op()", "NULL"),
        ("autograder/claim/claim.c", "c->copies ? NULL : call_shared_by_few()", "NULL"),
        ("autograder/call/call.c", "if (counted[CALL_TO_HOST] >", "if (0 >")],
    "oracle": [
        ("autograder/claim/device_claims.c", "        t.worker = (int)k;\n", "")],
    "text": [
        (f"{GRADE}/text.py", "    shown, length, marks = [], 0, 0\n",
         "    return text\n    shown, length, marks = [], 0, 0\n")],
}


def copy_of_the_tree(to: Path) -> Path:
    """With what is built, so that nothing of it is built again."""
    def left(folder, names):
        below = Path(folder).relative_to(ROOT).parts
        gone = {".git"} if not below else set()
        if below[:1] == ("build",):
            gone |= {"from", "submissions", "grade"}
        return gone & set(names)

    shutil.copytree(ROOT, to, symlinks=True, ignore=left)
    return to


def cut(tree: Path, layers) -> None:
    """Takes these layers out of a copy, and puts all others back."""
    texts = {}
    for layer, cuts in CUTS.items():
        for name, there, instead in cuts:
            text = texts.setdefault(name, (ROOT / name).read_text(encoding="utf-8"))
            if there not in text:
                raise options.OptionError(f"{name} has changed: CUTS of hostile_layers.py does not "
                                          f"find where the layer {layer!r} is")
            if layer in layers:
                texts[name] = text.replace(there, instead)
    for name, text in texts.items():
        if (tree / name).read_text(encoding="utf-8") != text:
            (tree / name).write_text(text, encoding="utf-8")


def attempt(case: hostile.Case, tier: str) -> dict:
    """In a copy: what came of one case."""
    bad, graded = hostile.hand_in(case, tier)
    succeeds = bool(bad) and bad != hostile.judge_layer(case, graded)
    by = sorted(hostile.stopped_by(graded)) if graded.document else [hostile.reason(graded)]
    return {"succeeds": succeeds, "bad": bad, "by": by, "err": graded.err[-2000:]}


def attempt_in(tree: Path, case: hostile.Case, tier: str) -> dict:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {
        "PYTHONPATH": f"{tree}/autograder/grade:{tree}/tools:{tree}/autograder/hostile"}
    done = subprocess.run([sys.executable, tree / "autograder/hostile/hostile_layers.py",
                           f"TRY={case.name}", f"TIER={tier}"], cwd=tree, env=env,
                          capture_output=True, text=True, errors="replace")
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise options.OptionError(f"{case.name}: {done.stderr[-1000:]}") from None


def variants(case: hostile.Case) -> list:
    """[(layers that are cut out, the one that stays, None: none)]"""
    one = [([a for a in case.alone if a != stays], stays) for stays in case.alone]
    return [(case.alone, None), *one]


def try_case(tree: Path, case: hostile.Case, given: dict) -> list:
    """[(layer, whether all is as it should be)]"""
    results = []
    for off, stays in variants(case):
        if stays and not off:  # with nothing cut out: that is make hostile
            results.append((stays, True))
            continue
        cut(tree, off)
        got = attempt_in(tree, case, given["TIER"])
        good = got["succeeds"] == (stays is None)
        what = "succeeds" if got["succeeds"] else f"stopped by {', '.join(got['by'])}"
        print(f"{'' if good else 'WRONG: '}{case.name}, without {', '.join(off)}"
              f"{f', with {stays}' if stays else ''}: {what}", flush=True)
        if given["V"] or not good:
            print("    " + "\n    ".join([*got["bad"], got["err"]]), flush=True)
        results.append((stays, good))
    whole = results[0][1]
    return [(layer, good and whole) for layer, good in results if layer]


def chosen(given: dict) -> list:
    names = [n for n in given["CASE"].split(",") if n]
    return [c for c in hostile.cases() if c.alone and (not names or c.name in names)]


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, OPTIONS)
        if name := given["TRY"]:
            case, = (c for c in hostile.cases() if c.name == name)
            print(json.dumps(attempt(case, given["TIER"])))
            return 0
        run = chosen(given)
        if lacks := hostile.lacking(run, given["TIER"]):
            raise options.OptionError(f"nothing was tested: {lacks}")
        with tempfile.TemporaryDirectory(prefix="hostile-layers-") as name:
            Path(name).chmod(0o755)
            tree = copy_of_the_tree(Path(name, "tree"))
            results = [row for case in run for row in try_case(tree, case, given)]
    except options.OptionError as error:
        print(f"hostile: {error}", file=sys.stderr)
        return 2
    good = {layer for layer, well in results if well}
    wrong = {layer for layer, well in results if not well}
    print(f"{len(good - wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
