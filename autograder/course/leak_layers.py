"""leak_layers.py: what lies in text, by its code alone: comments, strings, base64, a diff ...

Each reader takes a text and yields what it finds there: text, or bytes that are looked into as a
file is (leak_files.py). A reader that finds nothing of its kind yields nothing; it costs a search.
"""

import base64
import binascii
import codecs
import html
import quopri
import re
import string
import unicodedata
import urllib.parse

COMMENTS = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
STRINGS = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.){7,})\'', re.DOTALL)
LETTER = re.compile(r"'((?:[^'\\]|\\.[0-9a-f]{0,2}))'")
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
LEAST = 40  # characters: a function is longer
REACH = 3  # lines
SELDOM = 400  # characters for one sign


def near(text: str, pattern: re.Pattern, least: int):
    """Blocks of lines, none further than three from one in which the pattern occurs; in a block it
    does so `least` times, and often: in what is there by chance it is rare."""
    def often(block: list, count: int) -> bool:
        return count >= max(least, sum(map(len, block)) / SELDOM)

    block, count, last = [], 0, -9
    before = []
    for number, line in enumerate(text.split("\n")):
        found = len(pattern.findall(line))
        if found and number - last > REACH:
            if often(block, count):
                yield "\n".join(block)
            block, count = before[:], 0
        if found:
            count, last = count + found, number
        before = [*before[1 - REACH:], line]
        if number - last <= REACH:
            block.append(line)
    if often(block, count):
        yield "\n".join(block)


def unescape(text: str) -> str:
    def one(match: re.Match) -> str:
        code = match[1] or match[2]
        if code or match[3]:
            return chr(int(code, 16) if code else int(match[3], 8))
        return LETTERS.get(match[4], match[4])
    return ESCAPE.sub(one, text)


def comments(text: str):
    """Their text, also of those in which a whole function was put on one line."""
    found = COMMENTS.findall(text)
    if sum(map(len, found)) >= LEAST:
        yield re.sub(r"//|/\*|\*/|\n\s*\*", " ", "\n".join(found))


def strings(text: str):
    """Those of C, of JSON, of a catalogue: one behind the other, as a compiler joins them."""
    letters = LETTER.findall(text) if text.count("', '") + text.count("','") >= LEAST else []
    for found in ([one or other for one, other in STRINGS.findall(text)], letters):
        if sum(map(len, found)) >= LEAST:
            yield unescape("".join(found))


WRITTEN_ENDS = re.compile(r"[;{}]\\+n")


def escapes(text: str):
    """Lines that end in a written \\n, in whatever quotes."""
    for block in near(text, WRITTEN_ENDS, 2):
        yield unescape(re.sub(r"\\\\+n", r"\\n", block).replace('\\"', "'").replace('"', " "))


# ---- bytes written as text -----------------------------------------------------------------------

CHUNK = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,6}")
COLUMN = re.compile(r"(?:^[ \t\"'*#/]*[A-Za-z0-9+/_-]{2,7}={0,2}[ \t\"',;]*\n){8,}", re.MULTILINE)
PERCENT_64 = re.compile(r"%(?:2[bBfF]|3[dD])")  # + / =
HEX = re.compile(r"[0-9a-fA-F]+")
BETWEEN = re.compile(r"(?:[\s\"'`,>*#|;%+-]|\\n){0,12}")
LETTERS_85 = re.compile(r"^[!-~]{20,}$(?:\n^[!-~]+$)*", re.MULTILINE)
# (what begins with a set of characters is searched for quickly)
PAIR = r"[0-9a-fA-F]{2}(?![0-9A-Za-z])[\s,;:]*"
PAIRS = re.compile(rf"{PAIR}(?:(?:0x|\\x|%)?{PAIR}){{23,}}")
DUMPS = [re.compile(rf"^[0-9a-f]{{6,8}}:?[ \t]+((?:[0-9a-f]{{2,4}}{gap})+)", re.MULTILINE)
         for gap in ("[ \\t]?", "[ \\t]{0,2}")]  # of xxd, of hexdump -C
DECIMALS = re.compile(r"\d{1,3}[,\s]+(?:\d{1,3}[,\s]+){31,}")
ADDRESS = 120  # letters
BITS = re.compile(r"(?:[01]{8}\s*){40,}")
MAGIC = (b"\x1f\x8b", b"PK\3\4", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x7fELF", b"\x78\x9c",
         b"\x78\xda", b"\x78\x01", b"\x78\x5e")  # fmt: skip
PRINTABLE = bytes(string.printable, "ascii")


def sensible(data: bytes) -> bool:
    """Text, or something that is opened. What is decoded by chance is neither."""
    if data.startswith(MAGIC):
        return True
    wide = data.replace(b"\0", b"")
    return len(wide) >= LEAST // 2 and len(wide.translate(None, PRINTABLE)) < len(wide) / 10


def runs(text: str):
    """Chunks of base64's letters, joined where no more than a line's end lies between them; those
    of hexadecimal digits with their like."""
    run, end = [], 0
    for match in CHUNK.finditer(text):
        near_by = match.start() - end <= 12 and BETWEEN.fullmatch(text, end, match.start())
        if run and not (near_by and bool(HEX.fullmatch(run[-1])) == bool(HEX.fullmatch(match[0]))):
            yield run
            run = []
        run.append(match[0])
        end = match.end()
    yield run


def decoded(decode, letters: str):
    try:
        return decode(letters)
    except (ValueError, binascii.Error):
        return b""


def base64_of(letters: str) -> bytes:
    letters = letters.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(letters[:len(letters) // 4 * 4] if len(letters) % 4 == 1 else
                            letters + "=" * (-len(letters) % 4))


def chunks(text: str):
    """Of base64's letters, long ones and columns of short ones."""
    text = PERCENT_64.sub(lambda match: urllib.parse.unquote(match[0]), text)
    for run in runs(text):
        yield "".join(run)
    for block in COLUMN.findall(text):
        yield re.sub(r"[^A-Za-z0-9+/_=-]", "", block)


def packed(text: str):
    """base64, 32 and 16. What stands before may be of the same letters: four beginnings, and those
    behind the first strokes, as of an address."""
    for letters in chunks(text):
        if len(letters) < LEAST:
            continue
        bare = letters.replace("=", "")
        starts = {*range(4), *(match.end() for match in re.finditer("/", bare[:ADDRESS]))}
        ways = [lambda t, n=n: base64_of(t[n:]) for n in sorted(starts)]
        ways += [lambda t, way=way: way(t[::-1]) for way in ways]
        if HEX.fullmatch(bare):
            ways = [lambda t: bytes.fromhex(t[:len(t) // 2 * 2])]
        elif re.fullmatch(r"[A-Za-z2-7]+", bare) and bare in (bare.upper(), bare.lower()):
            ways.append(lambda t: base64.b32decode(t + "=" * (-len(t) % 8), casefold=True))
        yield from filter(sensible, (decoded(way, bare) for way in ways))


def packed_85(text: str):
    for match in re.findall(r"<~([^~]*)~>", text):
        yield decoded(base64.a85decode, match)
    for match in LETTERS_85.findall(text):
        letters = match.replace("\n", "")
        if len(letters) >= LEAST:
            both = (decoded(way, letters) for way in (base64.b85decode, base64.a85decode))
            yield from filter(sensible, both)


def uuencoded(text: str):
    for body in re.findall(r"^begin [0-7]{3} .*\n((?:[!-`].{0,61}\n)*)", text, re.MULTILINE):
        yield b"".join(decoded(binascii.a2b_uu, line) for line in body.splitlines())


def numbers(text: str):
    """69 6e 74, 0x69, 0x6e, \\x69\\x6e, the output of xxd and od, 105, 110, 116."""
    for run in PAIRS.findall(text):
        yield bytes.fromhex("".join(re.findall(r"(?:0x|\\x|%)?([0-9a-fA-F]{2})", run)))
    for pattern in DUMPS:
        dump = re.sub(r"\s", "", "".join(pattern.findall(text)))
        if len(dump) >= LEAST:
            yield decoded(bytes.fromhex, dump)
            yield decoded(bytes.fromhex, re.sub(r"(..)(..)", r"\2\1", dump))  # od -x: by twos
    for run in BITS.findall(text):
        bits = re.sub(r"\s", "", run)
        yield int(bits, 2).to_bytes(len(bits) // 8, "big")
    for run in DECIMALS.findall(text):
        values = [int(n) for n in re.findall(r"\d+", run)]
        if max(values) < 256:
            yield bytes(values)


QUOTED, PERCENT = re.compile(r"=[0-9A-F]{2}|=$"), re.compile(r"%[0-9a-fA-F]{2}")
UTF_7 = re.compile(r"\+A[A-Za-z][A-Za-z0-9+/]*-")  # a sign of ASCII, or several


def quoted(text: str):
    """Quoted-printable and UTF-7 of mail, %20 of addresses."""
    for block in near(text, QUOTED, 8):
        yield quopri.decodestring(block.encode("utf-8", "replace"))
    for block in near(text, PERCENT, 8):
        yield urllib.parse.unquote_plus(block)
    for block in near(text, UTF_7, 4):
        yield block.encode("utf-8").decode("utf-7", "replace")


# ---- text within text ----------------------------------------------------------------------------

PREFIX = re.compile(r"^[ \t]*(?:([^\w\s(){}\"]{1,3})|(\d+)[:.|)]?[ \t])")


def prefixed(text: str):
    """Four and more lines that begin alike, as of a quotation or with their numbers."""
    lines, block, last = text.splitlines(), [], None
    for line in [*lines, ""]:
        match = PREFIX.match(line)
        kind = (match[1] or "1") if match else None
        if block and kind != last:
            if len(block) >= 4:
                yield "\n".join(block)
            block = []
        last = kind
        if match:
            block.append(line[match.end():])


CHANGED = re.compile(r"^[+-].*[;{}]\s*$|^@@ ")
TAG, LATEX = re.compile(r"</[\w:.-]+>|&(?:\w{2,4}|#\d+|#x[0-9a-f]+);"), re.compile(r"\\[_{}&%#$]")
COLOUR = re.compile(r"(?:\x1b|\^\[)(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))|.\x08")
RTF = re.compile(r"\\'([0-9a-f]{2})|\\u(\d+)\??|\\(par|line|row|tab)\b ?|\\([{}\\])"
                 r"|\\\*?[a-z]*-?\d* ?|[{}\r\n]")


def difference(text: str):
    """A diff's two sides."""
    for block in near(text, CHANGED, 3):
        for other in "-+":
            yield "\n".join(line[1:] if line[:1] in ("+", "-", " ") else line
                            for line in block.split("\n") if not line.startswith(other))


def marked_up(text: str):
    """HTML and XML without their tags, a terminal's log without its colours, RTF and LaTeX without
    their commands."""
    for block in near(text, TAG, 3):
        block = re.sub(r"</(?:\w+:)?(?:p|li|tr|div|br)>", "\n", block)
        yield html.unescape(re.sub(r"</?[A-Za-z][^<>]*>", "", block))
    if COLOUR.search(text):
        yield COLOUR.sub("", text)
    if "{\\rtf" in text:
        yield RTF.sub(of_rtf, text)
    for block in near(text, LATEX, 4):
        bare = re.sub(r"\\\\(?=\s|$)", "", block.replace(r"\(\to\)", "->"))
        yield LATEX.sub(lambda match: match[0][1:], re.sub(r"\\[A-Za-z]+\*?\{?|\\[()]", "", bare))


def of_rtf(match: re.Match) -> str:
    if match[1] or match[2]:
        return chr(int(match[1], 16) if match[1] else int(match[2]))
    return {"": match[4] or "", "tab": "\t"}.get(match[3] or "", "\n")


def shown(text: str):
    """What a page of a PDF shows: strings between commands that place them."""
    if re.search(r"\)\s*(?:\]\s*TJ|Tj)\b", text):
        lines = re.split(r"\bT[Jjd*]\b", text)
        yield "\n".join(unescape("".join(re.findall(r"\(((?:[^()\\]|\\.)*)\)", line)))
                        for line in lines)


def disguised(text: str):
    """Fullwidth letters, invisible characters, letters moved on in the alphabet, mirrored."""
    if not text.isascii():
        plain = re.sub("[\u00ad\u200b-\u200f\u2060\ufeff]", "", unicodedata.normalize("NFKC", text))
        if plain != text:
            yield plain
    if text.count("erghea") + text.count("ibvq") >= 2:
        yield codecs.encode(text, "rot13")
    if text.count("nruter") + text.count("diov") >= 2:
        yield text[::-1]
        yield "\n".join(line[::-1] for line in text.splitlines())


READERS = {
    "comments": comments, "strings": strings, "escaped text": escapes, "base64, 32 or 16": packed,
    "base85": packed_85, "uuencode": uuencoded, "numbers": numbers,
    "signs of mail and addresses": quoted, "lines without what they begin with": prefixed,
    "diff": difference, "markup": marked_up, "page of a PDF": shown, "disguise": disguised,
}  # fmt: skip
