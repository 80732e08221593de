#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""The priority that a dump runs with: seen while it waits for a reader of its output, which is larger than a pipe."""
import os
import subprocess
import threading

from daemon import Daemon
from harness import SNAPWALK, Tap, Target, state_of, wait_until

FEW, MANY = 400, 6000
FIFO = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
GIVEN_UP = os.SCHED_OTHER | os.SCHED_RESET_ON_FORK
PIPE_WRITE = "pipe_write"


def waits_for_reader(pid):
    with open(f"/proc/{pid}/wchan") as wchan:
        return state_of(pid) == "S" and PIPE_WRITE in wchan.read()


def policy_of(target, *args, before=None):
    """Returns the scheduling policy of a dump that has written a pipe full, and its status."""
    with subprocess.Popen([SNAPWALK, str(target.pid), "--json", *args], stdout=subprocess.PIPE,
                          preexec_fn=before) as child:
        wait_until(lambda: waits_for_reader(child.pid), "the dump to wait for its reader")
        policy = os.sched_getscheduler(child.pid)
        child.stdout.read()
    return policy, child.returncode


def may_raise():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def batch():
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def priorities(tap):
    if not may_raise():
        tap.skip("real-time priority", "it is refused here", "CAP_SYS_NICE")
        return
    with Target("states", "plain", FEW) as target:
        tap.equal(policy_of(target), (FIFO, 0), "the lowest real-time priority, not for children")
        tap.equal(policy_of(target, "--priority", "normal"), (os.SCHED_OTHER, 0), "--priority normal: as it was")
        tap.equal(policy_of(target, before=batch), (os.SCHED_BATCH, 0), "started as SCHED_BATCH: as it was")
        thread = max(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task"))
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(2))
        tap.equal(policy_of(target), (FIFO, 0), "a thread of the process with a higher one: it need not wait for us")
        os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(1))
        tap.equal(policy_of(target), (GIVEN_UP, 0), "a thread of the process with the same one: given up")
        tap.equal(policy_of(target, "--stop", "always"), (GIVEN_UP, 0), "the same without the iterator")
    for many in (MANY, 2 * MANY, 4 * MANY):  # of a fast machine, more threads
        with Target("states", "plain", many) as target:
            seen = policy_of(target, "--no-group")
        if seen[0] == GIVEN_UP:
            break
    tap.equal(seen, (GIVEN_UP, 0), "100 ms of CPU time later: given up")


def policies_of_workers(daemon, target):
    """All that was seen during a capture."""
    seen, done = set(), threading.Event()

    def look():
        while not done.is_set():
            for pid in daemon.workers():
                try:
                    seen.add(os.sched_getscheduler(pid))
                except ProcessLookupError:
                    pass
    looks = threading.Thread(target=look)
    looks.start()
    try:
        daemon.capture(target.pid)
    finally:
        done.set()
        looks.join()
    return seen


def workers(tap):
    if not may_raise():
        tap.skip("real-time priority of workers", "it is refused here", "CAP_SYS_NICE")
        return
    with Target("states", "plain", MANY) as target, Daemon() as daemon:
        if daemon.status().get("realtime_refused"):
            tap.skip("real-time priority of workers", "the daemon may not set RLIMIT_RTPRIO", "CAP_SYS_RESOURCE")
            return
        seen = policies_of_workers(daemon, target)
        tap.check({FIFO, GIVEN_UP} <= seen, "a worker has it, too, and gives it up", seen)


tap = Tap()
tap.guard(priorities)
tap.guard(workers)
tap.done()
