"""A session with the server by its own protocol, for programs that compare what it tells.

psql shows no more than it likes of an answer, and sends no data to a function that asks for them.
"""

import os
import socket
import struct

# Fields of an error or a notice that a comparison may look at.
FIELDS = {"S": "severity", "C": "code", "M": "message", "D": "detail", "H": "hint", "W": "context", "s": "schema", "t": "table",
          "c": "column", "d": "type", "n": "constraint"}


class Lost(Exception):
    """The session has ended."""


class Answer:
    """What the server told of a statement, or of several in one string."""

    def __init__(self):
        self.rows = []
        self.tags = []
        self.notices = []
        self.error = None

    @property
    def code(self):
        """SQLSTATE of the error; 00000: there was none."""
        return self.error["code"] if self.error else "00000"

    @property
    def message(self):
        return self.error["message"] if self.error else ""

    def said(self):
        """All of it, as text."""
        return "\n".join([str(row) for row in self.rows] + [str(sorted(told.items())) for told in self.notices + ([self.error] if self.error else [])])


class Session:
    def __init__(self, database, user=None, timeout=60, **settings):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect("%s/.s.PGSQL.%s" % (os.environ["PGHOST"], os.environ.get("PGPORT", "5432")))
        self.buffer = b""
        words = ["user", user or os.environ.get("PGUSER", "postgres"), "database", database, "client_encoding", "UTF8"]
        for name, value in settings.items():
            words += [name, str(value)]
        body = struct.pack("!i", 196608) + b"".join(word.encode() + b"\0" for word in words) + b"\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.pid = None
        started = self._answer(b"")
        if started.error:
            raise Lost(started.message)

    def run(self, sql, data=b""):
        """data: what is sent when the server asks for it."""
        self._send(b"Q", sql.encode("utf-8", "surrogateescape") + b"\0")
        return self._answer(data)

    def close(self):
        self.socket.close()

    def _send(self, kind, body):
        try:
            self.socket.sendall(kind + struct.pack("!i", len(body) + 4) + body)
        except OSError as error:
            raise Lost(str(error))

    def _message(self):
        while len(self.buffer) < 5 or len(self.buffer) < 1 + struct.unpack("!i", self.buffer[1:5])[0]:
            try:
                more = self.socket.recv(65536)
            except OSError as error:
                raise Lost("no answer: %s" % error)
            if not more:
                raise Lost("the connection was lost")
            self.buffer += more
        end = 1 + struct.unpack("!i", self.buffer[1:5])[0]
        kind, body = self.buffer[:1], self.buffer[5:end]
        self.buffer = self.buffer[end:]
        return kind, body

    def _answer(self, data):
        answer = Answer()
        while True:
            kind, body = self._message()
            if kind == b"Z":
                return answer
            if kind == b"E":
                answer.error = told_fields(body)
                if answer.error["severity"] in ("FATAL", "PANIC"):
                    raise Lost(answer.error["message"])
            elif kind == b"N":
                answer.notices.append(told_fields(body))
            elif kind == b"C":
                answer.tags.append(body[:-1].decode())
            elif kind == b"D":
                answer.rows.append(row_values(body))
            elif kind == b"K":
                self.pid = struct.unpack("!i", body[:4])[0]
            elif kind == b"G":
                self._copy_in(data)

    def _copy_in(self, data):
        for at in range(0, len(data), 30000):
            self._send(b"d", data[at:at + 30000])
        self._send(b"c", b"")


def told_fields(body):
    fields = {}
    for part in body.split(b"\0"):
        name = FIELDS.get(part[:1].decode("latin-1"))
        if name:
            fields[name] = part[1:].decode("utf-8", "replace")
    return fields


def row_values(body):
    values, at = [], 2
    for _ in range(struct.unpack("!h", body[:2])[0]):
        length = struct.unpack("!i", body[at:at + 4])[0]
        at += 4
        values.append(None if length < 0 else body[at:at + length].decode("utf-8", "replace"))
        at += max(length, 0)
    return tuple(values)
