"""What "not parallel" says of the launch: the grid that was seen, and the one that would do."""

import re
import shutil

import make
import pytest
from submission import ROOT

THREAD = "    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
ADDS = "    if (i < n) y[i] = a[i] + b[i];\n"
LAUNCH = "    add<<<(unsigned)blocks, TL_BLOCK, 0, tl_stream(ctx)>>>(y, a, b, n);\n"
ALL = "    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];\n"
NO_BLOCKS = ("    size_t blocks = (n - 1) / TL_BLOCK + 1;\n", "")
TL_BLOCKS = "Grids of tl_blocks are kept"
# what is put in place of what -> what is said, and whether of grids that are cut, too
CASES = {
    "one_thread": ([(THREAD, ""), (ADDS, ALL), NO_BLOCKS,
                    (LAUNCH, LAUNCH.replace("(unsigned)blocks, TL_BLOCK", "1, 1"))],
                   r"launch was add<<<1, 1>>>: too few threads; <<<(\d+), 256>>> has one for each "
                   r"of (\d+) elements", False),
    "again_and_again": ([(THREAD, ""), (ADDS, ALL), NO_BLOCKS,
                         (LAUNCH, "    for (size_t i = 0; i < n; i += 999)\n"
                                  "        add<<<1, 1>>>(y + i, a + i, b + i, n - i < 999 ? n - i "
                                  ": 999);\n")],
                        r"launch was add<<<1, 1>>> \(one of \d+ launches\): too few", False),
    "the_first_of_each_block": ([(THREAD, ""), (ADDS, "    if (threadIdx.x > 0) return;\n"
                                 "    for (size_t i = blockIdx.x + blockIdx.y; i < n; i += 4)\n"
                                 "        y[i] = a[i] + b[i];\n"), NO_BLOCKS,
                                 (LAUNCH, LAUNCH.replace("(unsigned)blocks", "dim3(3, 2)"))],
                                r"launch was add<<<dim3\(3, 2\), 256>>>: 1536 threads are enough, "
                                r"but most of them took no part", True),
}


@pytest.fixture
def graded(request):
    """The text of vector_add's grade on hostcuda, with replacements in the solution's kernel."""
    folder = f"build/parallel-{request.node.callspec.id}"

    def grade(replacements: list) -> str:
        shutil.copytree(ROOT / "solution/lab0", ROOT / folder / "lab0")
        path = ROOT / folder / "lab0/vector_add.cu"
        text = path.read_text(encoding="utf-8")
        for old, new in replacements:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        done = make.run("-C", str(ROOT), "grade", "LAB=0", "T=vector_add", "DEVICES=hostcuda",
                        f"LABS={folder}", timeout=590)
        assert done.returncode == 0, done.stdout + done.stderr
        return " ".join(done.stdout.split())

    yield grade
    shutil.rmtree(ROOT / folder, ignore_errors=True)


@pytest.mark.parametrize("name", CASES)
def test_it_shows_the_grid_and_what_the_sizes_ask_for(graded, name):
    replacements, said, cut = CASES[name]
    out = graded(replacements)
    found = re.search(said, out)
    assert "not parallel" in out and found, out
    assert (TL_BLOCKS in out) == cut, out
    if name == "one_thread":
        blocks, elements = map(int, found.groups())
        assert (blocks - 1) * 256 < elements <= blocks * 256
