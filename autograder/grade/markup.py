"""markup.py: pages of HTML without network and script: they can be mailed, or lie on a stick.
What stands in them is text whatever it holds.
"""

import xml.etree.ElementTree as ElementTree

import sinks

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }
pre { font: 13px/1.4 ui-monospace, monospace; background: #f4f4f4; padding: 1rem; overflow-x: auto }
table { border-collapse: collapse } td, th { padding: .15rem .7rem; text-align: left;
       border-bottom: 1px solid #ddd } td.n, th.n { text-align: right }
.bar { background: #4a78b5; height: .8rem; min-width: 1px } .low { color: #a00 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 }
       pre { background: #242424 } td, th { border-color: #444 } .low { color: #f88 } }
"""

# Nothing is fetched and nothing runs, even if somebody got markup into a page.
POLICY = {"http-equiv": "Content-Security-Policy",
          "content": "default-src 'none'; style-src 'unsafe-inline'"}


def tag(name: str, /, *inside, **attributes) -> ElementTree.Element:
    """An element of text and elements; ElementTree escapes, so nothing in them is markup."""
    made = ElementTree.Element(name, {k.rstrip("_"): sinks.xml(v) for k, v in attributes.items()})
    for part in inside:
        if isinstance(part, ElementTree.Element):
            made.append(part)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + sinks.xml(part)
        else:
            made.text = (made.text or "") + sinks.xml(part)
    return made


def page(title: str, *inside, more_style: str = "", lang: str = "en") -> str:
    head = tag("head", tag("meta", charset="utf-8"), tag("title", title), tag("meta", **POLICY),
               tag("meta", name="viewport", content="width=device-width"), style := tag("style"))
    style.text = STYLE + more_style
    root = tag("html", head, tag("body", *inside), lang=lang)
    ElementTree.indent(head)
    return f"<!doctype html>\n{ElementTree.tostring(root, encoding='unicode', method='html')}\n"
