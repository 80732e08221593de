#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk on usdt: each time at a probe that a program declares is counted, with its arguments; the semaphore is counted up
meanwhile and down afterwards, however the command ends.
"""
import json
import os
import re
import signal
import subprocess

from harness import SNAPWALK, Tap, Target, iterator_refused, snapwalk, wait_until
from safety import wait_confined

ROUNDS = 50  # of tests/targets/declared.c


def begin(*args):
    process = subprocess.Popen([SNAPWALK, "on", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_confined(process, "events begin")
    return process


def turn(target):
    """The semaphore that the program has."""
    target.send("go")
    said = []
    wait_until(lambda: said.append(target.readline()) or said[-1].isdigit(), "the target has come to its probes")
    return int(said[-1])


def end(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def events(tap):
    """Each one, with its arguments."""
    with Target("declared") as target:
        process = begin("usdt:order__begin", target.pid, "--each", "--json", "--args")
        turn(target)
        status, out, err = end(process)
        first, *lines = [json.loads(line) for line in out.splitlines()]
        tap.equal((status, first["schema"], first["function"], first["changes_code"]),
                  (0, "snapwalk.probe/1", "shop:order__begin", True), "what is changed is said first")
        tap.equal([line["arguments"] for line in lines],
                  [[hex(i), hex(-i & 0xffffffffffffffff), "0x7", hex(i), hex(i), None] for i in range(ROUNDS)],
                  "all, with a register, one that has a sign, a constant, two words of the stack, and one that is not known")
        tap.check(all([frame["function"] for frame in line["stack"]["frames"]][:2] == ["orders", "main"] for line in lines),
                  "the stacks", lines[:1])
        for event in ("usdt:shop__order__begin", "usdt:shop:order__begin", "usdt:declared:shop:order__begin", "usdt:declared:order__begin"):
            process = begin(event, target.pid, "--json")
            turn(target)
            status, out, err = end(process)
            tap.equal((status, json.loads(out or "{}").get("events")), (0, ROUNDS), f"{event}: all")
        process = begin("usdt:order__begin", target.pid, "--each", "--args", "--count", 1)
        turn(target)
        out, err = process.communicate(timeout=60)
        tap.check(re.search(r"^probes shop:order__begin in declared: until .*\neach call of it takes .*\n\S+ \d+ order__begin\(0x0, 0x0, 0x7, 0x0, 0x0, \?\)  orders",
                            out), "in text", out)


def semaphores(tap):
    """The program comes to the probe only while somebody wants it."""
    with Target("declared") as target:
        tap.equal(turn(target), 0, "the semaphore before")
        for number in (signal.SIGINT, signal.SIGKILL):
            process = begin("usdt:order__end", target.pid, "--json")
            tap.equal(turn(target), 1, "the semaphore meanwhile")
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            wait_until(lambda: turn(target) == 0, "the semaphore is down", 20)
            tap.equal(turn(target), 0, f"the semaphore after {number.name}")
            if number == signal.SIGINT:
                tap.equal((process.returncode, json.loads(out)["events"]), (0, ROUNDS), "the events")
        process = begin("usdt:order__end", target.pid)
        status, out, err = end(process)
        tap.check(out.startswith("probes shop:order__end in declared, and counts its semaphore up: until "), "it is said first", out)


def said(tap):
    """Which there are, and what cannot be."""
    with Target("declared") as target:
        result = snapwalk("on", "usdt:", target.pid)
        lines = result.stdout.splitlines()
        tap.check(result.returncode == 0 and {"declared:shop:order__begin  8@%rdi -4@%eax 4@$7 8@8(%rsp) 8@(%rsp,%rcx,8) 2@count(%rip)",
                                              "declared:shop:order__end  8@%rdi"} <= set(lines), "which there are", result.stdout)
        result = snapwalk("on", "usdt:declared:", target.pid, "--json")
        probes = json.loads(result.stdout)["probes"]
        tap.equal([(probe["module"], probe["provider"], probe["name"], probe["semaphore"]) for probe in probes],
                  [("declared", "shop", "order__begin", False), ("declared", "shop", "order__end", True)], "of one file, as JSON")
        for words, status, what in ((("usdt:order__bgin",), 2, "declares no probe order__bgin (not_found): did you mean order__begin?"),
                                    (("usdt:other",), 2, f"(not_found): see which there are with 'snapwalk on usdt: {target.pid}'"),
                                    (("usdt:libnone:x",), 2, "it has no library libnone"),
                                    (("usdt:order__end", "--return"), 2, "a probe that is declared does not return")):
            result = snapwalk("on", words[0], target.pid, "-d", "1", *words[1:])
            tap.check(result.returncode == status and what in result.stderr, f"{' '.join(words)}: {what}",
                      (result.returncode, result.stderr))


def python(tap):
    """An interpreter of the system, where it declares probes."""
    path = next((path for path in ("/usr/bin/python3",) if os.path.exists(path)), None)
    program = "import gc, sys\nprint('ready', flush=True)\nfor line in sys.stdin:\n gc.collect()\n print('done', flush=True)\n"
    process = path and subprocess.Popen([path, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process:
        process.stdout.readline()
    if not process or "python:gc__start" not in snapwalk("on", "usdt:", process.pid).stdout:
        tap.skip("probes of Python", "this Python declares none", "an interpreter with --with-dtrace")
    else:
        run = begin("usdt:python:gc__start", process.pid, "--json")
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        status, out, err = end(run)
        answer = json.loads(out or "{}")
        tap.equal((status, answer.get("events")), (0, 1), "a collection of Python")
    if process:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    Tap.main(events, semaphores, said, python, skip=("probes that programs declare", iterator_refused(), Tap.ROOT))
