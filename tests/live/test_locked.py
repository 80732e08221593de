#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
# serial
"""A process has its memory locked, and waits for a file system that does not answer. Each command that looks at it answers within
its limits. It runs alone: whoever places a probe in a file that the process maps waits for that lock in the kernel, and each
fork(2) of the machine with it.
"""
import concurrent.futures
import contextlib
import os
import sys
import tempfile

import fuse
from daemon import Daemon
from harness import TARGETS, Tap, Target, state_of, wait_until
from test_hangs import RARE, Unit, commands, run

# A thread unmaps a file whose pages have to be written first: munmap(2) has the lock for reading by then. Another one waits
# for the lock to map memory, and whoever comes later waits for that one.
LOCKS = """
import ctypes, mmap, os, sys, threading
memory = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)
memory[0] = 1
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
library = ctypes.CDLL(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=ctypes.CDLL(None).munmap, args=(ctypes.c_void_p(address), 4096)).start()
sys.stdin.readline()
threading.Thread(target=mmap.mmap, args=(-1, 4096)).start()
sys.stdin.readline()
"""
RUNS = 3
LOCK_S = 3  # is waited for the lock where there is no limit: libwalk/process/pages.c
AT_ONCE = 4
WAITS = 2  # threads of the target


class Missing(Exception):
    """This kernel unmaps in another way."""


def waiting(pid):
    return sum(state_of(pid, tid) == "D" for tid in os.listdir(f"/proc/{pid}/task"))


@contextlib.contextmanager
def locked(directory, library, n):
    """The server, and the target of which n threads wait for it; it maps the library, too."""
    with fuse.Fuse(directory, {"file": bytes(4096)}) as server:
        with Target("", "-c", LOCKS, f"{directory}/file", library, path=sys.executable) as target:
            server.stop_after(0)
            try:
                for k in range(1, n + 1):
                    target.send("")
                    try:
                        wait_until(lambda k=k: waiting(target.pid) == k, f"{k} threads that wait", 10)
                    except TimeoutError as error:
                        raise Missing(str(error)) from error
                yield server, target
            finally:
                with contextlib.suppress(OSError):  # it was ended
                    server.resume()


def test_commands(tap, directory, daemon, unit):
    """Nobody can read the memory."""
    with locked(directory, f"{TARGETS}/plugin.so", WAITS) as (server, target):
        words = {name: words for name, words in commands(target, daemon, unit, f"{directory}.out").items()
                 if name not in (*RARE, "unit", "verify")}
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = dict(zip(words, pool.map(run, words.values())))
        took = LOCK_S
        # Whoever waits without regard to the limit does so each time; a busy machine does not.
        for _ in range(RUNS):
            took = took if took < LOCK_S or results["limited"][1] is None else run(words["limited"])[0]
        server.resume()
        for name, (where, result) in results.items():
            if result is None:
                where[0].communicate()
            tap.check(result is not None, f"locked memory, {name}: ends", result or where[1])
        if results["dump"][1]:
            tap.check("locks its memory" in results["dump"][1][2], "locked memory: it is said", results["dump"][1])
        tap.check(took < LOCK_S, "locked memory: no longer than --timeout is waited", took)


def unless_missing(tap, test, *args):
    try:
        test(tap, *args)
    except Missing as missing:
        tap.skip(test.__name__, str(missing), "a kernel that unmaps so")


def main():
    tap = Tap()
    missing = fuse.available()
    if missing:
        tap.skip("locked memory", missing, "root and /dev/fuse")
        tap.done()
    fuse.enter_mounts()
    unit = Unit()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as parent:
        directory = f"{parent}/d"
        os.mkdir(directory)
        with Daemon({"MinIntervalSec": 0, "StopPercent": 100, "KeepFree": "0"}) as daemon:
            tap.guard(unless_missing, test_commands, directory, daemon, unit)
    unit.remove()
    tap.done()


if __name__ == "__main__":
    main()
