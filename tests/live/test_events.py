#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
"""snapwalk on: each system call of programs that make a known number of them, from known functions, is counted at its
stack, and no other; nothing is left in the kernel when the command is killed.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from harness import SNAPWALK, Tap, Target, iterator_refused, snapwalk, wait_until
from safety import wait_confined

ROUNDS, THREADS = 50, 2  # of tests/targets/events.c
TURNS = 20
PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "python", "events.py")


def links(pid):
    """Returns the fdinfo of the trace points that a process has programs at."""
    texts = []
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as file:
                text = file.read()
        except OSError:
            continue
        if "link_type:\traw_tracepoint" in text:
            texts.append(text)
    return texts


class Run:
    """The command, from when its program is at the trace point and all else is open: the sandbox comes after that."""

    def __init__(self, *args):
        self.process = subprocess.Popen([SNAPWALK, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        wait_confined(self.process, "events begin")

    def end(self):
        """Tells it to end: (status, standard output, standard error)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.end_by_itself()

    def answer(self):
        """Tells it to end: (status, what it says in JSON)."""
        status, out, _ = self.end()
        return status, json.loads(out)

    def end_by_itself(self):
        out, err = self.process.communicate()
        return self.process.returncode, out, err


def turn(target, what="go"):
    target.send(what)
    wait_until(lambda: target.readline() == "done", "the target has made its calls")


def counted(target, *args):
    run = Run("on", *args, "--json", target.pid)
    turn(target)
    status, out, err = run.end()
    return status, json.loads(out) if out else {}, err


def functions(stack):
    return [frame["function"] for frame in stack.get("stack", stack)["frames"]]


def by(answer, name):
    return sum(s["count"] for s in answer["stacks"] if name in functions(s))


def exact(tap):
    """All counts are those that the program has."""
    n = ROUNDS * THREADS
    with Target("events") as target:
        status, answer, err = counted(target, "syscall:openat", "--errno", "ENOENT")
        tap.equal((status, answer.get("events"), answer.get("lost")), (0, 3 * n, 0), "openat that fails: all, none lost")
        tap.equal((by(answer, "by_first"), by(answer, "by_second")), (n, 2 * n), "openat that fails: each at its stack")
        tap.equal(answer.get("results"), {"ENOENT": 3 * n}, "openat that fails: by error")
        tap.check(all(s["end"] == "complete" for s in answer["stacks"]), "openat that fails: whole stacks", answer)
        status, answer, err = counted(target, "syscall:openat", "--errno", "EMFILE")
        tap.equal((status, answer.get("events")), (0, 0), "openat with another error: none")
        status, answer, err = counted(target, "syscall:openat", "--errno", "any")
        tap.equal((status, answer.get("events")), (0, 3 * n), "openat with any error")
        status, answer, err = counted(target, "syscall:openat")
        tap.equal(answer.get("results"), {"ENOENT": 3 * n, "succeeded": n}, "openat: all results")
        status, answer, err = counted(target, "syscall:write fd=9")
        tap.equal((answer.get("events"), by(answer, "write_nine")), (n, n), "write fd=9: those of that descriptor")
        status, answer, err = counted(target, "syscall:write fd=8")
        tap.equal(answer.get("events"), 0, "write fd=8: none")
        status, answer, err = counted(target, "syscall:write fd=9 arg2=1")
        tap.equal(answer.get("events"), n, "two conditions that hold")
        status, answer, err = counted(target, "syscall:write fd=9 arg2=2")
        tap.equal(answer.get("events"), 0, "two conditions of which one holds")
        other(tap, target)


def other(tap, target):
    """Calls of another process are no events."""
    with Target("events") as second:
        run = Run("on", "syscall:openat", "--json", target.pid)
        turn(second)
        turn(target)
        status, out, err = run.end()
        tap.equal(json.loads(out)["events"], 4 * ROUNDS * THREADS, "another process with the same program is not counted")


def python(tap):
    """Frames of Python are those of the instant."""
    with Target(None, PYTHON, path=sys.executable) as target:
        status, answer, err = counted(target, "syscall:openat", "--errno", "ENOENT")
        tap.equal((status, answer.get("lost")), (0, 0), "Python: none lost")
        if not answer.get("stacks"):
            tap.check(False, "Python: there are events", err)
            return
        tap.equal((by(answer, "first"), by(answer, "Second.call")), (40, 40), "Python: each at its stack")
        whole = all("<module>" in functions(s) for s in answer["stacks"] if "missing" in functions(s))
        tap.check(whole, "Python: whole stacks", answer["stacks"])
        run = Run("on", "syscall:openat", "--errno", "ENOENT", "--each", "--json", target.pid)
        turn(target, "deep")
        status, out, err = run.end()
        events = [(e["call"], e.get("errno"), e.get("path"), e["seq"]) for e in map(json.loads, out.splitlines())]
        tap.equal(events, [("openat", "ENOENT", "/nonexistent/file", 0)],
                  "Python: a stack that fills the copy leaves the event its result and path")


def each(tap):
    """A line for each event, and so many events as asked for, by their numbers: two CPUs may hand over what they have copied
    in another order than they have numbered it."""
    with Target("events") as target:
        run = Run("on", "syscall:openat", "--errno", "ENOENT", "--each", "--json", "--count", 7, target.pid)
        turn(target)
        out, err = run.process.communicate()
        lines = [json.loads(line) for line in out.splitlines()]
        tap.equal(len(lines), 7, "--each --count: so many lines, and it ends")
        tap.equal([line["seq"] for line in lines], list(range(7)), "--each: numbers without a gap")
        tap.check(all(line["errno"] == "ENOENT" and line["path"] == "/nonexistent/file" and line["result"] == -2
                      for line in lines), "--each: result and path", lines)
        tap.check(all("open_missing" in functions(line) for line in lines), "--each: stacks", lines)
        tap.check(all(line["tid"] != target.pid and line["pid"] == target.pid for line in lines), "--each: threads", lines)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "events")
            run = Run("on", "syscall:openat", "--errno", "ENOENT", "--each", "--json", "--count", 7, "-o", path, target.pid)
            turn(target)
            out, err = run.process.communicate()
            lines = open(path).read().splitlines() if os.path.exists(path) else []
            tap.equal((run.process.returncode, out, [json.loads(line)["seq"] for line in lines]), (0, "", list(range(7))),
                      "--each -o: the events are in the file")
        run = Run("on", "syscall:openat", "--errno", "ENOENT", "--count", 3, "--each", target.pid)
        turn(target)
        out, err = run.process.communicate()
        tap.check(len(re.findall(r"^\d\d:\d\d:\d\d\.\d{3} \d+ openat\(/nonexistent/file\) = ENOENT  openat < open_missing",
                                 out, re.M)) == 3, "--each in text", out)
        tap.check(f"events, pid {target.pid}, " in out and "3 times openat() = ENOENT (/nonexistent/file)" in out,
                  "what is said first in text", out)


def last(tap):
    """The call that a program ends with has a stack."""
    with Target("events") as target:
        run = Run("on", "syscall:exit_group", "--json", target.pid)
        target.process.stdin.close()
        out, err = run.process.communicate()
        answer = json.loads(out) if out else {"events": err}
        tap.equal((run.process.returncode, answer["events"]), (0, 1), "exit_group: once, and the command ends")
        tap.check("exit" in functions(answer["stacks"][0]), "exit_group: its stack", answer["stacks"])


def stackless(tap):
    """The counts are there when the process cannot be looked at any more."""
    n = 3 * ROUNDS * THREADS
    with tempfile.NamedTemporaryFile() as image:
        image.write(b"MZ".ljust(4096, b"\0"))
        image.flush()
        with Target("events", image.name) as target:
            run = Run("on", "syscall:openat", "--errno", "ENOENT", "--each", "--json", target.pid)
            turn(target)
            before = [json.loads(run.process.stdout.readline())["stack"] for _ in range(n)]
            turn(target, "code")
            made = [json.loads(run.process.stdout.readline())["stack"] for _ in range(n)]
            turn(target, "other")
            for _ in range(TURNS):  # it looks at the maps again some time after they have changed
                after = [json.loads(run.process.stdout.readline())["stack"] for _ in range(n)]
                if after == [None] * n:
                    break
                turn(target)
            status, out, err = run.end()
            tap.equal((status, None in before, None in made, after, out), (3, False, False, [None] * n, ""),
                      "code of Windows that is mapped meanwhile: all events, those after it without a stack")
            tap.check("images of Windows code" in err, "code of Windows that is mapped meanwhile: it is said", err)
            for words in (("on", "syscall:openat"), ("leaks", "--of", "fds")):
                result = snapwalk(*words, target.pid, "--duration", "1")
                tap.check(result.returncode == 1 and "images of Windows code (invalid_argument): 'snapwalk sample' looks" in result.stderr,
                          f"{words[0]}, code of Windows: the advice can be followed", result.stderr)
            result = snapwalk("sample", target.pid, "--duration", "1")
            tap.check(result.returncode in (0, 3) and "samples" in result.stderr, "sample, code of Windows: it does look at it", result)
    with Target("events") as target:
        run = Run("on", "syscall:openat", "--errno", "ENOENT", "--json", target.pid)
        turn(target)
        run.process.send_signal(signal.SIGSTOP)
        turn(target, "file")
        target.process.stdin.close()
        target.process.wait()
        run.process.send_signal(signal.SIGCONT)
        out, err = run.process.communicate()
        answer = json.loads(out or "{}")
        tap.equal((run.process.returncode, answer.get("events", 0) + answer.get("lost", 0)), (3, 2 * n),
                  "a process that has mapped code and ended: each event is counted")
        tap.check(answer.get("without_stack", 0) >= n and "exited" in err, "a process that has ended: it is said", (answer, err))


def killed(tap):
    """Nothing is left after kill -9, neither a link nor a program of the kernel's, and the target goes on."""
    with Target("events") as target:
        for signal_number in (signal.SIGKILL, signal.SIGTERM):
            run = Run("on", "syscall:openat", target.pid)
            tap.check(len(links(run.process.pid)) == 1, f"{signal_number.name}: there was a program at a trace point")
            ids = re.findall(r"^(?:link_id|prog_id):\t(\d+)", "\n".join(links(run.process.pid)), re.M)
            run.process.send_signal(signal_number)
            run.process.communicate()
            wait_until(lambda: not set(ids) & ids_there(), "link and program are gone", 20)
            tap.check(not set(ids) & ids_there(), f"{signal_number.name}: link and program are gone", ids)
            turn(target)
            tap.check(True, f"{signal_number.name}: the target goes on")


def ids_there():
    """Returns the ids of all links and programs that any process has, by fdinfo; bpftool may not be there."""
    ids = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            ids |= {n for text in links(pid) for n in re.findall(r"^(?:link_id|prog_id):\t(\d+)", text, re.M)}
        except OSError:
            continue
    return ids


def said(tap):
    """The command lines that cannot be are refused."""
    for words, what in {("syscall:connet", "1"): "there is no such system call", ("openat", "1"): "there is no such event",
                        ("syscall:write fd=x", "1"): "has none", ("syscall:write fd=4294967297", "1"): "no descriptor has",
                        ("syscall:write size=1", "1"): "is no condition",
                        ("syscall:write", "--errno", "EFOO", "1"): "there is no such error", (): "no event is given",
                        ("-p", "1"): "no event is given", ("syscall:write",): "no target is given"}.items():
        result = snapwalk("on", *words)
        tap.check(result.returncode == 2 and what in result.stderr, f"{' '.join(words)}: {what}", result.stderr)
    with Target("events") as target:
        result = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all", SNAPWALK, "on",
                                 "syscall:openat", str(target.pid), "-d", "1"], capture_output=True, text=True)
        tap.check(result.returncode in (1, 77) and "not_permitted" in result.stderr, "a user without capabilities is refused",
                  (result.returncode, result.stderr))


if __name__ == "__main__":
    Tap.main(exact, python, each, last, stackless, killed, said, skip=("events", iterator_refused(), Tap.ROOT))
