#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 15s
"""Locks of .NET: who waits for what, and who has it, as the targets themselves know it.

SNAPWALK_STOPS sets how many captures there are of programs that lock and unlock at random (50, each twice).
"""
import json
import os
import re
import subprocess
import tempfile

import dotnet
from contended import check_owners
from harness import PATIENT, SNAPWALK, TARGETS, Tap, dump, no_mounts, snapwalk, wait_until
from runtime_locks import Program, by_name, check_cycles, told

STOPS = int(os.environ.get("SNAPWALK_STOPS", "50"))
FRAMEWORKS = (("net10.0", ()), ("net9.0", ("--self-contained",)), ("net8.0", ("--self-contained",)))


def words_of(target, first):
    return [line.split()[1:] for line in target.lines if line.startswith(first + " ")]


class Inside(Program):
    """In a pid namespace of its own: locks hold other ids than ours."""

    def __init__(self, mode, *args, directory):
        super().__init__(os.path.join(directory, "swnet"), mode, *args, inside=True)

    def __enter__(self):
        super().__enter__()
        self.lines = [" ".join(words) for words in self.lines]
        return self


def check_namespace(tap, framework, directory):
    if no_mounts():
        tap.skip(f"{framework} in a namespace", no_mounts(), tap.MOUNTS)
    else:
        check_kinds(tap, f"{framework} in a namespace", directory, Inside)


def report_of(target, wanted, *options):
    """The dump that has all that is wanted, or the last one where none has."""
    got = {}

    def alike():
        got["report"] = dump(target.pid, *PATIENT, *options)
        return told(got["report"], wanted) == wanted
    try:
        wait_until(alike, "all to wait")
    except Exception:  # noqa: BLE001 - what differs is said by whoever asks
        pass
    return got["report"]


def check_kinds(tap, framework, directory, program=dotnet.Program):
    with program("locks", "kinds", directory=directory) as target:
        wanted = {name: (kind, owner, cls) for name, kind, owner, cls in words_of(target, "waits")}
        report = report_of(target, wanted)
        waits = told(report, wanted)
        for name, wait in wanted.items():
            tap.equal(waits[name], wait, f"{framework}: {name}")
        tap.equal(report["deadlocks"], [], f"{framework}: no deadlock")
        threads = by_name(report)
        holders = {h["tid"]: h["waiting"] for h in report["root_holders"]}
        n = sum(owner == "holder" for kind, owner, _ in wanted.values() if kind != "thread")
        tap.equal(holders.get(threads["holder"]["tid"]), n, f"{framework}: {n} wait for the holder")
        address = {name: threads[name]["blocked_on"]["address"] for name in wanted}
        tap.equal(address["thin"], address["limited"], f"{framework}: the same object has one address")
        tap.equal(len({address[name] for name in ("thin", "hashed", "text", "waiting", "again")}), 5,
                  f"{framework}: others have others")
        # With --tasks more is copied, in another way.
        tap.equal(told(report_of(target, wanted, "--tasks"), wanted), wanted, f"{framework}: the same with --tasks")
        check_recorded(tap, framework, target, wanted)
        text = subprocess.run([SNAPWALK, str(target.pid), *PATIENT, "--all"], capture_output=True, text=True).stdout
        tap.check(re.search(r"for the monitor SwNet\.Locks\+Thing@0x[0-9a-f]+, which holder \(\d+\) has", text),
                  f"{framework}: text says it", text)


def check_recorded(tap, framework, target, wanted):
    """A recording says the same when it is walked again."""
    for options in (("record", "-o"), ("dump", *PATIENT, "--keep")):
        with tempfile.TemporaryDirectory() as work:
            where = os.path.join(work, "recorded")
            subprocess.run([SNAPWALK, options[0], str(target.pid), "--max-stop", "60000", *options[1:], where],
                           check=True, capture_output=True)
            waits = told(dump(["--fixture", where]), wanted)
        tap.equal(waits, wanted, f"{framework}: of {options[0]}, and walked again")


def check_deadlocks(tap, framework, directory):
    for what in ("deadlocks", "class"):
        with dotnet.Program("locks", what, directory=directory) as target:
            for stop in ("auto", "always"):
                check_cycles(tap, f"{framework} {what}", target.pid, words_of(target, "cycle"), stop)


def check_pool(tap, framework, directory):
    """The pool has no more threads, and work waits."""
    with dotnet.Program("locks", "pool", directory=directory) as target:
        def starved():
            report = dump(target.pid, *PATIENT)
            pool = next(r for r in report["process"]["runtimes"] if r["name"] == "clr").get("thread_pool")
            return pool if pool and pool["working"] == 4 and (pool["taken_ms"] or 0) > 2000 else None
        pool = wait_until(starved, "four threads of the pool, which have work")
        tap.equal({key: pool[key] for key in ("working", "threads", "most", "waits")},
                  {"working": 4, "threads": 4, "most": 4, "waits": True}, f"{framework}: the pool")
        tap.check(pool["taken_ms"] < 600_000, f"{framework}: when work was taken", pool)
        lines = snapwalk("dump", target.pid, *PATIENT).stdout.splitlines()[:10]
        tap.check(any(re.match("4 of 4 threads of the .NET thread pool are at work.*; it may have no more; work waits "
                               "in its queue, from which none was taken for [0-9.]+ s$", line) for line in lines),
                  f"{framework}: the first lines say it", lines)


def check_many(tap, framework, directory):
    """The waits of 1,000 threads are read many at once: that takes few system calls in the window."""
    n = 1000
    kinds = ("dotnet_monitor", "dotnet_wait", "dotnet_lock", "dotnet_wait", None)
    wanted = {f"many-{i}": (kinds[i % 5], "holder" if i % 5 in (0, 2) else "-") for i in range(n)}
    got = {}
    with dotnet.Program("locks", "many", str(n), directory=directory) as target:
        def alike():
            report = dump(target.pid, *PATIENT)
            waits = told(report, wanted)
            # The last ones that were started may be on their way: they wait for nothing yet.
            got["waits"] = {name: wait[:2] if (wait[0] or "").startswith("dotnet_") else (None, "-")
                            for name, wait in waits.items()}
            got["objects"] = {(t.get("blocked_on") or {}).get("address") for t in report["threads"]
                              if t["comm"].startswith("many-") and wanted[t["comm"]][0]}
            return got["waits"] == wanted
        try:
            wait_until(alike, "all to wait")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        wrong = [(name, wait) for name, wait in got["waits"].items() if wait != wanted[name]]
        tap.check(got["waits"] == wanted, f"{framework}: {n} threads that wait", wrong)
        tap.equal(len(got["objects"]), 3 + n // 5, f"{framework}: for so many objects")
        text = snapwalk("dump", target.pid, *PATIENT).stdout.splitlines()
        tap.check(any(line.startswith(f"{n * 2 // 5} threads wait for holder (") for line in text[:10]) and
                  len(text) <= 150, f"{framework}: as text, the holder first, in at most 150 lines", text)
        # Where somebody runs, the window is tried again.
        reads = subprocess.run([os.path.join(TARGETS, "drive_reads"), str(target.pid)], check=True,
                               capture_output=True, text=True).stdout
        tap.check(0 < json.loads(reads)["calls"] < n / 4, f"{framework}: few system calls for {n} threads", reads)
        print(f"# {framework}: {reads}", end="")


def check_random(tap, framework, directory):
    locks = framework != "net8.0"

    def is_lock(wait, which):
        """Monitors have classes of their own. While objects move, no class is told."""
        if which == 7:
            return wait["kind"] == "dotnet_mutex"
        if which == 6:
            return wait["kind"] == "dotnet_rwlock" and wait["target"] in (None, "System.Threading.ReaderWriterLockSlim")
        if locks and which >= 4:
            return wait["kind"] == "dotnet_lock" and wait["target"] in (None, "System.Threading.Lock")
        return wait["kind"] == "dotnet_monitor" and wait["target"] in (None, f"SwNet.Contended+Monitor{which}")
    with dotnet.Program("contended", directory=directory) as target:
        for stop in (("auto",), ()):
            check_owners(tap, framework, target.pid, STOPS, stop,
                         ("dotnet_monitor", "dotnet_lock", "dotnet_rwlock", "dotnet_mutex"), is_lock)


def main():
    tap = Tap()
    reason = dotnet.missing()
    for framework, options in FRAMEWORKS:
        if reason:
            tap.skip(framework, reason, "the .NET SDK 10 (dotnet) in PATH")
            continue
        directory = dotnet.build(framework, *options)
        for check in (check_kinds, check_namespace, check_deadlocks, check_pool, check_random):
            tap.guard(check, framework, directory)
        if framework == "net10.0":
            tap.guard(check_many, framework, directory)
    tap.done()


if __name__ == "__main__":
    main()
