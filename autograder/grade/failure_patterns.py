"""failure_patterns.py: what the patterns of wrong elements are called, and the elements themselves.

A pattern says where the wrong elements lie (claim/pattern.c finds them). What that means for one
claim stands with the claim, in lab.toml. What kind of failure it is: failure_kinds.py.
"""

import text

PATTERNS = {
    "everything": "every element is wrong",
    "one_element": "one element alone",
    "borders": "only at the border of the last two dimensions",
    "interior": "only in the interior, the border is right",
    "batch>0": "only in images after the first",
    "channel>0": "only in channels after the first",
    "permuted": "the right numbers in another order",
    "batch=0": "only in the first image",
    "one_channel": "only in one channel",
    "last_block": "only the last elements",
    "first_block": "only the first elements",
    "behind_the_grid": "nothing behind the first 768 elements, which are those that three blocks "
                       "of 256 threads reach",
    "later_rows": "only from one row on, in every column",
    "later_columns": "only from one column on, in every row",
    "first_again": "there the first elements come once more",
    "first_added": "there the first ones are added once more",
    "first_twice": "the first terms of each sum are counted twice",
    "rounds_skipped": "of each round of terms the second half is missing",
    "every_other_missing": "every other term of each sum is missing",
    "last_slice_alone": "the products of the last slice of k alone",
    "labels_alone": "only at the label of each row, everywhere by one number",
    "draws_of_the_epoch": "dropped as by draws from the number of the epoch",
    "last_use_alone": "what the last use has sent, without what was there before",
    "w_transposed": "what comes out where w is read as [in,out]",
    "planes_of_outputs": "what comes out where planes of dx begin P*Q apart",
    "masked_by_dy": "made of dy where dy is above 0",
    "gradient_alone": "the gradient alone, without the velocity before",
    "weights_unmoved": "still the weights of before the step",
    "rate_of_step_0": "what the rate of step 0 in every step gives",
    "rate_as_float": "what comes of these steps when their rates are rounded to float",
    "one_chain": "to the last digit what adding one number after the other gives",
    "begin_alone": "it is the sum of the first terms alone",
    "last_missing": "the last terms of each sum are missing",
    "other_again": "the same call gives other numbers when it is made again",
    "constant_factor": "off by a constant factor",
    "whole_factor": "what was there before, too, off by a constant factor",
    "negated": "the sign is the other way round",
    "shifted": "the right numbers, shifted by some places",
    "transposed": "the right numbers, rows and columns exchanged",
    "overwritten_not_added": "what was there before is lost: overwritten instead of added to",
    "added_twice": "added twice",
    "before_twice": "what was there before is in it twice",
    "zero": "zeros instead of results",
    "unchanged": "still what was there before",
    "dilation": "only with dilation above 1",
    "stride": "only with a stride above 1",
    "padding": "only with padding",
    "overlap": "only where windows overlap",
    "two_sizes": "only where windows are not square",
    "two_strides": "only where the strides of height and width differ",
    "nonsquare": "only where height and width differ",
    "filter_nonsquare": "only where the filter is not square",
    "image_nonsquare": "only where the image is not square",
    "two_pads": "only where the paddings of height and width differ",
    "two_dilations": "only where the dilations of height and width differ",
    "outputs_nonsquare": "only where the output is not square",
    "gaps": "with right ones in between",
    "zeros_left_out": "all of them should be 0",
    "bytes_from_128": "only where the byte is 128 or more",
    "unaugmented": "only where nothing is to be augmented",
    "of_zero": "only where the value is 0",
    "far_from_zero": "only where the numbers are far from 0",
    "by_an_evaluation": "moved by an evaluation",
    "labels_from_128": "labels from 128 on alone, each 256 too small",
    "at_the_last_step": "at the last step of an epoch",
    "right_up_to_one": "right up to one element, wrong from there on",
    "some_gradients": "only where the gradient is 0, huge, tiny or NaN",
    "unread_number": "only where turn or total is 0",
    "long_run": "only in a run of more than 2^32 steps",
    "moves_by_old_m": "the next step moves them by the m of this one",
    "read_in_every_batch": "more often than there are evaluations",
    "width_off_32": "only where the width is no multiple of 32",
    "height_off_8": "only where the height is no multiple of 8",
    "others_wrong": "some of those that were written are wrong, too",
    "other_length": "each sum has as many terms as there are sums",
    "off_step": "only where there are terms beyond a multiple of 64",
    "averaged": "divided by the number of terms",
    "maximum_too": "also the maximum itself, not its place alone",
    "last_unseen": "the last column is never looked at",
    "not_in_the_row": "a number that is not in the row",
    "ndim_alone": "only where one shape begins with the other",
    "lanes_lost": "of each part, what its first lanes held is lost",
    "every_plane": "the same ones in every plane",
    "batch": "only with several images at once",
    "channels": "only with more than one channel",
    "chunks": "only when the workspace holds fewer images than there are",
    "first_chunk_alone": "the first chunk of images alone is in it",
    "fewer_images": "only with fewer images than the geometry has",
    "last_chunk": "only when the last chunk of images is smaller than the others",
    "float_digits": "right to as many digits as a float has",
    "transposed_operand": "only with a transposed operand",
    "infinite": "only with operands that hold infinities",
    "off_tile": "only with sizes that are no multiple of a tile",
    "k_off_slice": "only where k is no multiple of 64",
    "many_terms": "only where many terms are summed",
    "large": "only with large sizes",
    "bytes": "only where the number of elements fits a size_t and that of bytes does not",
    "second_call": "the second call alone",
    "all_alike": "all weights are the same number",
    "other_node": "what the node says it is of",
    "training_flag": "what a child is told of training",
    "several_places": "only with several places to an image",
    "plain_2x2_with_padding": "only with windows of 2x2, stride 2 and padding",
    "all_larger": "each wrong one is too large",
    "all_smaller": "each wrong one is too small",
    "other_kept": "other ones are dropped, and all else is right",
    "layers": "only with layers above 0",
    "beside_a_draw": "only where the threshold lies just above a draw",
    "at_a_draw": "only where the threshold equals a draw",
    "right_to_1000": "right in the first 1000",
    "empty_sequential": "only behind an empty sequential",
    "nearly_corrected": "only with betas very near to 1, and by less than a thousandth",
    "evaluation_piles_up": "what an evaluation holds grows with its batches",
    "same_batch_again": "what the first batch gives each time",
    "beyond_the_picture": "only what lies beyond the picture",
    "rows_shifted": "all but the row that a crop begins at is right",
    "columns_shifted": "all but the column that a crop begins at is right",
    "mirrored_too": "what mirrored images give, not cropped",
    "nothing_dropped": "no element is dropped, and yet they change",
    "mean_off": "the mean",
    "variance_off": "the variance, the mean is right",
    "neighbours_alike": "neighbours, the moments of each weight are right",
    "wraps_to_int": "only where the product of the sizes fits in 32 bits no more",
    "low": "only where the numbers of a row are very low",
    "long": "only where a million terms are summed",
    "wraps_to_zero": "only where the product of the sizes wraps around to 0",
    "several_nan": "only with several NaN in a row",
    "negative_row": "only where all logits of a row are below 0",
    "cosine": "only with the cosine",
    "triangular": "only with the triangle",
    "steps": "only where the rate falls in steps",
    "weight_decay": "only with weight decay",
    "plain_momentum": "only without Nesterov's form",
    "later_batches": "only in batches that do not begin the epoch",
    "weighed": "only where dy is not 1",
    "shuffled": "only with shuffled images",
    "nan": "NaN",
    "uninitialised": "NaN, as outputs are filled with before the call",
}

# What the elements of a list of facts are called.
FLAGS = ("has a gradient", "needs one", "has a node")

PARTS = {
    "frozen input: has gradient, needs one, has node": tuple(
        f"the input that needs no gradient {flag}" for flag in FLAGS),
    "for nobody: has gradient, needs one, has node": tuple(
        f"what nobody wants the gradient of {flag}" for flag in FLAGS),
    "ndim, dim[4], size, owner, as given": (
        "ndim", "dim[0]", "dim[1]", "dim[2]", "dim[3]", "size", "owner", "its context or memory"),
    "ndim, dim[4] of a weight's gradient": tuple(
        f"{part} of the gradient of a [3,2,2,2]"
        for part in ("ndim", "dim[0]", "dim[1]", "dim[2]", "dim[3]")),
    "ndim, dim[4] of a result's gradient": tuple(
        f"{part} of the gradient of a [2,2]"
        for part in ("ndim", "dim[0]", "dim[1]", "dim[2]", "dim[3]")),
}

# What the numbers of an index are called, by operation and array, else by array alone.
AXES = {
    "col": ("row", "n", "p", "q"), "x": ("n", "c", "h", "w"), "dx": ("n", "c", "h", "w"),
    "y": ("n", "k", "p", "q"), "dy": ("n", "k", "p", "q"), "w": ("k", "c", "r", "s"),
    "dw": ("k", "c", "r", "s"), "db": ("k",), "b": ("k",), "C": ("row", "column"),
}

# Of a matrix and of a list there are no images and channels.
OF_FEW_DIMENSIONS = {
    2: {"batch>0": "only in rows after the first", "batch=0": "only in the first row",
        "channel>0": "only in columns after the first", "one_channel": "only in one column"},
    1: {"batch>0": "the first element is right", "batch=0": "the first element alone",
        "channel>0": "the first element is right", "one_channel": "one element alone"},
}


def pattern_text(pattern: str, dimensions: int = 4) -> str:
    few = OF_FEW_DIMENSIONS.get(dimensions, {})
    return few.get(pattern) or PATTERNS.get(pattern, pattern.replace("_", " "))


def limit_text(record: dict) -> str:
    """right up to k = 5, wrong from k = 9 on"""
    limit = record.get("limit")
    if not limit:
        return ""
    name = text.visible(str(limit["name"]), 20)
    return f"right up to {name} = {limit['right']}, wrong from {name} = {limit['wrong']} on"


def patterns_told(record: dict) -> list:
    """Without those that say less than a limit that is told, or no more than the kind; and where
    nearly all are wrong, an end of the array is no place of theirs."""
    said = record.get("patterns", ())
    if 10 * record.get("wrong", 0) > 9 * record.get("total", 0):
        said = [p for p in said if p not in ("last_block", "first_block")]
    if record.get("kind") == "never_written":
        said = [p for p in said if p != "nan"]
    return [p for p in said if not (record.get("limit") and p in ("large", "many_terms"))]


def axes_of(array: str, count: int, given: list | None) -> tuple:
    """Those of the columns are ours ("r" would be a row of the filter), then the grader's."""
    names = AXES.get(array, ())
    if len(names) == count and (array == "col" or not given):
        return names
    if given:
        return tuple(given)
    return ("row", "column") if count == 2 else ("i", "j", "k", "l", "m")[:count]
