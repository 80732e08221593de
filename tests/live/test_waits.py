#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The waits of threads for each other: what the targets themselves know of them.

SNAPWALK_STOPS sets how many captures there are of a program that locks and unlocks at random (100, twice). Names of tests
as arguments run those alone: SNAPWALK_STOPS=100000 test_waits.py at_random takes ten minutes.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from contended import check_owners
from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, iterator_refused, snapwalk, stack_of, state_of, tool,
                     wait_until)


def all_sleep(pid):
    return all(state_of(pid, int(tid)) == "S" for tid in os.listdir(f"/proc/{pid}/task"))


def waits(report):
    return {t["tid"]: t.get("blocked_on") for t in report["threads"]}


def is_nameless(report, tid):
    """In a function of a C library that is stripped: which kind of lock it waits for says its name alone."""
    functions = [f["function"] for f in stack_of(report, tid)["frames"]]
    own = [i for i, name in enumerate(functions) if name is not None and name.startswith("wait_")]
    return own != [] and set(functions[:own[0]]) <= {None, "__kernel_vsyscall"}


def kinds(tap, program):
    with Target(program, "kinds") as target:
        def said():
            return [line.split() for line in target.lines if line.startswith("waits ")]
        wait_until(lambda: all_sleep(target.pid), "all to wait")
        for options in ((), ("--stop", "always")):
            report = dump(target.pid, *PATIENT, *options)
            got = waits(report)
            name = f"{program} {' '.join(options) or 'default'}"
            named = [line for line in said() if not is_nameless(report, int(line[1]))]
            tap.check(len(named) == len(said()) or (program.startswith("i386_") and len(named) > 8),
                      f"{name}: the functions of the C library have names", named)
            for _, tid, kind, owner in named:
                wait = got[int(tid)] or {}
                tap.equal((wait.get("kind"), wait.get("owner_tid") or 0), (kind, int(owner)),
                          f"{name}: {kind} of {owner if owner == '0' else 'the holder'}")
            owners = [line for line in named if line[3] != "0"]
            owners = [line for line in owners if line[3] == owners[0][3]]  # the rest waits for who runs a pthread_once()
            tap.equal([(h["tid"], h["waiting"]) for h in report.get("root_holders", [])][:1],
                      [(int(owners[0][3]), len(owners))], f"{name}: the holder, and how many wait")
            tap.equal(report.get("deadlocks"), [], f"{name}: no deadlock")
        # Threads that were stopped may still be on their way back to sleep.
        wait_until(lambda: all_sleep(target.pid), "all to wait again")
        run = subprocess.run([SNAPWALK, str(target.pid), *PATIENT], capture_output=True, text=True)
        tap.check(f"\n{len(owners)} threads wait for {program} ({owners[0][3]}), " in run.stdout,
                  "text says it", run.stdout)


def statics(tap):
    """The thread that initialises a static variable of a function is the only one in it that does not wait."""
    with Target("statics") as target:
        said = {int(tid): int(owner) for word, tid, owner in (line.split() for line in target.lines if line.startswith("waits "))}

        def got():
            found = {tid: wait for tid, wait in waits(dump(target.pid, *PATIENT)).items() if (wait or {}).get("kind") == "static_init"}
            return {tid: wait["owner_tid"] for tid, wait in found.items()}
        wait_until(lambda: got().keys() == said.keys(), "all to wait")
        tap.equal(got(), said, "statics: the thread that initialises what others wait for")
        text = snapwalk(target.pid, *PATIENT).stdout
        tap.check(re.search(r"for the initialisation of a static variable, which statics \(\d+\) runs;", text), "statics: text says it", text)
    with Target("statics", "cycle") as target:
        cycle = next([int(tid) for tid in line.split()[1:]] for line in target.lines if line.startswith("cycle "))
        found = wait_until(lambda: dump(target.pid, *PATIENT).get("deadlocks"), "the deadlock")
        tap.check(found in ([cycle], [cycle[::-1]]), "statics: the deadlock", found)


def cxx20(tap):
    """The functions by which C++20 waits are told apart."""
    with Target("cxx20") as target:
        said = {int(tid): kind for tid, kind in (line.split() for line in target.lines if " std_" in line)}
        wait_until(lambda: all_sleep(target.pid), "all to wait")
        got = waits(dump(target.pid, *PATIENT))
        tap.equal({tid: (got[tid] or {}).get("kind") for tid in said}, said, "C++20: kinds")
        text = snapwalk(target.pid, *PATIENT).stdout
        tap.check("for a std::latch" in text and "waiting for a condition 6" in text, "C++20: text says it", text)


def lost(tap, program):
    """The owner of a mutex has ended; musl keeps no owner of it."""
    with Target(program, "lost") as target:
        _, tid, owner = next(line.split() for line in target.lines if line.startswith("lost "))
        wanted = f"its owner ({owner}) has ended, or was left behind by a fork"

        def wait():
            return waits(dump(target.pid, *PATIENT))[int(tid)] or {}
        wait_until(lambda: wait().get("target"), "the mutex")
        got = wait()
        tap.equal((got["kind"], got["owner_tid"], got["target"]), ("mutex", None, wanted), f"{program}: an owner that has ended")
        text = snapwalk(target.pid, *PATIENT).stdout
        tap.check(f"for a mutex, {wanted}; sleeping" in text, f"{program}: text says it", text)


def joins(tap):
    """A main thread that waits for the end of its listener is idle if that one is."""
    for arguments, wanted in (((), "\nAll 2 threads are idle: 1 in a join of an idle thread · 1 in an event loop (--all shows them)\n"),
                              (("asks",), "\nwaiting for I/O 1 · waiting for another to end 1\n")):
        with Target("listener", *arguments) as target:
            wait_until(lambda: len(os.listdir(f"/proc/{target.pid}/task")) == 2 and all_sleep(target.pid), "both to wait")
            text = snapwalk(target.pid, *PATIENT).stdout
            tap.check(wanted in text, f"listener {' '.join(arguments)}: {wanted.strip()}", text)


def pid_namespace(tap):
    """The memory of the target has thread ids of its own namespace; those in the dump are ours."""
    if not tool("unshare") or os.geteuid() != 0:
        tap.skip("locks in a pid namespace", "not root, or no unshare", Tap.ROOT)
        return
    with Target(None, "-p", "-f", "--kill-child", os.path.join(TARGETS, "locks"), "kinds", path=tool("unshare")) as outer:
        with open(f"/proc/{outer.pid}/task/{outer.pid}/children") as children:
            pid = int(children.read().split()[0])
        wait_until(lambda: all_sleep(pid), "all to wait")
        ours = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status") as file:
                ours[re.search(r"NSpid:.*\s(\d+)\n", file.read()).group(1)] = int(tid)
        said = [line.split() for line in outer.lines if line.startswith("waits ")]
        tap.check(said and all(ours[tid] != int(tid) for _, tid, _, _ in said), "pid namespace: its ids are others", ours)
        for options in ((), ("--stop", "always")):
            got = waits(dump(pid, *PATIENT, *options))
            for _, tid, kind, owner in said:
                wait = got[ours[tid]] or {}
                tap.equal((wait.get("kind"), wait.get("owner_tid")), (kind, ours.get(owner)),
                          f"pid namespace {' '.join(options)}: {kind} of {'nobody' if owner == '0' else 'the holder'}")


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
        # This capture may take longer than the one before.
        tap.check(wait_until(lambda: "\nDEADLOCK: locks (" in snapwalk(target.pid, *PATIENT).stdout, "the deadlock"),
                  "text says it")

        def recorded_found():
            with tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, "fixture")
                snapwalk("record", target.pid, "-o", path)
                made = snapwalk("--fixture", path, "--json")
                report = json.loads(made.stdout) if made.returncode in (0, 3) else {}
                return report if report.get("deadlocks") else None
        recorded = wait_until(recorded_found, "the deadlock in a record")
        tap.equal([sorted(one) for one in recorded.get("deadlocks", [])], [sorted([first, second])],
                  "told from a record, too")
        ages = [t.get("since_ms") or 0 for t in recorded["threads"] if t["tid"] in (first, second)]
        tap.check(iterator_refused() or min(ages) > 0,  # only the iterator tells them
                  "with how long they have waited")


def one_lock(tap):
    """explain --lock: what the target says of its locks, in the process and in a dump of it."""
    with Target("locks", "kinds") as target, tempfile.TemporaryDirectory() as directory:
        wait_until(lambda: all_sleep(target.pid), "all to wait")
        report = dump(target.pid)
        path = os.path.join(directory, "dump.json")
        with open(path, "w") as file:
            json.dump(report, file)
        got = waits(report)
        said = [line.split() for line in target.lines if line.startswith("waits ")]
        for _, tid, kind, owner in said:
            wait = got[int(tid)] or {}
            if kind not in ("mutex", "rwlock", "semaphore", "condition") or not wait.get("address"):
                continue
            for where in ((str(target.pid),), (path,)) if kind == "rwlock" else ((path,),):
                run = snapwalk("explain", "--lock", wait["address"], *where)
                holder = f"held by   locks ({owner}), " if owner != "0" else "held by   no thread, or it is not known"
                tap.check(run.returncode == 0 and f", {kind}\n" in run.stdout and
                          holder in run.stdout and f"    locks ({tid}), for" in run.stdout,
                          f"explain --lock: {kind} in {'a dump' if '/' in where[0] else 'a process'}",
                          run)
        run = snapwalk("explain", "--lock", "0x10", path)
        tap.check(run.returncode == 1 and run.stdout == "" and "threads wait for mutex 0x" in
                  run.stderr, "an address that nobody waits for", run)
    for words in (("--lock", "0x10"), ("--lock", "0x10", "1", path), ("--lock", "zz", "1")):
        tap.equal(snapwalk("explain", *words).returncode, 2, f"explain of {len(words)} words")


def at_random(tap, *options, program="contended"):
    with Target(program) as target:
        fits = None if options else lambda wait, which: wait["kind"] == ("mutex" if which < 6 else "rwlock")
        check_owners(tap, program, target.pid, int(os.environ.get("SNAPWALK_STOPS", "100")), options,
                     ("mutex", "rwlock"), fits)


def at_random_i386(tap):
    at_random(tap, program="i386_contended")


tap = Tap()
TESTS = [(kinds, "locks"), (kinds, "locks_musl"), (lost, "locks"), (statics,), (cxx20,), (joins,), (pid_namespace,), (at_random, "auto"), (at_random,),
         (deadlock,), (one_lock,)]
I386 = [(kinds, "i386_locks"), (at_random_i386,)]
if os.path.exists(os.path.join(TARGETS, "i386_locks")):
    TESTS += I386
else:
    tap.skip("locks of programs for i386", "gcc makes none", "gcc-multilib")
for test, *arguments in TESTS:
    if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
        tap.guard(test, *arguments)
tap.done()
