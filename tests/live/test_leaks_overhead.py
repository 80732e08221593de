#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 60s
"""snapwalk leaks --of memory predicts what following blocks costs: the CPU time of a program that allocates and frees at a
pace grows by that, within a factor of 1.3.
"""
import json

from harness import Tap, Target, iterator_refused
from test_events import Run

CALLS, ROUNDS, FACTOR = 500, 12, 1.3


def least(target):
    """ns of CPU time of a round: the least of several, as what else runs on the machine only makes it more."""
    times = []
    for _ in range(ROUNDS):
        target.send(f"pace {CALLS}")
        times.append(int(target.readline()))
        target.readline()
    return min(times)


def predicted(tap):
    with Target("blocks") as target:
        before = least(target)
        run = Run("leaks", "--of", "memory", "--json", "--max-overhead", 10000, "-d", 0, target.pid)
        each = (least(target) - before) / CALLS
        budget = json.loads(run.end()[1])["budget"]
        expected = budget["acquire_ns"] + budget["release_ns"]
        figures = {"measured_ns": round(each), "predicted_ns": round(expected)}
        print(f"# {figures}", flush=True)
        tap.check(expected / FACTOR <= each <= expected * FACTOR, "a block costs what is predicted, within a factor of 1.3", figures)


if __name__ == "__main__":
    Tap.main(predicted, skip=("leaks --of memory", iterator_refused(), Tap.ROOT))
