# SPDX-License-Identifier: LGPL-2.1-or-later
"""Opens a file that is not there, from functions that are known: for each line that it reads, 40 times from each. For a
line "deep" it does so once below so many frames that no copy has space for all."""
import sys

DEPTH = 3000


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


def deep(n):
    if n > 0:
        deep(n - 1)
    else:
        missing()


sys.setrecursionlimit(100000)
print("ready", flush=True)
for line in sys.stdin:
    if line == "deep\n":
        deep(DEPTH)
    for _ in range(0 if line == "deep\n" else 40):
        first()
        Second().call()
    print("done", flush=True)
