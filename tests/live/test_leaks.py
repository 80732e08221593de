#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
"""snapwalk leaks: of programs that write down what they got and gave up, each stack has those numbers, nothing is lost, and
each descriptor that is open in the end is accounted for.
"""
import ctypes
import json
import os
import re
import signal
import sys
import tempfile

import held
from harness import Tap, Target, iterator_refused, snapwalk
from held import ages, answer_without, found, nothing_lost, program_again, turn
from test_events import Run, links

PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "python", "descriptors.py")


def begin(target, *args):
    """Events have begun, and what was open before is listed."""
    return Run("leaks", "--of", "fds", *args, "-d", 0, target.pid)


def accounted(tap, name, answer, target):
    open_now = {fd for fd in os.listdir(f"/proc/{target.pid}/fd")}
    nothing_lost(tap, name, answer)
    tap.equal((answer["open"], answer["outstanding"] + answer["opened_before"]), (len(open_now), len(open_now)),
              f"{name}: each open descriptor is accounted for")


def rows(tap):
    """C: each way to get and give up a descriptor."""
    with Target("descriptors") as target:
        before = len(os.listdir(f"/proc/{target.pid}/fd"))
        run = begin(target, "--json")
        told = turn(target)
        status, answer = run.answer()
        tap.equal(found(answer, told), told, "C: each row is what the program wrote down")
        tap.equal((status, answer["acquired"]), (0, sum(n for n, _ in told.values())), "C: the sum")
        batches = [s["last_seq"] - s["first_seq"] for s in answer["stacks"]
                   if "by_batch" in (f["function"] for f in s["frames"])]
        tap.equal(batches, [0], "C: several messages of one call are one event")
        tap.equal((answer["opened_before"], answer["opened_before_released"], answer["without_stack"]), (before - 2, 2, 2),
                  "C: opened before; closed of them; by another process with the same table")
        accounted(tap, "C", answer, target)
        halves = [(s["first_half"] + s["second_half"], s["outstanding"]) for s in answer["stacks"]]
        tap.check(all(a == b for a, b in halves), "C: both halves together are what is outstanding", halves)
        ages(tap, "C", answer)
        tap.check(all((s["oldest_ms"] is None) == (s["outstanding"] == 0) for s in answer["stacks"]), "C: ages of none")


def program(tap):
    """execve(2) gives up what is marked so, and nothing else."""
    with Target("descriptors") as target:
        run = begin(target, "--json")
        told = turn(target)
        again = program_again(target)
        answer = run.answer()[1]
        sums = found(answer, told)
        tap.equal(again["by_open"], told["by_open"], "the new program does the same")
        tap.equal(sums["by_open"], (2 * told["by_open"][0], 2 + told["by_open"][1]),
                  "execve: half of those of open are closed on exec")
        tap.equal(sums["by_pipe"], (2 * told["by_pipe"][0], told["by_pipe"][1]), "execve: all ends of pipes are")
        tap.equal(sums["over_second"], tuple(2 * n for n in told["over_second"]), "execve: those of dup2 are not")
        accounted(tap, "execve", answer, target)


def python(tap):
    """Rows are functions of Python; the verdict names the one that grows most."""
    with Target(None, PYTHON, path=sys.executable) as target:
        run = begin(target, "--json")
        told = turn(target)
        answer = run.answer()[1]
        sums = found(answer, told)
        tap.equal({name: sums[name] for name in told}, told, "Python: each row is what the program wrote down")
        accounted(tap, "Python", answer, target)
        released = [s["nearly_all_released"] for s in answer["stacks"] if s["outstanding"] == 0]
        tap.check(not any(released), "what is released whole is not marked", answer["stacks"])
    with Target(None, PYTHON, path=sys.executable) as target:
        run = begin(target)
        turn(target)
        status, out, err = run.end()
        head = out.splitlines()[0]
        tap.check(re.search(r", pid \d+, \d+ s: \d+ descriptors acquired, \d+ released; grows by \d+ a minute, 50 % of it "
                            r"from (leak|Pool\.connect) descriptors\.py:\d+$", head), "the verdict comes first", out)
        tap.check(re.search(r"^ +30 +30 +0 .*Pool\.connect descriptors\.py", out, re.M), "a row in text", out)
        tap.check(" < load " not in out, "what does not grow is no row", out)
        tap.check("origin unknown 0 " in out and "all accounted for" in out, "the check in text", out)


def unseen(tap):
    """Descriptors that nobody saw are figures of their own: one that is got, and one that is given up, by 32-bit
    code."""
    with Target("descriptors") as target:
        run = begin(target, "--json")
        turn(target, "unseen")
        status, out, err = run.end()
        answer = json.loads(out)
        tap.equal((answer["unknown_origin"], answer["closed_unseen"], answer["lost"], answer["checked"]), (1, 1, 0, True),
                  "32-bit code: got and given up unseen")
        tap.equal([(s["acquired"], s["outstanding"], s["closed_unseen"]) for s in answer["stacks"]], [(1, 0, 1)],
                  "32-bit code: the stack that got what was given up unseen")
    with Target("descriptors") as target:
        run = begin(target, "--json")
        turn(target)
        answer = answer_without(run, target)
        tap.equal((answer["checked"], answer["open"]), (False, 0), "a process that has ended: it is not checked")
        tap.check(answer["acquired"] > 2000 and answer["lost"] == 0, "a process that has ended: what was seen is there",
                  {key: value for key, value in answer.items() if key != "stacks"})


def limits(tap):
    """Descriptors that an event has no space for are of unknown origin, and the cut event counts as lost."""
    # 320 descriptors in four messages of one call: 256 are in the event. 140 messages of two control messages: 256 of these.
    for what, got, seen in (("many", 320, 256), ("noted", 140, 128)):
        with Target("descriptors") as target:
            run = begin(target, "--json")
            turn(target, what)
            status, answer = run.answer()
            sums = found(answer, ["many"])
            tap.equal((sums["many"], answer["unknown_origin"], answer["lost"], status), ((seen, seen), got - seen, 1, 3),
                      f"{what}: a limit is reached, and said")


def number_again(pid, program):
    """Another process with that number: what it writes, and what it reads."""
    there, theirs = os.pipe()
    mine, here = os.pipe()
    class Arguments(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack",
                                                         "stack_size", "tls", "set_tid", "set_tid_size", "cgroup")]
    wanted = ctypes.c_int(pid)
    arguments = Arguments(exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(wanted), set_tid_size=1)
    made = ctypes.CDLL(None, use_errno=True).syscall(435, ctypes.byref(arguments), ctypes.sizeof(arguments))  # clone3
    if made == 0:
        try:
            os.dup2(there, 0)
            os.dup2(here, 1)
            os.execv(program, [program])
        finally:
            os._exit(127)
    os.close(there)
    os.close(here)
    if made < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    return os.fdopen(theirs, "w"), os.fdopen(mine)


def pid_again(tap):
    """A process ends and another one gets its number while nobody reads: what that one does is not counted."""
    with Target("descriptors") as target:
        run = begin(target, "--json")
        told = turn(target)
        run.process.send_signal(signal.SIGSTOP)
        target.process.kill()
        target.process.wait()
        to, answers = number_again(target.pid, target.command[0])
        with to, answers:
            to.write("go\n")
            to.flush()
            lines = list(iter(lambda: answers.readline().strip(), "done"))
            run.process.send_signal(signal.SIGCONT)
            out, err = run.process.communicate()
        os.waitpid(target.pid, 0)
        answer = json.loads(out)
        sums = found(answer, told)
        tap.check(len(lines) > 10, "pid again: the other process has the number, and opens as many", lines)
        tap.equal({name: sums[name][0] for name in told}, {name: n for name, (n, _) in told.items()},
                  "pid again: only what the first process got is counted")
        tap.equal((answer["lost"], answer["checked"]), (0, False), "pid again: nothing is lost, and the other's list is not read")


def killed(tap):
    """Programs and links are gone after kill -9."""
    with Target("descriptors") as target:
        run = begin(target)
        tap.equal(len(links(run.process.pid)), 3, "there were programs at three trace points")
        held.killed(tap, run, target, 6)


def compared(tap):
    """Two results by stack: of one in which nothing is got, and one in which each function has got what it says."""
    with tempfile.TemporaryDirectory() as directory:
        old, new = (os.path.join(directory, name) for name in ("old.json", "new.json"))
        for path, what in ((old, "unseen"), (new, "go")):
            with Target("descriptors") as target:
                run = begin(target, "-o", path)
                told = turn(target, what)
                run.end()
        result = snapwalk("diff", "--json", old, new)
        answer = json.loads(result.stdout)
        sums = dict.fromkeys(told, 0)
        for s in answer["stacks"]:
            words = [frame.split()[0] for frame in s["where"].split(" < ")]
            name = next((word for word in words if word in told), "-")
            sums[name] += s["new"] - s["old"]
        tap.equal(({name: n for name, n in sums.items() if n}, answer["of"]),
                  ({name: n for name, (_, n) in told.items() if n}, "fds"), "compared: growth by stack")
        result = snapwalk("diff", new, new)
        tap.check(result.returncode == 0 and "no stack has changed" in result.stdout, "compared with itself", result.stdout)
        with open(old, "w") as file:
            file.write('{"schema":"snapwalk.leaks/1","of":"maps","stacks":[]}')
        result = snapwalk("diff", old, new)
        tap.check(result.returncode == 1 and "different things" in result.stderr, "compared: other things", result.stderr)


def said(tap):
    result = snapwalk("leaks", "1")
    tap.check(result.returncode == 2 and "nothing to follow is given" in result.stderr, "without --of", result.stderr)
    result = snapwalk("leaks", "--of", "cats", "1")
    tap.check(result.returncode == 2, "--of cats", result.stderr)


if __name__ == "__main__":
    Tap.main(rows, program, python, unseen, limits, pid_again, killed, compared, said,
             skip=("leaks", iterator_refused(), Tap.ROOT))
