#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 90s
"""Each command answers within its limits when a file system that the target chose stops answering.

A FUSE server (fuse.py) stops before the command begins, and after some of the requests that the command has made of it
when it answered. What lies there: the program, a library, the working directory, debug files, .dwo files, the perf map,
the root directory of a container. test_locked.py has a target whose memory is locked for that.

SNAPWALK_HANGS=all: every command at every place, stopped after each number of requests. Words are names of places:
only those."""
import concurrent.futures
import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import fuse
from daemon import Daemon
from harness import SNAPWALK, TARGETS, Tap, Target, hangs_s, state_of, stolen_s, wait_until

ALL = os.environ.get("SNAPWALK_HANGS") == "all"
# The time that a command may take on a machine that does other things, and more where the load is high; on a quiet one it
# takes 3 s.
PATIENCE_S = 30
AT_ONCE = 4  # places that are looked at
# In these the server also stops in the middle; the last ones are for SNAPWALK_HANGS=all.
MIDDLE = ("dump", "daemon", "sample", "top")
RARE = ("stop", "cpu", "burst", "keep", "explain", "comm", "sample by daemon", "leaks", "page")
SPLIT = """
#include <stdio.h>
#include <unistd.h>
static inline __attribute__((always_inline)) int inner(int *n) { pause(); return n[0] * n[1]; }
__attribute__((noinline)) int outer(int *n) { int m = inner(n); return m + n[2]; }
int main(void) { int n[3] = {1, 2, 3}; puts("ready"); fflush(stdout); return outer(n); }
"""


def read(name):
    with open(os.path.join(TARGETS, name), "rb") as file:
        return file.read()


def copy(name, directory):
    return shutil.copy(os.path.join(TARGETS, name), directory)


def chroot(path):
    return lambda: (os.chroot(path), os.chdir("/"))


class Missing(Exception):
    """Why there can be no such place here, and what would enable it."""


# ---- places: each yields the server and the target -------------------------------------------------

@contextlib.contextmanager
def program(directory):
    with fuse.Fuse(directory, {"bin/chain": read("chain")}) as server:
        with Target("", path=f"{directory}/bin/chain") as target:
            yield server, target


@contextlib.contextmanager
def library(directory):
    with fuse.Fuse(directory, {"lib/plugin.so": read("plugin.so")}) as server:
        with Target("plugin_user", f"{directory}/lib/plugin.so") as target:
            yield server, target


@contextlib.contextmanager
def working_directory(directory):
    with fuse.Fuse(directory, {"work/file": b"x"}) as server:
        with Target("chain", cwd=f"{directory}/work") as target:
            yield server, target


@contextlib.contextmanager
def debug_directory(directory):
    """DIR/.debug, beside a program on a disk."""
    path = copy("chain_separate", directory)
    os.mkdir(f"{directory}/.debug")
    with fuse.Fuse(f"{directory}/.debug", {"chain_separate.debug": read("chain_separate.debug")}) as server:
        with Target("", path=path) as target:
            yield server, target


@contextlib.contextmanager
def debug_link(directory):
    """NAME.debug is a symbolic link, beside a program on a disk."""
    path = copy("chain_separate", directory)
    os.mkdir(f"{directory}/served")
    os.symlink("served/deep/file", f"{path}.debug")
    with fuse.Fuse(f"{directory}/served", {"deep/file": read("chain_separate.debug")}) as server:
        with Target("", path=path) as target:
            yield server, target


@contextlib.contextmanager
def debug_root(directory):
    """/usr/lib/debug, where a name is looked up that the program chose."""
    path = copy("chain_separate", directory)
    name = f"{path}.debug".strip("/")
    if not os.path.isdir("/usr/lib/debug"):
        os.makedirs("/usr/lib/debug", exist_ok=True)
    with fuse.Fuse("/usr/lib/debug", {name: read("chain_separate.debug")}) as server:
        with Target("", path=path) as target:
            yield server, target


@contextlib.contextmanager
def dwo(directory):
    """The directory in which the compiler left the .dwo file."""
    objects = f"{directory}/objects"
    os.mkdir(objects)
    with open(f"{objects}/split.c", "w") as file:
        file.write(SPLIT)
    for command in (["gcc", "-O2", "-g", "-gsplit-dwarf", "-c", "split.c"], ["gcc", "-o", "../split", "split.o"]):
        subprocess.run(command, cwd=objects, check=True)
    with open(f"{objects}/split.dwo", "rb") as file:
        contents = file.read()
    with fuse.Fuse(objects, {"split.dwo": contents}) as server:
        with Target("", path=f"{directory}/split") as target:
            yield server, target


@contextlib.contextmanager
def perf_map(directory):
    """The target's /tmp; any name is there."""
    parent = os.path.dirname(directory)
    path = copy("jit_files", parent)
    with fuse.Fuse(directory, {"*": b"10000 10 nothing\n"}) as server:
        with Target("", "map", f"{parent}/map", path=path,
                    preexec_fn=lambda: (fuse.enter_mounts(), fuse.bind(directory, "/tmp"))) as target:
            yield server, target


@contextlib.contextmanager
def container(directory):
    """The root directory, and the program in it."""
    with fuse.Fuse(directory, {"chain": read("chain_static")}) as server:
        with Target("", path="/chain", preexec_fn=chroot(directory)) as target:
            yield server, target


@contextlib.contextmanager
def other_names(directory):
    """The target's names lead to files on a disk in its own mount namespace, and to the server in ours."""
    path = copy("chain_separate", directory)
    copy("chain_separate.debug", directory)
    with Target("", path=path, preexec_fn=fuse.enter_mounts) as target:
        with fuse.Fuse(directory, {"chain_separate": b"x", "chain_separate.debug": b"x"}) as server:
            yield server, target


@contextlib.contextmanager
def served_disk(directory):
    """A library on FUSE that has the number of a disk (fuseblk)."""
    image = f"{os.path.dirname(directory)}/image"
    with open(image, "wb") as file:
        file.truncate(1 << 20)
    made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True)
    if made.returncode != 0:
        raise Missing(made.stderr.strip(), "loop devices")
    device = made.stdout.strip()
    try:
        with fuse.Fuse(directory, {"lib/plugin.so": read("plugin.so")}, device) as server:
            with Target("plugin_user", f"{directory}/lib/plugin.so") as target:
                yield server, target
    finally:
        wait_until(lambda: subprocess.run(["losetup", "--detach", device], capture_output=True).returncode == 0,
                   f"{device} to be free")


@contextlib.contextmanager
def overlay(directory):
    """The program, on overlayfs with a layer of the server."""
    layers = [f"{os.path.dirname(directory)}/{name}" for name in ("served", "empty")]
    for layer in layers:
        os.mkdir(layer)
    with fuse.Fuse(layers[0], {"bin/chain": read("chain")}) as server:
        try:
            fuse.overlay(layers, directory)
        except OSError as error:
            raise Missing(str(error), "overlayfs") from error
        try:
            with Target("", path=f"{directory}/bin/chain") as target:
                yield server, target
        finally:
            fuse.unmount(directory)


PLACES = (program, library, working_directory, debug_directory, debug_link, debug_root, dwo, perf_map, container,
          other_names, served_disk, overlay)


# ---- commands --------------------------------------------------------------------------------------

class Unit:
    """A cgroup with the name of a unit; None where there can be none."""

    def __init__(self):
        self.name = f"hangs{os.getpid()}.service"
        self.path = None
        for base in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
            path = os.path.join(base, self.name)
            with contextlib.suppress(OSError):
                os.mkdir(path)
                if os.path.exists(f"{path}/cgroup.procs"):
                    self.path = path
                    return
                os.rmdir(path)

    def enter(self, pid):
        with open(f"{self.path}/cgroup.procs", "w") as file:
            file.write(str(pid))

    def remove(self):
        if self.path:
            wait_until(lambda: not open(f"{self.path}/cgroup.procs").read(), "its processes to end")
            os.rmdir(self.path)


def commands(target, daemon, unit, output):
    pid = str(target.pid)
    via = ("--via", "daemon", "--socket", daemon.socket_path)
    found = {
        "dump": [pid],
        "limited": ["dump", "--timeout", "1000", "--symbols", "none", pid],
        "no sandbox": ["dump", "--no-sandbox", pid],
        "stop": ["dump", "--stop", "always", "--max-stop", "10000", pid],
        "daemon": ["dump", *via, pid],
        "sample": ["sample", "--via", "direct", "--duration", "1", pid],
        "cpu": ["sample", "--via", "direct", "--mode", "cpu", "--duration", "1", pid],
        "sample by daemon": ["sample", *via, "--duration", "1", pid],
        "top": ["top", "--max-stop", "10000", "--count", "2", "--interval", "100", pid],
        "burst": ["dump", "--via", "direct", "--burst", "2,50", pid],
        "record": ["record", "--via", "direct", "-o", output, pid],
        "keep": ["dump", "--via", "direct", "--keep", output, pid],
        "verify": ["verify", pid],
        "explain": ["explain", pid, "0x1000"],
        "doctor": ["doctor", pid],
        "on": ["on", "syscall:pause", "-d", "1", pid],
        "leaks": ["leaks", pid, "--of", "fds", "-d", "1"],
        "page": ["dump", "--via", "direct", "-o", f"{output}.html", pid],
        "comm": ["dump", "--via", "direct", "--comm", os.path.basename(target.command[0])],
    }
    if unit.path:
        found["unit"] = ["dump", "--via", "direct", "--unit", unit.name]
    return found


MAY_BE_EMPTY = ("verify", "explain", "cpu", "on", "leaks")


def where_it_waits(pid):
    """A line for each thread of a process and of those that it has made: what the thread does."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        said = []
        for name in ("comm", "wchan", "syscall", "stack", "children"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{tid}/{name}", errors="replace") as file:
                said.append(" ".join(file.read().split()))
        found.append(f"{pid}/{tid} {state_of(pid, tid)}: {'; '.join(said)}")
        for child in said[-1].split() if said else ():
            with contextlib.suppress(OSError):
                found += where_it_waits(int(child))
    return found


def run(words):
    """(seconds, result, None); (seconds, None, where it waits) when it does not end, and was killed.

    What waits for a server that does not answer ends when the server goes on: the process is collected by reap().
    """
    begin, stolen = time.monotonic(), stolen_s()
    process = subprocess.Popen([SNAPWALK, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace")
    while True:
        try:
            out = process.communicate(timeout=1)
            break
        except subprocess.TimeoutExpired:
            if time.monotonic() - begin < max(PATIENCE_S, hangs_s() / 4):
                continue
            where = "\n".join([" ".join(words), *where_it_waits(process.pid)])
            process.kill()
            HUNG.append(process)
            return time.monotonic() - begin - (stolen_s() - stolen), None, where
    return time.monotonic() - begin - (stolen_s() - stolen), (process.returncode, *out), None


HUNG = []  # processes that were killed and are not collected


def reap():
    """Collects the processes that hung. The server has to go on before."""
    while HUNG:
        HUNG.pop().communicate()


def cell(tap, label, name, words, server, output, stop_after):
    """The number of requests of the command, None when it hung."""
    asked = server.asked
    server.stop_after(stop_after)
    took, result, where = run(words)
    server.resume()
    reap()
    asked = server.asked - asked
    if os.path.isdir(output):
        shutil.rmtree(output)
    if result is None:
        tap.check(False, f"{label}: ends", where)
        return None
    status, out, err = result
    good = status in (0, 3) or name in MAY_BE_EMPTY
    tap.check(good, f"{label}: answers", f"status {status} after {took:.1f} s\n{out[:1000]}\n{err[:1000]}")
    return asked


def stops(name, asked):
    if ALL:
        return range(asked)
    return sorted({0, 1, asked // 2, asked - 1} & set(range(asked))) if name in MIDDLE else (0,)


def test_place(tap, place, daemon, unit):
    try:
        try_place(tap, place, daemon, unit)
    except Missing as missing:
        tap.skip(place.__name__, *missing.args)


def try_place(tap, place, daemon, unit):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as parent:
        directory, output = f"{parent}/d", f"{parent}/out"
        os.mkdir(directory)
        with place(directory) as (server, target):
            if unit.path:
                unit.enter(target.pid)
            for name, words in commands(target, daemon, unit, output).items():
                if name in RARE and not ALL:
                    continue
                label = f"{place.__name__}, {name}"
                asked = 1
                if ALL or name in MIDDLE:
                    asked = cell(tap, f"{label}, server answers", name, words, server, output, fuse.WITHOUT_LIMIT)
                for n in stops(name, max(asked or 0, 1)):
                    cell(tap, f"{label}, stopped after {n} of {asked}", name, words, server, output, n)
            tap.check(state_of(target.pid) in "SR", f"{place.__name__}: the target goes on")


RUNS = 3


def test_core(tap):
    """The names in a core file are chosen by whoever wrote it."""
    for place in (program, library, container):
        name = place.__name__
        with tempfile.TemporaryDirectory(dir="/var/tmp") as parent:
            directory, core = f"{parent}/d", f"{parent}/core"
            os.mkdir(directory)
            with place(directory) as (server, target):
                subprocess.run(["gdb", "-q", "-batch", "-p", str(target.pid), "-ex", f"gcore {core}"],
                               stdin=subprocess.DEVNULL, capture_output=True, check=True)
                made = {}
                for limit in (fuse.WITHOUT_LIMIT, 0):
                    server.stop_after(limit)
                    _, result, where = run(["dump", "--json", "--core", core])
                    server.resume()
                    reap()
                    if tap.check(result is not None and result[0] in (0, 3),
                                 f"core file, {name}, server {'stopped' if limit == 0 else 'answers'}: answers",
                                 where or result):
                        made[limit] = json.loads(result[1])
                tap.check(all(len(dump["threads"]) > 0 for dump in made.values()) and len(made) == 2,
                          f"core file, {name}: its threads are there", made.keys())
                if name != "container":  # there the name is another file's, or none's
                    tap.check(all("not opened, as the way there leads to a file system" in
                                  " ".join(w["message"] for w in dump["warnings"]) for dump in made.values()),
                              f"core file, {name}: it is told that the server was not asked",
                              [dump["warnings"] for dump in made.values()])
                    tap.check("its file is gone" not in json.dumps(list(made.values())),
                              f"core file, {name}: and not that the file is gone", [dump["warnings"] for dump in made.values()])


LIBRARIES, SLOW_MS, SLOW_LIMIT_S = 80, 30, 8


def test_slow(tap):
    """Each answer comes, but late: no more is waited for all of them together than for one that does not come."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        names = [f"lib{i}.so" for i in range(LIBRARIES)]
        with fuse.Fuse(directory, dict.fromkeys(names, read("plugin.so"))) as server:
            preload = " ".join(os.path.join(directory, name) for name in names)
            with Target("chain", env={**os.environ, "LD_PRELOAD": preload}) as target:
                server.slow_ms = SLOW_MS
                for _ in range(RUNS):
                    took, result, where = run(["dump", "--via", "direct", str(target.pid)])
                    if result is None or took < SLOW_LIMIT_S:
                        break
                server.slow_ms = 0
                reap()
                tap.check(result is not None and result[0] in (0, 3) and took < SLOW_LIMIT_S,
                          f"{LIBRARIES} libraries of a slow server: there is an answer",
                          where or f"{took} {result}")


def some(tap, names):
    """In mount namespaces and with a daemon of its own: the places of these names, and what else has one of them."""
    fuse.enter_mounts()
    unit = Unit()
    if "slow" in names:
        tap.guard(test_slow)
    if "core" in names:
        tap.guard(test_core)
    with Daemon({"MinIntervalSec": 0, "StopPercent": 100, "KeepFree": "0"}) as daemon:
        for place in PLACES:
            if place.__name__ in names:
                tap.guard(test_place, place, daemon, unit)
    unit.remove()


RESULT = re.compile(r"^(not )?ok \d+ - (.*?)(?: # SKIP (.*); needs (.*))?$")


def take_over(tap, names, output):
    """The results of a process that looked at some; what it says of a failure, too."""
    lines = output.splitlines()
    for i, line in enumerate(lines):
        found = RESULT.match(line)
        if found and found[3]:
            tap.skip(found[2], found[3], found[4])
        elif found:
            said = itertools.takewhile(lambda line: line.startswith("#"), lines[i + 1:])
            tap.check(not found[1], found[2], "\n".join(line[2:] for line in said))
    tap.check(any(line.startswith("1..") for line in lines), f"{' '.join(names)}: looked at to the end", output[-2000:])


def main():
    tap = Tap()
    missing = fuse.available()
    if missing:
        tap.skip("hangs", missing, "root and /dev/fuse")
        tap.done()
    if len(sys.argv) > 1:
        some(tap, sys.argv[1:])
        tap.done()
    unit = Unit()
    if not unit.path:
        tap.skip("--unit", "no cgroup can be made", tap.CGROUPS)
    unit.remove()
    # Most of the time is spent waiting for limits.
    names = ["slow", "core", *(place.__name__ for place in PLACES)]
    groups = [names[i::AT_ONCE] for i in range(AT_ONCE)]
    children = [subprocess.Popen([sys.executable, __file__, *group], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace") for group in groups]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for group, output in zip(groups, pool.map(lambda child: child.communicate()[0], children)):
            take_over(tap, group, output)
    tap.done()


if __name__ == "__main__":
    main()
