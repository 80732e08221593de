#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The benchmark: snapwalk next to eu-stack, gdb and the floor program, in one run.

Tools take turns, answers are medians. Each bar says what must be reached; ratios count more than
milliseconds, because they hold on other machines. Exit status 1 when a bar is missed.
"""
import argparse
import contextlib
import os
import shutil
import sys

import bench_daemon
import bench_programs as programs
import bench_summary
from bench_measure import Results, Tools, compare, cpu_model, different_walks, frames_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from marked import put_marked  # noqa: E402

NAMES, LINES, TEXT = "snapwalk --json, names", "snapwalk --json", "snapwalk"
ALWAYS = "--stop always"  # with names
PEERS = [tool for tool in ("eu-stack", "eu-stack -q", "gdb") if shutil.which(tool.split()[0])]
BUSY = 100  # threads
MANY, MANY_RUNS = 10000, 3  # threads


class Bench:
    def __init__(self, build, runs, quiet):
        self.build, self.runs, self.quiet = build, runs, quiet
        self.tools = Tools(build)
        self.bars = []      # (work, reached, bar, met)
        self.commands = []  # (work, results)
        self.stops = []     # (threads, results)
        self.doublings = []  # (work, [(size, results)])

    def say(self, text):
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def bar(self, work, reached, bar, unit, at_least=False, note=""):
        met = reached >= bar if at_least else reached <= bar
        sign = "≥" if at_least else "≤"
        self.bars.append((work, f"{reached:.3g}{unit}", f"{sign} {bar:.3g}{unit}{note}", met))

    # ---- the synthetic workload --------------------------------------------------------------

    def run_workloads(self):
        for threads in (1, 10, 100, 1000):
            self.say(f"{threads} threads")
            runs = self.runs if threads >= 100 else 2 * self.runs
            with programs.workload(self.build, threads, 30) as program:
                program.settle()
                results = compare(self.tools, program.pid,
                                  [TEXT, LINES, NAMES, ALWAYS, "floor", *PEERS], runs)
            self.commands.append((f"{threads} threads", results))
            self.stops.append((threads, results))
            if threads >= 100:
                self.judge_workload(threads, results)

    def judge_workload(self, threads, results):
        names, floor = results.wall(NAMES), results.wall("floor")
        self.bar(f"stopped, {threads} threads", results.most(NAMES, "stopped_us"), 0, " µs")
        if threads == 1000:
            self.bar(f"stopped, {threads} threads, {ALWAYS}",
                     results.pause_us(ALWAYS) / results.pause_us("floor"), 1.15, " × floor's pause")
            self.bar(f"{threads} threads with names", names / floor, 0.5, " × floor",
                     note=f" ({names:.1f} ms, floor {floor:.1f})")
            self.bar(f"{threads} threads with lines", results.wall(LINES) / names, 1.3, " × names",
                     note=f" ({results.wall(LINES):.1f} ms)")
            self.bar("memory, 1000 threads", results.rss(LINES), 48, " MB")
        else:
            self.bar("100 threads with names", names, 12, " ms")
            self.bar("100 threads with lines", results.wall(LINES), 100, " ms")
        if "eu-stack" in results:
            self.bar(f"faster than eu-stack, {threads} threads", results.wall("eu-stack") / names,
                     30 if threads == 1000 else 5, " ×", at_least=True)

    def run_busy(self):
        self.say(f"{BUSY} busy threads")
        with programs.busy(self.build, BUSY) as program:
            results = compare(self.tools, program.pid, [NAMES], self.runs)
        self.bar(f"stopped of {BUSY} busy threads", results.most(NAMES, "n_stopped"),
                 len(os.sched_getaffinity(0)), "", note=", the number of CPUs")

    def run_many(self):
        """Within the defaults: a run that leaves something out does not count."""
        self.say(f"{MANY} threads")
        few, many = Results(), Results()
        with programs.workload(self.build, MANY // 10, 30) as one, \
                programs.workload(self.build, MANY, 30) as ten:
            for program in (one, ten):
                program.settle()
                self.tools.run(NAMES, program.pid)
            for _ in range(MANY_RUNS):
                few.add(NAMES, self.tools.run(NAMES, one.pid))
                many.add(NAMES, self.tools.run(NAMES, ten.pid))
        self.bar(f"{MANY} threads with names", many.wall(NAMES) / few.wall(NAMES), 10,
                 f" × {MANY // 10}", note=f" ({many.wall(NAMES):.0f} ms)")
        self.bar(f"stopped, {MANY} threads", many.most(NAMES, "stopped_us"), 0, " µs")

    # ---- doubling ----------------------------------------------------------------------------

    def run_doubling(self, work, sizes):
        """sizes: [(label, threads, frames)]. All are there at once: they take turns, too."""
        self.say(f"doubling {work}")
        rows = [(label, Results()) for label, _, _ in sizes]
        with contextlib.ExitStack() as stack:
            started = [stack.enter_context(programs.workload(self.build, threads, frames)).settle()
                       for _, threads, frames in sizes]
            for _ in range(self.runs):
                for program, (_, results) in zip(started, rows):
                    for tool in (NAMES, "floor"):
                        results.add(tool, self.tools.run(tool, program.pid))
        self.doublings.append((work, rows))
        # Where the kernel's own part more than doubles (caches), it shows in the floor program.
        steps = [(self.cost(after, NAMES) / self.cost(before, NAMES),
                  self.cost(after, "floor") / self.cost(before, "floor"))
                 for (_, before), (_, after) in zip(rows, rows[1:])]
        worst, floor = max(steps, key=lambda step: step[0] - max(2.0, step[1]))
        self.bar(f"twice the {work}", worst, max(2.0, floor), " × the CPU time",
                 note=f" (floor: {floor:.2f} ×)")

    @staticmethod
    def cost(results, tool):
        """How cost grows is seen best in the runs that were disturbed least."""
        return min(cost["cpu_ms"] for cost in results.costs[tool])

    # ---- real programs -----------------------------------------------------------------------

    def run_real(self):
        for name in programs.REAL:
            missing = programs.installed(name)
            if missing:
                self.say(f"{name}: left out, {missing} is not installed")
                continue
            self.say(name)
            with programs.start(name, self.build) as program:
                program.settle()
                results = compare(self.tools, program.pid,
                                  [TEXT, LINES, NAMES, ALWAYS, "floor", *PEERS], self.runs)
                different = different_walks(self.tools, program.pid)
            report = results.last(NAMES)["report"]
            frames, complete, threads = frames_of(report)
            self.say(f"  {threads} threads, {frames} frames, {complete} complete")
            self.commands.append((f"{name}, {threads} threads", results))
            self.bar(f"{name} with names", results.wall(NAMES), 30, " ms")
            self.bar(f"{name} with lines", results.wall(LINES), 100, " ms")
            self.bar(f"{name}, stopped", results.pause_us(NAMES) / results.pause_us(ALWAYS), 0.2,
                     f" × {ALWAYS}", note=f" ({results.pause_us(NAMES):.0f} µs)")
            self.bar(f"{name}, walks unlike {ALWAYS}", different, 0, "")
            if name == "chromium":
                self.bar("memory, chromium", results.rss(LINES), 64, " MB")

    # ---- output ------------------------------------------------------------------------------

    def tables(self):
        yield (f"{os.cpu_count()} × {cpu_model()}, Linux {os.uname().release}, load "
               f"{os.getloadavg()[0]:.1f}; medians of {self.runs} runs, tools in turn; "
               f"{self.tools.repeated} incomplete dumps repeated.")
        yield table(("work", "reached", "bar", ""),
                    [(work, reached, bar, "PASS" if met else "MISS")
                     for work, reached, bar, met in self.bars])
        tools = [TEXT, LINES, NAMES, ALWAYS, "floor", *PEERS]
        if self.commands:
            yield "Whole command: wall clock ms (CPU ms, peak MB)."
            yield table(("work", *tools),
                        [(work, *(f"{r.wall(t):.1f} ({r.cpu(t):.1f}, {r.rss(t):.0f})"
                                  for t in tools)) for work, r in self.commands])
            yield "Where the time of snapwalk --json with names goes, µs."
            steps = ("attach_us", "stopped_us", "copy_us", "unwind_us", "symbolize_us", "total_us")
            yield table(("work", *(s[:-3] for s in steps)),
                        [(work, *(f"{r.timing_us(NAMES, s):.0f}" for s in steps))
                         for work, r in self.commands])
        if self.stops:
            yield "Time stopped, µs."
            yield table(("threads", "snapwalk", ALWAYS, "floor", f"{ALWAYS} / floor"),
                        [(n, *(f"{r.pause_us(tool):.0f}" for tool in (NAMES, ALWAYS, "floor")),
                          f"{r.pause_us(ALWAYS) / r.pause_us('floor'):.2f}") for n, r in self.stops])
        for work, rows in self.doublings:
            yield f"Twice the {work}: snapwalk --json with names."
            yield table(("size", "wall ms", "CPU ms (least)", "floor's", "peak MB", "stopped µs"),
                        [(label, f"{r.wall(NAMES):.1f}",
                          f"{r.cpu(NAMES):.1f} ({self.cost(r, NAMES):.1f})",
                          f"{r.cpu('floor'):.1f} ({self.cost(r, 'floor'):.1f})",
                          f"{r.rss(NAMES):.1f}", f"{r.pause_us(NAMES):.0f}") for label, r in rows])


def table(header, rows):
    cells = [[str(c) for c in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", default="summary,workloads,limits,doubling,real,daemon",
                        help="parts, separated by commas: summary, workloads, limits, doubling, real, daemon")
    parser.add_argument("--into", metavar="PAGE",
                        help="put the tables between the marks of this page, docs/performance.md")
    args = parser.parse_args()
    parts = args.only.split(",")
    bench = Bench(os.path.abspath(args.build), args.runs, args.into)
    summary = bench_summary.run(bench).text(table) if "summary" in parts else None
    if "workloads" in parts:
        bench.run_workloads()
    if "limits" in parts:
        bench.run_busy()
        bench.run_many()
    if "doubling" in parts:
        bench.run_doubling("threads",
                           [(f"{n} threads", n, 30) for n in (125, 250, 500, 1000, 2000)])
        bench.run_doubling("frames",
                           [(f"{n} frames", 200, n) for n in (15, 30, 60, 120, 240)])
    if "real" in parts:
        bench.run_real()
    if "daemon" in parts:
        bench_daemon.run(bench, NAMES)
    text = "\n\n".join(bench.tables()) if set(parts) != {"summary"} else None
    for name, made in (("summary", summary), ("bench", text)):
        if made is not None and args.into:
            put_marked(args.into, name, made)
        elif made is not None:
            print(made, end="\n\n")
    return 1 if not all(met for *_, met in bench.bars) else 0


if __name__ == "__main__":
    sys.exit(main())
