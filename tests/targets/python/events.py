# SPDX-License-Identifier: LGPL-2.1-or-later
"""Opens a file that is not there, from functions that are known: for each line that it reads, 40 times from each."""
import sys


def missing():
    try:
        open("/nonexistent/file")
    except OSError:
        pass


def first():
    missing()


class Second:
    def call(self):
        missing()


print("ready", flush=True)
for line in sys.stdin:
    for _ in range(40):
        first()
        Second().call()
    print("done", flush=True)
