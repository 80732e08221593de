#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""On blocked targets the program counters equal those of eu-stack and gdb, thread by thread.

Where another tool stops early or goes wrong, DIFFERENT says how and why; that is checked as well,
so that a tool that learns better is noticed. What such a stack must be is said by the target
itself (test_targets.py).
"""
import os

import oracles
from harness import (TARGETS, Tap, Target, expected_stacks, patient_dump, pcs_of, tool,
                     wait_blocked)

SAME = [
    *((f"chain_{how}",) for how in ("pie", "nopie", "static", "static_pie", "O0", "Os",
                                    "framepointer", "debug_frame", "nohdr", "cet", "prelinked",
                                    "gold", "clang", "stripped", "separate")),
    ("variable",), ("tailcall",), ("noreturn",), ("inlines",), ("signals",), ("exceptions",),
    ("plugin_user", os.path.join(TARGETS, "plugin.so")), ("named", 12), ("deep", 200),
]

# (target, last function of the thread): what the tool does there.
#   "stops N": our list begins with theirs, and theirs has N frames
#   "wrong N": the first N frames are ours, then comes something that is not
DIFFERENT = {
    "eu-stack": {
        ("assembly", "bare"): ("stops 3", "no CFI, and rbp leads nowhere"),
        ("assembly", "bare_by_pointer"): ("stops 3", "no CFI, and rbp leads nowhere"),
        ("nullcall", "main"): ("stops 3", "no code at address 0"),
        ("coroutine", "coroutine"): ("stops 4", "pc - 1 of __start_context has no CFI"),
    },
    "gdb": {
        ("assembly", "bare"): ("wrong 3", "guesses that asm_bare has a frame of its own kind"),
        ("assembly", "bare_by_pointer"): ("wrong 3", "the same"),
        ("coroutine", "coroutine"): ("wrong 4", "takes __start_context's neighbour's frame"),
    },
}


def same_so_far(ours, theirs):
    count = 0
    while count < min(len(ours), len(theirs)) and ours[count] == theirs[count]:
        count += 1
    return count


def words(pcs):
    return " ".join(hex(pc) for pc in pcs)


def compare(tap, name, peer, functions, ours, theirs):
    title = f"{name} {functions[-1]}: as {peer} says"
    how, reason = DIFFERENT[peer].get((name, functions[-1]), (None, None))
    detail = f"ours   {words(ours)}\ntheirs {words(theirs)}"
    if how is None:
        tap.check(ours == theirs, title, detail)
        return
    kind, count = how.split()
    alike = same_so_far(ours, theirs)
    wrong = alike == int(count) and (kind == "wrong" or len(theirs) == alike)
    tap.check(wrong, f"{title}, which {kind} after {count} frames: {reason}", detail)


def compare_target(tap, command, peers):
    with Target(*command) as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid, "--symbols", "none", status=(0, 3))
        stacks = expected_stacks(target.lines)
        for peer, ask in peers.items():
            wait_blocked(target.pid)  # the tool before this one has let it go
            theirs = ask(target.pid)
            tap.equal(sorted(theirs), sorted(stacks), f"{command[0]}: {peer} sees the same threads")
            for tid, functions in stacks.items():
                compare(tap, command[0], peer, functions, pcs_of(report, tid), theirs.get(tid, []))
        wait_blocked(target.pid)
        again = patient_dump(target.pid, "--symbols", "none", status=(0, 3))
        tap.check(all(pcs_of(report, tid) == pcs_of(again, tid) for tid in stacks),
                  f"{command[0]}: the same again")


def test_workload(tap, peers):
    """The benchmark's threads: blocked inside libc."""
    calls = (202, 230, 219, 232, 0)  # futex, clock_nanosleep, restart_syscall, epoll_wait, read
    with Target("threads", 8, 30) as target:
        for peer, ask in peers.items():
            wait_blocked(target.pid, calls)
            report = patient_dump(target.pid, "--symbols", "none")
            wait_blocked(target.pid, calls)
            theirs = ask(target.pid)
            for thread in report["threads"]:
                ours = pcs_of(report, thread["tid"])
                tap.equal(words(ours), words(theirs[thread["tid"]]),
                          f"workload {thread['tid'] - target.pid}: as {peer} says")


def main():
    tap = Tap()
    peers = {}
    if tool("eu-stack"):
        peers["eu-stack"] = lambda pid: oracles.eu_stack(pid)[0]
    else:
        tap.skip("comparison with eu-stack", "it is not installed", "package elfutils")
    if tool("gdb"):
        peers["gdb"] = oracles.gdb
    else:
        tap.skip("comparison with gdb", "it is not installed", "package gdb")
    for command in [*SAME, ("assembly",), ("nullcall",), ("coroutine",)]:
        if command[0] == "chain_gold" and not tool("ld.gold"):
            tap.skip(command[0], "ld.gold is not installed", tap.GOLD)
            continue
        tap.guard(compare_target, command, peers)
    tap.guard(test_workload, peers)
    tap.done()


if __name__ == "__main__":
    main()
