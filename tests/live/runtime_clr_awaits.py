#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 160s
"""Async methods of .NET 8 to 10 and who awaits them, as the targets themselves know it.

SNAPWALK_STOPS sets how many captures there are of a program whose methods go on at random (60).
"""
import json
import os
import re
import subprocess

import dotnet
from harness import PATIENT, SNAPWALK, dump, hangs_s, wait_until

STOPS = int(os.environ.get("SNAPWALK_STOPS", "60"))
SOURCE = os.path.join(dotnet.SOURCES, "Awaits.cs")


def method(frame):
    found = re.search(r"SwNet\.Awaits\.(\w+)$", frame["function"] or "")
    return found.group(1) if found else None


def tasks_of(report):
    """[(state, tid, [frames])]"""
    return [(t["state"], t["tid"], s["frames"]) for s in report["stacks"] for t in s.get("tasks", [])]


def chains(report):
    return sorted((state, *[method(f) or f["function"] for f in frames])
                  for state, _, frames in tasks_of(report))


def check_default(tap, target, what, wanted):
    """Without being asked: who awaits what threads run, and nothing that waits."""
    running = [c for c in wanted if c[0] == "running" and len(c) > 2]
    got = {}

    def alike():
        got["report"] = dump(target.pid, *PATIENT)
        return chains(got["report"]) == running
    try:
        wait_until(alike, "the chains of those that run")
    except Exception:  # noqa: BLE001 - what differs is said below
        pass
    tap.equal(chains(got["report"]), running, f"{what}: without --tasks those that run")
    tap.equal([w for w in got["report"]["warnings"] if "awaits" in w["message"]], [], f"{what}: and no warning")
    if running:
        check_threads(tap, got["report"])
    folded = subprocess.run([SNAPWALK, str(target.pid), *PATIENT, "--format", "folded"], capture_output=True, text=True,
                            timeout=hangs_s()).stdout
    tap.equal([line for line in folded.splitlines() if line.startswith("task;")], [],
              f"{what}: folded stacks have each thread once")


def check_known(tap, what, *options, framework="net10.0"):
    directory = dotnet.build(framework, *options)
    with dotnet.Program("awaits", what, directory=directory) as target:
        wanted = sorted(tuple(line.split()[1:]) for line in target.lines if line.startswith("chain "))
        got = {}

        def alike():
            got["report"] = dump(target.pid, "--tasks", *PATIENT)
            return chains(got["report"]) == wanted
        try:
            wait_until(alike, "all chains")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        report = got["report"]
        tap.equal(chains(report), wanted, f"{what}: all chains, and no others")
        tap.equal([w for w in report["warnings"] if "tasks" in w["message"]], [], f"{what}: all of them")
        check_default(tap, target, what, wanted)
        if what == "roots":
            return
        frames = {method(f): f for _, _, fs in tasks_of(report) for f in fs}
        for number, line in enumerate(open(SOURCE, encoding="utf-8"), 1):
            found = re.search(r"// line of (\w+)", line)
            if found:
                tap.equal(frames[found.group(1)]["line"], number, f"{what}: the await of {found.group(1)}")
        if what == "busy":
            check_threads(tap, report)
        check_forms(tap, target, wanted)


def check_threads(tap, report):
    """The thread that runs one has its method on its stack."""
    stacks = {tid: s for s in report["stacks"] for tid in s["threads"]}
    for state, tid, frames in tasks_of(report):
        name = method(frames[0])
        on_stack = [f["function"] or "" for f in stacks[tid]["frames"]] if tid in stacks else []
        tap.check(any(f"<{name}>" in f and "MoveNext" in f for f in on_stack),
                  f"the thread of {name} runs it", (state, tid, on_stack))


def check_forms(tap, target, wanted):
    """Text has them, and so has what was recorded."""
    text = subprocess.run([SNAPWALK, str(target.pid), *PATIENT, "--tasks", "--all"], capture_output=True, text=True,
                          timeout=hangs_s()).stdout
    tap.check(re.search(r"AllInner\b.*\n.*AllOuter\b.*\n.*AnyOuter\b.*\n.*RunOuter\b", text), "text has a chain", text)
    if wanted[0][0] == "running":
        tap.check(re.search(r"running on thread \d+", text), "text says which thread runs it", text)


def taken(pid, *options):
    """Complete or not: it says when objects move."""
    result = subprocess.run([SNAPWALK, str(pid), *options, "--json", *PATIENT], capture_output=True, text=True,
                            timeout=hangs_s())
    if result.returncode not in (0, 3):
        raise RuntimeError(result.stderr)
    return json.loads(result.stdout)


def check_random(tap, *options, directory=None):
    """0 wrong chains at random instants, next to a thread that allocates."""
    wrong, told, running, refused = [], 0, 0, 0
    legal = {("Leaf", "LeafOfA", "RootA"), ("Leaf", "LeafOfB", "RootB")}
    # A method that awaits something may not have said so yet.
    legal |= {c[i:k] for c in legal for i in range(3) for k in range(i + 1, 4)}
    with dotnet.Program("awaits", "random", directory=directory) as target:
        for _ in range(STOPS):
            report = taken(target.pid, *options)
            if any("move objects" in w["message"] for w in report["warnings"]):
                refused += 1
                tap.check(not tasks_of(report), "nothing is told while objects move")
                continue
            by_tid = {}
            for state, tid, frames in tasks_of(report):
                names = tuple(method(f) or f["function"] for f in frames)
                if names not in legal:
                    wrong.append(names)
                if tid is not None:
                    by_tid.setdefault(tid, []).append(names)
            for stack in report["stacks"]:
                spin = [m for m in map(method_of_thread, stack["frames"]) if m in ("SpinA", "SpinB")]
                for tid in stack["threads"] if spin else []:
                    running += 1
                    kind = spin[0][-1]
                    mine = by_tid.get(tid, [])
                    told += any(names[0] == "Leaf" for names in mine)
                    wrong += [(kind, names) for names in mine
                              if names[0] == "Leaf" and any(n[-1] != kind for n in names[1:])]
    print(f"# {STOPS} captures, {refused} while objects moved; {running} threads ran Leaf, of {told} it was told")
    tap.equal(wrong, [], "no chain is wrong")
    tap.check(refused < STOPS, "objects do not move all the time")
    tap.check(running - told <= max(2, running * 0.05), "nearly all that run are told", (told, running))


def method_of_thread(frame):
    found = re.search(r"SwNet\.Awaits\.(\w+)\(", frame["function"] or "")
    return found.group(1) if found else None


def awaits_busy(tap):
    check_known(tap, "busy")


def awaits_waiting(tap):
    check_known(tap, "waiting")


def more_of(report):
    """The chains by the method before Outer, each from the innermost method on; those of the library by their name alone."""
    found = {}
    for _, _, frames in tasks_of(report):
        names = [(f["function"] or "").rpartition(".")[2] for f in frames]
        found.setdefault(names[-2] if names[-1] == "Outer" else "", []).append(names)
    return found


def check_more(tap, directory=None):
    with dotnet.Program("awaits", "more", directory=directory) as target:
        wanted = {}
        for line in target.lines:
            if line.startswith("chain "):
                _, _, *names = line.split()
                wanted.setdefault(names[-2], []).append(names)
        got = {}

        def alike():
            got["chains"] = more_of(dump(target.pid, "--tasks", *PATIENT, status=(0, 3)))
            return got["chains"] == wanted
        try:
            wait_until(alike, "all chains")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        tap.equal(got["chains"], wanted, "more: all chains, and no others")


def awaits_more(tap):
    """Other awaitables: each method is in a chain with what leads to it, and awaited by Outer."""
    check_more(tap)


def awaits_roots(tap):
    """By the timer alone, and by the queue of the thread pool."""
    check_known(tap, "roots")


def awaits_sockets(tap):
    """Only the runtime's table of sockets leads to who waits for them. Methods that wait for sockets behind another one
    of their bucket are missing in .NET 8 and 9, which have dictionaries."""
    with dotnet.Program("awaits", "sockets") as target:
        wanted = sorted(tuple(line.split()[1:]) for line in target.lines if line.startswith("chain "))
        got = {}

        def alike():
            report = dump(target.pid, "--tasks", *PATIENT, status=(0, 3))
            got["chains"] = sorted((state, *[f["function"].rpartition(".")[2] for f in frames])
                                   for state, _, frames in tasks_of(report))
            return got["chains"] == wanted
        try:
            wait_until(alike, "all chains")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        tap.equal(got["chains"], wanted, "sockets: all chains, and no others")


def awaits_unoptimized(tap):
    """The state machines of unoptimized code are objects of their own."""
    check_known(tap, "busy", "-p:Optimize=false", "--no-self-contained")


def awaits_random(tap):
    check_random(tap, "--tasks")


def awaits_random_default(tap):
    check_random(tap)


OLDER = ("net9.0", "net8.0")


def awaits_older(tap):
    """.NET 9, which describes half of what is needed, and .NET 8, which describes nothing."""
    for framework in OLDER:
        for what in ("busy", "waiting", "roots"):
            check_known(tap, what, "--self-contained", framework=framework)
        check_more(tap, dotnet.build(framework, "--self-contained"))


def awaits_older_random(tap):
    for framework in OLDER:
        for options in (("--tasks",), ()):
            check_random(tap, *options, directory=dotnet.build(framework, "--self-contained"))


if __name__ == "__main__":
    dotnet.run([awaits_busy, awaits_waiting, awaits_roots, awaits_more, awaits_sockets, awaits_unoptimized,
                awaits_random, awaits_random_default, awaits_older, awaits_older_random])
