"""The tables of claims in autograder/README.md and SECURITY.md come from the lists of claims."""

import builds
import pytest
import skeletons
from conftest import LAB


@pytest.fixture
def root(tmp_path):
    (tmp_path / "autograder/lab9").mkdir(parents=True)
    (tmp_path / "autograder/lab9/lab.toml").write_text(LAB)
    for page in (builds.README, builds.SECURITY):
        (tmp_path / page).write_text(f"Text.\n{builds.BEGIN}\nold\n{builds.END}\n")
    return tmp_path


def test_every_claim_and_half_has_its_precisions(root):
    assert builds.update(root, write=False) == 1
    builds.update(root, write=True)
    assert builds.update(root, write=False) == 0
    lines = (root / builds.README).read_text().splitlines()
    lab = builds.table.parse(LAB, root / "autograder/lab9/lab.toml")
    shown = {line.split(" | ")[0][2:]: line for line in lines if line.startswith("| lab9_")}
    assert set(shown) == {c.full_name for c in lab.claims}
    for claim in lab.claims:
        assert all(real in shown[claim.full_name] for real in claim.real)
    assert lines[-2].startswith("| **lab 9: runs** | **")


def test_hard_points_are_summed(root):
    path = root / "autograder/lab9/lab.toml"
    path.write_text(LAB.replace('evidence = "proved"\nc = 10', 'evidence = "hard"\nc = 10'))
    builds.update(root, write=True)
    lab = builds.table.parse(path.read_text(), path)
    row, = [ln for ln in (root / builds.SECURITY).read_text().splitlines() if ln.startswith("| 9")]
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    assert lab.hard == 10 and cells[1] == "**10**" and cells[3:] == ["**0**", "second (10)"], row


def test_a_readme_without_marks_is_refused(root):
    (root / builds.README).write_text("Text.\n")
    with pytest.raises(skeletons.Refused, match="needs one line"):
        builds.update(root, write=True)
