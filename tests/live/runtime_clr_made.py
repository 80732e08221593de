#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 175s
"""Code of .NET processes that is freed while we look: dynamic methods, of the program and of
reflection, compiled expressions, assemblies that are unloaded. What of it was on a stack in the stop is
unwound and named as it was then.

SNAPWALK_STOPS=N: how many random stops (default 300)."""
import os
import re
import time
from collections import Counter

import dotnet
from harness import is_handler, seeded, stack_of
from interpreted import text_of
from judge import Judge
from runtime_clr import lacks

STOPS = int(os.environ.get("SNAPWALK_STOPS", "300"))
# The stacks of this program show by themselves whether they are right, so that fewer say as much.
FRESH_STOPS = max(STOPS // 10, 20)
PROVEN = {"context", "cfi", "runtime"}
# The methods that are made. Code that began to exist between our look and the stop, and was freed
# right after it, has no name any more, and hardly ever a frame.
NAMES = {f"Made{i}" for i in range(8)} | {"InvokeStub_Item..ctor"}
LOST = re.compile(r"\[jit 0x[0-9a-f]+\]|\? \[dynamic method\]|\?!0x[0-9a-f]+")


def judge_made(judge, look, stack, counts):
    """Judge one thread: names that are wrong, and what is lost."""
    frames, lost, wrong = stack["frames"], stack["end"] != "complete", None
    counts["nameless"] += any(LOST.match(f["function"] or "") for f in frames)
    for i, frame in enumerate(frames):
        name = frame["function"] or ""
        counts["frames"] += 1
        made = re.match(r"(.*) \[dynamic method\]", name)
        if made:
            counts["made"] += 1
            if made.group(1) not in NAMES and not LOST.match(name):
                wrong = f"{name} is not made"
        lost = lost or frame["kind"] == "unknown"
        lost = lost or (frame["trust"] not in PROVEN and not is_handler(frames, i) and
                        not (i == 1 and frame["trust"] == "scan_verified"))
    judge.verdict(look, None if wrong or not lost else f"a frame is lost: {stack['end']}: {stack['why']}", wrong, text_of(stack))


def random_looks(judge, pid, n, *names):
    """(look, stack) of the threads whose names begin so."""
    rng = seeded(STOPS)
    for look in judge.looks(pid, n, "--symbols", "names"):
        for thread in look.report["threads"]:
            if thread["comm"].startswith(names) and thread["captured"]:
                yield look, stack_of(look.report, thread["tid"])
        time.sleep(rng.random() * 0.01)


def random_stops(tap, what, target):
    counts = Counter()
    with Judge(tap, "clr.made", what) as judge:
        for look, stack in random_looks(judge, target.pid, STOPS, "made-"):
            judge_made(judge, look, stack, counts)
    tap.check(counts["made"] > STOPS // 5, f"{what}: {counts['made']} frames of code that is freed",
              counts)
    tap.check(counts["nameless"] <= STOPS // 3, f"{what}: {counts['nameless']} have lost a name",
              counts)


def test_made(tap):
    with dotnet.Program("made", 2) as target:
        random_stops(tap, "made", target)


CHAIN = re.compile(r"(?:.*\.)?([XDA]\d+|L)_?([0-3])(?:\(int\)| \[dynamic method\])$")
TOP = 3  # the innermost method of a chain


def levels_of(frames):
    """The chain that a stack of "fresh" is in, the outermost first: (which, level) of each method of it
    between Call and what Call leads to; None for one whose name is not known."""
    names = [f["function"] or "" for f in frames]
    calls = [i for i, name in enumerate(names) if ".Fresh.Call(" in name]
    if not calls:
        return None
    chain = []
    # A method that handles an exception is on the stack twice.
    for frame, name in zip(reversed(frames[:calls[-1]]), reversed(names[:calls[-1]])):
        found = CHAIN.match(name)
        if found:
            chain.append((found.group(1), int(found.group(2))))
        elif LOST.match(name):
            chain.append(None)
        elif ".Fresh.Work(" in name:
            chain.append(("work", TOP + 1))
            break
        elif frame["kind"] != "clr":
            break
    return chain


def wrong_in_fresh(stack, counts):
    """None when it is of one chain, and has all of its methods."""
    chain = levels_of(stack["frames"])
    if lacks(stack) is not None or not chain:
        return None
    counts["chains"] += 1
    counts["nameless"] += None in chain
    which = {step[0] for step in chain if step} - {"work"}
    at = [i if step is None else step[1] for i, step in enumerate(chain)]
    return None if len(which) <= 1 and at == list(range(len(at))) else f"{which}: {at}"


def random_stops_fresh(tap, what, target):
    counts = Counter()
    # Code that began to exist between our look and the stop is cut.
    with Judge(tap, f"clr.{what.replace(', ', '.')}") as judge:
        for look, stack in random_looks(judge, target.pid, FRESH_STOPS, "call-", "make-"):
            judge.verdict(look, lacks(stack), wrong_in_fresh(stack, counts), text_of(stack))
    tap.check(counts["chains"] > FRESH_STOPS // 5, f"{what}: {counts['chains']} chains of code that is freed",
              counts)
    tap.check(counts["nameless"] <= counts["chains"] // 2, f"{what}: {counts['nameless']} have lost a name",
              counts)


def test_fresh(tap):
    with dotnet.Program("fresh") as target:
        random_stops_fresh(tap, "fresh", target)


def test_versions(tap):
    for framework in ("net9.0", "net8.0"):
        directory = dotnet.build(framework, "--self-contained")
        with dotnet.Program("made", 2, directory=directory) as target:
            random_stops(tap, framework, target)
        with dotnet.Program("fresh", directory=directory) as target:
            random_stops_fresh(tap, f"fresh, {framework}", target)


if __name__ == "__main__":
    dotnet.run((test_made, test_fresh, test_versions))
