"""Words that scripts print into the report, in its two languages, and what each needs to be set."""

from pathlib import Path

from words_zh import ZH

PACKAGES = {
    "report": ["latexmk", "texlive-latex-base", "texlive-latex-recommended", "texlive-pictures",
               "lmodern", "poppler-utils"],
}  # fmt: skip
PACKAGES["report-zh"] = [*PACKAGES["report"], "texlive-xetex", "texlive-lang-chinese",
                         "fonts-droid-fallback"]  # fmt: skip
CJK_FONT = "DroidSansFallbackFull.ttf"
_FONT_FOLDERS = ("/usr/share/fonts/truetype/droid", "/usr/share/fonts/google-droid",
                 "/usr/share/fonts/droid")  # fmt: skip


def font_file():
    """The Chinese font, or None."""
    return next((p for f in _FONT_FOLDERS if (p := Path(f) / CJK_FONT).exists()), None)


def translate(lang, text, **fields):
    if lang == "zh":
        text = ZH[text]
    return text.format(**fields) if fields else text
