#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 30s
"""node's event loop: since when it has not looked for events, and for how many requests it waits."""
import os
import re
import tempfile
import time

from harness import Tap, patient_dump, snapwalk, stack_of, wait_until
from runtime_v8 import Node, nodes

HELD = re.compile(r"The event loop of \S+ \(\d+\) has been held up for ([0-9.]+) s, now in (\w+) ")
LOOKS = int(os.environ.get("SNAPWALK_STOPS", "20"))


def loop_of(report):
    return next(r for r in report["process"]["runtimes"] if r["name"] == "v8").get("event_loop")


def functions_of(pid):
    return {f["function"] for f in stack_of(patient_dump(pid), pid)["frames"]}


def check_held(tap, node, mode, function):
    with Node(node, "loop.js", arguments=[mode]) as running:
        wait_until(lambda: function in functions_of(running.pid), f"{function} to begin")
        begun = time.monotonic()
        time.sleep(1.5)
        before = time.monotonic() - begun
        lines = snapwalk("dump", running.pid).stdout.splitlines()
        after = time.monotonic() - begun
        told = next((match for match in map(HELD.match, lines[:10]) if match), None)
        # It had begun before it was seen, by what a look takes.
        tap.check(told and before - 0.1 <= float(told[1]) <= after + 5 and told[2] == function,
                  f"{node} {mode}: the first lines say for how long, and where", lines[:10])
        loop = loop_of(patient_dump(running.pid))
        tap.check(loop and loop["late_ms"] >= 1400, f"{node} {mode}: the dump says it", loop)


def check_not_held(tap, node, mode):
    with Node(node, "loop.js", arguments=[mode]) as running:
        time.sleep(1.2)
        told = [line for _ in range(LOOKS) for line in snapwalk("dump", running.pid).stdout.splitlines()
                if "held up" in line]
        tap.equal(told, [], f"{node} {mode}: nothing holds it up")
        tap.check(loop_of(patient_dump(running.pid)), f"{node} {mode}: it is known")


def check_pool(tap, node):
    with tempfile.TemporaryDirectory() as work:
        fifo = os.path.join(work, "fifo")
        os.mkfifo(fifo)
        with Node(node, "loop.js", arguments=["pool", fifo]) as running:
            def text():
                lines = snapwalk("dump", running.pid).stdout.splitlines()[:10]
                return lines if any(line.startswith("4 of 4 threads of the libuv thread pool are at work") and
                                    line.endswith("; 9 requests of the event loop are not done")
                                    for line in lines) else None
            tap.check(wait_until(text, "four threads at work, and nine requests"),
                      f"{node}: work that waits for the pool")
            tap.equal(loop_of(patient_dump(running.pid))["requests"], 9, f"{node}: the dump says it")


def main():
    tap = Tap()
    for node in nodes():
        tap.guard(check_held, node, "spin", "spin")
        tap.guard(check_held, node, "sync", "held")
        for mode in ("turns", "idle", "main"):
            tap.guard(check_not_held, node, mode)
        tap.guard(check_pool, node)
    if not nodes():
        tap.skip("node's event loop", "node is not installed", "node")
    tap.done()


if __name__ == "__main__":
    main()
