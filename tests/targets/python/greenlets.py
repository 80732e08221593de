# SPDX-License-Identifier: LGPL-2.1-or-later
"""Greenlets of gevent: some wait, one computes, or blocks in a call while others wait. Each has used the thread's stack
in another depth before, so that what lies above the running one is of others."""
import os
import sys
import time

import gevent


def wait(depth):
    if depth > 0:
        return wait(depth - 1)
    gevent.sleep(3600)
    return None


def inner(how):
    print("ready", flush=True)
    if how == "block":
        time.sleep(3600)
    n = 0
    while True:
        n += 1


def middle(how):
    inner(how)


def outer(how):
    gevent.sleep(0.05)
    middle(how)


def run(depth, how):
    if depth > 0:
        run(depth - 1, how)
        return
    for i in range(20):
        gevent.spawn(wait, 3 * i)
    gevent.joinall([gevent.spawn(outer, how)])


print(os.getpid(), flush=True)
run(int(sys.argv[2]), sys.argv[1])
