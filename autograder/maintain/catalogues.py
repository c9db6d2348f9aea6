"""catalogues.py write: brings locale/ up to date with the English texts, by GNU gettext (make
update-po).

The texts are those that a person is shown of words.py, its neighbours and labN.toml, each whole.
Of each language that has a folder locale/<language>/LC_MESSAGES, msgmerge keeps what is still the
same, marks as fuzzy what is nearly so, and leaves empty what is new; a catalogue that is not there
yet is begun. Texts that have gone are taken out. What is left to do is said.
"""

import os
import subprocess
import sys
from pathlib import Path

import language
import table
import unwritten
import words

TEMPLATES = Path("build/locale/templates")
HEADER = """msgid ""
msgstr ""
"Project-Id-Version: gradlab\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""
OF_LANGUAGE = """# gradlab's texts, English and in the language named below. UNREVIEWED, as
# X-Reviewed says: no teacher whose language this is has read them yet, so take
# them as you take a machine's translation. CONTRIBUTING.md says how a catalogue
# is kept ("Other languages").
{header}"Language: {name}\\n"
"X-Reviewed: no\\n"
"""


# ---- the English texts ---------------------------------------------------------------------------

def texts_of_words() -> list:
    """[(place, text)]"""
    found = [(f"kind {name}: title", title) for name, (title, _) in words.KINDS.items()]
    found += [(f"kind {name}: what it means", means) for name, (_, means) in words.KINDS.items()]
    found += [(f"kind {name}: question {i}, DIAGNOSIS=staged", question)
              for name, asked in words.QUESTIONS.items() for i, question in enumerate(asked)]
    found += [(f"pattern {name}: where it is wrong", where)
              for name, where in words.PATTERNS.items()]
    found += [(f"pattern {name}: where it is wrong, of {'a matrix' if n == 2 else 'a list'}", where)
              for n, of_few in words.OF_FEW_DIMENSIONS.items() for name, where in of_few.items()]
    found += [("kind crash, its place unknown: what it means", words.NO_PLACE),
              ("kind blas_argument, a number told: what it means", words.NUMBERED),
              ("kind bits, far apart: what it means", words.NO_ROUNDING),
              ("hint where a race is named elsewhere; lines: (a.cu:47 and 51)",
               words.NAMED_ELSEWHERE)]
    found += [(f"kind never_written, {name}: what it means", told)
              for name, told in unwritten.PLACES.items()]
    return [*found, ("kind never_written, others wrong: what it means", unwritten.EXCHANGED),
            ("at the end of what is shown", language.UNREVIEWED)]


def texts_of_lab(lab: table.Lab) -> list:
    found = [(f"{claim.short_name}: hint", claim.hint) for claim in lab.claims]
    return found + [(f"diagnosis {name}", told) for name, told in lab.diagnoses.items()]


def catalogues() -> dict:
    """domain -> (file of the texts, {text: [places]})"""
    found = {"grade/words": ("autograder/grade/words.py", texts_of_words())}
    for n in table.numbers():
        found[f"grade/lab{n}"] = (f"autograder/lab{n}/lab.toml", texts_of_lab(table.load(n)))
    return {domain: (file, by_text(texts)) for domain, (file, texts) in found.items()}


def by_text(texts: list) -> dict:
    places = {}
    for place, text in texts:
        if text:
            places.setdefault(text, []).append(place)
    return places


# ---- catalogues ----------------------------------------------------------------------------------

def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def template(file: str, texts: dict) -> str:
    entries = [HEADER]
    for text, places in texts.items():
        comments = "".join(f"#. {place}\n" for place in places)
        entries.append(f'{comments}#: {file}\nmsgid {quoted(text)}\nmsgstr ""\n')
    return "\n".join(entries)


def update(catalogue: Path, from_template: Path, name: str) -> None:
    if not catalogue.exists():
        catalogue.parent.mkdir(parents=True, exist_ok=True)
        catalogue.write_text(OF_LANGUAGE.format(header=HEADER, name=name), encoding="utf-8")
    run("msgmerge", "--update", "--quiet", "--previous", "--backup=off", catalogue, from_template)
    run("msgattrib", "--no-obsolete", "--output-file", catalogue, catalogue)
    counts = run("msgfmt", "--statistics", "--output-file=/dev/null", catalogue).strip()
    if "fuzzy" in counts or "untranslated" in counts:
        print(f"{catalogue}: {counts}")


def run(*command) -> str:
    """What it said, in English."""
    done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True,
                          env=os.environ | {"LC_ALL": "C"})
    return done.stderr


def write() -> None:
    for domain, (file, texts) in catalogues().items():
        made = TEMPLATES / f"{domain}.pot"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(template(file, texts), encoding="utf-8")
        for name in language.names():
            update(language.path_of(name, domain), made, name)


def main(arguments: list) -> int:
    if arguments != ["write"]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        write()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"update-po: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
