# SPDX-License-Identifier: LGPL-2.1-or-later
"""Other tools that walk the stacks of a live process, as independent opinions."""
import json
import re
import subprocess
import tempfile

GDB_STACKS = """
import gdb, json, os
def stacks():
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
    return "STACKS " + json.dumps(result)
"""
GDB_SCRIPT = GDB_STACKS + "print(stacks())"
# Looks at each process whose pid stands on a line of its input, and lets it go again.
GDB_SERVE = GDB_STACKS + """
gdb.execute("set confirm off")
before = None
for line in os.fdopen(os.dup(0)):
    program = os.readlink("/proc/" + line.strip() + "/exe")
    if program != before:  # else it would read the symbols of the one before
        gdb.execute("file", to_string=True)
        before = program
    gdb.execute("attach " + line, to_string=True)
    said = stacks()
    gdb.execute("detach", to_string=True)
    print(said, flush=True)
"""
GDB_COMMAND = ["gdb", "-batch", "-nx", "-iex", "set auto-load off",
               "-iex", "set debuginfod enabled off", "-ex", "set pagination off",
               "-ex", "set backtrace past-main on", "-ex", "set backtrace limit unlimited"]


def gdb_python(script):
    return ["-ex", "python exec(" + json.dumps(script) + ")"]


def gdb_said(line):
    return {int(tid): pcs for tid, pcs in json.loads(line.removeprefix("STACKS ")).items()}


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
    run = subprocess.run([*GDB_COMMAND, "-p", str(pid), *gdb_python(GDB_SCRIPT)],
                         capture_output=True, text=True, timeout=300)
    found = re.search(r"^STACKS .*$", run.stdout, re.M)
    if not found:
        raise RuntimeError(f"gdb says nothing of {pid}: {run.stdout}\n{run.stderr}")
    return gdb_said(found.group(0))


class Gdb:
    """gdb(), again and again: what takes gdb most of its time is done once for a program. When gdb ends
    before it has answered (it may fail an assertion of its own), another one is asked, once."""

    def __init__(self):
        self.process = None

    def start(self):
        self.close()
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*GDB_COMMAND, *gdb_python(GDB_SERVE)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors)

    def ask(self, pid):
        """Returns its answer; None when it ended."""
        try:
            self.process.stdin.write(f"{pid}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        said = (line for line in self.process.stdout if line.startswith("STACKS "))
        return next(said, None)

    def stacks(self, pid):
        said = self.ask(pid) if self.process else None
        if said is None:
            self.start()
            said = self.ask(pid)
        if said is None:
            self.errors.seek(0)
            raise RuntimeError(f"gdb says nothing of {pid}: {self.errors.read()[-2000:]}")
        return gdb_said(said)

    def close(self):
        if self.process is None:
            return
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()
        self.process = None
