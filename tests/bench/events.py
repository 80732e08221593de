#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of events for the program that has them, side by side with other tools in one run: CPU time of the program for each event,
without a tool and with it, of several turns that which a quarter is better than. And what reading events costs snapwalk: CPU time for each, by the
number of different stacks.

Exit status 1 when a bar is missed.
"""
import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SLOW = 10  # times fewer rounds of a tool that stops the program at each event
BEGINS_S = 30  # until a tool that says nothing has begun
DEARER, TURNS = 1.5, 10  # events with such a tool, so often one after the other


class Work:
    """tests/bench/events_work.c."""

    def __init__(self, build):
        self.path = os.path.join(build, "tests", "targets", "events_work")
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def turn(self, kind, n, stacks=1):
        """Nanoseconds of CPU time of an event."""
        self.process.stdin.write(f"{kind} {n} {stacks}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / n


def is_confined(pid):
    with open(f"/proc/{pid}/status") as status:
        return "Seccomp:\t2" in status.read()


def quarter(values):
    """The best ones are of turns in which a tool has lost what came."""
    return sorted(values)[len(values) // 4]


class Tool:
    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while os.path.basename(argv[0]) == "snapwalk" and self.process.poll() is None and not is_confined(self.process.pid):
            time.sleep(0.02)

    def has_ended(self):
        return self.process.poll() is not None

    def end(self):
        """CPU seconds that it has had."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    def __init__(self, build, rounds):
        self.build, self.rounds = build, rounds
        self.snapwalk = os.path.join(build, "bin", "snapwalk")
        self.rows = []
        self.missed = False
        self.folder = tempfile.TemporaryDirectory()
        self.scratch = os.path.join(self.folder.name, "perf.data")

    def judge(self, work, tool, reached, asked, met):
        self.missed |= not met
        self.rows.append((work, tool, reached, asked if met else f"{asked}, missed"))

    def skip(self, work, tool, why):
        self.rows.append((work, tool, None, f"not measured: {why}"))

    def has_begun(self, tool, watched, kind, n, before, path):
        """Whether the tool is there: of those that say nothing events become dearer then. False: it has ended, or never begins."""
        dear, deadline = 0, time.monotonic() + BEGINS_S
        while not tool.has_ended() and not os.path.isabs(path) and dear < TURNS and time.monotonic() < deadline:
            dear = dear + 1 if watched.turn(kind, n) > DEARER * before else 0
        return not tool.has_ended() and (os.path.isabs(path) or dear == TURNS)

    def costs(self, kind, n, argv, other=False):
        """(nanoseconds of an event without the tool, with it), of each the lower quarter. other: of another program than the tool's."""
        with Work(self.build) as work, Work(self.build) as beside:
            watched = beside if other else work
            before, after = [work.turn(kind, n)], []
            for _ in range(self.rounds):
                before.append(work.turn(kind, n))
            tool = Tool(argv(watched))
            if not self.has_begun(tool, watched, kind, n, min(before), argv(watched)[0]):
                tool.end()
                return None
            slow = os.path.basename(argv(watched)[0]) == "strace"
            for _ in range(self.rounds // SLOW if slow else self.rounds):
                after.append(work.turn(kind, n))
            tool.end()
            return quarter(before), quarter(after)

    def measure(self, work, name, kind, n, argv, bar=None, ratio=False, other=False):
        if not os.path.isabs(argv(Nobody)[0]) and not shutil.which(argv(Nobody)[0]):
            self.skip(work, name, f"{argv(Nobody)[0]} is not installed")
            return
        got = self.costs(kind, n, argv, other)
        if got is None:
            self.skip(work, name, "it does not begin")
            return
        before, after = got
        reached = after / before if ratio else (after - before) / 1000
        text = f"× {reached:.2f}" if ratio else f"{reached:.3f} µs"
        asked = "" if bar is None else f"≤ × {bar:g}" if ratio else f"≤ {bar:g} µs"
        self.judge(work, name, text, asked, bar is None or reached <= bar)

    def on(self, event, *args):
        return lambda work: [self.snapwalk, "on", event, str(work.pid), "--stack-bytes", "4096", *args]

    def calls(self):
        name, n = "system call with a stack of 4 KiB", 20000
        self.measure(name, "snapwalk on", "call", n, self.on("syscall:getppid"), 0.8)
        self.measure(name, "perf, dwarf", "call", n, lambda work: [
            "perf", "record", "-q", "-o", self.scratch, "-e", "syscalls:sys_exit_getppid", "--call-graph", "dwarf,4096",
            "-p", str(work.pid)])
        self.measure(name, "bpftrace, ustack", "call", n, lambda work: [
            "bpftrace", "-e", f"tracepoint:syscalls:sys_exit_getppid /pid == {work.pid}/ {{ @[ustack] = count(); }}"])
        self.measure(name, "strace -k", "call", 20, lambda work: ["strace", "-k", "-o", "/dev/null", "-e", "getppid", "-p",
                                                                  str(work.pid)])

    def functions(self):
        name, n = "function with a stack of 4 KiB", 20000
        self.measure(name, "snapwalk on", "function", n, self.on("func:event_function", "-d", "3600"), 1.3)
        self.measure(name, "bpftrace, ustack", "function", n, lambda work: [
            "bpftrace", "-p", str(work.pid), "-e", f"uprobe:{work.path}:event_function {{ @[ustack] = count(); }}"])
        self.skip(name, "perf, dwarf", "its probe would be one of the whole machine (tracefs)")

    def descriptors(self):
        name, n = "13 descriptors a round", 500
        self.measure(name, "snapwalk leaks --of fds", "descriptors", n,
                     lambda work: [self.snapwalk, "leaks", "--of", "fds", str(work.pid), "-d", "3600"], 1.8, ratio=True)
        self.measure(name, "strace -k", "descriptors", 2, lambda work: ["strace", "-k", "-o", "/dev/null", "-e", "desc", "-p",
                                                                        str(work.pid)], ratio=True)

    def others(self):
        name = "another process meanwhile"
        self.measure(name, "its system calls", "call", 50000, self.on("syscall:getppid"), 0.015, other=True)
        self.measure(name, "its calls of the function", "function", 500000, self.on("func:event_function", "-d", "3600"), 0.005,
                     other=True)

    def reading(self):
        """CPU time of snapwalk for an event, and what that is in a second of one CPU."""
        for stacks in (20, 200, 2000):
            name, n = f"reading, {stacks} different stacks", 100000
            with Work(self.build) as work:
                costs = []
                for events in (16 * stacks, n):  # the first: to begin, and to name each stack once
                    tool = Tool(self.on("syscall:getppid")(work))
                    done = 0
                    while done < events:
                        work.turn("call", min(16 * stacks, events - done), stacks)
                        done += min(16 * stacks, events - done)
                        time.sleep(0.005)  # what is measured is the cost, not the size of the ring
                    time.sleep(0.1)
                    costs.append(tool.end())
            cost_s = (costs[1] - costs[0]) / (n - 16 * stacks)
            per_s = 1 / cost_s if cost_s > 0 else float("inf")
            self.judge(name, "snapwalk on", f"{cost_s * 1e6:.2f} µs, {per_s:,.0f} a second", "≥ 250,000 a second",
                       per_s >= 250000)

    def table(self):
        lines = ["| work | tool | of the program, for each event | asked |", "|---|---|---|---|"]
        lines += [f"| {work} | {tool} | {reached or ''} | {bar} |" for work, tool, reached, bar in self.rows]
        return "\n".join(lines)


class Nobody:
    pid, path = 0, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", default="calls,functions,descriptors,others,reading", help="parts, separated by commas")
    args = parser.parse_args()
    bench = Bench(os.path.abspath(args.build), args.rounds)
    for part in args.only.split(","):
        getattr(bench, part)()
    print(bench.table())
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
