#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The interface for runtimes: a toy interpreter, added by one folder and one row, walks mixed with its
native frames, live, from a core file and from a recorded snapshot."""
import os
import subprocess
import tempfile

from harness import TARGETS, Tap, Target, gcore, wait_blocked

DRIVER = os.path.join(TARGETS, "drive_toy")
LANGUAGE, INTERNAL = 0x10, 0x20


def walk(*arguments):
    run = subprocess.run([DRIVER, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        raise RuntimeError(f"drive_toy {arguments}: status {run.returncode}: {run.stderr}")
    return run.stdout.splitlines()


def frames_are(tap, lines, what):
    """From the interpreter's innermost function to main; before it are block() and the C library."""
    names = [line.split()[0] for line in lines]
    if "inner" not in names:
        tap.check(False, f"{what}: the toy's frames are there", "\n".join(lines))
        return
    own = lines[names.index("inner"):names.index("main") + 1]
    tap.equal(own, ["inner toy toy runtime 10 program.toy:12",
                    "toy_eval native elf-cfi cfi 20",
                    "native_helper native elf-cfi cfi 0",
                    "middle toy toy runtime 10 program.toy:11",
                    "outer toy toy runtime 10 program.toy:10",
                    "toy_eval native elf-cfi cfi 20",
                    "main native elf-cfi cfi 0"], f"{what}: mixed with native frames, in their order")
    tap.equal(lines[-3:], ["note toy", "runtime toy 1", "end complete"], f"{what}: thread, runtime, end")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as scratch:
        fixture, core = os.path.join(scratch, "fixture"), os.path.join(scratch, "core")
        with Target("toy") as target:
            wait_blocked(target.pid)
            live = walk("live", target.pid, fixture)
            gcore(target.pid, core)
        frames_are(tap, live, "live")
        frames_are(tap, walk("core", core), "core")
        tap.equal(walk("fixture", fixture), live, "fixture: the same as live, without the process")
    tap.done()


main()
