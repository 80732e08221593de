#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What run.py makes of the output of test programs: nothing is lost, a skip says what it needs."""
import contextlib
import io
import os
import sys

from harness import Tap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import run  # noqa: E402

PLAN = "1..2\n"
GOOD = "ok 1 - a\nok 2 - b\n"
# Output, status, (passed, failed, skipped), a failure's last words, {what it needs: lines}
CASES = {
    "all passed": (GOOD + PLAN, 0, (2, 0, 0), None, {}),
    "one failed": ("ok 1 - a\nnot ok 2 - b\n" + PLAN, 1, (1, 1, 0), ": b", {}),
    "a plan that is not kept": ("1..3\n" + GOOD, 0, (2, 1, 0), "after 2 results of 3", {}),
    "a program that died": (GOOD, -11, (2, 1, 0), "ended with status -11 after 2 results", {}),
    "a program without results": ("", 0, (0, 1, 0), "ended with status 0 after 0 results", {}),
    "a skip": ("ok 1 - a\nok 2 - b # SKIP no c; needs package c\n" + PLAN, 0, (1, 0, 1), None,
               {"package c": ["p: b: no c"]}),
    "two skips for one reason": (
        "ok 1 - a # SKIP no c; needs package c\nok 2 - b # SKIP no c; needs package c\n" + PLAN, 0,
        (0, 0, 2), None, {"package c": ["p: a: no c", "p: b: no c"]}),
    "a skip of cmocka": ("ok 1 - a\n# skip: not root; needs root\nnot ok 2 # SKIP b\n" + PLAN, 0,
                         (1, 0, 1), None, {"root": ["p: b: not root"]}),
    "a skip of the whole program": ("begins\nnot root; needs root\n", 77, (0, 0, 1), None,
                                    {"root": ["p: not root"]}),
    "a skip that does not say what it needs": (
        "ok 1 - a\nok 2 - b # SKIP no c\n" + PLAN, 0, (1, 1, 0),
        "b: skipped without saying what it needs: no c", {}),
    "a whole program that does not either": (
        "no\n", 77, (0, 1, 0), ": skipped without saying what it needs: no", {}),
}


def counted(tap):
    for what, (output, status, wanted, failure, skips) in CASES.items():
        totals = run.Totals()
        good = run.count("tests/p", output, status, totals)
        tap.equal((totals.passed, totals.failed, totals.skipped), wanted, f"{what}: counted")
        tap.equal(good, wanted[1] == 0, f"{what}: whether all is well")
        tap.equal([f.endswith(failure or "") for f in totals.failures],
                  [True] * (failure is not None), f"{what}: what failed")
        tap.equal(totals.skips, skips, f"{what}: what is skipped")


def shown(tap):
    totals = run.Totals()
    for name, needs in (("a", "x"), ("b", "y"), ("c", "x")):
        totals.skip("p", name, f"none; needs {needs}")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run.show_skips(totals)
    tap.equal(text.getvalue(), "skipped, 2 need x:\n    p: a: none\n    p: c: none\n"
                               "skipped, 1 needs y:\n    p: b: none\n", "skips are grouped")


tap = Tap()
tap.guard(counted)
tap.guard(shown)
tap.done()
