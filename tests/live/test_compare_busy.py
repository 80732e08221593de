#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 25s
"""Busy programs, built in many ways, at random instants: the program counters of each thread equal
those of eu-stack and gdb, and the functions are those of the program's own record.

The test stops the program with SIGSTOP; snapwalk, which stops it again or not, eu-stack and gdb look
at it one after another. What snapwalk says must agree with the record at each stop of each build. Where
another tool differs, REASONS must have that build with a reason that holds at that frame of that stack.

SNAPWALK_STOPS=N: N stops of each build. Names of builds as arguments: of these alone.
"""
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections import Counter

import oracles
from compared import RECORD_BYTES, RECORDS, Program, agrees
from harness import (INTERPRETED, TARGETS, Tap, Target, dump, is_handler, module_of, pcs_of, seeded, stack_of, state_of,
                     tool, wait_until)

STOPS = int(os.environ.get("SNAPWALK_STOPS", "1"))
MAX_GAP = 0.02
GAPS = seeded(18)


class Stack:
    """A thread at a stop."""

    def __init__(self, program, report, tid):
        self.program, self.report = program, report
        self.whole = stack_of(report, tid)
        self.frames = [f for f in self.whole["frames"]
                       if not f["inlined"] and f["kind"] not in INTERPRETED]
        self.pcs = pcs_of(report, tid)
        # Code that a signal interrupted may be at its first instruction.
        self.signals = {pc for pc, f in zip(self.pcs, self.frames) if f.get("signal")}

    def lookups(self, pcs):
        return [pc if i == 0 or pcs[i - 1] in self.signals else pc - 1 for i, pc in enumerate(pcs)]

    def true(self, pcs, recorded):
        return agrees(self.program.seen(self.lookups(pcs)), recorded)


def without_tables(stack, alike):
    """No tables: eu-stack ends there or follows a frame pointer, gdb guesses by what the function
    begins with. Alike is the number of frames that are the same."""
    return any(stack.program.without_tables(address, module_of(stack.report, frame))
               for address, frame in list(zip(stack.lookups(stack.pcs), stack.frames))[:alike])


def into_handler(stack, alike):
    """libgcc goes to the handler of an exception: it has overwritten what the functions on the way
    had saved, and they are never returned to. The record says of each that it has left."""
    return any(is_handler(stack.frames, i) for i in range(min(len(stack.frames), alike + 1)))


def at_expression(stack, alike):
    """eu-stack ends at functions for i386 that align the stack: their tables say by an expression where
    the frame begins."""
    return 0 < alike < len(stack.pcs) and stack.program.by_expression(
        stack.lookups(stack.pcs)[alike - 1], module_of(stack.report, stack.frames[alike - 1]))


def is_code(pid, address):
    with open(f"/proc/{pid}/maps") as maps:
        areas = (line.split()[:2] for line in maps)
        return any("x" in prot and int(area.split("-")[0], 16) <= address < int(area.split("-")[1], 16)
                   for area, prot in areas)


def in_libgcc(stack):
    return any((f["function"] or "").startswith("_Unwind_") for f in stack.frames[:4])


def goes_on_in_data(stack, theirs):
    """In a program for i386 libgcc has begun to overwrite what the functions on the way to a handler had saved:
    what is there in place of a return address is no code. snapwalk ends and says so, others go on."""
    n = len(stack.pcs)
    return stack.whole["end"] != "complete" and theirs[:n] == stack.pcs and len(theirs) > n and in_libgcc(stack) \
        and not is_code(stack.program.pid, theirs[n])


def to_handler_as_others(stack, peers):
    """The structures of libgcc are not read there, and all tools say the same, as far as they go
    (at_expression(), goes_on_in_data())."""
    return in_libgcc(stack) and all(
        goes_on_in_data(stack, theirs) or
        theirs == stack.pcs[:len(theirs)] and (len(theirs) > 4 or len(theirs) == len(stack.pcs))
        for theirs in peers.values())


def wrong_tables(stack, alike):
    """The tables of the C library's assembly for i386 do not tell of all that it pushes: they lead to a
    word that is no return address. snapwalk follows the instructions, or says that it has guessed. A thunk of that
    assembly may be on top of it."""
    if not 0 < alike < len(stack.frames) or stack.frames[alike]["by"] not in ("instructions", "stack-scan"):
        return False
    return alike == 1 or (alike == 2 and all(
        os.path.basename(module_of(stack.report, f)).startswith("libc.") for f in stack.frames[:alike]))


# Beginning of a build's name: why other tools are wrong there. Nowhere else.
REASONS = {
    "musl_": [(without_tables, "the C library has no tables")],
    "gcc_bare_plt": [(without_tables, "the linker made no tables for its stubs")],
    "g++_": [(into_handler, "registers are overwritten on the way to a handler")],
    "clang++_": [(into_handler, "registers are overwritten on the way to a handler")],
}
REASONS_I386 = [
    (at_expression, "frames that begin where an expression says"),
    (wrong_tables, "the C library's assembly has wrong tables"),
    (without_tables, "there are no tables"),
]


def reasons_of(build):
    name = build.removeprefix("i386_")
    of = next((REASONS[begin] for begin in REASONS if name.startswith(begin)), [])
    return of + (REASONS_I386 if name != build else [])


def words(pcs):
    return " ".join(hex(pc) for pc in pcs)


def told(stack, recorded, peers):
    """Returns what all say of a thread, for a failure."""
    lines = [f"record {' '.join(map(str, recorded[::-1]))}"]
    lines += [f"{f['pc']} {f['function']} {os.path.basename(module_of(stack.report, f))} {f['by']}"
              for f in stack.frames]
    lines.append(f"{stack.whole['end']} {stack.whole['why']}")
    for name, pcs in peers.items():
        lines.append(f"{name}: {words(pcs)} = {' '.join(stack.program.seen(stack.lookups(pcs))[::-1])}")
    return "\n".join(lines)


def alike_with(ours, theirs):
    count = 0
    while count < min(len(ours), len(theirs)) and ours[count] == theirs[count]:
        count += 1
    return count


class Build:
    """The results of all stops of one build."""

    def __init__(self, name, peers):
        self.name = name
        self.stacks = 0
        self.wrong = []                          # of snapwalk
        self.unexplained = {p: [] for p in peers}
        self.excused = Counter()                 # by peer and reason

    def add(self, stack, again, recorded, peers):
        self.stacks += 1
        ours = stack.pcs
        story = told(stack, recorded, peers)
        if stack.whole["end"] == "complete" and stack.true(ours, recorded):
            pass
        elif self.name.startswith("i386_") and to_handler_as_others(stack, peers):
            self.excused["the record", "all tools are, on the way to a handler"] += 1
        else:
            self.wrong.append(story)
        for other in again:
            if other.pcs != ours or other.whole["end"] != stack.whole["end"]:
                self.wrong.append(story + f"\nand then {other.whole['end']} {words(other.pcs)}")
        for peer, theirs in peers.items():
            if theirs == ours:
                continue
            if self.name.startswith("i386_") and goes_on_in_data(stack, theirs):
                self.excused[peer, "what libgcc has overwritten is followed"] += 1
                continue
            alike = alike_with(ours, theirs)
            reason = next((why for holds, why in reasons_of(self.name) if holds(stack, alike)), None)
            if reason:
                self.excused[peer, reason] += 1
            else:
                self.unexplained[peer].append(story)

    def excuses(self, of):
        return "".join(f", but {count} where {'it is' if who != 'the record' else 'snapwalk is'} wrong: {reason}"
                       for (who, reason), count in sorted(self.excused.items()) if who == of)


def suspend(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(state_of(pid, tid) == "T" for tid in os.listdir(f"/proc/{pid}/task")),
               f"{pid} to stop")


def look(found, program, peers, only=None):
    """Stop once, and compare what all say; of one thread only, if that is all that stands at a known instant."""
    pid = program.pid
    suspend(pid)
    recorded = program.recorded()
    if only:
        recorded = {only: recorded[only]}
    reports = [dump(pid, "--stop", "always", status=(0, 3)),
               dump(pid, "--stop", "auto", status=(0, 3))]
    said = {name: ask(pid) for name, ask in peers.items()}
    suspend(pid)
    reports.append(dump(pid, "--stop", "always", "--symbols", "none", status=(0, 3)))
    for tid in recorded:
        stack, *again = (Stack(program, report, tid) for report in reports)
        found.add(stack, again, recorded[tid], {name: of[tid] for name, of in said.items()})
    os.kill(pid, signal.SIGCONT)


def check_known(tap, build, peers, instants, functions):
    """A build at the first instructions of functions."""
    found = Build(build, peers)
    with tempfile.NamedTemporaryFile() as records:
        records.truncate(RECORDS * RECORD_BYTES)
        with Target("compared_" + build, records.name) as target:
            program = Program(target.pid, build, records)
            for function in functions:
                look(found, program, peers, instants.stop_at(target.pid, function))
    judge_build(tap, found, peers, f"the stacks at {len(functions)} known instants", len(functions))


def judge_build(tap, found, peers, what, n_stacks):
    tap.check(found.stacks == n_stacks and not found.wrong,
              f"{found.name}: {what} are complete, true, and the same with a stop, without, and again"
              + found.excuses("the record"), "\n\n".join(found.wrong[:3]))
    for peer in peers:
        title = f"{found.name}: all as {peer} says" + found.excuses(peer)
        tap.check(not found.unexplained[peer], title, "\n\n".join(found.unexplained[peer][:3]))


def check_build(tap, build, peers):
    found = Build(build, peers)
    with tempfile.NamedTemporaryFile() as records:
        records.truncate(RECORDS * RECORD_BYTES)
        with Target("compared_" + build, records.name) as target:
            program = Program(target.pid, build, records)
            for _ in range(STOPS):
                time.sleep(GAPS.random() * MAX_GAP)
                look(found, program, peers)
    judge_build(tap, found, peers, f"the {found.stacks} stacks of {STOPS} stops", 3 * STOPS)


def test_agrees(tap):
    """The comparison itself: what can be, and what cannot."""
    chain = ["r_main", "r_work", "r_sorting", "r_compare"]
    for seen, recorded, wanted in (
            (chain, chain, True),
            (chain, chain[:3], True),                      # on its way in or out
            (chain, chain[:2], False),                     # two are not
            (chain[:3], chain, False),                     # one is missing
            (chain[:2] + chain[3:], chain, False),
            (chain[1:], chain, False),
            (["r_main", "r_other"], ["r_main", "r_work"], False),
            ([*chain, "r_on_timer", "r_fib"], [*chain[:3], "r_on_timer"], True),
            ([*chain, "r_on_timer", "r_fib"], [*chain[:2], "r_on_timer"], False),
            (["r_main", "r_tail_outer", "r_after_jump"], ["r_main", "r_after_jump"], True),
            (["r_main", "r_leap", "r_leap", "r_leap_last"], ["r_main"], True),
            (["r_main", "r_leap", "r_leap", "r_fib"], ["r_main"], False)):
        tap.equal(agrees(seen, recorded), wanted, f"agrees({seen}, {recorded})")


def builds(i386=False):
    """Returns the builds of 64-bit programs, or those for i386."""
    names = {name.removeprefix("compared_").removesuffix(".dwo") for name in os.listdir(TARGETS)
             if name.startswith("compared_")}
    return sorted(name for name in names if name.startswith("i386_") == i386
                  and os.access(os.path.join(TARGETS, "compared_" + name), os.X_OK))


def has_avx2():
    with open("/proc/cpuinfo") as cpus:
        return " avx2 " in cpus.read()


@contextlib.contextmanager
def other_tools(tap):
    """{name: what says the stacks of a process}"""
    peers = {}
    if tool("eu-stack"):
        peers["eu-stack"] = lambda pid: oracles.eu_stack(pid)[0]
    else:
        tap.skip("comparison with eu-stack", "it is not installed", "package elfutils")
    if not tool("gdb"):
        tap.skip("comparison with gdb", "it is not installed", "package gdb")
        yield peers
        return
    gdb = oracles.Gdb()
    try:
        yield {**peers, "gdb": gdb.stacks}
    finally:
        gdb.close()


def compare(tap, names, at_least):
    """All builds, or those that were asked for."""
    names = sys.argv[1:] or names
    with other_tools(tap) as peers:
        compare_builds(tap, names, peers)
    tap.check(len(names) >= at_least or sys.argv[1:],
              f"{len(names)} builds, {len(names) * STOPS} stops")


def compare_builds(tap, names, peers):
    for name in names:
        if name.endswith("gcc_wide") and not has_avx2():
            tap.skip(name, "the processor has no AVX2", "a processor that has")
            continue
        tap.guard(check_build, name, peers)


def main():
    tap = Tap()
    tap.guard(test_agrees)
    compare(tap, builds(), 50)
    tap.done()


if __name__ == "__main__":
    main()
