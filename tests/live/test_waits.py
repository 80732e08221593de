#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who waits for whom: what the targets themselves know of it."""
import os
import subprocess

from harness import PATIENT, SNAPWALK, Tap, Target, dump, state_of, wait_until


def all_sleep(pid):
    return all(state_of(pid, int(tid)) == "S" for tid in os.listdir(f"/proc/{pid}/task"))


def waits(report):
    return {t["tid"]: t.get("blocked_on") for t in report["threads"]}


def kinds(tap):
    with Target("locks", "kinds") as target:
        def said():
            return [line.split() for line in target.lines if line.startswith("waits ")]
        wait_until(lambda: all_sleep(target.pid), "all to wait")
        for options in ((), ("--stop", "always")):
            report = dump(target.pid, *PATIENT, *options)
            got = waits(report)
            name = " ".join(options) or "default"
            for _, tid, kind, owner in said():
                wait = got[int(tid)] or {}
                tap.equal((wait.get("kind"), wait.get("owner_tid") or 0), (kind, int(owner)),
                          f"{name}: {kind} of {owner if owner == '0' else 'the holder'}")
            owners = [line for line in said() if line[3] != "0"]
            tap.equal([(h["tid"], h["waiting"]) for h in report.get("root_holders", [])],
                      [(int(owners[0][3]), len(owners))], f"{name}: the holder, and how many wait")
            tap.equal(report.get("deadlocks"), [], f"{name}: no deadlock")
        run = subprocess.run([SNAPWALK, str(target.pid), *PATIENT], capture_output=True, text=True)
        tap.check(f"\n{len(owners)} threads wait for locks ({owners[0][3]}), which is " in run.stdout,
                  "text says it", run.stdout)


def deadlock(tap):
    with Target("locks", "deadlock") as target:
        wait_until(lambda: all_sleep(target.pid), "the deadlock")
        first, second = [int(n) for n in [l for l in target.lines if l.startswith("cycle")][0].split()[1:]]

        def found():
            report = dump(target.pid, *PATIENT)
            return report if report.get("deadlocks") else None
        report = wait_until(found, "the deadlock to be as old as a capture takes")
        cycle, = report["deadlocks"]
        at = cycle.index(first)
        tap.equal(cycle[at:] + cycle[:at], [first, second], "the deadlock, in order")
        tap.equal(report["root_holders"], [], "nobody holds up the others")
        run = subprocess.run([SNAPWALK, str(target.pid), *PATIENT], capture_output=True, text=True)
        tap.check("\nDEADLOCK: locks (" in run.stdout, "text says it", run.stdout)


tap = Tap()
tap.guard(kinds)
tap.guard(deadlock)
tap.done()
