"""The table of tasks in a lab's README comes from its list of claims."""

import handouts
import pytest
import skeletons
from conftest import LAB

README = f"# Lab 9\n\n{handouts.BEGIN}\nold\n{handouts.END}\n\nText.\n"
FILLED = f"""# Lab 9

{handouts.BEGIN}
| task | you write | C | CUDA |
|---|---|---|---|
| one | `one.c`, `one.cu` | 30 | 20 |
| two | `two.c` | 30 + 5 extra |  |
| whole | all of your own together | 20 |  |
{handouts.END}

Text.
"""


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "autograder/lab9").mkdir(parents=True)
    (tmp_path / "labs/lab9").mkdir(parents=True)
    (tmp_path / "autograder/lab9/lab.toml").write_text(LAB)
    (tmp_path / "labs/lab9/README.md").write_text(README)
    return tmp_path


def test_a_stale_table_is_found_and_filled_in_between_its_marks(lab):
    assert handouts.update(lab, write=False) == 1
    assert (lab / "labs/lab9/README.md").read_text() == README
    handouts.update(lab, write=True)
    assert (lab / "labs/lab9/README.md").read_text() == FILLED
    assert handouts.update(lab, write=False) == 0


def test_steps_are_asked_for_or_not(lab):
    path = lab / "autograder/lab9/lab.toml"
    path.write_text(LAB.replace("lab = 9\n", "lab = 9\nsteps = true\n"))
    handouts.update(lab, write=True)
    assert "| two | `two.c` | yes |  |" in (lab / "labs/lab9/README.md").read_text()


def test_a_readme_without_marks_is_refused(lab):
    (lab / "labs/lab9/README.md").write_text("# Lab 9\n")
    with pytest.raises(skeletons.Refused, match="needs one line"):
        handouts.update(lab, write=True)
    assert (lab / "labs/lab9/README.md").read_text() == "# Lab 9\n"
