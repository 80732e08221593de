#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Blocked programs for i386: live with and without a stop, from cores and from a record, against what
they say of themselves, gdb and eu-stack."""
import os
import signal
import tempfile

import oracles
from compared import bias_of, expressions
from harness import (TARGETS, Tap, Target, dump, expected_stacks, gcore, no_kernel_core, own_functions, pcs_of,
                     same_stacks, snapwalk, stack_of, tool, wait_blocked, wait_until)

PAUSE = 29  # arch/x86/entry/syscalls/syscall_32.tbl
CHAINS = [(f"chain_{how}",) for how in ("pie", "nopie", "static", "static_pie", "O0", "Os", "framepointer",
                                        "debug_frame", "nohdr", "cet", "clang", "stripped", "separate")]
PLAIN = [("handlers",), ("exceptions",), ("inlines",), ("variable",), ("tailcall",), ("deep", 200),
         ("plugin_user", os.path.join(TARGETS, "i386_plugin.so"))]
# Without the tables of the program: by its instructions, where others guess or end.
BARE = [("chain_bare",), ("nullcall",)]


def started(command):
    return Target("i386_" + command[0], *command[1:])


def eu_stack_agrees(report, ours, theirs):
    """eu-stack (elfutils 0.188) ends at functions that align the stack, whose tables have an expression: it reads 8
    bytes where that means 4."""
    if ours == theirs:
        return True
    name = os.path.basename(report["process"]["exe"])
    path = os.path.join(TARGETS, name.replace("_stripped", "_pie").replace("_separate", "_pie"))
    last = theirs[-1] - 1 - bias_of(report["process"]["pid"], report["process"]["exe"])
    return ours[:len(theirs)] == theirs and bool(expressions(path).at(last))


def check_live(tap, command, others):
    with started(command) as target:
        wait_blocked(target.pid, calls=(PAUSE,))
        report, stopped = dump(target.pid), dump(target.pid, "--stop", "always")
        same_stacks(tap, f"{command[0]}, stopped", report, stopped)
        tap.equal((report["process"]["elf_class"], stopped["timings"]["interrupted_calls"],
                   {t["syscall"] for t in report["threads"]}), (32, 0, {"pause"}),
                  f"{command[0]}: what is said of the process")
        stacks = expected_stacks(target.lines)
        said = {}
        for name, ask in others.items():
            wait_blocked(target.pid, calls=(PAUSE,))  # the stop before this one has let it go
            said[name] = ask(target.pid)
        wait_blocked(target.pid, calls=(PAUSE,))
        for tid, functions in stacks.items():
            ours = pcs_of(report, tid)
            tap.equal(stack_of(report, tid)["end"], "complete", f"{command[0]}: the end is proven")
            if command[0] != "chain_stripped":
                tap.equal(own_functions(report, tid, ("i386_plugin.so",)), functions,
                          f"{command[0]}: functions")
            if "gdb" in said:
                tap.equal(ours, said["gdb"][tid], f"{command[0]}: as gdb says")
            if "eu-stack" in said:
                tap.check(eu_stack_agrees(report, ours, said["eu-stack"][tid]),
                          f"{command[0]}: as eu-stack says", [ours, said["eu-stack"][tid]])
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "record")
            tap.equal(snapwalk("record", target.pid, "-o", path).returncode, 0, f"{command[0]}: recorded")
            if command[0] != "chain_separate":  # where its names are is said by its place
                same_stacks(tap, f"the record of {command[0]}", report, dump(["--fixture", path]))
            if "gdb" in others:
                path = os.path.join(directory, "core")
                gcore(target.pid, path)
                same_stacks(tap, f"gdb's core of {command[0]}", report, dump(["--core", path]))


def check_bare(tap, command):
    with started(command) as target:
        wait_blocked(target.pid, calls=(PAUSE,))
        report = dump(target.pid, status=(0, 3))
        for tid, functions in expected_stacks(target.lines).items():
            tap.equal((own_functions(report, tid), stack_of(report, tid)["end"]), (functions, "complete"),
                      f"{command[0]}: functions")


def kernel_core(tap):
    if no_kernel_core():
        tap.skip("cores by the kernel", *no_kernel_core())
        return
    for name in ("chain_pie", "chain_static", "handlers"):
        with tempfile.TemporaryDirectory() as directory, Target("i386_" + name, cwd=directory) as target:
            wait_blocked(target.pid, calls=(PAUSE,))
            live = dump(target.pid)
            os.kill(target.pid, signal.SIGABRT)
            target.process.wait()
            cores = wait_until(lambda d=directory: os.listdir(d), "the kernel's core file")
            core = dump(["--core", os.path.join(directory, cores[0])])
            same_stacks(tap, f"the kernel's core of {name}", live, core)
            tap.equal((core["process"]["elf_class"], core["process"]["exe"]),
                      (32, live["process"]["exe"]), f"the kernel's core of {name}: the process")


def no_call_is_interrupted(tap):
    """epoll_wait() without a limit, which a stop ends with EINTR: it begins again."""
    with Target("i386_epoll") as target:
        for _ in range(5):
            wait_blocked(target.pid, calls=(256, 0))  # epoll_wait, restart_syscall
            report = dump(target.pid, "--stop", "always")
        tap.equal((report["timings"]["interrupted_calls"], target.process.poll()), (0, None),
                  "epoll_wait() goes on")


def main():
    tap = Tap()
    if not os.path.exists(os.path.join(TARGETS, "i386_chain_pie")):
        tap.skip("programs for i386", "they are not built",
                 "packages gcc-multilib and g++-multilib, and a build after that")
        tap.done()
        return
    others = {}
    if tool("gdb"):
        gdb = oracles.Gdb()
        others["gdb"] = gdb.stacks
    else:
        tap.skip("comparison with gdb", "it is not installed", "package gdb")
    if tool("eu-stack"):
        others["eu-stack"] = lambda pid: oracles.eu_stack(pid)[0]
    else:
        tap.skip("comparison with eu-stack", "it is not installed", "package elfutils")
    for command in CHAINS + PLAIN:
        tap.guard(check_live, command, others)
    for command in BARE:
        tap.guard(check_bare, command)
    tap.guard(kernel_core)
    tap.guard(no_call_is_interrupted)
    if "gdb" in others:
        gdb.close()
    tap.done()


if __name__ == "__main__":
    main()
