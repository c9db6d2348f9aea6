"""What the judges of the bridge share: which ways and devices they run on, and how they compare.

    GRADLAB_WAYS             of python and cpp, with commas; default: both
    GRADLAB_BRIDGE_DEVICES   of cpu and cuda, with commas; default: cpu
    GRADLAB_TEST_ALL=1       also what takes longer than make test has time for
    GRADLAB_TL               the library; default: build/lib, made by `make lib`
    GRADLAB_EXTENSION        the way cpp; default: build/bridge/gradlab/_C.so, made by `make bridge`

Nothing is skipped: what a run is not asked for is not collected, and its header says what it is
asked for.
"""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Before gradlab is imported: it looks for the library, and starts with one of the ways.
os.environ.setdefault("GRADLAB_TL", str(ROOT / "build/lib"))
os.environ.setdefault("GRADLAB_EXTENSION", str(ROOT / "build/bridge/gradlab/_C.so"))
WAYS = os.environ.get("GRADLAB_WAYS", "python,cpp").split(",")
os.environ["GRADLAB_WAY"] = WAYS[0]
# Tests run side by side, on tensors of a few numbers: threads that spin would starve each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
sys.path.insert(0, str(ROOT / "bridge"))
# for the processes that tests start
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT / "bridge"), *filter(None, [os.environ.get("PYTHONPATH")])])

import torch  # noqa: E402 (the lines above come first)

import gradlab  # noqa: E402

DEVICES = os.environ.get("GRADLAB_BRIDGE_DEVICES", "cpu").split(",")
ALL = os.environ.get("GRADLAB_TEST_ALL") == "1"
# At least two, so that contexts with threads of their own are what is judged; and no TF32, which
# would make PyTorch the one that is off.
torch.set_num_threads(2)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def pytest_report_header(config):
    return f"bridge: ways {','.join(WAYS)}, devices {','.join(DEVICES)}, all {int(ALL)}"


def pytest_generate_tests(metafunc):
    """Every test runs each way; those that name `device` on each device."""
    metafunc.parametrize("way", WAYS, indirect=True, scope="session")
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", DEVICES)


def pytest_collection_modifyitems(config, items):
    """Marked `slow`: only where all is asked for; marked `one_way`: else by the last way alone."""
    left = [item for item in items if not ALL and (
        item.get_closest_marker("slow") or
        item.get_closest_marker("one_way") and item.callspec.params["way"] != WAYS[-1])]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: runs with GRADLAB_TEST_ALL=1")
    config.addinivalue_line("markers", "one_way: both ways with GRADLAB_TEST_ALL=1, else one")


@pytest.fixture(autouse=True)
def way(request):
    """The way that a test's operators run; its random numbers start alike."""
    torch.manual_seed(0)
    gradlab.use(request.param)
    return request.param
