# SPDX-License-Identifier: LGPL-2.1-or-later
"""As many threads as the argument says, "many-0" and so on, that wait for the same lock: in functions that C
functions call, which have a loop of the interpreter each.
"""
import sys
import threading

DEPTH = 10
lock = threading.Lock()
lock.acquire()


def inner(depth):
    if depth == 0:
        lock.acquire()
    else:
        list(map(inner, [depth - 1]))


threading.stack_size(256 * 1024)
for i in range(int(sys.argv[1])):
    threading.Thread(target=inner, args=(DEPTH,), name=f"many-{i}", daemon=True).start()
print("ready", flush=True)
lock.acquire()
