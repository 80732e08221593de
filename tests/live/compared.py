# SPDX-License-Identifier: LGPL-2.1-or-later
"""The busy programs of targets/compared: what they say of themselves while they are stopped, and
whether a stack is what they say."""
import bisect
import functools
import os
import re
import struct
import subprocess

from harness import TARGETS

RECORD_BYTES, RECORDS = 1024, 4  # record.h
HANDLERS = ("r_on_timer", "r_on_stack")
ET_EXEC = 2


def path_of(build):
    return os.path.realpath(os.path.join(TARGETS, "compared_" + build))


def with_symbols(build):
    """The file that has the build's symbols and tables: its own, unless it was stripped of them."""
    return path_of(build.replace("stripped", "O2"))


class Ranges:
    """[start, end) with a word for each, by address."""

    def __init__(self, rows):
        self.rows = sorted(rows)
        self.starts = [row[0] for row in self.rows]

    def at(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.rows[i][2] if i >= 0 and address < self.rows[i][1] else None


def functions(path):
    """The names of functions, a clone's that of what it was cloned from."""
    out = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True,
                         check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return Ranges((int(row[0], 16), int(row[0], 16) + int(row[1], 16), row[3].partition(".")[0])
                  for row in rows if len(row) == 4 and row[2] in "tTwW")


@functools.cache
def tables(path):
    """Where a file's code has call frame information, as readelf reads it."""
    out = subprocess.run(["readelf", "--debug-dump=frames", path], capture_output=True,
                         text=True).stdout
    return Ranges((int(start, 16), int(end, 16), True)
                  for start, end in re.findall(r" pc=([0-9a-f]+)\.\.([0-9a-f]+)", out))


@functools.cache
def expressions(path):
    """Which of it has an expression for where the frame begins."""
    out = subprocess.run(["readelf", "--debug-dump=frames", path], capture_output=True,
                         text=True).stdout
    parts = re.split(r" pc=([0-9a-f]+)\.\.([0-9a-f]+)", out)
    return Ranges((int(parts[i], 16), int(parts[i + 1], 16), True) for i in range(1, len(parts), 3)
                  if "DW_CFA_def_cfa_expression" in parts[i + 2])


def bias_of(pid, path):
    """Returns the difference between addresses in the process and in the file."""
    with open(path, "rb") as file:
        if struct.unpack_from("<H", file.read(18), 16)[0] == ET_EXEC:
            return 0
    with open(f"/proc/{pid}/maps") as maps:
        lines = [line.split() for line in maps]
    return next(int(line[0].partition("-")[0], 16) for line in lines if line[-1] == path)


class Program:
    """A stopped process, and the file with its records."""

    def __init__(self, pid, build, records):
        self.pid, self.build, self.records = pid, build, records
        self.functions = functions(with_symbols(build))
        self.bias = bias_of(pid, path_of(build))

    def recorded(self):
        """{tid: [function, ...]}, outermost first."""
        self.records.seek(0)
        result = {}
        for _ in range(RECORDS):
            words = struct.unpack("<128Q", self.records.read(RECORD_BYTES))
            if words[0]:
                called = words[2:2 + words[1]]
                result[words[0]] = [self.functions.at(word - self.bias) for word in called]
        return result

    def seen(self, lookups):
        """The functions on a stack that keep a record, outermost first."""
        names = [self.functions.at(address - self.bias) for address in lookups]
        return [name for name in reversed(names) if name and name.startswith("r_")]

    def without_tables(self, address, module):
        """Whether code has no call frame information."""
        return not self.asked(tables, address, module)

    def by_expression(self, address, module):
        """Whether an expression says where the frame begins."""
        return bool(self.asked(expressions, address, module))

    def asked(self, what, address, module):
        own = module == path_of(self.build)
        if module.startswith("["):
            return what is tables  # the kernel's code has them, and nothing else
        path = with_symbols(self.build) if own else os.path.realpath(module)
        return what(path).at(address - (self.bias if own else bias_of(self.pid, path)))


def agrees(seen, recorded):
    """Whether the functions on a stack are those of the record, as far as that can be: record.h."""
    i = 0
    for j, function in enumerate(seen):
        if i < len(recorded) and recorded[i] == function:
            i += 1
        elif not function.startswith("r_tail"):
            rest = seen[j + 1:]  # not in the record: then it is the last, or a signal came
            while function.startswith("r_leap") and rest and rest[0].startswith("r_leap"):
                rest = rest[1:]
            return (not rest or rest[0] in HANDLERS) and agrees(rest, recorded[i:])
    return i == len(recorded)
