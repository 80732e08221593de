# SPDX-License-Identifier: LGPL-2.1-or-later
"""The truth that tests/targets/wine/minidump.c says of itself, compared with a dump of the minidump that it wrote."""
from harness import stack_of


class Truth:
    def __init__(self, text):
        lines = [line.split() for line in text.splitlines()]
        self.threads = {int(line[1]): (line[2], line[3:]) for line in lines if line[0] == "thread"}
        self.crash = next(((int(line[1]), line[2]) for line in lines if line[0] == "crash"), None)


def own(report, stack, program):
    """The functions of the program itself, innermost first, without inlined copies and those of the C runtime."""
    return [frame["function"] for frame in stack["frames"] if frame["function"] and not frame["inlined"] and
            program in report["modules"][frame["module"]]["path"] and "CRTStartup" not in frame["function"]]


def check(tap, report, truth, program, name):
    """All threads have the functions that they said; the crash is the one that was made."""
    tap.equal({t["tid"] for t in report["threads"]}, set(truth.threads), f"{name}: its threads")
    for tid, (_, functions) in truth.threads.items():
        stack = stack_of(report, tid)
        if stack is None:
            continue
        tap.equal(own(report, stack, program), functions, f"{name}: the functions of thread {tid}")
    crash = report["process"].get("crash")
    tap.equal(crash and (crash["tid"], crash["address"], crash["access"], crash["signal"], crash["number"]),
              truth.crash and (*truth.crash, "write", "EXCEPTION_ACCESS_VIOLATION", 0xc0000005), f"{name}: the crash")
