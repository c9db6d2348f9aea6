"""Text into LaTeX: escaping, and the template engine that escapes whatever a template prints."""

import re
from pathlib import Path

import jinja2

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "-": r"{-}",
}  # fmt: skip
# characters of ours that pdflatex's font encoding has by another name
_NAMED = {"\u2013": "--", "\u2014": "---", "\u00d7": r"\ensuremath{\times}", "\u2026": r"\dots{}",
          "\u2192": r"\ensuremath{\rightarrow}", "\u00b5": r"\textmu{}", "\u00a0": "~",
          "\u00b7": r"\ensuremath{\cdot}", "\u2264": r"\ensuremath{\leq}",
          "\u2265": r"\ensuremath{\geq}"}  # fmt: skip


class Tex(str):
    """Text that is LaTeX already."""


def escape(value):
    """LaTeX that prints exactly this text. Line breaks become spaces, other controls vanish."""
    if isinstance(value, Tex):
        return value
    out = []
    for c in str(value):
        if c in _SPECIAL:
            out.append(_SPECIAL[c])
        elif c in _NAMED:
            out.append(_NAMED[c])
        elif c.isspace():
            out.append(" ")
        elif c.isprintable():
            out.append(c)
    return Tex("".join(out))


def units(text):
    """A heading with our ASCII spelling of units: "us" is written with a micro sign."""
    return Tex(re.sub(r"\bus\b", r"\\textmu{}s", escape(text)))


def foreign(text):
    """The characters that a Latin font lacks, for which LaTeX needs xelatex and a CJK font."""
    return "".join(sorted({c for c in str(text) if ord(c) > 0x17F and c not in _NAMED}))


def environment():
    """Templates with \\VAR{} and \\BLOCK{}: LaTeX to an editor, and never an unescaped text."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        block_start_string=r"\BLOCK{", block_end_string="}", variable_start_string=r"\VAR{",
        variable_end_string="}", comment_start_string=r"\#{", comment_end_string="}",
        line_comment_prefix="%%", trim_blocks=True, lstrip_blocks=True, autoescape=False,
        undefined=jinja2.StrictUndefined, finalize=escape, keep_trailing_newline=True,
    )  # fmt: skip
    env.filters["units"] = units
    return env
