"""drawings.py: SVG for TeX, by rsvg-convert (Debian: librsvg2-bin); a browser shows it as it is."""

import subprocess

from sphinx.transforms.post_transforms.images import ImageConverter


class Drawings(ImageConverter):
    conversion_rules = [("image/svg+xml", "application/pdf")]

    def is_available(self) -> bool:
        return True

    def convert(self, _from: str, _to: str) -> bool:
        subprocess.run(["rsvg-convert", "-f", "pdf", "-o", _to, _from], check=True)
        return True


def setup(app) -> dict:
    app.add_post_transform(Drawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
