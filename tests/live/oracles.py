# SPDX-License-Identifier: LGPL-2.1-or-later
"""Other tools that walk the stacks of a live process, as independent opinions."""
import json
import re
import subprocess

GDB_SCRIPT = """
import gdb, json
result = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, pcs = gdb.newest_frame(), []
    try:
        while frame is not None:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                pcs.append(frame.pc())
            frame = frame.older()
    except gdb.error:
        pass
    result[thread.ptid[1]] = pcs
print("STACKS " + json.dumps(result))
"""


def eu_stack(pid, max_frames=4096):
    """({tid: [pc, ...]}, what it complained of). All frames, without names."""
    run = subprocess.run(["eu-stack", "-q", "-n", str(max_frames), "-p", str(pid)],
                         capture_output=True, text=True, timeout=120)
    stacks, current = {}, None
    for line in run.stdout.splitlines():
        tid = re.match(r"TID (\d+):", line)
        if tid:
            current = stacks.setdefault(int(tid.group(1)), [])
        frame = re.match(r"#\d+\s+0x([0-9a-f]+)", line)
        if frame:
            current.append(int(frame.group(1), 16))
    return stacks, run.stderr.strip()


def gdb(pid):
    """{tid: [pc, ...]} of all real frames: not those gdb infers from inlining and tail calls."""
    run = subprocess.run(
        ["gdb", "-batch", "-nx", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
         "-ex", "set pagination off", "-ex", "set backtrace past-main on",
         "-ex", "set backtrace limit unlimited", "-p", str(pid),
         "-ex", "python exec(" + json.dumps(GDB_SCRIPT) + ")"],
        capture_output=True, text=True, timeout=300)
    found = re.search(r"^STACKS (.*)$", run.stdout, re.M)
    if not found:
        raise RuntimeError(f"gdb says nothing of {pid}: {run.stdout}\n{run.stderr}")
    return {int(tid): pcs for tid, pcs in json.loads(found.group(1)).items()}
