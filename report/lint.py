"""Numbers typed by hand, and other faults, in the text of a report and in LaTeX's log."""

import difflib
import re

# lines of LaTeX's log that a reader would see on the page
LOG_FAULT = re.compile(
    r"Overfull \\[hv]box \(([2-9]|\d{2,})\.?\d*pt too|undefined references|multiply.defined|"
    r"Reference .* undefined|Citation .* undefined|Missing character: There is no|Float too large"
)
_VALUE = re.compile(r"\\val\{([^}]*)\}")
# what is not read as prose: comments, and commands whose argument is a name or a length
_SILENT = re.compile(
    r"(?<!\\)%.*|\\(?:val|typed|ref|label|results|input|includegraphics|code|path|url|cite|hspace|"
    r"vspace|documentclass|usepackage|begin|end|setcounter)\*?(?:\[[^\]]*\])?\{[^}]*\}"
)
# a number with nothing of a name about it: not CIFAR-10, 3x3, conv2d, float32 or H200
_NUMBER = re.compile(r"(?<![\w.\-\u00d7])\d+(?:[.,]\d+)*(?![\w\u00d7]|-\w)")


def check(path, known):
    """Faults of a report's text, one line each. `known`: the keys of all values."""
    faults = []
    text = path.read_text(encoding="utf-8")
    body = text.partition(r"\begin{document}")[2] or text
    first = text[: len(text) - len(body)].count("\n") + 1
    at = first
    for paragraph in re.split(r"(\n\s*\n)", body):
        keys = _VALUE.findall(paragraph)
        for key in keys:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = f"; did you mean {near[0]}?" if near else "; no result has it"
                where = f"{path.name}:{_line(paragraph, key, at)}"
                faults.append(f"{where}: \\val{{{key}}} is not known{hint}")
        if keys:
            for number in _NUMBER.finditer(_SILENT.sub(lambda m: " " * len(m[0]), paragraph)):
                line = at + paragraph[: number.start()].count("\n")
                cure = f"take \\val{{…}}, or \\typed{{{number[0]}}} if it is no result"
                text = f"{number[0]} is typed by hand beside a value"
                faults.append(f"{path.name}:{line}: {text}; {cure}")
        at += paragraph.count("\n")
    return faults


def _line(paragraph, key, at):
    return at + paragraph[: paragraph.index(key)].count("\n")
