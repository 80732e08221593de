#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 20s
# serial
"""10,000 threads: a stop of all keeps its bound, with as many stacks as fit into it, and none of them is
lost to the time that it takes to describe so many threads.

SNAPWALK_CROWD: how many threads; SNAPWALK_RUNS: how many captures the figure is of."""
import os

from daemon import Daemon, Refused
from harness import PATIENT, Tap, Target, wait_until
from safety import GAVE, median, parse, run

CROWD = int(os.environ.get("SNAPWALK_CROWD", 10000))
RUNS = int(os.environ.get("SNAPWALK_RUNS", 5))
MAX_STOP_MS = 100
SLACK_MS = 5    # a thread of ours that had to wait for its turn
TRIES = 4       # on a machine that does something else
STOPS_S = 300   # until one stops somebody


def stopped(take):
    """Returns the result with stacks: where others have the CPUs, no thread may have stopped by the limit, which is an
    answer, too."""
    return wait_until(take, "a stop in which some stop in time", STOPS_S)


def capture(target, *args):
    """As dump() of the harness is, a stop of all with the limit."""
    def take():
        code, out, err, _ = run("dump", "--json", *PATIENT, "--stop", "always", "--max-stop", MAX_STOP_MS, *args, target.pid)
        if code == 1 and "no thread stopped within" in err:
            return None
        if code not in GAVE:
            raise RuntimeError(f"status {code}\n{err}")
        return parse(out)
    return stopped(take)


def capture_of(daemon, target):
    def take():
        try:
            return daemon.capture(target.pid)["dump"]
        except Refused as error:
            if error.name != "StopTimeout":
                raise
            return None
    return stopped(take)


def ends(report):
    """How many threads have a stack that ended so."""
    found = {}
    for stack in report["stacks"]:
        found[stack["end"]] = found.get(stack["end"], 0) + len(stack["threads"])
    return found


def look(tap, report):
    """Stacks are whole or said to be missing. Its stop in milliseconds."""
    captured = sum(t["captured"] for t in report["threads"])
    codes = {w["code"] for w in report["warnings"]}
    why = {t["reason"] for t in report["threads"] if not t["captured"]}
    said = why == {"stop_timeout"} and {"thread_missing", "stop_timeout"} <= codes
    if not captured or ends(report) != {"complete": captured} or (why and not said):
        tap.check(False, "whole stacks, or the reason why not",
                  f"{captured} of {len(report['threads'])}, {ends(report)}, {why}, {codes}")
    return report["timings"]["stopped_us"] / 1000, captured


def whole_crowd(tap, target, n):
    """All stacks of a crowd, in a stop that has time for them."""
    report = capture(target, "--symbols", "none", "--max-stop", "60000")
    tap.equal(ends(report), {"complete": n}, f"{n} threads: all stacks are complete")
    tap.equal(len({t["tid"] for t in report["threads"]}), n, f"{n} threads: each is there once")


def bound(tap, target):
    for _ in range(TRIES):
        seen = [look(tap, capture(target, "--symbols", "none")) for _ in range(RUNS)]
        stops, captured = [ms for ms, _ in seen], [n for _, n in seen]
        print(f"# held for {min(stops):.0f} to {max(stops):.0f} ms, median {median(stops):.0f}; "
              f"{min(captured)} to {max(captured)} stacks, median {median(captured)}", flush=True)
        if median(stops) <= MAX_STOP_MS + SLACK_MS and median(captured) >= min(CROWD, 1000):
            break
    tap.check(median(stops) <= MAX_STOP_MS + SLACK_MS,
              f"{CROWD} threads: a stop lasts no longer than --max-stop", stops)
    tap.check(median(captured) >= min(CROWD, 1000), "and has the stacks for which there was time", captured)


def walking_ms(report):
    return (report["timings"]["unwind_us"] + report["timings"]["symbolize_us"]) / 1000


def before_walking_ms(report):
    return report["timings"]["total_us"] / 1000 - walking_ms(report)


def short_ms(target):
    """More than walking takes here and now, and less than describing does."""
    seen = [capture(target) for _ in range(3)]
    walking, before = median(list(map(walking_ms, seen))), median(list(map(before_walking_ms, seen)))
    print(f"# walking takes {walking:.0f} ms, what is before it {before:.0f} ms", flush=True)
    return max(int((walking * before) ** 0.5), 1)


def describing(tap, what, short, take):
    for _ in range(TRIES):
        report = take()
        found = ends(report)
        if before_walking_ms(report) > short and set(found) == {"complete"}:
            break
    tap.check(before_walking_ms(report) > short,
              f"{what}: what comes before walking takes longer than walking may", report["timings"])
    tap.equal(set(found), {"complete"}, f"{what}: and costs no stack")


def by_command(tap, target):
    short = short_ms(target)
    describing(tap, "command", short, lambda: capture(target, "--timeout", short))


def by_daemon(tap, target):
    if os.geteuid() != 0:
        tap.skip("a capture of the daemon with all threads stopped", "not root", tap.ROOT)
        return
    short = short_ms(target)
    with Daemon({"NamesTimeoutMs": short, "Stop": "always", "MaxStopMs": MAX_STOP_MS}) as daemon:
        describing(tap, "daemon", short, lambda: capture_of(daemon, target))


def main():
    tap = Tap()
    with Target("threads", CROWD, 3) as target:
        for test in tap.chosen(bound, by_command, by_daemon):
            tap.guard(test, target)
    tap.done()


if __name__ == "__main__":
    main()
