#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""A snapshot as a program sees it that embeds the library: stacks, limits, subsets, times; and nothing is left behind
in that program."""
import os
import subprocess

from harness import TARGETS, Tap, Target, iterator_refused, state_of, wait_blocked, wait_until
from safety import held, tasks

STACK_DEFAULT = 256 << 10
ROOT_BYTES = 16 << 10  # of a stack that is not copied in whole
DEEP_BYTES = 1 << 20
AUTO, NEVER, ALWAYS = range(3)  # enum sw_stop_mode


class Captured:
    """The words that drive_capture prints, by their first."""

    def __init__(self, pid, *options, **named):
        # A thread that has to wait for its turn to stop is not what is tested here.
        named.setdefault("max_stop_ms", 5000)
        words = [f"{name}={value}" for name, value in named.items()]
        run = subprocess.run([os.path.join(TARGETS, "drive_capture"), str(pid), *options, *words],
                             capture_output=True, text=True, timeout=120)
        if run.returncode != 0:
            raise RuntimeError(f"drive_capture: status {run.returncode}\n{run.stderr}")
        self.lines = [line.split() for line in run.stdout.splitlines()]
        self.threads = {}
        for words in self.of("thread"):
            tid, captured, reason, state, sp, stack, end, size, interrupted = words
            self.threads[int(tid)] = {
                "captured": captured == "1", "reason": reason, "state": state, "sp": int(sp, 16),
                "stack": int(stack, 16), "end": int(end, 16), "bytes": int(size),
                "interrupted": interrupted == "1"}
        self.ranges = [(int(start, 16), int(size)) for start, size in self.of("range")]
        self.warnings = [tuple(words) for words in self.of("warning")]
        self.left = [words[0] for words in self.of("left")]
        self.error = [words[0] for words in self.of("error")]

    def of(self, kind):
        return [words[1:] for words in self.lines if words[0] == kind]


def threads_of(target):
    """{kind: (tid, sp)} of targets/stacks.c."""
    found = {}
    for line in target.lines:
        word, kind, tid, sp = line.split()
        if word == "thread":
            found[kind] = (int(tid), int(sp, 16))
    # The main thread, too: it says that all is ready before it waits.
    wait_until(lambda: all(state_of(target.pid, tid) == ("R" if kind == "spinning" else "S")
                           for kind, (tid, _) in [*found.items(), ("main", (target.pid, 0))]),
               "the threads to wait")
    return found


def whole_stacks(tap):
    with Target("stacks") as target:
        threads = threads_of(target)
        got = Captured(target.pid)
        tap.equal(got.error, [], "captured")
        tap.equal(sorted(got.threads), sorted(tasks(target.pid)), "every thread is there, by tid")
        tap.equal([t["captured"] for t in got.threads.values()], [True] * 5, "all are captured")
        tap.equal(got.threads[threads["spinning"][0]]["state"], "R", "a running one is in state R")
        for kind in ("shallow", "spinning"):
            t = got.threads[threads[kind][0]]
            tap.check(t["stack"] + 128 == t["sp"], f"{kind}: the copy begins 128 bytes below sp",
                      t)
            tap.equal(t["stack"] + t["bytes"], t["end"], f"{kind}: and ends with the stack")
            tap.check(t["stack"] <= threads[kind][1] < t["end"], f"{kind}: the thread's frame is in its stack", t)
            tap.equal([w for w in got.of("word") if w[0] == str(threads[kind][0])],
                      [[str(threads[kind][0]), "copy"]], f"{kind}: read from the copy")
        tap.equal(held(target.pid), [], "nothing is held afterwards")


def deep_stack(tap):
    with Target("stacks") as target:
        tid, sp = threads_of(target)["deep"]
        got = Captured(target.pid)
        t = got.threads[tid]
        tap.equal(t["bytes"], STACK_DEFAULT, "deep: the default limit was copied")
        tap.check(t["end"] - t["stack"] > DEEP_BYTES, "deep: there is more", t)
        tap.check(t["stack"] <= sp < t["stack"] + 8192, "deep: the innermost frames are there", t)
        tap.equal(got.warnings, [("stack_limit", str(tid), "limit")], "deep: a warning says so")
        tap.equal([w[1] for w in got.of("word") if w[0] == str(tid)], ["live"],
                  "deep: the rest comes from the running process")
        tap.equal([start + size for start, size in got.ranges if size == ROOT_BYTES and start > t["sp"]][:1], [t["end"]],
                  "deep: its upper end was copied, too")

        got = Captured(target.pid, stack_bytes=2 << 20)
        t = got.threads[tid]
        tap.equal(t["stack"] + t["bytes"], t["end"], "deep: whole with a larger limit")
        tap.equal(got.warnings, [], "deep: and no warning")

        got = Captured(target.pid, total_bytes=1 << 20, stack_bytes=4 << 20)
        total = sum(t["bytes"] for t in got.threads.values()) + sum(n for _, n in got.ranges)
        tap.check(got.threads[tid]["bytes"] >= 65536 and total <= 1 << 20,
                  "deep: the limit on all together holds", (total, got.threads))


def start_of_stack(pid):
    """sp of the program's first instruction: arguments and environment lie above."""
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[28 - 3])


def large_environment(tap):
    """More than is copied of a stack: what lies above the main thread's stack counts as little as what lies below."""
    env = dict(os.environ, **{f"LARGE{i}": 100000 * "x" for i in range(3)})
    with Target("deep", 2, env=env) as target:
        wait_blocked(target.pid)
        got = Captured(target.pid)
        t, start = got.threads[target.pid], start_of_stack(target.pid)
        tap.check(start < t["end"] <= start + 4096, "environment: the stack ends where it began", (start, t))
        tap.equal(t["stack"] + t["bytes"], t["end"], "environment: a small stack is whole")
        tap.equal(got.warnings, [], "environment: and no warning")
    with Target("deep", 3000, env=env) as target:
        wait_blocked(target.pid)
        got = Captured(target.pid)
        t, start = got.threads[target.pid], start_of_stack(target.pid)
        tap.equal(t["bytes"], STACK_DEFAULT, "environment: a deep stack has the limit")
        tap.check((t["end"] - ROOT_BYTES, ROOT_BYTES) in got.ranges and start < t["end"] <= start + 4096,
                  "environment: and its first functions", (start, t, got.ranges))
    with Target("coroutine", env=env) as target:
        wait_until(lambda: state_of(target.pid) == "S", "the coroutine to block")
        got = Captured(target.pid)
        start = start_of_stack(target.pid)
        tap.check(any(at <= start - 4096 and start <= at + size for at, size in got.ranges),
                  "environment: the main stack of a thread that is on another one", (start, got.ranges))


def alternate_stack(tap):
    with Target("stacks") as target:
        tid, own_sp = threads_of(target)["alternate"]
        got = Captured(target.pid)
        t = got.threads[tid]
        tap.check(abs(t["sp"] - own_sp) > 65536, "alternate: sp is elsewhere", t)
        tap.check(t["stack"] + 128 == t["sp"] and t["bytes"] > 128, "alternate: the signal stack was copied", t)
        tap.check(any(start <= own_sp < start + size for start, size in got.ranges),
                  "alternate: the thread's own stack was copied too", got.ranges)
        tap.equal(len([size for _, size in got.ranges if size != ROOT_BYTES]), 1,
                  "alternate: no other thread's stack twice")


def subsets(tap):
    with Target("stacks") as target:
        threads = threads_of(target)
        tids = sorted(t for t, _ in (threads["shallow"], threads["spinning"]))
        got = Captured(target.pid, *(f"tid={tid}" for tid in tids))
        tap.equal([tid for tid, t in got.threads.items() if t["captured"]], tids,
                  "two threads asked for: two captured")
        tap.equal({t["reason"] for tid, t in got.threads.items() if tid not in tids},
                  {"not_requested"}, "the others are listed as not asked for")
        tap.equal(got.warnings, [], "which is no warning")
        # Threads that were held go back to sleep once they have run.
        others = [tid for name, (tid, _) in threads.items() if name != "spinning"]
        wait_until(lambda: all(state_of(target.pid, tid) == "S" for tid in others),
                   "threads to sleep again")
        got = Captured(target.pid, running_only=1)
        tap.equal([tid for tid, t in got.threads.items() if t["captured"]],
                  [threads["spinning"][0]], "only running threads: the one that runs")
        got = Captured(target.pid, max_threads=2)
        tap.equal((len(got.threads), got.warnings), (2, [("thread_missing", "0", "limit")]),
                  "a limit of two threads: two and a warning")


def times(tap):
    with Target("stacks") as target:
        threads_of(target)
        attach, stopped, longest, copy, take = map(int, Captured(target.pid, stop=ALWAYS).of("times")[0])
        tap.check(0 < copy < stopped and 0 < longest <= stopped and
                  0 < attach and attach + stopped < take, "times are in proportion",
                  (attach, stopped, longest, copy, take))


def nothing_left(tap):
    """A library lives on in its program: no thread traced, no child, no signal, no descriptor."""
    for name, args, count in (("stacks", (), 50), ("states", ("vfork_parent",), 3),
                              ("states", ("zombie_leader",), 5), ("states", ("plain", 200), 10)):
        with Target(name, *args) as target:
            if args == ("vfork_parent",):
                wait_until(lambda: "D" in [state_of(target.pid, t) for t in tasks(target.pid)],
                           "the parent to wait in vfork")
            got = Captured(target.pid, count=count)
            tap.equal((got.error, got.left), ([], []),
                      f"{name} {' '.join(map(str, args))}: nothing left by {count} snapshots")
    got = Captured(os.getpid(), max_stop_ms=1, no_realtime=1)
    tap.equal(got.left, [], "nor with the shortest limit, without SCHED_FIFO")


def refusals(tap):
    tap.equal(Captured(0).error, ["no_such_process"], "pid 0")
    tap.equal(Captured(-5).error, ["no_such_process"], "a negative pid")
    tap.equal(Captured(2 ** 22 + 1).error, ["no_such_process"], "a pid that cannot be")


def permission(tap):
    """Asked while all stand still; a refusal copies nothing and leaves nothing behind."""
    with Target("stacks") as target:
        threads = threads_of(target)
        everybody = str(len(tasks(target.pid)))
        for answer in (1, 0):
            got = Captured(target.pid, permit=answer, stop=ALWAYS)
            tap.equal(got.of("permit"), [[str(target.pid), "t", everybody, "1"]],
                      f"permit {answer}: asked once, with every thread stopped")
            tap.equal(got.error, [] if answer else ["not_permitted"], f"permit {answer}: the end")
            tap.equal(len(got.threads), len(tasks(target.pid)) if answer else 0,
                      f"permit {answer}: what there is")
            tap.equal((got.left, held(target.pid)), ([], []), f"permit {answer}: nothing is left")
        tid = threads["shallow"][0]
        got = Captured(target.pid, f"tid={tid}", permit=1, stop=ALWAYS)
        tap.equal(got.of("permit"), [[str(tid), "t", "1", "1"]], "permit: asked for a thread that is held")
    with Target("states", "zombie_leader") as target:
        wait_until(lambda: state_of(target.pid) == "Z", "the leader to end")
        got = Captured(target.pid, permit=1, stop=ALWAYS)
        (tid, state, _, _), = got.of("permit")
        tap.check(int(tid) != target.pid and state == "t", "permit: a zombie leader is not asked",
                  got.lines)


def untouched_permission(tap):
    """Where nothing is stopped it is asked before and after the copy, and either answer counts."""
    with Target("states", "plain", 3) as target:
        wait_until(lambda: {state_of(target.pid, t) for t in tasks(target.pid)} == {"S"},
                   "all threads to wait")
        got = Captured(target.pid, permit=1, stop=NEVER)
        tap.equal(got.of("permit"), [[str(target.pid), "S", "0", "2"]],
                  "untouched: asked before and after, with no thread stopped")
        tap.equal((got.of("stopped"), {how for _, how in got.of("by")}), ([["0"]], {"iterator"}),
                  "untouched: captured by the iterator")
        for answer, asked in ((0, "1"), (2, "2")):
            got = Captured(target.pid, permit=answer, stop=NEVER)
            tap.equal((got.error, got.threads), (["not_permitted"], {}),
                      f"untouched: refused when asked for the {asked}. time")


def spinning(tap):
    """A thread that does not leave its CPU: stopped for its own copy, or listed without stack."""
    with Target("stacks") as target:
        threads = threads_of(target)
        spins = threads["spinning"][0]
        got = Captured(target.pid, stop=NEVER, max_stop_ms=30)
        tap.equal(got.of("stopped"), [["0"]], "never: nothing is stopped")
        others = {tid for tid, t in got.threads.items() if tid != spins and t["captured"]}
        tap.equal(len(others), len(tasks(target.pid)) - 1, "never: all others are captured")
        tap.check(got.threads[spins]["captured"] or got.threads[spins]["reason"] == "running",
                  "never: the one that spins was preempted, or is listed as running", got.lines)
        got = Captured(target.pid)
        by = {int(tid): how for tid, how in got.of("by")}
        tap.equal(len(by), len(tasks(target.pid)), "auto: all are captured")
        tap.equal({how for tid, how in by.items() if tid != spins}, {"iterator"},
                  "auto: who waits is not stopped")
        tap.equal(got.left, [], "auto: nothing is left")


def main():
    tap = Tap()
    for test in (whole_stacks, deep_stack, large_environment, alternate_stack, subsets, times, nothing_left, refusals,
                 permission):
        tap.guard(test)
    refused = iterator_refused()
    for test in (untouched_permission, spinning):
        if refused:
            tap.skip(test.__name__, refused)
        else:
            tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
