# SPDX-License-Identifier: LGPL-2.1-or-later
"""inner <- middle <- outer through Python's own perf trampolines, blocked in a read. Thousands of
functions more are called afterwards: what is kept in a buffer reaches its file."""
import os
import sys

read_end, write_end = os.pipe()


def inner(n):
    return os.read(read_end, 1) if n < 0 else n


def middle(n):
    return inner(n)


def outer(n):
    return middle(n)


outer(1)
for i in range(3000):
    exec(f"def filler_{i}(): return {i}\nfiller_{i}()")
print("ready", flush=True)
outer(-1)
sys.exit(1)
