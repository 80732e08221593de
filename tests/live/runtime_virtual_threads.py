#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 50s
"""Virtual threads of Java: how many there are, against what the program and the VM know of them; and the stacks of
those that are mounted, at any instruction.

With the JDKs that runtime_jvm.py finds. SNAPWALK_STOPS sets how many captures there are of a program whose virtual
threads start and end (75), SNAPWALK_JVM_STOPS how many stops of one whose virtual threads take turns (300).
"""
import json
import os
import re
import subprocess
import tempfile

from harness import PATIENT, TARGETS, Tap, patient_dump, snapwalk, wait_until
from runtime_jvm import CLASSES, MODES, Java, chosen, compile_all, has_mode, judge_stops, machines, wrong_in_stack
from runtime_locks import Program

STOPS = int(os.environ.get("SNAPWALK_STOPS", "75"))
CARRIERS = 4
SCHEDULER = [f"-Djdk.virtualThreadScheduler.parallelism={CARRIERS}", f"-Djdk.virtualThreadScheduler.maxPoolSize={CARRIERS}"]


def counted(home, *args, options=()):
    return Program(os.path.join(home, "bin", "java"), "-Xmx256m", *SCHEDULER, *options, "-cp", CLASSES, "Counted", *args)


def threads_of(report):
    found = [r.get("virtual_threads") for r in report["process"]["runtimes"] if r["name"] == "hotspot"]
    return found[0] if found else None


def vm_count(home, pid):
    """Returns the number in the VM's own dump, which says since 24 which threads are virtual."""
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "threads.json")
        subprocess.run([os.path.join(home, "bin", "jcmd"), str(pid), "Thread.dump_to_file", "-format=json", path],
                       check=True, capture_output=True)
        with open(path, encoding="utf-8") as dumped:
            containers = json.load(dumped)["threadDump"]["threadContainers"]
    return len({t["tid"] for c in containers for t in c["threads"] if t.get("virtual")})


def check_kinds(tap, version, home, mode, options=()):
    named = f"{version} {mode}{' '.join(('', *options))}"
    with counted(home, options=[*MODES[mode], *options]) as java:
        said = {word: int(number) for word, number in java.lines}

        def settled():
            report = patient_dump(java.pid)
            found = threads_of(report)
            return report if found and found["mounted"] == said["mounted"] and found["count"] == said["count"] else None
        if mode.startswith("ZGC"):  # pointers may be old ones, of before objects were moved: then it is not known
            tap.check(threads_of(patient_dump(java.pid)) in ({**said, "at_least": False}, None),
                      f"{named}: as many as the program has, or not known")
            return
        report = None
        try:
            report = wait_until(settled, "the program's numbers")
        except Exception:  # noqa: BLE001 - what differs is said below
            report = patient_dump(java.pid)
        tap.equal(threads_of(report), {**said, "at_least": False}, f"{named}: as many as the program has")
        if int(version) >= 24 and not options:
            tap.equal(vm_count(home, java.pid), said["count"], f"{named}: and as the VM's own dump has")
        text = snapwalk(java.pid, *PATIENT).stdout
        tap.check(f"{said['count']} virtual threads, {said['mounted']} mounted: " in text, f"{named}: text says it", text[-2000:])


def check_churn(tap, version, home, mode):
    """The count is right whatever happens meanwhile: threads that sleep are counted, and of others no more than there
    can be."""
    with counted(home, "churn", options=MODES[mode]) as java:
        said = {word: int(number) for word, number in java.lines}
        run = subprocess.run([os.path.join(TARGETS, "drive_dumps"), str(java.pid), str(STOPS), "auto"], check=True,
                             capture_output=True, text=True, timeout=600)
        found = [threads_of(json.loads(line)) for line in run.stdout.splitlines()]
        known = [f for f in found if f]
        # A virtual thread that has ended is still counted while its carrier takes leave of it.
        wrong = [f for f in known if f["at_least"] or f["mounted"] > CARRIERS or
                 not said["count"] <= f["count"] <= said["count"] + said["churning"] + CARRIERS]
        tap.equal((len(found), wrong[:5]), (STOPS, []), f"{version} {mode}: never too many nor too few")
        tap.check(len(known) * 10 >= STOPS * 9 or mode.startswith("ZGC"),
                  f"{version} {mode}: the number is known in {len(known)} of {STOPS}")


def carriers(pid):
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as comm:
            if comm.read().startswith("ForkJoi"):
                found.append(int(tid))
    return sorted(found)


# The callers of the outermost frame of a virtual thread: the VM's own, or the carrier's where the others are on the
# heap.
BEHIND = {"Mounted$$Lambda.run", "jdk.internal.vm.Continuation.run", "jdk.internal.vm.Continuation.enterSpecial",
          "java.lang.VirtualThread.run", "[StubRoutines (continuation stubs)]", "[StubRoutines (continuationstubs)]"}
OF_CARRIER = r"(java|jdk)\.\S+|Mounted\S*|\[.*\]"


def wrong_in_turns(stack):
    """A part of the chain, then the carrier's frames; None when all is as it must be."""
    wrong = wrong_in_stack(stack)
    if wrong:
        return wrong
    names = [f["function"] for f in stack["frames"] if f["kind"] == "jvm"]
    strange = [name for name in names if not re.fullmatch(OF_CARRIER, name)]
    if strange:
        return f"strange: {strange}"
    if not names or names[-1] != "[call_stub]" or "java.util.concurrent.ForkJoinWorkerThread.run" not in names[-2]:
        return "no carrier"
    chain = [i for i, name in enumerate(names) if re.fullmatch(r"Mounted\.(f\d|compute)", name)]
    if not chain:
        return None
    if chain != list(range(chain[0], chain[-1] + 1)):
        return "something in between"
    numbers = [0 if names[i] == "Mounted.compute" else int(names[i][-1]) for i in chain]
    if numbers != list(range(numbers[0], numbers[0] - len(numbers), -1)):
        return f"another chain: {numbers}"
    behind = names[chain[-1] + 1]
    return None if behind in BEHIND else f"behind the chain: {behind}"


def check_turns(tap, version, home, mode):
    options = ["-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1"]
    with Java(home, "Mounted", *MODES[mode], *options) as java:
        tid = wait_until(lambda: carriers(java.pid), "the carrier")[0]
        # Now and then a stack is cut: while the VM puts interpreted frames of a virtual thread back.
        stacks = judge_stops(tap, "jvm.virtual", f"{version} {mode}", java.pid, tid, wrong_in_turns)
        in_chain = sum(any((f["function"] or "").startswith("Mounted.f") for f in stack["frames"]) for stack in stacks)
        tap.check(in_chain * 150 >= len(stacks), f"{version} {mode}: met in the chain", in_chain)


def chain_of(report, name):
    """The program's functions in the stack of a virtual thread; None: it is not there."""
    for stack in report["stacks"]:
        if any(task["name"].startswith(name) for task in stack.get("tasks", [])):
            return [frame["function"] for frame in stack["frames"] if (frame["function"] or "").startswith("Unmounted.")]
    return None


def check_owners(tap, version, home, mode, options=()):
    """Virtual threads that no thread carries have locks: threads that wait say whose, and their stacks are there."""
    named = f"{version} {mode}{' '.join(('', *options))}: unmounted"
    monitors = int(version) >= 24  # before, a thread carries who has a monitor
    with Program(os.path.join(home, "bin", "java"), "-Xmx256m", *SCHEDULER, *MODES[mode], *options, "-cp", CLASSES,
                 "Unmounted") as java:
        said = {name: (kind, owner) for _, name, kind, owner in java.lines if monitors or kind != "java_monitor"}

        def told():
            report = patient_dump(java.pid)
            waits = {t["managed"]["name"]: t.get("blocked_on") or {} for t in report["threads"] if t.get("managed")}
            got = {}
            for name in said:
                owner = re.fullmatch(r"(?:(.+) \()?#\d+\)?", waits.get(name, {}).get("owner_name", ""))
                got[name] = (waits.get(name, {}).get("kind"), (owner[1] or "-") if owner else None)
            return got, report
        try:
            wait_until(lambda: told()[0] == said, "all to wait")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        got, report = told()
        tap.equal(got, said, f"{named}: who has the locks")
        tap.equal((chain_of(report, "orders (") or [])[:6], ["Unmounted.hold", *["Unmounted.middle"] * 4, "Unmounted.outer"],
                  f"{named}: the stack of one")
        if monitors:
            tap.equal((chain_of(report, "stock (") or [])[:3], ["Unmounted.hold", "Unmounted.middle", "Unmounted.enter"],
                      f"{named}: the stack of one that has a monitor")
        text = snapwalk(java.pid, *PATIENT).stdout
        tap.check(re.search(r"\n2 threads wait for the virtual thread orders \(#\d+\), which no thread runs\n", text),
                  f"{named}: text says it first", text[:1500])


def main():
    tap = Tap()
    found = {version: home for version, home in machines().items() if int(version) >= 21}
    if not found:
        tap.skip("virtual threads", "no JDK has them", "SNAPWALK_JDKS=FOLDER of a JDK 21 or later")
    else:
        compile_all(machines()[min(machines(), key=int)])
    for version, home in chosen(found).items():
        for mode in ("default", "Serial", "Parallel", "ZGC", "ZGC with generations", "Shenandoah"):
            if has_mode(home, mode):
                tap.guard(check_kinds, version, home, mode)
        tap.guard(check_kinds, version, home, "default", ("-Djdk.trackAllThreads=false",))
        tap.guard(check_kinds, version, home, "default", ("-XX:-UseCompressedOops",))
        for mode in ("default", "-Xint", "Serial", "Parallel"):
            if has_mode(home, mode):
                tap.guard(check_owners, version, home, mode)
        for options in (("-Xcomp",), ("-XX:-UseCompressedOops",)):
            tap.guard(check_owners, version, home, "default", options)
        for mode in ("default", "ZGC"):
            tap.guard(check_churn, version, home, mode)
        for mode in ("default", "-Xint", "C1", "C2"):
            tap.guard(check_turns, version, home, mode)
    tap.done()


if __name__ == "__main__":
    main()
