#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Recorded instants of interpreters and of code that they compile walk as they always did: each instruction of a call, a
return, a resume, an exception on its way that tests/fixtures/record_instants.py stepped a program to."""
import concurrent.futures
import os
import sys
import tempfile

from harness import Tap, dump
from test_fixture import FIXTURES, summary

sys.path.insert(0, FIXTURES)
import instants  # noqa: E402 - the path above

AT_ONCE = 2


def replayed(folder):
    return summary(dump(["--fixture", folder], status=(0, 3)))


def difference(got, wanted):
    """The instant of the first line that is another, and both."""
    got, wanted = got.splitlines(), wanted.splitlines()
    for i, (ours, theirs) in enumerate(zip([*got, ""], [*wanted, ""])):
        if ours != theirs:
            name = next((line for line in reversed(wanted[:i + 1]) if line.startswith("instant ")), "")
            return f"{name}\ngot    {ours}\nwanted {theirs}"
    return f"{len(got)} lines, {len(wanted)} wanted"


def check_set(tap, name, directory):
    path = os.path.join(FIXTURES, name)
    with open(os.path.join(path, "expected")) as file:
        wanted = file.read()
    folders = instants.unpack(path, os.path.join(directory, name))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        summaries = list(pool.map(replayed, folders))
    got = instants.expected_of(dict(zip(map(os.path.basename, folders), summaries)))
    tap.check(len(folders) > 1 and got == wanted, f"{name}: {len(folders)} instants walk as expected", difference(got, wanted))


def main():
    tap = Tap()
    names = sorted(name for name in os.listdir(FIXTURES) if os.path.exists(os.path.join(FIXTURES, name, instants.PACKED)))
    tap.check(names, "there are sets of instants", names)
    # Modules are sparse files: a file system in memory has no cost for what is not in them.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as directory:
        for name in names:
            tap.guard(check_set, name, directory)
    tap.done()


if __name__ == "__main__":
    main()
