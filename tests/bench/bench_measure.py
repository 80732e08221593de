# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the tools against a process, in turn, and keeps medians."""
import json
import os
import signal
import statistics
import subprocess
import tempfile

GDB = ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex",
       "set pagination off", "-ex", "thread apply all bt", "-p"]


def cpu_model():
    with open("/proc/cpuinfo") as info:
        return next((line.partition(":")[2].strip() for line in info if line.startswith("model name")),
                    "unknown CPU")


class Tools:
    """The commands that are compared; each gets the pid as its last word."""

    def __init__(self, build):
        targets = os.path.join(build, "tests", "targets")
        snapwalk = os.path.join(build, "bin", "snapwalk")
        self.measure = os.path.join(targets, "measure")
        self.commands = {
            "snapwalk": [snapwalk, "dump"],
            "snapwalk --json": [snapwalk, "dump", "--json"],
            "snapwalk --json, names": [snapwalk, "dump", "--json", "--symbols", "names"],
            "--stop always": [snapwalk, "dump", "--json", "--symbols", "names", "--stop", "always"],
            "floor": [os.path.join(targets, "floor")],
            "eu-stack": ["eu-stack", "-p"],
            "eu-stack -q": ["eu-stack", "-q", "-p"],
            "gdb": GDB,
        }
        self.output = tempfile.NamedTemporaryFile(prefix="snapwalk-bench-")
        self.repeated = 0  # dumps that were not complete

    def run(self, tool, *pids, tries=5):
        """A complete run. On a machine that has other things to do a stop may reach its time
        limit: such a dump is cheaper than a whole one and must not count."""
        for _ in range(tries):
            cost = self.run_once(tool, *pids)
            if cost["status"] == 0 or not tool.startswith(("snapwalk", "--stop")):
                return cost
            self.repeated += 1
        raise RuntimeError(f"{tool} {pids}: status {cost['status']}, {tries} times")

    def run_once(self, tool, *pids):
        """Returns the cost of one run, with its output for one process when that is JSON."""
        done = subprocess.run([self.measure, self.output.name, *self.commands[tool], *map(str, pids)],
                              capture_output=True, text=True, check=True)
        wall, cpu, rss, status = map(int, done.stdout.split())
        cost = {"wall_ms": wall / 1e3, "cpu_ms": cpu / 1e3, "rss_mb": rss / 1024,
                "status": os.waitstatus_to_exitcode(status)}
        if cost["status"] == 0 and len(pids) == 1 and (tool == "floor" or "--json" in self.commands[tool]):
            with open(self.output.name) as output:
                cost["report"] = json.load(output)
        return cost


class Results:
    """Costs by tool; every answer is a median."""

    def __init__(self):
        self.costs = {}

    def add(self, tool, cost):
        self.costs.setdefault(tool, []).append(cost)

    def __contains__(self, tool):
        return tool in self.costs

    def median(self, tool, what):
        return statistics.median(what(c) if callable(what) else c[what] for c in self.costs[tool])

    def wall(self, tool):
        return self.median(tool, "wall_ms")

    def cpu(self, tool):
        return self.median(tool, "cpu_ms")

    def rss(self, tool):
        return self.median(tool, "rss_mb")

    def pause_us(self, tool):
        if tool == "floor":
            return self.median(tool, lambda c: c["report"]["pause_us"])
        return self.median(tool, lambda c: c["report"]["timings"]["stopped_us"])

    def timing_us(self, tool, name):
        return self.median(tool, lambda c: c["report"]["timings"][name])

    def most(self, tool, name):
        """The largest of any run, of timings."""
        return max(c["report"]["timings"][name] for c in self.costs[tool])

    def last(self, tool):
        return self.costs[tool][-1]


def compare(tools, pid, names, runs, slow_runs=3):
    """All tools in turn, again and again, so that what disturbs the machine meets all of them.
    gdb takes seconds: it gets fewer turns."""
    results = Results()
    for name in names:
        tools.run(name, pid)  # the first reads the files from the disk
    for turn in range(runs):
        for name in names:
            if name != "gdb" or turn < slow_runs:
                results.add(name, tools.run(name, pid))
    return results


def frames_of(report):
    """(frames without inlined ones, threads whose walk is complete, threads)."""
    complete = frames = 0
    for thread in report["threads"]:
        if thread["stack"] is None:
            continue
        stack = report["stacks"][thread["stack"]]
        frames += sum(not f["inlined"] for f in stack["frames"])
        complete += stack["end"] == "complete"
    return frames, complete, len(report["threads"])


def different_walks(tools, pid):
    """How many walks of a process that stands still are other ones by --stop always."""
    def walks(tool):
        report = tools.run(tool, pid)["report"]
        stacks = [(s["end"], [(f["pc"], f["function"], f["by"], f["trust"]) for f in s["frames"]])
                  for s in report["stacks"]]
        return {t["tid"]: None if t["stack"] is None else stacks[t["stack"]]
                for t in report["threads"]}
    os.kill(pid, signal.SIGSTOP)
    try:
        by_iterator, by_stop = walks("snapwalk --json, names"), walks("--stop always")
    finally:
        os.kill(pid, signal.SIGCONT)
    return sum(by_iterator.get(tid) != by_stop.get(tid) for tid in {*by_iterator, *by_stop})
