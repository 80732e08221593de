#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""snapwalk is killed at each of its system calls (drive_kill.c): the target goes on as if nothing had been.

Covered: each system call, at exit, and the entry of the first one, of the process that stops the target, with SIGKILL to that process,
to the command and to all processes; and the entry of each call that the command itself makes while that process is
there, and of OTHER_CALLS of its other ones. One target lasts for all kills. Not covered: the exit of the command's
calls, and calls of its other processes. test_kill.py has random instants between system calls.
"""
import os
import subprocess

from harness import PATIENT, SNAPWALK, TARGETS, Tap, Target
from safety import WITHOUT_LIMIT, capture, check_released, let_go
from test_kill import Storm

THREADS, RATE = 4, 1000
PARTS = 4  # of the time, in one of which the target computes: else it takes more CPU time than all the kills
CHECK_EVERY = 50
HOW = ("--stop", "always", *PATIENT[:2])
# So many of them: before the stop and after it the command reads files, and descriptors of all processes of the machine, by
# hundreds or thousands of calls that are all alike, and whose number differs from run to run.
OTHER_CALLS = 40
NEAR = 40  # by so much the number of a call differs between runs


def command_of(pid):
    return [SNAPWALK, "dump", "--json", *HOW, str(pid)]


def drive(command, *words, **run):
    """Returns the output of drive_kill, when the command and all processes that this has made have ended."""
    return drive_all(command, *words, **run).stdout


def drive_all(command, *words, **run):
    """stdout: what drive_kill prints; stderr: what the command said there."""
    return subprocess.run([os.path.join(TARGETS, "drive_kill"), *map(str, words), "--", *command],
                          capture_output=True, text=True, timeout=120, check=True, **run)


def counted(command, **run):
    """[(index, calls, number of the first ptrace() or 0, calls of the command when it began, when it ended)] of the
    processes of one run."""
    return [tuple(int(word) for word in line.split()[1::2]) for line in drive(command, "count", **run).splitlines()]


def count(pid):
    """(calls of the command, index of the process that stops the target, its calls, calls of the command when that
    process begins, when it ends). Both wait in loops, so that the number of their calls differs between runs; the least
    of three is reached by nearly all."""
    runs = []
    for _ in range(3):
        rows = counted(command_of(pid))
        runs.append((rows[0][1], *next((row[0], row[1], *row[3:]) for row in rows if row[2])))
    return (min(run[0] for run in runs), runs[0][1], min(run[2] for run in runs), min(run[3] for run in runs),
            max(run[4] for run in runs))


def of_stopper(index, calls, victims):
    """Between the exit of a call and the entry of the next one nothing happens that others could see."""
    sides = [(1, "entry"), *((n, "exit") for n in range(1, calls + 1))]
    return [(index, n, side, victim) for n, side in sides for victim in victims]


def kill_at_each(pid, points, check=lambda n: None, command=None, **run):
    """(points where a thread stayed stopped or traced, kills)"""
    stuck, killed = [], 0
    for n, point in enumerate(points, 1):
        killed += drive(command or command_of(pid), "at", *point, **run).startswith("killed")
        if left := let_go(pid, 2.0):
            stuck.append((point, left))
            break  # all that follow would say the same
        if n % CHECK_EVERY == 0:
            check(n)
    return stuck, killed


def each_call(tap):
    with Storm(THREADS, RATE, PARTS) as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "before")
        calls, stopper, stops, begin, end = count(storm.pid)
        points = of_stopper(stopper, stops, ("self", "main", "all"))
        points += [(0, n, "entry", "main") for n in range(max(1, begin - NEAR), min(calls, end + NEAR) + 1)]
        others = [(0, n, "entry", "main") for n in range(1, calls + 1, 1 + calls // OTHER_CALLS)]

        def check(n):
            nonlocal beats
            beats, _ = storm.check(tap, beats, f"after {n} kills")

        stuck, killed = kill_at_each(storm.pid, points, check)
        tap.equal(stuck, [], f"no thread stayed stopped or traced: {stops} calls of the stop, {calls} of the command")
        tap.check(killed >= len(points) * 9 // 10, "nine of ten points were met", f"{killed} of {len(points)}")
        stuck_by_others, killed = kill_at_each(storm.pid, others if not stuck else [], check)
        tap.equal(stuck_by_others, [], f"nor by {len(others)} other calls of the command")
        tap.check(stuck or killed >= len(others) // 2, "half of those were met", f"{killed} of {len(others)}")
        tap.check(stops > 20 and 1 < begin < end < calls, "the process that stops the target was found",
                  (stops, begin, end, calls))
        if not stuck and not stuck_by_others:
            storm.check(tap, beats, "after all kills")
            tap.equal(capture(storm.pid, status=(0,))["process"]["pid"], storm.pid, "the target can be captured afterwards")


def blocked_calls(tap):
    """The command is killed at each call of the process that stops the target: no call returns EINTR."""
    with Target("blocking", 300000, 300000, *WITHOUT_LIMIT) as target:
        _, stopper, stops, *_ = count(target.pid)
        points = of_stopper(stopper, stops, ("main",))
        stuck, killed = kill_at_each(target.pid, points)
        tap.equal(stuck, [], f"blocked threads: none stayed stopped or traced, {len(points)} points")
        tap.check(killed >= len(points) * 9 // 10, "nine of ten points were met", f"{killed} of {len(points)}")
        check_released(tap, target, killed)


if __name__ == "__main__":
    Tap.main(each_call, blocked_calls)
