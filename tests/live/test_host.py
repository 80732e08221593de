#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
"""Samples of all processes, and of those that a name or several pids mean, by one event for each CPU: stacks are those of
programs whose functions say how deep they are; processes that begin later or become other programs are sampled; nobody
else is looked at; without root it is refused."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from harness import SNAPWALK, Tap, Target, hangs_s, iterator_refused, snapwalk, summary_of, wait_until
from safety import status_field, wait_confined
from test_copies import PYTHON, judge, stacks

RATE = 999
CPU_S = 0.1  # that each program runs for, twice, while it is sampled
DEPTHS = os.path.join(os.path.dirname(PYTHON), os.pardir, os.pardir, os.pardir, "build/tests/targets/depths")
# A program that is Python for some time, and another one from a line of input on.
BECOMES = "import os, sys, threading\n" \
    "def d0():\n    while not gone: pass\n" \
    "gone = False\nprint('ready', flush=True)\n" \
    "threading.Thread(target=d0, daemon=True).start()\nsys.stdin.readline()\n" \
    "os.execv(sys.argv[1], sys.argv[1:])\n"


def task_comm(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8", errors="replace") as f:
        return f.read().rstrip("\n")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_ran(pid, seconds=CPU_S):
    until = cpu_s(pid) + seconds
    wait_until(lambda: cpu_s(pid) >= until, f"{pid} to run")


def sleeps(pid):
    """How often a process has gone to sleep: the command does so after each time that it has fetched samples."""
    return int(status_field(pid, pid, "voluntary_ctxt_switches"))


@contextlib.contextmanager
def first_to_run():
    """A CPU at once for what is begun in this, whatever else runs. Gives None, or why that is refused."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        refused = None
    except PermissionError as e:
        refused = str(e)
    try:
        yield refused
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


class Sampling:
    """A run of the command until it is told to stop. profile and said are what it gave."""

    def __init__(self, *args, rate=RATE):
        self.args = [SNAPWALK, "sample", *map(str, args), "--duration", "0", "--format", "json", "--rate", str(rate)]

    def __enter__(self):
        self.process = subprocess.Popen(self.args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # The last thing that it does before the first sample.
        wait_confined(self.process, "the command to sample")
        return self

    def wait_sampled(self, *pids):
        """Waits until each runs, the command has looked at it, and it has run again. It sleeps while it looks, too."""
        for _ in range(3):
            for pid in pids:
                wait_ran(pid)
            until = sleeps(self.process.pid) + 3
            wait_until(lambda: sleeps(self.process.pid) >= until, "the command to fetch samples")

    def __exit__(self, *exc):
        self.process.send_signal(signal.SIGINT)
        out, self.said = self.process.communicate(timeout=hangs_s())
        self.status = self.process.returncode
        self.profile = json.loads(out) if out else {"nodes": [], "frames": [], "samples": []}
        self.by_root = {}
        for frames, n in stacks(self.profile):
            self.by_root.setdefault(frames[0]["function"], []).append((frames[1:], n))

    def of(self, pid):
        """[(frames without the process, how often)]"""
        return [found for root, all_found in self.by_root.items() if root.endswith(f" ({pid})") for found in all_found]


def judged(found, kind):
    counts = {}
    for frames, n in found:
        how = judge(kind, frames) if frames else "missed"
        if frames and frames[0]["function"] == "[cut: native_only]":
            how = "native only"
        counts[how] = counts.get(how, 0) + n
    return counts


def check_stacks(tap, name, found, kind):
    counts = judged(found, kind)
    tap.check(counts.get("right", 0) > 10, f"{name}: there are whole stacks", counts)
    tap.equal((counts.get("wrong", 0), counts.get("cut", 0)), (0, 0), f"{name}: no stack is wrong, each that is cut says so")
    return counts


def all_processes(tap):
    with Target("depths", 1) as native, Target("python", PYTHON, 1, 0, path=sys.executable) as python:
        with Sampling("--all", rate=199) as run:  # so that all processes of a busy machine find space
            run.wait_sampled(native.pid, python.pid)
        check_stacks(tap, "all, native", run.of(native.pid), "native")
        counts = check_stacks(tap, "all, Python", run.of(python.pid), "python")
        tap.check(counts.get("native only", 0) > 0, "all, Python: the first sample has native frames and says so", counts)
        tap.check("nothing was stopped" in summary_of(run.said), "all: nothing was stopped", run.said)


def deep(tap):
    """A stack of 50 KiB, which is more than one part of a copy, comes whole; where less is asked for, it is cut and says so."""
    depth = 90
    with Target("deep", depth, 2) as target:
        for options, whole in (((), True), (("--stack-bytes", "16K"), False)):
            with Sampling("--all", *options, rate=199) as run:
                run.wait_sampled(target.pid)
            found = [[f["function"] for f in frames] for frames, _ in run.of(target.pid)]
            descents = [names for names in found if "compute" in names]
            tap.check(descents, f"deep {options}: there are samples", found[:3])
            if whole:
                tap.equal({names.count("descend") for names in descents}, {depth}, "deep: all calls of all samples are there")
            tap.equal([names for names in descents if ("[cut: stack_limit]" in names) == whole], [],
                      f"deep {options}: a stack is cut where it says so")


def short(tap):
    """Processes that end 2 ms after they have computed are looked at before that: the first sample of each wakes the command.
    All have a stack then, without the wake-up 6 to 10 times as many as have none. The best of three runs counts."""
    found = []
    while len(found) < 3 and not any(seen > 25 * ended for seen, ended in found):
        with Target("brief", 6, 2) as parent, contextlib.ExitStack() as stack:
            with first_to_run() as refused:
                if refused:
                    tap.skip("short: processes that end soon", f"a real-time priority is refused: {refused}", "CAP_SYS_NICE")
                    return
                run = stack.enter_context(Sampling("--mode", "cpu", "--comm", "brief", rate=199))
            until = time.monotonic() + 4  # the time that the test is about goes by
            wait_until(lambda: time.monotonic() >= until, "children to come and go")
        seen = sum(n for root, stacks in run.by_root.items() if root.startswith("brief (") and
                   root not in ("brief (ended)", f"brief ({parent.pid})") for _, n in stacks)
        found.append((seen, sum(n for _, n in run.by_root.get("brief (ended)", []))))
    print("# short:", found, flush=True)
    tap.check(all(seen + ended > 30 for seen, ended in found), "short: there are samples of children", found)
    tap.check(any(seen > 25 * ended for seen, ended in found), "short: each has a stack", found)


def later(tap):
    """By name: a process that begins while others are sampled, and one that has another name."""
    with Target("python", PYTHON, 1, 0, path=sys.executable) as other, Target("depths", 1) as first:
        with Sampling("--mode", "cpu", "--comm", "depths") as run, Target("depths", 1) as second:
            run.wait_sampled(first.pid, second.pid)
            wait_ran(other.pid, 0.05)
        check_stacks(tap, "later, the first", run.of(first.pid), "native")
        check_stacks(tap, "later, one that began meanwhile", run.of(second.pid), "native")
        tap.equal({root.split(" (")[0] for root in run.by_root}, {"depths"}, "later: no other process is sampled")


def becomes(tap):
    """By pid: a process of Python that becomes a native program. Its stacks are those of the one or of the other."""
    with Target("python", "-c", BECOMES, DEPTHS, 1, path=sys.executable) as changing, Target("depths", 1) as first:
        with Sampling("--mode", "cpu", changing.pid, first.pid) as run:
            run.wait_sampled(changing.pid)
            changing.send("")
            changing.readline()
            run.wait_sampled(changing.pid)
        found = run.of(changing.pid)
        python = [(f, n) for f, n in found if any(x["kind"] == "cpython" for x in f)]
        native = [(f, n) for f, n in found if any(x["function"] == "turn" for x in f)]
        tap.check(any("d0" in [x["function"] for x in f] for f, _ in python), "exec: the program before has its functions",
                  judged(found, "python"))
        check_stacks(tap, "exec, the program after", native, "native")
        tap.equal([f for f, _ in native if any(x["kind"] == "cpython" for x in f)], [],
                  "exec: no stack is of both programs")


def late(tap):
    """The command gets no CPU before its end: it takes what the kernel has made until then, and nothing of after it."""
    with Target("depths", 1) as native:
        args = [SNAPWALK, "sample", "--all", "--duration", "2", "--rate", "19", "--format", "json"]
        with first_to_run():  # once it goes on; where that is refused, the machine has to have a CPU for it
            command = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with command:
            wait_confined(command, "the command to sample")
            os.kill(command.pid, signal.SIGSTOP)
            try:
                wait_ran(native.pid, 0.3)
                time.sleep(2.5)  # the time that the test is about goes by
            finally:
                os.kill(command.pid, signal.SIGCONT)
            out, said = command.communicate(timeout=hangs_s())
    profile = json.loads(out)
    tap.equal(profile["duration_ns"], 2 * 10**9, "late: it is as long as it was asked to be")
    tap.check("samples_late" not in said, "late: each sample is fetched", said)
    tap.check(profile["n_samples"] > 10, "late: samples of before the end are there", profile["n_samples"])
    most = 2 * 19 * os.cpu_count() * 1.05
    tap.check(profile["n_samples"] <= most, "late: samples of after the end are not", profile["n_samples"])


def ends(tap):
    """A process that is known ends before its last samples are fetched: they are walked by what is known of it."""
    with Target("depths", 1) as native:
        with Sampling("--all", rate=199) as run:
            run.wait_sampled(native.pid)
            names = {task_comm(native.pid, tid) + " (ended)" for tid in os.listdir(f"/proc/{native.pid}/task")}
            os.kill(run.process.pid, signal.SIGSTOP)
            try:
                wait_ran(native.pid)
                os.kill(native.pid, signal.SIGKILL)
                native.process.wait()
            finally:
                os.kill(run.process.pid, signal.SIGCONT)
            until = sleeps(run.process.pid) + 3
            wait_until(lambda: sleeps(run.process.pid) >= until, "the command to fetch samples")
    check_stacks(tap, "ends", run.of(native.pid), "native")
    tap.equal([root for root in run.by_root if root in names], [], "ends: no sample of it is without a stack")


def refused(tap):
    result = snapwalk("sample", "--all", "--duration", 1, user=65534)
    tap.equal(result.returncode, 77, "without root: all processes are refused")
    tap.check("only root" in result.stderr, "without root: the reason is said", result.stderr)
    result = snapwalk("sample", "--all", "--mode", "wall")
    tap.equal(result.returncode, 2, "by the wall clock not all processes can be sampled")


if __name__ == "__main__":
    Tap.main(all_processes, deep, short, later, becomes, late, ends, refused,
             skip=("all processes", iterator_refused(), "Linux 6.1, root"))
