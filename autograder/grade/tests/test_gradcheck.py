"""make gradcheck: the rule of a student's own operation against differences of its own forward,
whatever formula it has."""

import shutil

import make
import pytest
from submission import ROOT

FACTOR = ("TL_R(i ? -2 : 2)", "TL_R(i ? -1 : 1)")
# a*a, which b does not stand in
SQUARE = [
    ("TL_TRY(ctx->ops->axpy(ctx, d, b->value->data, n, TL_R(-1)));", ""),
    ("for (int i = 0; i < 2; i++) {", "for (int i = 0; i < 1; i++) {"),
    ("TL_R(i ? -2 : 2)", "TL_R(2)"),
]


@pytest.fixture
def checked(request):
    """Runs make gradcheck of the reference's files, with replacements in own.c."""
    folder = f"build/gradcheck-{request.node.name}"

    def check(*replacements: tuple):
        shutil.copytree(ROOT / "solution/lab4", ROOT / folder / "lab4")
        path = ROOT / folder / "lab4/own.c"
        text = path.read_text(encoding="utf-8")
        for old, new in replacements:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return make.run("-C", str(ROOT), "gradcheck", f"LABS={folder}", timeout=590)

    yield check
    shutil.rmtree(ROOT / folder, ignore_errors=True)


def test_an_operation_in_which_one_input_does_not_stand_is_one(checked):
    done = checked(*SQUARE)
    assert done.returncode == 0 and "6/6" in done.stdout, done.stdout + done.stderr


def test_a_wrong_rule_is_shown_with_place_and_both_numbers(checked):
    """The last line is ours: make, which ends with another status than 0, has none of its own."""
    done = checked(FACTOR)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "***" not in done.stdout + done.stderr
    assert done.stdout.rstrip().rsplit("\n", 1)[1].startswith("lab4: "), done.stdout
    for part in ("gradient of a of shape [", "got ", "expected ", "where ", "one constant factor"):
        assert part in done.stdout, done.stdout
