#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
# strict
# soak too
"""Signals and job control while dumps go on: none lost, none added, none changed."""
import os
import signal
import time

from harness import Tap, Target, seeded, state_of, wait_until
from judge import scaled
from safety import capture, held, let_go, run, run_time, tasks
from test_kill import Storm, start, wait_exact

DUMPS = scaled(60)
STOPS = scaled(20)
CHILD_DUMPS = scaled(40)


def storm_of_dumps(tap):
    for mode, rate in (("infinite", 2000), ("none", 2000), ("all", 500)):
        with Storm(8, rate) as storm:
            beats, _ = storm.check(tap, [0] * 8, f"{mode}: before")
            for n in range(1, 10 * DUMPS):
                capture(storm.pid, "--restart", mode, "--symbols", "none")
                if n >= DUMPS and sum(storm.sync()[0]) > 1000:
                    break  # more dumps where a busy machine lets the target send few
            _, total = storm.check(tap, beats, f"{mode}: after {DUMPS} dumps")
            tap.check(total > 1000, f"{mode}: {total} signals were sent meanwhile")
            tap.equal(let_go(storm.pid), [], f"{mode}: no thread stayed stopped or traced")


def sampled(tap):
    """The same for a target that is sampled."""
    with Storm(8, 2000) as storm:
        beats, _ = storm.check(tap, [0] * 8, "sample: before")
        code, out, err, _ = run("sample", "--rate", 200, "--duration", 3, "--max-load", 100,
                                "--symbols", "none", storm.pid)
        tap.check(code in (0, 3) and out, "sample: done", f"{code} {err}")
        storm.check(tap, beats, "sample: after")
        tap.equal(let_go(storm.pid), [], "sample: no thread stayed stopped or traced")


def states(pid):
    return {state_of(pid, tid) for tid in tasks(pid)}


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: states(pid) == {"T"}, "SIGSTOP to stop all threads")


def job_control(tap):
    """A stopped process is captured, stays stopped, and wakes by SIGCONT alone."""
    with Target("states", "plain", 4) as target:
        stop(target.pid)
        for n in range(10):
            report = capture(target.pid, status=(0,))
            if n == 0:
                tap.equal({t["state"] for t in report["threads"]}, {"T"},
                          "a stopped process is reported as T")
                tap.check(all(t["captured"] for t in report["threads"]),
                          "all threads of a stopped process are captured")
            wait_until(lambda: states(target.pid) == {"T"}, "all threads to be in T again")
        tap.equal(states(target.pid), {"T"}, "the target is still stopped after 10 dumps")
        tap.equal([t for t in held(target.pid) if t[2] != "0"], [], "and has no tracer")
        os.kill(target.pid, signal.SIGCONT)
        wait_until(lambda: states(target.pid) == {"S"}, "SIGCONT to wake all threads")
        tap.check(True, "SIGCONT wakes it")


def stays(pid, state, what):
    """True when all threads reach the state and have not left it a moment later."""
    try:
        wait_until(lambda: states(pid) == {state}, what, 20)
    except TimeoutError:
        return False
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        if states(pid) != {state}:
            return False
    return True


def job_control_races(tap, kill):
    """SIGSTOP and SIGCONT that arrive at any instant of a dump (which may be killed) hold."""
    generator = seeded(4)
    how = " when snapwalk is killed, too" if kill else ""
    with Target("states", "plain", 4) as target:
        seconds = run_time(target.pid)
        lost_stop, lost_cont = [], []
        for n in range(STOPS):
            for number, wanted, lost in ((signal.SIGSTOP, "T", lost_stop),
                                         (signal.SIGCONT, "S", lost_cont)):
                process = start(target.pid)
                wait_exact(generator.uniform(0, seconds))
                os.kill(target.pid, number)
                if kill:
                    wait_exact(generator.uniform(0, seconds / 4))
                    process.kill()
                process.wait()
                if not stays(target.pid, wanted, "the state to follow the signal"):
                    lost.append((n, states(target.pid)))
                    os.kill(target.pid, number)
        tap.equal(lost_stop, [], f"SIGSTOP during a dump is not lost{how} ({STOPS} tries)")
        tap.equal(lost_cont, [], f"SIGCONT during a dump is not lost{how} ({STOPS} tries)")


def parent_sees_nothing(tap):
    """A parent that waits for stops and continuations is told of none."""
    with Target("states", "parent") as target:
        child = int(next(line for line in target.lines if line.startswith("child")).split()[1])
        for _ in range(CHILD_DUMPS):
            capture(child, "--symbols", "none", status=(0,))
        target.send("count")
        tap.equal(target.readline(), "sigchld 0",
                  f"{CHILD_DUMPS} dumps of a child: its parent got no SIGCHLD and no wait status")
        os.kill(child, signal.SIGSTOP)
        tap.equal(target.readline(), "event 1 0x137f",
                  "a real stop of the child is seen by its parent")
        os.kill(child, signal.SIGCONT)
        tap.equal(target.readline(), "event 2 0xffff", "and a real continuation")

    with Target("states", "plain", 2) as target:
        flags = os.WUNTRACED | os.WCONTINUED | os.WNOHANG
        seen = 0
        for _ in range(CHILD_DUMPS):
            process = start(target.pid, "--symbols", "none")
            while process.poll() is None:
                seen += os.waitpid(target.pid, flags)[0] != 0
        tap.equal(seen, 0, f"a parent that polls during {CHILD_DUMPS} dumps is told nothing")


if __name__ == "__main__":
    Tap.main(storm_of_dumps, sampled, job_control, (job_control_races, False), (job_control_races, True), parent_sees_nothing)
