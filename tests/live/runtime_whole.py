#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""The troubles of a process as a whole: collections of garbage, pools at work, event loops held up."""
import os
import re
import subprocess
import tempfile

from harness import PATIENT, Tap, dump, snapwalk, wait_until
from runtime_jvm import SOURCES, chosen, machines
from runtime_locks import Program
from runtime_python import PROGRAMS, interpreters, minor

WHOLE = os.path.join(PROGRAMS, "whole.py")
LOOKS = 10


def first_lines(pid):
    return "\n".join(snapwalk(pid, *PATIENT).stdout.splitlines()[:9])


def unwrapped(text):
    """The lines of a text, in which a line that goes on in the next one is one."""
    return re.sub(r"\n +(?=\S)", " ", text).split("\n")


def java_collects(tap, version, home, classes):
    """A JVM that only collects, 10 looks: the collection is told, and never a thread that asked for it."""
    for collector in ("-XX:+UseParallelGC", "-XX:+UseG1GC", "-XX:+UseSerialGC"):
        command = (os.path.join(home, "bin", "java"), "-Xmx64m", collector, "-XX:-UseGCOverheadLimit", "-cp", classes,
                   "Collects", "collects")
        with Program(*command) as program:
            wait_until(lambda: dump(program.pid, *PATIENT)["process"]["runtimes"][0]["collecting"]["number"] > 20,
                       "some collections")
            texts = [first_lines(program.pid) for _ in range(LOOKS)]
            told = [text for text in texts if re.search(r"\n(Collecting garbage|The last collection of garbage): ", text)]
            # A capture in which threads ran says nothing of the counters.
            tap.check(len(told) > LOOKS / 2, f"java {version} {collector}: the collection is told", texts)
            blamed = [text for text in texts if re.search(r"threads? waits? for http-\d \(\d+\), (waiting|sleeping)", text)]
            tap.equal(blamed, [], f"java {version} {collector}: no thread is blamed")


JAVA_POOLS = {  # how many threads have work; the pool: threads, most, queued
    "pool": (4, "Java thread pool", ("ThreadPoolExecutor", 4, 4, 7), "; it may have no more; 7 items of work wait in its queue\n"),
    "array": (4, "Java thread pool", ("ThreadPoolExecutor", 4, 4, 3), "; it may have no more; 3 items of work wait in its queue\n"),
    "fork": (2, "Java fork-join pool", ("ForkJoinPool", 2, None, 4), "; 4 items of work wait in its queue\n"),
    "free": (None, None, ("ThreadPoolExecutor", 5, 5, 0), None),
}


def java_pools(tap, version, home, classes):
    for mode, (n, name, pool, told) in JAVA_POOLS.items():
        for options in ((), ("-XX:+UseSerialGC", "-XX:-UseCompressedOops")):
            with Program(os.path.join(home, "bin", "java"), *options, "-cp", classes, "Collects", mode) as program:
                what = f"java {version} {' '.join(options)}: {mode}"
                text = first_lines(program.pid)
                if n is None:
                    tap.check(" are at work" not in text, what, text)
                else:
                    said = f"{n} of {n} threads of the {name} are at work, all in Collects.order Collects.java:"
                    line = next((line + "\n" for line in unwrapped(text) if said in line), "")
                    tap.check(line.endswith(told), what, text)
                tap.equal(pools(dump(program.pid, *PATIENT)), {pool: pool[1]}, f"{what}: the pool of each worker")
                tap.check("Collecting garbage" not in text, f"{what}: nothing is collected", text)


def java(tap):
    found = chosen(machines())
    if not found:
        tap.skip("needs a JDK (openjdk-17-jdk-headless)")
    for version, home in found.items():
        with tempfile.TemporaryDirectory() as classes:
            subprocess.run([os.path.join(home, "bin", "javac"), "-d", classes, os.path.join(SOURCES, "Collects.java")],
                           check=True)
            java_collects(tap, version, home, classes)
            java_pools(tap, version, home, classes)


def pools(report):
    """The pools of the threads, and how many are of each."""
    found = {}
    for thread in report["threads"]:
        pool = thread.get("pool")
        if pool:
            key = (pool["name"], pool["threads"], pool["most"], pool["queued"], pool["address"])
            found[key[:4]] = found.get(key[:4], 0) + 1
    return found


PYTHON_POOLS = {
    "pool": (("ThreadPoolExecutor", 3, 3, 6), "; it may have no more; 6 items of work wait in its queue\n"),
    "free": (("ThreadPoolExecutor", 4, 4, 0), ""),
}


def has_names(pid):
    """Whether the interpreter's own functions have names, by which a collection is told."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        files = {line.split()[-1] for line in maps if re.search(r"r-xp .*/(lib)?python3[^/]*$", line)}
    return any(" gc_collect" in subprocess.run(["nm", file], capture_output=True, text=True).stdout for file in files)


def python(tap):
    for version, interpreter in interpreters().items():
        name = f"python {version}"
        if minor(version) < 8:
            continue
        for mode, wanted in (("pool", "3 of 3 threads of the Python thread pool are at work, all in order whole.py:"),
                             ("free", None), ("loop", "has been held up for "), ("idle", None),
                             ("collect", "\nCollecting garbage (python): MainThread (")):
            with Program(interpreter, WHOLE, mode) as program:
                if mode == "loop":
                    wait_until(lambda: dump(program.pid, *PATIENT)["threads"][0]["since_ms"] > 1100, "a second")
                if mode == "collect" and not has_names(program.pid):
                    continue
                text = first_lines(program.pid)
                if mode in PYTHON_POOLS:
                    pool, told = PYTHON_POOLS[mode]
                    tap.equal(pools(dump(program.pid, *PATIENT)), {pool: pool[1]}, f"{name}: {mode}: the pool of each worker")
                    tap.check(told in "\n".join(unwrapped(text)), f"{name}: {mode}: what waits in its queue", text)
                if wanted is not None:
                    tap.check(wanted in text, f"{name}: {mode}", text)
                else:
                    tap.check(" are at work" not in text and "held up" not in text, f"{name}: {mode}", text)


if __name__ == "__main__":
    tap = Tap()
    tap.guard(java)
    tap.guard(python)
    tap.done()
