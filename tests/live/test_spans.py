#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 600s
"""Requests that begin and end all the time: id, attributes and stack of a dump are of one instant.

SNAPWALK_CAPTURES=100000 makes it that long: captures of threads, whose truth is their stack (targets/spans.c).
"""
import os

from harness import Tap, Target
from spans import looks, wrong_of

CAPTURES = int(os.environ.get("SNAPWALK_CAPTURES", "100000"))
THREADS = 48


def main():
    tap = Tap()
    n, n_seen, n_stopped, wrong = 0, 0, 0, []
    with Target("spans", "moving", THREADS) as target:
        for made in looks(target.pid, CAPTURES // THREADS + 1):
            captured = [t for t in made["threads"] if t["captured"] and t["tid"] != target.pid]
            n += len(captured)
            n_stopped += sum(t["captured_by"] == "ptrace" for t in captured)
            n_seen += sum("trace" in t for t in captured)
            wrong += wrong_of(made)
    tap.equal(wrong[:5], [], f"{n} captures, {n_seen} with a request, {n_stopped} of threads that were stopped: "
              f"{len(wrong)} wrong")
    tap.check(n >= CAPTURES * 0.95 and n_seen > n / 2, "most threads were captured in a request", (n, n_seen))
    tap.done()


if __name__ == "__main__":
    main()
