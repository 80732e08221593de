#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Windows program steps through itself under Wine and records each function's caller; a step out of
every instruction must give the caller's ten registers. The recorded fixture's twin, made afresh."""
import os
import subprocess

from harness import BUILD, TARGETS, Tap

WINE = "/usr/lib/wine/wine64"
WINESERVER = "/usr/lib/wine/wineserver64"


def environment(prefix):
    """Its own prefix; neither a display nor what would want to be installed."""
    env = {k: v for k, v in os.environ.items() if k != "DISPLAY"}
    return env | {"WINEPREFIX": prefix, "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}


def record(prefix, path):
    """What the program says, in a file. True when it came to its end."""
    env = environment(prefix)
    try:
        with open(path, "wb") as out:
            subprocess.run([WINE, os.path.join(TARGETS, "pe_step.exe")], env=env, stdout=out,
                           stderr=subprocess.DEVNULL, timeout=300, check=False)
    finally:
        subprocess.run([WINESERVER, "-k"], env=env, check=False)
    with open(path) as steps:
        last = steps.read().splitlines()[-1:]
    return bool(last) and last[0].startswith("end ")


def fresh_steps(tap):
    directory = os.path.join(BUILD, "tests", "pe_steps")
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "steps")
    if not tap.check(record(os.path.abspath(os.path.join(directory, "wine")), path),
                     "the program came to its end"):
        return
    test = subprocess.run([os.path.join(BUILD, "tests", "unit", "test_pe_steps"), path],
                          capture_output=True, text=True, check=False)
    tap.check(test.returncode == 0, "every instruction's step is right", test.stdout + test.stderr)
    summary = [line for line in test.stdout.splitlines() if " steps (" in line]
    print("\n".join("# " + line for line in summary))


def main():
    tap = Tap()
    tap.guard(fresh_steps)
    tap.done()


if __name__ == "__main__":
    main()
