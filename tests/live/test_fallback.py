#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels that lack a system call give the same dump (targets/without.c takes it away)."""
import os

from harness import SNAPWALK, TARGETS, Tap, Target, state_of, wait_until
from safety import capture, frames_of, held, run, tasks

WITHOUT = os.path.join(TARGETS, "without")
CASES = (
    ["process_vm_readv"],
    ["pidfd_open"],
    ["pidfd_send_signal"],
    ["sched_setscheduler=EPERM", "sched_setattr=EPERM"],
    ["sched_setscheduler", "sched_setattr"],
    ["openat2", "statx"],
    ["getrandom", "memfd_create", "close_range"],
    ["madvise", "mlock"],
    ["process_vm_readv", "pidfd_open", "pidfd_send_signal", "sched_setscheduler", "openat2",
     "statx", "getrandom"],
)


def same_without(tap, target):
    wait_until(lambda: {state_of(target.pid, t) for t in tasks(target.pid)} == {"S"},
               "all threads to wait")
    normal = frames_of(capture(target.pid, status=(0,)))
    tap.equal(len(normal), 9, "nine threads were captured")
    for calls in CASES:
        report = capture(target.pid, status=(0,), command=[WITHOUT, *calls, "--", SNAPWALK])
        tap.equal(frames_of(report), normal, f"same stacks without {' '.join(calls)}")
        tap.equal(held(target.pid), [], f"and nothing held without {' '.join(calls)}")


def without_ptrace(tap, target):
    code, out, err, _ = run("dump", "--json", target.pid,
                            command=[WITHOUT, "ptrace=EPERM", "--", SNAPWALK])
    tap.equal((code, out), (77, ""), "without ptrace: exit status 77, no output")
    tap.check(err.startswith(f"snapwalk: {target.pid}: ") and "(not_permitted)" in err
              and err.count("\n") == 1, "without ptrace: one clear line", err)


def main():
    tap = Tap()
    with Target("states", "plain", 8) as target:
        tap.guard(same_without, target)
        tap.guard(without_ptrace, target)
    tap.done()


if __name__ == "__main__":
    main()
