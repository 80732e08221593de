# SPDX-License-Identifier: LGPL-2.1-or-later
"""For gdb: FOLDER/<n>-<i>.core are core files of a PHP program in its n-th return from execute_ex(), at the i-th
instruction behind the one that puts r14 back; of those, every fourth and the last.

    gdb -batch -x gdb_returns.py --args php8.2 PROGRAM
"""
import os

import gdb

FOLDER = os.environ["FOLDER"]
RETURNS = int(os.environ["RETURNS"])
EVERY = 4
LOOKED_AT = 12000  # instructions, which is more than execute_ex() has


def in_execute_ex(address):
    return gdb.execute(f"info symbol {address}", to_string=True).startswith("execute_ex")


def returning():
    """{the first of them: [the addresses of these instructions, up to the ret]}: a compiler may make several."""
    found, ends = None, {}
    start = int(gdb.parse_and_eval("(long)&execute_ex"))
    for each in gdb.selected_inferior().architecture().disassemble(start, count=LOOKED_AT):
        words = each["asm"].split()
        if found is not None:
            found.append(each["addr"])
        if words[0] == "mov" and words[-1].endswith(("(%rsp),%r14", "(%rbp),%r14")):
            found = []
        elif words[0] in ("call", "jmp"):
            found = None
        elif words[-1] == "ret":
            if found and in_execute_ex(found[0]) and in_execute_ex(found[-1]):
                ends[found[0]] = found
            found = None
    if not ends:
        raise RuntimeError("no end of execute_ex() was found")
    return ends


def main():
    for each in ("set pagination off", "set confirm off", "set debuginfod enabled off", "set disassembly-flavor att"):
        gdb.execute(each)
    gdb.execute("break php_execute_script", to_string=True)
    gdb.execute("run", to_string=True)
    gdb.execute("delete")
    ends = returning()
    for first in ends:
        gdb.Breakpoint(f"*{first}")
    for n in range(RETURNS):
        gdb.execute("continue", to_string=True)
        addresses = ends[int(gdb.parse_and_eval("(long)$pc"))]
        for i, address in enumerate(addresses):
            if int(gdb.parse_and_eval("(long)$pc")) != address:
                raise RuntimeError(f"stopped elsewhere than at instruction {i}")
            if i % EVERY == 0 or i + 1 == len(addresses):
                gdb.execute(f"gcore {FOLDER}/{n}-{i}.core", to_string=True)
            gdb.execute("stepi", to_string=True)
    gdb.execute("kill")


main()
