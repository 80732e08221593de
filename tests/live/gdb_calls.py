# SPDX-License-Identifier: LGPL-2.1-or-later
"""For gdb: FOLDER/<n>-<i>.core are core files of CPython 3.11 or 3.12 in the call behind its n-th os.getppid(), i
instructions after the called frame has become the innermost one and before it has been linked to its caller. Of those
EVERY-th of the first call, else the first one, and the last. FOLDER/orders says how many places there are in the loop where a
frame is linked, and in how many of these it is the innermost one before.

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
    symbol = gdb.execute(f"info address {LOOP}", to_string=True)
    start = int(re.search(r"0x[0-9a-f]+", symbol).group(), 16)
    architecture = gdb.selected_inferior().architecture()
    found, ends = [], start + (1 << 18)
    while not found or found[-1]["addr"] < ends:
        at = found[-1]["addr"] + found[-1]["length"] if found else start
        if not gdb.execute(f"info symbol {at}", to_string=True).startswith(LOOP):
            break
        found += architecture.disassemble(at, count=1000)
    return found


def links(code):
    """[whether the frame was innermost before, the instructions up to the one that links it] of each place. It is linked
    where a register is stored in another one's frame, which then is in that register: previous = frame, frame = new."""
    found = []
    for i, each in enumerate(code):
        stored = re.fullmatch(rf"mov +%(r\w+),0x{PREVIOUS:x}\(%(r\w+)\)", each["asm"])
        if not stored:
            continue
        frame, new = stored.groups()
        behind = [re.sub(" +", " ", e["asm"]) for e in code[i + 1:i + 1 + BEHIND]]
        if f"mov %{new},%{frame}" not in behind:
            continue
        first = i
        for k in range(i - 1, max(i - BEFORE, 0), -1):
            if re.match(r"(call|j|ret)", code[k]["asm"]):
                break
            if re.fullmatch(rf"mov +%{new},0x\w+\(%rsp\)", code[k]["asm"]):
                first = k + 1
        found.append([e["addr"] for e in code[first:i + 1]] if first < i + 1 and first != i else [])
    return found


def main():
    for each in ("set pagination off", "set confirm off", "set debuginfod enabled off", "set disassembly-flavor att",
                 "set breakpoint pending on"):
        gdb.execute(each)
    asked = gdb.Breakpoint("getppid")
    gdb.execute("run", to_string=True)
    found = links(instructions())
    early = {each[0]: each for each in found if each}
    with open(os.path.join(FOLDER, "orders"), "w") as orders:
        orders.write(f"{len(found)} {len(early)}\n")
    places = [gdb.Breakpoint(f"*{first}") for first in early]
    for n in range(CALLS if early else 0):
        for place in places:
            place.enabled = True
        gdb.execute("continue", to_string=True)
        pc = int(gdb.parse_and_eval("(long)$pc"))
        for place in places:
            place.enabled = False
        if pc in early:
            for i, address in enumerate(early[pc]):
                if int(gdb.parse_and_eval("(long)$pc")) != address:
                    raise RuntimeError(f"stopped elsewhere than at instruction {i}")
                if i == 0 or i + 1 == len(early[pc]) or (n == 0 and i % EVERY == 0):
                    gdb.execute(f"gcore {FOLDER}/{n}-{i}.core", to_string=True)
                gdb.execute("stepi", to_string=True)
        if n + 1 < CALLS and (pc in early):
            gdb.execute("continue", to_string=True)  # to the next os.getppid()
    asked.delete()
    gdb.execute("kill")


main()
