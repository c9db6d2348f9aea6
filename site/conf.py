"""conf.py: how Sphinx makes the site (build.py). No script and no font comes from a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "gradlab"
copyright = "handouts CC BY 4.0, code MIT"  # noqa: A001 (so Sphinx calls it)
extensions = ["myst_parser", "mathml", "drawings", "folds"]
html_theme = "furo"
html_title = "gradlab"
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_static_path = ["style"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
pygments_style = "xcode"  # (every colour of it has a contrast of 4.5 to 1)
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page's first heading may be followed by one two levels down
highlight_language = "none"
latex_engine = "xelatex"
latex_documents = [("index", "gradlab.tex", "gradlab: the labs", "", "manual")]
# (fonts that have the signs which stand in the pages' programs; a heading's number says nothing)
latex_elements = {"papersize": "a4paper", "extraclassoptions": "openany,oneside",
                  "sphinxsetup": "hmargin=2cm", "preamble": r"""
\setcounter{secnumdepth}{-1}
\renewcommand{\arraystretch}{1.2}
""", "fontpkg": r"""
\setmainfont{DejaVu Serif}[Scale=0.9]
\setsansfont{DejaVu Sans}[Scale=0.9]
\setmonofont{DejaVu Sans Mono}[Scale=0.8]
"""}
