#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""Samples that the kernel copies at events, and of threads that wait, of Java programs whose methods say how deep they are: no
stack is wrong, each that is cut says so, and nothing is stopped.

With the JDKs that runtime_jvm.py finds. SNAPWALK_COPIES sets for how many seconds each program is sampled at a time (1; 3 in
the soak), SNAPWALK_COPIES_WARM how long it runs before (0, so that code is compiled meanwhile; else nearly all stacks of a
program that computes must be complete).
"""
import os
import sys
import time

from harness import Target, Tap

sys.path.insert(0, os.path.dirname(__file__))
import test_copies  # noqa: E402
from runtime_jvm import CLASSES, MODES, chosen, compile_all, has_mode, machines  # noqa: E402

WARM = float(os.environ.get("SNAPWALK_COPIES_WARM", "0"))
LEAVES = ("loop", "sorting", "allocating", "calling", "handling", "throwing", "copying", "loading", "napping")
DEPTHS = {f"Depths.d{n}" for n in range(41)}
THREAD = {"Depths.lambda$begin$0", "java.lang.Thread.run", "java.lang.Thread.runWith"}
# Callers of each method, without the methods of the library. The lambda of a thread has no name of its own: its method is called by it.
CALLERS = {
    "Depths.main": {None}, "Depths.work": {"Depths.main", None} | THREAD, "Depths.turn": {"Depths.work"},
    "Depths.d0": {"Depths.turn"}, **{f"Depths.d{n}": {f"Depths.d{n - 1}"} for n in range(1, 41)}, "Depths.leaf": DEPTHS,
    **{f"Depths.{leaf}": {"Depths.leaf"} for leaf in LEAVES}, "Depths.handled": {"Depths.handling"},
    "Depths.nothing": {"Depths.calling"}, "Depths.thrown": {"Depths.throwing", "Depths.thrown"}, "Depths.key": {"Depths.sorting"},
    "Depths.making": {"Depths.loading"}, "Depths.building": {"Depths.loading"}, "Depths$Made.run": {"Depths.making"},
    "Depths$Made.made": {"Depths$Made.run", "Depths$Made.made"}, "Depths$Built.run": {"Depths.building"},
    "Depths$Built.used": {"Depths$Built.run", "Depths$Built.used"}, "Depths$Base.call": {"Depths.calling"}, "Depths$Other.call": {"Depths.calling"},
    "Depths.spin": {"Depths.loop", "Depths.key", "Depths.handled", "Depths.throwing", "Depths$Made.made", "Depths$Built.used",
                    "Depths$Base.call", "Depths$Other.call"},
}
MARKED = 60  # of a thousand, of a program whose code is compiled; 17 of them before all code is known, which a busy machine prolongs


def depths(home, mode, *args):
    return Target("java", "-Xmx256m", *MODES[mode], "-cp", CLASSES, "Depths", *args, path=os.path.join(home, "bin", "java"))


def check(tap, name, home, mode, args, options=("--mode", "cpu", "--rate", test_copies.RATE), whole=False):
    with depths(home, mode, *args) as target:
        time.sleep(WARM)
        test_copies.samples(tap, name, "java", target, options, whole=whole and WARM > 0, marked=MARKED)
        return target.names


def check_version(tap, version, home):
    check(tap, f"java {version}", home, "default", (2,), whole=True)
    names = check(tap, f"java {version}, waiting", home, "default", (4, "naps"), ("--rate", 99))
    tap.check({"main", "worker with a long name"} <= names, f"java {version}: threads have Java's names", names)
    for mode in ("-Xint", "C1", "C2", "ZGC"):
        if has_mode(home, mode):
            check(tap, f"java {version} {mode}", home, mode, (2,))
    for mode in ("default", "-Xint", "ZGC"):
        # Classes come where others have been: two that have other names, so that an old name has a wrong caller.
        if has_mode(home, mode):
            check(tap, f"java {version} {mode}, loads", home, mode, (2, "loads"))
    if int(version) >= 21:
        # A virtual thread has only some of its frames on the stack.
        check(tap, f"java {version}, virtual", home, "default", (4, "virtual"))
        check(tap, f"java {version}, virtual, waiting", home, "default", (4, "virtual", "naps"))


def main():
    tap = Tap()
    found = machines()
    compile_all(found[min(found, key=int)])
    test_copies.CALLERS["java"] = CALLERS
    test_copies.KINDS["java"] = "jvm"
    for version, home in chosen(found).items():
        if int(version) >= 17:
            tap.guard(check_version, version, home)
    tap.done()


if __name__ == "__main__":
    main()
