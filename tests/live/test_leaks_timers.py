#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk leaks --of timers: of a program that writes down which timers it created and deleted, each stack has those numbers,
and each timer that the kernel lists in the end is accounted for.
"""
import json
import re

from harness import Tap, Target, iterator_refused
from held import ages, answer_without, found, nothing_lost, program_again, turn
from test_events import Run


def begin(target, *args):
    return Run("leaks", "--of", "timers", *args, "-d", 0, target.pid)


def timers(pid):
    with open(f"/proc/{pid}/timers") as file:
        return [int(line.split()[1]) for line in file if line.startswith("ID: ")]


def accounted(tap, name, answer, there):
    nothing_lost(tap, name, answer)
    tap.equal((answer["open"], answer["outstanding"] + answer["opened_before"]), (there, there),
              f"{name}: each timer is accounted for")


def rows(tap):
    """Each way to create and delete a timer."""
    with Target("timers") as target:
        run = begin(target, "--json")
        told = turn(target)
        status, answer = run.answer()
        tap.equal(found(answer, told), told, "each row is what the program wrote down")
        tap.equal((status, answer["of"], answer["acquired"]), (0, "timers", sum(n for n, _ in told.values())), "the sum")
        tap.equal((answer["opened_before"], answer["opened_before_released"], answer["without_stack"]), (3, 1, 0),
                  "created before; deleted of them")
        accounted(tap, "go", answer, len(timers(target.pid)))
        ages(tap, "go", answer)


def program(tap):
    """execve(2) deletes all."""
    with Target("timers") as target:
        run = begin(target, "--json")
        told = turn(target)
        again = program_again(target)
        answer = run.answer()[1]
        sums = found(answer, told)
        wanted = {name: (2 * told[name][0], again[name][1]) for name in told}
        tap.equal({name: sums[name] for name in told}, wanted, "execve: all of before are gone")
        tap.equal((answer["opened_before"], answer["opened_before_released"]), (0, 4), "execve: those of before, too")
        accounted(tap, "execve", answer, len(timers(target.pid)))


def busy(tap):
    """Timers come and go while more are listed than the kernel shows at once."""
    with Target("timers") as target:
        turn(target, "many")
        turn(target, "churn")
        run = begin(target, "--json")
        turn(target, "many")
        status, out, err = run.end()
        turn(target, "calm")
        answer = json.loads(out)
        sums = found(answer, ("by_many", "churning"))
        tap.equal(sums["by_many"], (300, 300), "busy: those that stay")
        tap.check(sums["churning"][0] > 10 and sums["churning"][1] <= 1, "busy: those that come and go", sums)
        nothing_lost(tap, "busy", answer)
        tap.equal(answer["opened_before"], 304, "busy: created before")


def unseen(tap):
    with Target("timers") as target:
        run = begin(target, "--json")
        turn(target, "unseen")
        answer = run.answer()[1]
        tap.equal((answer["unknown_origin"], answer["closed_unseen"], answer["lost"], answer["checked"]), (1, 1, 0, True),
                  "32-bit code: created and deleted unseen")
        tap.equal([(s["acquired"], s["outstanding"], s["closed_unseen"]) for s in answer["stacks"]], [(1, 0, 1)],
                  "32-bit code: the stack that created what was deleted unseen")


def text(tap):
    with Target("timers") as target:
        run = begin(target)
        turn(target)
        status, out, err = run.end()
        tap.check(re.search(r": \d+ timers acquired, \d+ released; grows by \d+ a minute, \d+ % of it from timer_of timers\.c:\d+$",
                            out.splitlines()[0]), "text: the verdict comes first", out)
        tap.check(re.search(r"^ +300 +300 +0 .*by_many timers\.c", out, re.M), "text: a row", out)
        tap.check(re.search(r"created before 3 · origin unknown 0 · checked against /proc/\d+/timers: \d+ there, all accounted "
                            r"for", out), "text: the check", out)
    with Target("timers") as target:
        run = begin(target, "--json")
        turn(target)
        answer = answer_without(run, target)
        tap.equal((answer["checked"], answer["open"], answer["lost"]), (False, 0, 0),
                  "a process that has ended: it is not checked")
        tap.check(answer["acquired"] > 2000, "a process that has ended: what was seen is there", answer["acquired"])


if __name__ == "__main__":
    Tap.main(rows, program, busy, unseen, text, skip=("leaks --of timers", iterator_refused(), Tap.ROOT))
