#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Windows program steps through itself under Wine and records each function's caller; a step out of
every instruction must give the caller's ten registers. The recorded fixture's twin, made afresh."""
import os
import shutil
import subprocess

from harness import BUILD, TARGETS, Tap
from wine import LOADER, VERSIONS, Wine


def record(wine, path):
    """What the program says of itself, in a file; its last line."""
    program = shutil.copy(os.path.join(TARGETS, "pe_step.exe"), wine.shared)
    with open(path, "wb") as out:
        subprocess.run(wine.command(LOADER, wine.inside(program)), env=wine.environment,
                       stdout=out, stderr=subprocess.DEVNULL, timeout=300, check=False)
    with open(path) as steps:
        return (steps.read().splitlines() or [""])[-1]


def fresh_steps(tap, version):
    path = os.path.join(BUILD, "tests", f"steps-wine-{version}")
    with Wine(version) as wine:
        last = record(wine, path)
    if not tap.check(last.startswith("end "), f"Wine {version}: the program came to its end", last):
        return
    test = subprocess.run([os.path.join(BUILD, "tests", "unit", "test_pe_steps"), path],
                          capture_output=True, text=True, check=False)
    tap.check(test.returncode == 0, f"Wine {version}: the step is right at every instruction",
              test.stdout + test.stderr)
    print("\n".join(f"# {line}" for line in test.stdout.splitlines() if " steps (" in line))


def main():
    tap = Tap()
    for version in VERSIONS:
        tap.guard(lambda t, v=version: fresh_steps(t, v))
    tap.done()


if __name__ == "__main__":
    main()
