"""Files for copy.py: dialects, encodings, and rows as bytes.

A field is a text, NULL, DEFAULT, or Raw: what stands in the file as it is.
"""

import codecs
import struct

NULL = None
DEFAULT = object()


class Raw(str):
    pass


# PostgreSQL's name: Python's name, and letters that only such files can have;
# of many the last byte is an ASCII character that means something in a file.
ENCODINGS = {
    "UTF8": ("utf-8", "\u00e9\u20ac\u65e5\U0001f600"),
    "LATIN1": ("latin-1", "\u00e9\u00fc\u00ff\u00a0\u00c4"),
    "LATIN2": ("iso8859-2", "\u0105\u0142\u017e\u00e9"),
    "WIN1252": ("cp1252", "\u20ac\u201c\u201d\u0160\u00e9\u017d"),
    "WIN1251": ("cp1251", "\u0416\u0451\u2116\u044f"),
    "SJIS": ("cp932", "\u8868\u30bd\u80fd\u4e88\u9ed1\uff71\u65e5\uff5e\u53e2"),
    "SHIFT_JIS_2004": ("shift_jis_2004", "\u8868\u30bd\u80fd\uff71\u65e5"),
    "BIG5": ("cp950", "\u529f\u8a31\u84cb\u5e97\u65e5\u4e2d\u4e00\u6587"),
    "GBK": ("gbk", "\u65e5\u4e2d\u4e02\u4e60\u8a8c\u8b5c\u6671\u4e2f\u8aaa"),
    "GB18030": ("gb18030", "\u65e5\u4e02\u8a8c\u00e9\U0001f600\u3400\u0451\U00020000"),
    "EUC_JP": ("euc_jp", "\u8868\u65e5\uff71\u4e9c\u5f0c"),
    "EUC_KR": ("euc_kr", "\ud55c\uad6d\uc5b4"),
    "EUC_CN": ("gb2312", "\u65e5\u4e2d\u6587"),
    "UHC": ("cp949", "\ud55c\uac02\uac03\ub620\uc60f\uc73c\ud7a3"),
    "JOHAB": ("johab", "\ud55c\uad6d\uc5b4\ub625"),
    "SQL_ASCII": ("utf-8", "\u00e9\u65e5"),
}

# Pieces of text that are broken in one encoding or another.
BAD_BYTES = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\x80", b"\x00", b"\x81", b"\x81\x20",
             b"\xfe\xfe", b"\x8f\xa1", b"\x8e", b"\x81\x30\x81", b"\xa0\xff", b"\x9d", b"\xe3\x80\xff", b"\x85\x5c", b"\xfd", b"\x81\x0a", b"\x81\x22"]


class Swap:
    """Letters that an encoding lacks become letters that it has."""

    def __init__(self, encoding):
        self.codec, letters = ENCODINGS[encoding]
        self.name = "swap-" + encoding
        codecs.register_error(self.name, lambda e: ("".join(letters[ord(c) % len(letters)] for c in e.object[e.start:e.end]), e.end))

    def encode(self, text):
        if self.codec == "shift_jis_2004":
            # where Python has characters of two bytes for \ and ~
            return b"".join(c.encode("ascii" if c < "\x80" else self.codec, self.name) for c in text)
        return text.encode(self.codec, self.name)

    def decode(self, text):
        """The text as a database of this encoding can have it."""
        return self.encode(text).decode(self.codec)


SWAPS = {name: Swap(name) for name in ENCODINGS}


class Dialect:
    def __init__(self, rng, version, format=None, plain=False):
        self.format = format or rng.choice(["csv", "csv", "csv", "text"])
        csv = self.format == "csv"
        self.delimiter, self.quote, self.escape = ",", '"', '"'
        self.null = ""
        if not csv:
            self.delimiter, self.null = "\t", "\\N"
        self.default = None
        self.header = False
        self.encoding = None
        self.eol = rng.choice(["\n", "\n", "\n", "\r\n", "\r\n", "\r"])
        if not plain:
            self.vary(rng, version, csv)

    def vary(self, rng, version, csv):
        if rng.random() < 0.4:
            self.delimiter = rng.choice(";|\t ~:,\x01^A" if csv else ",;| ~:\x01^A")
        if csv and rng.random() < 0.3:
            self.quote = self.escape = rng.choice([q for q in "'\"~$\\`|" if q != self.delimiter])
        if csv and rng.random() < 0.3:
            self.escape = rng.choice("\\'\"!" + self.quote)
        if rng.random() < 0.4:
            self.null = rng.choice(["NULL", "\\N", "", "null", "-", "n/a", "NUL", "\\\\N", "NULL ", "\\"] + (["\\null"] if csv else []))
        if version >= 16 and rng.random() < 0.3:
            self.default = rng.choice(["\\D", "DEFAULT", "?", "D"])
        if rng.random() < 0.3:
            self.header = rng.choice([True, True, "match"])
        for marker in (self.null, self.default):
            if marker and (self.delimiter in marker or (csv and self.quote in marker)):
                if marker is self.null:
                    self.null = ""
                self.default = None
        if self.default == self.null:
            self.default = None

    def options(self):
        """Of COPY, by name; what is not said is csv's default."""
        csv = self.format == "csv"
        options = {"format": self.format}
        for name, value, usual in (("delimiter", self.delimiter, "," if csv else "\t"), ("quote", self.quote, '"'),
                                   ("escape", self.escape, self.quote), ("null", self.null, "" if csv else "\\N"),
                                   ("default", self.default, None), ("encoding", self.encoding, None), ("header", self.header, False)):
            if value != usual and (csv or name not in ("quote", "escape")):
                options[name] = value
        return options

    # ---- one field ----

    def write(self, rng, field):
        if isinstance(field, Raw):
            return str(field)
        if field is NULL:
            return self.null
        if field is DEFAULT:
            return self.default
        return self.write_csv(rng, field) if self.format == "csv" else self.write_text(rng, field)

    def write_csv(self, rng, text):
        special = {self.delimiter, self.quote, "\r", "\n"}
        if text not in (self.null, self.default) and not special & set(text) and rng.random() < 0.6:
            return text
        out = ""
        for c in text:
            if c == self.quote or (c == self.escape and self.escape != self.quote):
                out += self.escape
            out += c
        return self.quote + out + self.quote

    SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}

    def write_text(self, rng, text):
        special = {self.delimiter, "\\", "\r", "\n"}
        play = rng.random() < 0.1
        out = ""
        for c in text:
            if c in special or (play and rng.random() < 0.3):
                kind = rng.randrange(4)
                if c in self.SHORT and kind < 2:
                    out += "\\" + self.SHORT[c]
                elif ord(c) < 128 and kind == 1:
                    out += "\\x%02x" % ord(c)
                elif ord(c) < 128 and kind == 2:
                    out += "\\%03o" % ord(c)
                elif c in "bfnrtvx01234567.N":
                    out += c
                else:
                    out += "\\" + c
            else:
                out += c
        if out in (self.null, self.default):
            out = "".join("\\x%02x" % ord(c) if ord(c) < 128 else c for c in text)
        return out

    def row(self, rng, fields):
        """The row without its line end, as text."""
        return self.delimiter.join(self.write(rng, f) for f in fields)

    def encode(self, text, encoding):
        return SWAPS[encoding].encode(text)


# What may stand in a field of a file that nobody has made with care; {d} is
# the delimiter, {q} the quote, {e} the escape.
NASTY_CSV = ["{q}a", "a{q}b", "{q}{q}{q}{q}", "{q}a{q} b", "\\.", "\\N", "", " ", "{q}a\nb{q}", "{q}a\r\nb{q}", "{q}a\rb{q}", "{q}a{e}{q}b{q}", "{q}{e}{e}{q}", "a{e}b",
             "{q}a{d}b{q}", "{q}{q}", "{q}{q}{d}", "a{q}{q}b", "{q}a{q}{q}", " {q}a{q}", "{q}a{q}{q}b{q}c", "\r", "\n", "\r\n", "{e}{q}", "{q}{e}", "{q}\\.\n{q}", "{q}\n\\.\n{q}",
             "{q}a{q}b{q}c{q}", "{q}{d}", "{q}a{e}b{q}", "a\n", "\\", "\\\\", "\\.{d}"]
NASTY_TEXT = ["\\", "\\\\", "\\.", "a\\.", "\\.b", "\\N", "\\Na", "\\n", "a\\\nb", "a\\\r\nb", "\\x4", "\\x", "\\xg", "\\8", "\\1", "\\18", "\\012", "\\377", "\\xc3\\xa9", "\\xff", "\\303",
              "\\0", "\\000", "\\x00", "\r", "\n", "\r\n", "\\r", "\\q", "\\{d}", "a\\{d}b", "{d}", "\"a\"", "", " ", "\\x414", "\\1011", "\\\\N", "\\N ", "\\.\n", "\n\\.\n", "\n\\.\r\n", "\\b\\f\\v\\t"]


def nasty(rng, dialect):
    text = rng.choice(NASTY_CSV if dialect.format == "csv" else NASTY_TEXT)
    return Raw(text.replace("{d}", dialect.delimiter).replace("{q}", dialect.quote).replace("{e}", dialect.escape))


def spoil(rng, data):
    """Bytes that are no text, or cut text, somewhere."""
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randint(0, len(data))
        kind = rng.randrange(3)
        if kind == 0 or not data:
            data = data[:at] + rng.choice(BAD_BYTES) + data[at:]
        elif kind == 1:
            data = data[:at] + data[at + 1:]
        else:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
    return data


# ---- the binary format ----

HEADER = b"PGCOPY\n\xff\r\n\0"


def binary_rows(data):
    """Where rows and their fields' lengths stand in a sound file."""
    at = 19
    rows = []
    while True:
        count = struct.unpack_from(">h", data, at)[0]
        if count < 0:
            return rows
        row = [at]
        at += 2
        for _ in range(count):
            row.append(at)
            at += 4 + max(0, struct.unpack_from(">i", data, at)[0])
        rows.append(row)


def corrupt_binary(rng, data):
    rows = binary_rows(data)
    kind = rng.randrange(12)
    if kind == 0:
        return data[:rng.randint(0, len(data))]
    if kind == 1:
        return data[:-2] + rng.choice([b"", b"\xff", b"\xff\xfe", b"\0", b"\0\0\0"])
    if kind == 2:
        return data + rng.choice([b"x", b"\n", b"\xff\xff", data])
    if kind == 3:
        flags = rng.choice([1, 1 << 15, 1 << 16, 1 << 17, 1 << 31])
        return data[:11] + struct.pack(">I", flags) + data[15:]
    if kind == 4:
        size = rng.choice([1, 5, 1000])
        extension = b"e" * rng.choice([size, size, size - 1])
        return data[:15] + struct.pack(">i", rng.choice([size, size, size, -1, 2 ** 31 - 1])) + extension + data[19:]
    if kind == 5:
        return data[:rng.randrange(11)] + b"?" + data[rng.randrange(11) + 1:]
    if not rows:
        return data
    row = rng.choice(rows)
    if kind < 8:
        count = rng.choice([0, -1, -2, len(row), len(row) - 2, 32767, 1])
        return data[:row[0]] + struct.pack(">h", count) + data[row[0] + 2:]
    if kind < 10 and len(row) > 1:
        at = rng.choice(row[1:])
        old = struct.unpack_from(">i", data, at)[0]
        size = rng.choice([-1, -2, old + 1, old - 1, 0, 2 ** 31 - 1, 2 ** 30, -2 ** 31])
        return data[:at] + struct.pack(">i", max(-2 ** 31, size)) + data[at + 4:]
    at = rng.randrange(19, len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
