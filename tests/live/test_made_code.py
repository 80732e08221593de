#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""A process has executable memory in which no thread is, as PCRE2's JIT makes it: only threads that run are stopped."""
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
        tap.equal([t["interrupted_calls"] for t in timings], [0] * DUMPS, "no call is interrupted")
        tap.equal(waiting(target.pid, tids), BLOCKED, "the calls with a limit go on")


tap = Tap()
tap.guard(stops)
tap.done()
