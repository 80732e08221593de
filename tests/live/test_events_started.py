#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""`snapwalk on EVENT -- PROGRAM` and `snapwalk leaks --of KIND -- PROGRAM`: events from the program's first instruction on,
none from before, and the program's exit status."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from harness import SNAPWALK, Tap, Target, snapwalk, wait_until  # noqa: E402

PYTHON = sys.executable
LEAKS = "import os\nl = [os.open('/etc/passwd', 0) for i in range(5)]\ninput()"


def events_of(directory, *words):
    """Runs a command that starts a program: what that says, its status, and the result."""
    path = os.path.join(directory, "result.json")
    got = snapwalk(words[0], *words[1:words.index("--")], "--json", "-o", path, *words[words.index("--"):])
    result = None
    if os.path.exists(path):
        with open(path) as file:
            result = json.load(file)
        os.unlink(path)
    return got, result


def test_beginning(tap):
    with tempfile.TemporaryDirectory() as directory:
        got, made = events_of(directory, "on", "syscall:openat", "--", "/bin/sh", "-c", "echo out; sleep 0.3; exit 7")
        tap.equal((got.returncode, got.stdout, got.stderr), (7, "out\n", ""), "status and output are the program's")
        functions = {frame["function"] for stack in made["stacks"] for frame in stack["frames"]}
        tap.check(made["comm"] == "sh" and {"_dl_map_object", "dl_main"} <= functions,
                  "what the dynamic linker opens is there, with stacks", made)
        tap.check(not any(name and name.startswith("sw_") for name in functions), "no function of snapwalk is", functions)
        # The command tries each directory of PATH, by calls of its own, before the program is one.
        path = os.environ["PATH"]
        os.environ["PATH"] = "/nonexistent:" + path
        try:
            got, made = events_of(directory, "on", "syscall:execve", "--", "sh", "-c", "sleep 0.3; exec /bin/true")
        finally:
            os.environ["PATH"] = path
        tap.equal((got.returncode, made["events"]), (0, 1), "execve: that of the program, none by which it was begun")
        got, made = events_of(directory, "on", "death", "--", "sh", "-c", "sleep 0.3; kill -9 $$")
        tap.equal((got.returncode, made["signal"]), (137, "SIGKILL"), "how it dies, and its status")


def test_leaks(tap):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "leaks.json")
        with subprocess.Popen([SNAPWALK, "leaks", "--of", "fds", "--json", "-o", path, "--", PYTHON, "-c", LEAKS],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            child.communicate(b"\n")
        with open(path) as file:
            made = json.load(file)
        tap.equal((child.returncode, made["outstanding"], made["opened_before"]), (0, 5, 3),
                  "five descriptors are not given up, three were there before it began")
        got = snapwalk("leaks", "--of", "threads", "--", "/bin/sh", "-c", "echo out; exit 3")
        tap.check((got.returncode, got.stdout) == (3, "out\n")
                  and re.search(r"^\w+, pid \d+, \d+ s: 0 threads acquired", got.stderr, re.M),
                  "--of threads: text is on standard error, as standard output is the program's", got)


def test_goes_on(tap):
    """Signals are passed on; behind --count the program goes on."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "result")
        script = 'trap "echo got TERM; exit 5" TERM; echo ready; while :; do sleep 0.05; done'
        with subprocess.Popen([SNAPWALK, "on", "syscall:openat", "--count", "2", "-o", path, "--", "sh", "-c", script],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            tap.equal(process.stdout.readline(), "ready\n", "the program runs")
            wait_until(lambda: os.path.exists(path), "the result of two events")
            tap.equal(process.poll(), None, "--count: the program goes on behind the result")
            process.send_signal(signal.SIGTERM)
            tap.equal((process.stdout.read(), process.wait()), ("got TERM\n", 5), "SIGTERM is passed on, and the status kept")


def test_refused(tap):
    for words, pattern in ((("on", "syscall:openat", "--"), "no program is given"),
                           (("leaks", "--of", "fds", "--"), "no program is given"),
                           (("on", "syscall:openat", "1", "--", "true"), "a process and a program are given"),
                           (("on", "syscall:openat", "--json", "--", "true"), "standard output is the program's.*give -o FILE"),
                           (("leaks", "--of", "fds", "--json", "--", "true"), "standard output is the program's"),
                           (("on", "func:main", "--", "true"), "functions are looked up in a process that runs.*start it first")):
        got = snapwalk(*words)
        tap.check(got.returncode == 2 and re.search(pattern, got.stderr), f"refused: {' '.join(words)}", got)
    with tempfile.TemporaryDirectory() as directory:
        ran = os.path.join(directory, "ran")
        for words in (("on", "syscall:openat"), ("leaks", "--of", "maps")):
            got = snapwalk(*words, "--", "/nonexistent/program")
            tap.check(got.returncode == 127 and got.stdout == "" and "it cannot be started: No such file" in got.stderr,
                      f"{words[0]}: a program that is not there, and no result", got)
            got = snapwalk(*words, "-o", os.path.join(directory, "no", "such"), "--", "touch", ran)
            tap.check(got.returncode == 1 and not os.path.exists(ran),
                      f"{words[0]}: where the result cannot be written, the program is not started", got)
    with Target("threads", 1, 5) as target:
        got = snapwalk("on", "syscall:openat", "--duration", "1", "--", str(target.pid))
        tap.check(got.returncode == 0 and f"pid {target.pid}" in got.stdout, "a number behind -- is a process", got)


def main():
    tap = Tap()
    if os.geteuid() != 0:
        print(f"not root; needs {Tap.ROOT}")
        sys.exit(77)
    for test in (test_beginning, test_leaks, test_goes_on, test_refused):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
