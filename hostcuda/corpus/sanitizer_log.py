"""sanitizer_log.py: what compute-sanitizer's output says, as data: which mistakes, at which lines.

A report is a line `========= Text` and the indented lines after it: where in the kernel, then the
backtrace of the host's call. Used by gpu_corpus.py; it runs nothing.
"""

import re

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

# Lines that tell of the run and not of a mistake.
ABOUT_THE_RUN = re.compile(
    r"COMPUTE-SANITIZER|\w+ SUMMARY:|Target application|(Error|Warning): (?!Race)|Internal |Fatal |"
    r"This tool|Please|Copyright|\s*$"
)
API_ERROR = re.compile(r"Program hit (\w+).*?on CUDA API call to (\w+)")
RACE = re.compile(r"(Error|Warning): Race")


def failed_to_start(text: str) -> bool:
    """The tool could not watch the program; what it leaves unsaid then means nothing."""
    return bool(re.search(r"Device not supported|Unable to find injection|Error: (Could not|Failed|"
                          r"No attachable)|unrecognised option", text))  # fmt: skip


def _kind(headline: str) -> str:
    """The headline without what differs from run to run."""
    api = API_ERROR.search(headline)
    if api:
        return f"{api[1]} from {api[2]}"
    race = RACE.search(headline)
    if race:
        return f"race ({race[1].lower()})"
    return re.sub(r"\s+", " ", re.sub(r"(at )?\(?0x[0-9a-f]+\)?", "", headline)).strip(" .")


def reports(text: str, file: str) -> list[dict]:
    """[{"what", "lines", "times"}], in order: the lines of `file`, in the kernel if it names any
    there, else where the host called. Equal reports of many threads are one."""
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if not line.startswith("========= "):
            continue
        body = line[10:]
        if not body.startswith(" "):
            blocks.append([body])
        elif blocks:
            blocks[-1].append(body)
    found: dict[tuple, dict] = {}
    place = re.compile(rf"(?<![\w.]){re.escape(file)}:(\d+)")
    for headline, *rest in blocks:
        if ABOUT_THE_RUN.match(headline):
            continue
        device, host = [headline], []
        for line in rest:
            (host if host or "Host Frame" in line or "backtrace" in line else device).append(line)
        lines = list(dict.fromkeys(int(at) for line in device for at in place.findall(line)))
        lines = lines or [int(at) for line in host for at in place.findall(line)][:1]
        key = (_kind(headline), *lines)
        found.setdefault(key, {"what": key[0], "lines": lines, "times": 0})["times"] += 1
    return list(found.values())
