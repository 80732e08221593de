#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""snapwalk on -o NAME: a profile in the format that the end of the name says, with the events that a program makes."""
import gzip
import os
import tempfile

from harness import Tap, Target, iterator_refused, snapwalk
from test_events import ROUNDS, THREADS, Run, turn
from test_leaks_maps import pprof_rows


def formats(tap):
    """By the end of the file's name: in profiles each stack has as many events as the program made there."""
    n = ROUNDS * THREADS
    begins = {"svg": b"<?xml", "html": b"<!DOCTYPE html>", "speedscope.json": b"{\"$schema\"", "json": b"{\"schema\":\"snapwalk.events/1\""}
    with tempfile.TemporaryDirectory() as directory, Target("events") as target:
        def made(end):
            path = os.path.join(directory, f"on.{end}")
            run = Run("on", "syscall:openat", "--errno", "ENOENT", "-o", path, target.pid)
            turn(target)
            status, out, err = run.end()
            tap.equal((status, out), (0, ""), f"{end}: status, and nothing else is printed")
            with open(path, "rb") as file:
                return file.read()

        sums = dict.fromkeys(("by_first", "by_second"), 0)
        for line in made("folded").decode().splitlines():
            stack, value = line.rsplit(" ", 1)
            for name in set(stack.split(";")) & set(sums):
                sums[name] += int(value)
        tap.equal(sums, {"by_first": n, "by_second": 2 * n}, "folded: events of each stack")
        types, rows = pprof_rows(gzip.decompress(made("pb.gz")), sums)
        tap.equal((types, {name: row[0] for name, row in rows.items()}), (["events/count"], sums), "pprof: events of each stack")
        for end, begin in begins.items():
            text = made(end)
            tap.check(text.startswith(begin), f"{end}: what it begins with")
            if end == "html":
                tap.check(b'"unit":"event"' in text and b'"n_samples":%d' % (3 * n) in text, "html: of events, all of them", text[-2000:])
    for words, what in ((("death", "-o", "x.html", "1"), "death"), (("syscall:read", "--each", "-o", "x.svg", "1"), "--each"),
                        (("syscall:read", "--then", "dump", "-o", "x.pb.gz", "1"), "--then"), (("usdt:", "-o", "x.folded", "1"), "usdt:")):
        result = snapwalk("on", *words)
        tap.check(result.returncode == 2 and "give a name with .json or .txt" in result.stderr, f"{what}: no profile", result.stderr)


def main():
    tap = Tap()
    if iterator_refused():
        tap.skip("events", iterator_refused(), Tap.ROOT)
        tap.done()
    tap.guard(formats)
    tap.done()


if __name__ == "__main__":
    main()
