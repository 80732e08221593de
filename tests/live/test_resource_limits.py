#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""A process that is at a limit of the kernel: the first lines say which."""
import os
import resource
import subprocess
import sys

from harness import PATIENT, Tap, Target, dump, snapwalk, wait_until

FULL = "import os\nwhile True:\n try: os.dup(0)\n except OSError: break\nprint('full', flush=True)\nos.read(0, 1)\n"
GROUPS = "/sys/fs/cgroup"


def first_lines(pid):
    return "\n".join(snapwalk(pid, *PATIENT).stdout.splitlines()[:8])


def descriptors(tap):
    """Each descriptor that the process may have is open: the kernel counts them."""
    with subprocess.Popen([sys.executable, "-S", "-c", FULL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))) as process:
        try:
            tap.equal(process.stdout.readline(), "full\n", "the target has opened all")
            first = first_lines(process.pid)
            tap.check("\n64 of 64 descriptors are open\n" in first, "said first", first)
            limits = dump(process.pid, *PATIENT)["process"]["limits"]
            tap.equal((limits["descriptors"], limits["descriptors_limit"]), (64, 64), "JSON has the numbers")
        finally:
            process.kill()
    with Target("service", 3) as target:
        first = first_lines(target.pid)
        tap.check(" descriptors are open" not in first, "a process with few says nothing", first)
        limits = dump(target.pid, *PATIENT)["process"]["limits"]
        tap.equal(limits["descriptors"], len(os.listdir(f"/proc/{target.pid}/fd")), "as many as /proc lists")


def group_of(controller, file):
    """A new control group that has the file by which that is limited; None where there is none to be made."""
    for root in (f"{GROUPS}/{controller}", GROUPS):
        path = f"{root}/snapwalk-test-{os.getpid()}"
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(f"{path}/{file}"):
            return path
        os.rmdir(path)
    return None


def remove(path):
    wait_until(lambda: open(f"{path}/cgroup.procs").read() == "", "the group to be empty")
    os.rmdir(path)


def threads(tap):
    path = group_of("pids", "pids.max")
    if path is None:
        tap.skip("no control group can be made here that limits threads (root, and the controller pids)")
        return
    try:
        with Target("service", 3) as target:
            n = len(os.listdir(f"/proc/{target.pid}/task"))
            with open(f"{path}/cgroup.procs", "w") as file:
                file.write(str(target.pid))
            with open(f"{path}/pids.max", "w") as file:
                file.write(str(n))
            first = first_lines(target.pid)
            tap.check(f"\n{n} of {n} threads of the control group" in first, "threads at the limit of the group", first)
    finally:
        remove(path)


def quota_set(path):
    """A tenth of a CPU, in periods of 10 ms."""
    for name, value in (("cpu.max", "1000 10000"), ("cpu.cfs_period_us", "10000"), ("cpu.cfs_quota_us", "1000")):
        if os.path.exists(f"{path}/{name}"):
            with open(f"{path}/{name}", "w") as file:
                file.write(value)


def throttled(path):
    """How many periods of the group were cut short."""
    with open(f"{path}/cpu.stat") as file:
        return int(dict(line.split() for line in file)["nr_throttled"])


def cpu(tap):
    """A program that computes, in a group that lets it do so for a tenth of the time."""
    path = group_of("cpu", "cpu.max") or group_of("cpu", "cpu.cfs_quota_us")
    if path is None:
        tap.skip("no control group can be made here that limits CPU time (root, and the controller cpu)")
        return
    try:
        with Target("busy") as target:
            quota_set(path)
            tap.check("of its 0.1 CPUs" not in first_lines(target.pid), "a process of another group")
            with open(f"{path}/cgroup.procs", "w") as file:
                file.write(str(target.pid))
            wait_until(lambda: throttled(path) >= 5, "the group to use all of its time")
            first = first_lines(target.pid)
            tap.check("\nthe control group has used all of its 0.1 CPUs in " in first and " periods since it was made" in first,
                      "the CPU time of the group is at its limit", first)
            limits = dump(target.pid, *PATIENT)["process"]["limits"]
            tap.check(limits["cpu_quota_us"] == 1000 and limits["cpu_period_us"] == 10000 and
                      5 <= limits["cpu_throttled"] <= limits["cpu_periods"], "JSON has the numbers", limits)
    finally:
        remove(path)


tap = Tap()
tap.guard(descriptors)
tap.guard(threads)
tap.guard(cpu)
tap.done()
