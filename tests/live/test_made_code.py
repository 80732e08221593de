#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""The threads that are stopped where a process has executable memory in which no thread is, as PCRE2's JIT makes it;
and what is said of a stop. Nobody is stopped for a sample of a thread that computes in such code."""
import json
import os
import re

from harness import Tap, Target, call_of, dump, iterator_refused, snapwalk, wait_until
from safety import status_field

BLOCKED, WAKING, DUMPS = 100, 6, 25
PSELECT = 270
RATE, SECONDS, RUNS_MAX, ENOUGH = 499, 2, 4, 200


def waiting(pid, tids):
    return sum(call_of(pid, tid) == PSELECT for tid in tids)


def stops(tap):
    refused = iterator_refused()
    if refused:
        tap.skip("who is stopped", refused, "a kernel whose task iterator may be used (root, BPF with BTF)")
        return
    with Target("waking", str(BLOCKED), str(WAKING)) as target:
        report = dump(target.pid)
        tids = [thread["tid"] for thread in report["threads"]]
        tap.equal(len(tids), 1 + BLOCKED + WAKING, "all threads are there")
        wait_until(lambda: waiting(target.pid, tids) == BLOCKED, "the threads to wait")
        timings = [dump(target.pid)["timings"] for _ in range(DUMPS)]
        stopped = [t["n_stopped"] for t in timings]
        tap.check(max(stopped) <= WAKING, f"{DUMPS} dumps stop none that waits", stopped)
        tap.check(all((t["n_stopped"] > 0) == (t["stopped_why"] is not None) for t in timings),
                  "whatever is stopped, it is said why", [(t["n_stopped"], t["stopped_why"]) for t in timings])
        tap.equal([t["interrupted_calls"] for t in timings], [0] * DUMPS, "no call is interrupted")
        tap.equal(waiting(target.pid, tids), BLOCKED, "the calls with a limit go on")


def said_why(tap):
    """A thread that is on a CPU in each look has to be stopped; one that always gets a CPU is."""
    if refused := iterator_refused():
        tap.skip("why a thread is stopped", refused, "a kernel whose task iterator may be used (root, BPF with BTF)")
        return
    with Target("states", "spin", "1") as target:
        for tid in os.listdir(f"/proc/{target.pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(tid), -20)
        stopped = wait_until(lambda: next((t for t in [dump(target.pid)["timings"]] if t["n_stopped"]), None),
                             "a dump that stops the thread")
        tap.equal((stopped["n_stopped"], stopped["stopped_why"]), (1, "threads that ran cannot be read while they run"),
                  "a thread that runs is stopped, and it is said why")


def stacks(profile):
    """[(functions, outermost first, whether they say that they may not be whole, how often)]"""
    paths = []
    for parent, frame in profile["nodes"]:
        paths.append((paths[parent] if parent is not None else []) + [profile["frames"][frame]])
    return [([f["function"] for f in paths[s["node"]]],
             any(f.get("may_miss") or f.get("guess") or f.get("mark") for f in paths[s["node"]]), s["count"])
            for s in profile["samples"] if s["node"] is not None]


def counts(found, function):
    """(samples of the thread that begins with the function; of these, with the code that is made in them, or with a mark)"""
    of_it = [(names, marked, n) for names, marked, n in found if function in names]
    return sum(n for _, _, n in of_it), sum(n for names, marked, n in of_it if marked or None in names)


def switches(target, tids):
    """A thread that never waits makes none by itself but for a stop."""
    return {tid: int(status_field(target.pid, tid, "voluntary_ctxt_switches")) for tid in tids}


def sampled_busy(tap, mode, options):
    """The copy of the kernel's is walked of code that publishes nothing, and nobody is stopped: the program says so itself."""
    with Target("jit_busy") as target:
        tids = [int(line.split()[1]) for line in target.lines if line.startswith("busy ")]
        before, found, total, said = switches(target, tids), [], 0, ""
        for _ in range(RUNS_MAX):
            result = snapwalk("sample", target.pid, *options, "--duration", SECONDS, "--format", "json")
            said = result.stderr
            found += stacks(json.loads(result.stdout or '{"nodes": [], "samples": []}'))
            total = sum(n for _, _, n in found)
            if total >= ENOUGH:
                break
        tap.check("nothing was stopped" in said, f"{mode}: nothing was stopped", said)
        tap.equal({tid: n - before[tid] for tid, n in switches(target, tids).items()}, dict.fromkeys(tids, 0),
                  f"{mode}: threads that compute were never taken off their CPU but by others that run")
        target.process.stdin.close()
        rest = target.process.stdout.read()
        tap.equal(re.findall(r"interrupted (\d+)", rest), ["0"], f"{mode}: no call was interrupted")
    for function in ("framed", "bare"):
        n, whole = counts(found, function)
        print(f"# {mode}, {function}: {n} of {total} samples, {whole} with what it calls or marked", flush=True)
        tap.check(n > total / 10 and whole >= 0.95 * n, f"{mode}, {function}: its samples lead there, whole or marked",
                  [(names, marked) for names, marked, _ in found if function in names][:5])


NAMED = {"framed": ["made_outer", "made_inner"], "bare": ["made_bare"]}


def named(tap, mode, options):
    """Functions of a perf map have their names in samples as in dumps, but before the map was looked at twice."""
    with Target("jit_busy", "map") as target:
        found, total = [], 0
        for _ in range(RUNS_MAX):
            result = snapwalk("sample", target.pid, *options, "--duration", SECONDS, "--format", "json")
            found += stacks(json.loads(result.stdout or '{"nodes": [], "samples": []}'))
            total = sum(n for _, _, n in found)
            if total >= ENOUGH:
                break
        target.process.stdin.close()
        target.process.wait()
    for function, names in NAMED.items():
        of_it = [(stack, [name for name in stack if (name or "").startswith("made_")], n) for stack, _, n in found if function in stack]
        tap.equal([stack for stack, made, _ in of_it if made not in (names, names[:1], [])][:3], [],
                  f"{mode}, {function}: no function has the name of another")
        all_of = sum(n for _, _, n in of_it)
        known = sum(n for _, made, n in of_it if made == names)
        print(f"# {mode}, {function}: {known} of {all_of} samples have the names", flush=True)
        tap.check(known > all_of / 2 > 0, f"{mode}, {function}: functions of the perf map have their names",
                  [stack for stack, _, _ in found if function in stack][:5])


def busy(tap):
    if refused := iterator_refused():
        tap.skip("samples of code that a program makes", refused, "a kernel whose task iterator may be used (root, BPF with BTF)")
        return
    sampled_busy(tap, "cpu", ("--mode", "cpu", "--rate", RATE))
    sampled_busy(tap, "wall", ("--rate", RATE, "--max-load", 100))
    named(tap, "cpu", ("--mode", "cpu", "--rate", RATE))
    named(tap, "wall", ("--rate", RATE, "--max-load", 100))
    with Target("busy") as other:  # of several processes one event for each CPU is shared
        named(tap, "several", (other.pid, "--mode", "cpu", "--rate", RATE))


tap = Tap()
tap.guard(stops)
tap.guard(said_why)
tap.guard(busy)
tap.done()
