"""Nsight Compute's table becomes times of a layer's passes; what it does not hold is refused."""

import pytest

import bench_conv2d
import programs

HEAD = '==PROF== Connected\n"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'


def table(kernels):
    return HEAD + "".join(f'"{i}","{name}","gpu__time_duration.sum","ns","{ns:,}"\n'
                          for i, (name, ns) in enumerate(kernels))  # fmt: skip


def product(kernel, back, ns):
    return (f"void sum_{kernel}<unsigned short, {back}, to_pixels<unsigned short, {back}>>(T3)", ns)


def step():
    """Net c's: convolution n takes 1000 n forward, dx 100 n, dw 10 n and its shares 1."""
    kinds = ["pixels", "still", "patches", "patches", "patches", "patches"]
    kernels = [("load_batch(float *)", 5), ("void pack_weights<unsigned short>(T1 *)", 6)]
    kernels += [product(kind, 0, 1000 * n) for n, kind in enumerate(kinds, 1)]
    kernels += [product("pixels", 0, 7), ("void add_sums<float, 0>(T)", 9), product("pixels", 0, 7)]
    for n in (8, 7, 6, 5, 4, 3, 2, 1):
        weight = "sum_squares(weight_job)" if 1 < n < 7 else "void sum_outputs<float, 64>(job)"
        kernels += [(weight, 10 * n), ("void add_shares<float, 9, 8>(float *)", 1)]
        if n > 1:
            kernels.append(product("still" if n == 2 else "patches", 1, 100 * n))
    return [*kernels, ("adam(float *)", 25)]


PLACES = {layer: places for layer, (_, _, *places) in bench_conv2d.LAYERS.items()}


def test_passes_are_found_by_their_place():
    kernels = bench_conv2d.read_durations(table(step() + step() + step()))
    steps = bench_conv2d.steps_of(kernels)
    assert len(steps) == 2
    for found in [bench_conv2d.passes_of(step, PLACES) for step in steps]:
        assert found["64 to 64 at 32x32"] == pytest.approx({"forward": 2.0, "dx": 0.2, "dw": 0.021})
        assert found["256 to 256 at 8x8"] == pytest.approx({"forward": 6.0, "dx": 0.6, "dw": 0.061})


def test_another_net_is_refused():
    with pytest.raises(programs.ProgramError, match="0 products forward"):
        bench_conv2d.passes_of([("adam(float *)", 1.0)], PLACES)


def test_a_step_begins_where_weights_are_brought_in():
    with pytest.raises(programs.ProgramError, match="no step was seen"):
        bench_conv2d.medians([("adam(float *)", 1.0)], PLACES)


def test_of_several_searches_the_quickest_counts_pass_by_pass():
    found = [{"x": {"forward": a, "dx": b, "dw": 3.0}} for a, b in ((1.0, 4.0), (2.0, 3.0))]
    assert bench_conv2d.over(found, min) == {"x": {"forward": 1.0, "dx": 3.0, "dw": 3.0}}


def test_no_table_is_told():
    with pytest.raises(programs.ProgramError, match="no table: ==ERROR== no device"):
        bench_conv2d.read_durations("==ERROR== no device\n")


def test_marks_part_the_rivals_calls():
    kernels = []
    for call in range(2 * 3):
        for repeat in range(bench_conv2d.REPEATS):
            kernels += [("bitwise_not_kernel", 0.1), ("conv", call), ("turn", repeat)]
    found = bench_conv2d.split_rival(kernels)
    assert found["256 to 256 at 8x8"] == {"forward": 5.0, "dx": 6.0, "dw": 7.0}
    with pytest.raises(programs.ProgramError, match="29 calls"):
        bench_conv2d.split_rival(kernels[3:])
    with pytest.raises(programs.ProgramError, match="before the first mark"):
        bench_conv2d.split_rival(kernels[1:])


@pytest.mark.parametrize("us, good", [(1.25, True), (1.26, False)])
def test_a_mean_below_eight_tenths_is_not_enough(us, good):
    theirs = {layer: dict.fromkeys(bench_conv2d.PASSES, 1.0) for layer in bench_conv2d.LAYERS}
    mine = {layer: dict.fromkeys(bench_conv2d.PASSES, us) for layer in bench_conv2d.LAYERS}
    ratios, found = bench_conv2d.compare(mine, theirs)
    assert found is good and ratios["64 to 64 at 32x32"]["mean"] == pytest.approx(1 / us)


def test_neither_is_a_single_pass_below_six():
    theirs = {layer: dict.fromkeys(bench_conv2d.PASSES, 1.0) for layer in bench_conv2d.LAYERS}
    mine = {layer: {"forward": 0.5, "dx": 1.7, "dw": 0.5} for layer in bench_conv2d.LAYERS}
    assert not bench_conv2d.compare(mine, theirs)[1]
