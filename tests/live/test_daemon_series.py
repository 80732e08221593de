#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The captures of one Sample: what one of them found out of names the next ones need not look up."""
import os
import shutil
import signal
import struct
import sys

from daemon import Daemon, ended, join, n_fds, number_of
from harness import BUILD, TARGETS, Tap, Target, state_of, wait_blocked, wait_until

OWN = ("plugin_inner", "plugin_run")


def captures(replies):
    """One dump after the other."""
    parts = []
    for reply in replies:
        parts.append(reply)
        if "summary" in reply:
            yield join(parts)[0]
            parts = []


def lines_of(dump):
    """{function of the library: (file, line)}"""
    return {f["function"]: (f.get("file"), f.get("line"))
            for stack in dump["stacks"] for f in stack["frames"] if f.get("function") in OWN}


def seen_in(dump):
    """All that a capture of threads that do not move says of code."""
    return ([(s["id"], s["end"], s["frames"]) for s in dump["stacks"]], dump["modules"])


def wipe_debug_information(path):
    """The file stays the same one: inode, size and time."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        data = file.read()
        table, = struct.unpack_from("<Q", data, 40)
        n, names = struct.unpack_from("<HH", data, 60)
        sections = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(n)]
        for name, _, _, _, offset, size in sections:
            begin = sections[names][4] + name
            if data[begin:].startswith((b".debug_info\0", b".debug_line\0")):
                file.seek(offset)
                file.write(bytes(size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def names_are_kept(tap, daemon):
    path = os.path.join(daemon.directory, "plugin.so")
    shutil.copy(os.path.join(TARGETS, "plugin.so"), path)
    with Target("plugin_user", path) as target, daemon.client() as client:
        wait_blocked(target.pid, calls=(0, 34))
        dumps = captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10))
        first = next(dumps)
        wanted = lines_of(first)
        if not tap.check(sorted(wanted) == sorted(OWN) and all(line for _, line in wanted.values()),
                         "the first capture has the lines of the library", wanted):
            return
        # No worker looks at it while it has another time.
        spawner = daemon.spawner
        os.kill(spawner, signal.SIGSTOP)
        try:
            wait_until(lambda: state_of(spawner) == "T", "the spawner to stop")
            wait_until(lambda: all(map(ended, daemon.workers())), "the workers to end")
            wipe_debug_information(path)
        finally:
            os.kill(spawner, signal.SIGCONT)
        later = [next(dumps) for _ in range(3)][-1]
        tap.equal(lines_of(later), wanted, "so have those after it, though the file has none now")
        tap.equal(seen_in(later), seen_in(first), "and all else is the same")
        # Other options: not the capture that is under way.
        fresh = lines_of(daemon.capture(target.pid, options={"depth": 50})["dump"])
        tap.equal(sorted(fresh), sorted(OWN), "a capture that is none of them has the functions")
        tap.check(not any(line for _, line in fresh.values()), "without lines", fresh)


def nothing_grows(tap, daemon):
    """Each Sample that ends gives back what it kept."""
    with Target("threads", 4, 10) as target:
        def run():
            with daemon.client() as client:
                return sum(1 for _ in captures(client.stream(
                    "Sample", target={"pid": target.pid}, interval_ms=10, count=2)))
        tap.equal(run(), 2, "as many captures as asked for")
        wait_until(lambda: not daemon.workers(), "the workers to end")
        if not daemon.root:  # it cannot be looked into
            return
        files = n_fds(daemon.pid)
        tap.equal([run() for _ in range(4)], [2] * 4, "again, four times")
        wait_until(lambda: n_fds(daemon.pid) <= files, "the descriptors to be closed")
        tap.check(number_of(daemon.pid, "RssShmem") == 0, "the daemon maps none of it")


def main():
    tap = Tap()
    if not os.path.exists(os.path.join(BUILD, "bin", "snapwalkd")):
        sys.exit("snapwalkd was not built")
    with Daemon() as daemon:
        for test in (names_are_kept, nothing_grows):
            tap.guard(test, daemon)
    tap.done()


if __name__ == "__main__":
    main()
