"""What a record's numbers tell beside its patterns: which number of the call a factor is, whether
bits differ in the last digits alone, whether cuBLAS was given another flag than the matrix has.
"""

import failure_kinds
import failure_patterns
import judge
import map_told
import pytest
from failure import is_near, of_another_call
from judge import features

LOSS = "softmax_xent_bwd of prob[3,5], dloss 1.25 on cpu"
BITS = "dx: bits differ, first at (n=0,c=0): got {}, expected the bits of {}"
ROWS = "gemm.cu:35: hostcuda [blas-argument]: the leading dimension of {} is 4, but it has {} rows"


def told(**fields) -> set:
    return features({"kind": "mismatch", **fields}, "cuda")


@pytest.mark.parametrize("ratio,name", [
    (0.8, "ratio=1/dloss"), (1.25, "ratio=dloss"), (3, "ratio=rows"), (1 / 3, "ratio=1/rows"),
    (0.5, "ratio=1/2")])
def test_a_factor_is_a_number_of_the_call(ratio, name):
    assert {f for f in told(ratio=ratio, call=LOSS) if f.startswith("ratio")} == {name}


@pytest.mark.parametrize("ratio,call", [
    (0.6, LOSS), (-0.8, LOSS), ("nan", LOSS), (1.0005, LOSS.replace("1.25", "1")), (0.8, "sum")])
def test_another_factor_is_none(ratio, call):
    assert not {f for f in told(ratio=ratio, call=call) if f.startswith("ratio")}


@pytest.mark.parametrize("divisor,name", [
    (256, {"ratio=rows/threads"}), (5, {"ratio=rows/classes"}), (1, set()), (3, set()), (7, set())])
def test_a_mean_is_divided_by_a_number_of_the_call(divisor, name):
    call = "softmax_xent_fwd of logits[3,5] on cpu"
    found = told(call=call, array="loss", got=4.5 * 3 / divisor, want=4.5)
    assert {f for f in found if f.startswith("ratio=rows")} == name


@pytest.mark.parametrize("bytes_there,real,pad", [(6144, "double", 0), (3072, "float", 4)])
def test_a_table_is_told_by_its_size(bytes_there, real, pad):
    call = f"batch_load 37 of 37 images [3,8,6] from 0, shuffle 0 augment 0 pad {pad} on hostcuda"
    said = "a.cu:54: hostcuda [out-of-bounds]: reads 1016 bytes before the start of a buffer"
    for size, is_table in ((bytes_there, True), (5328, False)):
        found = told(kind="out_of_bounds", call=call, text=said, real=real,
                     output=f"{said}\n    buffer   {size} bytes\n")
        assert ("before_the_table" in found) == is_table


@pytest.mark.parametrize("block,thread,beyond", [
    ("(32,2,1)", "(28,0,0)", True), ("(32,2,1)", "(6,1,0)", False),
    ("(64,1,1)", "(28,0,0)", False)])
def test_a_thread_stands_beyond_the_image(block, thread, beyond):
    output = (f"    kernel   convolve<<<(1,1,1), {block}>>>, launched at conv3x3.cu:128\n"
              f"    thread   block (0,0,0), thread {thread}\n")
    found = told(kind="out_of_bounds", call="conv3x3 x[1,2,5,7] to 3 channels", output=output)
    assert ("thread_beyond_w" in found) == beyond


@pytest.mark.parametrize("one,other,last", [
    ("-0.0954363", "-0.0954364", True), ("1.5", "2.5", False), ("0", "1e-9", False)])
def test_bits_differ_in_the_last_digits_or_not(one, other, last):
    assert ("last_digits" in told(kind="bits", text=BITS.format(one, other))) == last


@pytest.mark.parametrize("call,operand,rows,other", [
    ("gemm C[3,4] = A(transposed) B, k = 5", "A", 5, True),  # our B lies in rows of 4
    ("gemm C[3,4] = A(transposed) B, k = 5", "A", 4, False),
    ("gemm C[3,4] = A B(transposed), k = 5", "A", 4, True),  # in rows of 5
    ("gemm C[3,4] = A(transposed) B, k = 5", "B", 5, True),  # our A lies in rows of 3
    ("gemm C[3,4] += A B, k = 5", "B", 3, True),
    ("gemm C[3,4] = A B, k = 4", "A", 4, False)])  # as long one way as the other
def test_blas_believes_in_the_rows_of_the_other_flag(call, operand, rows, other):
    assert ("other_flag" in told(call=call, text=ROWS.format(operand, rows))) == other


@pytest.mark.parametrize("one,other,twice", [("3", "1.5", True), ("3", "2.5", False),
                                             ("0", "0", False), ("1", "0", False)])
def test_bits_may_be_those_of_twice_the_number(one, other, twice):
    assert ("bits_twice" in told(kind="bits", text=BITS.format(one, other))) == twice


@pytest.mark.parametrize("got,want,small", [
    (1, 2, True), (0, -3, True), (-1, -3, True), (3, 2, False), (-1, 2, False), ("nan", 2, False)])
def test_a_part_of_a_number_is_too_small(got, want, small):
    assert ("too_small" in told(got=got, want=want)) == small


def test_a_refusal_is_told_from_one_that_is_missing():
    refused = "failed with TL_EINVAL: tape.c:223: the loss depends on nothing that needs a gradient"
    assert {"not_recorded"} == {"not_recorded", "should_fail"} & told(kind="status", text=refused)
    missing = "should fail with TL_EINVAL, returned TL_OK"
    assert {"should_fail"} == {"not_recorded", "should_fail"} & told(kind="status", text=missing)


@pytest.mark.parametrize("decay,name", [("0", True), ("0.01", False)])
def test_a_step_has_weight_decay_or_not(decay, name):
    call = f"adam_step 0 of [700], lr 0.001 betas 0.9, 0.999 eps 1e-08 weight decay {decay} on cpu"
    assert ("no_decay" in told(call=call)) == name
    assert "ratio=m_for_g" in told(call=call, ratio=0.01)


def test_a_second_pass_is_told_from_the_first():
    call = "graph program: tl_own(a, b), backward twice (10 instructions) on cpu"
    assert "of_second_pass" in told(call=call)
    assert "of_second_pass" not in told(call=call.replace("backward twice", "summed"))


def test_a_pool_whose_sizes_are_missing_is_told_from_one_of_wrong_sizes():
    said = "failed with TL_EINVAL: geometry.c:141: pool2d: {} is 0, must be at least 1"
    assert "pool_without_sizes" in told(kind="status", text=said.format("n"))
    assert "pool_without_sizes" not in told(kind="status", text=said.format("stride_h"))


@pytest.mark.parametrize("first,said,holds", [
    ("tape.c:176 tl_tape_record", "a null pointer was followed", True),
    ("ops_math.c:20 mul_backward", "a null pointer was followed", False),
    ("tape.c:176 tl_tape_record", "memory that is not there", False)])
def test_a_null_pointer_in_the_record_is_the_records_own(first, said, holds):
    trace = [first, "ops_math.c:81 tl_op_mul"]
    found = told(kind="crash", text=f"Segmentation fault: {said}", backtrace=trace)
    assert ("null_in_record" in found) == holds


def test_the_first_step_of_an_optimiser_is_one():
    assert "first_step" in told(call="sgd_step 0 of [700], lr 0.1 on cpu")
    assert "first_step" not in told(call="sgd_step 10 of [700], lr 0.1 on cpu")


@pytest.mark.parametrize("got,near", [(1.0005, True), (1.5, False), ("nan", False)])
def test_where_an_allowance_comes_from_is_told_of_what_is_near_it(got, near):
    assert is_near({"got": got, "want": 1.0, "allowed": 1e-6}) == near
    assert not is_near({"got": got, "want": 1.0, "allowed": 0})


def test_what_a_checker_says_of_another_call_is_told():
    said = "elementwise.cu:74: hostcuda [out-of-bounds]: reads 8 bytes past the end of a buffer\n"
    assert "told=out_of_bounds" in told(kind="never_written", output="hello\n" + said)
    assert not any(f.startswith("told=") for f in told(output="out-of-bounds"))


def test_up_to_which_size_it_is_right():
    record = {"limit": {"name": "k", "right": 5, "wrong": 9}, "patterns": ["large", "zero"]}
    assert "beyond=k" in told(**record) and not {f for f in told() if f.startswith("beyond")}
    assert failure_patterns.limit_text(record) == "right up to k = 5, wrong from k = 9 on"
    assert failure_patterns.patterns_told(record) == ["zero"]  # a limit says more than "large"
    assert failure_patterns.patterns_told({"patterns": ["large"]}) == ["large"]


@pytest.mark.parametrize("wrong,said", [(24, []), (12, ["last_block"])])
def test_nearly_all_are_not_the_last_ones(wrong, said):
    record = {"patterns": ["last_block"], "wrong": wrong, "total": 25}
    assert failure_patterns.patterns_told(record) == said


@pytest.mark.parametrize("line,there", [
    ("a.cu:9: 4080 sectors, 528 requests to shared memory, 480 conflicts of banks", True),
    ("a.cu:9: 4080 sectors, 528 requests to shared memory, 0 conflicts of banks", False),
    ("a.cu:9: 0 sectors, 528 requests to shared memory, 480 conflicts of banks", False)])
def test_conflicts_of_the_line_that_fetches_are_told(line, there):
    lines = [line, "a.cu:7: 10 sectors, 20 requests to shared memory, 9 conflicts of banks"]
    assert ("conflicts_where_fetched" in told(kind="sectors", by_line=lines)) == there
    assert "conflicts_where_fetched" not in told(kind="bank_conflicts", by_line=lines)


@pytest.mark.parametrize("requests,apart", [(100, True), (1000, False), (0, False)])
def test_sectors_of_a_request_tell_what_lies_apart(requests, apart):
    counters = {"sectors": 2400, "requests": requests}
    assert ("apart" in told(kind="sectors", counters=counters)) == apart


ADAM = "adam_step 0 of [700], lr 0.001 betas 0.9, 0.999 eps 1e-08 weight decay 0 on cpu"
PRIMES = "graph program: linear layers that multiply by 2, 3, 5, 7 and 11 (9 instructions) on cpu"


@pytest.mark.parametrize("call,ratio,name", [
    ("sgd_step 0 of [700], lr 0.04 momentum 0.8 on cpu", -0.04, "ratio=lr"),
    ("sgd_step 0 of [700], lr 0.04 momentum 0.8 on cpu", 0.2, "ratio=1-mu"),
    (ADAM, 0.0316228, "ratio=root_of_1-beta2"), (ADAM, 3.16228, "ratio=uncorrected"),
    (ADAM, 31.6228, "ratio=1/root_of_1-beta2"),
    (PRIMES, 1 / 210, "last_child_alone"), (PRIMES, 1 / 2, "child_left_out")])
def test_a_factor_tells_which_part_of_a_formula_is_missing(call, ratio, name):
    assert name in told(call=call, ratio=ratio)
    assert name not in told(call=call, ratio=1.5)
    other = call.replace(" 0 of", " 1 of").replace("by 2", "by 4")
    assert name not in told(call=other, ratio=ratio)


@pytest.mark.parametrize("array,got,there", [("w", -0.0316228, True), ("m", -0.0316228, False),
                                             ("w", -0.03, False)])
def test_of_a_step_that_is_far_too_large_the_worst_element_tells(array, got, there):
    found = told(call=ADAM, array=array, got=got, want=-0.001)
    assert ("ratio=1/root_of_1-beta2" in found) == there


def test_what_is_wrong_by_a_thousandth_is_nearly_right():
    assert "nearly" in told(got=1.0005, want=1.0)
    assert "nearly" not in told(got=1.5, want=1.0) | told(got="nan", want=1.0)


def test_of_a_double_that_is_short_of_digits_a_single_number_says_so():
    said = "w: got {}, expected 0.87549800796812749, allowed +-4.04e-12"
    near = {"text": said.format("0.87549883318214572")}
    assert "nearly_in_double" in told(real="double", **near)
    assert "nearly_in_double" not in told(real="float", **near)
    assert "nearly_in_double" not in told(real="double", text=said.format("0.876"))
    assert "nearly_in_double" not in told(real="double", text=said.format("-8.7e-05"))


def test_a_row_has_no_column_of_as_many_or_more():
    call = "argmax_cols of x[3,5] on cpu, 1 thread"
    assert "no_column" in told(call=call, got=5) & told(call=call, got=6)
    assert "no_column" not in told(call=call, got=4) | told(call="max_cols of x[3,5]", got=6)


def test_of_bits_that_differ_the_array_is_known_and_whether_one_is_zero():
    assert {"one_is_zero", "array=dx"} <= told(kind="bits", text=BITS.format("0", "1.5"))
    assert "one_is_zero" not in told(kind="bits", text=BITS.format("2.5", "1.5"))


@pytest.mark.parametrize("call,holds", [
    ("im2col x[1,1,3,3] w[1,1,3,3] stride 1,1 pad 1,1 dilation 1,1 on cpu", {"padded"}),
    ("im2col x[2,1,3,3] w[1,1,2,2] stride 1,1 pad 0,0 dilation 1,1 on cpu", {"several_images"}),
    ("conv2d_fwd x[1,1,4,3] w[2,1,2,2] stride 1,1 pad 4,5 dilation 1,1 on cpu",
     {"padded", "more_outputs"}),
    ("conv2d_fwd x[1,2,9,8] w[2,2,2,3] stride 1,1 pad 0,0 dilation 3,2, one image at a time on cpu",
     {"chunked"}),
    ("sum of x[7] on cpu", set())])
def test_what_a_geometry_excludes_is_not_told(call, holds):
    names = {"padded", "several_images", "more_outputs", "chunked"}
    assert told(call=call) & names == holds


def test_an_access_out_of_bounds_may_read():
    said = "col2im.cu:37: hostcuda [out-of-bounds]: {} 4 bytes past the end of a buffer"
    for verb in ("reads", "writes"):
        found = told(kind="out_of_bounds", text=said.format(verb))
        assert ("reads" in found) == (verb == "reads")


def test_a_crash_of_which_no_line_is_known_names_none():
    assert "`in`" in failure_kinds.advice_of({"kind": "crash", "file": "tensor.c"})
    assert "`in`" not in failure_kinds.advice_of({"kind": "crash"})


def test_a_place_of_a_later_call_is_not_that_of_wrong_values():
    wild = "col2im.cu:30: hostcuda [out-of-bounds]: reads 960 bytes past the end of a buffer"
    assert of_another_call({"kind": "mismatch", "checker": [wild]})
    assert of_another_call({"kind": "nan", "backtrace": ["reduce.c:35 sum_leaf"]})
    assert not of_another_call({"kind": "out_of_bounds", "checker": [wild]})
    assert not of_another_call({"kind": "crash", "backtrace": ["reduce.c:35 sum_leaf"]})
    assert not of_another_call({"kind": "mismatch"})


@pytest.mark.parametrize("patterns,said,unsaid", [
    (["last_block"], "end too early", "begin too late"),
    (["everything"], "No element", "end too early"),
    (["last_block", "others_wrong"], "index that is written to", "end too early"),
    (["nan"], "how many elements", "end too early")])
def test_where_it_lies_tells_why_it_was_never_written(patterns, said, unsaid):
    record = {"kind": "never_written", "patterns": patterns}
    assert said in failure_kinds.advice_of(record) and unsaid not in failure_kinds.advice_of(record)
    assert "nan" not in failure_patterns.patterns_told(record)


@pytest.mark.parametrize("kind,want,name", [
    ("never_written", 0, "zero_unwritten"), ("never_written", 0.9, "number_unwritten"),
    ("never_written", "nan", None), ("mismatch", 0, None)])
def test_what_was_never_written_may_be_padding_or_not(kind, want, name):
    assert {f for f in told(kind=kind, want=want) if f.endswith("_unwritten")} == {name} - {None}


@pytest.mark.parametrize("wrong,patterns,names", [
    (3, ["last_block"], {"one_channel_right"}), (1, ["last_block"], {"C_channels_right"}),
    (2, ["last_block"], set()), (3, [], set())])
def test_right_channels_of_a_bias_are_counted(wrong, patterns, names):
    call = "conv2d_bwd_bias x[2,3,5,7] w[4,3,3,2] stride 1,1 pad 0,0 dilation 1,1"
    found = told(array="db", call=call, wrong=wrong, total=4, patterns=patterns)
    assert {f for f in found if f.endswith("_right")} == names


@pytest.mark.parametrize("drawn,names", [
    ([".##", ".##"], {"whole_columns"}), ([".#.#", ".#.#"], {"whole_columns", "columns_between"}),
    (["..", "##", ".."], {"whole_rows"}), (["##", "..", "##"], {"whole_rows", "rows_between"}),
    ([".#", "##"], set()), (["##", "##"], set()), (["#", "."], set())])
def test_a_picture_shows_whole_rows_or_columns(drawn, names):
    assert told(map=drawn) & map_told.FEATURES == names


def test_a_sum_may_be_wrong_by_a_percent_or_by_more():
    assert "within_1_percent" in told(got=100.9, want=100)
    assert "within_1_percent" not in told(got=101.1, want=100) | told(got=25, want=100)


@pytest.mark.parametrize("taken,elements,real,little", [
    (1, 1, "float", True), (4, 1, "double", True), (4, 1, "float", False), (8, 1, "double", False)])
def test_memory_may_be_too_small_for_a_tensor(taken, elements, real, little):
    said = f"memory of {taken} bytes was taken during the call, and 3 bytes behind its end were"
    call = f"from_host and to_host of {elements} elements on cpu"
    assert ("takes_too_little" in told(kind="fence", text=said, call=call, real=real)) == little


@pytest.mark.parametrize("behind,cols,real,part", [
    (1, 63, "float", True), (63, 63, "float", False), (64, 130, "float", False),
    (31, 130, "double", True), (32, 130, "double", False)])
def test_what_lies_behind_a_matrix_is_less_than_a_row_or_not(behind, cols, real, part):
    said = f"{behind} elements behind the end of C were written to"
    call = f"matmul C[65,{cols}] = A B, k = 31 on cpu"
    assert ("part_of_a_row" in told(kind="fence", text=said, call=call, real=real)) == part


def test_what_lies_behind_the_workspace_is_told_from_what_lies_behind_y():
    for array in ("work", "y"):
        said = f"32 elements behind the end of {array} were written to"
        assert ("behind_work" in told(kind="fence", text=said)) == (array == "work")


def test_a_place_by_columns_is_told():
    call = "offset of (0,1,0,2) in [3,4,5,6] on cpu"
    record = {"kind": "mismatch", "call": call, "got": 123.0, "want": 32.0}
    assert "first_index_fastest" in features(record, "c")  # 1 * 3 + 2 * 60
    assert "first_index_fastest" not in features(record | {"got": 122.0}, "c")


def test_what_blas_refuses_in_a_later_case_tells_nothing_of_this_one():
    """As of somebody whose leading dimension ignored trans_a: of the smallest product the numbers
    were wrong, and BLAS refused only one with k < m."""
    refused = " ** On entry to DGEMM  parameter number 10 had an illegal value\n"
    record = {"kind": "mismatch", "got": 1.0, "want": 2.0, "output": refused, "output_by_then": 0}
    assert judge.of_blas(record) == record
    assert judge.of_blas(record | {"output_by_then": len(refused)})["kind"] == "blas_argument"


@pytest.mark.parametrize("want", [-1.7976931348623157e308, 5e-324])
def test_numbers_at_the_ends_of_their_range_are_numbers(want):
    """The least of all doubles is what a pool's maximum begins with."""
    for got in (0.0, want / 2, -want):
        features({"kind": "mismatch", "call": "maxpool2d_fwd", "got": got, "want": want}, "c")
    assert "too_small" in features({"kind": "mismatch", "got": 0.0, "want": -1e308}, "c")
