"""language.py: texts for people in another language, by GNU gettext. LANGUAGE says which.

What is computed, compared and kept (grade.json) is English. Where a text is shown to a person it is
looked up, whole, in locale/*/LC_MESSAGES/grade/: words.po has those of the grader's own files,
labN.po those of labN.toml. Of these make has msgfmt (Debian: gettext) make build/locale/. What a
catalogue does not hold stays English.
"""

import gettext
from pathlib import Path

CATALOGUES, MADE = Path("locale"), Path("build/locale")
# At the end of what is shown, unless the catalogue's header says by whom it was reviewed.
UNREVIEWED = ("No teacher who speaks this language has reviewed the translation. LANGUAGE=en shows "
              "the English texts.")
ENGLISH = ("en", "C", "POSIX")

chosen = gettext.NullTranslations()


def names() -> list:
    """The languages that there are catalogues of."""
    return sorted(p.parent.name for p in CATALOGUES.glob("*/LC_MESSAGES"))


def path_of(name: str, domain: str) -> Path:
    return CATALOGUES / name / "LC_MESSAGES" / f"{domain}.po"


def named(asked: str) -> str:
    """zh_CN.UTF-8 or zh: zh_CN, if that is the catalogue; "" where there is none."""
    name = asked.partition(".")[0].partition("@")[0]
    of_any_country = [n for n in names() if n.partition("_")[0] == name]
    return name if name in names() else next(iter(of_any_country), "")


def read(name: str, domains: tuple) -> gettext.NullTranslations:
    found = gettext.NullTranslations()
    for domain in reversed(domains):
        with (MADE / name / "LC_MESSAGES" / f"{domain}.mo").open("rb") as file:
            catalogue = gettext.GNUTranslations(file)
        catalogue.add_fallback(found)
        found = catalogue
    return found


def choose(asked: str, domains: tuple, encoding: str) -> str:
    """From now on texts are in the first language of `asked` ("zh_CN:en") that there is. A line
    for whoever asked where they stay English and nobody has asked for that, else ""."""
    global chosen
    chosen = gettext.NullTranslations()
    for language in filter(None, asked.split(":")):
        if language.partition(".")[0].partition("_")[0] in ENGLISH:
            return ""
        if not (name := named(language)):
            continue
        try:
            found = read(name, domains)
            found.gettext(UNREVIEWED).encode(encoding)
        except FileNotFoundError as error:
            return (f"LANGUAGE={asked}: {error.filename} is not there, so texts are English: "
                    "`make grade` makes it by msgfmt (Debian: apt-get install gettext)")
        except UnicodeEncodeError:
            return (f"LANGUAGE={asked}: this terminal writes {encoding}, which lacks these "
                    "characters, so texts are English: one of UTF-8 is needed")
        chosen = found
        return ""
    return (f"LANGUAGE={asked}: there is no translation, so texts are English; there are "
            f"{', '.join([*names(), 'en'])}") if asked.strip(":") else ""


def told(text: str) -> str:
    return chosen.gettext(text) if text else ""


def notice() -> str:
    """Where the translation that is shown has not been reviewed: that, and how to do without."""
    return told(UNREVIEWED) if chosen.info().get("x-reviewed") == "no" else ""


def code() -> str:
    """The language that is shown, as HTML names it: zh-CN."""
    return chosen.info().get("language", "en").replace("_", "-")
