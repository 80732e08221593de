#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The second opinion: libunwind over the same snapshot agrees on blocked targets.

Where libunwind has no opinion (no tables that it reads), that is said and nothing is invented.
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile

from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, expected_stacks, no_mounts,
                     patient_dump, pcs_of, snapwalk, stack_of, wait_blocked)

SAME = [
    *((f"chain_{how}",) for how in ("pie", "nopie", "static", "static_pie", "O0", "Os",
                                    "framepointer", "nohdr", "cet", "prelinked", "clang", "stripped", "separate")),
    ("variable",), ("tailcall",), ("noreturn",), ("inlines",), ("signals",), ("exceptions",),
    ("plugin_user", os.path.join(TARGETS, "plugin.so")), ("named", 12), ("deep", 200),
]

# How many frames libunwind finds until it comes to code with .debug_frame only, which it does not
# read from another process, or without any tables.
PARTS = {"chain_debug_frame": 1, "chain_musl": 6}


def test_same(tap):
    for command in SAME:
        with Target(*command) as target:
            wait_blocked(target.pid)
            # errors: "named" has threads with names that are not UTF-8
            result = snapwalk("verify", target.pid, errors="replace")
            tap.equal(result.returncode, 0, f"{command[0]}: status of verify")
            last = result.stdout.splitlines()[-1]
            count = len(os.listdir(f"/proc/{target.pid}/task"))
            threads = "1 thread" if count == 1 else f"{count} threads"
            tap.equal(last, f"{threads}: {count} same, 0 different",
                      f"{command[0]}: verify agrees on every thread")


def test_frames(tap):
    """--walk=libunwind gives the same frames, marked as libunwind's."""
    with Target("signals") as target:
        wait_blocked(target.pid)
        ours = dump(target.pid)
        theirs = dump(target.pid, "--walk", "libunwind")
        for tid in expected_stacks(target.lines):
            tap.equal(pcs_of(theirs, tid), pcs_of(ours, tid), f"thread {tid}: same frames")
            stack = stack_of(theirs, tid)
            real = [f for f in stack["frames"] if not f["inlined"]]
            tap.equal([f["by"] for f in real[1:]], ["libunwind"] * (len(real) - 1),
                      f"thread {tid}: by libunwind")
            tap.equal((stack["end"], stack["why"]), ("complete", None), f"thread {tid}: end")
            tap.equal([bool(f.get("signal")) for f in real],
                      [bool(f.get("signal")) for f in stack_of(ours, tid)["frames"]
                       if not f["inlined"]], f"thread {tid}: the same signal frames")
            tap.equal([f["function"] for f in real],
                      [f["function"] for f in stack_of(ours, tid)["frames"] if not f["inlined"]],
                      f"thread {tid}: the same names, after signals too")


def test_no_opinion(tap):
    for name, count in PARTS.items():
        if not os.path.exists(os.path.join(TARGETS, name)):
            tap.skip(name, "it was not built", "make tests-build")
            continue
        with Target(name) as target:
            wait_blocked(target.pid)
            ours = patient_dump(target.pid)
            report = patient_dump(target.pid, "--walk", "libunwind", status=(3,))
            for tid in expected_stacks(target.lines):
                tap.equal(stack_of(report, tid)["end"], "no_unwind_info",
                          f"{name}: libunwind says that it cannot go on")
                tap.equal(pcs_of(report, tid), pcs_of(ours, tid)[:count],
                          f"{name}: and guesses no frame")
            result = snapwalk("verify", target.pid)
            tap.equal(result.returncode, 3, f"{name}: status of verify")
            tap.check("libunwind  no frame (no_unwind_info" in result.stdout,
                      f"{name}: verify says why", result.stdout)


def test_limits(tap):
    with Target("deep", 200) as target:
        wait_blocked(target.pid)
        report = dump(target.pid, "--walk", "libunwind", "--depth", 7, status=(3,))
        stack = stack_of(report, target.pid)
        tap.equal(len([f for f in stack["frames"] if not f["inlined"]]), 7, "--depth is obeyed")
        tap.equal(stack["end"], "frame_limit", "and said")


def test_without_process(tap):
    """A fixture needs no process, nor does libunwind over it."""
    directory = tempfile.mkdtemp()
    fixture = os.path.join(directory, "fixture")
    try:
        with Target("named", 5) as target:
            wait_blocked(target.pid)
            live = dump(target.pid, "--walk", "libunwind")
            result = snapwalk("record", target.pid, "-o", fixture)
            tap.equal(result.returncode, 0, "recorded")
        again = dump(["--fixture", fixture], "--walk", "libunwind")
        n = len(live["threads"])
        for thread in live["threads"]:
            tid = thread["tid"]
            tap.equal(pcs_of(again, tid), pcs_of(live, tid), "same frames from the fixture")
        result = snapwalk("verify", "--fixture", fixture, errors="replace")
        tap.equal(result.returncode, 0, "verify of a fixture")
        tap.check(re.search(rf"^{n} threads?: {n} same, 0 different$", result.stdout, re.M),
                  "verify of a fixture agrees", result.stdout + result.stderr)
    finally:
        shutil.rmtree(directory)


def test_not_installed(tap):
    """Without libunwind only the second opinion is missing. Its file is hidden by a mount that ends
    with the command."""
    libraries = glob.glob("/usr/lib/*/libunwind-x86_64.so.8")
    if not libraries:
        tap.skip("libunwind is not installed", "it is not, so nothing hides it",
                 "package libunwind-dev")
        return
    if no_mounts():
        tap.skip("libunwind is not installed", no_mounts(), tap.MOUNTS)
        return
    hide = ["unshare", "--mount", "sh", "-c",
            'mount --bind /dev/null "$(readlink -f "$0")" && exec "$@"', libraries[0], SNAPWALK]
    with Target("chain_pie") as target:
        wait_blocked(target.pid)
        for command in (["verify"], ["dump", "--walk", "libunwind"]):
            result = subprocess.run([*hide, *command, str(target.pid)], capture_output=True,
                                    text=True, timeout=60)
            tap.equal(result.returncode, 1, f"{command[0]} without libunwind: status")
            tap.check("the second opinion needs libunwind" in result.stderr
                      and len(result.stderr.splitlines()) == 1,
                      f"{command[0]} without libunwind: one clear line", result.stderr)
        result = subprocess.run([*hide, "dump", *PATIENT, str(target.pid)], capture_output=True,
                                text=True, timeout=60)
        tap.equal((result.returncode, result.stderr), (0, ""), "everything else works without it")


if __name__ == "__main__":
    Tap.main(test_same, test_frames, test_no_opinion, test_limits, test_without_process, test_not_installed)
