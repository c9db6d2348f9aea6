"""A small class, graded by make itself, in make test-all: one student of lab 0, and a class of lab
1, with archives of each kind and what must be refused. (tests/term plays a whole term.)"""

import csv
import io
import json
import os
import tarfile
import zipfile
import zlib
from pathlib import Path

import make
import skeletons

ROOT = Path(__file__).resolve().parents[3]


def files(folder: str, lab: int, mark: str = "") -> dict:
    """name -> content, of solution or labs; `mark` makes their code another submission's."""
    return {p.name: p.read_bytes()
            + f"/* {mark} */\n".encode() * bool(mark and p.suffix != ".toml")
            for p in skeletons.sources(ROOT / folder) if p.parent.name == f"lab{lab}"}


def course(tmp_path, lab: int) -> list:
    """The words of a make grade-class."""
    done = make.run("-C", str(ROOT), "secret", f"SECRET={tmp_path / 'secret'}", timeout=60)
    assert done.returncode == 0, done.stderr
    return [f"SUBMISSIONS={tmp_path / 'in'}", f"LAB={lab}", f"OUT={tmp_path / 'out'}",
            f"SECRET={tmp_path / 'secret'}"]


def rows(tmp_path) -> dict:
    with open(tmp_path / "out/class.csv", newline="") as file:
        return {r["id"]: r for r in csv.DictReader(file)}


def built() -> list:
    return sorted([*ROOT.glob("build/*/from/build/submissions/class-*"),
                   *ROOT.glob("build/submissions/class-*"), *ROOT.glob("build/course/*"),
                   *ROOT.glob("build/grade/build-submissions-class-*")])


def zipped(path: Path, lab: int, content: dict) -> None:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(f"lab{lab}/{name}", data, zipfile.ZIP_DEFLATED)


def a_class_of_one(tmp_path):
    zipped(tmp_path / "in/ada.zip", 0, files("solution", 0))
    done = make.run("-C", str(ROOT), "grade-class", *course(tmp_path, 0), timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    row, one = rows(tmp_path)["ada"], tmp_path / "out/ada/lab0/1"
    assert row["status"] == "graded" and row["points"] == row["max"] != "0"
    assert "done" in (one / "feedback.md").read_text() and not built()
    assert json.loads((one / "grade.json").read_text())["seed_from"] == "secret"


def in_folder(path: Path, content: dict) -> None:
    path.mkdir(parents=True)
    for name, data in content.items():
        (path / name).write_bytes(data)


def handed_in(folder: Path) -> None:
    solved, begun = files("solution", 1), files("labs", 1)
    in_folder(folder / "ada/labs/lab1", solved)
    (folder / "ada/tl/include/tl").mkdir(parents=True)
    (folder / "ada/tl/include/tl/matmul.h").write_text("/* mine */\n")
    in_folder(folder / "bob", begun)
    zipped(folder / "Cleo_9_assignsubmission_file_x.zip", 1, files("solution", 1, "cleo"))
    half = {n: d if n.startswith("gemm") else begun[n] for n, d in solved.items()}
    with tarfile.open(folder / "dan@example.edu_3_lab1.tar.gz", "w:gz") as archive:
        for name, data in half.items():
            info = tarfile.TarInfo(f"./my lab/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    packer = zlib.compressobj(9, wbits=31)
    (folder / "eve.tgz").write_bytes(packer.compress(bytes(1 << 26)) + packer.flush())
    (folder / "fay").mkdir()
    for name in solved:
        (folder / "fay" / name).symlink_to(ROOT / "solution/lab1" / name)
    in_folder(folder / "lab1-gus/.git", {})
    in_folder(folder / "lab1-gus/labs/lab1", solved)


def a_class_of_lab_1(tmp_path):
    handed_in(tmp_path / "in")
    done = make.run("-C", str(ROOT), "grade-class", *course(tmp_path, 1), timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    found = rows(tmp_path)
    points = {id: row["points"] for id, row in found.items()}
    dan = int(points.pop("dan@example.edu"))
    assert points == {"ada": "100", "bob": "0", "Cleo_9": "100", "eve": "", "fay": "",
                      "lab1-gus": "100"}
    assert 0 < dan < 100
    assert "more than 32 MiB" in found["eve"]["note"] and "a link" in found["fay"]["note"]
    # ada and gus have handed in the same files
    assert found["ada"]["sha256"] == found["lab1-gus"]["sha256"]
    one = json.loads((tmp_path / "out/ada/lab1/1/grade.json").read_text())
    assert one["student"] == "ada" and one["told"] == [
        "your matmul.h differs from the given one; it was not taken"]
    assert one["compilers"]["c"] != "unknown" != one["compilers"]["cuda"]
    assert set(one["submission"]["files"]) == set(files("solution", 1)) and not built()
    words = [f"OUT={tmp_path / 'out'}", "LAB=1"]
    done = make.run("-C", str(ROOT), "replay", *words, "STUDENT=dan@example.edu", timeout=600)
    assert done.returncode == 0 and "with the same verdicts" in done.stdout, done.stdout
    done = make.run("-C", str(ROOT), "regrade", *words, "STUDENT=ada", timeout=600)
    assert done.returncode == 0 and "lab1: 1 same" in done.stdout, done.stdout + done.stderr


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (else it would be skipped, and named)
    test_a_class_of_one, test_a_class_of_lab_1 = a_class_of_one, a_class_of_lab_1
