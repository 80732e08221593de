#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 40s
"""For what tasks of asyncio wait, which of them has it, and deadlocks of tasks, as the programs themselves know it.

Looks at every CPython of this machine from 3.8 on. SNAPWALK_STOPS sets how many dumps there are of each program (20).
"""
import os
import re
import subprocess
import tempfile

from harness import PATIENT, SNAPWALK, Tap, dump, snapwalk
from runtime_locks import Program
from runtime_python import PROGRAMS, interpreters, minor

LOCKS = os.path.join(PROGRAMS, "task_locks.py")
# Ways in which tasks have a time limit; the second ones are there from 3.11 on.
LIMITED = ("acquire", "wait_for", "wait", "gather", "gathers", "await")
LIMITED_11 = ("timeout", "group", "in-group")
EACH_WAY = (8, 11, 13)
STOPS = int(os.environ.get("SNAPWALK_STOPS", "20"))


def told(report):
    """{name: (kind, owner's name)}"""
    return {wait["task"]["name"]: (wait["kind"], (wait["owner"] or {}).get("name", "-")) for wait in report.get("task_waits", ())}


def cycles(report):
    return [sorted(task["name"] for task in cycle) for cycle in report.get("task_deadlocks", ())]


def check_kinds(tap, version, python):
    with Program(python, LOCKS, "kinds") as program:
        wanted = {name: (kind, owner) for _, name, kind, owner in program.lines}
        report = dump(program.pid, *PATIENT)
        tap.equal(told(report), wanted, f"{version}: for what {len(wanted)} tasks wait, and who has it")
        tap.equal(told(dump(program.pid, *PATIENT, "--tasks")), wanted, f"{version}: the same with --tasks")
        tap.equal(cycles(report), [], f"{version}: no deadlock")
        text = snapwalk(program.pid, *PATIENT).stdout
        with tempfile.TemporaryDirectory() as directory:
            kept = os.path.join(directory, "kept.json")
            subprocess.run([SNAPWALK, "dump", str(program.pid), *PATIENT, "--json", "-o", kept], check=True, capture_output=True)
            again = snapwalk("show", kept).stdout
    line = "Tasks wait: 4 for a Lock · 1 for a Semaphore · 1 for a Condition · 1 for an Event · 1 in Queue.put · " \
           "1 in Queue.join · 1 in Queue.get · 1 for another task"
    held = '2 tasks wait for the task holder, which has a Lock ("async with")'
    for what, where in (("text", text), ("a kept dump", again)):
        flat = re.sub(r"\s*\n\s+", " ", where)
        tap.check(line in flat and held in flat, f"{version}: {what} says it", where[:1500])


def check_chain(tap, version, python):
    """Text names the owner of the Lock, also where that one awaits another task."""
    with Program(python, LOCKS, "chain", "3") as program:
        text = re.sub(r"\s*\n\s+", " ", snapwalk(program.pid, *PATIENT).stdout)
    tap.check('1 task waits for the task holder, which has a Lock ("async with")' in text, f"{version}: the owner of a Lock that awaits a task",
              text[:1500])


def check_cycle(tap, version, python):
    with Program(python, LOCKS, "cycle") as program:
        reports = [dump(program.pid, *PATIENT) for _ in range(STOPS)]
        text = snapwalk(program.pid, *PATIENT).stdout.splitlines()
    tap.equal([cycles(r) for r in reports], [[["first", "second"]]] * STOPS, f"{version}: the deadlock, in {STOPS} of {STOPS} dumps")
    tap.check(re.match(r"DEADLOCK of tasks: (first → second → first|second → first → second) \(--tasks shows their stacks\)$",
                       next(line for line in text[3:] if line)), f"{version}: text begins with it", text[:8])


def check_limited(tap, version, python):
    """A task is part of no deadlock if it, or a task that waits for it, gives up after some time."""
    ways = LIMITED + (LIMITED_11 if minor(version) >= 11 else ())
    for how in ways if minor(version) in EACH_WAY else ("wait_for",):
        with Program(python, LOCKS, f"limited-{how}") as program:
            report = dump(program.pid, *PATIENT)
        waits = [wait for wait in report.get("task_waits", ()) if wait["kind"] == "asyncio_lock"]
        tap.equal([(wait["owner"] or {}).get("name") in ("first", "second") for wait in waits], [True, True],
                  f"{version}: {how}: two wait for a Lock, which the other one has")
        if how != "acquire" or minor(version) >= 12:
            tap.equal([wait["limited"] for wait in waits], [True, True], f"{version}: {how}: both have a time limit")
        tap.equal(cycles(report), [], f"{version}: {how}: no deadlock")


def check_unlimited(tap, version, python):
    """No limit, and one that ends only the task that waits."""
    for how in ("wait_for", "shield"):
        with Program(python, LOCKS, f"unlimited-{how}") as program:
            report = dump(program.pid, *PATIENT)
        tap.equal(cycles(report), [["first", "second"]], f"{version}: {how} without a limit: a deadlock")


def check_busy(tap, version, python):
    """Locks that are taken in one order all the time."""
    wrong, n = [], 0
    with Program(python, LOCKS, "busy") as program:
        for _ in range(STOPS):
            report = dump(program.pid, *PATIENT, status=(0, 3))
            n += len(report.get("task_waits", ()))
            owners = {wait["object"]: set() for wait in report.get("task_waits", ())}
            for wait in report.get("task_waits", ()):
                owners[wait["object"]].add((wait["owner"] or {}).get("address"))
            if cycles(report) or any(len(some) > 1 for some in owners.values()):
                wrong.append(report["task_waits"])
    tap.check(not wrong, f"{version}: {STOPS} dumps of busy tasks: no deadlock, one owner ({n} waits)", wrong[:2])


def main():
    tap = Tap()
    found = {version: path for version, path in interpreters().items() if 8 <= minor(version) <= 13}
    tap.check(found, "there is a CPython that has them", found)
    for version, path in found.items():
        for check in (check_kinds, check_chain, check_cycle, check_limited, check_unlimited, check_busy):
            tap.guard(check, version, path)
    tap.done()


if __name__ == "__main__":
    main()
