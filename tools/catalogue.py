"""catalogue.py: a catalogue of texts in another language, kept by GNU gettext (make update-po)."""

import os
import subprocess
from pathlib import Path

TEMPLATES = Path("build/locale/templates")
HEADER = """msgid ""
msgstr ""
"Project-Id-Version: gradlab\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""
OF_LANGUAGE = """# gradlab's texts, English and in the language named below. UNREVIEWED, as
# X-Reviewed says: no teacher whose language this is has read them yet, so take
# them as you take a machine's translation. CONTRIBUTING.md says how a catalogue
# is kept ("Other languages").
{header}"Language: {name}\\n"
"X-Reviewed: no\\n"
"""


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def template(texts: dict, file: str = "") -> str:
    """texts: {text: [its places, in words]}, all of one file."""
    entries = [HEADER]
    for text, places in texts.items():
        comments = "".join(f"#. {place}\n" for place in places) + f"#: {file}\n" * bool(file)
        entries.append(f'{comments}msgid {quoted(text)}\nmsgstr ""\n')
    return "\n".join(entries)


def update(catalogue: Path, texts: str, name: str) -> None:
    """Of a catalogue stays what is the same in the template `texts`; what is nearly so is marked as
    fuzzy, what is new is empty, what has gone is taken out. One that is not there, or is empty, is
    begun in the language `name`. What is left to do is said."""
    if not catalogue.exists() or not catalogue.stat().st_size:
        catalogue.parent.mkdir(parents=True, exist_ok=True)
        catalogue.write_text(OF_LANGUAGE.format(header=HEADER, name=name), encoding="utf-8")
    from_template = TEMPLATES / name / catalogue.with_suffix(".pot").name
    from_template.parent.mkdir(parents=True, exist_ok=True)
    from_template.write_text(texts, encoding="utf-8")
    run("msgmerge", "--update", "--quiet", "--previous", "--backup=off", catalogue, from_template)
    run("msgattrib", "--no-obsolete", "--output-file", catalogue, catalogue)
    counts = run("msgfmt", "--statistics", "--output-file=/dev/null", catalogue).strip()
    if "fuzzy" in counts or "untranslated" in counts:
        print(f"{catalogue}: {counts}")


def run(*command) -> str:
    """What it said, in English."""
    done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True,
                          env=os.environ | {"LC_ALL": "C"})
    return done.stderr
