#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
# serial
"""Samples of a machine that does nothing else: shares of work and times are those that the target and the kernel
measured, what a sample costs, and what is said beside a load of our own.

SNAPWALK_SECONDS=30 makes the runs that long; words are the functions to run.
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

from harness import SNAPWALK, Shares, Tap, iterator_refused, snapwalk, stolen_s
from test_sample import SECONDS, count_of, counts, measured, sampled, share, share_error, taken, unread

LOAD = 20


def cpu_time(tap):
    """By events of the kernel: only what runs counts, with the shares that it measured; nothing is stopped."""
    with Shares(5, 3) as target:
        result = sampled(target, "--mode", "cpu", rate=499)
        if "perf events" in result.stderr:
            tap.skip("samples of CPU time", result.stderr.splitlines()[0], "perf_event_paranoid below 3, no filter")
            return
        folded = counts(result.stdout)
        n = int(re.search(r"^(\d+) samples in .*; nothing was stopped$", result.stderr, re.M).group(1))
        tap.check(result.returncode == 0 and 20 < n == sum(folded.values()), "cpu: each sample counts", result)
        work = count_of(result, "working;work_three"), count_of(result, "working;work_one")
        tap.check(sum(work) >= 0.95 * n, "cpu: the samples are where the work is", result.stdout)
        truth = measured(target)
        # Six deviations of a share of three quarters.
        few = 6 * 43 / n ** 0.5
        tap.check(abs(share(*work) - share(truth["work_three"], truth["work_one"])) < max(few, 3),
                  "cpu: with the shares that it measured", (n, work, truth))


def busy_threads(tap):
    """By the wall clock a thread that wants to run is where it is, on a CPU or not."""
    with Shares(10, 4) as target:
        stolen = stolen_s()
        result = sampled(target, "--max-load", 100)
        stolen = (stolen_s() - stolen) / SECONDS
        n = taken(result)[0]
        found = count_of(result, "work_three"), count_of(result, "work_one")
        tap.check(is_complete_or_says(result) and sum(found) + unread(result) >= 0.97 * 4 * n
                  and sum(found) >= 0.7 * 4 * n, "busy threads are found, or said to be unread", result)
        truth = measured(target)
        tap.check(abs(share(*found) - share(truth["work_three"], truth["work_one"])) < max(15, share_error(n)),
                  "with the shares that they measured", (found, truth))
        on_cpu, runnable, blocked = map(float, re.search(
            r"on a CPU ([\d.]+) threads, runnable ([\d.]+), blocked ([\d.]+)", result.stderr).groups())
        # Twelve wait.  What is runnable is measured, the rest is blocked: a little of a busy thread can be, and what
        # of its time was stolen is.
        tap.check(3 - stolen < on_cpu + runnable < 5.2 and 10.5 < blocked < 12.5 + stolen, "what they do is said",
                  (stolen, result.stderr))


def states_of(profile):
    """{tid: samples}, {state: samples}"""
    by_tid, by_state = {}, {}
    for s in profile["samples"]:
        tid = profile["threads"][s["thread"]]["tid"]
        by_tid[tid] = by_tid.get(tid, 0) + s["count"]
        by_state[s["state"]] = by_state.get(s["state"], 0) + s["count"]
    return by_tid, by_state


def without_stops(tap):
    """By the wall clock threads on a CPU are sampled by events: nobody is stopped, each thread counts once in each
    sample (events of the last moment may be too many), and what is on a CPU is what the kernel says."""
    refused = iterator_refused()
    if refused:
        tap.skip("wall without a stop", refused, "Linux 6.1, root")
        return
    with Shares(40, 4) as target:
        before = cpu_ns(target.pid)
        result = sampled(target, "--format", "json")
        used_s = (cpu_ns(target.pid) - before) / 1e9
        if "threads on a CPU were stopped: perf events" in result.stderr:
            tap.skip("wall without a stop", result.stderr, "perf_event_paranoid below 3, no filter")
            return
        profile = json.loads(result.stdout)
        n, wanted = taken(result)
        by_tid, by_state = states_of(profile)
        tap.check("; nothing was stopped\n" in result.stderr and profile["stopped_ns"] == 0,
                  "no stops: nothing is stopped, said", result.stderr)
        tap.check(len(by_tid) == 46 and all(n - unread(result) <= one <= n + 8 for one in by_tid.values()),
                  "no stops: each thread counts once in each sample", (n, by_tid, result.stderr))
        found_s = by_state.get("on_cpu", 0) / n * profile["duration_ns"] / 1e9
        # The time around the run is in what the kernel says, too. Events come at equal distances, also where samples
        # are lost: up to five of each thread count before that is made good.
        over_s = 4 * min(5, 1 + wanted - n) / n * profile["duration_ns"] / 1e9
        tap.check(0.6 * used_s - 0.15 < found_s < 1.05 * used_s + 0.15 + over_s,
                  "no stops: CPU time is what the kernel says", (found_s, used_s, over_s, result.stderr))
        tap.check(all(profile["samples"][i]["state"] != "on_cpu" or "working" in stack
                      for i, stack in enumerate(stacks_of(profile)) if "work_" in stack),
                  "no stops: stacks are whole", profile["samples"])
        result = sampled(target, "--stop", "always", "--max-load", 100, seconds=1)
        tap.check("nothing was stopped" not in result.stderr, "no stops: --stop always stops", result.stderr)


def cpu_ns(pid):
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def stacks_of(profile):
    """Returns the functions of each sample, outermost first."""
    names = []
    for parent, frame in profile["nodes"]:
        names.append((names[parent] + ";" if parent is not None else "") + (profile["frames"][frame]["function"] or "?"))
    return [names[s["node"]] if s["node"] is not None else "" for s in profile["samples"]]


def is_complete_or_says(result):
    """Few samples or stacks that are missing are said, and leave the status 0: more of them make it 3."""
    return result.returncode == 0 or (result.returncode == 3 and re.search(
        r"\d+ (samples? ((is|are) lost|(was|were) left out|failed)|stacks? of threads)", result.stderr))


def loaded_machine(tap):
    """With 20 busy loops beside it a run takes its time, and says what is missing."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOAD)]
    try:
        with Shares(50, 2) as target:
            begin = time.monotonic()
            result = sampled(target, seconds=2, rate=99)
            elapsed = time.monotonic() - begin
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()
    got, wanted = taken(result)
    tap.check(elapsed >= 2 and wanted == 198, "loaded: the run is not shorter than asked for", (elapsed, result))
    tap.check(is_complete_or_says(result), "loaded: 0, or 3 with the reason", result)
    tap.check(got >= 1 and count_of(result, "blocked") == 50 * got,
              "loaded: what is there is whole", result)


def stopped_early(tap):
    """Told to stop before it begins: nothing was sampled, and it says so."""
    def pending():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        os.kill(os.getpid(), signal.SIGTERM)
    with Shares(3) as target:
        got = subprocess.run([SNAPWALK, "sample", str(target.pid)], preexec_fn=pending, timeout=60,
                             capture_output=True, text=True)
        tap.check(got.returncode == 1 and got.stdout == "" and "before the first sample" in got.stderr,
                  "no sample was taken, said", got)


def cost(tap):
    """A sample of threads that do not run costs far less than a dump of them."""
    refused = iterator_refused()
    if refused:
        tap.skip("what a sample costs", refused, "Linux 6.1, root")
        return
    with Shares(1000) as target:
        def cpu(*args):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            result = snapwalk(*args)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # The first sample alone, as it is a whole capture.
        _, first = cpu("sample", target.pid, "--duration", 1, "--rate", 1)
        result, all_of_it = cpu("sample", target.pid, "--duration", SECONDS, "--rate", 99)
        n = max(taken(result)[0] - 1, 1)
        each = (all_of_it - first) / n
        print(f"# {1e6 * first:.0f} us for the first sample, {1e6 * each:.0f} for each other: "
                 f"{99 * 100 * each:.1f} % of a CPU at 99 Hz; {taken(result)} samples", flush=True)
        tap.check(each < first / 10, "a sample costs less than a tenth of the first one", (first, each))


if __name__ == "__main__":
    Tap.main(cpu_time, without_stops, busy_threads, loaded_machine, stopped_early, cost)
