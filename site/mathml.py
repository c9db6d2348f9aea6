"""mathml.py: formulas as MathML, which a browser sets, and reads out, by itself, without a script.
"""

import re

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.errors import ExtensionError

# What docutils does not know, and MathML does by itself: sizes of brackets, space about signs.
NEEDLESS = re.compile(r"\\([Bb]igg?[lr]?|mathrel)(?![A-Za-z])")
# An index of an accented letter stands beside it: docutils sets it below.
ACCENTED = re.compile(r"(\\hat\{\w\})(?=_)")
# what docutils sets as two signs, or without a space
SIGNS = [(re.compile(r"<mo>\+</mo>\s*<mo>=</mo>"), "<mo>+=</mo>"),
         (re.compile(r"(<mo>&ApplyFunction;</mo>)(?=\s*<m(?!o\b))"), r'\1<mspace width="0.17em"/>')]
# a script of nothing, as in "^T" behind a sign that is no part of the formula
ALONE = re.compile(r"^\s*(?=[\^_])")


def mathml(node: nodes.Node, block: bool) -> str:
    tex = NEEDLESS.sub("", node.astext()).replace(r"\dots", r"\ldots")
    tex = ACCENTED.sub(r"\1{}", tex)
    try:
        made = latex2mathml.tex2mathml(ALONE.sub("{}", tex))
    except (SyntaxError, ValueError, IndexError) as error:  # by version of docutils
        raise ExtensionError(f"{node.source}: {tex!r}: {error}") from None
    for sign, right in SIGNS:
        made = sign.sub(right, made)
    return made.replace("<math ", '<math display="block" ', 1) if block else made


def visit_inline(writer, node) -> None:
    writer.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def visit_block(writer, node) -> None:
    writer.body.append(mathml(node, block=True))
    raise nodes.SkipNode


def setup(app) -> dict:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
