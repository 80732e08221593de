# SPDX-License-Identifier: LGPL-2.1-or-later
"""The common part of tests on the safety of the target."""
import json
import os
import subprocess
import threading
import time

from harness import PATIENT, SNAPWALK, TARGETS, hangs_s, snapwalk, state_of, tool, wait_until

# Exit statuses of a capture that gave something, and of one that gave nothing, with a reason.
GAVE = (0, 3)
NO_BTF = ("the task iterator needs a kernel with type information "
          "(/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)")
ANSWERED = (0, 1, 3)
# Calls of a target "blocking" that wait for ever, each of which begins again after a stop.
WITHOUT_LIMIT = ("epoll_wait(-1)", "epoll_pwait(-1)", "semop", "sigwaitinfo", "io_getevents(NULL)", "futex_WAIT",
                 "read_pipe", "poll(-1)")


def tasks(pid):
    """Thread ids, [] when the process is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def status_field(pid, tid, field):
    """A field of /proc/PID/task/TID/status as text, '' when it is gone."""
    try:
        with open(f"/proc/{pid}/task/{tid}/status", errors="replace") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return ""


def open_files(pid):
    """Returns the files that a process has open, as its descriptors name them; those that it closes meanwhile are left out."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
    return found


def wait_confined(process, what):
    """Waits until a command has entered its filter of system calls, or has ended. By then all is open that it looks at."""
    wait_until(lambda: process.poll() is not None or status_field(process.pid, process.pid, "Seccomp") == "2", what)


def held(pid):
    """Threads that are in a stop or have a tracer: [(tid, state, tracer)]."""
    result = []
    for tid in tasks(pid):
        state, tracer = state_of(pid, tid), status_field(pid, tid, "TracerPid")
        if state in ("T", "t") or tracer not in ("", "0"):
            result.append((tid, state, tracer))
    return result


def let_go(pid, seconds=20.0):
    """Waits until no thread is held; what is still held, [] when all is well."""
    end = time.monotonic() + seconds
    while True:
        left = held(pid)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.001)


def run(*args, limit=None, command=None, **popen):
    """(status, stdout, stderr, seconds) of a snapwalk run, bytes decoded as UTF-8 strictly."""
    limit = 2 * hangs_s() if limit is None else limit
    begin = time.monotonic()
    result = subprocess.run([*(command or [SNAPWALK]), *map(str, args)], capture_output=True,
                            timeout=limit, **popen)
    return (result.returncode, result.stdout.decode("utf-8"),
            result.stderr.decode("utf-8"), time.monotonic() - begin)


def frames_of(report, key=("pc", "function", "trust", "by")):
    """Thread id -> (end, frames), for comparing two dumps of a process that stands still."""
    result = {}
    for thread in report["threads"]:
        if thread["stack"] is None:
            result[thread["tid"]] = None
            continue
        stack = report["stacks"][thread["stack"]]
        result[thread["tid"]] = (stack["end"], tuple(
            tuple(frame[k] for k in key) for frame in stack["frames"]))
    return result


def functions(report, tid):
    """Names of the functions of a thread's stack, innermost first."""
    for thread in report["threads"]:
        if thread["tid"] == tid and thread["stack"] is not None:
            return [f["function"] for f in report["stacks"][thread["stack"]]["frames"]]
    return []


def thread_of(report, tid):
    return next((t for t in report["threads"] if t["tid"] == tid), None)


def warned(report, code):
    return [w for w in report["warnings"] if w["code"] == code]


def parse(text):
    """The report, after a check that the text holds no control character (RFC 8259, section 7)."""
    bad = [c for c in text if ord(c) < 0x20 and c != "\n"]
    if bad:
        raise ValueError(f"raw control characters in the JSON: {bad[:5]!r}")
    return json.loads(text)


def capture(pid, *args, status=GAVE, **more):
    """The parsed dump, whose exit status must be one of those given. Patient, as dump() is."""
    code, out, err, _ = run("dump", "--json", *PATIENT, *args, pid, **more)
    if code not in status:
        raise RuntimeError(f"status {code}, wanted one of {status}\n{err}")
    return parse(out)


def without_btf():
    """The beginning of a command that sees a kernel without type information: no /sys/kernel/btf, and bpf()
    fails as it does where a type is looked for: EINVAL, bpf_find_btf_id() in kernel/bpf/btf.c, v6.1. None:
    it cannot be made here."""
    tools = tool("unshare"), tool("mount")
    if os.geteuid() != 0 or None in tools:
        return None
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    command = [tools[0], "--mount", "--propagation", "private", "sh", "-c", hide, "sh"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        return None
    return [*command, os.path.join(TARGETS, "without"), "bpf=EINVAL", "--"]


def median(values):
    return sorted(values)[len(values) // 2]


def run_time(pid, *args, times=7):
    """Median seconds that a run takes here and now."""
    return median([run("dump", "--json", *args, pid)[3] for _ in range(times)])


def check_released(tap, target, killed):
    """Gives each call of a target "blocking" its event: it returns that, and nothing returned EINTR before."""
    calls = [line.split() for line in target.lines if line.startswith("call ")]
    # A wake-up of a futex is lost on a thread that is just going back to it.
    wait_until(lambda: all(state_of(target.pid, tid) == "S" for tid in tasks(target.pid)),
               "the threads to be in their calls again")
    for call in calls:
        target.send(f"release {call[1]}")
    got = {}
    for _ in calls:
        words = target.readline().split()
        got[words[1]] = words[2:4]
    odd = {c[1]: got[c[1]] for c in calls if got[c[1]] != c[4:6]}
    tap.equal(odd, {}, f"after {killed} kills every call returned its event, none EINTR")


class Lines:
    """Collects a target's output lines while the test does other things."""

    def __init__(self, target):
        self.lines = []
        self.target = target
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            for line in self.target.process.stdout:
                self.lines.append(line.rstrip("\n"))
        except ValueError:
            pass  # closed by the test's end


__all__ = ["GAVE", "ANSWERED", "tasks", "status_field", "held", "let_go", "run", "frames_of",
           "functions", "thread_of", "warned", "parse", "capture", "median", "run_time", "Lines",
           "snapwalk"]
