#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The text that a person reads of a server with hundreds of threads: what is wrong, first and short."""
import os
import re
import subprocess

from harness import PATIENT, SNAPWALK, Tap, Target, hangs_s, snapwalk, state_of, wait_until


def text_of(pid, *options):
    run = subprocess.run([SNAPWALK, "dump", str(pid), *PATIENT, *options], capture_output=True, text=True,
                         timeout=hangs_s())
    if run.returncode != 0:
        raise RuntimeError(f"{run.returncode}: {run.stderr}")
    return run.stdout


def said(target, word):
    return [int(line.split()[1]) for line in target.lines if line.split()[0] == word]


def all_wait(target):
    """Everything but the thread that computes sleeps."""
    runs = said(target, "runs")[0]
    return all(state_of(target.pid, int(tid)) == "S"
               for tid in subprocess.check_output(["ls", f"/proc/{target.pid}/task"], text=True).split()
               if int(tid) != runs)


def a_service(tap):
    with Target("service", 500) as target:
        wait_until(lambda: all_wait(target), "the threads to wait")
        text = text_of(target.pid)
        lines = text.splitlines()
        first = "\n".join(lines[:40])
        runs, = said(target, "runs")
        idle, = said(target, "idle")
        queue, = said(target, "queue")
        waits = said(target, "waits")
        tap.check(len(lines) <= 150, "at most 150 lines for 501 threads", len(lines))
        tap.check(f"1 thread runs: compute-0 ({runs}) in compute" in first,
                  "who runs, and where, is said first", first)
        counts = dict((m[1], int(m[2])) for m in re.finditer(r"([a-zA-Z/ ]+?) (\d+)(?: · |$)",
                                                              next(l for l in lines if l.startswith("running "))))
        tap.equal((counts.get("running"), counts.get("waiting for a lock"),
                   counts.get("waiting for a condition"), counts.get("idle")),
                  (1, len(waits), queue, idle), "counts by what they do")
        holds, = said(target, "holds")
        tap.check(f"{len(waits)} threads wait for hold-0 ({holds}), sleeping in read" in first,
                  "the holder of the lock, and what it does", first)
        tap.check(f"1 thread  compute-0  ({runs})" in first, "the running one is the first", first)
        tap.check(f"{len(waits)} threads  order-*" in first and "reserve+" in first,
                  "those who wait for the lock follow", first)
        tap.check(f"{idle} threads are idle: {idle} in accept (--all shows them)" == lines[-1],
                  "the idle ones are a line", lines[-1])
        shown = text_of(target.pid, "--all")
        tap.check("--all" not in shown and f"{idle} threads  http-*" in shown, "--all shows them", shown)

        some = text_of(target.pid, "--function", "^res.rve$")
        tap.check(f": {len(waits)} threads of 501, 1 distinct stack" in some, "--function", some)
        some = text_of(target.pid, "--thread", "hold*")
        tap.check(": 1 thread of 501" in some and "hold+" in some, "--thread", some)
        for options in (("--thread", "zzz"), ("--state", "Zt"), ("--function", "^zzz$")):
            got = snapwalk(*options, target.pid, *PATIENT)
            tap.check(got.returncode == 1 and "0 threads of 501" in got.stdout
                      and f"{target.pid}: no thread matches {options[0]}" in got.stderr, f"{options[0]} that matches nothing",
                      (got.returncode, got.stdout[:200], got.stderr))
        got = snapwalk("--thread", "zzz", target.pid, os.getppid(), *PATIENT)
        tap.check(got.returncode == 1 and got.stderr.count("no thread matches") == 1, "a filter without a match, two processes: said once", got.stderr)
        got = snapwalk("--thread", "hold*", target.pid, os.getppid(), *PATIENT)
        tap.check("no thread matches" not in got.stderr, "a match in one of two is enough", got.stderr)
        for option, words in (("--goroutines", "not a Go program"), ("--tasks", "not a program of Python, .NET, Ruby or Erlang"),
                              ("--args", "not a PHP program")):
            got = snapwalk(option, target.pid, *PATIENT)
            tap.check(got.returncode == 3 and words in "".join(got.stdout.splitlines(True)[:5])
                      and "Not complete" not in got.stdout and "Warnings" not in got.stdout
                      and "(other_program): leave that option away" in got.stderr,
                      f"{option} of another program", (got.returncode, got.stdout[:400], got.stderr))
        some = text_of(target.pid, "--state", "R", "--format", "folded")
        tap.check(some.startswith("compute-0;") and some.count("\n") == 1, "--state, folded", some)
        each = text_of(target.pid, "--format", "folded", "--no-group")
        tap.check(each.count("\n") == 501 and f"\ncompute-0-{runs};" in "\n" + each, "folded, a line for each thread", each[:500])
        folded = text_of(target.pid, "--format", "folded")
        # In glibc 2.41 and newer there are functions of its own below each call that may be cancelled.
        tap.check(re.search(rf"^http-\*;.*;serve;[^;]*accept\w*(;__\w*cancel\w*)* {idle}$", folded,
                            re.M) is not None,
                  "numbered names are one name when folded", folded[:2000])


def workers_of_one_kind(tap):
    """A single process of several that are alike and idle is shown; what they do is said once, hints too."""
    processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(9)]
    try:
        pids = [process.pid for process in processes]
        wait_until(lambda: all(open(f"/proc/{pid}/comm").read() == "sleep\n" and state_of(pid, pid) == "S"
                               and "nanosleep" in open(f"/proc/{pid}/wchan").read() for pid in pids), "all to sleep")
        text = snapwalk(*pids, *PATIENT).stdout
        tap.check(text.count("sleep, pid") == 1 and text.endswith(
            f"\n\n8 more processes of sleep are the same: sleeping in clock_nanosleep ({' '.join(map(str, pids[1:7]))} …; "
            "--all shows them)\n"), "nine that sleep", text)
        text = snapwalk(*pids[:2], os.getppid(), *PATIENT).stdout
        tap.check(text.count("sleep, pid") == 1 and f", pid {os.getppid()}:" in text
                  and "\n1 more process of sleep is the same: " in text, "two, and another one", text)
        for options in (("--all",), ("-v",), ("--no-group",), ("--json",)):
            text = snapwalk(*pids, *options, *PATIENT).stdout
            tap.check(" the same: " not in text and text.count("sleep, pid") + text.count('"schema":') == 9,
                      f"{options[-1]}: each", text[:3000])
    finally:
        for process in processes:
            process.kill()
            process.wait()


tap = Tap()
tap.guard(a_service)
tap.guard(workers_of_one_kind)
tap.done()
