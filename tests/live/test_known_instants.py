#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
"""The checks of the soak at random instants in test_compare_busy.py, test_compare_busy_i386.py, test_random_stop.py and
test_crowd.py, at known ones (known_instants.py): stacks of busy programs are those that they say, and that eu-stack and
gdb say; a crowd of threads is captured whole."""
import test_compare_busy as busy
import test_crowd as crowd
import test_random_stop as random_stop
from harness import Tap, Target, state_of, tool, wait_until
from known_instants import Instants
from safety import tasks

# A leaf that qsort() calls, the handler of a signal.
FUNCTIONS = ("r_compare", "r_on_timer")
THROWS = ("r_thrower", "r_containers")
BUILDS = {"gcc_O2": FUNCTIONS, "clang_O2": FUNCTIONS, "musl_O2": FUNCTIONS, "g++_O2": THROWS, "i386_gcc_O2": FUNCTIONS}
IN_BUSY = ("fib", "compare", "in_handler")
CROWD = 1500  # more than the soft limit of open files in a login


def builds_known(tap):
    there = busy.builds() + busy.builds(i386=True)
    with Instants() as instants, busy.other_tools(tap) as peers:
        for build, functions in BUILDS.items():
            if build in there:
                tap.guard(busy.check_known, build, peers, instants, functions)
            else:
                tap.skip(f"{build} at known instants", "it is not built",
                         "packages gcc-multilib and g++-multilib" if "i386" in build else "a compiler of its name")
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
