#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 60s
"""snapwalk leaks --of maps: of a program that maps and unmaps at random and writes down whose each page is, each stack has
those calls and bytes; and each page that is mapped in the end is accounted for.
"""
import gzip
import os
import re
import tempfile

from harness import Tap, Target, iterator_refused, seeded
from held import CALLS_AND_BYTES, answer_without, found, nothing_lost, program_again, turn
from test_events import Run


def begin(target, *args):
    return Run("leaks", "--of", "maps", *args, "-d", 0, target.pid)


def mapped(pid):
    """Bytes that a process has mapped, without the kernel's page."""
    total = 0
    with open(f"/proc/{pid}/maps") as file:
        for line in file:
            first, last = (int(n, 16) for n in line.split()[0].split("-"))
            total += last - first if first < 1 << 63 else 0
    return total


def accounted(tap, name, answer, target):
    nothing_lost(tap, name, answer)
    total = mapped(target.pid)
    tap.equal(answer["outstanding_bytes"] + answer["before_bytes"], total, f"{name}: each byte is accounted for")


def rows(tap):
    """C: by seeds, of which a failing one is said."""
    for seed in (1, 2, seeded(3).randrange(1 << 30)):
        with Target("mappings") as target:
            run = begin(target, "--json")
            told = turn(target, f"go {seed}")
            status, answer = run.answer()
            sums = found(answer, told, CALLS_AND_BYTES)
            tap.equal({name: sums[name] for name in told}, told, f"seed {seed}: each row is what the program wrote down")
            tap.equal(status, 0, f"seed {seed}: status")
            accounted(tap, f"seed {seed}", answer, target)


def program(tap):
    """execve(2) gives up all, and what the new program begins with was there before."""
    with Target("mappings") as target:
        run = begin(target, "--json")
        told = turn(target, "go 3")
        again = program_again(target, "go 4")
        answer = run.answer()[1]
        sums = found(answer, told, CALLS_AND_BYTES)
        wanted = {name: (told[name][0] + again[name][0], told[name][1] + again[name][1], *again[name][2:]) for name in told}
        tap.equal({name: sums[name] for name in told}, wanted, "execve: what was mapped before is gone")
        accounted(tap, "execve", answer, target)


def unseen(tap):
    """Memory that nobody saw is a figure of its own: memory that is mapped by shmat(2), and unmapped by 32-bit code."""
    with Target("mappings") as target:
        run = begin(target, "--json")
        turn(target, "unseen")
        answer = run.answer()[1]
        tap.equal((answer["unknown_origin"], answer["unknown_bytes"], answer["closed_unseen"], answer["unseen_bytes"]),
                  (1, 5 * 4096, 1, 3 * 4096), "mapped and unmapped unseen")
        tap.equal([(s["acquired"], s["outstanding"], s["outstanding_bytes"]) for s in answer["stacks"]], [(1, 1, 4096)],
                  "unmapped unseen: what is left")


def data_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmData:"))


def threads_that_end(tap):
    """Threads that unmap and end leave nothing behind in the command: 10,000 of them would be more than 2 MiB."""
    with Target("mappings") as target:
        run = begin(target, "--json")
        turn(target, "end")
        before = data_kib(run.process.pid)
        turn(target, "end")
        after = data_kib(run.process.pid)
        answer = run.answer()[1]
        tap.check(after - before < 1024, "threads that end: the command does not grow", (before, after))
        tap.equal((answer["unknown_origin"], answer["closed_unseen"]), (0, 0), "threads that end: nothing is unknown")


def text(tap):
    with Target("mappings") as target:
        run = begin(target)
        turn(target, "go 5")
        status, out, err = run.end()
        tap.check(re.search(r": \d+ mappings acquired, \d+ released; grows by [\d.]+ [MG]iB a minute, \d+ % of it from by_threads "
                            r"mappings\.c:\d+$", out.splitlines()[0]), "text: the verdict comes first", out)
        tap.check(re.search(r"^ +[\d.]+ [KM]iB +\d+ +\d+ +\d+ .*mmap < over mappings\.c", out, re.M), "text: a row", out)
    with Target("mappings") as target:
        run = begin(target, "--json")
        turn(target, "go 6")
        answer = answer_without(run, target)
        tap.equal((answer["checked"], answer["open"]), (False, 0), "a process that has ended: it is not checked")
        tap.check(answer["acquired"] > 1000 and answer["lost"] == 0, "a process that has ended: what was seen is there")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def packed(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def pprof_rows(data, names):
    """Types of values, and their sums by the innermost function of those names."""
    message = [pair for pair in fields(data)]
    strings = [value.decode() for number, value in message if number == 6]
    functions, locations, sums = {}, {}, dict.fromkeys(names, (0, 0, 0, 0))
    for number, value in message:
        if number == 5:
            function = dict(fields(value))
            functions[function[1]] = strings[function[2]]
    for number, value in message:
        if number == 4:
            lines = [dict(fields(line)) for key, line in fields(value) if key == 4]
            locations[dict(fields(value))[1]] = [functions[line[1]] for line in lines]
    for number, value in message:
        if number == 2:
            sample = dict(fields(value))
            stack = [name for location in packed(sample[1]) for name in locations[location]]
            name = next((function for function in stack if function in names), "-")
            row = tuple(packed(sample[2]))
            sums[name] = tuple(a + b for a, b in zip(sums.get(name, (0, 0, 0, 0)), row))
    types = ["/".join(strings[n] for _, n in fields(value)) for number, value in message if number == 1]
    return types, sums


def formats(tap):
    """By the end of the file's name: the same figures."""
    with tempfile.TemporaryDirectory() as directory:
        def made(end):
            path = os.path.join(directory, f"leaks.{end}")
            with Target("mappings") as target:
                run = begin(target, "-o", path)
                told = turn(target, "go 7")
                status, out, err = run.end()
                tap.equal((status, out), (0, ""), f"{end}: status, and nothing else is printed")
            with open(path, "rb") as file:
                return told, file.read()

        told, data = made("folded")
        sums = dict.fromkeys(told, 0)
        for line in data.decode().splitlines():
            stack, value = line.rsplit(" ", 1)
            name = next((function for function in reversed(stack.split(";")) if function in told), "-")
            sums[name] = sums.get(name, 0) + int(value)
        tap.equal({name: sums[name] for name in told}, {name: row[3] for name, row in told.items()}, "folded: bytes outstanding")
        told, data = made("pb.gz")
        types, sums = pprof_rows(gzip.decompress(data), told)
        tap.equal(types, ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"],
                  "pprof: types of values")
        tap.equal({name: sums[name] for name in told}, told, "pprof: each row is what the program wrote down")
        told, data = made("html")
        tap.check(b'"unit":"byte"' in data and b'"over"' in data, "html: a flame graph of bytes", data[-3000:])


if __name__ == "__main__":
    Tap.main(rows, program, unseen, threads_that_end, text, formats, skip=("leaks --of maps", iterator_refused(), Tap.ROOT))
