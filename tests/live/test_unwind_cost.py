#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""The cost of a step once its rule is known, in instructions: of PE code at most twice that of ELF code, in recorded
processes that have both. Counted by valgrind, so that it is the same each time."""
import os
import re
import subprocess
import tempfile

from harness import TARGETS, Tap, tool
from test_wine_fixtures import unpack

FEW, MANY = 10, 110  # rounds
RATIO_MAX = 2.0


def counted(directory, unwinder, rounds, scratch):
    """(steps in a round, instructions of the whole run)."""
    run = subprocess.run(["valgrind", "--tool=callgrind",
                          f"--callgrind-out-file={os.path.join(scratch, 'callgrind')}",
                          os.path.join(TARGETS, "drive_unwind_cost"), directory, unwinder,
                          str(rounds)], capture_output=True, text=True, check=True, timeout=300)
    return (int(re.search(r"^steps (\d+)$", run.stdout, re.M)[1]),
            int(re.search(r"Collected : (\d+)", run.stderr)[1]))


def step_cost(tap, directory, unwinder, scratch):
    steps, few = counted(directory, unwinder, FEW, scratch)
    many = counted(directory, unwinder, MANY, scratch)[1]
    tap.check(steps >= 50, f"{unwinder}: {steps} steps in {os.path.basename(directory)}")
    return (many - few) / ((MANY - FEW) * steps)


def test_cost(tap, version):
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.join(scratch, f"wine-{version}")
        unpack(version, directory)
        elf = step_cost(tap, directory, "elf-cfi", scratch)
        pe = step_cost(tap, directory, "pe-unwind", scratch)
    tap.check(pe <= RATIO_MAX * elf, f"Wine {version}: a PE step costs {pe:.0f} instructions, "
              f"an ELF step {elf:.0f}: {pe / elf:.2f} times")


if __name__ == "__main__":
    Tap.main((test_cost, "8"), (test_cost, "10"),
             skip=("cost of steps", "" if tool("valgrind") else "valgrind is not installed", "package valgrind"))
