"""catalogues.py write: brings the grader's catalogues of other languages up to date with its
English texts (make update-po), for each language that has a folder locale/<language>/LC_MESSAGES.

The texts are those that a person is shown of failure_kinds.py, its neighbours and lab.toml, each
whole.
"""

import subprocess
import sys

import catalogue
import language
import languages
import table
import unwritten
from failure_kinds import KINDS, NAMED_ELSEWHERE, NO_PLACE, NO_ROUNDING, NUMBERED, QUESTIONS
from failure_patterns import OF_FEW_DIMENSIONS, PATTERNS

# ---- the English texts ---------------------------------------------------------------------------

def texts_of_words() -> list:
    """[(place, text)]"""
    found = [(f"kind {name}: title", title) for name, (title, _) in KINDS.items()]
    found += [(f"kind {name}: what it means", means) for name, (_, means) in KINDS.items()]
    found += [(f"kind {name}: question {i}, DIAGNOSIS=staged", question)
              for name, asked in QUESTIONS.items() for i, question in enumerate(asked)]
    found += [(f"pattern {name}: where it is wrong", where)
              for name, where in PATTERNS.items()]
    found += [(f"pattern {name}: where it is wrong, of {'a matrix' if n == 2 else 'a list'}", where)
              for n, of_few in OF_FEW_DIMENSIONS.items() for name, where in of_few.items()]
    found += [("kind crash, its place unknown: what it means", NO_PLACE),
              ("kind blas_argument, a number told: what it means", NUMBERED),
              ("kind bits, far apart: what it means", NO_ROUNDING),
              ("hint where a race is named elsewhere; lines: (a.cu:47 and 51)",
               NAMED_ELSEWHERE)]
    found += [(f"kind never_written, {name}: what it means", told)
              for name, told in unwritten.PLACES.items()]
    return [*found, ("kind never_written, others wrong: what it means", unwritten.EXCHANGED),
            ("at the end of what is shown", language.UNREVIEWED)]


def texts_of_lab(lab: table.Lab) -> list:
    found = [(f"{claim.short_name}: hint", claim.hint) for claim in lab.claims]
    return found + [(f"diagnosis {name}", told) for name, told in lab.diagnoses.items()]


def catalogues() -> dict:
    """domain -> (file of the texts, {text: [places]})"""
    found = {"grade/words": ("autograder/grade/failure_kinds.py", texts_of_words())}
    for n in table.numbers():
        found[f"grade/lab{n}"] = (f"autograder/lab{n}/lab.toml", texts_of_lab(table.load(n)))
    return {domain: (file, by_text(texts)) for domain, (file, texts) in found.items()}


def by_text(texts: list) -> dict:
    places = {}
    for place, text in texts:
        if text:
            places.setdefault(text, []).append(place)
    return places


def main(arguments: list) -> int:
    if arguments != ["write"]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for domain, (file, texts) in catalogues().items():
            for name in languages.names():
                catalogue.update(languages.catalogue(name, domain),
                                 catalogue.template(texts, file), name)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"update-po: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
