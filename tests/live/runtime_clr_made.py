#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code of .NET processes that is freed while we look: dynamic methods, of the program and of
reflection. What of it was on a stack in the stop is unwound and named as it was then.

SNAPWALK_STOPS=N: how many random stops (default 300)."""
import os
import random
import re
import time
from collections import Counter

import dotnet
from harness import dump, is_handler, stack_of

STOPS = int(os.environ.get("SNAPWALK_STOPS", "300"))
PROVEN = {"context", "cfi", "runtime"}
# The methods that are made. Code that began to exist between our look and the stop, and was freed
# right after it, has no name any more, and hardly ever a frame.
NAMES = {f"Made{i}" for i in range(8)} | {"InvokeStub_Item..ctor"}
LOST = re.compile(r"\[jit 0x[0-9a-f]+\]|\? \[dynamic method\]")


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


def test_versions(tap):
    for framework in ("net9.0", "net8.0"):
        directory = dotnet.build(framework, "--self-contained")
        with dotnet.Program("made", 2, directory=directory) as target:
            random_stops(tap, framework, target)


if __name__ == "__main__":
    dotnet.run((test_made, test_versions))
