#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 10s
"""Real programs: a JVM, node, CPython, chromium. Every thread's walk is complete or says why not, a
guess is marked as one, and on threads that are blocked the program counters equal eu-stack's where
eu-stack reaches an end."""
import os
import re
import sys

import oracles
from harness import BUILD, Tap, module_of, patient_dump, pcs_of, stack_of, tool

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import bench_programs as programs  # noqa: E402 - the path above

PROVEN = {"context", "cfi", "runtime"}
# Chromium's release builds have frame pointers and no unwind tables.
ALLOWED = {"chromium": {"frame_pointer", "instructions"}}


def check_honest(tap, name, report):
    """Ends have reasons, captured threads have stacks, complete ones end in start-up code."""
    silent = [s for s in report["stacks"] if s["end"] != "complete" and not s["why"]]
    tap.check(not silent, f"{name}: every stack that is not complete says why", silent[:2])
    lost = [t for t in report["threads"] if not t["captured"]]
    tap.check(not lost, f"{name}: all {len(report['threads'])} threads are captured", lost)
    odd = []
    for stack in report["stacks"]:
        last = stack["frames"][-1]
        path = os.path.basename(module_of(report, last))
        at_start = path.startswith("libc.so") or path == os.path.basename(report["process"]["exe"])
        if stack["end"] == "complete" and not (at_start and last["trust"] in PROVEN):
            odd.append((path, last))
    tap.check(not odd, f"{name}: complete stacks end in start-up code, proven", odd[:3])
    complete = sum(stack_of(report, t["tid"])["end"] == "complete" for t in report["threads"])
    print(f"# {name}: {complete} of {len(report['threads'])} complete")
    return complete


def steady(first, second):
    """Threads whose stacks are the same in both reports: blocked all the time."""
    tids = {t["tid"] for t in first["threads"]} & {t["tid"] for t in second["threads"]}
    return sorted(t for t in tids if pcs_of(first, t) == pcs_of(second, t))


def words(pcs):
    return " ".join(map(hex, pcs))


def look(name, pid):
    """Compare once: (blocked threads, {tid: difference}, our report)."""
    before = patient_dump(pid, "--symbols", "none", status=(0, 3))
    theirs, complaints = oracles.eu_stack(pid)
    after = patient_dump(pid, "--symbols", "none", status=(0, 3))
    gave_up = {int(tid) for tid in re.findall(r"dwfl_thread_getframes tid (\d+)", complaints)}
    blocked = [tid for tid in steady(before, after) if theirs.get(tid)]
    differ = {}
    for tid in blocked:
        ours = pcs_of(after, tid)
        same = ours[:len(theirs[tid])] if tid in gave_up else ours
        # eu-stack goes by frame pointers through Java's code, and so past functions that keep none.
        passes = name == "java" and is_part_of(theirs[tid], ours)
        if same != theirs[tid] and not passes:
            differ[tid] = f"{tid}\nours   {words(ours)}\ntheirs {words(theirs[tid])}"
    return blocked, differ, after


def is_part_of(some, all_of_them):
    rest = iter(all_of_them)
    return all(pc in rest for pc in some)


def check_peer(tap, name, pid, rounds=4):
    """A thread may be busy just when eu-stack looks: what differs must differ every time."""
    for _ in range(rounds):
        blocked, differ, report = look(name, pid)
        if not differ:
            break
    tap.check(len(blocked) * 2 > len(report["threads"]), f"{name}: most threads are blocked")
    tap.check(not differ, f"{name}: as eu-stack says on {len(blocked)} blocked threads",
              "\n".join(list(differ.values())[:3]))


def check_program(tap, name, all_complete):
    with programs.start(name, BUILD) as program:
        program.settle()
        report = patient_dump(program.pid, status=(0, 3))
        complete = check_honest(tap, name, report)
        if all_complete:
            tap.equal(complete, len(report["threads"]), f"{name}: every walk is complete")
            guesses = {f["trust"] for s in report["stacks"] for f in s["frames"]} - PROVEN
            tap.check(guesses <= ALLOWED.get(name, set()), f"{name}: no frame is a guess", guesses)
        named = sum(f["function"] is not None for s in report["stacks"] for f in s["frames"])
        frames = sum(len(s["frames"]) for s in report["stacks"])
        print(f"# {name}: {named} of {frames} frames of distinct stacks have a name")
        if tool("eu-stack"):
            check_peer(tap, name, program.pid)
        else:
            tap.skip(f"{name}: comparison", "eu-stack is not installed", "package elfutils")


def main():
    tap = Tap()
    # Code that a JVM makes has no tables of ours: its threads may end early, and say so.
    for name, all_complete in (("python3", True), ("node", True), ("chromium", True),
                               ("java", False)):
        missing = programs.installed(name)
        if missing:
            tap.skip(name, f"{missing} is not installed", f"package {missing}")
            continue
        tap.guard(check_program, name, all_complete)
    tap.done()


if __name__ == "__main__":
    main()
