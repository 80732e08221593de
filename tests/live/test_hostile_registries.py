#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
# strict
"""Registries of generated code that lie: an answer in time, a short stop, and a clear reason."""
import os
import time

from harness import TARGETS, Tap, Target, dump, patient_dump, snapwalk, stack_of, wait_blocked

CODE = os.path.join(TARGETS, "symfile_code.o")
STOP_US = 5000
SECONDS = 5
# The forms whose entries in front are right: these are used.
RIGHT = ("cycle", "self", "wild", "torn", "many", "copies", "copies-many")
# The messages for each form; None: nothing, the damage is not seen.
LIES = {
    "cycle": "its list has no end",
    "self": "its list has no end",
    "wild": "its list leads to memory that cannot be read",
    "kernel": "its list leads to memory that cannot be read",
    "torn": "its list leads to memory that cannot be read",
    "many": "its list is too long",
    "sizes": "its symfiles are too large",
    "version": "its descriptor is not of version 1",
    "headers": "of its symfiles are damaged",
    "everywhere": None,
    "copies": None,
    "copies-many": "there are too many entries",
    "libgcc-cycle": "its list has no end",
    "libgcc-wild": "it leads to memory that cannot be read",
    "libgcc-what": "of its tables are damaged",
    "libgcc-sorted": "it leads to memory that cannot be read",
    "libgcc-array": "of its tables are damaged",
    "libgcc-same": "its tables are too many",
    "libgcc-length": "of its tables are damaged",
}
# Since GCC 13 objects are in the leaves of a tree, not in a list: nothing goes from one to the next,
# and those that lie are damaged, each by itself.
IN_TREES = "of its tables are damaged"


def test_lie(tap, how, problem):
    with Target("hostile_registries", CODE, how) as target:
        wait_blocked(target.pid)
        stopped, seconds = [], []
        # The best of them: what one takes depends on what else the machine has to do.
        for n in range(50):
            if n >= 5 and min(stopped) <= STOP_US and min(seconds) <= SECONDS:
                break
            begin = time.monotonic()
            report = dump(target.pid, status=(0, 3))
            seconds.append(time.monotonic() - begin)
            stopped.append(report["timings"]["stopped_us"])
        tap.check(min(stopped) <= STOP_US, f"{how}: a short stop", stopped)
        tap.check(min(seconds) <= SECONDS, f"{how}: in time", seconds)
        report = patient_dump(target.pid)
        frames = stack_of(report, target.pid)["frames"]
        tap.equal([f["function"] for f in frames][:1], ["block"], f"{how}: the first frame")
        tap.check(frames[1]["by"] == "elf-cfi" and len(frames) < 100, f"{how}: frames", frames)
        if how in RIGHT:
            tap.equal([f["function"] for f in frames][1:5], ["inner", "middle", "outer", "run"],
                      f"{how}: what is right is used")
        else:
            tap.check(not any(f["trust"] == "jit" for f in frames), f"{how}: nothing is believed",
                      frames)
        said = [w["message"] for w in report["warnings"] if w["code"] == "runtime"]
        if problem is None:
            tap.equal(said, [], f"{how}: said")
        else:
            problems = (problem, IN_TREES) if how.startswith("libgcc-") else (problem,)
            tap.check(any(p in message for p in problems for message in said), f"{how}: said", said)
        if how.startswith("copies"):
            tap.check(any(w["message"].startswith("jit: a limit") for w in report["warnings"]),
                      f"{how}: the limit is told", report["warnings"])
        words = snapwalk("explain", target.pid, frames[1]["pc"])
        tap.check(words.returncode == 0, f"{how}: explained", words.stderr)


tap = Tap()
for how, problem in LIES.items():
    tap.guard(test_lie, how, problem)
tap.done()
