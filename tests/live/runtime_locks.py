#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 75s
"""Locks of runtimes: who waits for what, and who has it, as the targets themselves know it.

SNAPWALK_STOPS sets how many captures there are of programs that lock and unlock at random (75, four times).
"""
import json
import os
import re
import subprocess
import tempfile

from contended import check_owners
from harness import PATIENT, SNAPWALK, TARGETS, Tap, dump, gcore, no_mounts, snapwalk, wait_until
from runtime_jvm import CLASSES, MODES, chosen, compile_all, machines
from runtime_python import PROGRAMS, interpreters, minor

STOPS = int(os.environ.get("SNAPWALK_STOPS", "75"))
# The compiler leaves calls as they are: stacks are what owners are compared with.
CALLS = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Contended.*")
JVM_MODES = {"11": ("default", "ZGC"), "17": ("default", "ZGC"), "21": ("default", "ZGC", "ZGC with generations"),
             "25": ("default", "ZGC", "compact"), "26": ("default", "ZGC", "compact")}
# The program says how threads wait; the report says of some, by the class of the object, what for.
LIBRARY = {"latch": "latch"}
NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
# A collection by ZGC leaves old pointers in what threads do not touch while they wait: nothing is told then.
OPTIONS = {**{mode: [*options, "-Xmx512m"] if "ZGC" in mode else options for mode, options in MODES.items()},
           "compact": ["-XX:+UseCompactObjectHeaders", "-XX:+UnlockExperimentalVMOptions"]}


class Program:
    """A program that prints what it does until it is ready. inside: it has a pid namespace of its own, and knows its
    threads by other numbers than we do."""

    def __init__(self, *command, inside=False):
        self.command = [*(NAMESPACE if inside else ()), *command]
        self.inside = inside

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.lines = []
        for line in self.process.stdout:
            if line.strip() == "ready":
                if self.inside:
                    with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as children:
                        self.pid = int(children.read())
                return self
            self.lines.append(line.split())
        raise RuntimeError(f"{self.command}: ended")

    def tid(self, word):
        """Our number of the thread that the program names."""
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/status", encoding="utf-8", errors="replace") as status:
                numbers = next(line.split()[1:] for line in status if line.startswith("NSpid:"))
            if numbers[-1] == word:
                return int(tid)
        raise ValueError(f"{self.pid} has no thread {word}")

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def java_program(home, program, *words, options=(), inside=False):
    return Program(os.path.join(home, "bin", "java"), "-Xmx64m", *options, "-cp", CLASSES, program, *words, inside=inside)


def by_name(report):
    return {t["comm"]: t for t in report["threads"]}


def told(report, names):
    """{name: (kind, owner's name, class)}"""
    threads = {t["tid"]: t["comm"] for t in report["threads"]}
    found = {}
    for name in names:
        wait = by_name(report).get(name, {}).get("blocked_on") or {}
        found[name] = (wait.get("kind"), threads.get(wait.get("owner_tid"), "-"), wait.get("target") or "-")
    return found


def check_kinds(tap, version, home, mode, inside=False):
    with java_program(home, "Locks", "kinds", options=OPTIONS[mode], inside=inside) as java:
        wanted = {name: (LIBRARY.get(name, kind), owner, target) for word, name, kind, owner, target in java.lines if word == "waits"}
        hidden = int(version) >= 24 and mode == "ZGC"
        if hidden:  # who has a thin lock stands on a stack, where pointers may be old
            wanted = {name: (kind, "-" if kind == "java_monitor" and name != "again" else owner, target)
                      for name, (kind, owner, target) in wanted.items()}
        got = {}
        version += " in a namespace" if inside else ""

        def alike():
            got["report"] = dump(java.pid, *PATIENT)
            return told(got["report"], wanted) == wanted
        try:
            wait_until(alike, "all to wait")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        report = got["report"]
        waits = told(report, wanted)
        for name, wait in wanted.items():
            tap.equal(waits[name], wait, f"{version} {mode}: {name}")
        tap.equal(report["deadlocks"], [], f"{version} {mode}: no deadlock")
        said = [w["message"] for w in report["warnings"] if w["code"] == "runtime" and "under ZGC" in w["message"]]
        tap.equal(len(said), int(hidden), f"{version} {mode}: owners that are not known are said to be so, once")
        threads = by_name(report)
        if not hidden:
            holders = {h["tid"]: h["waiting"] for h in report["root_holders"]}
            # It sleeps: who waits for it to end is not held up by it.
            n = sum(owner == "holder" and kind != "thread" for kind, owner, _ in wanted.values())
            tap.equal(holders.get(threads["holder"]["tid"]), n, f"{version} {mode}: {n} wait for the holder")
        addresses = {name: threads[name]["blocked_on"]["address"] for name in wanted}
        tap.check(addresses["write"] == addresses["read"] and addresses["waiting"] == addresses["blocker"],
                  f"{version} {mode}: the same object has one address", addresses)
        tap.equal(len({addresses[name] for name in ("monitor", "hashed", "lock", "fair", "write", "again")}), 6,
                  f"{version} {mode}: others have others")
        if mode == "default":
            check_recorded(tap, version, java, wanted)
            text = subprocess.run([SNAPWALK, str(java.pid), *PATIENT, "--all"], capture_output=True, text=True).stdout
            tap.check(re.search(r"for the monitor Locks\$Thing@0x[0-9a-f]+, which holder \(\d+\) has", text),
                      f"{version}: text says it", text)


def check_recorded(tap, version, java, wanted):
    """A recording says the same when it is walked again."""
    with tempfile.TemporaryDirectory() as directory:
        where = os.path.join(directory, "recorded")
        subprocess.run([SNAPWALK, "record", str(java.pid), "-o", where, "--max-stop", "60000"], check=True, capture_output=True)
        tap.equal(told(dump(["--fixture", where]), wanted), wanted, f"{version}: recorded, and walked again")


def check_cycles(tap, version, pid, cycles, stop):
    """cycles: lists of names, each with the first one that the program says."""
    def found():
        report = dump(pid, *PATIENT, "--stop", stop)
        return report if len(report.get("deadlocks", [])) == len(cycles) else None
    report = wait_until(found, "the deadlocks")
    names = {t["tid"]: t["comm"] for t in report["threads"]}
    got = []
    for cycle in report["deadlocks"]:
        cycle = [names[tid] for tid in cycle]
        at = cycle.index(next(name for name in cycle if name in {c[0] for c in cycles}))
        got.append(cycle[at:] + cycle[:at])
    tap.equal(sorted(got), sorted(cycles), f"{version} --stop {stop}: the deadlocks, in order")
    text = subprocess.run([SNAPWALK, str(pid), *PATIENT, "--stop", stop], capture_output=True, text=True).stdout
    heads = [line for line in text.splitlines() if line][:3 + len(cycles)]
    tap.equal(sum(line.startswith("DEADLOCK: ") for line in heads), len(cycles),
              f"{version} --stop {stop}: text begins with them")


def check_deadlocks(tap, version, home, stop):
    for word in ("deadlocks", "classes"):
        with java_program(home, "Locks", word) as java:
            check_cycles(tap, version, java.pid, [words[1:] for words in java.lines if words[0] == "cycle"], stop)


def check_text(tap, version, home):
    """The first lines are for a reader who is woken at night: who holds up how many, what runs."""
    with java_program(home, "Crowded") as target:
        def text():
            lines = snapwalk("dump", target.pid, *PATIENT).stdout.splitlines()
            # Compilers are still at work at first.
            return lines if any(line.startswith("60 threads wait for counter ") for line in lines) and \
                sum(" runs: " in line for line in lines[:10]) <= 1 else None
        lines = wait_until(text, "all to wait")
        first = "\n".join(lines[:40])
        for wanted in (r"^100 threads wait for packer \(\d+\), sleeping in futex( \(\S+\))?( for \d\S* \w+)?, "
                       r"in Crowded\.holdOrders Crowded\.java:\d+$",
                       r"^60 threads wait for counter \(\d+\), running",
                       r"^1 thread runs: counter .* in Crowded\.holdStock",
                       r"^ +#\d+ +Crowded\.holdStock\b.*Crowded\.java:3[78]",
                       r"^\d+ threads +order-.*\n.*for the monitor .*, which packer \(\d+\) has"):
            tap.check(re.search(wanted, first, re.M), f"{version}: in the first 40 lines: {wanted}", first)
        tap.check(len(lines) <= 150, f"{version}: at most 150 lines for 500 threads", len(lines))


def is_lock(wait, which):
    """Monitors have classes of their own. Once in 100,000 captures the class is not known."""
    return wait["kind"] == ("java_monitor" if which < 4 else "java_lock") and \
        (which >= 4 or wait["target"] in (f"Contended$Monitor{which}", None))


def check_random(tap, version, home, options):
    with java_program(home, "Contended", options=CALLS) as java:
        check_owners(tap, version, java.pid, STOPS, options, ("java_monitor", "java_lock"), is_lock)


def gil_waits(report):
    """{tid: owner's tid or None}"""
    waits = {t["tid"]: t.get("blocked_on") or {} for t in report["threads"]}
    return {tid: wait["owner_tid"] for tid, wait in waits.items() if wait.get("kind") == "python_gil"}


def check_gil(tap, version, python, inside=False):
    with Program(python, os.path.join(PROGRAMS, "gil.py"), "hold", inside=inside) as program:
        version += " in a namespace" if inside else ""
        wanting = [program.tid(word) for verb, word in program.lines if verb == "wants"]
        holder, = [program.tid(word) for verb, word in program.lines if verb == "holds"]
        wanted = {tid: holder for tid in wanting}

        def all_wait():
            # The waiting threads look at the clock now and then; the main thread may want the GIL, too.
            report = dump(program.pid, *PATIENT)
            waits = gil_waits(report)
            return (report, waits) if wanted.items() <= waits.items() and set(waits.values()) == {holder} else None
        report, waits = wait_until(all_wait, "all to wait")
        tap.check(True, f"{version}: the waiters for the GIL, and its holder")
        tap.equal([(h["tid"], h["waiting"]) for h in report["root_holders"]], [(holder, len(waits))],
                  f"{version}: who holds them up")


def check_gil_cycle(tap, version, python):
    """A thread that wants the GIL looks at the clock each 5 ms, and still waits for it all the time. If it does so
    between the two passes of a window it is read in a later one than the holder, and no deadlock is told then: about
    one dump of 20."""
    n, missed_max = 20, 5
    with Program(python, os.path.join(PROGRAMS, "gil.py"), "cycle") as program:
        cycle = [int(words[1]) for words in program.lines]
        wait_until(lambda: dump(program.pid, *PATIENT).get("deadlocks"), "the deadlock")
        got = [dump(program.pid, *PATIENT).get("deadlocks") for _ in range(n)]
    others = [d for d in got if d not in ([cycle], [cycle[::-1]], [])]
    tap.equal(others, [], f"{version}: no other deadlock is told")
    tap.check(got.count([]) <= missed_max,
              f"{version}: the deadlock of the GIL and a mutex, in {n - missed_max} of {n} dumps")


def check_gil_turns(tap, version, python):
    """A thread that has the GIL does not wait for it."""
    wrong, n, known = [], 0, 0
    with Program(python, os.path.join(PROGRAMS, "gil.py")) as program:
        run = subprocess.Popen([os.path.join(TARGETS, "drive_dumps"), str(program.pid), str(STOPS), "auto"],
                               stdout=subprocess.PIPE, text=True)
        with run:
            for line in run.stdout:
                n += 1
                waits = gil_waits(json.loads(line))
                owners = {owner for owner in waits.values() if owner is not None}
                known += len(owners)
                if len(owners) > 1 or owners & waits.keys():
                    wrong.append(waits)
    tap.equal((run.returncode, n), (0, STOPS), f"{version}: {STOPS} captures")
    tap.check(not wrong, f"{version}: no owner that waits itself ({known} known)", wrong[:5])
    tap.check(known * 10 >= STOPS, f"{version}: the owner is known", known)


def rlock_waits(report):
    """{tid: owner's tid or 0}"""
    waits = {t["tid"]: t.get("blocked_on") or {} for t in report["threads"]}
    return {tid: wait["owner_tid"] or 0 for tid, wait in waits.items() if wait.get("kind") == "python_rlock"}


def check_rlocks(tap, version, python, stop, inside=False):
    with Program(python, os.path.join(PROGRAMS, "rlocks.py"), inside=inside) as program:
        wanted = {program.tid(tid): program.tid(owner) for word, tid, owner in program.lines
                  if word == "waits" and owner != "0"}
        named = version + (" in a namespace" if inside else "")

        def all_wait():
            report = dump(program.pid, *PATIENT, "--stop", stop)
            return report if rlock_waits(report) == wanted else None
        report = wait_until(all_wait, "all to wait")
        tap.check(len(wanted) == 3, f"{named} --stop {stop}: who waits for an RLock, and who has it")
        tap.equal([(h["tid"], h["waiting"]) for h in report["root_holders"]], [(program.pid, 3)],
                  f"{named} --stop {stop}: who holds them up")
        addresses = {t["blocked_on"]["address"] for t in report["threads"] if t["tid"] in wanted}
        tap.check(len(addresses) == 1, f"{named} --stop {stop}: the same lock has one address", addresses)
    with Program(python, os.path.join(PROGRAMS, "rlocks.py"), "cycle", inside=inside) as program:
        (_, first, second), = [words for words in program.lines if words[0] == "cycle"]
        cycle = [program.tid(first), program.tid(second)]

        def found():
            report = dump(program.pid, *PATIENT, "--stop", stop)
            return report["deadlocks"] if report.get("deadlocks") else None
        tap.check(wait_until(found, "the deadlock") in ([cycle], [cycle[::-1]]), f"{named} --stop {stop}: the deadlock")


def lock_waits(report):
    """{tid: owner's tid or 0}"""
    waits = {t["tid"]: t.get("blocked_on") or {} for t in report["threads"]}
    for wait in waits.values():
        if wait.get("kind") == "python_lock" and (wait["trust"] == "with") != (wait["owner_tid"] is not None):
            raise ValueError(wait)
    return {tid: wait["owner_tid"] or 0 for tid, wait in waits.items() if wait.get("kind") == "python_lock"}


def check_locks(tap, version, python, stop):
    """Locks do not say who has them; with statements do."""
    with Program(python, os.path.join(PROGRAMS, "locks.py")) as program:
        wanted = {int(tid): int(owner) for word, tid, owner in (line for line in program.lines if line[0] == "waits")}
        got = {}

        others = {int(line[1]) for line in program.lines if line[0] == "other"}

        def kinds():  # who is still on the way there may wait for the GIL, or for nothing
            return {(t.get("blocked_on") or {}).get("kind") for t in got["report"]["threads"] if t["tid"] in others}

        def all_wait():
            got["report"] = dump(program.pid, *PATIENT, "--stop", stop)
            return lock_waits(got["report"]) == wanted and kinds() <= no_locks
        no_locks = {"semaphore", "futex", "condition", "event", "queue_get", "thread"}
        try:
            wait_until(all_wait, "all to wait")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        report = got["report"]
        tap.equal(lock_waits(report), wanted, f"{version} --stop {stop}: who waits for a Lock, and in whose with statement it is")
        tap.equal(report.get("deadlocks", []), [], f"{version} --stop {stop}: no deadlock")
        tap.check(len(others) == 3 and kinds() <= no_locks,
                  f"{version} --stop {stop}: conditions and threads that are to end are no locks", kinds())
        if stop == "auto":
            check_recorded_locks(tap, version, program, wanted)
    for word in ("cycle", "itself"):
        with Program(python, os.path.join(PROGRAMS, "locks.py"), word) as program:
            cycle = [int(tid) for tid in program.lines[0][1:]]

            def found():
                report = dump(program.pid, *PATIENT, "--stop", stop)
                return report["deadlocks"] if report.get("deadlocks") else None
            tap.check(wait_until(found, "the deadlock") in ([cycle], [cycle[::-1]]), f"{version} --stop {stop}: the deadlock, {word}")
            text = subprocess.run([SNAPWALK, str(program.pid), *PATIENT, "--stop", stop], capture_output=True, text=True).stdout
            tap.check(re.search(r"^DEADLOCK: ", text, re.M) and re.search(r"for the Lock, which .* \(\d+\) has \(a with statement\)", text),
                      f"{version} --stop {stop}: text says it", text[:3000])


def end_waits(report):
    """{tid: (kind, owner's tid)} of those that wait for a thread's end, or for an import."""
    waits = {t["tid"]: t.get("blocked_on") or {} for t in report["threads"]}
    return {tid: (wait["kind"], wait["owner_tid"]) for tid, wait in waits.items() if wait.get("kind") in ("thread", "python_import")}


def check_joins(tap, version, python, stop):
    """Threads that are to end, and modules that others import."""
    named = f"{version} --stop {stop}"
    with Program(python, os.path.join(PROGRAMS, "joins.py")) as program:
        wanted = {int(tid): ("python_import" if word == "import" else "thread", int(owner)) for word, tid, owner in program.lines}
        got = {}

        def all_wait():
            got["report"] = dump(program.pid, *PATIENT, "--stop", stop)
            return end_waits(got["report"]) == wanted
        try:
            wait_until(all_wait, "all to wait")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        tap.equal(end_waits(got["report"]), wanted, f"{named}: the waiters for a thread's end or an import, and the owners")
        tap.equal({t["blocked_on"]["target"] for t in got["report"]["threads"] if t["tid"] in wanted and wanted[t["tid"]][0] != "thread"},
                  {"made_module"}, f"{named}: which module")
        tap.equal(got["report"].get("deadlocks", []), [], f"{named}: no deadlock of joins")
    with Program(python, os.path.join(PROGRAMS, "joins.py"), "cycle") as program:
        cycle = [int(tid) for tid in program.lines[0][1:]]

        def found():
            report = dump(program.pid, *PATIENT, "--stop", stop)
            return report["deadlocks"] if report.get("deadlocks") else None
        tap.check(wait_until(found, "the deadlock") in ([cycle], [cycle[::-1]]), f"{named}: the deadlock of a join and an import")
        text = subprocess.run([SNAPWALK, str(program.pid), *PATIENT, "--stop", stop], capture_output=True, text=True).stdout
        tap.check(re.search(r"^DEADLOCK: ", text, re.M) and re.search(r"for the import of made_module, which .* \(\d+\) runs;", text) and
                  re.search(r"for .* \(\d+\) to end;", text), f"{named}: text says it", text[:3000])


def check_recorded_locks(tap, version, program, wanted):
    """A recording says the same when it is walked again; so does a core file."""
    with tempfile.TemporaryDirectory() as directory:
        core = os.path.join(directory, "core")
        gcore(program.pid, core)
        tap.equal(lock_waits(dump(["--core", core], status=(0, 3))), wanted, f"{version}: locks of a core file")
    with tempfile.TemporaryDirectory() as directory:
        where = os.path.join(directory, "recorded")
        subprocess.run([SNAPWALK, "record", str(program.pid), "-o", where, "--max-stop", "60000"], check=True, capture_output=True)
        tap.equal(lock_waits(dump(["--fixture", where])), wanted, f"{version}: recorded, and walked again")


def check_python_random(tap, version, python, options):
    with Program(python, os.path.join(PROGRAMS, "contended.py")) as program:
        check_owners(tap, version, program.pid, STOPS, options, ("python_rlock", "python_lock"),
                     lambda wait, which: (which < 4) == (wait["kind"] == "python_rlock"), ("semaphore",))


def check_namespaces(tap, machine, python):
    """As in containers. The command line is the same; the ids that locks hold are not."""
    if no_mounts():
        tap.skip("in a namespace", no_mounts(), tap.MOUNTS)
        return
    check_kinds(tap, *machine, "default", inside=True)
    check_gil(tap, *python, inside=True)
    check_rlocks(tap, *python, "auto", inside=True)


def main():
    tap = Tap()
    found = machines()
    tap.check(found, "a JDK is installed")
    compile_all(found[min(found, key=int)])
    for version, home in chosen(found).items():
        for mode in JVM_MODES.get(version, ("default",)):
            tap.guard(check_kinds, version, home, mode)
        for stop in ("auto", "always"):
            tap.guard(check_deadlocks, version, home, stop)
        tap.guard(check_text, version, home)
        for stop in (("auto",), ()):
            tap.guard(check_random, version, home, stop)
    for version, python in interpreters().items():
        if minor(version) >= 8:
            if not version.endswith("t"):  # they have no such lock
                tap.guard(check_gil, version, python)
                tap.guard(check_gil_cycle, version, python)
                tap.guard(check_gil_turns, version, python)
            for stop in ("auto", "always"):
                tap.guard(check_rlocks, version, python, stop)
                tap.guard(check_locks, version, python, stop)
                tap.guard(check_joins, version, python, stop)
            for stop in (("auto",), ()):
                tap.guard(check_python_random, version, python, stop)
    for machine in found.items():
        tap.guard(check_namespaces, machine, max(((v, p) for v, p in interpreters().items() if v[-1] != "t"),
                                                 key=lambda item: minor(item[0])))
    tap.done()


if __name__ == "__main__":
    main()
