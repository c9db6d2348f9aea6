"""leak_machine.py: what a compiler made of a function, as bytes or as a listing of them.

Nothing of its source is left there to be compared with. A handout has programs and objects of known
names (handed.py), and no others: so it is enough to see that something is one.
"""

import re

# Paddings between functions and loops, of as(1): ten bytes and seven that no text or picture has.
PADDINGS = rb"\x66\x2e\x0f\x1f\x84\0\0\0\0\0|\x0f\x1f\x80\0\0\0\0|\x0f\x1f\x84\0\0\0\0\0"

# What it is -> how it looks, and how often.
BYTES = {
    "a static library": (re.compile(rb"\A!<(?:arch|thin)>\n"), 1),
    "a program or object (ELF)": (re.compile(rb"\x7fELF[\x01\x02][\x01\x02]\x01"), 1),
    "LLVM bitcode": (re.compile(rb"\A(?:BC\xc0\xde|\xde\xc0\x17\x0b)"), 1),
    "code for a GPU (fatbin)": (re.compile(rb"\x50\xed\x55\xba\x01\0"), 1),
    "a precompiled header": (re.compile(rb"\Agpch"), 1),
    "a program (PE)": (re.compile(rb"\AMZ.{58}..\0\0", re.DOTALL), 1),
    "a program (Mach-O)": (re.compile(rb"\A(?:[\xce\xcf]\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf])"), 1),
    "a module of WebAssembly": (re.compile(rb"\A\0asm\x01\0\0\0"), 1),
    "machine code": (re.compile(PADDINGS), 4),
}  # fmt: skip
REGISTER = r"%(?:[re]?[abcd]x|[re]?[sd]il?|[re][sb]p|r\d+[dwb]?|[xyz]mm\d+|[abcd]l)\b"
INTEL = r"(?:[re][abcd]x|[re][sd]i|r\d+d?|[xyz]mm\d+|(?:[dq]|xmm)word ptr)"
# ... as text: signs of which one must be there, the lines, and how many of them.
LISTINGS = [(name, signs, re.compile(lines, re.MULTILINE), least) for name, signs, lines, least in (
    ("assembly", (".type", ".cfi_", ".glob"),
     r"^[ \t]*\.(?:type[ \t]+[\w.$]+,[ \t]*[@%#]function|cfi_startproc|globa?l[ \t]+[\w.$]+$)", 2),
    ("assembly", ("%r", "%e", "%xmm", "%ymm"), rf"^[ \t]*(?:[0-9a-f]+:[ \t]+(?:[0-9a-f]{{2}} )*"
     rf"[ \t]*)?[a-z][a-z0-9]+[ \t]+[^\n;\"]*{REGISTER}", 12),
    ("assembly", ("mov",), rf"^[ \t]*(?:[0-9a-f]+:[ \t]+(?:[0-9a-f]{{2}} )*[ \t]*)?"
     rf"[a-z][a-z0-9]+[ \t]+{INTEL}[, \t]", 12),
    ("PTX", (".reg ", "ld.", "st."), r"^[ \t]*(?:(?:\.visible[ \t]+)?\.(?:entry|func)\b|\.reg[ \t]+"
     r"\.\w+|(?:@!?%p\d+[ \t]+)?[a-z]+(?:\.\w+)+[ \t]+[\[%][^\n]*;)", 6),
    ("machine code of a GPU (SASS)", ("*/",),
     r"^[ \t]*/\*[0-9a-f]{4,}\*/[ \t]+(?:@!?U?P[\dT]+[ \t]+)?[A-Z][A-Z0-9]+[\w.]*[ \t][^\n]*;", 6),
    ("LLVM IR", ("define ", "= load ", "= getelementptr "),
     r"^(?:define [^\n]*@|target triple =)|^[ \t]+%[\w.]+ = [a-z]+ ", 6),
    ("GIMPLE", ("D.", "<bb "), r"\bD\.\d+\b|<bb \d+>", 6),
)]


def many(pattern: re.Pattern, what, least: int) -> bool:
    return sum(1 for _, _ in zip(range(least), pattern.finditer(what))) == least


def kinds(what) -> list:
    """The first that it is: of bytes as they lie in a file, or of text."""
    if isinstance(what, bytes):
        found = [name for name, (pattern, least) in BYTES.items() if many(pattern, what, least)]
    else:
        found = [name for name, signs, pattern, least in LISTINGS
                 if any(sign in what for sign in signs) and many(pattern, what, least)]
    return found[:1]
