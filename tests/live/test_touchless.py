#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
# serial
"""The capture that stops nothing against the one that stops all: the same walks, at most as many stops
as CPUs, no torn stack, however many threads there are.

SNAPWALK_COPIES=1000000 makes the adversarial test that long, SNAPWALK_SAME=2000 that of random stops;
words are the functions to run.
"""
import json
import os
import re
import signal
import subprocess

from harness import (SNAPWALK, TARGETS, Tap, Target, dump, iterator_refused, state_of, tool,
                     wait_until)
from judge import scaled
from safety import tasks
from test_targets import PLAIN

COPIES = int(os.environ.get("SNAPWALK_COPIES", scaled(1500)))
SAME = int(os.environ.get("SNAPWALK_SAME", scaled(12)))
MANY = 10_000
BUSY, BUSY_DUMPS = 100, 4
AUTO, NEVER = 0, 1  # enum sw_stop_mode
# Target, arguments, what it is ready with.
OTHERS = [
    ("deep", (200,)), ("assembly", ()), ("busy", ()), ("coroutine", ()), ("hanging", ()), ("leaf", ()),
    ("named", ()), ("nullcall", ()), ("stacks", ()), ("states", ("plain", 20)),
    ("threads", (20, 10)), ("throwing", ()), ("clock", ()), ("demo", ()),
    ("jit_example", ()), ("chain_stripped", ()), ("chain_bare", ()), ("chain_musl", ()),
    ("chain_musl_static", ()), ("blocking", (60000, 60000)), ("restless", (8,)),
]


def walks(report):
    """{tid: what its walk is}"""
    stacks = [(s["end"], s["why"], [(f["pc"], f["function"], f["by"], f["trust"], f["kind"],
                                     f.get("inlined"), f.get("signal")) for f in s["frames"]])
              for s in report["stacks"]]
    return {t["tid"]: None if t["stack"] is None else stacks[t["stack"]]
            for t in report["threads"]}


def same_walks(tap):
    programs = [*((name, ()) for name in PLAIN), *OTHERS]
    tap.together((same_walks_of, name, args) for name, args in programs if name != "chain_gold" or tool("ld.gold"))


def same_walks_of(tap, name, args):
    """A stopped program: one dump that stops all, one that stops whom it must, one that stops nobody."""
    with Target(name, *args) as target:
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: {state_of(target.pid, tid) for tid in tasks(target.pid)} <= {"T", "Z"},
                   f"{name} to stop")
        # Threads that no stop reaches are waited for.
        limit = ("--max-stop", int(1000 * max(1, os.getloadavg()[0] / os.cpu_count()))) if name == "hanging" else ()
        reports = {stop: dump(target.pid, *limit, "--symbols", "names", "--timeout", "60000",
                              "--stop", stop, status=(0, 3)) for stop in ("always", "auto", "never")}
        wanted = walks(reports["always"])
        for stop in ("auto", "never"):
            report = reports[stop]
            tap.equal(walks(report), wanted, f"{name}: --stop {stop} as always")
            tap.equal((report["timings"]["n_stopped"],
                       {t["captured_by"] for t in report["threads"] if t["captured"]}),
                      (0, {"iterator"}), f"{name}: --stop {stop} stops nothing")
        tap.equal({t["captured_by"] for t in reports["always"]["threads"] if t["captured"]},
                  {"ptrace"}, f"{name}: always stops")
        os.kill(target.pid, signal.SIGCONT)


def same_at_random(tap):
    """Busy programs, stopped by SIGSTOP at random instants: each walk is the same by the iterator."""
    for name, args in (("busy", ()), ("clock", ()), ("churn", ()), ("restless", (8,))):
        with Target(name, *args) as target:
            out = subprocess.run([os.path.join(TARGETS, "drive_same"), str(target.pid), str(SAME), "3000"],
                                 capture_output=True, text=True)
        found = re.search(r"^same (\d+) walks (\d+) frames (\d+) different (\d+)$", out.stdout, re.M)
        if not tap.check(found, f"{name}: the target was stopped {SAME} times", (out.stdout, out.stderr)):
            continue
        stops, walks_, frames, different = map(int, found.groups())
        tap.equal((stops, different, out.stdout.count("\n")), (SAME, 0, 1),
                  f"{name}: all walks of {SAME} stops are those of a stop, and nothing more was stopped")
        tap.check(walks_ >= SAME and frames > walks_, f"{name}: the walks have frames", found.group(0))
        print(f"# {name}: {found.group(0)}", flush=True)


def wait_places(tap):
    """The wait places of threads are read of few of them, and right for all."""
    with Target("blocking", 600000, 600000) as target:
        def places():
            found = {}
            for tid in tasks(target.pid):
                with open(f"/proc/{target.pid}/task/{tid}/wchan") as file:
                    found[tid] = file.read()
            return "0" not in found.values() and found
        wanted = wait_until(places, "all threads to wait")
        report = dump(target.pid, "--symbols", "none")
        tap.equal({t["tid"]: t["wchan"] for t in report["threads"]}, wanted,
                  f"{len(wanted)} threads wait in {len(set(wanted.values()))} functions: as /proc says")
        tap.check(len(set(wanted.values())) > 15, "in many", wanted)


def busy(tap):
    """More that run than CPUs: those that wait for one are read, and the rest soon wait, too."""
    cpus = len(os.sched_getaffinity(0))
    # Nothing but the limit ends never's windows: on a machine that does other work they need more of it.
    for stop, most, limit in (("auto", cpus, ()), ("never", 0, ("--max-stop", "1000"))):
        reports = []
        for _ in range(BUSY_DUMPS):
            with Target("states", "spin", BUSY) as target:
                reports.append(dump(target.pid, "--stop", stop, *limit, "--symbols", "none",
                                    status=(0, 3)))
        stopped = [r["timings"]["n_stopped"] for r in reports]
        tap.check(max(stopped) <= most, f"{BUSY} busy threads, {stop}: at most {most} stopped", stopped)
        missing = [sum(not t["captured"] for t in r["threads"]) for r in reports]
        tap.check(max(missing) <= (cpus if stop == "never" else 0),
                  f"{BUSY} busy threads, {stop}: they are there", missing)
        print(f"# {stop}: stopped {stopped}, missing {missing}", flush=True)


def many(tap):
    """Within the defaults: whatever limits of time and space there are."""
    with Target("states", "plain", MANY) as target:
        # The last ones may be on a CPU yet, where they would be stopped.
        wait_until(lambda: {state_of(target.pid, tid) for tid in tasks(target.pid)} == {"S"},
                   "all threads to wait")
        result = subprocess.run([SNAPWALK,
                                 str(target.pid), "--json", "--symbols", "names"],
                                capture_output=True, text=True)
        tap.equal((result.returncode, result.stderr), (0, ""), f"{MANY} threads: complete")
        report = json.loads(result.stdout)
        tap.equal((len(report["threads"]), report["timings"]["n_stopped"],
                   sum(t["captured"] for t in report["threads"]),
                   {s["end"] for s in report["stacks"]}),
                  (MANY + 1, 0, MANY + 1, {"complete"}), f"{MANY} threads: all of them, none stopped")
        print(f"# {report['timings']}", flush=True)


def restless_symbols():
    symbols = dict(reversed(line.split()[::2]) for line in subprocess.run(
        [tool("nm"), os.path.join(TARGETS, "restless")], capture_output=True, text=True,
        check=True).stdout.splitlines() if len(line.split()) == 3)
    return [symbols[f"restless_{name}"] for name in ("loop", "stored", "counted", "end")]


def nothing_torn(tap):
    """Whole captures of threads that rewrite their stacks, sleep, wake, move, fork, begin, end, and of
    a process that becomes another."""
    for stop, how in ((AUTO, "auto"), (NEVER, "never")):
        with Target("restless", 64) as target:
            out = subprocess.run([os.path.join(TARGETS, "drive_iterate"), "captured", str(target.pid),
                                  str(COPIES), *restless_symbols(), str(stop)],
                                 capture_output=True, text=True)
        found = re.search(r"^captured (.*)$", out.stdout, re.M)
        if not tap.check(found, f"{how}: the process was captured", (out.stdout, out.stderr)):
            continue
        n = {k: int(v) for k, v in (w.split("=") for w in found.group(1).split())}
        tap.equal(n["torn"], 0, f"{how}: {n['iterator']} stacks by the iterator, {n['ptrace']} by "
                  "ptrace: 0 torn")
        tap.check(n["iterator"] > COPIES // 2, f"{how}: most by the iterator", n)
        tap.check(n["without"] < COPIES // 5, f"{how}: most have a pattern to look at", n)
        print(f"# {how}: {n}", flush=True)


if __name__ == "__main__":
    Tap.main(same_walks, same_at_random, wait_places, busy, many, nothing_torn,
             skip=("captures without a stop", iterator_refused(), "root that may load programs (CAP_BPF, CAP_PERFMON), Linux 6.1 or newer with BTF"))
