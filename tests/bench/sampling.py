#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cost of sampling and how right it is: a program whose threads say what they do and count their work.

It is sampled and not sampled in turn, and of each pair the work done is compared; answers are medians of pairs. What
the machine does beside it is the same in both on the average. Of the fall there are two figures: by the work in a
second, which all else that runs disturbs; and by the work in a second of CPU time of the program plus the CPU time of
snapwalk, which is that of a machine with nothing else to do, and which is judged where the first is too uncertain.

Exit status 1 when a bar is missed.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

NAMES = ("wait_long", "wait_short", "work_three", "work_one", "work")


class Program:
    def __init__(self, build, blocked, busy):
        self.process = subprocess.Popen([os.path.join(build, "tests", "targets", "shares"), str(blocked), str(busy)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        while self.process.stdout.readline() != "ready\n":
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def count(self):
        """Returns the counts of the program, the time, and its CPU time."""
        self.process.stdin.write("count\n")
        self.process.stdin.flush()
        said = dict(self.process.stdout.readline().split() for _ in NAMES)
        now = {name: int(n) for name, n in said.items()}
        now["cpu"], now["time"] = cpu_s(self.pid), time.monotonic()
        return now


def cpu_s(pid):
    """Returns the CPU time of all threads; a thread that ends is not of these programs."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def difference(before, after):
    return {name: after[name] - before[name] for name in after}


def share(of, other):
    return 100 * of / (of + other) if of + other else 0


class Sampling:
    """snapwalk beside it, from when it has begun."""
    def __init__(self, build, pid, *args):
        self.process = subprocess.Popen(
            [os.path.join(build, "bin", "snapwalk"), "sample", str(pid), *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)

    def cpu(self):
        return cpu_s(self.process.pid)

    def end(self):
        out, err = self.process.communicate(timeout=600)
        return out, err


def measure(program, seconds):
    before = program.count()
    time.sleep(seconds)
    return difference(before, program.count())


def throughput(options):
    """(falls of work in a second, falls by CPU time), in per cent, a pair each."""
    by_time, by_cpu = [], []
    with Program(options.build, 4, 8) as program:
        measure(program, 1)
        for i in range(options.pairs):
            results = {}
            for sampled in ((True, False), (False, True))[i % 2]:
                if not sampled:
                    results[sampled] = measure(program, options.seconds)
                    continue
                # The sampling ends after the measurement: its last second is not in it.
                sampling = Sampling(options.build, program.pid, "--mode", "cpu", "--rate", 99, "--format", "folded",
                                    "--duration", options.seconds + 3)
                used = sampling.cpu()
                results[sampled] = measure(program, options.seconds)
                used = sampling.cpu() - used
                sampling.end()
            with_it, without = results[True], results[False]
            by_time.append(100 * (1 - with_it["work"] / with_it["time"] / (without["work"] / without["time"])))
            slower = 100 * (1 - with_it["work"] / with_it["cpu"] / (without["work"] / without["cpu"]))
            by_cpu.append(slower + 100 * used / with_it["time"] / os.cpu_count())
            print(f"# pair {i + 1}: {by_time[-1]:+.2f} %, by CPU time {by_cpu[-1]:+.2f} %", file=sys.stderr, flush=True)
    return by_time, by_cpu


def has(profile):
    """Returns the set of functions of each sample."""
    sets = []
    for parent, frame in profile["nodes"]:
        sets.append((sets[parent] if parent is not None else frozenset()) | {profile["frames"][frame]["function"]})
    return [(s, sets[s["node"]] if s["node"] is not None else frozenset()) for s in profile["samples"]]


def profile_of(options, program, *args):
    """(profile, what was said, truth, CPU time of snapwalk per cent of one CPU)"""
    before, used = program.count(), os.times()
    out = subprocess.run([os.path.join(options.build, "bin", "snapwalk"), "sample", str(program.pid), "--rate", "99",
                          "--duration", str(options.duration), "--format", "json", *args], capture_output=True, text=True)
    after = os.times()
    truth = difference(before, program.count())
    cpu = after.children_user + after.children_system - used.children_user - used.children_system
    return json.loads(out.stdout), out.stderr, truth, 100 * cpu / (after.elapsed - used.elapsed)


def off_by(profile, truth, one, other, states):
    found = {name: sum(s["count"] for s, names in has(profile) if name in names and s["state"] in states)
             for name in (one, other)}
    return abs(share(found[one], found[other]) - share(truth[one], truth[other]))


class Bars:
    def __init__(self):
        self.rows, self.met = [], True

    def add(self, work, reached, bar, unit="", at_least=False):
        met = reached >= bar if at_least else reached <= bar
        self.met &= met
        self.rows.append(f"| {work} | {reached:.2f}{unit} | {'≥' if at_least else '≤'} {bar:g}{unit} | "
                         f"{'yes' if met else 'no'} |")

    def show(self):
        print("| work | reached | bar | met |\n|---|---|---|---|")
        print("\n".join(self.rows))


def uncertainty(values):
    """Returns the uncertainty of a median, about one standard error."""
    return 1.25 * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("inf")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=5, help="of each half of a pair")
    parser.add_argument("--duration", type=int, default=30, help="of the profiles")
    options = parser.parse_args()
    bars = Bars()
    by_time, by_cpu = throughput(options)
    for values, name in ((by_time, "work in a second"), (by_cpu, "by CPU time")):
        print(f"# fall, {name}: {statistics.median(values):+.2f} % ± {uncertainty(values):.2f}", file=sys.stderr)
    certain = uncertainty(by_time) < 0.2
    bars.add("cpu, 8 busy threads, 99 Hz: throughput falls by" + ("" if certain else ", by CPU time"),
             statistics.median(by_time if certain else by_cpu), 0.5, " %")
    with Program(options.build, 4, 8) as program:
        profile, said, truth, used = profile_of(options, program, "--mode", "cpu")
        bars.add("the same: ptrace stops", 0 if "nothing was stopped" in said else 1, 0)
        bars.add("the same: shares off by, points", off_by(profile, truth, "work_three", "work_one", ("on_cpu",)), 2)
        bars.add("the same: of one CPU", used, 5, " %")
    with Program(options.build, 992, 8) as program:
        profile, said, truth, used = profile_of(options, program)
        got, wanted = map(int, re.search(r"^(\d+) of (\d+) samples", said, re.M).groups())
        on_cpu = sum(s["count"] for s, _ in has(profile) if s["state"] == "on_cpu") / 99
        print("# " + said.replace("\n", "\n# "), file=sys.stderr)
        bars.add("wall, 1,002 threads of which 8 run, 99 Hz: samples taken", 100 * got / wanted, 98, " %", True)
        bars.add("the same: threads stopped", 0 if "nothing was stopped" in said else 1, 0)
        bars.add("the same: of one CPU", used, 5, " %")
        bars.add("the same: shares of work off by, points",
                 off_by(profile, truth, "work_three", "work_one", ("on_cpu", "runnable")), 2)
        bars.add("the same: CPU time off by", abs(100 * on_cpu / max(truth["cpu"], 0.001) * wanted / got - 100), 5, " %")
    bars.show()
    return 0 if bars.met else 1


sys.exit(main())
