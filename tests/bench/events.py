#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of events for the program that has them, side by side with other tools in one run: CPU time of the program for
each event, without a tool and with it, of each the best of many short turns. Before each turn a tool gets the time to read
what came: an event that is lost costs less, and where snapwalk has lost one, its row is missed. Also what reading events
costs snapwalk, by the number of different stacks, and how right the cost is that it predicts.

CPU time, and the best of many turns, are the same beside other work, as far as caches are not shared. A tool that is not
installed is a row that says so. What begins after --limit is not measured, which is said as well.

Exit status 1 when a bar is missed.
"""
import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SLOW = 10  # times fewer turns of a tool that stops the program at each event
BEGINS_S = 15  # until a tool that says nothing has begun
TURNS = 3  # so many turns one after the other that cost more: the tool has begun
READS_S = 0.02  # a tool has begun to read what came within it, and runs or waits for a CPU then
BURST = 2000  # events of 4 KiB that the rings of all tools hold
HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"
TABLE = "/sys/kernel/tracing/uprobe_events"
STACK_TURN = 4  # events of a stack before the next one's turn, as in events_work.c
EACH = {"descriptors": 26}  # events of a round
PERF = ["perf", "record", "-q", "-m", "16M", "--call-graph", "dwarf,4096"]


class Work:
    """tests/bench/events_work.c, started by another program, or by itself."""

    def __init__(self, build, *prefix):
        self.path = os.path.join(build, "tests", "targets", "events_work")
        self.process = subprocess.Popen([*prefix, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        while (line := self.process.stdout.readline()) != "ready\n":
            if not line:
                raise RuntimeError(f"{prefix} ends")
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()  # it ends when there is no more to read

    def turn(self, kind, n, stacks=1):
        """Nanoseconds of CPU time of an event."""
        self.process.stdin.write(f"{kind} {n} {stacks}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / n

    def libc(self):
        with open(f"/proc/{self.pid}/maps") as maps:
            return next(line.split()[5] for line in maps if "/libc.so" in line or "/libc-" in line)


class Tool:
    """A tool that looks at a program. What snapwalk writes is JSON."""

    def __init__(self, argv):
        self.is_ours = os.path.isabs(argv[0])
        self.out = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(argv, stdout=self.out, stderr=subprocess.DEVNULL)

    def has_ended(self):
        return self.process.poll() is not None

    def reads(self):
        """Returns when it has nothing to read: it sleeps."""
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline and not self.has_ended():
            time.sleep(READS_S)
            with open(f"/proc/{self.process.pid}/stat") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "S":
                    return

    def end(self):
        """(CPU seconds that it has had, what it wrote)"""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not self.has_ended():
            self.process.send_signal(signal.SIGINT)
        self.process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.out.seek(0)
        said = self.out.read() if self.is_ours else ""
        self.out.close()
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(said) if said else {}


class Bench:
    def __init__(self, build, rounds, seconds, limit):
        self.build, self.rounds, self.seconds = build, rounds, seconds
        self.snapwalk = os.path.join(build, "bin", "snapwalk")
        self.begin, self.reached = time.monotonic(), {}
        self.deadline = self.begin + limit
        self.missed = False
        self.folder = tempfile.TemporaryDirectory()
        self.scratch = os.path.join(self.folder.name, "perf.data")

    def row(self, *columns):
        """Each is said at once: a run that is ended has shown what it had."""
        print(f"| {' | '.join(columns)} |", flush=True)
        print(f"# {time.monotonic() - self.begin:.0f} s", file=sys.stderr, flush=True)

    def judge(self, work, tool, reached, asked, met, why=""):
        self.missed |= not met
        self.row(work, tool, reached, asked if met else f"{asked}, missed{why}")

    def skip(self, work, tool, why):
        self.row(work, tool, "", f"not measured: {why}")

    def cannot(self, work, name, program):
        """Whether there is no such program, or no time; the row then says so."""
        if time.monotonic() > self.deadline:
            self.skip(work, name, "no time was left")
        elif not os.path.isabs(program) and not shutil.which(program):
            self.skip(work, name, f"{program} is not installed")
        else:
            return False
        return True

    def has_begun(self, tool, watched, kind, n, dear):
        """Whether the tool is there: events cost more than dear then. False: it has ended, or never begins."""
        times, deadline = 0, time.monotonic() + BEGINS_S
        while not tool.has_ended() and times < TURNS and time.monotonic() < deadline:
            times = times + 1 if watched.turn(kind, n) > dear else 0
            tool.reads()
        return not tool.has_ended() and times == TURNS

    def costs(self, kind, n, argv, other=False):
        """(nanoseconds of an event without the tool, with it, events, what it wrote); None: it does not begin. other: of a
        program that is not looked at."""
        with Work(self.build) as work, Work(self.build) as beside:
            watched = beside if other else work
            before = min(work.turn(kind, n) for _ in range(self.rounds))
            tool = Tool(argv(watched))
            # malloc and a function of three instructions cost so little that noise is a multiple.
            if not self.has_begun(tool, watched, kind, n, before + 200 if before < 1000 else 1.3 * before):
                tool.end()
                return None
            rounds, after = self.rounds // SLOW if argv(watched)[0] == "strace" else self.rounds, []
            pause = max(BURST // (n * EACH.get(kind, 1)), 1)  # turns
            for i in range(rounds):
                after.append(work.turn(kind, n))
                if i % pause == pause - 1:
                    tool.reads()
            tool.reads()
            _, said = tool.end()
            before = min([before] + [work.turn(kind, n) for _ in range(self.rounds)])
            return before, min(after), 0 if other else rounds * n, said

    def measure(self, work, name, kind, n, argv, bar=None, ratio=False, other=False, exact=None):
        """exact: says of what snapwalk wrote how many events were seen. Returns what it wrote."""
        program = argv(Nobody)[0]
        if self.cannot(work, name, program):
            return None
        got = self.costs(kind, n, argv, other)
        if got is None:
            if os.path.isabs(program):
                self.judge(work, name, "", "to begin", False)
            else:
                self.skip(work, name, "it does not begin")
            return None
        before, after, events, said = got
        reached = after / before if ratio else (after - before) / 1000
        text = f"× {reached:.2f}" if ratio else f"{reached:.3f} µs"
        asked = "" if bar is None else f"≤ × {bar:g}" if ratio else f"≤ {bar:g} µs"
        why = ""
        if said and said["lost"] > 0:
            why = f" ({said['lost']} events lost)"
        elif said and exact and exact(said) < events:
            why = f" ({exact(said)} of {events} events)"
        self.reached[work, name] = reached
        if program == "perf":
            self.perf_lost(work, name, text, events)
        else:
            self.judge(work, name, text, asked, (bar is None or reached <= bar) and not why, why)
        return said

    def perf_lost(self, work, name, text, events):
        """A row of perf. perf's own output does not say that it had no room for events."""
        said = subprocess.run(["perf", "report", "--stats", "-i", self.scratch], capture_output=True, text=True).stdout
        counts = dict(line.split("events:")[0:2] for line in said.splitlines() if "events:" in line)
        samples = next((int(n.split()[0]) for kind, n in counts.items() if kind.split() == ["SAMPLE"]), 0)
        self.row(work, name, text, f"{events - samples} of {events} events lost" if samples < events else "")

    def beside(self, work, name, peer, bar):
        """The bar in terms of this machine: as much of the peer's cost as was asked of another machine."""
        if (work, name) in self.reached and (work, peer) in self.reached:
            ratio = self.reached[work, name] / self.reached[work, peer]
            self.judge(work, f"{name}, of {peer}", f"× {ratio:.2f}", f"≤ × {bar:.2f}", ratio <= bar)

    def on(self, event, *args):
        return lambda work: [self.snapwalk, "on", event, str(work.pid), "--stack-bytes", "4096", "--json", *args]

    def leaks(self, of, *args):
        return lambda work: [self.snapwalk, "leaks", str(work.pid), "--of", of, "-d", "3600", "--json", *args]

    def perf(self, event):
        return lambda work: [*PERF, "-o", self.scratch, "-e", event, "-p", str(work.pid)]

    @staticmethod
    def strace(calls):
        return lambda work: ["strace", "-k", "-o", "/dev/null", "-e", calls, "-p", str(work.pid)]

    def calls(self):
        name, n = "system call with a stack of 4 KiB", 250
        self.measure(name, "snapwalk on", "call", n, self.on("syscall:getppid"), 0.8, exact=lambda said: said["events"])
        self.measure(name, "perf, dwarf", "call", n, self.perf("syscalls:sys_exit_getppid"))
        self.measure(name, "bpftrace, ustack", "call", n, lambda work: [
            "bpftrace", "-e", f"tracepoint:syscalls:sys_exit_getppid /pid == {work.pid}/ {{ @[ustack] = count(); }}"])
        self.measure(name, "strace -k", "call", 5, self.strace("getppid"))
        self.beside(name, "snapwalk on", "perf, dwarf", 0.8 / 1.15)

    def functions(self):
        name, n = "function with a stack of 4 KiB", 250
        said = self.measure(name, "snapwalk on", "function", n, self.on("func:event_function", "-d", "3600"), 1.3,
                            exact=lambda said: said["events"])
        self.perf_function(name, n, said["places"][0]["file_offset"] if said else None)
        self.measure(name, "bpftrace, ustack", "function", n, lambda work: [
            "bpftrace", "-p", str(work.pid), "-e", f"uprobe:{work.path}:event_function {{ @[ustack] = count(); }}"])
        self.beside(name, "snapwalk on", "perf, dwarf", 1.3 / 1.65)

    def perf_function(self, name, n, offset):
        """perf knows a function by a line in a table of the machine; no breakpoint is placed by that."""
        tool, event = "perf, dwarf", f"snapwalk_bench/event_{os.getpid()}"
        if self.cannot(name, tool, "perf"):
            return
        path = os.path.join(self.build, "tests", "targets", "events_work")
        if offset is None or not os.access(TABLE, os.W_OK):
            self.skip(name, tool, "its place is not known" if offset is None else f"no {TABLE} to write")
            return
        try:
            table_line(f"p:{event} {path}:{offset:#x}")
        except OSError as e:
            self.skip(name, tool, f"{TABLE}: {e.strerror}")
            return
        try:
            self.measure(name, tool, "function", n, self.perf(event.replace("/", ":")))
        finally:
            table_line(f"-:{event}")

    def descriptors(self):
        name, n, each = "13 descriptors a round", 15, 13
        self.measure(name, "snapwalk leaks --of fds", "descriptors", n, self.leaks("fds"), 1.8, ratio=True,
                     exact=lambda said: said["acquired"] // each if said["checked"] and said["outstanding"] == 0 else 0)
        self.measure(name, "strace -k", "descriptors", 1, self.strace("desc"), ratio=True)

    def malloc(self):
        name, n = "malloc and free", 50
        pairs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli", "leaks.d", "malloc.conf")
        self.measure(name, "snapwalk leaks --of malloc", "malloc", n, self.leaks(pairs), 2.4,
                     exact=lambda said: said["acquired"] if said["outstanding"] == 0 else 0)
        self.measure(name, "bpftrace, as memleak", "malloc", n, lambda work: ["bpftrace", "-p", str(work.pid), "-e", """
            uprobe:LIBC:malloc { @size[tid] = arg0; }
            uretprobe:LIBC:malloc /@size[tid]/ { @blocks[retval] = ustack; delete(@size[tid]); }
            uprobe:LIBC:free { delete(@blocks[arg0]); }""".replace("LIBC", work.libc() if work.pid else "")])
        self.restarted(name, "heaptrack, a restart", "env", f"LD_PRELOAD={HEAPTRACK}",
                       "DUMP_HEAPTRACK_OUTPUT=" + os.path.join(self.folder.name, "heaptrack"))
        self.restarted(name, "valgrind, a restart", "valgrind", "-q", "--leak-check=no")
        self.beside(name, "snapwalk leaks --of malloc", "bpftrace, as memleak", 2.4 / 23.8)

    def restarted(self, name, tool, *prefix):
        if self.cannot(name, tool, prefix[0]):
            return
        if HEAPTRACK in prefix[1] and not os.path.exists(HEAPTRACK):
            self.skip(name, tool, f"there is no {HEAPTRACK}")
            return
        best = []
        for argv in ((), prefix):
            with Work(self.build, *argv) as work:
                best.append(min(work.turn("malloc", 1000) for _ in range(self.rounds)))
        self.row(name, tool, f"{(best[1] - best[0]) / 1000:.3f} µs", "")

    def predicted(self):
        """The cost that leaks --of memory predicts, against what the program then has."""
        name, tool, asked = "the cost that is predicted for malloc", "snapwalk leaks --of memory", "within × 1.3"
        if self.cannot(name, tool, self.snapwalk):
            return
        turns, enough = [], threading.Event()  # a turn: begin, end, CPU time

        def go_on(work):
            while not enough.is_set():
                begin, cost_ns = time.time_ns(), work.turn("mixed", 100)
                turns.append((begin, time.time_ns(), cost_ns))

        with Work(self.build) as work:
            thread = threading.Thread(target=go_on, args=(work,))
            thread.start()
            try:
                time.sleep(1)
                begin = time.time_ns()
                out = subprocess.run([self.snapwalk, "leaks", str(work.pid), "--of", "memory", "--max-overhead", "10000",
                                      "-d", "3", "--json"], capture_output=True, text=True).stdout
                said = json.loads(out or "{}")
            finally:
                enough.set()
                thread.join()
        if not said.get("followed"):
            self.judge(name, tool, "not followed", asked, False)
            return
        followed = range(said["begin_ns"], said["begin_ns"] + said["duration_ms"] * 1000000)
        before = [cost for _, end, cost in turns if end < begin]
        after = [cost for first, end, cost in turns if first in followed and end in followed]
        if not before or not after:
            self.skip(name, tool, "the program had no CPU")
            return
        # The command measures what the process and its calls take beside all else that runs now: so medians, not the best.
        real = statistics.median(after) / statistics.median(before) - 1
        wanted = said["budget"]["predicted_cpus"] / said["budget"]["cpus"]
        self.judge(name, tool, f"{100 * wanted:.0f} % said, {100 * real:.0f} % found", asked, real / 1.3 <= wanted <= real * 1.3)

    def others(self):
        name, tool = "another process: a system call", "snapwalk on"
        self.measure(name, tool, "call", 250, self.on("syscall:getppid"), 0.015, other=True)
        self.measure(name, "perf, dwarf", "call", 250, self.perf("syscalls:sys_exit_getppid"), other=True)
        self.measure("another process: the function", tool, "function", 250, self.on("func:event_function", "-d", "3600"),
                     0.005, other=True)

    def reading(self):
        """CPU time of snapwalk for an event, and what that is in a second of one CPU; nothing is lost."""
        for stacks in (20, 2000):
            name, tool_name, asked = f"reading, {stacks} different stacks", "snapwalk on", "≥ 250,000 a second, none lost"
            if self.cannot(name, tool_name, self.snapwalk):
                continue
            costs, events, lost = [], [], 0
            with Work(self.build) as work:
                # The first: to begin, and to name each stack once.
                for seconds, least in ((0, STACK_TURN * stacks), (self.seconds, max(60000, 4 * STACK_TURN * stacks))):
                    tool = Tool(self.on("syscall:getppid")(work))
                    if not self.has_begun(tool, work, "call", 64, 400):
                        tool.end()
                        break
                    done, end = 0, time.monotonic() + seconds
                    while done < least or time.monotonic() < end:
                        work.turn("call", BURST, stacks)
                        done += BURST
                        tool.reads()
                    cost, said = tool.end()
                    costs.append(cost)
                    events.append(said["events"])
                    lost += said["lost"]
            if len(costs) < 2:
                self.judge(name, tool_name, "", "to begin", False)
                continue
            cost_s = max((costs[1] - costs[0]) / (events[1] - events[0]), 1e-9)
            self.judge(name, tool_name, f"{cost_s * 1e6:.2f} µs, {1 / cost_s:,.0f} a second; {events[1]:,} read",
                       asked, 1 / cost_s >= 250000 and lost == 0, f" ({lost} lost)" if lost else "")


def table_line(line):
    """Without O_APPEND the kernel would empty the table; open() in that mode seeks, which it refuses."""
    fd = os.open(TABLE, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, line.encode() + b"\n")
    finally:
        os.close(fd)


class Nobody:
    pid, path = 0, ""


def machine():
    said = []
    for argv in (["perf", "--version"], ["bpftrace", "--version"], ["strace", "--version"], ["heaptrack", "--version"],
                 ["valgrind", "--version"]):
        if shutil.which(argv[0]):
            said.append(subprocess.run(argv, capture_output=True, text=True).stdout.splitlines()[0].split(" -- ")[-1])
    return f"{os.cpu_count()} CPUs, Linux {os.uname().release}, load {os.getloadavg()[0]:.1f}; {', '.join(said)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=60, help="turns, of which the best one counts")
    parser.add_argument("--seconds", type=int, default=5, help="how long events are read at least, for each number of stacks")
    parser.add_argument("--limit", type=int, default=150, help="seconds after which no row is begun")
    parser.add_argument("--only", default="calls,functions,others,reading,predicted,descriptors,malloc",
                        help="parts, separated by commas")
    args = parser.parse_args()
    bench = Bench(os.path.abspath(args.build), args.rounds, args.seconds, args.limit)
    print(f"{machine()}\n\n| work | tool | for each event | asked |\n|---|---|---|---|", flush=True)
    for part in args.only.split(","):
        getattr(bench, part)()
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
