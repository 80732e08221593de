#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
"""Memory and files whose pages never come: nobody waits for them while the target is held, nor for
ever.

SNAPWALK_KILLS=N: how often snapwalk is killed meanwhile, for each kind of memory."""
import contextlib
import json
import os
import select
import signal
import subprocess
import time

from daemon import Daemon
from harness import SNAPWALK, Tap, Target, no_mounts, seeded, state_of, stolen_s, wait_blocked, wait_until

KILLS = int(os.environ.get("SNAPWALK_KILLS", "6"))
MAX_STOP_MS = 100
# Seconds of a dump on a machine that is busy with other things; one that waits for pages has no end.
PATIENCE = 30
HOWS = ("code", "detached", "stack", "data", "header", "uffd", "over", "program", "side")
STOPS = ("auto", "always")
SYMBOLS = ("lines", "none")


class Stalled(Target):
    """Ends with its server, whose end ends all waits: first it, as we might wait, too."""

    def __init__(self, how):
        super().__init__("stalled", how)
        self.server = None

    def __enter__(self):
        super().__enter__()
        for line in self.lines:
            word, _, pid = line.partition(" ")
            if word == "server":
                self.server = int(pid)
        return self

    def answer_never_again(self):
        if self.server is not None:
            os.kill(self.server, signal.SIGKILL)
            self.server = None

    def __exit__(self, *exc):
        self.answer_never_again()
        super().__exit__(*exc)


def finish(process, target):
    """Returns the output of the process, or None when it did not end; then it is freed from its wait, and killed."""
    try:
        return process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        target.answer_never_again()
        process.communicate()
        return None


def start(target, stop="auto"):
    return subprocess.Popen([SNAPWALK, "dump", "--json", "--max-stop", str(MAX_STOP_MS),
                             "--timeout", "5000", "--stop", stop, str(target.pid)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def held(pid):
    return [tid for tid in os.listdir(f"/proc/{pid}/task") if state_of(pid, tid) in "tT"]


def test_dump(tap, how, stop):
    with Stalled(how) as target:
        wait_blocked(target.pid)
        stolen = stolen_s()
        out = finish(start(target, stop), target)
        stolen = stolen_s() - stolen
        if not tap.check(out is not None, f"{how}: the command ends"):
            return
        tap.equal(held(target.pid), [], f"{how}: nothing is held")
        if not tap.check(out[0], f"{how}, {stop}: there is a dump", out):
            return
        report = json.loads(out[0])
        # The limit, what lies beyond it by design, and a machine that has other things to do.
        tap.check(report["timings"]["stopped_us"] < (MAX_STOP_MS + 100) * 1000 + stolen * 1e6,
                  f"{how}: held for no longer than the limit and 100 ms",
                  report["timings"]["stopped_us"])
        ends = {}
        for stack in report["stacks"]:
            for tid in stack["threads"]:
                ends[tid] = (stack["end"], stack["why"])
        cut = {end for end in ends.values() if end[0] != "complete"}
        wanted = set()
        if how in ("stack", "uffd"):
            wanted = {("memory", "its pages did not come")}
        elif how == "program":  # its unwind information is in the file
            wanted = {("no_unwind_info", "the module has no unwind information for this code")}
        tap.equal(cut, wanted, f"{how}, {stop}: what is missing says why")
        tap.equal(sum(end[0] == "complete" for end in ends.values()),
                  4 if how == "program" else 5, f"{how}, {stop}: all other stacks are whole")
        said = [w["message"] for w in report["warnings"] if "does not answer" in w["message"]]
        tap.equal(len(said), 1 if how in ("code", "detached", "program") else 0,
                  f"{how}, {stop}: a file system that does not answer is named")


def test_same_mounts(tap, symbols):
    """Where snapwalk sees the target's mounts, the names of its files lead to the server, too."""
    label = f"same mounts, --symbols {symbols}"
    with Stalled("program") as target:
        wait_blocked(target.pid)
        process = subprocess.Popen(["nsenter", "-m", "-t", str(target.pid), SNAPWALK, "dump",
                                    "--symbols", symbols, "--timeout", "1000", str(target.pid)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out = finish(process, target)
        if not tap.check(out is not None, f"{label}: the command ends"):
            return
        tap.equal(held(target.pid), [], f"{label}: nothing is held")
        tap.check("pause" in out[0], f"{label}: there are stacks", out)


def test_healthy(tap):
    with Stalled("healthy") as target:
        wait_blocked(target.pid)
        out = finish(start(target), target)
        report = json.loads(out[0])
        tap.equal([w for w in report["warnings"] if w["code"] != "interrupted"], [],
                  "healthy: a file that a program serves is read")
        tap.equal({s["end"] for s in report["stacks"]}, {"complete"}, "healthy: all stacks")


def answered(client):
    return select.select([client.socket], [], [], 0)[0]


@contextlib.contextmanager
def ahead_of_others():
    """The time to measure is that at which the target runs, not we, on a machine that is busy."""
    lowest = os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO))
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, lowest)
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def test_kill(tap, how, stop):
    """Whenever it is killed, the target runs again, within what is left of the limit and 100 ms."""
    instants = seeded(12)
    late = []
    with Stalled(how) as target:
        wait_blocked(target.pid)
        for _ in range(KILLS):
            process = start(target, stop)
            time.sleep(instants.uniform(0, 0.15))  # the instant is what is tried
            with ahead_of_others():
                process.kill()
                killed, stolen = time.monotonic(), stolen_s()
                wait_until(lambda: not held(target.pid), "the target to run again", PATIENCE)
                took_ms = (time.monotonic() - killed - (stolen_s() - stolen)) * 1000
            if took_ms > MAX_STOP_MS + 100:
                late.append(round(took_ms))
            if finish(process, target) is None:
                late.append("snapwalk does not end")
        tap.equal(late, [], f"{how}, {stop}: killed {KILLS} times, the target runs again")


def is_of(pid, daemon):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/cmdline") as file:
            return daemon.directory in file.read()
    return False


def nobody_is_left(daemon):
    return not any(is_of(pid, daemon) for pid in os.listdir("/proc") if pid.isdigit())


def test_daemon(tap):
    """The only worker is there for others while it looks at such processes, and afterwards."""
    config = {"MinIntervalSec": 0, "StopPercent": 100, "KeepFree": "0", "Workers": 1, "MaxStopMs": MAX_STOP_MS,
              "TimeoutMs": 20000, "NamesTimeoutMs": 10000}
    with Daemon(config) as daemon, Target("named") as other:
        for how in ("code", "stack", "data", "uffd", "side", "over", "program"):
            with Stalled(how) as target:
                wait_blocked(target.pid)
                reply = daemon.client().call("Capture", target={"pid": target.pid})
                dump = reply["dump"]
                tap.equal(sum(len(s["threads"]) for s in dump["stacks"]
                              if s["end"] == "complete"), 4 if how == "program" else 5,
                          f"daemon: {how} is captured")
                tap.equal(held(target.pid), [], f"daemon: {how}: nothing is held")
                reply = daemon.client().call("Capture", target={"pid": other.pid})
                tap.check(reply["dump"]["stacks"], f"daemon: after {how}: others are captured")
    # The worker that they belong to became another user than they are.
    tap.check(wait_until(lambda: nobody_is_left(daemon), "all readers to end", PATIENCE),
              "daemon: nobody is left behind")


def test_kill_daemon(tap, how):
    """The daemon's worker, or all of the daemon, is killed: the target runs again, and the next capture is made."""
    instants = seeded(13)
    late = []
    config = {"MinIntervalSec": 0, "StopPercent": 100, "KeepFree": "0", "MaxStopMs": MAX_STOP_MS,
              "TimeoutMs": 20000}
    with Daemon(config) as daemon, Stalled(how) as target:
        wait_blocked(target.pid)
        for i in range(KILLS):
            with daemon.client() as client:
                client.send("Capture", {"target": {"pid": target.pid}})
                # On a busy machine it may have come and gone.
                wait_until(lambda c=client: daemon.workers() or answered(c), "a worker", PATIENCE)
                time.sleep(instants.uniform(0, 0.15))  # the instant is what is tried
                for pid in daemon.workers() if i % 4 else [daemon.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                with ahead_of_others():
                    killed, stolen = time.monotonic(), stolen_s()
                    wait_until(lambda: not held(target.pid), "the target to run again", PATIENCE)
                    took_ms = (time.monotonic() - killed - (stolen_s() - stolen)) * 1000
                if took_ms > MAX_STOP_MS + 100:
                    late.append(round(took_ms))
            if i % 4 == 0:
                daemon.stop(signal.SIGKILL)
                daemon.start()
        tap.equal(late, [], f"daemon, {how}: killed {KILLS} times, the target runs again")
        status = wait_until(lambda: (s := daemon.status())["capturing"] == 0 and s,
                            "all captures to end", PATIENCE)
        tap.equal(status["capturing"], 0, f"daemon, {how}: no place is lost")


def main():
    tap = Tap()
    why_not = no_mounts() or (None if os.path.exists("/dev/fuse") else "there is no /dev/fuse")
    if why_not:
        tap.skip("pages", why_not, f"{Tap.MOUNTS}, and /dev/fuse")
        tap.done()
    for how in HOWS:
        for stop in STOPS:
            tap.guard(test_dump, how, stop)
    for symbols in SYMBOLS:
        tap.guard(test_same_mounts, symbols)
    tap.guard(test_healthy)
    for how in HOWS:
        for stop in STOPS:
            tap.guard(test_kill, how, stop)
    tap.guard(test_daemon)
    for how in ("code", "stack", "data"):
        tap.guard(test_kill_daemon, how)
    tap.done()


if __name__ == "__main__":
    main()
