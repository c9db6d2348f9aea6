"""A dozen hostile submissions of make hostile, at least one of each family; and that the harness
can fail: a forged point, a lost file, a control character, a process that stays."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent))

import hostile_layers as layers  # noqa: E402 (found by the line above)
import hostile_submissions as hostile  # noqa: E402
import hostile_world as world  # noqa: E402

CASES = {case.name: case for case in hostile.cases()}
QUICK = [case for case in CASES.values() if case.quick]


def test_every_family_has_a_quick_case():
    assert {case.family for case in QUICK} == {case.family for case in CASES.values()}


def test_every_case_says_what_it_is():
    folders = {p.name for p in hostile.CASES.iterdir() if p.is_dir()}
    assert folders <= set(CASES), folders - set(CASES)
    for case in CASES.values():
        handed = case.name in folders or case.make or case.beside or case.folder
        assert handed and case.cause and case.name.startswith(case.family), case.name


def test_every_layer_has_a_case_that_it_alone_stops():
    """make hostile LAYERS=1 tries them; here is seen that there is something to cut out."""
    assert {layer for case in CASES.values() for layer in case.alone} == hostile.LAYERS
    assert set(layers.CUTS) == hostile.LAYERS
    for layer, cuts in layers.CUTS.items():
        for name, there, _ in cuts:
            assert (hostile.ROOT / name).read_text(encoding="utf-8").count(there) == 1, layer


def test_hostile_submissions_get_nothing_and_harm_nobody():
    """What is open succeeds today; everything else has to be stopped."""
    if why := hostile.sandbox.lacking():
        pytest.skip(f"no submission is graded here: {why}")
    assert not (lacks := hostile.lacking(QUICK)), lacks
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda case: hostile.verdict(case, ""), QUICK))
    assert not [case.name for case, what in verdicts if what == "failed"]


# ---- the harness itself --------------------------------------------------------------------------


def graded(points: int = 0, kind: str = "never_written", out: str = "", err: str = "", **alone):
    claims = [{"verdict": "fail", "kind": kind, "failures": []}]
    document = {"score": {"points": points, "extra": 0}, "claims": claims, "gate": []}
    return hostile.Graded(0, out, err, document,
                          {"seconds": 1, "left": [], "left_files": [], "largest_mb": 10} | alone,
                          Path("nothing-of-that-name"))


CASE = hostile.Case("a", "forge", "", 0, 1, ["pipes", "oracle"], silent=["secret line"])


def test_points_and_their_reason_are_judged():
    assert not hostile.judge_points(CASE, graded(1))
    assert "2 points, 1 are earned" in hostile.judge_points(CASE, graded(2))
    assert not hostile.judge_layer(CASE, graded(0))
    assert "stopped by" in hostile.judge_layer(CASE, graded(0, "compile"))[0]
    refused = hostile.Graded(2, "", "grade: no sandbox", None, {}, Path())
    assert not hostile.judge_points(CASE, refused)
    refused.err = "Segmentation fault"
    assert hostile.judge_points(CASE, refused)


@pytest.mark.parametrize("out, said", [
    ("lab0\x1b[2J", "no plain text"), ("a\rb", "no plain text"), ("a\u202eb", "no plain text"),
    ("a\x9bb", "no plain text"), ("the secret line", "it says"), ("lab0: 0/5 \u2265\n", "")])
def test_text_is_judged(out, said):
    with world.World() as sentinels:
        bad = hostile.judge_text(CASE, graded(out=out), sentinels)
        assert said in bad[0] if said else not bad
        assert hostile.judge_text(CASE, graded(out=sentinels.secrets()[0]), sentinels)


def test_harm_to_the_host_is_seen():
    with world.World() as sentinels:
        assert not sentinels.harm()
        sentinels.files["TMP_FILE"].write_text("mine")
        sentinels.files["HOME_FILE"].unlink()
        (sentinels.guarded / "new").touch()
        sentinels.sleeper.kill()
        sentinels.sleeper.wait()
        bad = "\n".join(sentinels.harm())
    for words in ("TMP_FILE was changed", "HOME_FILE is gone", "new files", "ended a process"):
        assert words in bad


def test_what_outlives_its_command_is_seen_and_ended(tmp_path):
    script = "setsid sleep 99 & exit 3"
    status, _, _, alone = world.keep(["sh", "-c", script], 20, {}, tmp_path)
    assert status == 3 and alone["left"] and "sleep" in alone["left"][0]
    pid = int(alone["left"][0].split("(")[1].rstrip(")"))
    assert not Path(f"/proc/{pid}").exists()
    status, _, _, alone = world.keep(["sleep", "30"], 0.5, {}, tmp_path)
    assert status == 124 and 0.5 <= alone["seconds"] < 10


def test_no_option_of_hostile_reaches_a_grade(tmp_path, monkeypatch):
    """make exports its options, and make grade takes some of that name: V=1 printed no grade."""
    for name in hostile.OPTIONS:
        monkeypatch.setenv(name, "x")
    _, out, _, _ = world.keep(["env"], 20, {"TMPDIR": str(tmp_path)}, tmp_path)
    assert not {line.split("=")[0] for line in out.splitlines()} & set(hostile.OPTIONS)


def test_security_says_what_is_open():
    text = (hostile.ROOT / "autograder/SECURITY.md").read_text(encoding="utf-8")
    listed = text.split("\n## Open\n")[1].split("\n## ")[0]
    assert {name for name in CASES if name in listed} == {c.name for c in CASES.values() if c.open}
    for family in {case.family for case in CASES.values()}:
        assert f"\n| {family} |" in text
    for layer in hostile.LAYERS:
        assert f"\n| {layer} |" in text
