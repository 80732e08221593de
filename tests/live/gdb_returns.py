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


def returning():
    """The addresses of these instructions, up to the ret."""
    found = None
    start = int(gdb.parse_and_eval("(long)&execute_ex"))
    for each in gdb.selected_inferior().architecture().disassemble(start, count=LOOKED_AT):
        words = each["asm"].split()
        if found is not None:
            found.append(each["addr"])
            if words[0] == "ret":
                return found
            if words[0] in ("call", "jmp"):
                found = None
        elif words[0] == "mov" and words[-1].endswith("(%rsp),%r14") or words[-1].endswith("(%rbp),%r14"):
            found = []
    raise RuntimeError("no end of execute_ex() was found")


def main():
    for each in ("set pagination off", "set confirm off", "set debuginfod enabled off", "set disassembly-flavor att"):
        gdb.execute(each)
    gdb.execute("break php_execute_script", to_string=True)
    gdb.execute("run", to_string=True)
    gdb.execute("delete")
    addresses = returning()
    gdb.Breakpoint(f"*{addresses[0]}")
    for n in range(RETURNS):
        gdb.execute("continue", to_string=True)
        for i, address in enumerate(addresses):
            if int(gdb.parse_and_eval("(long)$pc")) != address:
                raise RuntimeError(f"stopped elsewhere than at instruction {i}")
            if i % EVERY == 0 or i + 1 == len(addresses):
                gdb.execute(f"gcore {FOLDER}/{n}-{i}.core", to_string=True)
            gdb.execute("stepi", to_string=True)
    gdb.execute("kill")


main()
