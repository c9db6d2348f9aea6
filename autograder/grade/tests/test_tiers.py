"""In each tier of the box that this machine has, every lab's skeleton gets nothing and its
solution everything. That takes a quarter of an hour, so `make test-all` alone does it
(GRADLAB_TEST_ALL=1; by hand TIERS=A and `-k lab3` choose); `make test` does lab 0 in tier C, whose
workers have the least, where users alone make namespaces."""

import json
import os
import secrets
import shutil
import subprocess

import pytest
import sandbox
import skeletons

ROOT = sandbox.ROOT
LIMIT_S = 1800
ALL = os.environ.get("GRADLAB_TEST_ALL") == "1"
TIERS = (os.environ.get("TIERS") or ("A,B,C" if ALL else "C")).split(",")
# (what is skipped counts as failed: without root there is no test of tier C)
__test__ = ALL or os.geteuid() == 0


@pytest.fixture(scope="module")
def no_namespaces(tmp_path_factory):
    """Tier C is graded where no namespaces can be made, for which it is there."""
    program = tmp_path_factory.mktemp("box") / "no_namespaces"
    subprocess.run(["cc", "-o", program, ROOT / "autograder/box/tests/no_namespaces.c"], check=True)
    return program


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    path = tmp_path_factory.mktemp("secret") / "secret"
    path.touch(mode=0o600)
    path.write_text(secrets.token_hex(32))
    return path


def hand_in(folder, lab: int, whose: str) -> None:
    made = skeletons.skeletons(ROOT)
    for name in skeletons.own_files(ROOT, lab):
        data = ((ROOT / f"solution/lab{lab}" / name).read_bytes() if whose == "solution"
                else made[f"labs/lab{lab}/{name}"])
        (folder / f"lab{lab}").mkdir(parents=True, exist_ok=True)
        (folder / f"lab{lab}" / name).write_bytes(data)


def there(tier: str) -> bool:
    return subprocess.run([sandbox.BOX, "tier", sandbox.SECRET], capture_output=True,
                          env=os.environ | {"GRADLAB_TIER": tier}).returncode == 0


def nothing_and_everything(folder, secret, tier: str, lab: int, before: list) -> None:
    for whose in ("skeleton", "solution"):
        handed_in = folder / f"{whose}-{tier}-{os.getpid()}"
        hand_in(handed_in, lab, whose)
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
        done = subprocess.run([*before, "make", "-C", ROOT,
                               "--no-print-directory", "grade", f"LAB={lab}",
                               f"SUBMISSION={handed_in}", f"SECRET={secret}", "JSON=1"],
                              env=env | {"GRADLAB_TIER": tier}, capture_output=True, text=True,
                              timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr[-2000:]
        graded = json.loads(done.stdout[done.stdout.index("{"):])
        score = graded["score"]
        assert graded["sandbox"][0] == tier
        points = score["points"], score["extra"]
        due = (0, 0) if whose == "skeleton" else (score["max"], score["extra_max"])
        assert points == due, (whose, score, done.stderr[-1000:])
        for left in ROOT.glob(f"build/*/from/build/submissions/{handed_in.name}-*"):
            shutil.rmtree(left)


if ALL or "TIERS" in os.environ:  # (else it would be skipped, and named)
    @pytest.mark.parametrize("lab", range(6), ids=lambda n: f"lab{n}")
    @pytest.mark.parametrize("tier", TIERS)
    def test_nothing_for_a_skeleton_and_all_for_a_solution(tmp_path, no_namespaces, secret, tier,
                                                           lab):
        assert sandbox.lacking() == ""
        if os.geteuid() != 0 and tier != "B":
            pytest.skip("tiers A and C need root")
        assert there(tier)
        before = [no_namespaces] if tier == "C" else []
        nothing_and_everything(tmp_path, secret, tier, lab, before)


@pytest.mark.skipif("C" not in TIERS, reason="tier C")
def test_the_same_where_users_alone_make_namespaces(tmp_path, secret):
    """As podman's containers have it: in a namespace of users root would be nobody, and a box of
    tier C is root's to make."""
    assert there("C")
    before = ["setpriv", "--bounding-set=-sys_admin"]
    assert subprocess.run([*before, "unshare", "--pid", "--fork", "true"]).returncode != 0
    nothing_and_everything(tmp_path, secret, "C", 0, before)
