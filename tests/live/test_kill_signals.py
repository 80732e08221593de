#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
# strict
"""The signals of test_kill.py, which sends them at random instants, at each system call of the process that stops the
target (drive_kill.c): Ctrl-C, SIGTERM and SIGHUP for the whole group of snapwalk, and the death of that process alone,
as by the OOM killer. The target is let go, and the command says what became of the dump."""
import signal

from harness import Tap
from safety import let_go
from test_kill import Storm
from test_kill_each import PARTS, command_of, count, drive_all

THREADS, RATE = 2, 200
GROUP = {signal.SIGINT: 1, signal.SIGTERM: 3, signal.SIGHUP: 3}  # at each call, at each third one
ANSWERS = ("exit 0", "exit 1", "exit 3")


def at_each(pid, points):
    """Yield for each point: (point, how the command ended, its output, threads that are held)."""
    for point in points:
        run = drive_all(command_of(pid), "at", *point)
        met, ended = run.stdout.strip().split(" ", 1)
        yield point, met == "killed", ended, run.stderr, let_go(pid, 2.0)


def check_all(tap, storm, beats, points, what, right):
    bad, met = [], 0
    for point, hit, ended, said, left in at_each(storm.pid, points):
        met += hit
        if left or not right(ended, said):
            bad.append((point, ended, said, left))
    tap.equal(bad, [], f"{what}: the target is let go, and the command says what became of the dump")
    tap.check(met >= len(points) * 9 // 10, f"{what}: nine of ten points were met", (met, len(points)))
    return storm.check(tap, beats, what)[0]


def each_call(tap):
    with Storm(THREADS, RATE, PARTS) as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "before")
        _, stopper, stops, *_ = count(storm.pid)
        for number, every in GROUP.items():
            points = [(stopper, n, "entry", f"all:{number}") for n in range(1, stops + 1, every)]
            # A command that is through before the signal is there has its dump.
            ends = (f"signal {number}", f"exit {128 + number}", "exit 0")
            beats = check_all(tap, storm, beats, points, number.name, lambda ended, _, ends=ends: ended in ends)
        points = [(stopper, n, "entry", "self") for n in range(1, stops + 1)]
        check_all(tap, storm, beats, points, "the process that stops is killed",
                  lambda ended, said: ended in ANSWERS and (ended == "exit 0") == (said == ""))


if __name__ == "__main__":
    Tap.main(each_call)
