#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk on --then dump: all threads of the process at an event, with the time that was between; nothing of it is left when the
command ends or is killed.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from harness import SNAPWALK, Tap, Target, iterator_refused, wait_until
from safety import wait_confined

PROGRAM = """
import os, sys, threading
def waits_for_ever():
    threading.Event().wait()
def fails():
    try:
        os.open("/absent/file", os.O_RDONLY)
    except OSError:
        pass
for _ in range(3):
    threading.Thread(target=waits_for_ever, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    fails()
    print("done", flush=True)
"""


class Program:
    """A process of Python with three threads that wait, which opens an absent file for each line that it reads."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.communicate()

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.process.stdout.readline()


def begin(pid, *args):
    process = subprocess.Popen([SNAPWALK, "on", *map(str, args), "--then", "dump", str(pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_confined(process, "events begin")
    return process


def children(pid):
    """All processes below one. One that has ended meanwhile has none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            own = [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return own + [below for child in own for below in children(child)]


def maker(pid):
    """The process that makes the next dump: a child of one that is asked for it. None: it is not there."""
    for child in children(pid):
        for below in children(child):
            return below
    return None


def maker_there(process):
    wait_until(lambda: maker(process.pid) or process.poll() is not None, "the process that dumps is there", 30)
    return maker(process.pid)


def calls(tap):
    """A system call that fails."""
    event = ("syscall:openat", "--errno", "ENOENT")
    with Program() as target:
        pid = target.process.pid
        tids = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
        process = begin(pid, *event, "--json")
        target.turn()
        out, err = process.communicate(timeout=60)
        answer = json.loads(out)
        tap.equal((process.returncode, answer["events"], len(answer["dumps"])), (0, 1, 1), "one event, one dump")
        dump = answer["dumps"][0]
        tap.equal((dump["seq"], dump["tid"], sorted(thread["tid"] for thread in dump["dump"]["threads"])), (0, pid, tids), "of all threads")
        tap.check(0 < dump["after_ns"] < 10e9, "the time between", dump["after_ns"])
        tap.equal(dump["dump"]["reason"], "openat", "the dump says what it is of")
        tap.check('"waits_for_ever"' in json.dumps(dump["dump"]), "the stacks of the others", dump["dump"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.txt")
            process = begin(pid, *event, "-o", path)
            target.turn()
            out, err = process.communicate(timeout=60)
            with open(path) as file:
                text = file.read()
        tap.equal((process.returncode, out), (0, ""), "-o")
        tap.check(re.search(r"1 time openat\(\) = ENOENT .*^all threads, \d+\.\d{3} ms after event 0 of thread "
                            rf"{pid}:\n.*4 threads.*waits_for_ever", text, re.M | re.S), "in text", text)
        process = begin(pid, *event, "--each", "--json", "--count", 2)
        first = maker_there(process)
        target.turn()
        wait_until(lambda: maker(process.pid) not in (first, None), "the first dump is made", 30)
        target.turn()
        out, err = process.communicate(timeout=60)
        lines = [json.loads(line) for line in out.splitlines()]
        tap.equal([line["schema"] for line in lines if line["schema"] != "snapwalk.event_dump/1"], ["snapwalk.event/1"] * 2,
                  "--each: the events")
        tap.equal([(line["seq"], line["dump"]["process"]["pid"]) for line in lines if line["schema"] == "snapwalk.event_dump/1"],
                  [(0, pid), (1, pid)], "--each: a dump has its own line")


def functions(tap):
    """The event is a function."""
    with Target("functions") as target:
        process = begin(target.pid, "func:pushes", "--each", "--json")
        target.send("go")
        out, err = process.communicate(timeout=60)
        lines = [json.loads(line) for line in out.splitlines()]
        tap.equal([line["schema"] for line in lines], ["snapwalk.probe/1", "snapwalk.event/1", "snapwalk.event_dump/1"],
                  "a function: what is changed, the event, the dump")
        tap.equal((lines[0]["changes_code"], lines[0]["function"]), (True, "pushes"), "what is changed is said first")
        tap.equal(lines[-1]["dump"]["process"]["pid"], target.pid, "and the dump is of the process")


def ends(tap):
    """Nothing is left, whatever comes."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with Program() as target:
            process = begin(target.process.pid, "syscall:openat")
            maker_there(process)
            below = children(process.pid)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            tap.equal(process.returncode, 0 if number == signal.SIGINT else -number, f"{number.name}: exit status")
            wait_until(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in below), "they end")
            tap.equal("0 times openat" in out, number == signal.SIGINT, f"{number.name}: no event, no dump")
    with Program() as target:
        process = begin(target.process.pid, "syscall:openat", "--json")
        os.kill(maker_there(process), signal.SIGKILL)
        target.turn()
        out, err = process.communicate(timeout=60)
        dump = json.loads(out)["dumps"][0]
        tap.equal((process.returncode, dump["dump"]), (3, None), "who dumps is killed: the events are there, and the status says it")
        tap.check("killed by signal 9" in dump["error"], "and why there is none", dump)


def said(tap):
    for words, what in ((("death", "1"), "a process that dies cannot be dumped"), (("exec", "1", "--count", "101"), "too many dumps")):
        result = subprocess.run([SNAPWALK, "on", *words, "--then", "dump"], capture_output=True, text=True)
        tap.check(result.returncode == 2 and what in result.stderr, what, result.stderr)
    result = subprocess.run([SNAPWALK, "on", "exec", "1", "--then", "stop"], capture_output=True, text=True)
    tap.check(result.returncode == 2 and "give --then dump" in result.stderr, "--then knows dump", result.stderr)


if __name__ == "__main__":
    Tap.main(calls, functions, ends, said, skip=("dumps at events", iterator_refused(), Tap.ROOT))
