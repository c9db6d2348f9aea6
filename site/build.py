"""build.py [OUT=build/site] [PDF=1] [LANGUAGE=zh_CN]: the handouts as pages for a browser, offline
and searchable.

By Sphinx with MyST (Debian: python3-sphinx, python3-myst-parser, furo); PDF=1: as one PDF, too.

The pages are those of labs/, as they are. A file that one of them links to (a header, a list of
what may be called) becomes a page of its own, so that no link leads out of the site; a folder is
named, not linked. A page or picture that is not there ends it with status 1.

In another language (LANGUAGE, also of the environment) it is made once more, in a folder beside the
English one. Pages with a catalogue, locale/<language>/LC_MESSAGES/<page>.po, are translated there,
each with a note at its top; the others stay English.
"""

import gettext
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import languages
import options

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r"!\[[^\]]*\]")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.M | re.S)
INDEX = """# gradlab

```{{toctree}}
:maxdepth: 2

{pages}
files
```
"""
FILES = """# Files that pages name

```{{toctree}}
:maxdepth: 1

{files}
```
"""
SUMMARY = re.compile(r"<summary>(.*?)</summary>")
# The first thing in a page that has been translated and not reviewed. {english}: the way to it
NOTE = """
```{{note}}
This page is a translation that no teacher who speaks its language has reviewed.
<a href="{english}">The English page</a> is what counts.
```
"""
LANGUAGES = {".h": "c", ".c": "c", ".cu": "c", ".py": "python"}


FENCE = "``````"  # longer than any within a file
# What a PDF takes beside pages, and Debian's packages of it.
FOR_PDF = {"rsvg-convert": "librsvg2-bin", "latexmk": "latexmk",
           "xelatex": "texlive-xetex texlive-latex-extra "
                      "texlive-fonts-recommended fonts-dejavu-core fonts-dejavu-extra"}


class SiteError(Exception):
    """One line: what cannot be made, and why."""


def pages() -> list:
    """In the order of reading: how the course works, each lab and pages beside it, the bridge."""
    labs = ROOT / "labs"
    found = [labs / "README.md"]
    for lab in sorted(labs.glob("lab[0-9]")):
        found += [lab / "README.md", *sorted(set(lab.glob("*.md")) - {lab / "README.md"})]
    return [*found, *sorted(set(labs.glob("*.md")) - set(found))]


def place_of(file: Path) -> Path:
    """A named file's page, below the source folder."""
    return Path("files", "-".join(file.relative_to(ROOT).parts).replace(".", "-") + ".md")


def of_page(page: Path, known: set, named: set) -> str:
    """The page's text with links as they are in the site; adds to `named` the files it names."""
    def link(match: re.Match) -> str:
        words, target = match[1], match[2]
        there = (page.parent / target).resolve()
        if re.match(r"[a-z]+:", target) or there in known:
            return match[0]
        if there.is_dir():
            return words
        if not there.is_file():
            raise SiteError(f"{page.relative_to(ROOT)}: {target} is not there")
        named.add(there)
        depth = len(page.relative_to(ROOT / "labs").parts) - 1
        return f"[{words}]({'../' * depth}{place_of(there)})"

    def outside_code(piece: str) -> str:  # (MyST loses the end of a line within a picture's words)
        return PICTURE.sub(lambda m: m[0].replace("\n", " "), LINK.sub(link, piece))

    pieces = CODE.split(page.read_text(encoding="utf-8"))
    text = "".join(piece if i % 2 else outside_code(piece) for i, piece in enumerate(pieces))
    return re.sub(r"^```math$", "```{math}", text, flags=re.M)


def catalogue_of(place: str, language: str) -> gettext.NullTranslations | None:
    """Of a page ("lab0/README"), where there is one."""
    if not languages.catalogue(language, place).exists():
        return None
    with languages.made(language, place).open("rb") as file:
        return gettext.GNUTranslations(file)


def noted(place: str, text: str) -> str:
    """With the note behind its heading."""
    heading, rest = text.split("\n", 1)
    up = "../" * (place.count("/") + 1)
    return f"{heading}\n{NOTE.format(english=f'{up}{place}.html')}{rest}"


def in_language(place: str, text: str, language: str) -> str:
    """What Sphinx leaves as it is, summaries of folds, in the language; the rest it translates."""
    if not (catalogue := catalogue_of(place, language)):
        return text
    text = SUMMARY.sub(lambda m: f"<summary>{catalogue.gettext(m[1])}</summary>", text)
    return noted(place, text) if catalogue.info().get("x-reviewed") == "no" else text


def lay_out(source: Path, language: str = "") -> None:
    """What Sphinx reads."""
    known, named, order = set(pages()), set(), []
    for page in pages():
        place = source / page.relative_to(ROOT / "labs")
        place.parent.mkdir(parents=True, exist_ok=True)
        order.append(str(place.relative_to(source).with_suffix("")))
        text = of_page(page, known, named)
        place.write_text(in_language(order[-1], text, language) if language else text,
                         encoding="utf-8")
        for picture in page.parent.glob("*.svg"):
            shutil.copyfile(picture, place.parent / picture.name)
    (source / "files").mkdir()
    for file in named:
        name = file.relative_to(ROOT)
        (source / place_of(file)).write_text(
            f"# {name}\n\n{FENCE}{{code-block}} {LANGUAGES.get(file.suffix, 'text')}\n"
            f"{file.read_text(encoding='utf-8')}{FENCE}\n", encoding="utf-8")
    files = sorted(str(place_of(file).with_suffix("")) for file in named)
    (source / "files.md").write_text(FILES.format(files="\n".join(files)))
    (source / "index.md").write_text(INDEX.format(pages="\n".join(order)))


def sphinx(builder: str, source: Path, to: Path, *more: str) -> None:
    """Any warning, as of a link that leads nowhere, ends it."""
    done = subprocess.run(["sphinx-build", "-q", "-W", "--keep-going", "-b", builder, "-c",
                           ROOT / "site", "-d", f"{source}-doctrees", *more, source, to])
    if done.returncode:
        raise SiteError(f"sphinx-build -b {builder} ended with {done.returncode}: see above")


def translated(out: Path, language: str, asked: str) -> None:
    source, html = out / f"source-{language}", out / "html" / language
    try:
        lay_out(source, language)
    except FileNotFoundError as error:
        raise SiteError(languages.not_made(asked, error.filename)) from None
    sphinx("html", source, html, "-D", f"language={language}", "-D", "gettext_compact=0", "-D",
           "gettext_auto_build=0", "-D", f"locale_dirs={languages.MADE.absolute()}")
    there = [page.relative_to(ROOT / "labs").with_suffix("") for page in pages()]
    print(f"in {language} {html / 'index.html'}; translated: " + ", ".join(
        str(page) for page in there if languages.catalogue(language, page).exists()))


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"OUT": "build/site", "PDF": "", "LANGUAGE": ""})
        asked = given["LANGUAGE"] or os.environ.pop("LANGUAGE", "")
        language, why_english = languages.first(asked)
        if why_english:
            print(f"site: {why_english}", file=sys.stderr)
        out = Path(given["OUT"]).absolute()
        lacking = [p for p in FOR_PDF if given["PDF"] and not shutil.which(p)]
        if lacking:
            raise SiteError(f"PDF=1: there is no {', no '.join(lacking)}: apt-get install "
                            + " ".join(FOR_PDF[name] for name in lacking))
        for name in (*out.glob("source*"), out / "html", out / "pdf"):
            shutil.rmtree(name, ignore_errors=True)
        lay_out(out / "source")
        sphinx("html", out / "source", out / "html")
        print(f"pages    {out / 'html/index.html'}")
        if language:
            translated(out, language, asked)
        if given["PDF"]:
            sphinx("latex", out / "source", out / "pdf")
            made = subprocess.run(["make", "-s", "-C", out / "pdf", "LATEXMKOPTS=-silent"],
                                  capture_output=True, text=True, errors="replace")
            if made.returncode:
                raise SiteError(f"latexmk: {made.stdout[-400:]}")
            print(f"one PDF  {out / 'pdf/gradlab.pdf'}")
    except (options.OptionError, SiteError) as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
