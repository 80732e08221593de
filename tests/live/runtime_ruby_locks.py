#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 20s
"""Ruby's GVL and Mutexes: who waits for what, and who has it, by Ruby's own word and by what threads execute.

SNAPWALK_STOPS sets how many captures there are of a program that locks and unlocks at random (200, twice).
"""
import json
import os
import re
import subprocess

from contended import wrong_owners
from harness import PATIENT, SNAPWALK, TARGETS, Tap, dump, tool, wait_until
from interpreted import Program

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "ruby", "locks.rb")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "200"))


def program(mode, *options):
    return Program("ruby", *options, PROGRAM, mode)


def words(ruby, first):
    return [line.split()[1:] for line in ruby.lines if line.split()[0] == first]


def waits_of(report, kind):
    """{tid: owner's tid or None}"""
    waits = {t["tid"]: t.get("blocked_on") or {} for t in report["threads"]}
    return {tid: wait["owner_tid"] for tid, wait in waits.items() if wait.get("kind") == kind}


def holders_of(report):
    return [t["tid"] for t in report["threads"] if (t["managed"] or {}).get("mode") == "holds_gvl"]


def check_gvl(tap, stop):
    with program("hold") as ruby:
        holder = int(words(ruby, "holds")[0][0])
        wanted = {int(tid): holder for tid, in words(ruby, "wants")}

        def all_wait():
            report = dump(ruby.pid, "--stop", stop)
            # The main thread waits until another one ends, without the GVL.
            return report if waits_of(report, "ruby_gvl") == wanted else None
        report = wait_until(all_wait, "all to wait")
        tap.equal(len(wanted), 4, f"--stop {stop}: who waits for the GVL, and who has it")
        tap.equal(holders_of(report), [holder], f"--stop {stop}: that one says so")
        tap.equal([(h["tid"], h["waiting"]) for h in report["root_holders"]], [(holder, 5)],
                  f"--stop {stop}: who holds them up, and the main thread, which joins it")
        addresses = {t["blocked_on"]["address"] for t in report["threads"] if t["tid"] in wanted}
        tap.equal(len(addresses), 1, f"--stop {stop}: it has one address")
        text = subprocess.run([SNAPWALK, str(ruby.pid), *PATIENT], capture_output=True, text=True).stdout
        tap.check(re.search(rf"for the GVL, which locks\.rb:\d+ \({holder}\) has", text), f"--stop {stop}: text says it", text)


def check_mutexes(tap, stop):
    with program("mutexes") as ruby:
        wanted = {int(tid): int(owner) for tid, owner, _ in words(ruby, "waits")}
        names = {int(tid): name for tid, _, name in words(ruby, "waits")}

        def all_wait():
            report = dump(ruby.pid, "--stop", stop)
            return report if waits_of(report, "ruby_mutex").keys() >= wanted.keys() else None
        report = wait_until(all_wait, "all to wait")
        got = waits_of(report, "ruby_mutex")
        tap.equal(sorted(set(names.values())), ["fiber", "main", "monitor", "mutex"], f"--stop {stop}: all kinds")
        for tid, owner in wanted.items():
            tap.equal(got[tid], owner, f"--stop {stop}: {names[tid]}")
        tap.equal(got.keys(), wanted.keys(), f"--stop {stop}: nobody else waits for a Mutex")
        tap.equal((waits_of(report, "ruby_gvl"), holders_of(report), report["deadlocks"]), ({}, [], []),
                  f"--stop {stop}: nobody wants or has the GVL, no deadlock")
        addresses = {}
        for thread in report["threads"]:
            if thread["tid"] in wanted:
                addresses.setdefault(wanted[thread["tid"]], set()).add(thread["blocked_on"]["address"])
        tap.equal([len(a) for a in addresses.values()], [1] * 3, f"--stop {stop}: a lock has one address")
        tap.equal(len(set.union(*addresses.values())), 3, f"--stop {stop}: others have others")


def check_joins(tap, stop):
    with program("joins") as ruby:
        wanted = {int(tid): int(owner) for tid, owner in words(ruby, "joins")}
        report = {}

        def all_wait():
            report.update(dump(ruby.pid, "--stop", stop))
            return waits_of(report, "thread") == wanted
        try:
            wait_until(all_wait, "all to wait")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        tap.equal(waits_of(report, "thread"), wanted, f"--stop {stop}: who waits for which thread to end")


def check_cycle(tap, stop):
    with program("cycle") as ruby:
        cycle = [int(tid) for tid in words(ruby, "cycle")[0]]

        def found():
            return dump(ruby.pid, "--stop", stop)["deadlocks"]
        tap.check(wait_until(found, "the deadlock") in ([cycle], [cycle[::-1]]), f"--stop {stop}: the deadlock")
        text = subprocess.run([SNAPWALK, str(ruby.pid), *PATIENT], capture_output=True, text=True).stdout
        tap.check(any(line.startswith("DEADLOCK: ") for line in text.splitlines()[:6]), f"--stop {stop}: text begins with it", text)


def executes(report, thread):
    """Whether it is in the loop of the interpreter itself, which only runs with the GVL."""
    frames = report["stacks"][thread["stack"]]["frames"] if thread["stack"] is not None else []
    native = [f for f in frames if f["kind"] != "ruby"]
    return len(native) > 0 and native[0]["function"] == "rb_vm_exec"


def wrong_gvl(report, counts):
    """Returns what does not fit what the threads execute."""
    waits, holders = waits_of(report, "ruby_gvl"), holders_of(report)
    owners = {owner for owner in waits.values() if owner is not None}
    run = {t["tid"] for t in report["threads"] if executes(report, t)}
    counts["gvl waits"] += len(waits)
    counts["gvl known"] += bool(owners)
    counts["gvl proven"] += bool(owners) and owners == run
    wrong = len(owners) > 1 or owners & waits.keys() or (owners and not run <= owners)
    return [f"GVL: {waits}, {holders} say that they have it, {run} execute"] \
        if wrong or len(holders) > 1 or (owners and owners != set(holders)) else []


def check_random(tap, mode, *options):
    counts = dict.fromkeys(("waits", "known", "proven", "gvl waits", "gvl known", "gvl proven"), 0)
    wrong, addresses, n = [], {}, 0

    def fits(wait, which):
        return wait["kind"] == "ruby_mutex" and addresses.setdefault(which, wait["address"]) == wait["address"]
    with program("turns", *options) as ruby:
        run = subprocess.Popen([os.path.join(TARGETS, "drive_dumps"), str(ruby.pid), str(STOPS), *(("auto",) if mode == "auto" else ())],
                               stdout=subprocess.PIPE, text=True)
        with run:
            for line in run.stdout:
                n += 1
                report = json.loads(line)
                wrong += wrong_owners(report, counts, ("ruby_mutex",), fits) + wrong_gvl(report, counts)
    name = f"{' '.join(options) or 'interpreter'} --stop {mode}"
    tap.equal((run.returncode, n), (0, STOPS), f"{name}: {STOPS} captures")
    tap.check(not wrong, f"{name}: no owner that is not, no deadlock {counts}", f"{len(wrong)} wrong\n" + "\n".join(map(str, wrong[:10])))
    tap.check(all(counts[k] * 10 >= STOPS for k in ("known", "proven", "gvl known")), f"{name}: owners are told", counts)


def version():
    return subprocess.run(["ruby", "-e", "print RUBY_VERSION"], check=True, capture_output=True, text=True).stdout


def check_unknown(tap):
    """Nothing is said of other versions."""
    with program("mutexes") as ruby:
        report = dump(ruby.pid)
        tap.equal((waits_of(report, "ruby_mutex"), waits_of(report, "ruby_gvl")), ({}, {}), "nothing is told of this version")


def main():
    tap = Tap()
    tap.check(tool("ruby"), "Ruby is installed")
    if version().startswith("3.1."):
        for stop in ("auto", "always"):
            tap.guard(check_gvl, stop)
            tap.guard(check_mutexes, stop)
            tap.guard(check_joins, stop)
            tap.guard(check_cycle, stop)
        tap.guard(check_random, "auto")
        tap.guard(check_random, "always", "--yjit")
    else:
        tap.guard(check_unknown)
    tap.done()


if __name__ == "__main__":
    main()
