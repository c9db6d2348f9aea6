"""page_catalogues.py write: brings the catalogues of pages in other languages up to date with the
English pages (make update-po). A page has one in a language if there is a file
locale/<language>/LC_MESSAGES/<page>.po, as lab0/README.po: an empty one begins it.

The texts are those that Sphinx takes from a page, paragraph by paragraph (its builder gettext), and
those that it leaves as they are, summaries of folds.
"""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import build
import catalogue
import languages

WORK = Path("build/site-texts")
MESSAGE = re.compile(r'^msgid ((?:".*"\n)+)', re.M)
FORMULA = re.compile(r"^```\{math\}\n(.*?)^```", re.M | re.S)


def templates() -> dict:
    """page ("lab0/README") -> its template"""
    shutil.rmtree(WORK, ignore_errors=True)
    source, found = WORK / "source", {}
    build.lay_out(source)
    places = [str(p.relative_to(build.ROOT / "labs").with_suffix("")) for p in build.pages()]
    summaries, formulas = {}, {}
    for place in places:
        page = source / f"{place}.md"
        text = page.read_text(encoding="utf-8")
        summaries[place] = build.SUMMARY.findall(text)
        formulas[place] = {"".join(formula.split()) for formula in FORMULA.findall(text)}
        page.write_text(build.noted(place, text), encoding="utf-8")
    build.sphinx("gettext", source, WORK / "texts", "-D", "gettext_compact=0")
    for place in places:
        said = MESSAGE.findall((WORK / "texts" / f"{place}.pot").read_text(encoding="utf-8"))
        said = [text for text in (ast.literal_eval(f"({lines})") for lines in said)
                if text and "".join(text.split()) not in formulas[place]]
        found[place] = catalogue.template(dict.fromkeys(
            [*without_twins(said), *summaries[place]], ()))
    return found


def without_twins(texts: list) -> list:
    """A picture's description comes twice: in `![…](file)`, which is translated, and by itself."""
    described = {"".join(m[1].split()) for text in texts
                 for m in re.finditer(r"!\[(.*?)\]\(", text)}
    return [text for text in texts if "".join(text.split()) not in described]


def main(arguments: list) -> int:
    if arguments != ["write"]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for place, texts in templates().items():
            for name in languages.names():
                if (held := languages.catalogue(name, place)).exists():
                    catalogue.update(held, texts, name)
    except (OSError, subprocess.CalledProcessError, build.SiteError) as error:
        print(f"update-po: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
