"""languages.py: in which languages there are texts beside English, and which of them is asked for.

Catalogues lie in locale/<language>/LC_MESSAGES/*.po; of these make has msgfmt (Debian: gettext)
make build/locale/…/*.mo, which programs read.
"""

from pathlib import Path

CATALOGUES, MADE = Path("locale"), Path("build/locale")
ENGLISH = ("en", "C", "POSIX")


def names() -> list:
    return sorted(p.parent.name for p in CATALOGUES.glob("*/LC_MESSAGES"))


def catalogue(name: str, domain: str) -> Path:
    return CATALOGUES / name / "LC_MESSAGES" / f"{domain}.po"


def made(name: str, domain: str) -> Path:
    return MADE / name / "LC_MESSAGES" / f"{domain}.mo"


def named(asked: str) -> str:
    """zh_CN.UTF-8 or zh: zh_CN, if that is the catalogue; "" where there is none."""
    name = asked.partition(".")[0].partition("@")[0]
    of_any_country = [n for n in names() if n.partition("_")[0] == name]
    return name if name in names() else next(iter(of_any_country), "")


def first(asked: str) -> tuple:
    """(the first language of LANGUAGE's value, "zh_CN:en", that there is, and "" for English; a
    line for whoever asked, if there is none of them)."""
    for language in filter(None, asked.split(":")):
        if language.partition(".")[0].partition("_")[0] in ENGLISH:
            return "", ""
        if name := named(language):
            return name, ""
    return "", (f"LANGUAGE={asked}: there is no translation, so texts are English; there are "
                f"{', '.join([*names(), 'en'])}") if asked.strip(":") else ""


def not_made(asked: str, path) -> str:
    """A line for whoever asked, where a catalogue is there and not made ready."""
    return (f"LANGUAGE={asked}: {path} is not there, so texts are English: make makes it by msgfmt "
            "(Debian: apt-get install gettext)")
