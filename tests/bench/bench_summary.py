# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of ten rows at most: what matters to users, next to what it is compared with, by a quiet and a loaded run."""
import contextlib
import os
import statistics
import subprocess

import bench_daemon
import bench_programs as programs
from bench_measure import compare, cpu_model

NAMES, LINES = "snapwalk --json, names", "snapwalk --json"
PROCESSES, THREADS_EACH, FRAMES = 300, 8, 10
LOOPS = 8  # for each CPU
LOADED_RUNS = 60
HEADER = ("work", "snapwalk", "compared with", "ratio")


@contextlib.contextmanager
def busy_loops():
    """Run so many processes that a CPU has LOOPS to run besides what is measured."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
             for _ in range(LOOPS * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


class Summary:
    def __init__(self, bench):
        self.bench, self.tools, self.rows = bench, bench.tools, []
        self.load = os.getloadavg()[0]

    def row(self, work, ours, other, name, unit="ms"):
        self.rows.append((work, f"{ours:.1f} {unit}", f"{name}: {other:.1f} {unit}", f"{ours / other:.2f}"))

    def threads(self, n):
        return programs.workload(self.bench.build, n, 30)

    def one(self):
        with self.threads(1) as program:
            program.settle()
            results = compare(self.tools, program.pid, [NAMES, LINES, "eu-stack"], 2 * self.bench.runs)
        self.row("1 thread, names", results.wall(NAMES), results.wall("eu-stack"), "eu-stack")
        self.row("1 thread, lines", results.wall(LINES), results.wall("eu-stack"), "eu-stack")

    def hundred(self):
        """Beside busy loops, too: then percentiles of more runs."""
        with self.threads(100) as program:
            program.settle()
            quiet = compare(self.tools, program.pid, [NAMES, "eu-stack"], self.bench.runs)
            with busy_loops():
                loaded = [self.tools.run(NAMES, program.pid)["wall_ms"] for _ in range(LOADED_RUNS)]
        wall = quiet.wall(NAMES)
        self.row("100 threads, names", wall, quiet.wall("eu-stack"), "eu-stack")
        self.row(f"the same beside {LOOPS} busy loops per CPU, p99 {bench_daemon.percentile(loaded, 0.99):.1f} ms",
                 statistics.median(loaded), wall, "without them")

    def thousand(self):
        with self.threads(1000) as program:
            program.settle()
            results = compare(self.tools, program.pid, [NAMES, "floor"], self.bench.runs)
        self.row("1,000 threads, names", results.wall(NAMES), results.wall("floor"), "a stop alone")

    def real(self):
        for name in ("java", "node", "python3"):
            missing = programs.installed(name)
            if missing:
                self.bench.say(f"{name}: left out, {missing} is not installed")
                continue
            with programs.start(name, self.bench.build) as program:
                program.settle()
                results = compare(self.tools, program.pid, [NAMES, "eu-stack"], self.bench.runs)
                threads = len(programs.thread_ids(program.pid))
            self.row(f"{name}, {threads} threads, names", results.wall(NAMES), results.wall("eu-stack"), "eu-stack")

    def many(self):
        """All in one run; compared with one run for each, in turn."""
        with contextlib.ExitStack() as stack:
            pids = [stack.enter_context(programs.workload(self.bench.build, THREADS_EACH, FRAMES)).pid
                    for _ in range(PROCESSES)]
            together = [self.tools.run(NAMES, *pids)["wall_ms"] for _ in range(self.bench.runs)]
            each = sum(self.tools.run(NAMES, pid)["wall_ms"] for pid in pids)
        self.row(f"{PROCESSES} processes of {THREADS_EACH} threads, names", statistics.median(together), each,
                 "a run for each")

    def daemon(self):
        median, wall, _ = bench_daemon.measure(self.bench, NAMES)
        self.row("100 threads, names, over the socket", median, wall, "the command")

    def text(self, table):
        model = cpu_model()
        return (f"{len(os.sched_getaffinity(0))} × {model}, Linux {os.uname().release}, load {self.load:.1f} before "
                f"the run; medians of {self.bench.runs} runs or more.\n\n" + table(HEADER, self.rows))


def run(bench):
    summary = Summary(bench)
    for part in (summary.one, summary.hundred, summary.thousand, summary.real, summary.many, summary.daemon):
        bench.say(f"summary: {part.__name__}")
        part()
    return summary
