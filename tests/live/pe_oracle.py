# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names and lines of PE files as binutils has them, and a comparison with ours.

addr2line (x86_64-w64-mingw32-addr2line -f -i -C -a) is another reader of the same DWARF, objdump -t of
the same COFF symbols. What they print may also have been recorded.
"""
import os
import re
import struct
import subprocess
from bisect import bisect_right

from harness import TARGETS

DRIVER = os.path.join(TARGETS, "drive_names")
CROSS = "x86_64-w64-mingw32-"
# The compiler's own: the symbol table names the clone, DWARF the function that it was made of.
CLONE = re.compile(r"(\.(part|constprop|isra|cold)(\.\d+)?)+$")


class Headers:
    """The parts of a PE file's headers that the comparison needs: preferred base, code sections, functions."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        header, = struct.unpack_from("<I", data, 0x3c)
        self.n_symbols, = struct.unpack_from("<I", data, header + 16)
        n_sections, = struct.unpack_from("<H", data, header + 6)
        optional, = struct.unpack_from("<H", data, header + 20)
        self.base, = struct.unpack_from("<Q", data, header + 48)
        sections = [struct.unpack_from("<8sIIII12xI", data, header + 24 + optional + 40 * i)
                    for i in range(n_sections)]
        self.starts = [rva for _, _, rva, _, _, _ in sections]
        self.code = [(rva, rva + size) for _, size, rva, _, _, flags in sections
                     if flags & 0x20000000]
        rva, size = struct.unpack_from("<II", data, header + 24 + 112 + 8 * 3)
        self.functions = []
        for _, _, start, length, offset, _ in sections:
            if start <= rva < start + length:
                self.functions = [struct.unpack_from("<II", data, offset + rva - start + at)
                                  for at in range(0, size - 11, 12)]

    def function_of(self, rva):
        """The [begin, end) that holds the address, or None."""
        index = bisect_right(self.functions, (rva, 0xffffffff)) - 1
        if index >= 0 and self.functions[index][0] <= rva < self.functions[index][1]:
            return self.functions[index]
        return None


def ours(path, rvas, *options):
    """{rva: [(function, offset, "file:line"), ...]}, innermost first; the source; microseconds."""
    run = subprocess.run([DRIVER, path, *options], input="\n".join(f"{rva:x}" for rva in rvas),
                         capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    found = {}
    for line in lines[:-2]:
        rva, *rest = line.split("\t")
        frames = "\t".join(rest).split("\t|\t")
        found[int(rva, 16)] = [(f, int(o), p) for f, o, p in (x.split("\t") for x in frames)]
    return found, lines[-2].split()[1], int(lines[-1].split()[1])


def run_addr2line(path, base, rvas):
    command = [CROSS + "addr2line", "-f", "-i", "-C", "-a", "-e", path]
    return subprocess.run(command, input="\n".join(f"{base + rva:x}" for rva in rvas),
                          capture_output=True, text=True, check=True).stdout


def parse_addr2line(text, base):
    """{rva: [(function, "file:line"), ...]}, innermost first."""
    found, frames = {}, []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            frames = found.setdefault(int(line, 16) - base, [])
        else:
            frames.append((line, next(lines)))
    return found


def run_objdump(path):
    return subprocess.run([CROSS + "objdump", "-t", path], capture_output=True, text=True,
                          check=True).stdout


def parse_objdump(text, starts):
    """Sorted [(rva, name, whether it can be entered)] of what lies in sections."""
    pattern = re.compile(r"\[ *\d+\]\(sec +(\d+)\)\(fl 0x\w+\)\(ty +(\w+)\)\(scl +(\d+)\) "
                         r"\(nx (\d+)\) 0x(\w+) (.*)")
    found = []
    for match in map(pattern.match, text.splitlines()):
        if match is None or match[1] == "0" or match[3] not in ("2", "3", "6", "105"):
            continue
        function = match[2] == "20"
        if function or (match[3] == "2" or match[4] == "0"):
            entry = function or match[3] in ("2", "105")
            found.append((starts[int(match[1]) - 1] + int(match[5], 16), match[6], entry))
    return sorted(found)


def parse_sections(text, starts):
    """{rva: NAME} of the object files' own .text$NAME sections (-ffunction-sections)."""
    pattern = re.compile(r"\[ *\d+\]\(sec +(\d+)\)\(fl 0x\w+\)\(ty +0\)\(scl +3\) "
                         r"\(nx 1\) 0x(\w+) \.text\$(.*)")
    return {starts[int(match[1]) - 1] + int(match[2], 16): match[3]
            for match in map(pattern.match, text.splitlines()) if match}


def position(text):
    """A file and line in one spelling; None for unknown ones."""
    path, _, line = text.split(" (discriminator")[0].rpartition(":")
    if line in ("0", "?", "") or path in ("?", "??", "fake"):
        return None
    return f"{os.path.normpath(path)}:{line}"


def demangle(name):
    run = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True)
    return run.stdout.strip()


class Comparison:
    """Counts what agrees; .wrong has what does not."""

    def __init__(self, headers, dwarf, symbols, sections=None):
        self.headers, self.dwarf, self.symbols = headers, dwarf, symbols
        self.sections = sections or {}
        self.addresses = self.named = self.with_lines = self.inlined = 0
        self.wrong = []

    def lines(self, rva, frames):
        theirs = self.dwarf.get(rva)
        wanted = [position(p) for _, p in theirs]
        got = [position(p) for _, _, p in frames]
        if wanted[0] is None:
            if got[0] is not None:
                self.wrong.append((hex(rva), "line", frames, theirs))
            return
        self.with_lines += 1
        self.inlined += len(wanted) > 1
        names = [CLONE.sub("", f) for f, _, _ in frames]
        if got != wanted:
            self.wrong.append((hex(rva), "line", frames, theirs))
        elif theirs[-1][0] != "??" and names != [CLONE.sub("", f) for f, _ in theirs]:
            self.wrong.append((hex(rva), "function", frames, theirs))

    def symbol(self, rva, frames):
        """The nearest symbol of the address's function, or none when that has no symbol."""
        name, offset, _ = frames[-1]
        function = self.headers.function_of(rva)
        index = bisect_right(self.symbols, (rva, "\xff" * 8, True))
        before = [s for s in self.symbols[max(0, index - 64):index]]
        entries = [s for s in before if s[2]]
        if name == "?":
            inside = function and [s for s in entries if s[0] >= function[0]]
            if inside or self.dwarf.get(rva, [("??", "")])[-1][0] != "??":
                self.wrong.append((hex(rva), "unnamed", inside, self.dwarf.get(rva)))
            return
        self.named += 1
        start = rva - offset
        there = [n for at, n, _ in before if at == start]
        if function and start == function[0] and not there:
            # Some static functions have no symbol: then it is their section's name, or DWARF's.
            wanted = self.sections.get(start) or self.dwarf.get(rva, [("??", "")])[-1][0]
            if name != wanted:
                self.wrong.append((hex(rva), "not its section's or DWARF's name", (name, offset),
                                   wanted))
            return
        if name not in there and name not in [demangle(n) for n in there]:
            self.wrong.append((hex(rva), "not its name", (name, offset), there))
        elif function and start >= function[0] and entries and entries[-1][0] > start:
            self.wrong.append((hex(rva), "not the nearest", (name, offset), entries[-1]))

    def compare(self, found):
        for rva, frames in sorted(found.items()):
            self.addresses += 1
            self.lines(rva, frames)
            self.symbol(rva, frames)
        return self
