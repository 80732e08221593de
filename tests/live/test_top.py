#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""top: the view in a terminal of 80 x 24, its keys, another size, the end by keys and signals, after which the
terminal is as before; lines where there is no terminal; what a look costs.
"""
import fcntl
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from harness import SNAPWALK, TARGETS, Tap, Target, iterator_refused, snapwalk, state_of, wait_until

PATIENCE_S = 60

# The part of a shell: the command is in the foreground, in a group of its own, and its status is ours. Without somebody
# who can make it go on again the kernel stops nothing.
SHELL = """
import fcntl, os, resource, signal, sys, termios
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
status = os.waitpid(pid, 0)[1]
os._exit(os.waitstatus_to_exitcode(status) % 256)
"""


class Top:
    """snapwalk top in a terminal of its own."""

    def __init__(self, *args, rows=24, columns=80, cwd=None, env=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.data = b""
        self.frames = 0
        self.lines = []
        self.process = subprocess.Popen([sys.executable, "-c", SHELL, SNAPWALK, "top", *map(str, args)], stdin=slave,
                                        stdout=slave, stderr=slave, cwd=cwd, start_new_session=True,
                                        env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
        self.pid = wait_until(self.command, "the command")

    def command(self):
        """Returns the pid of the command, when it runs."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="utf-8") as children:
            pids = children.read().split()
        return pids and os.readlink(f"/proc/{pids[0]}/exe") == os.path.realpath(SNAPWALK) and int(pids[0])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.data += os.read(self.master, 65536)
        while (frame := re.search(rb"\033\[H(?!\033\[2J)(.*?)\033\[J", self.data, re.S)):
            self.lines = [re.sub(r"\033\[[0-9;]*[mK]", "", line)
                          for line in re.split(r"\r+\n", frame.group(1).decode())]
            self.frames += 1
            self.data = self.data[frame.end():]

    def until(self, condition, what):
        """Reads until a view is as wanted; true when it came."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            if self.lines and condition(self):
                return True
            self.read(0.1)
        print(f"# {what} did not come; status {self.process.poll()}, {self.data}; the last view:")
        for line in self.lines:
            print(f"# {line}")
        return False

    def key(self, keys):
        os.write(self.master, keys)

    def size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def threads(self):
        """The lines of threads: (tid, name, state, since, cpu, where)"""
        found = (re.match(r" *(\d+) (.{15}) (\S+) +(\S+) +(\S+) ?(.*)$", line) for line in self.lines[3:])
        return [m.groups() for m in found if m]

    def ended(self):
        """The status, when it has ended; reads what it says meanwhile."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        return self.process.poll()

    def restored(self, said=b""):
        """Whether the terminal is as before, and what was said on it. The kernel may hand over what was written
        later than it tells that the writer has ended, and in parts."""
        wanted, end = (b"\033[?1049l", b"\033[?25h", said), time.monotonic() + PATIENCE_S
        while not all(text in self.data for text in wanted) and time.monotonic() < end:
            self.read(0.1)
        return termios.tcgetattr(self.slave) == self.before and all(text in self.data for text in wanted)


def is_raw(top):
    return not termios.tcgetattr(top.slave)[3] & termios.ECHO


def views(tap):
    """The views, and what the keys do."""
    with Target("shares", 40, 1) as target, tempfile.TemporaryDirectory() as cwd, \
            Top(target.pid, "--interval", 100, cwd=cwd) as top:
        tap.check(top.until(lambda t: len(t.threads()) == 21 and t.threads()[0][4] not in ("-", "0.0"), "a whole view"),
                  "the screen is filled, and who works is at its head")
        tap.check(len(top.lines) == 24 and max(map(len, top.lines)) <= 80, "24 lines of 80 columns", top.lines)
        tap.check(f"shares, pid {target.pid}: 43 threads" in top.lines[0], "the title says what it is", top.lines[0])
        # A thread in the middle of being taken off a CPU may be met without a stack.
        tap.check(top.until(lambda t: "work_" in t.threads()[0][5] and t.threads()[0][2] in ("running", "runnable"),
                            "where it works"), "where it works")
        tap.check(any("block < blocked" in t[5] for t in top.threads()), "where others wait", top.lines)
        top.key(b"w")
        tap.check(top.until(lambda t: "by since" in t.lines[1] and t.threads()[0][2] == "blocked", "the longest wait"),
                  "w: sorted by the time of waiting")
        top.key(b"n")
        tap.check(top.until(lambda t: "by name" in t.lines[1] and
                            [int(x[0]) for x in t.threads()] == sorted(int(x[0]) for x in t.threads()), "names"),
                  "n: sorted by name")
        top.key(b"s")
        tap.check(top.until(lambda t: "by state" in t.lines[1] and "work_" in t.threads()[0][5], "states"),
                  "s: sorted by state")
        top.key(b"/")
        tap.check(top.until(lambda t: t.lines[1].startswith("/_"), "the question"), "/: asks for a text")
        top.key(b"WORKINGx\x7f\r")
        tap.check(top.until(lambda t: 'only "WORKING"' in t.lines[1] and len(t.threads()) == 1, "the filter"),
                  "only threads with it are left")
        top.key(b"\033")
        tap.check(top.until(lambda t: len(t.threads()) == 21, "all"), "Escape: all again")
        top.key(b"l")
        tap.check(top.until(lambda t: any(re.fullmatch(r" +work_\w+", line) for line in t.lines), "stacks"),
                  "l: frames one below the other")
        top.key(b"l\033[6~")
        tap.check(top.until(lambda t: not any("working" in line for line in t.lines[3:]), "the next page"),
                  "page down moves")
        top.key(b"\033[H\033[B")
        tap.check(top.until(lambda t: not any("working" in line for line in t.lines[3:4]), "the second line"),
                  "down moves by a line")
        top.key(b"\033[5~")
        tap.check(top.until(lambda t: t.threads() and "work_" in t.threads()[0][5], "the first page"),
                  "page up goes to the first line, and no further")
        top.key(b"\033[H?")
        tap.check(top.until(lambda t: any("quit" in line for line in t.lines[3:]), "help"), "?: help")
        top.key(b"? ")
        tap.check(top.until(lambda t: "FROZEN" in t.lines[1], "frozen"), "space freezes")
        frames, title = top.frames, top.lines[0]
        for _ in range(15):
            top.read(0.1)
        tap.check(top.frames <= frames + 1 and top.lines[0] == title, "and nothing moves then", (frames, top.frames))
        top.size(10, 60)
        tap.check(top.until(lambda t: len(t.lines) == 10 and max(map(len, t.lines)) <= 60, "the new size"),
                  "another size is followed at once")
        top.size(24, 120)
        top.key(b" ")
        tap.check(top.until(lambda t: len(t.lines) == 24 and any(len(line) > 90 for line in t.lines) and
                            "FROZEN" not in t.lines[1], "the wide one"), "and a larger one; space goes on")
        top.key(b"d")
        tap.check(top.until(lambda t: "dump written to" in t.lines[1], "the dump"), "d makes a dump")
        name = re.search(r"written to (\S+)", top.lines[1]).group(1)
        with open(os.path.join(cwd, name), encoding="utf-8") as dump:
            text = dump.read()
        tap.check("43 threads" in text and "work" in text, "the dump is in the file that is named", text)
        top.key(b"q")
        tap.equal(top.ended(), 0, "q ends it")
        tap.check(top.restored(), "the terminal is as before", (top.data, termios.tcgetattr(top.slave)))


def ends(tap):
    """The terminal is as before, whatever ends the command."""
    with Target("shares", 3) as target:
        for number, wanted in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGQUIT, 0),
                               (signal.SIGSEGV, 256 - signal.SIGSEGV), (signal.SIGABRT, 256 - signal.SIGABRT)):
            with Top(target.pid, "--interval", 100) as top:
                if not tap.check(top.until(is_raw, "a view"), f"{number.name}: a view before it"):
                    continue
                os.kill(top.pid, number)
                status = top.ended()
                tap.check(status == wanted and top.restored(), f"{number.name}: the terminal is as before",
                          (status, top.data))
        # A socket is what its filter does not permit, where it begins to write to the terminal.
        with Top(target.pid, "--interval", 100, env={"LD_PRELOAD": os.path.join(TARGETS, "attack.so"), "ATTACK": "socket",
                                                     "ATTACK_AT": "terminal"}) as top:
            status = top.ended()
            tap.check(status == 256 - signal.SIGSYS and top.restored(b"it does not permit system call 41 (internal)"),
                      "ended by its filter: the terminal is as before, and says so", (status, top.data))
        with Top(target.pid, "--interval", 100) as top:
            top.until(is_raw, "a view")
            top.key(b"\x1a")
            wait_until(lambda: state_of(top.pid) == "T", "that it is stopped")
            tap.check(top.restored(), "Control-Z gives the terminal back", top.data)
            top.data, frames = b"", top.frames
            os.kill(top.pid, signal.SIGCONT)
            tap.check(top.until(lambda t: t.frames > frames and is_raw(t), "the view"), "and it goes on")
            top.key(b"\x03")
            tap.check(top.ended() == 0 and top.restored(), "Control-C ends it", top.data)
        with Top(target.pid, "--interval", 100) as top:
            top.until(is_raw, "a view")
            target.process.kill()
            tap.check(top.ended() == 0 and top.restored(b"it ended"), "so does the end of the target", top.data)


def hostile_names(tap):
    """The name of a target steers no terminal."""
    program = ("import ctypes, sys, time\n"
               "ctypes.CDLL(None).prctl(15, b'\\033[2J\\n\\r\\x9b1m', 0, 0, 0)\n"
               "print('ready', flush=True)\ntime.sleep(600)")
    with Target("python3", "-c", program, path="/usr/bin/python3") as target:
        with Top(target.pid, "--interval", 100) as top:
            tap.check(top.until(lambda t: len(t.threads()) == 1, "a view"), "the process is shown")
            text = "\n".join(top.lines)
            tap.check(r"\x1b[2J" in text and "\033" not in text and "\x9b" not in text and len(top.lines) == 4,
                      "control characters are made visible", text.encode())
        result = snapwalk("top", target.pid, "--count", 1, "--interval", 100)
        tap.check("\033" not in result.stdout and len(result.stdout.splitlines()) == 3, "in lines, too", result)


def in_lines(tap):
    """Where there is no terminal."""
    with Target("shares", 20, 1) as target:
        result = snapwalk("top", target.pid, "--count", 2, "--interval", 200)
        lines = result.stdout.splitlines()
        tap.check(result.returncode == 0 and len(lines) == 2 * (2 + 23) + 1 and "\033" not in result.stdout,
                  "so many views, of all threads", result)
        result = snapwalk("top", target.pid, "--count", 1, "--interval", 200, "--limit", 3, "--sort", "since",
                          "--filter", "BLOCK <")
        lines = result.stdout.splitlines()
        tap.check(len(lines) == 5 and all("block < blocked" in line for line in lines[2:]),
                  "--limit, --sort and --filter", result)
        if refused := iterator_refused():
            tap.skip("since when", refused, "Linux 6.1, root")
        else:
            tap.check(all(re.search(r"blocked +\d+m?s ", line) for line in lines[2:]), "since when", lines)
        for words in (["--sort", "size"], ["--interval", "5"], ["--filter", "\033"], ["--filter", ""]):
            tap.equal(snapwalk("top", target.pid, *words).returncode, 2, f"{words}: usage")
        run = subprocess.Popen([SNAPWALK, "top", str(target.pid), "--interval", "100"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        run.stdout.readline()
        run.send_signal(signal.SIGINT)
        run.communicate()
        tap.equal(run.returncode, 0, "a signal ends it")
        run = subprocess.Popen([SNAPWALK, "top", str(target.pid), "--interval", "100", "--count", "100000"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        run.stdout.readline()
        target.process.kill()
        said = run.communicate()[1]
        tap.check(run.returncode == 3 and "it ended" in said, "fewer views than wanted: 3", (run.returncode, said))


def cpu_of(*args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = snapwalk("top", *args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, capture_output=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0, result
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost(tap):
    """1,000 threads once a second: at most 1 % of a CPU, which is 10 ms a look."""
    if refused := iterator_refused():
        tap.skip("what a look costs", refused, "Linux 6.1, root")
        return
    with Target("shares", 998) as target:
        looks = 20
        # The best of several: others use the caches, too.
        best = min((cpu_of(target.pid, "--count", looks + 1, "--interval", 100) -
                    cpu_of(target.pid, "--count", 1, "--interval", 100)) / looks for _ in range(3))
        tap.check(best < 0.01, "a look at 1,000 threads takes less than 10 ms of CPU time", best)
        print(f"# {1000 * best:.2f} ms")


if __name__ == "__main__":
    tap = Tap()
    for function in (views, ends, hostile_names, in_lines, cost):
        tap.guard(function)
    tap.done()
