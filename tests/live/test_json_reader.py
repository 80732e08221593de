#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Our JSON reader against Python's on texts that are well-formed, and on mutations of them."""
import glob
import json
import os
import re
import struct
import subprocess

from harness import BUILD, Tap, seeded

DRIVER = os.path.join(BUILD, "tests", "targets", "drive_json")
CORPORA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "corpus")
MADE, MUTATED = 400, 4000
DEPTH_MAX = 64
INT64 = range(-2**63, 2**63)
# The tokens that are put into a text: everything that the grammar knows, and what looks like it.
TOKENS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\u0000", b"\\ud83d", b"\\ude00", b"\\ud83d\\ud83d",
          b"\\u00e9", b"\\n", b"\\x", b"true", b"false", b"null", b"NaN", b"-Infinity", b"0", b"01", b"-",
          b"-0", b"1.", b".5", b"1e5", b"1E+400", b"9223372036854775808", b" ", b"\t", b"\r\n", b"\x0b",
          b"\x00", b"\x1f", b"\x7f", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80",
          b"\xf4\x90\x80\x80", b"\xef\xbf\xbd", b"\xef\xbb\xbf", b'"a":1', b'"a"', b"/**/", b"'"]


class Refused(Exception):
    pass


class Number(str):
    """A number as it is written."""


def refuse(what):
    raise Refused(what)


class Theirs:
    """A text as Python reads it, with the rules of json.h on top."""

    def __init__(self, text):
        self.twice = False
        self.portable = True
        self.length = None
        try:
            value = json.loads(text.decode("utf-8"), parse_int=Number, parse_float=Number,
                               parse_constant=refuse, object_pairs_hook=self.members)
            self.tree = self.dump(value, 0)
        except (UnicodeDecodeError, ValueError, Refused, RecursionError):
            self.tree = None
            return
        if isinstance(value, (list, tuple)):
            self.length = len(value)

    def members(self, pairs):
        self.twice |= len({name for name, _ in pairs}) < len(pairs)
        return tuple(pairs)

    def dump_string(self, text):
        if re.search("[\0\ud800-\udfff]", text):
            refuse("a NUL, or half a character")
        return "s" + text.encode("utf-8").hex()

    def dump_number(self, text):
        whole = re.fullmatch("-?[0-9]+", text)
        if whole and int(text) in INT64:
            return f"i{int(text)}"
        exponent = re.search("[eE][-+]?([0-9]+)$", text)
        if whole or len(text) > 40 or (exponent and len(exponent.group(1)) > 2):
            self.portable = False
        return "d" + text

    def dump(self, value, depth):
        if isinstance(value, Number):
            return self.dump_number(value)
        if isinstance(value, str):
            return self.dump_string(value)
        if value is None or isinstance(value, bool):
            return {None: "n", True: "t", False: "f"}[value]
        if depth == DEPTH_MAX:
            refuse("too deep")
        if isinstance(value, list):
            return "[" + "".join(self.dump(v, depth + 1) + " " for v in value) + "]"
        return "{" + "".join(f"{self.dump_string(name)} {self.dump(v, depth + 1)} "
                             for name, v in value) + "}"

    def line(self, text):
        """Returns the line that the driver should print."""
        well = self.tree is not None
        check = "ok" if well and self.portable else "no"
        scan = "-" if text.lstrip(b" \t\r\n")[:1] not in (b"{", b"[") else "no"
        if well and self.length is not None:
            scan = f"ok:{self.length}"
        tree = f"ok {self.tree}" if well and not self.twice else "no -"
        return f"{check} {scan} {tree}"


def make(rng, depth=0):
    """A well-formed value as text."""
    kind = rng.randrange(7 if depth < 6 else 5)
    space = lambda: rng.choice([b"", b"", b" ", b"\n\t", b"\r"])
    string = lambda: b'"' + b"".join(rng.choice([
        b"a", b"bc", b"\\u0041", b"\\ud83d\\ude00", b"\\\\", b'\\"', b"\\/", b"\\b", b"\xc3\xa9",
        b"\xf0\x9f\x98\x80", b"\\uFFFF", b"\x7f", b" "]) for _ in range(rng.randrange(5))) + b'"'
    if kind == 0:
        return rng.choice([b"null", b"true", b"false"])
    if kind in (1, 2):
        return string()
    if kind == 3:
        return str(rng.choice([0, -1, 7, 2**63 - 1, -2**63, rng.randrange(-2**70, 2**70)])).encode()
    if kind == 4:
        return rng.choice([b"-0", b"0.5", b"1e9", b"-2.50E-07", b"1.5e+300", b"0.1" + b"3" * 40])
    close, parts = (b"]", []) if kind == 5 else (b"}", [])
    for _ in range(rng.randrange(5)):
        name = b"" if kind == 5 else rng.choice([string(), b'"a"', b'"\\u0062"', b'"b"']) + space() + b":"
        parts.append(space() + name + space() + make(rng, depth + 1) + space())
    return (b"[" if kind == 5 else b"{") + b",".join(parts) + close


def mutate(rng, text):
    for _ in range(rng.randrange(1, 4)):
        at, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        end = min(end, at + 8)
        text = rng.choice([
            lambda: text[:at] + rng.choice(TOKENS) + text[at:],
            lambda: text[:at] + rng.choice(TOKENS) + text[end:],
            lambda: text[:at] + text[end:],
            lambda: text[:at] + text[at:end] + text[at:],
            lambda: text[:at] + bytes([rng.randrange(256)]) + text[at + 1:],
            lambda: text[:at] + b"[" * rng.choice([1, 60, 66]) + text[at:],
            lambda: text[:at],
        ])()
    return text


def all_texts():
    rng = seeded(11)
    files = sorted(glob.glob(os.path.join(CORPORA, "fuzz_json", "*"))
                   + glob.glob(os.path.join(CORPORA, "fuzz_alerts", "*"))
                   + glob.glob(os.path.join(CORPORA, "fuzz_clr_contract", "*")))
    texts = [open(path, "rb").read() for path in files]
    texts += [b"[" * n + b"]" * n for n in (1, DEPTH_MAX, DEPTH_MAX + 1)] + TOKENS
    texts += [make(rng) for _ in range(MADE)]
    seeds = [text for text in texts if 0 < len(text) < 2000]
    return texts + [mutate(rng, rng.choice(seeds)) for _ in range(MUTATED)]


def test_against_python(tap):
    texts = all_texts()
    data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    lines = subprocess.run([DRIVER], input=data, stdout=subprocess.PIPE,
                           check=True).stdout.decode().splitlines()
    tap.equal(len(lines), len(texts), "every text has an answer")
    theirs = [Theirs(text) for text in texts]
    wanted = [t.line(text) for t, text in zip(theirs, texts)]
    wrong = [(text, got, want) for text, got, want in zip(texts, lines, wanted) if got != want]
    tap.equal(wrong[:3], [], f"{len(texts)} texts are taken, refused and read as by Python")
    # The mutations must not be all of one kind.
    mutated = theirs[-MUTATED:]
    taken = sum(t.tree is not None for t in mutated)
    tap.check(400 < taken < MUTATED - 400, "mutations are taken and refused", taken)
    tap.check(sum(t.twice and t.tree is not None for t in theirs) > 20, "names come twice")
    tap.check(sum(not t.portable and t.tree is not None for t in theirs) > 20, "numbers are of any size")


if __name__ == "__main__":
    Tap.main(test_against_python)
