#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
# serial
"""A process has its memory locked, and waits for a file system that does not answer. Each command that looks at it answers within
its limits. No probe is placed in a file that it maps: the kernel would wait for that lock, and all processes of the machine that fork for
the kernel; so no file with probes runs beside this one. The server of the file system is ended in time whatever happens.
"""
import concurrent.futures
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import fuse
from daemon import Daemon
from harness import SNAPWALK, TARGETS, Tap, Target, iterator_refused, state_of, wait_until
from safety import wait_confined
from test_hangs import RARE, Unit, commands, reap, run

RUNS = 3
LOCK_S = 3  # is waited for the lock where there is no limit: libwalk/process/pages.c
END_S = 5  # is taken for what is left at the end
AT_ONCE = 4
# A probe that waits for the lock keeps this machine from forking for so long, if the command is wrong.
PROBE_LIMIT_S = 8
READS, WAITS = 1, 2  # threads of tests/targets/locks_memory.c that wait: one has the lock, and another one waits for it


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


def lock(target, n):
    for k in range(1, n + 1):
        target.send("")
        try:
            wait_until(lambda k=k: waiting(target.pid) == k, f"{k} threads that wait", 10)
        except TimeoutError as error:
            raise Missing(str(error)) from error


@contextlib.contextmanager
def locked(directory, library, n, *args):
    """The server, and the target of which n threads wait for it; it maps the library, too."""
    with fuse.Fuse(directory, {"file": bytes(4096)}) as server:
        with Target("locks_memory", f"{directory}/file", library, *args) as target:
            server.stop_after(0)
            try:
                lock(target, n)
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
        tap.check(result[0] == 1 and f"process {target.pid} (locks_memory)" in result[2] and f"in {os.path.basename(library)} " in result[2],
                  f"{label}: refused, and it is said why", result)
        result = probe(tap, server, other, "func:callback", f"{label}, in a file that it does not map")
        if result is None:
            return
        tap.check(result[0] == 0, f"{label}: placed in a file that the process does not map", result)
        server.resume()
        wait_until(lambda: waiting(target.pid) == 0, "no thread waits")
        result = probe(tap, server, other, function, f"{label}, let go")
        tap.check(result and result[0] == 0, f"{label}: placed when the memory is not locked any more", result)


SAMPLED_S, RATE = 4, 199


def test_host(tap, directory):
    """A process of which each look waits for the lock is on a CPU all the time: others are sampled meanwhile, it is left out and
    that is said. A command that waited at each of its samples would take four of them."""
    with locked(directory, f"{TARGETS}/plugin.so", WAITS, "spin") as (_, target):
        _, result, where = run(["sample", "--all", "--duration", str(SAMPLED_S), "--rate", str(RATE), "--timeout",
                                str(END_S * 1000), "--format", "json"])
    reap()
    if not tap.check(result is not None, "all processes: ends", where):
        return
    said = re.search(r"(\d+) samples are lost: the memory of process (\d+)", result[2])
    most = (SAMPLED_S + END_S + LOCK_S) // LOCK_S + 2
    tap.check(said and int(said[2]) == target.pid and int(said[1]) > most,
              "all processes: no sample waits for the memory of one", result[2])


LOOKS, BETWEEN_S = 20, 0.05


def test_end(tap, directory):
    """A probe is there when memory is locked: the command does not take it out at once, and the machine can fork meanwhile."""
    library = shutil.copy(f"{TARGETS}/plugin.so", f"{directory}.so")
    words = [SNAPWALK, "on", f"func:{os.path.basename(library)}:plugin_run", "--json"]
    with Target("plugin_user", library) as other, locked(directory, library, 0) as (server, target):
        with ended_in_time(server.pid, PROBE_LIMIT_S) as said:
            command = subprocess.Popen([*words, str(other.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            wait_confined(command, "the probe is placed")
            lock(target, READS)
            command.send_signal(signal.SIGINT)
            states = []
            for _ in range(LOOKS):
                states.append(state_of(command.pid))
                time.sleep(BETWEEN_S)
            server.resume()
            out, err = command.communicate()
        tap.check(said["in time"] and "D" not in states, "end: the kernel does not wait for the lock", states)
        tap.check("Z" not in states, "end: the command waits for it", states)
        tap.check(command.returncode == 0, "end: it ends as always then", (command.returncode, out, err))


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
            tap.guard(unless_missing, test_end, directory)
            tap.guard(unless_missing, test_host, directory)
    unit.remove()
    tap.done()


if __name__ == "__main__":
    main()
