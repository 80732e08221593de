#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
# strict
"""The daemon's store and its worker are killed at each of their system calls (drive_kill.c).

The store (drive_store.c), at entry and at exit of each call and in the middle of each write(): when it is opened again,
each dump that was kept before is there, pinned and whole, none is there half, and no temporary file is left.

The process of a worker that stops the target (drive_worker.c): SIGKILL comes to it at entry and at exit of each of its
calls, to its worker, which waits meanwhile, at exit, and to the broker at entry of each third one. The target goes on
as if nothing had been, and no process is left. test_daemon_kill.py has random instants of a whole daemon.
"""
import collections
import os
import shutil
import subprocess
import tempfile

from harness import TARGETS, Tap, tool
from safety import capture
from test_kill import Storm
from test_kill_each import PARTS, counted, drive, kill_at_each, of_stopper

STORE = os.path.join(TARGETS, "drive_store")
WORKER = os.path.join(TARGETS, "drive_worker")
# A daemon that was killed has left one, a power cut the other; the third is somebody else's.
LEFT_BEFORE = {".new-z.json.zst": "half a dump", "z.json.zst": "", "notes": "not the store's"}
STOP, SYMBOLS = 2, 2  # SW_STOP_ALWAYS; none: what the worker does with files is no matter of the target
THREADS, RATE = 1, 200


# ---- the store -----------------------------------------------------------------------------------

def parsed(line):
    """{id: whether it is pinned} of a line "have a b+"."""
    return {word.rstrip("+"): word.endswith("+") for word in line.split()[1:]}


def fresh(directory):
    """(the store's directory, with what is left there; its log)"""
    store, log = os.path.join(directory, "store"), os.path.join(directory, "log")
    shutil.rmtree(store, ignore_errors=True)
    os.mkdir(store)
    for name, text in LEFT_BEFORE.items():
        with open(os.path.join(store, name), "w") as file:
            file.write(text)
    open(log, "w").close()
    return store, log


def said(log):
    """Returns the output of the process before it was killed, not the line that it was killed in."""
    with open(log) as file:
        return [parsed(line) for line in file if line.endswith("\n")]


def faults(store, states, n_said):
    """Returns what is wrong with a store whose process was killed after the first n_said of these states."""
    run = subprocess.run([STORE, "check", store], capture_output=True, text=True)
    lines = run.stdout.splitlines()
    if run.returncode != 0 or not lines:
        return [f"it cannot be opened: {run.stdout}"]
    has, names = parsed(lines[0]), sorted(os.listdir(store))
    # The operation that was under way is done or not.
    before = states[max(0, n_said - 1)]
    after = states[min(n_said, len(states) - 1)]
    found = lines[1:]
    found += [f"lost: {name}" for name in before if name in after and name not in has]
    found += [f"nobody kept it: {name}" for name in has if name not in before and name not in after]
    found += [f"pinned is {pinned}: {name}" for name, pinned in has.items()
              if pinned not in (before.get(name, pinned), after.get(name, pinned))]
    files = sorted([f"{name}.json.zst" for name in has] + [f"{name}.pin" for name in has if has[name]] + ["notes"])
    return found + ([] if names == files else [f"files {names}, wanted {files}"])


def store_killed(tap):
    with tempfile.TemporaryDirectory() as directory:
        store, log = fresh(directory)
        calls = counted([STORE, "run", store, log])[0][1]
        states = said(log)
        tap.equal(faults(store, states, len(states)), [], "the store, not killed: as it says")
        tap.check(len(states) > 10 and calls > 100, "the store, not killed: all operations", (calls, states))
        points = [(n, side) for n in range(1, calls + 1) for side in ("entry", "exit")]
        points += [(n, "cut") for n in range(1, 2 * len(states))]
        bad, killed = [], collections.Counter()
        for n, side in points:
            store, log = fresh(directory)
            killed[side] += drive([STORE, "run", store, log], "at", 0, n, side, "self").startswith("killed")
            bad += [(n, side, fault) for fault in faults(store, states, len(said(log)))]
        tap.equal(bad, [], f"the store, killed at each of {calls} calls: all that was kept is there and whole")
        # The last call ends the process and has no exit.
        tap.check(killed["entry"] >= calls - 1 and killed["exit"] >= calls - 2 and killed["cut"] >= len(states),
                  "the store was killed at each call and in each write", (killed, calls))


# ---- the worker ----------------------------------------------------------------------------------

def worker_command():
    """Without the task iterator, whose programs take longer to load than all the rest."""
    setpriv = tool("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return [WORKER]
    return [setpriv, "--bounding-set", "-bpf,-perfmon,-sys_admin", "--inh-caps", "-bpf,-perfmon,-sys_admin", WORKER]


def stop_of(rows):
    """(index of the process that stops, its calls). Between it and its worker is a process that only makes it."""
    return next(row for row in rows if row[2])[:2]


def worker_killed(tap):
    with Storm(THREADS, RATE, PARTS) as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "the worker, before")
        how = {"command": worker_command(), "input": f"{storm.pid} stop={STOP} symbols={SYMBOLS}\n"}
        runs = [stop_of(counted(**how)) for _ in range(3)]
        stopper, worker = runs[0][0], runs[0][0] - 2
        stops = min(run[1] for run in runs)
        points = of_stopper(stopper, stops, ("self",))
        points += [(stopper, n, "exit", worker) for n in range(1, stops + 1)]
        points += [(stopper, n, "entry", "main") for n in range(1, stops + 1, 3)]

        def check(n):
            nonlocal beats
            beats, _ = storm.check(tap, beats, f"the worker, after {n} kills")

        stuck, killed = kill_at_each(storm.pid, points, check, **how)
        tap.equal(stuck, [], f"the worker: no thread stayed stopped or traced, {stops} calls of the stop")
        tap.check(killed >= len(points) * 9 // 10, "the worker: nine of ten points were met",
                  f"{killed} of {len(points)}")
        tap.check(stops > 20, "the worker: the process that stops the target was found", runs)
        if not stuck:
            storm.check(tap, beats, "the worker, after all kills")
            tap.equal(capture(storm.pid, status=(0,))["process"]["pid"], storm.pid,
                      "the worker: the target can be captured afterwards")


if __name__ == "__main__":
    Tap.main(store_killed, worker_killed)
