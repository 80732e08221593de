#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""The checks of test_jit_ftable.py and test_jit_tables.py, which the soak runs, on programs that stand still: the
tables of generated code by <snapwalk/ftable.h>, GDB's interface and libgcc's registry, right, recorded and full of
lies."""
import test_jit_ftable as ftable
import test_jit_tables as tables
from harness import Tap


if __name__ == "__main__":
    Tap.main(ftable.example, ftable.announced_only, *map(ftable.with_scratch, ftable.BUILT), ftable.hostile, tables.test_gdb,
             tables.gdb_many, tables.test_libgcc, tables.test_fixture, tables.test_images)
