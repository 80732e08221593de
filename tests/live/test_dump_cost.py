#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""The work of a dump with names of 1, 100 and 1,000 threads in numbers that no other process changes: system calls,
page faults, and instructions of the command itself. A clock tells a growth of a tenth from a busy machine only
by many runs."""
import os
import re
import subprocess
import tempfile

from harness import PATIENT, SNAPWALK, Tap, Target, iterator_refused, tool

FRAMES = 30
RUNS = 3  # the least of them counts: what waits for somebody else asks once more
DUMP = [SNAPWALK, "dump", "--json", "--symbols", "names", *PATIENT]

# A tenth above what it is today: lower them where a change makes a dump cheaper, and say why where one is to cost more.
# The instructions are in thousands, and under valgrind, where the C library chooses other functions.
#        threads: (system calls, page faults, instructions)
LIMITS = {1: (737, 407, 4370), 100: (971, 772, 13700), 1000: (1346, 2315, 99000)}


def system_calls(pid, scratch):
    """The system calls of all processes of a dump."""
    out = os.path.join(scratch, "strace")
    subprocess.run([tool("strace"), "-f", "-c", "-o", out, *DUMP, str(pid)], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True, timeout=120)
    with open(out) as lines:
        return next(int(line.split()[3]) for line in lines if line.rstrip().endswith(" total"))


def page_faults(pid):
    """The page faults of all processes of a dump."""
    null = os.open(os.devnull, os.O_WRONLY)
    child = os.posix_spawn(DUMP[0], [*DUMP, str(pid)], os.environ,
                           file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
    os.close(null)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise RuntimeError(f"a dump ended with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_minflt


def kilo_instructions(pid, scratch):
    """The instructions of the command: without its sandbox, in which valgrind cannot work."""
    run = subprocess.run([tool("valgrind"), "--tool=callgrind",
                          f"--callgrind-out-file={os.path.join(scratch, 'callgrind')}", *DUMP, "--no-sandbox", str(pid)],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True, timeout=300)
    return int(re.search(r"Collected : (\d+)", run.stderr)[1]) // 1000


def programs_run(pid, scratch):
    """Loaders of programs that were run in the kernel: (by the command's first thread, by others)."""
    out = os.path.join(scratch, "bpf")
    subprocess.run([tool("strace"), "-f", "-e", "trace=bpf,execve", "-o", out, *DUMP, str(pid)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=120)
    with open(out) as lines:
        calls = [line.split(None, 1) for line in lines]
    # BPF_PROG_RUN has had another name before Linux 5.14, which strace knows.
    runs = [tid for tid, call in calls if re.match(r"bpf\(BPF_PROG_(TEST_)?RUN", call)]
    return runs.count(calls[0][0]), len(runs) - runs.count(calls[0][0])


def loading(tap):
    """The kernel takes a millisecond for a program: the command goes on meanwhile, and has none loaded for nothing."""
    if not tool("strace"):
        tap.skip("programs are loaded beside all else", "strace is not installed", "package strace")
        return
    if os.path.isdir("/sys/fs/bpf/snapwalk"):
        tap.skip("programs are loaded beside all else", "a daemon keeps them", "no unit of snapwalkd that runs")
        return
    with tempfile.TemporaryDirectory() as scratch:
        with Target("threads", 1, FRAMES) as target:  # its first thread waits at a pipe
            ours, others = programs_run(target.pid, scratch)
            tap.check((ours, others) == (0, 2), f"a wait at a pipe: {ours} and {others} programs, 0 and 2 expected")
        with Target("contended") as target:  # all wait for locks, or for a signal
            ours, others = programs_run(target.pid, scratch)
            tap.check((ours, others) == (0, 1), f"none: {ours} and {others} programs, 0 and 1 expected")


def judge(tap, threads, what, got, limit):
    tap.check(0 < got <= limit, f"{threads} threads: {got} {what}, at most {limit}")


def costs(tap, threads):
    calls, faults, instructions = LIMITS[threads]
    with tempfile.TemporaryDirectory() as scratch, Target("threads", threads, FRAMES) as target:
        if tool("strace"):
            judge(tap, threads, "system calls", min(system_calls(target.pid, scratch) for _ in range(RUNS)), calls)
        else:
            tap.skip(f"{threads} threads: system calls", "strace is not installed", "package strace")
        judge(tap, threads, "page faults", min(page_faults(target.pid) for _ in range(RUNS)), faults)
        if tool("valgrind"):
            judge(tap, threads, "thousand instructions", kilo_instructions(target.pid, scratch), instructions)
        else:
            tap.skip(f"{threads} threads: instructions", "valgrind is not installed", "package valgrind")


if __name__ == "__main__":
    Tap.main(loading, *((costs, threads) for threads in LIMITS),
             skip=("cost of a dump", iterator_refused(), "CAP_BPF and CAP_PERFMON"))
