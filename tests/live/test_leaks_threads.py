#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
"""snapwalk leaks --of threads: of programs that write down which threads they made, each stack has those numbers: how many
run, and how many have ended without anybody joining them.
"""
import json
import os
import re
import shutil
import sys

import held
from harness import Tap, Target, iterator_refused
from held import answer_without, nothing_lost, program_again, turn
from test_events import Run

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "python", "lives.py")


def begin(target, *args):
    return Run("leaks", "--of", "threads", *args, "-d", 0, target.pid)


def found(answer, names):
    """Threads of each function: (made, running, ended and not joined); where joins are not known, without the last number."""
    if answer["not_joined"] is None:
        return held.found(answer, names)
    return {name: (made, left - ended, ended)
            for name, (made, left, ended) in held.found(answer, names, (*held.CALLS, "not_joined")).items()}


def accounted(tap, name, answer, target):
    there = len(os.listdir(f"/proc/{target.pid}/task"))
    nothing_lost(tap, name, answer)
    tap.equal((answer["open"], answer["outstanding"] - (answer["not_joined"] or 0) + answer["opened_before"]),
              (there, there), f"{name}: each thread is accounted for")


def rows(tap):
    """C: each way to make a thread, and what becomes of it."""
    with Target("lives") as target:
        run = begin(target, "--json")
        told = turn(target)
        status, answer = run.answer()
        tap.equal(found(answer, told), told, "C: each row is what the program wrote down")
        tap.equal((status, answer["acquired"], answer["not_joined"], answer["joins_unknown"], answer["opened_before"]),
                  (0, sum(n for n, _, _ in told.values()), 8, 0, 2), "C: the sums")
        accounted(tap, "C", answer, target)
        cost = answer["overhead"]
        tap.equal((cost["copied"], cost["lost"]), (answer["acquired"], 0), "C: what was copied has a cost")
        tap.check(100 < cost["ns_each"] < 10**6 and 0 < cost["share"] <= 1, "C: the cost of a copy, and its share", cost)
    with Target("lives") as target:
        run = begin(target)
        turn(target)
        status, out, err = run.end()
        tap.check(re.search(r"^ +7 +7 +0 .*clone3 < .*\n", out, re.M) and "(7 ended, not joined)" in out and
                  "ended and not joined 8, whose stacks stay mapped" in out, "C: text", out)
        tap.check(re.search(r"^cost: 76 copies, \d+\.\d µs each, \d+\.\d\d % of the process's CPU time$", out, re.M),
                  "C: the cost in text", out)


def ends(tap):
    """The only thread that runs is the first one, which is in another list of the C library than those that ended."""
    with Target("lives") as target:
        run = begin(target, "--json")
        told = turn(target, "ends")
        again = turn(target, "ends")
        answer = run.answer()[1]
        wanted = {name: tuple(a + b for a, b in zip(told[name], again[name])) for name in told}
        tap.equal(found(answer, told), wanted, "all have ended: each row is what the program wrote down")
        accounted(tap, "all have ended", answer, target)


def program(tap):
    """execve(2) by another thread than the first: it ends all others, and takes the number of the first."""
    with Target("lives") as target:
        run = begin(target, "--json")
        told = turn(target)
        again = program_again(target)
        answer = run.answer()[1]
        wanted = {name: (2 * told[name][0], *told[name][1:]) for name in told}
        sums = found(answer, told)
        tap.equal((again, {name: sums[name] for name in told}), (told, wanted),
                  "execve: what was made before is gone, what was made after is there")
        accounted(tap, "execve", answer, target)


def musl(tap):
    """Joins are not told of a C library that keeps its threads otherwise."""
    if not shutil.which("musl-gcc"):
        tap.skip("musl", "no musl-gcc", Tap.TOOL)
        return
    with Target("lives_musl") as target:
        run = begin(target, "--json")
        told = turn(target)
        status, out, err = run.end()
        answer = json.loads(out)
        tap.equal(found(answer, told), {name: row[:2] for name, row in told.items()}, "musl: made, and running")
        tap.check(answer["joins_unknown"] > 0, "musl: joins are not known", out[:400])
        accounted(tap, "musl", answer, target)


def python(tap):
    """Rows are functions of Python; the verdict names the one that grows."""
    with Target(None, PYTHON, path=sys.executable) as target:
        run = begin(target, "--json")
        told = turn(target)
        answer = run.answer()[1]
        tap.equal({name: found(answer, told)[name] for name in told}, told,
                  "Python: each row is what the program wrote down")
        accounted(tap, "Python", answer, target)
    with Target(None, PYTHON, path=sys.executable) as target:
        run = begin(target)
        turn(target)
        status, out, err = run.end()
        tap.check(re.search(r"30 threads acquired, 15 released; grows by \d+ a minute, 100 % of it from Worker\.launch lives\.py:",
                            out.splitlines()[0]), "Python: the verdict comes first", out)


def killed(tap):
    """Programs and links are gone after kill -9 of the command or the process."""
    with Target("lives") as target:
        run = begin(target)
        held.killed(tap, run, target, 6)
        run = begin(target, "--json")
        turn(target)
        answer = answer_without(run, target)
        tap.equal((answer["checked"], answer["acquired"], answer["outstanding"], answer["lost"]), (False, 76, 0, 0),
                  "a process that has ended: it is not checked, and no thread is left")


if __name__ == "__main__":
    Tap.main(rows, ends, program, musl, python, killed, skip=("leaks --of threads", iterator_refused(), Tap.ROOT))
