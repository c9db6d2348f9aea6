"""folds.py: what a PDF has instead of a fold: its summary in bold, above what it holds. And no line
for an empty cell of a table, which TeX would leave room for.
"""

import html
import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

SUMMARY = re.compile(r"<summary>(.*?)</summary>")
MARKUP = re.compile(r"<[^>]*>")


class Folds(SphinxPostTransform):
    default_priority = 400
    builders = ("latex",)

    def run(self, **_given) -> None:
        for raw in list(self.document.findall(nodes.raw)):
            if found := SUMMARY.search(raw.astext()):
                raw.replace_self(nodes.paragraph("", "", nodes.strong(
                    text=html.unescape(MARKUP.sub("", found[1])))))
        for entry in self.document.findall(nodes.entry):
            if not entry.astext().strip():
                entry.clear()


def setup(app) -> dict:
    app.add_post_transform(Folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
