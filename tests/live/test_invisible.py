#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 60s
# soak too
"""The effects on the target: a thread in each blocking call, dumped again and again.

A call without a time limit must not return. Afterwards its event is sent and it must return that
event: the restart was real. With --into PAGE the result becomes the table of that page, docs/invisibility.md.
"""
import os
import sys
import time

from harness import Tap, Target, iterator_refused, state_of, wait_until
from judge import scaled
from safety import Lines, capture

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from marked import put_marked  # noqa: E402

DUMPS = 20 if "--into" in sys.argv else scaled(8)  # as docs/invisibility.md says
PAUSE_S = 0.1 if scaled(1) == 1 else 0  # between dumps while limits run down: the soak makes as many as it can
AT_ONCE = 3
LIMIT_MS = 1200000
# The delays, while which all dumps are done. On a machine that has more to do than it can the dumps take longer than
# that: they are done again with the next one.
SLEEPS_MS = (12000, 60000, 300000)
SLEEPS = ("nanosleep", "clock_nanosleep_relative", "clock_nanosleep_absolute", "usleep")
SLACK_MS = 2000  # of the scheduler on a busy machine, apart from what the control tells
MODES = ("none", "infinite", "all")
TOUCHLESS = ("never", "auto")  # of --stop
EINTR = 4

# System call that each thread is seen in; a delay that a stop interrupted shows restart_syscall.
RESTART_SYSCALL = 219
SYSCALLS = {
    "epoll_wait(-1)": 232, "epoll_wait(timeout)": 232, "epoll_pwait(-1)": 281,
    "epoll_pwait2(NULL)": 441, "epoll_pwait2(timeout)": 441, "nanosleep": 35,
    "clock_nanosleep_relative": 230, "clock_nanosleep_absolute": 230, "usleep": 230,
    "futex_WAIT": 202, "futex_WAIT_timeout": 202, "futex_WAIT_BITSET_absolute": 202,
    "sem_wait": 202, "sem_timedwait": 202, "read_pipe": 0, "write_pipe_full": 1,
    "write_pipe_partial": 1, "read_unix_socket": 0, "recvmsg": 47, "recv_SO_RCVTIMEO": 45,
    "accept": 43, "accept_SO_RCVTIMEO": 43, "poll(-1)": 7, "poll(timeout)": 7,
    "ppoll(timeout)": 271, "select(NULL)": 270, "select(timeout)": 270, "pselect(timeout)": 270,
    "semop": 65, "semtimedop(NULL)": 220, "semtimedop(timeout)": 220, "msgrcv": 70,
    "mq_receive": 243, "mq_timedreceive": 243, "io_getevents(NULL)": 208,
    "io_getevents(timeout)": 208, "io_pgetevents(NULL)": 333, "io_uring_enter": 426,
    "sigtimedwait": 128, "sigwaitinfo": 128, "pause": 34, "sigsuspend": 130, "read_inotify": 0,
    "read_eventfd": 0, "read_timerfd": 0, "wait4": 61, "waitid": 247, "flock": 73,
    "fcntl_F_SETLKW": 72, "open_fifo": 257, "connect_tcp": 42, "connect_unix": 42,
    "connect_SO_SNDTIMEO": 42, "epoll_pwait(timeout)": 281, "futex_waitv": 449,
    "read_SO_RCVTIMEO": 0, "recvmmsg_SO_RCVTIMEO": 299, "send_SO_SNDTIMEO": 44, "msgsnd": 69,
    "io_uring_enter(timeout)": 426,
}
# glibc implements some calls by others, and not all versions alike.
ALSO = {"semop": {220}, "nanosleep": {230}, "usleep": {35}, "select(NULL)": {23},
        "select(timeout)": {23}, "poll(-1)": {271}, "poll(timeout)": {271}}


class Call:
    def __init__(self, words):
        self.name, self.tid, self.kind = words[1], int(words[2]), words[3]
        self.want = (int(words[4]), int(words[5]))
        self.returned = None  # (result, errno, ms)
        self.flagged = False  # a dump said that it interrupts this call


class Blocked:
    """A running target with its calls, all of them seen to wait; .begin is before the first."""

    def __init__(self, limit_ms, sleep_ms, names=()):
        self.begin = time.monotonic()
        self.target = Target("blocking", limit_ms, sleep_ms, *names)

    def __enter__(self):
        self.target.__enter__()
        self.pid = self.target.pid
        words = [line.split() for line in self.target.lines]
        self.calls = {w[1]: Call(w) for w in words if w[0] == "call"}
        self.by_tid = {call.tid: call for call in self.calls.values()}
        self.missing = {w[1]: int(w[2]) for w in words if w[0] == "unavailable"}
        self.early = [w for w in words if w[0] == "return"]
        self.output = Lines(self.target)
        self.seen = 0
        self.stopped = 0  # threads, in dumps that need not stop any
        wait_until(self.settled, "every thread to wait in its call")
        return self

    def __exit__(self, *exc):
        self.target.__exit__(*exc)

    def waits(self, call):
        try:
            with open(f"/proc/{self.pid}/task/{call.tid}/syscall") as file:
                number = file.read().split()[0]
        except OSError:
            return False
        allowed = {SYSCALLS[call.name], RESTART_SYSCALL} | ALSO.get(call.name, set())
        return (state_of(self.pid, call.tid) == "S" and number != "running"
                and int(number) in allowed)

    def update(self):
        """Takes in what has returned up to now."""
        lines = self.output.lines
        while self.seen < len(lines):
            words = lines[self.seen].split()
            self.seen += 1
            if words[0] == "return":
                self.calls[words[1]].returned = tuple(int(w) for w in words[2:5])
        return self

    def dump(self, mode):
        """Take a dump; marks the calls that it says it interrupts, returns their number."""
        how = ["--stop", mode] if mode in TOUCHLESS else ["--stop", "always", "--restart", mode]
        report = capture(self.pid, *how, "--symbols", "none")
        if mode in TOUCHLESS:
            self.stopped += report["timings"]["n_stopped"]
        flagged = [t["tid"] for t in report["threads"] if t.get("interrupted")]
        for tid in flagged:
            self.by_tid[tid].flagged = True
        return report["timings"]["interrupted_calls"], len(flagged)

    def settled(self):
        """True when every call has returned or waits again."""
        self.update()
        return all(c.returned or self.waits(c) for c in self.calls.values())

    def release(self, call):
        self.target.send(f"release {call.name}")


class TooSlow(Exception):
    """The machine has not let us do in time what was to be done."""


def until_in_time(test, times_ms):
    """Does a test with ever more time for it."""
    for time_ms in times_ms:
        try:
            return test(time_ms)
        except TooSlow as error:
            print(f"# {error} within {time_ms} ms", flush=True)
    raise TimeoutError(f"not even within {times_ms[-1]} ms")


def lag(control, asked_ms):
    """Milliseconds that calls which nobody looked at lasted too long, here and now."""
    wait_until(lambda: all(c.returned for c in control.update().calls.values()),
               "the control's calls", 120)
    return max(c.returned[2] for c in control.calls.values()) - asked_ms


def feel(tap, mode, collect):
    """DUMPS dumps over all calls, then their events. A second process with the same delays, that
    nobody looks at, tells what the machine itself adds to them."""
    until_in_time(lambda sleep_ms: feel_in(tap, mode, collect, sleep_ms), SLEEPS_MS)


def feel_in(tap, mode, collect, sleep_ms):
    with (Blocked(LIMIT_MS, sleep_ms) as blocked,
          Blocked(LIMIT_MS, sleep_ms, SLEEPS) as control):
        counted = []
        for _ in range(DUMPS):
            counted.append(blocked.dump(mode))
            wait_until(blocked.settled, "every call to return or to wait again")
        if time.monotonic() - blocked.begin > sleep_ms / 1000:
            raise TooSlow(f"{mode}: not all dumps")
        calls = blocked.calls.values()
        if mode == MODES[0]:
            for name, error in blocked.missing.items():
                tap.skip(name, f"not offered here: {os.strerror(error)}",
                         "a kernel with this system call, which the container lets through")

        interrupted = {c.name for c in calls if c.returned and c.returned[1] == EINTR}
        collect[mode] = {c.name: c.returned for c in calls}
        tap.equal(sorted(c.name for c in calls if c.flagged), sorted(interrupted),
                  f"{mode}: exactly the calls that returned EINTR were marked as interrupted")
        tap.equal([n for n, _ in counted], [flags for _, flags in counted],
                  f"{mode}: interrupted_calls counts the marked threads")
        tap.equal(sum(n for n, _ in counted), len(interrupted),
                  f"{mode}: interrupted_calls adds up to the calls that returned EINTR")
        check_returns(tap, mode, calls)
        if mode == "never":
            tap.equal(blocked.stopped, 0, "--stop never: no thread was stopped")
        check_events(tap, mode, blocked, control, sleep_ms)


def check_returns(tap, mode, calls):
    for call in calls:
        if mode in TOUCHLESS:
            tap.equal(call.returned, None, f"--stop {mode}: {call.name} did not return")
        elif call.kind == "none" and mode != "none" or call.kind == "sleep" or mode == "all" and (
                call.kind == "limit"):
            tap.equal(call.returned, None, f"{mode}: {call.name} did not return")
    if mode == "none":
        visible = [c.name for c in calls if c.kind == "none" and c.returned]
        tap.check(visible, "none: the stop is visible when no register is touched, so that these "
                           "tests can tell")


def check_events(tap, mode, blocked, control, sleep_ms):
    """A call that still waits must return its event, and a delay its full length."""
    waiting = [c for c in blocked.calls.values() if not c.returned]
    for call in waiting:
        if call.kind != "sleep":
            blocked.release(call)
    try:
        wait_until(lambda: all(c.returned for c in blocked.update().calls.values()),
                   "every call to return its event", 60 + sleep_ms / 1000)
    except TimeoutError:
        pass  # shown below, call by call
    most = sleep_ms + SLACK_MS + 3 * lag(control, sleep_ms)
    for call in waiting:
        got = call.returned and call.returned[:2]
        tap.equal(got, call.want, f"{mode}: {call.name} returned its event afterwards")
        if call.kind == "sleep" and call.returned:
            ms = call.returned[2]
            tap.check(sleep_ms <= ms <= most, f"{mode}: {call.name} lasted as long as asked",
                      f"{ms} ms, wanted {sleep_ms} to {most}")


DEADLINES_MS = (6000, 30000, 150000)  # as SLEEPS_MS
# (result, errno) when the limit is reached
EXPIRED = {
    "epoll_wait(timeout)": (0, 0), "epoll_pwait2(timeout)": (0, 0),
    "futex_WAIT_timeout": (-1, 110), "futex_WAIT_BITSET_absolute": (-1, 110),
    "sem_timedwait": (-1, 110), "recv_SO_RCVTIMEO": (-1, 11), "accept_SO_RCVTIMEO": (-1, 11),
    "poll(timeout)": (0, 0), "ppoll(timeout)": (0, 0), "select(timeout)": (0, 0),
    "pselect(timeout)": (0, 0), "semtimedop(timeout)": (-1, 11), "mq_timedreceive": (-1, 110),
    "io_getevents(timeout)": (0, 0), "sigtimedwait": (-1, 11), "epoll_pwait(timeout)": (0, 0),
    "read_SO_RCVTIMEO": (-1, 11), "recvmmsg_SO_RCVTIMEO": (-1, 11), "send_SO_SNDTIMEO": (-1, 11),
    "connect_SO_SNDTIMEO": (-1, 11), "io_uring_enter(timeout)": (-1, 62), "nanosleep": (0, 0),
    "clock_nanosleep_relative": (0, 0), "clock_nanosleep_absolute": (0, 0), "usleep": (0, 0),
}


def deadlines(tap, mode, visible):
    """Dumps all the time while limits run down: no call may wait longer than its limit (with
    --restart all those that would return EINTR begin anew, as documented). The same calls in a
    second process, that nobody looks at, tell what the machine itself adds."""
    until_in_time(lambda deadline_ms: deadlines_in(tap, mode, visible, deadline_ms), DEADLINES_MS)


def deadlines_in(tap, mode, visible, deadline_ms):
    with (Blocked(deadline_ms, deadline_ms, EXPIRED) as blocked,
          Blocked(deadline_ms, deadline_ms, EXPIRED) as control):
        dumps = 0
        while time.monotonic() - blocked.begin < deadline_ms / 1000 * 0.7:
            blocked.dump(mode)
            dumps += 1
            time.sleep(PAUSE_S)
        last_ms = (time.monotonic() - blocked.begin) * 1000
        if dumps < 2 or last_ms > deadline_ms:
            raise TooSlow(f"{mode}: {dumps} dumps, the last after {last_ms:.0f} ms")
        print(f"# {mode}: {dumps} dumps while the limits ran", flush=True)
        wait_until(lambda: all(c.returned for c in blocked.update().calls.values()),
                   "every limit to be reached", 60 + 2 * deadline_ms / 1000)
        slack_ms = SLACK_MS + 3 * lag(control, deadline_ms)
        for call in blocked.calls.values():
            result, error, ms = call.returned
            if mode != "all" and error == EINTR:
                tap.check(call.name in visible and ms <= deadline_ms + slack_ms,
                          f"{mode}: {call.name} returned EINTR before its limit", call.returned)
                continue
            most = deadline_ms + slack_ms + (last_ms if mode == "all" and call.name in visible else 0)
            tap.check((result, error) == EXPIRED[call.name] and deadline_ms <= ms <= most,
                      f"{mode}: {call.name} kept its limit",
                      f"{call.returned}, at most {most:.0f} ms")


# How the page names them; the others by the call's own name.
SPOKEN = {
    "clock_nanosleep_relative": "`clock_nanosleep` relative",
    "clock_nanosleep_absolute": "`clock_nanosleep` absolute", "futex_WAIT": "`futex` WAIT",
    "futex_WAIT_timeout": "`futex` WAIT with timeout",
    "futex_WAIT_BITSET_absolute": "`futex` WAIT_BITSET absolute", "read_pipe": "`read` of a pipe",
    "write_pipe_full": "`write` to a full pipe",
    "write_pipe_partial": "`write` to a pipe, partly done",
    "read_unix_socket": "`read` of a socket", "recv_SO_RCVTIMEO": "`recv` with SO_RCVTIMEO",
    "accept_SO_RCVTIMEO": "`accept` with SO_RCVTIMEO", "read_inotify": "`read` of inotify",
    "read_eventfd": "`read` of an eventfd", "read_timerfd": "`read` of a timerfd",
    "fcntl_F_SETLKW": "`fcntl` F_SETLKW", "open_fifo": "`open` of a fifo",
    "read_SO_RCVTIMEO": "`read` with SO_RCVTIMEO",
    "recvmmsg_SO_RCVTIMEO": "`recvmmsg` with SO_RCVTIMEO",
    "send_SO_SNDTIMEO": "`send` with SO_SNDTIMEO",
    "connect_SO_SNDTIMEO": "`connect` with SO_SNDTIMEO", "connect_tcp": "`connect` TCP", "connect_unix": "`connect` unix",
}
LIMITS = {"none": "none", "limit": "yes", "sleep": "a delay", "partial": "none"}
UNNOTICED = "not noticed"


def cell(name, mode, collect):
    returned = collect[mode][name]
    if returned is None:
        # Without an EINTR the kernel itself goes on with the time that is left.
        anew = mode == "all" and collect["infinite"][name]
        return "limit begins anew" if anew else UNNOTICED
    if returned[1] == EINTR:
        return "`EINTR`"
    return "short write" if name == "write_pipe_partial" else f"returned {returned[0]}"


def touchless_cell(name, collect):
    """The modes that stop no waiting thread share one cell, as they are alike."""
    words = [cell(name, mode, collect) for mode in TOUCHLESS]
    return words[0] if len(set(words)) == 1 else f"{', '.join(TOUCHLESS)}: {', '.join(words)}"


def markdown(collect, kinds):
    """The table: calls that show anything have a row each, the others share the last one."""
    spoken = {name: SPOKEN.get(name, f"`{name}`") for name in kinds}
    cells = {name: [touchless_cell(name, collect), *(cell(name, mode, collect) for mode in MODES)]
             for name in kinds}
    rows = ["| blocked in | time limit | default, `--stop never` | `--stop always --restart none` (as other tracers) "
            "| `--stop always` | `--stop always --restart all` |", "|---|---|---|---|---|---|"]
    for name, kind in kinds.items():
        if set(cells[name]) != {UNNOTICED}:
            rows.append(f"| {spoken[name]} | {LIMITS[kind]} | {' | '.join(cells[name])} |")
    others = [name for name in kinds if set(cells[name]) == {UNNOTICED}]
    rows.append(f"| {len(others)} others: {', '.join(spoken[name] for name in others)} | some | "
                f"{' | '.join([UNNOTICED] * 4)} |")
    return "\n".join(rows)


class Quiet(Tap):
    """For --into: only failures are said, and not on stdout."""

    def check(self, condition, name, detail=""):
        if not condition:
            print(f"failed: {name}\n{detail}", file=sys.stderr)
            self.failed += 1
        return bool(condition)

    def skip(self, name, reason, enable):
        print(f"skipped: {name}: {reason}; needs {enable}", file=sys.stderr)


def main():
    page = sys.argv[2] if sys.argv[1:2] == ["--into"] else None
    tap = Quiet() if page else Tap()
    collect = {}
    refused = iterator_refused()
    if refused:
        tap.skip("--stop never and auto", refused, Tap.ROOT)
    # Each looks at processes of its own.
    tap.together(((feel, mode, collect) for mode in (MODES if refused else MODES + TOUCHLESS)), at_once=AT_ONCE)
    if page:
        with Blocked(LIMIT_MS, SLEEPS_MS[0]) as blocked:
            put_marked(page, "invisibility", markdown(collect, {c.name: c.kind for c in blocked.calls.values()}))
        sys.exit(1 if tap.failed else 0)
    visible = {name for name, returned in collect.get("none", {}).items()
               if returned and returned[1] == EINTR}
    tap.together(((deadlines, mode, visible) for mode in ("infinite", "all")), at_once=AT_ONCE)
    tap.done()


if __name__ == "__main__":
    main()
