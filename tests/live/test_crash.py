#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Core files of programs that crash: which signal, by whom, and what it wanted of which address."""
import os
import signal
import subprocess
import tempfile

from harness import (SNAPWALK, TARGETS, Tap, Target, dump, no_kernel_core, own_functions, snapwalk, wait_blocked, wait_until)

# HOW: signal, code, address, access, words of the text
WAYS = {
    "write": ("SIGSEGV", "SEGV_MAPERR", "0x10", "write", ": write to 0x10 by "),
    "read": ("SIGSEGV", "SEGV_MAPERR", "0x10", "read", ": read of 0x10 by "),
    "jump": ("SIGSEGV", "SEGV_MAPERR", "0x10", "execute", ": jump to 0x10 by "),
    "const": ("SIGSEGV", "SEGV_ACCERR", None, "write", ": the mapping does not permit it"),
    "noncanonical": ("SIGSEGV", "SI_KERNEL", "0xdead000000000000", "write", ": write to 0xdead000000000000 by "),
    "divide": ("SIGFPE", "FPE_INTDIV", None, None, ": integer division by zero"),
    "abort": ("SIGABRT", "SI_TKILL", None, None, ": raised by the process itself"),
}


READ_32 = 3  # its number in programs for i386
PROGRAM_32 = os.path.join(TARGETS, "i386_crash")


def tids(target):
    return {line.split()[0]: int(line.split()[1]) for line in target.lines}


def core_of(directory, who, how, by=None, program="crash"):
    """The tids, and the core file; by: the signal that is sent."""
    with Target(program, who, how, cwd=directory) as target:
        told = tids(target)
        wait_blocked(target.pid, calls=(0, READ_32), tids=[told["waits"]])
        if by is None:
            target.send("")
        else:
            os.kill(target.pid, by)
        target.process.wait(60)
    names = wait_until(lambda: os.listdir(directory), "the core file")
    return target.pid, told, os.path.join(directory, names[0])


def check(tap, who, how, program="crash"):
    wanted, code, address, access, words = WAYS[how]
    with tempfile.TemporaryDirectory() as directory:
        pid, told, path = core_of(directory, who, how, program=program)
        name = f"{program}: {who}, {how}"
        report = dump(["--core", path], status=(0, 3))
        crash = report["process"].get("crash")
        if not tap.check(crash is not None, f"{name}: there is a crash"):
            return
        tap.equal((crash["signal"], crash["number"], crash["code"], crash["access"], crash["tid"]),
                  (wanted, getattr(signal, wanted), code, access, told["crashes"]), f"{name}: signal, code, access, thread")
        if address is not None:
            tap.equal(crash["address"], address, f"{name}: address")
        tap.equal((crash["sender_pid"], crash["sender_uid"]), (pid, os.getuid()) if how == "abort" else (None, None),
                  f"{name}: sender")
        tap.equal([t["tid"] for t in report["threads"]], sorted(t["tid"] for t in report["threads"]), f"{name}: by tid")
        state = {t["tid"]: (t["state"], t["syscall"]) for t in report["threads"]}
        tap.equal((state[told["waits"]], state[told["spins"]]), (("S", "read"), ("R", None)), f"{name}: the others")
        text = snapwalk("dump", "--core", path).stdout
        by = f"{program} ({pid})" if who == "main" else f"thread {told['crashes']}"
        verdict = next(line for line in text.splitlines() if line.startswith("SIG"))
        tap.check(verdict.startswith(wanted) and words in verdict and by in verdict, f"{name}: text", verdict)
        stacks = text.split("\n\n")
        tap.check(f"({told['crashes']})   crashed here\n" in stacks[2], f"{name}: the crashed thread is the first", text)
        tap.check(any(f.startswith("fall") for f in own_functions(report, told["crashes"])), f"{name}: the crashed thread's stack")
        tap.check("sleeping in read at the crash" in text and "running at the crash" in text, f"{name}: the others in text", text)
        again = subprocess.run([SNAPWALK, "dump", "--json", "--core", path], capture_output=True, text=True).stdout
        tap.check('"crash":{' in again, f"{name}: said again", again[:1000])


def test_ways(tap):
    for how in WAYS:
        check(tap, "thread", how)
    check(tap, "main", "write")


def test_i386(tap):
    if not os.path.exists(PROGRAM_32):
        tap.skip("crashes of programs for i386", "they are not built",
                 "packages gcc-multilib and g++-multilib, and a build after that")
        return
    for how in ("write", "read", "jump", "const", "divide"):
        check(tap, "thread", how, "i386_crash")


def test_sent(tap):
    with tempfile.TemporaryDirectory() as directory:
        _, _, path = core_of(directory, "thread", "write", signal.SIGQUIT)
        crash = dump(["--core", path], status=(0, 3))["process"]["crash"]
        tap.equal((crash["signal"], crash["code"], crash["address"], crash["sender_pid"]),
                  ("SIGQUIT", "SI_USER", None, os.getpid()), "a signal that somebody sent")
        text = snapwalk("dump", "--core", path).stdout
        tap.check(f": sent by process {os.getpid()} (uid {os.getuid()})" in text, "the sender of the signal, in text", text)


tap = Tap()
if no_kernel_core():
    tap.skip("core files of crashes", *no_kernel_core())
else:
    tap.guard(test_ways)
    tap.guard(test_i386)
    tap.guard(test_sent)
tap.done()
