#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk leaks --of shm: of a program that writes down which segments, attachments and objects of shared memory it got and
gave up, each stack has those numbers, and each one that the kernel lists in the end is accounted for.
"""
import contextlib
import ctypes
import json
import os
import re
import shutil

from harness import TARGETS, Tap, Target, iterator_refused
from held import ages, answer_without, found, killed, nothing_lost, program_again, turn
from test_events import Run

IPC_RMID = 0


def begin(target, *args):
    return Run("leaks", "--of", "shm", *args, "-d", 0, target.pid)


def segments(pid):
    """The numbers of segments that a process has created and that nobody has removed."""
    with open("/proc/sysvipc/shm") as file:
        lines = [line.split() for line in file][1:]
    return [int(line[1]) for line in lines if int(line[4]) == pid and not int(line[2], 8) & 0o1000]


def attachments(pid):
    with open(f"/proc/{pid}/maps") as file:
        return [line for line in file if "/SYSV" in line and line.split()[2] == "00000000"]


def objects(pid):
    return [name for name in os.listdir("/dev/shm") if name.startswith(f"snapwalk-shm-{pid}-")]


@contextlib.contextmanager
def target_of(*args, **how):
    """The program. What it leaves in the machine is removed after it: its children's segments, too, by their keys."""
    libc = ctypes.CDLL(None)
    with Target("shm", *args, **how) as target:
        try:
            yield target
        finally:
            keys = {((target.pid << 4 | n) ^ generation << 28) & 0xffffffff for n in range(16) for generation in (1, 2)}
            with open("/proc/sysvipc/shm") as file:
                lines = [line.split() for line in file][1:]
            for line in lines:
                if int(line[4]) == target.pid or int(line[0]) & 0xffffffff in keys:
                    libc.shmctl(int(line[1]), IPC_RMID, None)
            for name in objects(target.pid):
                os.unlink(f"/dev/shm/{name}")


def accounted(tap, name, answer, pid):
    there = len(segments(pid)) + len(attachments(pid)) + len(objects(pid))
    nothing_lost(tap, name, answer)
    tap.equal((answer["open"], answer["outstanding"] + answer["opened_before"]), (there, there),
              f"{name}: each is accounted for")


def rows(tap):
    """Each way to get and to give up shared memory."""
    with target_of() as target:
        run = begin(target, "--json")
        told = turn(target)
        status, answer = run.answer()
        tap.equal(found(answer, told), told, "each row is what the program wrote down")
        tap.equal((status, answer["of"], answer["acquired"]), (0, "shm", sum(n for n, _ in told.values())), "the sum")
        tap.equal((answer["opened_before"], answer["opened_before_released"], answer["without_stack"]), (2, 2, 0),
                  "there before; given up of them")
        accounted(tap, "go", answer, target.pid)
        ages(tap, "go", answer)


def program(tap):
    """execve(2) detaches all; segments and objects stay."""
    with target_of() as target:
        run = begin(target, "--json")
        told = turn(target)
        again = program_again(target)
        answer = run.answer()[1]
        stay = {"by_private", "by_key", "by_object", "by_open"}
        wanted = {name: (2 * told[name][0], again[name][1] + (told[name][1] if name in stay else 0)) for name in told}
        sums = found(answer, told)
        tap.equal({name: sums[name] for name in told}, wanted, "execve: attachments are gone, the others stay")
        tap.equal((answer["opened_before"], answer["opened_before_released"]), (1, 3), "execve: those of before, too")
        accounted(tap, "execve", answer, target.pid)


def unseen(tap):
    with target_of() as target:
        run = begin(target, "--json")
        told = turn(target, "unseen")
        answer = run.answer()[1]
        tap.equal((answer["unknown_origin"], answer["closed_unseen"], answer["lost"], answer["checked"]), (1, 3, 0, True),
                  "32-bit code, another path, munmap: created and given up unseen")
        tap.equal(found(answer, told), told, "given up unseen: what is left is a segment")


def text(tap):
    with target_of() as target:
        run = begin(target)
        turn(target)
        _, out, _ = run.end()
        tap.check(re.search(r": \d+ shm items acquired, \d+ released; grows by \d+ a minute", out.splitlines()[0]),
                  "text: the verdict comes first", out)
        tap.check(re.search(r"^ +4 +40 +36 .*by_private shm\.c", out, re.M), "text: a row", out)
        tap.check(re.search(r"made or attached before 2 · origin unknown 0 · checked against /proc/\d+/maps, "
                            r"/proc/sysvipc/shm and /dev/shm: \d+ there, all accounted for", out), "text: the check", out)
    with target_of() as target:
        run = begin(target, "--json")
        turn(target)
        answer = answer_without(run, target)
        tap.equal((answer["checked"], answer["open"], answer["lost"]), (False, 0, 0),
                  "a process that has ended: it is not checked")
        tap.check(answer["acquired"] > 2500, "a process that has ended: what was seen is there", answer["acquired"])


def elsewhere(tap):
    """A process in another IPC namespace: what it does is seen, and its segments are not compared."""
    with target_of("--ipc", os.path.join(TARGETS, "shm"), path=shutil.which("unshare")) as target:
        run = begin(target, "--json")
        told = turn(target)
        status, out, err = run.end()
        answer = json.loads(out)
        sums = found(answer, told)
        names = ("by_private", "by_attach", "by_object", "in_thread")
        tap.equal(({name: sums[name] for name in names}, answer["lost"]), ({name: told[name] for name in names}, 0),
                  "another namespace: rows")
        tap.equal((status, answer["checked"]), (3, False), "another namespace: it is not checked")
        tap.check("another IPC namespace" in err, "another namespace: the message", err)


def end_by_kill(tap):
    with target_of() as target:
        killed(tap, begin(target), target, 6)


if __name__ == "__main__":
    Tap.main(rows, program, unseen, text, elsewhere, end_by_kill, skip=("leaks --of shm", iterator_refused(), Tap.ROOT))
