#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk leaks --of epoll: of a program that writes down which files it had sets of epoll watch, each stack has those
numbers, and each file that the kernel lists in the end is accounted for.
"""
import json
import os
import re

from harness import Tap, Target, iterator_refused
from held import ages, answer_without, found, killed, nothing_lost, program_again, turn
from test_events import Run

COPY = "100"  # a second descriptor of a set of tests/targets/epolls.c


def begin(target, *args):
    return Run("leaks", "--of", "epoll", *args, "-d", 0, target.pid)


def watched(pid):
    """How many files the sets of a process watch."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}") as file:
            n += fd != COPY and sum(line.startswith("tfd:") for line in file)
    return n


def accounted(tap, name, answer, pid):
    there = watched(pid)
    nothing_lost(tap, name, answer)
    tap.equal((answer["open"], answer["outstanding"] + answer["opened_before"]), (there, there),
              f"{name}: each file is accounted for")


def rows(tap):
    """Each way to have a file watched, and no more."""
    with Target("epolls") as target:
        run = begin(target, "--json")
        told = turn(target)
        status, answer = run.answer()
        tap.equal(found(answer, told), told, "each row is what the program wrote down")
        tap.equal((status, answer["of"], answer["acquired"]), (0, "epoll", sum(n for n, _ in told.values())), "the sum")
        tap.equal((answer["opened_before"], answer["opened_before_released"], answer["without_stack"]), (2, 2, 0),
                  "watched before; no more of them")
        accounted(tap, "go", answer, target.pid)
        ages(tap, "go", answer)


def program(tap):
    """execve(2) closes what is close-on-exec: one set is left, with one file."""
    with Target("epolls") as target:
        run = begin(target, "--json")
        told = turn(target)
        again = program_again(target)
        answer = run.answer()[1]
        wanted = {name: (2 * told[name][0], again[name][1] + (name == "by_exec")) for name in told}
        sums = found(answer, told)
        tap.equal({name: sums[name] for name in told}, wanted, "execve: one of before is left")
        tap.equal((answer["opened_before"], answer["opened_before_released"]), (0, 4), "execve: those of before, too")
        accounted(tap, "execve", answer, target.pid)


def busy(tap):
    """Files come and go while the command begins and ends."""
    with Target("epolls") as target:
        turn(target, "churn")
        run = begin(target, "--json")
        turn(target)
        status, out, err = run.end()
        turn(target, "calm")
        answer = json.loads(out)
        sums = found(answer, ("by_ctl", "churning"))
        tap.equal(sums["by_ctl"], (40, 4), "busy: those that stay")
        tap.check(sums["churning"][0] > 10 and sums["churning"][1] <= 1, "busy: those that come and go", sums)
        nothing_lost(tap, "busy", answer)


def unseen(tap):
    with Target("epolls") as target:
        run = begin(target, "--json")
        turn(target, "unseen")
        answer = run.answer()[1]
        tap.equal((answer["unknown_origin"], answer["closed_unseen"], answer["lost"], answer["checked"]), (1, 1, 0, True),
                  "32-bit code: added and taken out unseen")
        tap.equal([(s["acquired"], s["outstanding"], s["closed_unseen"]) for s in answer["stacks"]], [(1, 0, 1)],
                  "32-bit code: the stack that added what was taken out unseen")


def text(tap):
    with Target("epolls") as target:
        run = begin(target)
        turn(target)
        _, out, _ = run.end()
        tap.check(re.search(r": \d+ watched files acquired, \d+ released; grows by \d+ a minute", out.splitlines()[0]),
                  "text: the verdict comes first", out)
        tap.check(re.search(r"^ +4 +40 +36 .*by_close epolls\.c", out, re.M), "text: a row", out)
        tap.check(re.search(r"added before 2 · origin unknown 0 · checked against /proc/\d+/fdinfo: \d+ there, all accounted "
                            r"for", out), "text: the check", out)
    with Target("epolls") as target:
        run = begin(target, "--json")
        turn(target)
        answer = answer_without(run, target)
        tap.equal((answer["checked"], answer["open"], answer["lost"]), (False, 0, 0),
                  "a process that has ended: it is not checked")
        tap.check(answer["acquired"] > 1200, "a process that has ended: what was seen is there", answer["acquired"])


def end_by_kill(tap):
    with Target("epolls") as target:
        killed(tap, begin(target), target, 4)


if __name__ == "__main__":
    Tap.main(rows, program, busy, unseen, text, end_by_kill, skip=("leaks --of epoll", iterator_refused(), Tap.ROOT))
