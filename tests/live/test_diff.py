#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The changes between two dumps: of files and of kept ones, of one process and of two."""
import json
import os
import tempfile

from daemon import Daemon
from harness import Tap, Target, dump, snapwalk, state_of, wait_blocked, wait_until

WAITS = (0, 35, 202, 230, 232)  # read, nanosleep, futex, clock_nanosleep, epoll_wait


def all_sleep(pid):
    return all(state_of(pid, int(tid)) == "S" for tid in os.listdir(f"/proc/{pid}/task"))


def stuck(tap, directory):
    """A deadlock: in both dumps the same, and the threads did not move."""
    with Target("locks", "deadlock") as target:
        wait_until(lambda: all_sleep(target.pid), "the deadlock")
        cycle = [int(n) for n in [l for l in target.lines if l.startswith("cycle")][0].split()[1:]]
        paths = [os.path.join(directory, f"{n}.json") for n in "ab"]

        def taken(path):
            # A deadlock is told when it is older than the capture.
            report = dump(target.pid)
            with open(path, "w") as file:
                json.dump(report, file)
            return report.get("deadlocks")
        for path in paths:
            wait_until(lambda: taken(path), "a dump with the deadlock")
        got = snapwalk("diff", *paths)
        tap.equal((got.returncode, got.stderr), (0, ""), "diff of two files")
        tap.check("\nDEADLOCK as before: " in got.stdout, "the deadlock is as before", got.stdout)
        got = json.loads(snapwalk("diff", "--json", *paths).stdout)
        tap.equal((got["same_process"], got["before"]["pid"], got["groups"]),
                  (True, target.pid, []), "the same process, and no stack that fewer have")
        still = sorted(tid for lock in got["locks"] if lock["held"] for tid in lock["still"])
        tap.equal(still, sorted(cycle), "threads that wait for a lock that is held as before")


def others(tap, directory):
    """Another process: only its stacks; files that are no dumps."""
    old, new = (os.path.join(directory, f"{name}.json") for name in ("a", "new"))
    with Target("threads", 5, 20) as target:
        with open(new, "w") as file:
            json.dump(dump(target.pid), file)
    got = snapwalk("diff", old, new)
    tap.check(got.returncode == 0 and "not the process of the first dump, which is locks" in
              got.stdout and "did not move" not in got.stdout, "another process", got.stdout)
    bad = os.path.join(directory, "bad.json")
    with open(bad, "w") as file:
        file.write('{"schema":"snapwalk.dump/1"')
    for words, status, why in (((old, bad), 1, "bad.json"), ((old, bad + "x/"), 1, "cannot be read"),
                               ((old,), 2, "two dumps"), ((old, old, old), 2, "two dumps")):
        got = snapwalk("diff", *words)
        tap.check(got.returncode == status and why in got.stderr and got.stdout == "",
                  f"diff of {len(words)}: {why}", got)
    with open(old) as one, open(new) as other, open(bad, "w") as both:
        both.write(f"{one.read()}\n{other.read()}\n")
    got = snapwalk("diff", old, bad)
    tap.check(got.returncode == 2 and "bad.json: it has several dumps" in got.stderr and
              got.stdout == "", "diff: a file of two dumps", got)
    output = os.path.join(directory, "out.txt")
    got = snapwalk("diff", old, new, "-o", output)
    with open(output) as file:
        tap.check(got.returncode == 0 and "only stacks" in file.read(), "-o", got)


def kept(tap, directory):
    """Dumps of the daemon, one of which is a file."""
    with Daemon() as daemon, Target("threads", 3, 10) as target, Target("chain_pie") as other:
        wait_blocked(target.pid, WAITS)
        first = daemon.capture(target.pid)["dump"]
        last = daemon.capture(other.pid)["dump"]
        path = os.path.join(directory, "first.json")
        with open(path, "w") as file:
            json.dump(first, file)
        socket = ("--socket", daemon.socket_path)
        got = json.loads(snapwalk("diff", "--json", path, "latest", *socket).stdout)
        tap.equal((got["before"]["id"], got["after"]["id"], got["same_process"]),
                  (first["id"], last["id"], False), "a file and the latest")
        daemon.capture(target.pid)
        run = snapwalk("diff", first["id"], str(target.pid), *socket)
        tap.check(run.returncode == 0 and "the same process" in run.stdout and
                  "did not move 4" in run.stdout, "an id and a process", run)
        tap.equal(snapwalk("diff", "x" * 70, "latest", *socket).returncode, 1, "no such dump")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        for test in tap.chosen(stuck, others, kept):
            tap.guard(test, directory)
    tap.done()


if __name__ == "__main__":
    main()
