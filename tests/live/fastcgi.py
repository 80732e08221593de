# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client of FastCGI over a Unix socket: one request each connection.

Source: FastCGI Specification 1.0, sections 3.3, 5.1 and 5.2.
"""
import socket
import struct

BEGIN, END, PARAMS, STDIN, STDOUT, STDERR = 1, 3, 4, 5, 6, 7
RESPONDER = 1


def record(kind, content=b""):
    return struct.pack("!BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def pair(name, value):
    name, value = name.encode(), value.encode()
    return struct.pack("!II", len(name) | 1 << 31, len(value) | 1 << 31) + name + value


def exactly(stream, n):
    found = stream.read(n)
    if len(found) != n:
        raise ConnectionError("the answer ends too early")
    return found


def request(path, script, query="", uri=None):
    """Returns the script's answer: headers and body."""
    params = {"SCRIPT_FILENAME": script, "REQUEST_METHOD": "GET", "QUERY_STRING": query,
              "REQUEST_URI": uri or f"/{query}", "SCRIPT_NAME": "/", "SERVER_PROTOCOL": "HTTP/1.1"}
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(path)
        sock.sendall(record(BEGIN, struct.pack("!HB5x", RESPONDER, 0))
                     + record(PARAMS, b"".join(pair(*p) for p in params.items())) + record(PARAMS) + record(STDIN))
        out = b""
        with sock.makefile("rb") as stream:
            while True:
                _, kind, _, length, padding, _ = struct.unpack("!BBHHBB", exactly(stream, 8))
                content = exactly(stream, length)
                exactly(stream, padding)
                if kind == STDOUT:
                    out += content
                elif kind == END:
                    return out
