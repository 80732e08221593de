#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk leaks --of memory: growth always; of a program that writes down what its allocator gave it, each stack has those
blocks and bytes; a program that allocates too often is refused with the figure.
"""
import json
import os
import re
import signal
import subprocess
import time

from harness import SNAPWALK, Tap, Target, iterator_refused, seeded, wait_until
from held import CALLS_AND_BYTES, sums_of, turn
from test_events import Run


def begin(target, *args):
    return Run("leaks", "--of", "memory", "--json", "-d", 0, *args, target.pid)


def exact(tap, name, env):
    """Each row is what the program wrote down, in three threads at once."""
    seed = seeded(1).randrange(1 << 30)
    with Target("blocks", env={**os.environ, **env}) as target:
        run = begin(target, "--max-overhead", 10000)
        told = turn(target, f"go {seed}")
        status, answer = run.answer()
        unknown = told.pop("-")[0]
        tap.equal(sums_of(answer["stacks"], told, CALLS_AND_BYTES), told, f"{name}, seed {seed}: each row is what the program wrote down")
        tap.equal((status, answer["followed"], answer["opened_before_released"], answer["lost"], answer["not_held"], answer["left_out"],
                   answer["without_stack"], answer["closed_unseen"], answer["acquired_again"]),
                  (0, True, unknown, 0, 0, 0, 0, 0, 0), f"{name}, seed {seed}: nothing is lost, and frees of before are counted")
        tap.equal((answer["checked"], answer["open"]), (True, answer["outstanding"]), f"{name}, seed {seed}: the kernel has the same")


def glibc(tap):
    exact(tap, "glibc", {})


def refused(tap):
    """A program that only allocates: growth is shown alone, with the figure, and no probe is left."""
    with Target("blocks") as target:
        target.send("pace 100000000")
        status, out, err = Run("leaks", "--of", "memory", "--json", "-d", 1, target.pid).end()
        answer = json.loads(out)
        budget = answer["budget"]
        tap.equal((status, answer["of"], answer["followed"], "changes_code" in answer), (3, "growth", False, False),
                  "a program that only allocates: growth alone")
        tap.check(re.search(r'"code":"limit","message":"blocks are not followed: that would add at least \d+ % to its CPU time, more than '
                            r'the 5 % of --max-overhead"', err), "a program that only allocates: the figure is said", err)
        tap.equal((budget["counted_function"], budget["released_hz"]), ("malloc", None),
                  "a program that only allocates: one function was probed, and no other")
        tap.check(budget["predicted_cpus"] > budget["cpus"] * budget["max_share"], "a program that only allocates: it is predicted",
                  budget)


def growing(tap):
    """Growth is read while probes are taken out, and its time is that in which it was followed."""
    with Target("blocks") as target:
        target.send("maps")
        target.readline()
        begin_s = time.monotonic()
        status, out, err = Run("leaks", "--of", "memory", "--json", "-d", 1, target.pid).end_by_itself()
        all_ms = (time.monotonic() - begin_s) * 1000
        growth = json.loads(out)["growth"]
        tap.equal((status, growth["lost"], growth["without_stack"]), (0, 0, 0), "growth: nothing is lost while probes are taken out")
        tap.check(growth["duration_ms"] < 1000 + (all_ms - 1000) / 4, "growth: its time has no part of the preparation, nor of the end",
                  (growth["duration_ms"], all_ms))
        tap.check(json.loads(out)["overhead"]["breakpoint_ns"] > 0, "growth: the cost of breakpoints is measured", out)


def breakpoints(tap):
    """Each breakpoint counts once: at the beginning of a call, at the RET that functions of the C library share, at free()."""
    calls, others = 2000, 100  # reading a line allocates, too
    with Target("blocks") as target:
        run = begin(target, "--max-overhead", 10000)
        target.send(f"pace {calls}")
        target.readline()
        target.readline()
        answer = run.answer()[1]
        cost = answer["overhead"]
        tap.check(3 * calls <= cost["breakpoints"] <= 3 * (calls + others), "breakpoints: two of malloc() and one of free()",
                  (calls, answer["acquired"], answer["released"], cost))


def interrupted(tap):
    """Control-C while it prepares ends it at once, with an answer."""
    with Target("blocks") as target:
        process = subprocess.Popen([SNAPWALK, "leaks", "--of", "memory", "--json", str(target.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        wait_until(lambda: process.poll() is not None or open(children).read(), "it prepares")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        tap.equal((process.returncode, out, [json.loads(line)["code"] for line in err.splitlines()]), (-signal.SIGINT, "", ["interrupted"]),
                  "Control-C while it prepares: it ends by the signal, and says so")


if __name__ == "__main__":
    Tap.main(glibc, refused, growing, breakpoints, interrupted, skip=("leaks --of memory", iterator_refused(), Tap.ROOT))
