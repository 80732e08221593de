# SPDX-License-Identifier: LGPL-2.1-or-later
"""For gdb: FOLDER/<n>-<i>.core are core files of CPython 3.11 or 3.12 in the call between its n-th pair of os.getppid(),
i instructions after the called frame has become the innermost one, and before it has been linked to its caller: the
first and the last of these instructions, and of the first call every third. A call that links it first has none.
FOLDER/orders says how many places of the loop link a frame, and in how many of these it is the innermost one before.

    gdb -batch -x gdb_calls.py --args python3.11 -I -S calls.py
"""
import os
import re

import gdb

FOLDER = os.environ["FOLDER"]
PREVIOUS = int(os.environ["PREVIOUS"])  # offset in a frame
CALLS = int(os.environ["CALLS"])
EVERY = 3
BEFORE = 24  # instructions that are looked at
BEHIND = 4
LOOP = "_PyEval_EvalFrameDefault"


def instructions():
    """Returns the instructions of the loop, and a few behind it."""
    at = int(gdb.parse_and_eval(f"(long)&{LOOP}"))
    architecture = gdb.selected_inferior().architecture()
    found = []
    while gdb.execute(f"info symbol {at}", to_string=True).startswith(LOOP):
        found += architecture.disassemble(at, count=1000)
        at = found[-1]["addr"] + found[-1]["length"]
    return found


def links(code):
    """For each place that links a frame: the instructions from when it is the innermost one up to that; none where it is
    not before. It is linked where the loop's frame is stored in it and it becomes the loop's: previous = frame,
    frame = new."""
    found = []
    for i, each in enumerate(code):
        stored = re.fullmatch(rf"mov +%(r\w+),0x{PREVIOUS:x}\(%(r\w+)\)", each["asm"])
        if not stored:
            continue
        frame, new = stored.groups()
        behind = [re.sub(" +", " ", e["asm"]) for e in code[i + 1:i + 1 + BEHIND]]
        if f"mov %{new},%{frame}" not in behind:
            continue
        innermost = None
        for k in range(i - 1, max(i - BEFORE, 0), -1):
            if re.match(r"(call|j|ret)", code[k]["asm"]):
                break
            if re.fullmatch(rf"mov +%{new},0x\w+\(%rsp\)", code[k]["asm"]):
                innermost = k
        found.append([] if innermost is None else [e["addr"] for e in code[innermost + 1:i + 1]])
    return found


def enable(breakpoints, on):
    for each in breakpoints:
        each.enabled = on


def pc():
    return int(gdb.parse_and_eval("(long)$pc"))


def main():
    for each in ("set pagination off", "set confirm off", "set debuginfod enabled off", "set disassembly-flavor att",
                 "set breakpoint pending on"):
        gdb.execute(each)
    gdb.Breakpoint("getppid")
    gdb.execute("run", to_string=True)
    found = links(instructions())
    early = {each[0]: each for each in found if each}
    with open(os.path.join(FOLDER, "orders"), "w") as orders:
        orders.write(f"{len(found)} {len(early)}\n")
    places = [gdb.Breakpoint(f"*{first}") for first in early]
    for n in range(CALLS if early else 0):
        enable(places, True)
        gdb.execute("continue", to_string=True)
        enable(places, False)
        if pc() in early:
            addresses = early[pc()]
            for i, address in enumerate(addresses):
                if pc() != address:
                    raise RuntimeError(f"stopped elsewhere than at instruction {i}")
                if i in (0, len(addresses) - 1) or (n == 0 and i % EVERY == 0):
                    gdb.execute(f"gcore {FOLDER}/{n}-{i}.core", to_string=True)
                gdb.execute("stepi", to_string=True)
            gdb.execute("continue", to_string=True)  # to the second os.getppid() of the pair
        if n + 1 < CALLS:
            gdb.execute("continue", to_string=True)
    gdb.execute("kill")


main()
