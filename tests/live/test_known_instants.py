#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
"""The checks of the soak at random instants in test_compare_busy.py, test_compare_busy_i386.py, test_random_stop.py and
test_crowd.py, at known ones (known_instants.py): stacks of busy programs are those that they say, and that eu-stack and
gdb say; a crowd of threads is captured whole."""
import os

import test_compare_busy as busy
import test_crowd as crowd
import test_random_stop as random_stop
from harness import TARGETS, Tap, Target, state_of, tool, wait_until
from known_instants import Instants
from safety import tasks

# A leaf that qsort() calls, the handler of a signal.
FUNCTIONS = ("r_compare", "r_on_timer")
THROWS = ("r_thrower", "r_containers")
# Where the signal comes is not known. For i386 that may be in a memcpy() of glibc whose tables are wrong for a few
# instructions: gdb and eu-stack show the return address of a call that has returned there.
BUILDS = {"gcc_O2": FUNCTIONS, "clang_O2": FUNCTIONS, "musl_O2": FUNCTIONS, "g++_O2": THROWS, "i386_gcc_O2": FUNCTIONS[:1]}
IN_BUSY = ("fib", "compare", "in_handler")
CROWD = 1500  # more than the soft limit of open files in a login


def builds_known(tap):
    there = busy.builds() + busy.builds(i386=True)
    with Instants() as instants, busy.other_tools(tap) as peers:
        for build, functions in BUILDS.items():
            if "i386" in build and not os.path.exists(os.path.join(TARGETS, "i386_probed_busy")):
                tap.skip(f"{build} at known instants", "programs for i386 are not built",
                         "packages gcc-multilib and g++-multilib")
            elif tap.check(build in there, f"{build}: make targets builds it", sorted(there)):
                tap.guard(busy.check_known, build, peers, instants, functions)
        tap.guard(random_stop.check_known, "busy", instants, IN_BUSY)


def crowd_known(tap):
    with Target("threads", CROWD - 1, 3) as target:
        # The target says "ready" before the last threads have opened what they wait for.
        wait_until(lambda: {state_of(target.pid, tid) for tid in tasks(target.pid)} == {"S"}, "all threads to wait")
        crowd.whole_crowd(tap, target, CROWD)


def main():
    tap = Tap()
    tap.guard(busy.test_agrees)
    tap.guard(crowd_known)
    if tool("gdb"):
        tap.guard(builds_known)
    else:
        tap.skip("busy programs at known instants", "gdb is not installed", "package gdb")
    tap.done()


if __name__ == "__main__":
    main()
