# SPDX-License-Identifier: LGPL-2.1-or-later
"""For gdb: FOLDER/<n>-<i>.core are core files of a PHP 8.2 in zend_generator_resume() when it resumes a generator for
the n-th time, at one of the instructions after which the generator's call is the innermost one: its caller is about to
be linked to it.

    gdb -batch -x gdb_resumes.py --args php8.2 PROGRAM
"""
import os

import gdb

FOLDER = os.environ["FOLDER"]
RESUMES = int(os.environ["RESUMES"])
CURRENT = 488  # EG(current_execute_data)
LINKED_AFTER = 4  # instructions; of those the first and the last


def number(expression):
    return int(gdb.parse_and_eval(f"(long)({expression})"))


def main():
    for each in ("set pagination off", "set confirm off", "set debuginfod enabled off"):
        gdb.execute(each)
    gdb.execute("break php_execute_script", to_string=True)
    gdb.execute("run", to_string=True)
    gdb.execute("delete")
    gdb.execute("break *zend_generator_resume", to_string=True)
    current = f"*(long *)((char *)&executor_globals + {CURRENT})"
    gdb.execute("continue", to_string=True)
    before = number(current)
    while number(current) == before:
        gdb.execute("stepi", to_string=True)
    gdb.execute("delete")
    gdb.execute("break *$pc", to_string=True)  # it resumes more than one in a call
    for n in range(RESUMES):
        if n > 0:
            gdb.execute("continue", to_string=True)
        for i in range(LINKED_AFTER):
            if not gdb.execute("info symbol $pc", to_string=True).startswith("zend_generator_resume"):
                break  # it is executed
            if i in (0, LINKED_AFTER - 1):
                gdb.execute(f"gcore {FOLDER}/{n}-{i}.core", to_string=True)
            gdb.execute("stepi", to_string=True)
    gdb.execute("kill")


main()
