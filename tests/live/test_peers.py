#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 8s
"""Processes that wait for one another by what the kernel has: pipes, sockets, file locks, children."""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

from daemon import UNPRIVILEGED, Daemon
from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, in_first_pid_namespace, iterator_refused,
                     no_mounts, snapwalk, tool, wait_blocked, wait_until)

OPENAT, READ, WRITE, NANOSLEEP, WAIT4, FCNTL, FLOCK = 257, 0, 1, 35, 61, 72, 73
CLOCK_NANOSLEEP, PAUSE, MSGRCV, SEMOP, SEMTIMEDOP = 230, 34, 70, 65, 220
# WAY: the call that waits, kind, whether the peer is named, whether both wait
WAYS = {
    "pipe": (READ, "pipe", True, True),
    "unix": (READ, "unix_socket", True, True),
    "tcp": (READ, "tcp", True, True),
    "fifo": (READ, "fifo", True, True),
    "fifoopen": (OPENAT, "fifo", False, False),
    "full": (WRITE, "pipe", True, False),
    "flock": (FLOCK, "file_lock", True, False),
    "fcntl": (FCNTL, "file_lock", True, False),
    "child": (WAIT4, "child", True, False),
    "two": (READ, "pipe", False, False),
    "self": (READ, "pipe", True, False),
}
FILES = ("flock", "fcntl", "fifo", "fifoopen")


def told(target):
    return {line.split()[0]: int(line.split()[1]) for line in target.lines}


def found(target, both, named):
    """A dump that has what is to be found: the search is limited, and a deadlock is one that is as old as a
    capture takes; a machine with other work to do may need some more of them."""
    def one():
        report = dump(target.pid)
        wait = report["threads"][0].get("blocked_on") or {}
        return report if (wait.get("owner_pid") or not named) and (report.get("deadlocks") or not both) else None
    return wait_until(one, "the process at the other end")


def text_with(target, *words):
    """A dump that says all of it, as found() waits for one."""
    def said():
        text = snapwalk("dump", *PATIENT, target.pid).stdout
        return all(word in text for word in words)
    return wait_until(said, words)


def way(tap, name, directory):
    call, kind, named, both = WAYS[name]
    if both and not in_first_pid_namespace():
        tap.skip(f"{name}: the deadlock", "none is proven in a pid namespace", Tap.FIRST_PIDS)
    both = both and iterator_refused() == "" and os.geteuid() == 0 and in_first_pid_namespace()
    arguments = [os.path.join(directory, name)] if name in FILES else []
    with Target("peers", name, *arguments) as target:
        says = told(target)
        wait_blocked(target.pid, (call,))
        if name != "self":
            wait_blocked(says["peer"], (READ, PAUSE))
        report = found(target, both, named)
        wait = report["threads"][0]["blocked_on"]
        owner = says["peer"] if named else None
        tap.equal((wait["kind"], wait["owner_pid"], wait["owner_tid"]),
                  (kind, owner, None if name == "self" else owner), f"{name}: for whom")
        if name == "tcp":
            tap.equal(wait["target"].rpartition(":")[0], "127.0.0.1", "tcp: the address")
        if name in FILES:
            file = arguments[0] + (".from" if name == "fifo" else "")
            tap.equal(wait["target"], file, f"{name}: the file")
        peers = [(p["pid"], p["tid"], p["comm"]) for p in report.get("peers", [])]
        tap.equal(peers, [(owner, owner, "peers")] if named and name != "self" else [], f"{name}: the other process")
        tap.equal(report.get("deadlocks") or [], [[target.pid, owner]] if both else [], f"{name}: the deadlock, in order")
        if both:
            words = f"\nDEADLOCK: peers ({target.pid}) → peers ({owner}) → peers ({target.pid})\n"
            tap.check(text_with(target, words), f"{name}: text says it")
        if named and name != "self":
            words = (f" for a file lock, which peers ({owner}) has" if kind == "file_lock" else
                     f" for peers ({owner}) ({kind})")
            tap.check(text_with(target, words), f"{name}: text says for whom")
        if name == "pipe" and in_first_pid_namespace():  # what is not proven is not followed
            def followed():
                run = snapwalk("dump", "--json", *PATIENT, "--follow", target.pid)
                return [json.loads(line)["process"]["pid"] for line in run.stdout.splitlines()] == [target.pid, owner]
            tap.check(wait_until(followed, "both"), "--follow: both")


def within(tap):
    """In a pid namespace processes outside may have the other end, too: who has it is told, and no more."""
    if no_mounts() or not tool("nsenter"):
        tap.skip("peers in a pid namespace", no_mounts() or "nsenter is not installed", f"{Tap.MOUNTS}, package util-linux")
        return
    with Target(None, "-p", "-f", "--kill-child", "--mount-proc", os.path.join(TARGETS, "peers"), "pipe",
                path=tool("unshare")) as outer:
        with open(f"/proc/{outer.pid}/task/{outer.pid}/children") as children:
            pid = int(children.read().split()[0])
        wait_blocked(pid, (READ,))

        def seen():
            run = subprocess.run([tool("nsenter"), "-t", str(pid), "-p", "-m", SNAPWALK, "dump", "--json", "1", *PATIENT],
                                 capture_output=True, text=True)
            report = json.loads(run.stdout)
            wait = report["threads"][0].get("blocked_on") or {}
            return (wait, report.get("deadlocks") or []) if wait.get("owner_pid") else None
        wait, deadlocks = wait_until(seen, "the process at the other end")
        tap.equal((wait["kind"], wait["owner_pid"], wait["trust"]), ("pipe", told(outer)["peer"], "visible"),
                  "pid namespace: who has it among those that can be seen")
        tap.equal(deadlocks, [], "pid namespace: no deadlock is proven")
        def text():
            return subprocess.run([tool("nsenter"), "-t", str(pid), "-p", "-m", SNAPWALK, "1", *PATIENT],
                                  capture_output=True, text=True).stdout
        words = "(pipe), or one that could not be looked at"
        tap.check(wait_until(lambda: words in text(), words), "pid namespace: the text says so")


def several(tap):
    """Two processes in one command, which looks once for who has the other ends."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as first, \
            subprocess.Popen(["cat"], stdin=subprocess.PIPE) as second:
        pids = [first.pid, second.pid]
        for pid in pids:
            wait_blocked(pid, (READ,))

        def owners():
            done = subprocess.run([SNAPWALK, "dump", "--json", "--symbols", "none", *PATIENT, *map(str, pids)],
                                  capture_output=True, text=True, check=False)
            waits = [json.loads(line)["threads"][0].get("blocked_on") or {} for line in done.stdout.splitlines()]
            return [(wait.get("kind"), wait.get("owner_pid")) for wait in waits] == [("pipe", os.getpid())] * 2
        wait_until(owners, "the other ends of two pipes")
        tap.check(True, "two processes in one command: the other end of both pipes")


def several_deadlocks(tap):
    """A deadlock needs a scan of its own, which the second process does not get for its other end alone."""
    if iterator_refused() != "" or os.geteuid() != 0 or not in_first_pid_namespace():
        tap.skip("several deadlocks", "none is proven", Tap.FIRST_PIDS)
        return
    with Target("peers", "pipe") as first, Target("peers", "pipe") as second:
        pids = [first.pid, second.pid]
        for pid in (*pids, told(first)["peer"], told(second)["peer"]):
            wait_blocked(pid, (READ, PAUSE))

        def both():
            done = subprocess.run([SNAPWALK, "dump", "--json", "--symbols", "none", *PATIENT, *map(str, pids)],
                                  capture_output=True, text=True, check=False)
            got = [json.loads(line).get("deadlocks") for line in done.stdout.splitlines()]
            return got == [[[pid, told(target)["peer"]]] for pid, target in zip(pids, (first, second))]
        wait_until(both, "the deadlocks of two processes")
        tap.check(True, "two processes in one command: the deadlock of both")


def itself(tap):
    """A server that calls itself, and waits for an answer, has connections that only it could accept."""
    code = ("import socket\n"
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "calls = [socket.create_connection(server.getsockname()) for _ in range(3)]\n"
            "print(server.getsockname()[1], flush=True)\n"
            "calls[0].recv(1)\n")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline())
        wanted = f"127.0.0.1:{port}, its own listening socket: 3 connections wait to be accepted"

        def target():
            return (dump(server.pid)["threads"][0].get("blocked_on") or {}).get("target") == wanted
        try:
            wait_until(target, wanted)
            tap.check(True, "itself: the program's own listening socket")
            tap.check(text_with(server, wanted), "itself: text says it")
        finally:
            server.kill()


def timer(tap):
    with Target("peers", "timer") as target:
        wait_blocked(target.pid, (NANOSLEEP, CLOCK_NANOSLEEP))
        wait = dump(target.pid)["threads"][0]["blocked_on"]
        said = (wait["target"] or "").split()
        known = iterator_refused() == ""
        tap.equal(said[:2], ["ends", "in"] if known else [], "a timer: when it ends")
        tap.check(not known or (said[3] == "min" and 15 <= int(said[2]) <= 16), "a timer: that is true", said)


def behind(tap):
    """Three threads wait for one that waits for a process that waits for another one."""
    with Target("peers", "behind") as target:
        says = told(target)

        def one():
            report = dump(target.pid)
            roots = report.get("root_holders") or [{}]
            return (report, roots[0]) if roots[0].get("waiting") == 3 and len(roots[0].get("waits_for", [])) == 2 else None
        report, root = wait_until(one, "all to be known")
        tap.equal((root["tid"], root["waits_for"]), (target.pid, [says["peer"], says["last"]]),
                  "behind: the processes behind the holder, in order")
        tap.equal(report["deadlocks"], [], "behind: no deadlock")
        words = f"\n3 threads wait for peers ({target.pid}), waiting "
        tap.check(text_with(target, f", which waits for peers ({says['last']})\n", words,
                            f" for peers ({says['peer']}) (pipe)"), "behind: text says it")


def timerfd(tap):
    for name, words in (("timerfd", r"expires in 1[56] min"), ("unarmed", "is not armed")):
        with Target("peers", name) as target:
            wait_blocked(target.pid, (READ,))
            wait = wait_until(lambda: (lambda w: w if w["target"] else None)(dump(target.pid)["threads"][0]["blocked_on"]),
                              "the timer")
            tap.equal((wait["kind"], wait["owner_pid"]), ("timer", None), f"{name}: a timer that is read")
            tap.check(re.fullmatch(words, wait["target"]), f"{name}: when it expires", wait)


def system_v(tap):
    """Nobody owns them: what is known is said, and no more."""
    for name, kind, what, remove in (("msgrcv", "message_queue", "queue {id}, key 0x0, 0 messages, last sent by process {peer}", "-q"),
                                     ("semop", "semaphore_set", "set {id}, key 0x0, 3 semaphores", "-s")):
        calls = {"msgrcv": (MSGRCV,), "semop": (SEMOP, SEMTIMEDOP)}[name]  # since glibc 2.34 the second one
        with Target("peers", name) as target:
            says = told(target)
            try:
                wait_blocked(target.pid, calls)
                wait = wait_until(lambda: (lambda w: w if w["target"] else None)(dump(target.pid)["threads"][0]["blocked_on"]),
                                  "what is known of it")
                tap.equal((wait["kind"], wait["owner_pid"], wait["target"]), (kind, None, what.format(**says)),
                          f"{name}: what it waits for")
                words = f" for a {'message queue' if name == 'msgrcv' else 'set of semaphores'}"
                tap.check(text_with(target, words), f"{name}: text says it")
            finally:
                subprocess.run([tool("ipcrm"), remove, str(says["id"])], check=True)


def by_daemon(tap):
    """A reader of a dump must be able to look at the processes that it names: the dump of another user's process names
    nobody of root's, who holds the other end of its pipe; one of root's does."""
    if os.geteuid() != 0:
        tap.skip("dumps by the daemon", "not root", "root")
        return
    ours, theirs = os.pipe(), os.pipe()
    readers = [subprocess.Popen(["cat"], stdin=ours[0], stdout=subprocess.DEVNULL),
               subprocess.Popen(["cat"], stdin=theirs[0], stdout=subprocess.DEVNULL, user=UNPRIVILEGED,
                                group=UNPRIVILEGED, extra_groups=[])]
    os.close(ours[0])
    os.close(theirs[0])

    def owner(report):
        wait = report["threads"][0].get("blocked_on") or {}
        return wait.get("kind"), wait.get("owner_pid")
    try:
        for reader in readers:
            wait_blocked(reader.pid, (READ,))
        for reader in readers:
            tap.check(wait_until(lambda: owner(dump(reader.pid)) == ("pipe", os.getpid()), "the holder"),
                      "the command names the holder")
        with Daemon() as daemon, daemon.client() as client:
            def told(pid):
                return owner(client.call("Capture", target={"pid": pid})["dump"])
            tap.check(wait_until(lambda: told(readers[0].pid) == ("pipe", os.getpid()), "the holder, by the daemon"),
                      "the daemon names it where only root reads the dump")
            for _ in range(3):
                tap.equal(told(readers[1].pid), ("pipe", None), "the daemon does not name it to another user")
    finally:
        for end in (ours[1], theirs[1]):
            os.close(end)
        for reader in readers:
            reader.wait()


HOARD = ("import os, signal, sys\n"
         "end = os.pipe()[0]\n"
         "for _ in range(int(sys.argv[1])): os.dup(end)\n"
         "print('ready', flush=True)\n"
         "signal.pause()\n")


def reads_from_sleeper(between):
    """A process that reads a pipe that another one, started before it, could write to; what is between their numbers."""
    ends = os.pipe()
    writer = subprocess.Popen(["sleep", "1000"], pass_fds=ends[1:])
    started = between()
    reader = subprocess.Popen(["cat"], stdin=ends[0])
    for end in ends:
        os.close(end)
    wait_blocked(reader.pid, (READ,))
    return reader, writer, started


def crowded(tap):
    """More open files than are looked through: the nearest processes are, and what is not found is said."""
    each = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 20000) - 100
    n = -(-120000 // each)
    if n > 40:
        tap.skip("a machine with many open files", "too few descriptors for a process", "ulimit -n 20000")
        return
    started = []

    def hoard():
        command = [sys.executable, "-c", HOARD, str(each)]
        soft = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (each + 100, each + 100)))
        started.extend(subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=soft) for _ in range(n))
        for one in started:
            one.stdout.readline()

    try:
        far, far_writer, _ = reads_from_sleeper(hoard)
        near, near_writer, _ = reads_from_sleeper(lambda: None)
        started += [far, far_writer, near, near_writer]

        def blocked_on(reader):
            return dump(reader.pid)["threads"][0].get("blocked_on") or {}
        tap.check(wait_until(lambda: blocked_on(near).get("owner_pid") == near_writer.pid, "the nearest process"),
                  "the nearest processes are looked through")
        wait = blocked_on(far)
        tap.check(wait and wait["owner_pid"] is None and wait["target"] is None, "no process and no target is made up", wait)
        said = [w for w in dump(far.pid)["warnings"] if w["code"] == "limit_reached"]
        tap.check(len(said) == 1 and "a part of the machine's open files" in said[0]["message"],
                  "a warning says that the search was cut", said)
    finally:
        for one in started:
            one.kill()
            one.wait()


READERS = ("import os, threading\n"
           "for _ in range(70): threading.Thread(target=os.read, args=(os.pipe()[0], 1), daemon=True).start()\n"
           "print('ready', flush=True)\n"
           "threading.Event().wait()\n")


def more_than_followed(tap):
    """More descriptors that are waited on than are looked at."""
    process = subprocess.Popen([sys.executable, "-c", READERS], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        found = wait_until(lambda: [w["message"] for w in dump(process.pid)["warnings"] if w["code"] == "limit_reached"],
                           "the limit")
        tap.equal(found, ["snapwalk looked for the other end of 64 descriptors; threads wait on more"],
                  "a limit is said")
    finally:
        process.kill()
        process.wait()


tap = Tap()
with tempfile.TemporaryDirectory() as directory:
    for name in WAYS:
        tap.guard(way, name, directory)
tap.guard(within)
tap.guard(several)
tap.guard(itself)
tap.guard(several_deadlocks)
tap.guard(timer)
tap.guard(behind)
tap.guard(timerfd)
tap.guard(system_v)
tap.guard(by_daemon)
tap.guard(crowded)
tap.guard(more_than_followed)
tap.done()
