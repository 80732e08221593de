#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
# serial
"""A process has its memory locked, and waits for a file system that does not answer. Each command that looks at it answers within
its limits. No probe is placed in a file that it maps: the kernel would wait for that lock, and all processes of the machine that fork for
the kernel; so no file with probes runs beside this one. The server of the file system is ended in time whatever happens.
"""
import concurrent.futures
import contextlib
import os
import select
import shutil
import signal
import sys
import tempfile

import fuse
from daemon import Daemon
from harness import TARGETS, Tap, Target, iterator_refused, state_of, wait_until
from test_hangs import RARE, Unit, commands, reap, run

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
# A probe that waits for the lock keeps this machine from forking for so long, if the command is wrong.
PROBE_LIMIT_S = 8
READS, WAITS = 1, 2  # threads of the target that wait: nobody else waits for the lock, or somebody does


class Missing(Exception):
    """This kernel unmaps in another way."""


def waiting(pid):
    return sum(state_of(pid, tid) == "D" for tid in os.listdir(f"/proc/{pid}/task"))


@contextlib.contextmanager
def ended_in_time(pid, limit_s):
    """A process of its own, there before anything can go wrong, ends that one, unless it is told in time that all is well."""
    told, tell = os.pipe()
    guard = os.fork()
    if guard == 0:
        os.close(tell)
        if not select.select([told], [], [], limit_s)[0]:
            os.kill(pid, signal.SIGKILL)
            os._exit(1)
        os._exit(0)
    os.close(told)
    said = {}
    try:
        yield said
    finally:
        os.close(tell)
        said["in time"] = os.waitpid(guard, 0)[1] == 0


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
        reap()
        for name, (_, result, where) in results.items():
            tap.check(result is not None, f"locked memory, {name}: ends", result or where)
        if results["dump"][1]:
            tap.check("locks its memory" in results["dump"][1][2], "locked memory: it is said", results["dump"][1])
        tap.check(took < LOCK_S, "locked memory: no longer than --timeout is waited", took)


def probe(tap, server, other, function, label):
    """(return code, standard output, standard error) of the command; None: the kernel waited for the lock."""
    with ended_in_time(server.pid, PROBE_LIMIT_S) as said:
        _, result, where = run(["on", function, "--duration", "1", "--json", str(other.pid)])
    reap()
    return result if tap.check(result and said["in time"], f"{label}: ends before the server is ended", result or where) else None


def test_probes(tap, directory, n, how):
    """A probe in a library that the process and another one map is refused; later it is placed. Nobody else maps that library:
    whoever locks memory beside this test matters to none of it."""
    library = shutil.copy(f"{TARGETS}/plugin.so", f"{directory}.so")
    function, label = f"func:{os.path.basename(library)}:plugin_run", f"probe, {how}"
    with Target("plugin_user", library) as other, locked(directory, library, n) as (server, target):
        result = probe(tap, server, other, function, label)
        if result is None:
            return
        tap.check(result[0] == 1 and f"process {target.pid} (python" in result[2] and f"in {os.path.basename(library)} " in result[2],
                  f"{label}: refused, and it is said why", result)
        result = probe(tap, server, other, "func:callback", f"{label}, in a file that it does not map")
        tap.check(result and result[0] == 0, f"{label}: placed in a file that the process does not map", result)
        server.resume()
        wait_until(lambda: waiting(target.pid) == 0, "no thread waits")
        result = probe(tap, server, other, function, f"{label}, let go")
        tap.check(result and result[0] == 0, f"{label}: placed when the memory is not locked any more", result)


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
    refused = iterator_refused()
    unit = Unit()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as parent:
        directory = f"{parent}/d"
        os.mkdir(directory)
        with Daemon({"MinIntervalSec": 0, "StopPercent": 100, "KeepFree": "0"}) as daemon:
            tap.guard(unless_missing, test_commands, directory, daemon, unit)
        if refused:
            tap.skip("probes", refused, "CAP_BPF, CAP_PERFMON")
        else:
            tap.guard(unless_missing, test_probes, directory, READS, "the lock is held for reading")
            tap.guard(unless_missing, test_probes, directory, WAITS, "others wait for the lock")
    unit.remove()
    tap.done()


if __name__ == "__main__":
    main()
