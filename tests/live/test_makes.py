#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
"""snapwalk on thread, process, exec, mmap, blocked and fault: each of a program that makes and waits for a known number of things,
at the function that does, and nothing of its children.
"""
import json
import re
import signal
import subprocess

from harness import SNAPWALK, Tap, Target, iterator_refused, snapwalk, wait_until
from safety import wait_confined

THREADS, PROCESSES, MAPS, LARGE, SHORT, LONG, WRITTEN, READ = 5, 3, 7, 2, 20, 3, 64, 8  # of tests/targets/makes.c


def run_on(target, what, *args, says="done"):
    """(status, standard output, standard error) of the command while the target does that."""
    process = subprocess.Popen([SNAPWALK, "on", *map(str, args), str(target.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_confined(process, "events begin")
    target.send(what)
    wait_until(lambda: target.readline() == says, "the target has done it")
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    return process.returncode, out, err


def functions(stack):
    return [frame["function"] for frame in stack["frames"]]


def counts(tap, target, what, event, n, function, *args, least=False):
    """That there were so many events, all at a function; of waits that others may have lengthened at least so many."""
    status, out, err = run_on(target, what, event, "--json", *args)
    answer = json.loads(out) if out.startswith("{") else {"events": err, "stacks": []}
    at = sum(s["count"] for s in answer["stacks"] if function in functions(s))
    tap.equal((status, at, answer.get("lost")), (0, n, 0), f"{event}: all, at {function}")
    tap.equal(answer["events"], n, f"{event}: no others") if not least else None
    tap.check(all(s["end"] == "complete" for s in answer["stacks"]), f"{event}: whole stacks", answer)
    return answer


def made(tap):
    """Threads and processes, and the numbers that they get."""
    with Target("makes") as target:
        counts(tap, target, "make", "thread", THREADS, "maker")
        counts(tap, target, "make", "process", PROCESSES, "forker")
        status, out, err = run_on(target, "make", "process", "--each", "--json")
        made = [json.loads(line)["result"] for line in out.splitlines()]
        tap.check(len(set(made)) == PROCESSES and all(n > 0 for n in made), "process: their numbers", made)
        status, out, err = run_on(target, "make", "thread")
        tap.check(f" s: {THREADS} threads\n" in out, "thread in text", out)
        status, out, err = run_on(target, "exec", "exec", "--json", says="ready")
        answer = json.loads(out)
        tap.equal((status, answer["events"], answer["call"]), (0, 1, "execve"), "exec: once")
        tap.check("main" in functions(answer["stacks"][0]), "exec: where it was called", answer)


def mapped(tap):
    """Mappings, all and large ones."""
    with Target("makes") as target:
        counts(tap, target, "map", "mmap", MAPS + LARGE, "mapper")
        counts(tap, target, "map", "mmap", LARGE, "mapper", "--larger", "64M")
        counts(tap, target, "map", "mmap", 0, "mapper", "--larger", "65M")


def blocked(tap):
    """Waits that last long, where they are, and how long they last: from when the CPU is given up, which another thread may
    delay by some tens of milliseconds."""
    with Target("makes") as target:
        answer = counts(tap, target, "wait", "blocked", LONG, "waiter", "--slower", "500ms", least=True)
        tap.check(answer.get("longest_ns", 0) >= 500e6, "blocked: the longest", answer.get("longest_ns"))
        status, out, err = run_on(target, "wait", "blocked", "--slower", "500ms", "--each")
        waits = [float(ms) for ms in re.findall(r" blocked\(\) for (\d+\.\d{3}) ms  clock_nanosleep < waiter makes\.c:\d+ < ", out)]
        tap.check(len(waits) == LONG and all(500 <= ms < 20000 for ms in waits), "blocked: each in text", out)
        status, out, err = run_on(target, "wait", "blocked", "--slower", "60s")
        tap.check(status == 0 and " s: 0 waits of 60000 ms or more\n" in out, "blocked: none", (out, err))


def faults(tap):
    """Page faults, each one and one of several, of a program that touches pages for the first time."""
    with Target("makes") as target:
        status, out, err = run_on(target, "touch", "fault", "--every", 1, "--each", "--json")
        events = [json.loads(line) for line in out.splitlines()]
        touched = [event for event in events if event["stack"] and "toucher" in functions(event["stack"])]
        first = min((int(event["address"], 16) for event in touched), default=0)
        tap.equal((status, [(int(event["address"], 16) - first, event["access"]) for event in touched]),
                  (0, [(4096 * i, "write" if i < WRITTEN else "read") for i in range(WRITTEN + READ)]),
                  "fault: each page, in order")
        tap.equal({functions(event["stack"])[0] for event in touched}, {"toucher"}, "fault: the function that touches is innermost")
        status, out, err = run_on(target, "touch", "fault", "--json")
        answer = json.loads(out)
        n = sum(s["count"] for s in answer["stacks"] if "toucher" in functions(s))
        tap.check((status, answer["every"], answer["event"]) == (0, 16, "fault") and n in ((WRITTEN + READ) // 16,
                  (WRITTEN + READ) // 16 + 1), "fault: one of 16", answer)
        status, out, err = run_on(target, "touch", "fault", "--every", 8, "--each")
        tap.check(re.search(r" fault\(\) write 0x[0-9a-f]+  toucher makes\.c:\d+ < ", out), "fault: each in text", out)
        status, out, err = run_on(target, "touch", "fault")
        tap.check(re.search(r" s: \d+ page faults?, each 16th of all\n", out), "fault: in text", out)


def said(tap):
    """Messages about what cannot be."""
    for words, what in {("blocked", "1"): "how long is not given", ("thread", "--larger", "1M", "1"): "--larger is for mmap",
                        ("syscall:read", "--larger", "1M", "1"): "--larger is for mmap",
                        ("thread", "--slower", "1s", "1"): "for functions", ("mmap", "--larger", "0", "1"): "out of range",
                        ("blocked", "--slower", "1s", "--every", "2", "1"): "--every is for fault"}.items():
        result = snapwalk("on", *words)
        tap.check(result.returncode == 2 and what in result.stderr, f"{' '.join(words)}: {what}", result.stderr)


if __name__ == "__main__":
    Tap.main(made, mapped, blocked, faults, said, skip=("events", iterator_refused(), Tap.ROOT))
