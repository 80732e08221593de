#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 15s
# serial
"""A daemon that has nothing to do is small and sleeps, also after it had something to do."""
import time

from daemon import Daemon, children, number_of
from harness import Tap, Target, wait_until
from safety import status_field, tasks

MEMORY_KIB = 8 * 1024
SECONDS = 3


def switches(pid):
    """How often its threads went to sleep or were put aside."""
    return {(pid, tid): (status_field(pid, tid, "voluntary_ctxt_switches"),
                         status_field(pid, tid, "nonvoluntary_ctxt_switches"))
            for tid in tasks(pid)}


def settled(family):
    """Waits until a moment passed in which nobody woke up."""
    def still():
        before = [switches(pid) for pid in family]
        time.sleep(0.1)
        return before == [switches(pid) for pid in family]
    wait_until(still, "the daemon to become idle")


def idle(tap, daemon, what, seconds=SECONDS):
    family = [daemon.pid, *children(daemon.pid)]
    tap.equal(len(family), 2, f"{what}: two processes, daemon and spawner")
    settled(family)
    before = [switches(pid) for pid in family]
    # The measure itself: a span of time in which nothing may happen.
    time.sleep(seconds)
    tap.equal([switches(pid) for pid in family], before, f"{what}: no wake-up in {seconds} s")
    memory = number_of(daemon.pid, "VmRSS")
    tap.check(memory <= MEMORY_KIB, f"{what}: at most {MEMORY_KIB} KiB", f"{memory} KiB")
    print(f"# {what}: {memory} KiB, spawner {number_of(daemon.spawner, 'VmRSS')} KiB")


def main():
    tap = Tap()
    with Daemon() as daemon, Target("threads", 20, 30) as target:
        tap.guard(idle, daemon, "after the start")
        for _ in range(10):
            daemon.capture(target.pid)
        tap.guard(idle, daemon, "after captures")
    tap.done()


if __name__ == "__main__":
    main()
