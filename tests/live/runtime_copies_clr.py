#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""Samples that the kernel copies at events, and of threads that wait, of a .NET program whose methods say how deep they are: no
stack is wrong, each that is cut says so, and nothing is stopped.

SNAPWALK_COPIES sets for how many seconds it is sampled at a time (1; 3 in the soak), SNAPWALK_COPIES_WARM how long it runs
before (0, so that code is compiled meanwhile).
"""
import os
import re
import time

import dotnet
import test_copies
from harness import Tap

WARM = float(os.environ.get("SNAPWALK_COPIES_WARM", "0"))
LEAVES = ("Looping", "Sorting", "Mapping", "Allocating", "Throwing", "Iterating", "Generic", "Reflecting", "Napping")
DEPTHS = {f"D{n}" for n in range(41)}
CALLERS = {
    "Work": {None}, "Turn": {"Work"}, "D0": {"Turn"}, **{f"D{n}": {f"D{n - 1}"} for n in range(1, 41)}, "Leaf": DEPTHS,
    **{leaf: {"Leaf"} for leaf in LEAVES}, "Throwing": {"Leaf", "Thrown"}, "Order": {"Sorting"}, "Key": {"Mapping"}, "Thrown": {"Throwing", "Thrown"},
    # Code that is compiled once more has the iterator in it. Where an exception is handled, those who threw it are still there.
    "Generating": {"Iterating"}, "Made": {"Generating", "Iterating"}, "Invoked": {"Reflecting"},
    "Spin": {"Looping", "Order", "Key", "Thrown", "Throwing", "Made", "Generic", "Invoked"},
}
MARKED = 30  # of a thousand: methods that may be unloaded (reflection makes some) count from the second time on


def name_of(function):
    """The method of the program, or all of the name: "swnet.dll!SwNet.Depths.D3(int)" is D3."""
    own = re.match(r"swnet\.dll!SwNet\.Depths(?:\+<(\w+)>d__\d+\.MoveNext|\.(\w+))", function or "")
    return (own.group(1) or own.group(2)) if own else function


def check(tap, name, options, *args):
    with dotnet.Program("depths", *args) as target:
        time.sleep(WARM)
        test_copies.samples(tap, name, "clr", target, options, marked=MARKED)


if __name__ == "__main__":
    test_copies.CALLERS["clr"] = CALLERS
    test_copies.KINDS["clr"] = "clr"
    test_copies.NAMES["clr"] = name_of
    Tap.main((check, ".NET", ("--mode", "cpu", "--rate", test_copies.RATE), 2), (check, ".NET, waiting", ("--rate", 99), 4, "naps"))
