#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 175s
"""Code of .NET processes that is freed while we look: dynamic methods, of the program and of
reflection, compiled expressions, assemblies that are unloaded. What of it was on a stack in the stop is
unwound and named as it was then.

SNAPWALK_STOPS=N: how many random stops (default 300)."""
import os
import random
import re
import time
from collections import Counter

import dotnet
from harness import dump, is_handler, stack_of

STOPS = int(os.environ.get("SNAPWALK_STOPS", "300"))
# Its stacks show by themselves whether they are right, so that fewer say as much.
FRESH_STOPS = max(STOPS // 10, 20)
PROVEN = {"context", "cfi", "runtime"}
# The methods that are made. Code that began to exist between our look and the stop, and was freed
# right after it, has no name any more, and hardly ever a frame.
NAMES = {f"Made{i}" for i in range(8)} | {"InvokeStub_Item..ctor"}
LOST = re.compile(r"\[jit 0x[0-9a-f]+\]|\? \[dynamic method\]|\?!0x[0-9a-f]+")


def look(stack, counts, wrong):
    """One thread: what is lost is counted, names that are wrong are kept."""
    frames, lost = stack["frames"], stack["end"] != "complete"
    counts["nameless"] += any(LOST.match(f["function"] or "") for f in frames)
    for i, frame in enumerate(frames):
        name = frame["function"] or ""
        counts["frames"] += 1
        made = re.match(r"(.*) \[dynamic method\]", name)
        if made:
            counts["made"] += 1
            if made.group(1) not in NAMES and not LOST.match(name):
                wrong.append(name)
        lost = lost or frame["kind"] == "unknown"
        lost = lost or (frame["trust"] not in PROVEN and not is_handler(frames, i) and
                        not (i == 1 and frame["trust"] == "scan_verified"))
    counts["lost"] += bool(lost)


def random_stops(tap, what, target):
    rng, counts, wrong = random.Random(STOPS), Counter(), []
    for _ in range(STOPS):
        report = dump(target.pid, "--symbols", "names", "--max-stop", 10000, "--timeout", 60000,
                      status=(0, 3))
        for thread in report["threads"]:
            if thread["comm"].startswith("made-") and thread["captured"]:
                look(stack_of(report, thread["tid"]), counts, wrong)
        time.sleep(rng.random() * 0.01)
    tap.check(counts["made"] > STOPS // 5, f"{what}: {counts['made']} frames of code that is freed",
              counts)
    tap.equal(sorted(set(wrong)), [], f"{what}: their names are those of that time")
    tap.check(counts["lost"] <= STOPS // 100, f"{what}: {counts['lost']} stacks have lost a frame",
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


def look_fresh(stack, counts, wrong):
    frames = stack["frames"]
    chain = levels_of(frames)
    counts["stacks"] += 1
    if stack["end"] != "complete" or any(f["kind"] == "unknown" for f in frames):
        counts["cut"] += 1
        return
    if any(f["trust"] not in PROVEN and not is_handler(frames, i) for i, f in enumerate(frames)):
        counts["guessed"] += 1
        return
    if not chain:
        return
    counts["chains"] += 1
    counts["nameless"] += None in chain
    which = {step[0] for step in chain if step} - {"work"}
    at = [i if step is None else step[1] for i, step in enumerate(chain)]
    if len(which) > 1 or at != list(range(len(at))):
        wrong.append([f["function"] for f in frames])


def random_stops_fresh(tap, what, target):
    rng, counts, wrong = random.Random(STOPS), Counter(), []
    for _ in range(FRESH_STOPS):
        report = dump(target.pid, "--symbols", "names", "--max-stop", 10000, "--timeout", 60000,
                      status=(0, 3))
        for thread in report["threads"]:
            if thread["comm"].startswith(("call-", "make-")) and thread["captured"]:
                look_fresh(stack_of(report, thread["tid"]), counts, wrong)
        time.sleep(rng.random() * 0.01)
    tap.check(counts["chains"] > FRESH_STOPS // 5, f"{what}: {counts['chains']} chains of code that is freed",
              counts)
    tap.equal(wrong[:3], [], f"{what}: each is of one chain, and has all of its methods")
    # Code that began to exist between our look and the stop: up to 6 of 1,000 with a load of 30. Six deviations of 20.
    often = counts["stacks"] * 0.02
    tap.check(counts["cut"] + counts["guessed"] <= often + 6 * often ** 0.5,
              f"{what}: {counts['cut']} stacks have lost a frame, {counts['guessed']} have a guess", counts)
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
