#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The kernel functions that blocked threads call: --kernel, and those in state D without it.

SNAPWALK_STOPS=N: so many captures of threads that go from call to call."""
import os
import re
import subprocess

from harness import (PATIENT, SNAPWALK, Tap, Target, dump, iterator_refused, public, snapwalk, state_of,
                     wait_until)

STOPS = int(os.environ.get("SNAPWALK_STOPS", "300"))
NOBODY = 65534
# The names in the kernel's functions for these calls.
CALLS = {"in_sleep": "nanosleep", "in_poll": "poll"}


def settled(pid):
    """Waits until all threads wait for good."""
    wait_until(lambda: all(state_of(pid, t) == "S" for t in os.listdir(f"/proc/{pid}/task")),
               f"all threads of {pid} to wait")


def proc_stack(pid, tid):
    """[(function, offset)] as the kernel says it."""
    with open(f"/proc/{pid}/task/{tid}/stack") as file:
        return [(name + (" " + module if module else ""), int(offset, 16)) for name, offset, module
                in re.findall(r"\] (\S+)\+(0x[0-9a-f]+)/\S+ ?(\[\S+\])?", file.read())]


def frames_of(report, tid):
    """(kernel frames as of proc_stack(), the other frames' functions)."""
    thread = next(t for t in report["threads"] if t["tid"] == tid)
    frames = report["stacks"][thread["stack"]]["frames"] if thread["stack"] is not None else []
    kernel = [f for f in frames if f["kind"] == "kernel"]
    return ([(f["function"], f["function_offset"]) for f in kernel],
            [f["function"] for f in frames[len(kernel):]])


def asked_for(tap):
    with Target("threads", 3) as target:
        settled(target.pid)
        with_option, without = dump(target.pid, "--kernel"), dump(target.pid)
        for tid in sorted(map(int, os.listdir(f"/proc/{target.pid}/task"))):
            kernel, others = frames_of(with_option, tid)
            tap.check(kernel, f"thread {tid - target.pid}: kernel frames", with_option["warnings"])
            tap.equal(kernel, proc_stack(target.pid, tid),
                      f"thread {tid - target.pid}: as /proc says, before the others")
            tap.equal(others, frames_of(without, tid)[1], "the others are what they are without")
            tap.equal(frames_of(without, tid)[0], [], "none where not asked for")
        text = snapwalk(target.pid, "--kernel", *PATIENT).stdout
        wanted = [f"  kernel {name}+{offset}" for name, offset in proc_stack(target.pid, target.pid)]
        tap.equal([line for line in text.splitlines() if line.startswith("  kernel ")][:len(wanted)],
                  wanted, "text has them")


def uninterruptible(tap):
    with Target("states", "vfork_parent") as target:
        def in_d():
            return [int(t) for t in os.listdir(f"/proc/{target.pid}/task")
                    if state_of(target.pid, t) == "D"]
        wait_until(in_d, "a thread in vfork()")
        tid = in_d()[0]
        report = dump(target.pid)
        tap.equal(frames_of(report, tid)[0], proc_stack(target.pid, tid),
                  "state D: kernel frames also where not asked for")
        tap.equal(frames_of(report, target.pid)[0], [], "but not of the others")


def going_on(tap):
    """Each capture is of some instant: the function and the kernel's belong together."""
    wrong, seen, none = [], dict.fromkeys(CALLS, 0), 0
    with Target("calls") as target:
        for _ in range(STOPS):
            report = dump(target.pid, "--kernel", "--symbols", "names", status=(0, 3))
            for thread in report["threads"]:
                kernel, others = frames_of(report, thread["tid"])
                caller = next((f for f in others if f in CALLS), None)
                none += not kernel
                if caller is None or not kernel:
                    continue
                seen[caller] += 1
                others = [word for name, word in CALLS.items() if name != caller]
                # On its way back it is in neither.
                if any(word in name for name, _ in kernel for word in others):
                    wrong.append((caller, kernel))
    tap.equal(wrong, [], f"{seen} kernel stacks of {STOPS} captures belong to their callers")
    tap.check(min(seen.values()) >= STOPS // 50, "both calls were met", seen)
    print(f"# none: {none}")


def refused(tap):
    with Target("threads", 1, user=NOBODY, group=NOBODY, extra_groups=[]) as target:
        settled(target.pid)
        run = subprocess.run([public(SNAPWALK), "dump", "--json", "--kernel", *PATIENT, str(target.pid)],
                             capture_output=True, text=True, user=NOBODY, group=NOBODY,
                             extra_groups=[])
        tap.check('"kind":"kernel"' not in run.stdout and '"function"' in run.stdout,
                  "another user: stacks without kernel frames", run.stdout[-500:] + run.stderr)
        tap.check("as root" in run.stdout, "and what would show them", run.stdout[-2000:])
        tap.check(run.returncode == 3 and "no kernel stacks" in run.stderr, "something is missing: said", run)
        stopped = snapwalk("dump", "--json", "--kernel", "--stop", "always", *PATIENT, target.pid)
        tap.check(stopped.returncode == 3 and "--stop always" in stopped.stdout, "--stop always: said why there are none",
                  stopped.stdout[-2000:])
    run = snapwalk("dump", "--kernel", "--via", "daemon", os.getpid())
    tap.check(run.returncode == 2 and "--kernel" in run.stderr, "the daemon does not do it: usage",
              run.stderr)


if __name__ == "__main__":
    tap = Tap()
    why = "not root" if os.geteuid() != 0 else iterator_refused()
    if why:
        tap.skip("kernel stacks", why, Tap.ROOT)
    else:
        for test in (asked_for, uninterruptible, going_on, refused):
            tap.guard(test)
    tap.done()
