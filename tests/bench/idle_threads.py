# SPDX-License-Identifier: LGPL-2.1-or-later
"""idle_threads.py N: N Python threads, some calls deep, that wait in different ways."""
import queue
import select
import sys
import threading

started = threading.Barrier(int(sys.argv[1]) + 1)


def wait_forever(kind):
    started.wait()
    if kind % 3 == 0:
        threading.Event().wait()
    elif kind % 3 == 1:
        queue.Queue().get()
    else:
        select.epoll().poll()


def recurse(kind, depth):
    if depth == 0:
        wait_forever(kind)
    else:
        recurse(kind, depth - 1)


for i in range(int(sys.argv[1])):
    threading.Thread(target=recurse, args=(i, 10), daemon=True).start()
started.wait()
print("ready", flush=True)
sys.stdin.read()
