"""failure_kinds.py: what kinds of failure are called, what each means, and what to do first.

A kind says what happened. What it means for one claim stands with the claim, in lab.toml; here
stands what is true of all of them. Where the wrong elements lie: failure_patterns.py.
"""

import re

import text
import unwritten
from language import told

# kind -> (in a title, what it means and what to look at; empty where the claim's own hint says it)
KINDS = {
    "mismatch": ("wrong values", ""),
    "bits": ("other bits", "These have to be the same numbers, to the last bit, and are not. If "
             "they differ in the last digits alone, an order of additions depends on what it must "
             "not depend on: the number of threads, or who finishes first."),
    "nan": ("NaN", "A NaN was computed, or taken from where it must not be: some inputs hold NaN "
            "or infinity on purpose. On a GPU it may also be memory that nobody has written."),
    "never_written": ("never written", "Some elements of the output were not touched at all. Check "
                      "how many elements the loops (or the threads) cover."),
    "not_implemented": ("not implemented", ""),
    "no_cases": ("cases that cannot be read", "The file holds data: one list, and in it a line for "
                 "each case, as the comment at its head shows. None of them was tried."),
    "no_such_case": ("a case that there is no call of", "These numbers do not go together; `what` "
                     "says which. None of the cases was tried."),
    "fails_always": ("a case that nobody passes", "What is right has to pass a test, too. Take "
                     "other numbers, and show this case to whoever runs the course."),
    "unnoticed": ("broken versions unnoticed", "Each broken version is right on many inputs. Think "
                  "of a mistake that its task invites, then of numbers on which it shows."),
    "status": ("wrong status", "What is allowed has to succeed, and what is not has to be refused: "
               "the comment on the function, in its header in tl/include/tl, says what is an "
               "error, and which status it has."),
    "crash": ("crash", "The program was ended by a signal. Where it says `in`, or in the first "
              "line of the trace that lies in your own file, is where it was noticed: the place or "
              "the size used there may come from whoever called it. A pointer that cannot be NULL "
              "and is was mostly written over, by an array beyond its end: SAN=1 finds that."),
    "not_refused": ("bad argument accepted", "A call with an argument that the contract rules out "
                    "must return TL_EINVAL at once. The checks that do it are given."),
    "timeout": ("out of time", "The call used up its CPU time, many times what it needs: a loop "
                "whose end is never reached, or far too much work for the size."),
    "stuck": ("stuck", "The call neither computed nor came back: it waits for something that never "
              "comes, such as a barrier that not all threads reach."),
    "exit": ("ended the program", "The code ended the whole process. A library function returns a "
             "status; it never calls exit or abort."),
    "sanitizer": ("stopped by a sanitizer", "`SAN=1` builds your code with checks in it, and one "
                  "of them has ended the program: the line that `what` names does what C does not "
                  "allow. Begin there."),
    "garbage": ("broke the connection", "Bytes arrived that are no answer: something wrote to, or "
                "closed, a file that is not its own."),
    "read_outside": ("read outside of a buffer", "A result holds what lies before or behind an "
                     "input. Check the smallest and the largest index that is read."),
    "closed": ("closed a file of others", "The code closed a file that it had not opened."),
    "fence": ("wrote outside of a buffer", "Bytes before or behind a buffer changed. Check the "
              "smallest and the largest index that is written against the size of the array."),
    "input_changed": ("changed an input", "An argument that is only to be read was written to."),
    "leak": ("kept memory", "Memory taken from the allocator was not given back."),
    "race": ("race", "Two threads touch the same element without a barrier between them, and at "
             "least one writes. The result depends on who comes first. Either a barrier is missing "
             "or an index leads one of them to what is the other's."),
    "race_between_blocks": ("race between blocks", "Threads of two blocks touch the same element "
                            "and at least one writes; no barrier holds across blocks. Each block "
                            "has to own what it writes: the index may be wrong."),
    "uninitialised": ("read before written", "Memory was read that nobody had written."),
    "out_of_bounds": ("out of bounds", "A thread read or wrote outside of an allocation or of "
                      "an array. Put that thread's numbers into the index on that line: either "
                      "the index is wrong, or this thread should not come here."),
    "null_pointer": ("null pointer", "A pointer was followed that points nowhere."),
    "wild_pointer": ("wild pointer", "A pointer was followed that points into no allocation."),
    "misaligned_address": ("misaligned address", "A number was read or written at an address that "
                           "is no multiple of its size."),
    "use_after_free": ("used after free", "Memory was used after it had been given back."),
    "double_free": ("freed twice", "Memory was given back that had been given back already."),
    "bad_free": ("freed what was not allocated", "What was given back is not the beginning of an "
                 "allocation."),
    "bad_handle": ("bad handle", "A stream, event or BLAS handle that does not exist was used."),
    "divergent_barrier": ("barrier not reached by all", "Some threads of the block left, or took "
                          "another branch, before __syncthreads(): all must reach it."),
    "exited_barrier": ("barrier not reached by all", "Some threads of the block returned, or took "
                       "another branch, before __syncthreads(): all must reach it."),
    "host_pointer": ("host pointer on the device", "A kernel was given an address of the host. "
                     "Pass the value itself (*g instead of g), or memory of the device."),
    "host_dereference": ("device memory touched by the host", "Code of the host read or wrote "
                         "memory of the device as if it were its own."),
    "copy_direction": ("copied in the wrong direction", "The direction said of a copy is not that "
                       "of its two pointers."),
    "copy_size": ("copied too much", "A copy is larger than what it is copied from or to. Sizes of "
                  "copies are bytes."),
    "blas_argument": ("wrong size given to BLAS", "A size or leading dimension does not fit its "
                      "matrix, so BLAS refused the call or would read past it. BLAS takes matrices "
                      "by columns. So for rows the operands are exchanged: our B comes first, and "
                      "is the A of its messages, and our A comes second, their B."),
    "launch_configuration": ("impossible launch", "A grid or a block of a launch has a size that "
                             "no device can run."),
    "shared_too_large": ("too much shared memory", "A block asks for more shared memory than a "
                         "block can have."),
    "shuffle_exited_lane": ("shuffle with threads that have left", "A warp exchange names threads "
                            "that have returned."),
    "shuffle_missing_lane": ("shuffle with threads that are elsewhere", "A warp exchange names "
                             "threads that do not take part."),
    "shuffle_wrong_mask": ("shuffle with the wrong mask", "A thread takes part in an exchange "
                           "whose mask does not name it."),
    "spin_wait": ("waits in a loop", "A thread waits in a loop for another one to write. Threads "
                  "wait for each other at barriers alone."),
    "endless_kernel": ("endless kernel", "A kernel does not end. Check the loops of its threads."),
    "stack_overflow": ("stack overflow", "A thread has too large local arrays, or calls itself "
                       "without end."),
    "division_by_zero": ("division by zero", "A whole number was divided by zero."),
    "foreign_local": ("another thread's local variable", "A thread used the local memory of "
                      "another one: share through shared or global memory."),
    "unchecked_error": ("error not looked at", "A CUDA call failed and nobody looked at what it "
                        "returned."),
    "status_dropped": ("a failure passed over", "Something that this function calls was made to "
                       "fail here, as memory does that runs out, and the function went on and "
                       "returned TL_OK: its caller takes what is not there for a result. Look at "
                       "what each call returns. TL_TRY(call) does, and returns early; where "
                       "something has to be given back first, keep the status in a variable and "
                       "return it at the end."),
    "status_changed": ("another status returned", "Something that this function calls was made to "
                       "fail here, and what came out is another status than it gave. Either the "
                       "function put one of its own in its place, or nobody looked at it and "
                       "something else failed later. Return the status of the call itself, as "
                       "TL_TRY(call) does: whoever called you learns the cause from it."),
    "never_waited": ("never waited for", "Work was still running when its result was used."),
    "other_stream": ("in another stream", "Work was queued in a stream that does not wait for what "
                     "its data was queued in, nor the other way round."),
    "null_kernel": ("no kernel", "What was launched is no kernel."),
    "cuda": ("CUDA error", "A CUDA call or a launch failed. The line below names it."),
    "parallel": ("not parallel", "A kernel ran, but too few threads did the work: with <<<1, 1>>>, "
                 "or a loop over all elements in one of them, a GPU is slower than a CPU. Let each "
                 "thread begin at its own number and go on by the number of all threads."),
    "openmp": ("threads that share too much", "All threads of a parallel loop run the code inside. "
               "Each needs its own sums, indices and tiles, and where two write one variable the "
               "result is right only as long as nobody comes between. So this is read from the "
               "source, and the numbers may look right on this machine."),
    "host_access": ("host code out of its place", "The host's side of the code read or wrote "
                    "memory that is none of its own: no local variable, and no variable of its "
                    "file. Arrays of an operation are for kernels."),
    "foreign_call": ("a jump out of its place", "The code called an address at which no function "
                     "of its file begins, or returned to where it was not called from: a pointer "
                     "to a function that was never set, or an index outside of a local array."),
    "launches": ("too many launches", "The number of kernel launches grows with the number of "
                 "images. One launch can cover them all: let the image be part of what a thread "
                 "finds out about itself."),
    "no_launch": ("no kernel launched", "No kernel was launched, or none that could have done "
                  "the work: a task in CUDA is done by the device, not by the host."),
    "host_copy": ("copies to the host", "Something is copied between host and device in the middle "
                  "of the work: the host waits for the device each time."),
    "synchronise": ("waits for the device", "The host waits for the device in the middle of the "
                    "work. Queue what is to be done, and leave waiting to the caller."),
    "allocation": ("allocates", "Device memory is allocated in the middle of the work. Scratch is "
                   "handed in."),
    "sectors": ("wasteful memory access", "More is fetched than is needed: threads side by "
                "side touch memory that does not lie side by side, or the same memory is fetched "
                "again and again."),
    "bank_conflicts": ("bank conflicts", "Threads of a warp meet in one bank of shared memory and "
                       "have to wait for each other."),
    "shared_requests": ("shared memory read again and again", "Warps read the same words of shared "
                        "memory many times: what a thread has read once it can keep in a register, "
                        "and use for all that it makes."),
    "memory": ("out of memory", "Far more memory was asked for than the sizes call for."),
    "flood": ("endless output", "The code prints without end."),
    "build": ("does not link", "The file is not whole, so nothing could be run: each function that "
              "the header declares has to be there, if only with TL_NOT_IMPLEMENTED()."),
    "no_function": ("calls a function that does not exist", ""),
    "compile": ("does not compile", "Begin with the first error: what follows it may well come "
                "from it."),
    "missing": ("missing", ""),
    "gate": ("not allowed in this task", "The source uses something that the task does not allow; "
             "as long as it is there, this file has no points."),
    "machine": ("not judged", "The machine got in the way; that is not your fault. Run it again."),
    "grader": ("not judged", "The grader made a mistake; that is not your fault. Run it again, and "
               "report it if it stays."),
    "blind": ("not judged", "The claim could not tell right from wrong with this seed: that is a "
              "fault of the grader, not yours."),
}

# Of wrong values, what staged diagnosis asks before it tells (DIAGNOSIS=staged): with no hint, with
# the first (where the wrong elements lie), and with the second (what to look at). Each leads to one
# place in the student's own code. All other kinds are told at once: a race, an access out of bounds
# or a file that does not compile teaches nothing by being guessed.
QUESTIONS = {
    "mismatch": (
        "Which line of your code writes the wrong elements? Does it write right ones, too?",
        "Put the place of one wrong element into the line that writes it. Which elements of the "
        "inputs does the line use then?",
        "Work that element out by hand, as the header defines it. Which line of your code is the "
        "first to do something else?"),
    "bits": (
        "Which line of your code computes this number? What does that line read?",
        "Look at each thing that this line reads. Which of them can be another one the next time?",
        "Compare the two numbers. If only the last digits differ, which line decides the order of "
        "your additions? If more differs, which line reads something else?"),
    "nan": (
        "Which line of your code writes this element? Which numbers go into it?",
        "Print these numbers just before that line. Which of them is the first NaN?",
        "Which line gave that number its value? Which values did this line read?"),
    "never_written": (
        "Take one element that was never written. Which line of your code should have written it?",
        "Which loop, or which threads, reach that line? From where to where do they count?",
        "Put the sizes of this call into that loop, or into that launch. Which element is the last "
        "that it reaches?"),
    "uninitialised": (
        "Which line of your code computes this element? Which arrays and variables does it read?",
        "Which of these does your own code fill? Which line does it?",
        "Follow one element through both lines. Is it written before it is read?"),
}

BITS_DIFFER = re.compile(r"bits differ, first at [^:]*: got ([-+.\de]+), expected the bits of "
                         r"([-+.\de]+)$")

# What is told of what a call cost; the other counters are for the grader (V=1 shows them).
COUNTED = {"launches": "launches of kernels", "sectors": "sectors of global memory",
           "bank_conflicts": "conflicts of banks",
           "shared_requests": "requests to shared memory"}  # fmt: skip
HINTS = 3  # where the wrong elements lie; what to look at; the likely mistake

# Beside these a claim's hint, which is about its values, leads away: a launch that cannot be,
# device memory that the host touches, cases of a student's own none of which was tried.
UNHINTED = ("launch_configuration", "shared_too_large", "null_kernel", "host_dereference",
            "no_cases", "no_such_case", "fails_always", "sanitizer", "openmp")

MADE_TO_FAIL = " was made to fail"

# Kinds that concern a whole file, and are said once for it, not for each claim.
NOT_BUILT = ("compile", "missing", "no_function", "build")
OF_A_FILE = ("gate", *NOT_BUILT)


def made_to_fail(record: dict) -> bool:
    """Was the call spoilt on purpose (autograder/call/call_again.c)? What came of it says nothing
    of values, nor do hints about them help."""
    return MADE_TO_FAIL in (record.get("text") or "")


def kind_title(kind: str) -> str:
    return KINDS[kind][0] if kind in KINDS else text.visible(kind.replace("_", " "), 40)


def kind_advice(kind: str) -> str:
    return KINDS.get(kind, ("", ""))[1]


def bits_told(record: dict) -> tuple | None:
    """The first two numbers whose bits differ; None: they are not told."""
    pair = BITS_DIFFER.search(record.get("text") or "") if record["kind"] == "bits" else None
    return (float(pair[1]), float(pair[2])) if pair else None


def last_digits(record: dict) -> bool | None:
    """Of bits that differ: only in the last digits? None: it is not said by how much."""
    pair = bits_told(record)
    if not pair:
        return None
    one, other = pair
    return abs(one - other) <= 1e-3 * max(abs(one), abs(other))


def advice_of(record: dict) -> str:
    """Bits that differ by more than the last digits do not hang on an order of additions."""
    advice = kind_advice(record["kind"])
    if record["kind"] == "never_written":
        return unwritten.advice(record, advice)
    if record["kind"] == "crash" and not (record.get("file") or record.get("backtrace")):
        return NO_PLACE
    if record["kind"] == "blas_argument" and "parameter number" in (record.get("text") or ""):
        return NUMBERED
    return NO_ROUNDING if last_digits(record) is False else advice


# (whole texts, not parts to be put together: they are looked up as such, language.py)
NUMBERED = (f"{KINDS['blas_argument'][1]} Leading dimensions are its parameters 8 (of its A), 10 "
            "(of its B) and 13 (of C).")

NO_ROUNDING = ("These have to be the same numbers, to the last bit, and are not. The difference is "
               "too large for rounding: a wrong number was computed.")

NO_PLACE = ("The program was ended by a signal, it is not known where: often memory was freed, or "
            "written to, that is somebody else's, and that was noticed later. `make grade SAN=1` "
            "may say where it began.")

# The one hint that is made for a failure (judge.named_elsewhere), and how it is known again.
NAMED_ELSEWHERE = "T={claim} names the lines that meet{lines}: begin there."
IS_NAMED = re.compile(r"T=(?P<claim>\S+) names the lines that meet(?P<lines>.*): begin there\.")


def hint_told(hint: str) -> str:
    """In the language that was asked for."""
    if filled := IS_NAMED.fullmatch(hint):
        return told(NAMED_ELSEWHERE).format(**filled.groupdict())
    return told(hint)
