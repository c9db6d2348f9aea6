"""unwritten.py: what is missing, by where the elements of an output lie that were never written."""

PLACES = {  # patterns -> what they tell
    "zeros_left_out": "All elements that were not touched should be 0: often a condition (an `if`) "
                      "under which something is written, with no `else` that writes the 0.",
    "everything": "No element of the output was touched: is the kernel launched, or the loop "
                  "entered, and is this the array that it writes to?",
    "last_block": "Only the last elements were not touched: the loops or threads end too early. Is "
                  "what is left over done, too, where the size is no multiple of what one thread, "
                  "one turn of a loop or one block takes? Is the number of blocks rounded up?",
    "first_block": "Only the first elements were not touched: the loops or threads begin too late.",
    "gaps": "Elements in between were not touched: from one thread, or turn of the loop, to the "
            "next it goes on by more than each of them does.",
}
EXCHANGED = ("Some elements of the output were not touched, and some that were are wrong: often "
             "they are written to each other's places. Check the index that is written to, then "
             "how many elements the loops (or the threads) cover.")


def advice(record: dict, otherwise: str) -> str:
    """How many are covered, if all that was written is right; else rather where it was written."""
    patterns = record.get("patterns", ())
    if "others_wrong" in patterns:
        return EXCHANGED
    where = next((p for p in PLACES if p in patterns), "")
    return PLACES.get(where, otherwise)
