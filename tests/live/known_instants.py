# SPDX-License-Identifier: LGPL-2.1-or-later
"""Busy programs at instants that are the same in each run: gdb lets a program run into a function, and leaves it
stopped there by SIGSTOP, without a tracer.

    with Instants() as instants:
        tid = instants.stop_at(pid, "r_compare")  # this thread stands at the first instruction of that function
        ...
        os.kill(pid, signal.SIGCONT)
"""
import contextlib
import os
import signal
import subprocess
import tempfile

from harness import hangs_s, state_of, wait_until
from oracles import GDB_COMMAND, gdb_python
from safety import tasks

TRIES, STOPS_S = 20, 2

# The other threads run until the process stops: where they are is not known.
SERVE = """
import gdb, os
gdb.execute("set confirm off")
gdb.execute("handle all nostop noprint pass")
gdb.execute("handle SIGTRAP stop nopass")
before = None
for line in os.fdopen(os.dup(0)):
    pid, function = line.split()
    program = os.readlink("/proc/" + pid + "/exe")
    if program != before:
        gdb.execute("file", to_string=True)
        before = program
    gdb.execute("attach " + pid, to_string=True)
    point = gdb.Breakpoint("*&" + function, internal=True)
    gdb.execute("continue", to_string=True)
    tid, pc = gdb.selected_thread().ptid[1], gdb.newest_frame().pc()
    point.delete()
    gdb.execute("queue-signal SIGSTOP", to_string=True)  # the thread receives it when it is let go
    gdb.execute("detach", to_string=True)
    print("STANDS", tid, pc, flush=True)
"""


def pc_of(pid, tid):
    """Where a thread stands that is stopped in its own code; None elsewhere."""
    with open(f"/proc/{pid}/task/{tid}/syscall") as file:
        words = file.read().split()
    return int(words[2], 16) if words[0] == "-1" else None


class Instants:
    def __enter__(self):
        self.errors = tempfile.TemporaryFile("w+")
        # A breakpoint that is never met ends gdb, and with it the wait for its answer.
        self.process = subprocess.Popen(["timeout", str(int(hangs_s())), *GDB_COMMAND, *gdb_python(SERVE)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        return self

    def stop_at(self, pid, function):
        """The thread that stands there."""
        for _ in range(TRIES):
            tid, pc = self.ask(pid, function)
            with contextlib.suppress(TimeoutError):
                wait_until(lambda: all(state_of(pid, t) == "T" for t in tasks(pid)), f"{pid} to stop", STOPS_S)
                if pc_of(pid, tid) == pc:
                    return tid
            # A thread that gdb did not stop by a signal cannot be given one, and went on.
            os.kill(pid, signal.SIGCONT)
        raise RuntimeError(f"{pid} did not stay in {function}")

    def ask(self, pid, function):
        self.process.stdin.write(f"{pid} {function}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("STANDS "):
                return map(int, line.split()[1:])
        self.errors.seek(0)
        raise RuntimeError(f"gdb did not stop {pid} in {function}: {self.errors.read()[-2000:]}")

    def __exit__(self, *exc):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()
