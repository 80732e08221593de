#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 190s
""".NET for Windows under Wine 8 and 10: managed code on Windows' own code on Unix code, and all of it on
one stack. What is right is said by the programs themselves, which are those of runtime_clr.py.

SNAPWALK_STOPS=N: also looks at N random instants, with each Wine. Not else: where threads are suspended all the
time, one that Wine has suspended may have a lock of the runtime, and then the program itself hangs."""
import os
import shutil
import subprocess
from collections import Counter

import dotnet
from harness import Tap, Target, dump, patient_dump, stack_of, tool, wait_until
from runtime_clr import PROVEN, stops_at_random
from runtime_clr_names import check_names, check_stacks
from wine import LOADER, VERSIONS, Wine

STOPS = int(os.environ.get("SNAPWALK_STOPS", "0"))
COMPILER = "x86_64-w64-mingw32-gcc"
STORM_THREADS = 6


class Program(dotnet.Program):
    """The program in one of its modes; directory is where Wine sees it."""

    def __init__(self, wine, directory, *args):
        first, *rest = wine.command(LOADER, wine.inside(os.path.join(directory, "swnet.exe")), *args)
        # Wine's own mscoree.dll is for the .NET of long ago.
        Target.__init__(self, args[0], *rest, path=first, stderr=subprocess.DEVNULL,
                        env=dict(wine.environment, WINEDLLOVERRIDES="mshtml="))


def test_stacks(tap, name, program):
    """All ways to be on a stack: every walk proven to the thread's start, managed frames as said."""
    with program("stacks") as target:
        report = patient_dump(target.pid)
        truth = target.truth()
        runtimes = {r["name"]: r for r in report["process"]["runtimes"]}
        tap.equal({n: r.get("problem") for n, r in runtimes.items()}, {"clr": None, "wine": None},
                  f"{name}: both runtimes are recognised")
        tap.check(runtimes["clr"]["version"].startswith("10.") and
                  os.path.basename(runtimes["clr"]["where"]) == "coreclr.dll",
                  f"{name}: which .NET it is", runtimes)
        wrong = [(s["end"], s["why"], [(f["function"], f["trust"]) for f in s["frames"]])
                 for s in report["stacks"] if s["end"] != "complete" or
                 {f["trust"] for f in s["frames"]} - PROVEN]
        tap.equal(wrong, [], f"{name}: {len(report['stacks'])} stacks are proven to their start")
        for tid, (what, frames) in truth.items():
            differs = dotnet.compare(frames, stack_of(report, tid)["frames"])
            tap.equal(differs, None, f"{name}: the frames of {what}")
        count, frames = check_stacks(tap, report, target)
        tap.check(count >= 45, f"{name}: {count} threads, {frames} frames")
        check_threads(tap, name, report, truth)


def check_threads(tap, name, report, truth):
    threads = {t["tid"]: t for t in report["threads"]}
    known = [threads[tid]["managed"] for tid in truth]
    tap.check(all(m["runtime"] == "clr" and m["id"] > 0 and m["mode"] for m in known) and
              len({m["id"] for m in known}) == len(known), f"{name}: the threads' numbers", known)
    # Only what the kernel has, too; those of a pool have other names than what they do.
    named = {what: threads[tid]["managed"]["name"] for tid, (what, _) in truth.items()
             if threads[tid]["managed"]["name"] and not threads[tid]["managed"]["role"]}
    tap.check(named and all(said == what for what, said in named.items()),
              f"{name}: the names of {len(named)} threads", named)
    roles = Counter((t["managed"] or {}).get("role") for t in report["threads"])
    tap.equal(roles["finalizer"], 1, f"{name}: a single thread finalizes")


def test_names(tap, _, program):
    with program("names") as target:
        check_names(tap, target)


def test_storm(tap, name, program):
    """At random instants, while a collector stops the threads."""
    with program("storm", str(STORM_THREADS)) as target:
        def started():  # not all have a name: Wine 8 loses some when it has much to do
            report = dump(target.pid, "--symbols", "names", status=(0, 3))
            storm = {t["tid"] for t in report["threads"] if any(
                "Storm.Loop(" in (f["function"] or "")
                for f in (stack_of(report, t["tid"]) or {"frames": []})["frames"])}
            return storm if len(storm) == STORM_THREADS else None
        stops_at_random(tap, name, target, STOPS, wait_until(started, "the storm's threads"))


TESTS = (test_stacks, test_names, *([test_storm] if STOPS else []))


def look(tap, version, built):
    with Wine(version) as wine:
        directory = built
        if wine.root:  # it sees nothing else
            directory = os.path.join(wine.shared, "dotnet")
            shutil.rmtree(directory, ignore_errors=True)
            shutil.copytree(built, directory)
        for test in tap.chosen(*TESTS):
            tap.guard(test, f"Wine {version}", lambda *args: Program(wine, directory, *args))


def main():
    tap = Tap()
    for missing, what in ((dotnet.missing(), "the .NET SDK 10 (dotnet) in PATH"),
                          (not os.path.exists(LOADER) and "Wine is not installed", LOADER),
                          (not tool(COMPILER) and "mingw is not installed", COMPILER)):
        if missing:
            tap.skip("clr_wine", missing, what)
            break
    else:
        built = dotnet.build("net10.0", "--self-contained", system=dotnet.WINDOWS)
        for version in VERSIONS:
            tap.guard(look, version, built)
    tap.done()


if __name__ == "__main__":
    main()
