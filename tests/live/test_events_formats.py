#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""snapwalk on -o NAME and -f FORMAT: a profile in the format that the end of the name or -f says, with the events that a
program makes."""
import gzip
import json
import os
import re
import subprocess
import tempfile

from harness import Tap, Target, iterator_refused, snapwalk, wait_until
from otlp_rules import Checker, decoded, one, packed
from test_events import ROUNDS, THREADS, Run, turn
from test_leaks_maps import pprof_rows


class Events(Checker):
    """A file of OTLP: what each of its samples has."""

    def __init__(self, data):
        self.samples, self.states = [], set()
        super().__init__(data)

    def profile(self, fields):
        for sample in map(decoded, fields.get(2, [])):
            names = set()
            for location in packed(decoded(self.tables["stack"][one(sample, 1)]), 1):
                for line in decoded(self.tables["location"][location]).get(3, []):
                    names.add(self.text(one(decoded(self.tables["function"][one(decoded(line), 1)]), 1)))
            self.samples.append((names, sum(packed(sample, 4))))
            self.states |= {key for key in self.attributes(packed(sample, 2)) if key.endswith(".state")}
        return super().profile(fields)

    def sums(self, wanted):
        return {name: sum(n for names, n in self.samples if name in names) for name in wanted}


def folded_sums(text, names):
    """{function: events of the folded stacks that have it}"""
    sums = dict.fromkeys(names, 0)
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        for name in set(stack.split(";")) & set(sums):
            sums[name] += int(value)
    return sums


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

        sums = folded_sums(made("folded").decode(), ("by_first", "by_second"))
        tap.equal(sums, {"by_first": n, "by_second": 2 * n}, "folded: events of each stack")
        run = Run("on", "syscall:openat", "--errno", "ENOENT", "-f", "folded", target.pid)
        turn(target)
        status, out, err = run.end()
        tap.equal((status, folded_sums(out, sums)), (0, sums), "-f folded: the same on standard output")
        types, rows = pprof_rows(gzip.decompress(made("pb.gz")), sums)
        tap.equal((types, {name: row[0] for name, row in rows.items()}), (["events/count"], sums), "pprof: events of each stack")
        told = Events(made("otlp"))
        tap.equal((told.types, told.sums(sums), told.states), ([("events", "count", "", "")], sums, set()),
                  "otlp: events of each stack, which have no state")
        for end, begin in begins.items():
            text = made(end)
            tap.check(text.startswith(begin), f"{end}: what it begins with")
            if end == "svg":
                tap.check(f": all threads, {3 * n} events, 100.0 %; " in text.decode(), "svg: of events, all of them", text[:2000])
            if end == "speedscope.json":
                profiles = json.loads(text)["profiles"]
                tap.equal((profiles[0]["name"], profiles[0]["unit"], sum(profiles[0]["weights"])), ("all threads", "none", 3 * n),
                          "speedscope: of events, none of a CPU")
            if end == "html":
                tap.check(b'"unit":"event"' in text and b'"n_samples":%d' % (3 * n) in text, "html: of events, all of them", text[-2000:])
    for words, what in ((("death", "-o", "x.html", "1"), "death"), (("syscall:read", "--each", "-o", "x.svg", "1"), "--each"),
                        (("syscall:read", "--then", "dump", "-o", "x.pb.gz", "1"), "--then"), (("usdt:", "-o", "x.folded", "1"), "usdt:")):
        result = snapwalk("on", *words)
        tap.check(result.returncode == 2 and "give a name with .json or .txt" in result.stderr, f"{what}: no profile", result.stderr)
    for command in (("on", "syscall:read"), ("leaks", "--of", "fds")):
        result = snapwalk(*command, "-f", "folded", "--", "true")
        tap.check(result.returncode == 2 and "standard output is the program's (usage): give -o FILE" in result.stderr,
                  f"{command[0]}: a profile is not mixed with what a program prints", result.stderr)
    result = snapwalk("on", "death", "-f", "svg", 1)
    tap.check(result.returncode == 2 and "give --format text or json" in result.stderr, "death: no profile by -f", result.stderr)


def losses(tap):
    """Events that came faster than they were read are told: on standard error, and in the file where it has a place for it."""
    busy = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"], stderr=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory() as directory:
            for end in ("folded", "html", "svg", "pb.gz", "otlp"):
                path = os.path.join(directory, f"on.{end}")

                def lost():
                    got = snapwalk("on", "syscall:write", "-d", 1, "-o", path, busy.pid)
                    return got if got.returncode == 3 else None
                said = re.search(r'(\d+) events were lost, as they came faster than they were read', wait_until(lost, "events are lost").stderr)
                tap.check(said, f"{end}: lost events are said")
                with open(path, "rb") as file:
                    data = file.read()
                n = said[1].encode() if said else b"?"
                told = {"folded": b"", "html": b'"lost":%s,' % n, "svg": b"; %s events lost" % n, "otlp": b"snapwalk.events.lost",
                        "pb.gz": b"%s events were lost and are not in the profile" % n}[end]
                tap.check(told in (gzip.decompress(data) if end == "pb.gz" else data), f"{end}: the file tells them", told)
    finally:
        busy.kill()
        busy.wait()


if __name__ == "__main__":
    Tap.main(formats, losses, skip=("events", iterator_refused(), Tap.ROOT))
