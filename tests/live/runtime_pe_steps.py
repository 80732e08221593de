#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 15s
"""A Windows program steps through itself under Wine and records each function's caller; a step out of
every instruction must give the caller's ten registers. The recorded fixture's twin, made afresh, and
the same for functions of Wine's own libraries."""
import os
import shutil
import subprocess

from harness import BUILD, TARGETS, Tap
from wine import LOADER, VERSIONS, Wine


def record(wine, path, *words):
    """Write the program's output into a file; returns its last line."""
    program = shutil.copy(os.path.join(TARGETS, "pe_step.exe"), wine.shared)
    with open(path, "wb") as out:
        subprocess.run(wine.command(LOADER, wine.inside(program), *words), env=wine.environment,
                       stdout=out, stderr=subprocess.DEVNULL, timeout=300, check=False)
    with open(path) as steps:
        return (steps.read().splitlines() or [""])[-1]


def check(tap, name, path, last):
    if not tap.check(last.startswith("end "), f"{name}: the program came to its end", last):
        return
    test = subprocess.run([os.path.join(BUILD, "tests", "unit", "libwalk", "pe", "test_pe_steps"), path],
                          capture_output=True, text=True, check=False)
    tap.check(test.returncode == 0, f"{name}: the step is right at every instruction",
              test.stdout + test.stderr)
    print("\n".join(f"# {line}" for line in test.stdout.splitlines() if " steps (" in line))


def fresh_steps(tap, version):
    with Wine(version) as wine:
        for words in ((), ("library",)):
            path = os.path.join(BUILD, "tests", "-".join(("steps", "wine", version, *words)))
            check(tap, " ".join((f"Wine {version}", *words)), path, record(wine, path, *words))


if __name__ == "__main__":
    Tap.main(*((fresh_steps, version) for version in VERSIONS))
