#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Programs whose .eh_frame_hdr lacks functions that .eh_frame describes, as GNU ld links some objects of
clang: they are walked by tables all the same."""
import os
import re
import shutil
import struct
import subprocess
import tempfile

from harness import TARGETS, Tap, Target, dump, own_functions, stack_of, wait_blocked

LEFT_OUT = {"third", "first", "worker", "main"}


def section(path, name):
    """(address, offset, size)"""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"\s{re.escape(name)}\s+\S+\s+(\w+) (\w+) (\w+)", out)
    return tuple(int(word, 16) for word in found.groups())


def addresses(path):
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines() if len(line.split()) == 3}


def leave_out(path, names):
    """Takes functions out of the search table; what is left stays sorted."""
    svma, off, _ = section(path, ".eh_frame_hdr")
    wanted = {addresses(path)[name] for name in names}
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        count, = struct.unpack_from("<I", data, off + 8)
        pairs = [struct.unpack_from("<ii", data, off + 12 + 8 * i) for i in range(count)]
        kept = [pair for pair in pairs if svma + pair[0] not in wanted]
        struct.pack_into("<I", data, off + 8, len(kept))
        for i, pair in enumerate(kept):
            struct.pack_into("<ii", data, off + 12 + 8 * i, *pair)
        file.seek(0)
        file.write(data)
    return count - len(kept)


def test_unlisted(tap, build):
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "program")
        shutil.copy(os.path.join(TARGETS, build), program)
        tap.equal(leave_out(program, LEFT_OUT), len(LEFT_OUT), f"{build}: the table lacks functions")
        with Target(build, path=program) as target:
            wait_blocked(target.pid, (34, 202))
            report = dump(target.pid)
            for line in target.lines:
                if not line.startswith("stack "):
                    continue
                _, tid, *functions = line.split()
                tid = int(tid)
                stack = stack_of(report, tid)
                tap.equal(own_functions(report, tid), functions, f"{build}: every function")
                tap.equal((stack["end"], {f["trust"] for f in stack["frames"]}),
                          ("complete", {"context", "cfi"}), f"{build}: by tables alone, to the end")


if __name__ == "__main__":
    Tap.main((test_unlisted, "chain_pie"), (test_unlisted, "chain_clang"), (test_unlisted, "chain_Os"))
