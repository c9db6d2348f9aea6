"""language.py: texts for people in another language, by GNU gettext. LANGUAGE says which.

What is computed, compared and kept (grade.json) is English. Where a text is shown to a person it is
looked up, whole, in locale/*/LC_MESSAGES/grade/: words.po has those of the grader's own files,
labN.po those of labN.toml. What a catalogue does not hold stays English.
"""

import gettext

import languages

# At the end of what is shown, unless the catalogue's header says by whom it was reviewed.
UNREVIEWED = ("No teacher who speaks this language has reviewed the translation. LANGUAGE=en shows "
              "the English texts.")

chosen = gettext.NullTranslations()


def read(name: str, domains: tuple) -> gettext.NullTranslations:
    found = gettext.NullTranslations()
    for domain in reversed(domains):
        with languages.made(name, domain).open("rb") as file:
            catalogue = gettext.GNUTranslations(file)
        catalogue.add_fallback(found)
        found = catalogue
    return found


def choose(asked: str, domains: tuple, encoding: str) -> str:
    """From now on texts are in the language that LANGUAGE's value asks for. A line for whoever
    asked where they stay English all the same, else ""."""
    global chosen
    chosen = gettext.NullTranslations()
    name, why_english = languages.first(asked)
    if not name:
        return why_english
    try:
        found = read(name, domains)
        found.gettext(UNREVIEWED).encode(encoding)
    except FileNotFoundError as error:
        return languages.not_made(asked, error.filename)
    except UnicodeEncodeError:
        return (f"LANGUAGE={asked}: this terminal writes {encoding}, which lacks these characters, "
                "so texts are English: one of UTF-8 is needed")
    chosen = found
    return ""


def told(text: str) -> str:
    return chosen.gettext(text) if text else ""


def notice() -> str:
    """Where the translation that is shown has not been reviewed: that, and how to do without."""
    return told(UNREVIEWED) if chosen.info().get("x-reviewed") == "no" else ""


def code() -> str:
    """The language that is shown, as HTML names it: zh-CN."""
    return chosen.info().get("language", "en").replace("_", "-")
