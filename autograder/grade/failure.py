"""failure.py: one failure of a claim as lines of text: what was called, what came out, where, why
probably, and how to run it again. Made from grade.json alone.
"""

import re
from pathlib import Path

import failure_kinds
import failure_patterns
import judge
import text
from language import told

SIDE_NAMES = {"c": "C", "cuda": "CUDA"}
CHECKER = re.compile(r"\S+:\d+: hostcuda \[[a-z-]+\]: ")
# What ends a call, so that its numbers are never compared.
ENDS_A_CALL = re.compile(r"hostcuda \[(?:out-of-bounds|(?:null|wild)-pointer|misaligned-address|"
                         r"use-after-free)\]")
ANOTHER = "(of another call than the one above)"
FILTER = re.compile(r"\bw\[\d+,\d+,(\d+),(\d+)\]")
# Where hostcuda knows no line it says how to find it; of what a grade has built nobody can.
NO_LINE = re.compile(r"\S+:0: (hostcuda \[[a-z-]+\]: )\(no line: [^)]*\)\s*")
# What a claim's arrays are allocated by is no place of a student's, nor is it too small; and of a
# line that another thread has run the file's name says enough.
OF_A_CLAIM = re.compile(r", allocated at tl/\S+:\d+")
TOO_SMALL = "; or the allocation is in elements, not bytes"
OTHER_PLACE = re.compile(r"^(other +)\S+/(?=[^/\s]+:\d+$)")
# Advice for a program of its own: an operation of a lab waits for nothing.
OF_A_PROGRAM = re.compile(r"likely +copy first: cudaMemcpy")
OUTPUT_LINES = 12
TRACE_LINES = 8
MAP_LINES, MAP_COLUMNS = 12, 40
NEAR = 1000  # times what is allowed


def number(value) -> str:
    """Of a result, with all digits that float and double can tell apart where they matter."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return text.visible(str(value), 40)
    return text.visible(str(value), 40) if isinstance(value, int) else f"{value:.9g}"


def small(value) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else text.visible(str(value), 40)


def points(n: int) -> str:
    return "1 point" if n == 1 else f"{n} points"


def is_near(record: dict) -> bool:
    """So near what is right that it matters where the allowance comes from."""
    got, want, allowed = (record.get(name) for name in ("got", "want", "allowed"))
    if not all(isinstance(n, (int, float)) for n in (got, want, allowed)):
        return False
    return allowed > 0 and abs(got - want) <= NEAR * allowed


def place_of(record: dict) -> str:
    """dx of shape [2,3,5,4], at n 1, c 0, h 4, w 2"""
    array = text.visible(record.get("array", "result"), 40)
    shape, index = record.get("shape"), record.get("index")
    if shape:
        array += " of shape [" + ",".join(number(s) for s in shape) + "]"
    if not index:
        return array
    if record.get("array") in failure_patterns.PARTS:
        return failure_patterns.PARTS[record["array"]][index[0]]
    axes = failure_patterns.axes_of(record.get("array", ""), len(index), record.get("axes"))
    named = ", ".join(f"{text.visible(str(a), 12)} {number(i)}{tap_of(record, str(a), i)}"
                      for a, i in zip(axes, index))
    return f"{array}{',' * bool(shape)} at {named}"


def split_output(output: str) -> tuple:
    """([lines of hostcuda's checkers], what the program itself printed). A checker's message is a
    line that names file, line and kind, and details that are set in; both share one channel."""
    told, printed, inside, of_a_claim = [], [], False, False
    for line in output.split("\n"):
        starts = bool(CHECKER.match(line))
        inside = starts or (inside and line.startswith("    "))
        of_a_claim = not starts and (of_a_claim or bool(OF_A_CLAIM.search(line)))
        if not inside:
            printed.append(line)
        elif not starts and not line.lstrip().startswith("again "):  # `make grade` repeats it
            said = OF_A_CLAIM.sub("", OTHER_PLACE.sub(r"\1", line.strip()))
            told.append(said.removesuffix(TOO_SMALL) if of_a_claim else said)
    return told, "\n".join(printed).strip("\n")


def of_another_call(record: dict) -> bool:
    """Whether the place, the trace and the checker's words are those of a later call that ended:
    of the call that is told the numbers came back."""
    told = [record.get("output", ""), *record.get("checker", ())]
    return record["kind"] in failure_kinds.QUESTIONS and bool(
        record.get("backtrace") or any(ENDS_A_CALL.search(str(t)) for t in told))


def tap_of(record: dict, axis: str, i: int) -> str:
    """A row of the columns is a channel and a place of the filter: (c, r, s) by tl/conv2d.h."""
    filter_size = FILTER.search(record.get("call", ""))
    if axis != "row" or record.get("array") != "col" or not filter_size:
        return ""
    r, s = int(filter_size[1]), int(filter_size[2])
    return f" (c {i // (r * s)}, r {i // s % r}, s {i % s})" if r and s else ""


def rerun_command(document: dict, result: dict) -> str:
    parts = ["make grade", f"LAB={document['lab']}", f"T={result['claim']}"]
    seed = next((r["seed"] for r in result.get("failures", ()) if r.get("seed") is not None), None)
    if seed is not None:
        parts.append(f"SEED={seed}")
    parts += ["TASKWISE=1"] if document["taskwise"] else []
    return " ".join([*parts, *document.get("build", ())])


def title_of(result: dict) -> tuple:
    """("im2col/padding_becomes_zero (C):", "crash on hostcuda, 2 points")"""
    kind = told(failure_kinds.kind_title(result["kind"]))
    devices = dict.fromkeys(r["device"] for r in result["failures"] if "device" in r)
    where = f" on {' and '.join(devices)}" if devices else ""
    return (f"{result['claim']} ({SIDE_NAMES[result['side']]}):",
            f"{kind}{where}, {points(result['max'])}" + (" extra" if result["extra"] else ""))


def staged(hints: int | None) -> str:
    """What is typed for so many hints."""
    if hints is None:
        return ""
    return " DIAGNOSIS=staged" + (f" HINT={hints}" if hints else "")


class Page:
    """Collects lines of a width, in colours or without."""

    def __init__(self, document: dict, paint, width: int, everything: bool,
                 hints: int | None = None):
        """`hints`: of wrong values so many are told and no more; None: all, and no question."""
        self.document, self.paint, self.width, self.everything = document, paint, width, everything
        self.hints = hints
        self.lines = []

    def tells(self, kind: str, hint: int) -> bool:
        return self.hints is None or kind not in failure_kinds.QUESTIONS or hint <= self.hints

    def put(self, line: str = "") -> None:
        self.lines.append(line.rstrip())

    def field(self, name: str, content: str, colour: str = "") -> None:
        """`  hint    what it says`, wrapped under itself."""
        if not content:
            return
        first = f"  {name:<8} "
        for i, line in enumerate(text.wrap(content, self.width, first)):
            # painted only now: wrap counts columns, and an escape sequence has none
            label = self.paint("dim", first) if i == 0 else " " * len(first)
            rest = line[len(first):]
            self.put(label + (self.paint(colour, rest) if colour else rest))

    def block(self, name: str, lines: list) -> None:
        """Lines that keep their form, each behind a bar: nothing in them can pass for ours."""
        for i, line in enumerate(lines):
            label = f"  {name if i == 0 else '':<8} | "
            room = max(self.width - len(label), 16)
            if text.columns(line) > room:
                line = line[:text.split_at(line, room - 3)] + "..."
            self.put(self.paint("dim", label) + line)

    def paragraph(self, label: str, content: str) -> None:
        for line in text.wrap(content, self.width, label, "    "):
            self.put(line)

    # ---- one failure ----

    def numbers(self, record: dict) -> None:
        if "got" in record:
            left = record["kind"] == "never_written"
            content = f"{place_of(record)}: " + (
                "never written" if left else f"got {number(record['got'])}")
            if "want" in record:
                content += f", expected {number(record['want'])}"
            if record.get("allowed") == 0:
                content += " exactly"
            elif "allowed" in record:
                content += f", allowed +-{small(record['allowed'])}"
            if record.get("bound") and (self.everything or is_near(record)):
                content += f" ({text.visible(record['bound'], 200)})"
            several = "first" if left else "worst"
            self.field(several if record.get("wrong", 1) != 1 else "element", content)
        dimensions = len(record.get("shape") or ()) or 4
        ratio = f" ({small(record['ratio'])})" if "ratio" in record else ""
        said = [failure_patterns.pattern_text(p, dimensions)
                for p in failure_patterns.patterns_told(record)][:4]
        where = [text.visible(told(w), 160) + ratio * w.endswith("constant factor") for w in said]
        where *= self.tells(record["kind"], 1)
        if (limit := failure_patterns.limit_text(record)) and self.tells(record["kind"], 1):
            where.append(limit)
        count = ""
        if "wrong" in record and "total" in record:
            count = f"{record['wrong']} of {record['total']}"
        self.field("wrong", ": ".join(x for x in (count, "; ".join(where)) if x))
        self.picture(record)

    def picture(self, record: dict) -> None:
        if record.get("map"):
            self.block("where", [text.visible(str(line), MAP_COLUMNS)
                                 for line in record["map"][:MAP_LINES]])

    def about(self, result: dict, record: dict) -> str:
        """Where the line stands in another file than the claim's: which that is."""
        sides = next((t["sides"] for t in self.document["tasks"] if t["task"] == result["task"]),
                     {})
        own = sides.get(result["side"], {}).get("file", "")
        return f" (the claim is about {own})" if own and Path(record["file"]).name != own else ""

    def record(self, record: dict, result: dict) -> None:
        call = text.visible(record.get("call", ""), 300)
        device = f"on {record.get('device')}"
        where = [device] if "device" in record and device not in call else []
        where += [record["real"]] if "real" in record else []
        where += [f"seed {record['seed']}"] if record.get("seed") is not None else []
        self.field("call", ", ".join([call, *where] if call else where))
        elsewhere = of_another_call(record)
        if record.get("file") and not elsewhere:
            at = text.visible(record["file"], 100)
            at += f":{record['line']}" if record.get("line") else ""
            self.field("in", at + self.about(result, record), "bold")
        said = text.visible(NO_LINE.sub(r"\1", record.get("text", "")), 600)
        if said and not ("got" in record and record["kind"] == "mismatch"):
            self.field("what", said)
        self.numbers(record)
        # the first line of a trace mostly repeats what `in` has said
        traced = [text.visible(str(x)) for x in record.get("backtrace", ())[:TRACE_LINES]]
        self.block("trace", [ANOTHER] * (elsewhere and bool(traced)) + traced)
        # what a checker takes for likely knows the access alone, a diagnosis all claims
        explained = record["kind"] == "blas_argument" or result.get("diagnosis")
        checked, printed = split_output(record.get("output", ""))
        checked += [str(x) for x in record.get("checker", ())
                    if str(x) not in record.get("text", "")]
        checked = list(dict.fromkeys(t for t in checked if t not in record.get("text", "")
                                     and not (explained and "likely" in t)
                                     and not OF_A_PROGRAM.match(t)))
        if checked and elsewhere:
            checked.insert(0, ANOTHER)
        self.block("checker", [part for t in checked[:TRACE_LINES] for part in
                               text.wrap(text.visible(NO_LINE.sub(r"\1", t)), self.width - 13,
                                         "", "  ")])
        if record.get("counters") and record["kind"] in judge.COSTS:
            self.field("counted", ", ".join(
                f"{number(v)} {failure_kinds.COUNTED.get(k) or text.visible(str(k), 40)}"
                for k, v in record["counters"].items()
                if self.everything or k in failure_kinds.COUNTED))
        if record["kind"] in judge.COSTS:
            self.by_line(record)
        if printed:
            lines = text.visible_lines(printed, 200 if self.everything else OUTPUT_LINES)
            lines = [x for x in lines if x != said]
            self.block("printed", [x for i, x in enumerate(lines) if i == 0 or x != lines[i - 1]])

    def by_line(self, measured: dict) -> None:
        """Which lines of the student's file made the memory traffic, the dearest first."""
        self.block("by line", [text.visible(str(x), 100)
                               for x in measured.get("by_line", ())[:TRACE_LINES]])

    def title(self, result: dict) -> None:
        name, rest = title_of(result)
        first, *others = text.wrap(f"{name} {rest}", self.width, "", "    ")
        if first.startswith(name):
            first = self.paint("red", name[:-1]) + ":" + first[len(name):]
        for line in [first, *others]:
            self.put(line)

    def failure(self, result: dict) -> None:
        record = result["failures"][0]
        self.title(result)
        self.record(record, result)
        for other in result["failures"][1:]:
            where = f"{other.get('device', '')}, {other.get('real', '')}"
            if self.everything:
                self.put()
                self.record(other, result)
            else:
                self.field("also", f"{told(failure_kinds.kind_title(other['kind']))} ({where})")
        if self.tells(result["kind"], 2):
            self.field("means", told(failure_kinds.advice_of(result["failures"][0])))
        if self.tells(result["kind"], 3):
            self.field("perhaps", told(result.get("advice", "")), "bold")
        if result["kind"] not in failure_kinds.OF_A_FILE:
            self.advance(result)
            self.again(result)

    def advance(self, result: dict) -> None:
        """The hint; or, as long as it is held back, a question, and how to get on. The hint is
        about the claim's values: a mistake of another kind that is named has nothing to do with
        them."""
        named = (
            result["kind"] in failure_kinds.UNHINTED
            or failure_kinds.made_to_fail(result["failures"][0])) or (
            result.get("advice") and result["kind"] not in failure_kinds.QUESTIONS)
        if self.tells(result["kind"], 2) and not named:
            self.field("hint", failure_kinds.hint_told(result["hint"]))
        if self.tells(result["kind"], failure_kinds.HINTS):
            return
        self.field("ask", told(failure_kinds.QUESTIONS[result["kind"]][self.hints]), "bold")
        self.command("more", rerun_command(self.document, result) + staged(self.hints + 1))

    def again(self, result: dict) -> None:
        self.command("again", rerun_command(self.document, result) + staged(self.hints))

    def command(self, name: str, line: str) -> None:
        """Never wrapped: it is there to be copied."""
        self.put(self.paint("dim", f"  {name:<8} ") + line)
