#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 130s
"""Windows programs under Wine 8 and 10: threads in all the ways there are to wait, spin, fault and call
back. Every walk goes through all stacks to the thread's start, and equals what the program sees of
itself. The program goes on as if nothing had been."""
import json
import os
import statistics
import subprocess

from harness import SNAPWALK, TARGETS, Tap, dump, patient_dump, slowness, stack_of, wait_until
from wine import VERSIONS, Wine
from wine_threads import TRUST, Said, check_runtimes, check_threads

DUMPS = 30
BOUNDARY_DUMPS = 200
BOUNDARIES = {"__wine_syscall_dispatcher", "__wine_unix_call_dispatcher", "KiUserCallbackDispatcher",
              "KiUserExceptionDispatcher", "KiUserApcDispatcher", "RtlUserThreadStart"}
SLEEPERS = 49  # and main()
NAMED_MS = 60


def settled(target):
    """A report of the program when those that wait do, and nothing was cut by a busy machine."""
    held = {"heldwait", "heldspin"}

    def look():
        report = patient_dump(target.pid, status=(0, 3))
        names = {t["comm"] for t in report["threads"]}
        return report if held <= names and not report["warnings"] else None
    return wait_until(look, "a dump without a warning", 60)


def test_threads(tap, version, wine):
    name = f"Wine {version}"
    with wine.program("wine_threads.exe") as target:
        report = settled(target)
        check_threads(tap, name, target.lines, report)
        check_runtimes(tap, name, version, report)
        notes = [t["managed"] for t in report["threads"]]
        tap.check(all(n and n["runtime"] == "wine" and n["id"] > 0 for n in notes),
                  f"{name}: Windows' numbers of threads are known", notes[:3])
        check_goes_on(tap, name, target)
        without = snapwalk_without("process_vm_readv", target.pid)
        check_threads(tap, f"{name}, without process_vm_readv()", target.lines, without)


def snapwalk_without(call, pid):
    """A report on a kernel without a system call."""
    words = [os.path.join(TARGETS, "without"), call, "--", SNAPWALK, "dump", "--json", str(pid),
             "--max-stop", "10000", "--timeout", "60000"]
    return json.loads(subprocess.run(words, capture_output=True, check=False, text=True,
                                     timeout=120).stdout)


def alive(target):
    target.send("?")
    word, ticks, returned = target.readline().split()
    return word == "alive", int(ticks), int(returned)


def check_goes_on(tap, name, target):
    """Dumps in a row: no call of the program returns because of them, and it goes on working."""
    _, before, returned = alive(target)
    tap.equal(returned, 0, f"{name}: no wait has ended")
    incomplete = []
    for _ in range(DUMPS):
        report = patient_dump(target.pid, "--symbols", "none", status=(0, 3))
        for thread in report["threads"]:
            stack = stack_of(report, thread["tid"])
            if stack is None or stack["end"] != "complete":
                incomplete.append((thread["comm"], stack and (stack["end"], stack["why"])))
    tap.equal(incomplete, [], f"{name}: {DUMPS} dumps, every walk complete")
    ok, after, returned = alive(target)
    tap.check(ok and after > before, f"{name}: the program works on", (before, after))
    tap.equal(returned, 0, f"{name}: still no wait has ended")


def changing(report):
    """Threads whose walks are not proven to the thread's start: (thread, frames) of each."""
    for thread in report["threads"]:
        stack = stack_of(report, thread["tid"])
        if stack is None:
            # The thread ended before it was held.
            yield from [] if thread["reason"] == "exited" else [(thread["reason"], [])]
            continue
        frames = [f for f in stack["frames"] if not f["inlined"]]
        # NtContinue() replaces a thread's registers one by one: while it does, nothing tells what
        # they were.
        if "NtSetContextThread" in [f["function"] for f in frames]:
            continue
        if stack["end"] != "complete" or {f["trust"] for f in frames} - TRUST:
            yield stack["end"], [(f["pc"], f["function"], f["trust"]) for f in frames]


def test_boundaries(tap, version, wine):
    """Threads that change between Windows and Unix code all the time, at random instants."""
    name = f"Wine {version}"
    with wine.program("wine_boundaries.exe") as target:
        wrong, walks, seen = [], 0, set()
        for _ in range(BOUNDARY_DUMPS):
            report = patient_dump(target.pid, "--symbols", "names", status=(0, 3))
            wrong += changing(report)
            walks += len(report["threads"])
            seen |= {f["function"] for s in report["stacks"] for f in s["frames"]}
        # Between two registers that an exception's handling replaces, nothing may tell what they were: such
        # a walk says that it is cut, and is one of a thousand.
        cut = [w for w in wrong if w[0] != "complete"]
        tap.check(len(wrong) == len(cut) <= 1 + walks // 1000,
                  f"{name}: {walks} walks at the boundaries, each proven to its start",
                  "\n".join(map(str, wrong[:5])))
        missing = BOUNDARIES - seen
        tap.check(not missing, f"{name}: every boundary was met", missing)


def test_cost(tap, version, wine):
    """Fifty threads, with names and lines: what the daemon or a hook would wait for."""
    name = f"Wine {version}"
    with wine.program("wine_threads.exe", SLEEPERS) as target:
        said = Said(target.lines)
        times, stops = [], []
        for _ in range(15):
            report = dump(target.pid, status=(0, 3))
            times.append(report["timings"]["total_us"] / 1000)
            stops.append(report["timings"]["stopped_us"] / 1000)
        complete = sum(stack_of(report, tid)["end"] == "complete" for tid in said.names)
        tap.equal(complete, SLEEPERS, f"{name}: {SLEEPERS} sleepers are complete")
        print(f"# {name}: {len(report['threads'])} threads with names and lines: median "
              f"{statistics.median(times):.1f} ms, best {min(times):.1f} ms; stopped "
              f"{statistics.median(stops):.2f} ms")
        limit_ms = NAMED_MS * slowness()
        tap.check(min(times) < limit_ms, f"{name}: with names in less than {limit_ms:.0f} ms", times)


def look(tap, version):
    with Wine(version) as wine:
        for test in (test_threads, test_boundaries, test_cost):
            tap.guard(test, version, wine)


if __name__ == "__main__":
    Tap.main(*((look, version) for version in VERSIONS))
