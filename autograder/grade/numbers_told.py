"""numbers_told.py: what a record's numbers tell beside its patterns. Above all: which number of the
call a constant factor is, and so what was left out, or taken twice.
"""

import math
import re

import blas_said
import failure_kinds

# name -> where the words of a call have the number
CALLED = {
    "rows": re.compile(r"\b(?:prob|logits)\[(\d+),"),
    "dloss": re.compile(r"\bdloss ([.\de+-]+)"),
}
LOGITS = re.compile(r"\blogits\[(\d+),(\d+)\]")
THREADS = (32, 64, 128, 256, 512, 1024)  # of a warp and of blocks
LIMITS = ("n", "k", "rows", "cols", "the longer side")  # sizes that claims tell of their cases
APART = 6  # sectors of a request: of floats side by side a warp has 4, of doubles 8
CONV2D = re.compile(r"\bx\[(\d+),\d+,(\d+),(\d+)\] w\[\d+,\d+,(\d+),(\d+)\] "
                    r"stride (\d+),(\d+) pad (\d+),(\d+) dilation (\d+),(\d+)")
FILTERS = re.compile(r"\bw\[\d+,(\d+),")
# of a line of by_line, the dearest first: that it fetches, and its conflicts
LINE_COSTS = re.compile(r": [1-9]\d* sectors,.* (\d+) conflicts of banks")
# a single number, which is told in words alone
NUMBER = r"(-?\d+(?:\.\d+)?(?:e[-+]\d+)?)"
GOT = re.compile(rf"\w+: got {NUMBER}, expected {NUMBER}, allowed ")
ARGMAX = re.compile(r"\Aargmax_cols of x\[\d+,(\d+)\]")
CHILDREN = re.compile(r"\bthat multiply by 2, 3, 5, 7 and 11\b")  # one after the other
TAKEN = re.compile(r"\Amemory of (\d+) bytes was taken during the call, and \d+ bytes behind ")
BEHIND_C = re.compile(r"\A(\d+) elements behind the end of C were written to")
ROW_OF_C = re.compile(r"\bC\[\d+,(\d+)\]")
FENCE = 256  # bytes that are watched there
COPIED = re.compile(r"\Afrom_host and to_host of (\d+) elements\b")
BYTES = {"float": 4, "double": 8}
BETAS = re.compile(r"\Aadam_step 0 of .* betas ([.\de+-]+), ([.\de+-]+)")
FIRST_STEP = re.compile(r"\A\w+_step 0 of ")
OF_CALLS = {  # which call it is; "first_step": an optimiser's state is still zeros
    "first_step": FIRST_STEP,
    "of_products_alone": re.compile(r"\Agraph program: products of single elements\b"),
    "of_made_bias": re.compile(r"\Agraph program: a linear layer whose bias is\b"),
    "of_matmul": re.compile(r"\Agraph program: matmul\b"),
    "of_one_tile": re.compile(r"\bC\[[1-8],[1-8]\] .*\bk = [1-8]\b"),
    "of_sum_alone": re.compile(r"\Agraph program: sum alone\b"),
    "of_second_pass": re.compile(r"\Agraph program: tl_own\(a, b\), backward twice\b"),
    "of_linear_relu": re.compile(r"\Agraph program: linear_relu\b"),
    "of_two_digits": re.compile(r"\Agraph program: names of 13 linear layers\b"),
    "of_mul": re.compile(r"\Agraph program: mul\b"),
    "no_decay": re.compile(r"\bweight decay 0(?![.\d])"),
    "of_nesterov": re.compile(r"\bNesterov\b"),
    "large_eps": re.compile(r"\beps 0\.0"),
    "late_start": re.compile(r"\Aadam_step 999 of "),
    "of_one_channel": re.compile(r"\Aconv3x3 x\[1,1,\d+,\d+\] to 1 channels\b"),
    "pad_0": re.compile(r"\Abatch_load .* pad 0\b"),
    "above_zero": re.compile(r"\by above 0 everywhere\b"),
    "some_want": re.compile(r", a gradient for [a-z\d ]+ alone\b"),
    "of_nan": re.compile(r"\by NaN at every other place\b"),
}
OF_TEXT = {  # which refusal it is, or which one is missing
    "not_recorded": re.compile(r"\bloss depends on nothing that needs a gradient\b"),
    "is_null": re.compile(r" is NULL\Z"),
    "part_alone": re.compile(r"\bname \d+ is \"(\d+\.\w+)\.[^\"]*\", not \"\1\."),
    "pool_without_sizes": re.compile(r"\bpool2d: n is 0\b"),
    "on_the_way_out": re.compile(r" was made to fail, and on the way out "),
    "should_fail": re.compile(r"\Ashould fail with "),
    "module_kept": re.compile(r", taken by new_module \("),
    "not_refused_as_nan": re.compile(r"\Athe learning rate of step \d+ is "),
    "leaves_an_array": re.compile(r"\ban index leads out of its array\b"),
    "first_in_row_4_or_8": re.compile(r"never written, the first at \([48],0\)"),
    "behind_work": re.compile(r"\A\d+ elements behind the end of work were written to"),
    "reads": re.compile(r"hostcuda \[out-of-bounds\]: reads "),
    "batch_of_0": re.compile(r"\bbatch of 0 images\b"),
    "empty_grid": re.compile(r": a grid of 0 blocks\b"),
}
# of the first line of a crash's trace: which function followed a pointer that is NULL
OF_TRACE = {"null_in_record": re.compile(r"\S+:\d+ tl_tape_record\Z")}
# who refused, or on the way to a crash: the operation, or the given rule that calls it
POOL_BACKWARD = re.compile(r"\b\w*pool\w*_(bwd|backward)\b")
FEATURES = {*OF_CALLS, *OF_TEXT, *OF_TRACE, "in_pool_backward", "too_small", "last_digits",
            "other_flag", "ratio=1/2", "one_is_zero", "nearly", "within_1_percent", "apart",
            "no_column", "nearly_in_double", "takes_too_little", "part_of_a_row",
            "padded", "several_images", "more_outputs", "chunked", "unit_step_of_h",
            *(f"beyond={name}" for name in LIMITS),
            "conflicts_where_fetched", "number_unwritten", "zero_unwritten",
            "last_child_alone", "child_left_out", "ratio=lr", "ratio=1-mu",
            "ratio=root_of_1-beta2", "ratio=1/root_of_1-beta2", "ratio=uncorrected",
            "ratio=beta1_for_beta2", "one_channel_right", "C_channels_right", "ratio=g_for_m",
            "ratio=m_for_g", "bits_twice", "ratio=rows/threads", "ratio=rows/classes",
            "before_the_table", "thread_beyond_w", "first_index_fastest",
            *(f"ratio={over}{name}" for name in CALLED for over in ("", "1/"))}
OFFSET = re.compile(r"offset of \(([\d,]+)\) in \[([\d,]+)\]")
IMAGES = re.compile(r"\Abatch_load \d+ of \d+ images \[(\d+),")
BEFORE = re.compile(r"hostcuda \[out-of-bounds\]: reads \d+ bytes before the start of a buffer")
BUFFER = re.compile(r"\bbuffer +(\d+) bytes")
PICTURE = re.compile(r"\Aconv3x3 x\[\d+,\d+,\d+,(\d+)\]")
BLOCK = re.compile(r"<<<\(\d+,\d+,\d+\), *\(\d+,(\d+),\d+\)>>>")  # how high
THREAD = re.compile(r"\bthread \((\d+),\d+,\d+\)")
NEAR = 1e-3
AS_FLOAT = 1e-5
PERCENT = 1e-2  # a million floats, added one by one, are off by as much


def features(record: dict) -> set:
    found = of_ratio(record)
    if failure_kinds.last_digits(record):
        found.add("last_digits")
    if blas_said.takes_other_flag(record):
        found.add("other_flag")
    call = record.get("call", "")
    found |= {name for name, place in OF_CALLS.items() if place.search(call)}
    found |= {name for name, said in OF_TEXT.items() if said.search(record.get("text") or "")}
    if "null pointer" in (record.get("text") or ""):
        first = str((record.get("backtrace") or [""])[0])
        found |= {name for name, place in OF_TRACE.items() if place.match(first)}
    if POOL_BACKWARD.search(f"{record.get('text')} {record.get('backtrace')}"):
        found.add("in_pool_backward")
    if is_too_small(record):
        found.add("too_small")
    bits = failure_kinds.bits_told(record) or ()
    if 0 in bits:
        found.add("one_is_zero")
    elif bits and abs(bits[0] / bits[1] - 2) < NEAR:
        found.add("bits_twice")
    if is_nearly_right(record, NEAR):
        found.add("nearly")
    if is_nearly_right(record, PERCENT):
        found.add("within_1_percent")
    if record.get("real") == "double" and is_nearly_right(record, AS_FLOAT):
        found.add("nearly_in_double")
    row, got = ARGMAX.search(call), record.get("got")
    if row and isinstance(got, (int, float)) and got >= int(row[1]):
        found.add("no_column")
    counters = record.get("counters") or {}
    if record["kind"] == "sectors" and counters.get("requests", 0) > 0:
        found |= {"apart"} if counters["sectors"] > APART * counters["requests"] else set()
    if conflicts_where_fetched(record):
        found.add("conflicts_where_fetched")
    if takes_too_little(record):
        found.add("takes_too_little")
    if is_part_of_a_row(record):
        found.add("part_of_a_row")
    if limit := record.get("limit"):
        found.add(f"beyond={limit['name']}")
    found |= of_unwritten(record) | of_offset(record)
    found |= of_channels(record)
    found |= of_mean(record) | of_place(record)
    return found | of_optimiser(record) | of_children(record) | of_convolution(call)


def takes_too_little(record: dict) -> bool:
    """Whether the memory written over is smaller than the tensor that was copied."""
    taken = TAKEN.search(record.get("text") or "")
    elements = COPIED.search(record.get("call", ""))
    size = BYTES.get(record.get("real"))
    return bool(taken and elements and size and int(taken[1]) < int(elements[1]) * size)


def is_part_of_a_row(record: dict) -> bool:
    """Whether less than a row was written behind the end of a matrix."""
    behind = BEHIND_C.search(record.get("text") or "")
    row = ROW_OF_C.search(record.get("call", ""))
    size = BYTES.get(record.get("real"))
    return bool(behind and row and size and int(behind[1]) < min(int(row[1]), FENCE // size))


def of_mean(record: dict) -> set:
    """By which other number than that of the rows a mean loss was divided."""
    said, pair = LOGITS.search(record.get("call", "")), got_and_wanted(record)
    if not said or not pair or record.get("array") != "loss" or 0 in pair:
        return set()
    rows, classes = map(int, said.groups())
    divisor = rows * pair[1] / pair[0]
    if abs(divisor - rows) < NEAR * rows:
        return set()
    return {name for name, numbers in (("ratio=rows/threads", THREADS),
                                       ("ratio=rows/classes", (classes,)))
            if any(abs(divisor - n) < AS_FLOAT * n for n in numbers)}


def of_place(record: dict) -> set:
    """What the place tells that a checker has stopped at: the buffer is the table of the bytes; or
    a thread stands beyond the image, in a block whose threads run along w and h."""
    call, found = record.get("call", ""), set()
    told = "\n".join(map(str, (record.get("text") or "", record.get("output") or "",
                               *(record.get("checker") or ()))))
    images, buffer = IMAGES.search(call), BUFFER.search(told)
    if images and buffer and BEFORE.search(told):
        size = 8 if record.get("real") == "double" else 4
        found |= {"before_the_table"} if int(buffer[1]) == int(images[1]) * 256 * size else set()
    picture, block, threads = PICTURE.search(call), BLOCK.search(told), THREAD.findall(told)
    if picture and block and int(block[1]) > 1 and any(int(x) >= int(picture[1]) for x in threads):
        found.add("thread_beyond_w")
    return found


def conflicts_where_fetched(record: dict) -> bool:
    """Too many sectors, and the line that has the most has conflicts of banks, too."""
    dearest = LINE_COSTS.search(str((record.get("by_line") or [""])[0]))
    return record["kind"] == "sectors" and dearest is not None and dearest[1] != "0"


def of_convolution(call: str) -> set:
    """What the geometry of this call allows: without padding no bound of it is missed, and who
    counts pixels for outputs leaves some out where there are more of these."""
    said = CONV2D.search(call)
    if not said:
        return set()
    n, h, w, r, s, stride_h, stride_w, pad_h, pad_w, dil_h, dil_w = map(int, said.groups())
    p = (h + 2 * pad_h - dil_h * (r - 1) - 1) // stride_h + 1
    q = (w + 2 * pad_w - dil_w * (s - 1) - 1) // stride_w + 1
    holds = {"padded": pad_h + pad_w > 0, "several_images": n > 1,
             "more_outputs": p * q > h * w, "chunked": " at a time" in call,
             "unit_step_of_h": stride_h == 1 and stride_w > 1}
    return {name for name, true in holds.items() if true}


def of_unwritten(record: dict) -> set:
    """What the first element should be that was never written: padding is zero, a pixel is not."""
    want = record.get("want")
    if record["kind"] != "never_written" or not isinstance(want, (int, float)):
        return set()
    return {"number_unwritten" if want else "zero_unwritten"}


def of_offset(record: dict) -> set:
    """Whether an element's place is the one that it has where the first index runs fastest."""
    said, pair = OFFSET.match(record.get("call", "")), got_and_wanted(record)
    if not said or not pair:
        return set()
    index, dim = ([int(word) for word in words.split(",")] for words in said.groups())
    place = sum(i * math.prod(dim[:axis]) for axis, i in enumerate(index))
    return {"first_index_fastest"} if pair[0] == place else set()


def of_channels(record: dict) -> set:
    """Of a bias's gradients: is the first alone right, or are as many as there are input channels?
    """
    said = FILTERS.search(record.get("call", ""))
    if not said or record.get("array") != "db" or "last_block" not in record.get("patterns", ()):
        return set()
    right, inputs = record["total"] - record["wrong"], int(said[1])
    if right == inputs:
        return {"C_channels_right"}
    return {"one_channel_right"} if right == 1 else set()


def of_children(record: dict) -> set:
    """Which children of a sequential had their turn."""
    ratio = record.get("ratio")
    if not isinstance(ratio, (int, float)) or not CHILDREN.search(record.get("call", "")):
        return set()
    if abs(ratio * 210 - 1) < NEAR:
        return {"last_child_alone"}
    return {"child_left_out"} if any(abs(ratio * n - 1) < NEAR for n in (2, 3, 5, 7, 11)) else set()


def got_and_wanted(record: dict) -> tuple | None:
    """The worst number of wrong values, or None."""
    said = GOT.match(record.get("text") or "")
    got, want = map(float, said.groups()) if said else (record.get("got"), record.get("want"))
    good = record["kind"] == "mismatch" and all(isinstance(n, (int, float)) for n in (got, want))
    return (got, want) if good else None


def is_nearly_right(record: dict, share: float) -> bool:
    """By more than rounding. By a thousandth: a small number (an eps) has come in otherwise; by
    much less, in double: a number that is short of digits, as a float is."""
    pair = got_and_wanted(record)
    return pair is not None and abs(pair[0] - pair[1]) <= share * abs(pair[1])


def is_too_small(record: dict) -> bool:
    """A part of what it should be, or nothing."""
    pair = got_and_wanted(record)
    # (a square by ** is an error where it is too large: by * it is infinite)
    return pair is not None and 0 <= pair[0] * pair[1] < pair[1] * pair[1]


def of_optimiser(record: dict) -> set:
    """What of a step's formula the constant factor is: of SGD's velocity, of Adam's first step. (Of
    a step that is far too large, eps is no such part where a gradient is small: its worst element
    tells.)"""
    ratio, call = record.get("ratio"), record.get("call", "")
    pair = got_and_wanted(record)
    if ratio is None and pair and record.get("array") == "w" and abs(pair[0]) > abs(pair[1]) > 0:
        ratio = pair[0] / pair[1]
    if not isinstance(ratio, (int, float)) or not FIRST_STEP.search(call):
        return set()
    candidates = {}
    if rate := re.search(r"\blr ([.\de+-]+)", call):
        candidates["ratio=lr"] = float(rate[1])
    if momentum := re.search(r"\bmomentum ([.\de+-]+)", call):
        candidates["ratio=1-mu"] = 1 - float(momentum[1])
    if betas := BETAS.search(call):
        one, two = 1 - float(betas[1]), 1 - float(betas[2])
        candidates = {"ratio=root_of_1-beta2": two ** 0.5, "ratio=uncorrected": one / two ** 0.5,
                      "ratio=1/root_of_1-beta2": 1 / two ** 0.5 if two > 0 else 0,
                      "ratio=beta1_for_beta2": (one / two) ** 0.5, "ratio=g_for_m": 1 / one,
                      "ratio=m_for_g": one ** 2}
    return {name for name, value in candidates.items()
            if value > 0 and abs(abs(ratio) / value - 1) < NEAR}


def of_ratio(record: dict) -> set:
    """{"ratio=1/dloss"}: the factor is 1 over the call's dloss. (Where that is 1 it tells nothing.)
    """
    ratio, found = record.get("ratio"), set()
    if not isinstance(ratio, (int, float)) or ratio <= 0:
        return found
    if abs(ratio - 1 / 2) < NEAR:
        found.add("ratio=1/2")
    for name, place in CALLED.items():
        said = place.search(record.get("call", ""))
        value = float(said[1]) if said else 1
        if value <= 0 or abs(value - 1) < NEAR:
            continue
        if abs(ratio / value - 1) < NEAR:
            found.add(f"ratio={name}")
        if abs(ratio * value - 1) < NEAR:
            found.add(f"ratio=1/{name}")
    return found
