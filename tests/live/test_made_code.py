#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""The threads that are stopped where a process has executable memory in which no thread is, as PCRE2's JIT makes it;
and what is said of a stop."""
import os

from harness import Tap, Target, dump, iterator_refused, wait_until, call_of

BLOCKED, WAKING, DUMPS = 100, 6, 25
PSELECT = 270


def waiting(pid, tids):
    return sum(call_of(pid, tid) == PSELECT for tid in tids)


def stops(tap):
    refused = iterator_refused()
    if refused:
        tap.skip("who is stopped", refused, "a kernel whose task iterator may be used (root, BPF with BTF)")
        return
    with Target("waking", str(BLOCKED), str(WAKING)) as target:
        report = dump(target.pid)
        tids = [thread["tid"] for thread in report["threads"]]
        tap.equal(len(tids), 1 + BLOCKED + WAKING, "all threads are there")
        wait_until(lambda: waiting(target.pid, tids) == BLOCKED, "the threads to wait")
        timings = [dump(target.pid)["timings"] for _ in range(DUMPS)]
        stopped = [t["n_stopped"] for t in timings]
        tap.check(max(stopped) <= WAKING, f"{DUMPS} dumps stop none that waits", stopped)
        tap.check(all((t["n_stopped"] > 0) == (t["stopped_why"] is not None) for t in timings),
                  "whatever is stopped, it is said why", [(t["n_stopped"], t["stopped_why"]) for t in timings])
        tap.equal([t["interrupted_calls"] for t in timings], [0] * DUMPS, "no call is interrupted")
        tap.equal(waiting(target.pid, tids), BLOCKED, "the calls with a limit go on")


def said_why(tap):
    """A thread that is on a CPU in each look has to be stopped; one that always gets a CPU is."""
    if refused := iterator_refused():
        tap.skip("why a thread is stopped", refused, "a kernel whose task iterator may be used (root, BPF with BTF)")
        return
    with Target("states", "spin", "1") as target:
        for tid in os.listdir(f"/proc/{target.pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(tid), -20)
        stopped = wait_until(lambda: next((t for t in [dump(target.pid)["timings"]] if t["n_stopped"]), None),
                             "a dump that stops the thread")
        tap.equal((stopped["n_stopped"], stopped["stopped_why"]), (1, "threads that ran cannot be read while they run"),
                  "a thread that runs is stopped, and it is said why")


tap = Tap()
tap.guard(stops)
tap.guard(said_why)
tap.done()
