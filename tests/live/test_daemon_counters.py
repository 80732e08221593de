#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 6s
"""Counters of Status: what moves each of them, by how many, and that the others stay. Counters of events are in
test_daemon_events.py, those of alerts and of OnDump= in test_daemon_abuse.py, of sections in test_daemon_continuous.py."""
import contextlib
import ctypes
import os
import shutil
import signal

from daemon import Daemon, name_of, refusal
from harness import Tap, Target, wait_until

NOBODY = 65534
PTRACE_SEIZE = 0x4206
WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(3600)"  # with one thread
USER = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
PROFILES_MAX = 4  # of a user at once: PROFILES_PER_USER_MAX of daemon/jobs/profile.c
ASKED = {"calls_total": 1, "connections_total": 1}  # by the second question for them


class Counted:
    """The counters that have moved while it was entered, without what the questions for them have moved."""

    def __init__(self, daemon):
        self.daemon, self.moved = daemon, {}

    def __enter__(self):
        self.before = self.daemon.status()["counters"]
        return self

    def __exit__(self, *_):
        after = self.daemon.status()["counters"]
        moved = {name: after[name] - self.before[name] - ASKED.get(name, 0) for name in after}
        # Where in a histogram a capture is depends on the machine: its sum and its count are told.
        self.moved = {name: n for name, n in moved.items() if n and "_bucket" not in name}

    def without(self, *measured):
        """The rest, if each of these has moved."""
        rest = dict(self.moved)
        return rest if all(rest.pop(name, 0) > 0 for name in measured) else {"not moved": measured, **self.moved}


MEASURED = ("capture_us_total", "capture_us_sum", "dump_bytes_total", "stopped_us_total", "stop_us_sum")


def captured(dump):
    """Returns what a capture that stops threads moves, besides MEASURED."""
    return {"calls_total": 1, "connections_total": 1, "captures_total": 1, "threads_total": len(dump["threads"]),
            "stop_us_count": 1, "capture_us_count": 1}


def test_captures(tap):
    with Daemon({"MinIntervalSec": 600, "Stop": "always"}) as daemon, Target("threads", "3") as target:
        with Counted(daemon) as nothing:
            pass
        tap.equal(nothing.moved, {}, "nothing happens: no counter moves")
        with Counted(daemon) as counted:
            dump = daemon.capture(target.pid)["dump"]
        tap.equal(counted.without(*MEASURED), captured(dump), "a capture: one call, one connection, its threads")
        tap.equal((counted.moved["stopped_us_total"], counted.moved["dump_bytes_total"] > 1000),
                  (dump["timings"]["stopped_us"], True), "a capture: how long it stopped threads, as the dump says")
        with Counted(daemon) as counted, daemon.client() as client:
            for _ in range(3):
                client.call("Capture", target={"pid": target.pid})
        tap.equal(counted.moved, {"calls_total": 3, "connections_total": 1, "coalesced_total": 3},
                  "a dump that is there: coalesced, and no capture")


def test_users(tap):
    config = {"MinIntervalSec": 0, "RatePerMinute": 1, "RateBurst": 1, "ConnectionsPerUid": 2}
    with Daemon(config) as daemon, Target("threads", "2") as roots, Target("threads", "2", **USER) as target:
        with Counted(daemon) as counted, daemon.client(NOBODY) as client:
            tap.equal(refusal(client.call, "Capture", target={"pid": roots.pid})[0], "NotPermitted", "another's process")
        tap.equal(counted.moved, {"calls_total": 1, "connections_total": 1, "denied_total": 1}, "another's process: denied")
        with Counted(daemon) as counted, daemon.client(NOBODY) as client:
            found = [refusal(client.call, "Capture", target={"pid": target.pid}) for _ in range(3)]
        tap.equal([(name, (said or {}).get("why") if name else None) for name, said in found[1:]], [("Busy", "rate")] * 2,
                  "more than the rate permits")
        tap.equal({name: counted.moved.get(name) for name in ("calls_total", "captures_total", "busy_rate_total")},
                  {"calls_total": 3, "captures_total": 1, "busy_rate_total": 2}, "more than the rate permits: counted")
        with Counted(daemon) as counted, daemon.client(NOBODY) as one, daemon.client(NOBODY) as other, \
                daemon.client(NOBODY) as third:
            tap.check(third.closed(), "a connection above ConnectionsPerUid= is closed")
            for client in (one, other):
                client.call("Status")
        tap.equal(counted.moved, {"calls_total": 2, "connections_total": 3, "connections_refused_total": 1},
                  "a connection above ConnectionsPerUid=: counted")


def test_queue(tap):
    """A user asks for one profile more than may be at once."""
    with Daemon() as daemon, Target("threads", "2") as target, contextlib.ExitStack() as stack:
        with Counted(daemon) as counted:
            for n in range(PROFILES_MAX):
                client = stack.enter_context(daemon.client())
                client.send("Profile", {"target": {"pid": target.pid}, "duration_ms": 600000, "rate_hz": 1})
                wait_until(lambda n=n: daemon.status()["capturing"] == n + 1, f"{n + 1} profiles")
            name, said = refusal(daemon.call, "Profile", target={"pid": target.pid}, duration_ms=1000, rate_hz=1)
            tap.equal((name, said.get("why")), ("Busy", "queue"), "a profile too many")
        tap.equal([counted.moved.get(name) for name in ("busy_queue_total", "busy_rate_total", "busy_target_total")],
                  [1, None, None], "a profile too many: counted")


def test_store(tap):
    with Daemon({"MinIntervalSec": 0, "Stop": "always"}) as daemon, Target("threads", "2") as target:
        shutil.rmtree(daemon.state)
        with Counted(daemon) as counted:
            dump = daemon.capture(target.pid)["dump"]
        tap.check(dump["threads"], "no directory for the store: the dump is there")
        tap.equal(counted.without(*MEASURED), captured(dump) | {"store_failed_total": 1}, "no directory for the store: counted")
        os.mkdir(daemon.state)


def seized(pid):
    """Makes this process the tracer of all that is to be stopped of another one, until both end."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "PTRACE_SEIZE")


def test_failed(tap):
    """A thread that another tracer has, a stack with more frames than are asked for."""
    with Daemon({"Stop": "always"}) as daemon, Target(None, "-c", WAITS, path="/usr/bin/python3") as traced, Target("threads", "2") as target:
        seized(traced.pid)
        with Counted(daemon) as counted:
            name, _ = refusal(daemon.capture, traced.pid)
        tap.equal((name, counted.moved.get("captures_failed_total"), counted.moved.get("captures_total")), ("AlreadyTraced", 1, None),
                  "a process that is traced: counted as failed, and not as captured")
        with Counted(daemon) as counted:
            dump = daemon.capture(target.pid, options={"depth": 1})["dump"]
        tap.equal((dump["complete"], counted.without(*MEASURED)), (False, captured(dump) | {"captures_incomplete_total": 1}),
                  "a dump with one frame of each stack: counted as incomplete")


def test_stopped_long(tap):
    """StopPercent=: a process that was stopped is not stopped again for a hundred times as long."""
    with Daemon({"Stop": "always", "StopPercent": 1}) as daemon, Target("threads", "50") as target:
        whys, made = [], 0
        with Counted(daemon) as counted:
            while not whys or "target" not in whys:  # on a machine that has much to do the time may be over
                name, said = refusal(daemon.capture, target.pid)
                whys += [said.get("why")] if name == "Busy" else []
                made += name is None
        tap.equal((whys, counted.moved.get("busy_target_total"), counted.moved.get("captures_total")), (["target"], 1, made),
                  f"a capture too soon after {made}: counted")


def test_workers(tap):
    """A worker that dies, and one that does not go on."""
    with Daemon({"TimeoutMs": 1000}) as daemon, Target("threads", "2") as target, daemon.client() as client:
        with Counted(daemon) as counted:
            client.send("Profile", {"target": {"pid": target.pid}, "duration_ms": 600000, "rate_hz": 1})
            worker = wait_until(lambda: next((pid for pid in daemon.workers() if name_of(pid) == "snapwalk-worker"), 0), "a worker")
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: daemon.status()["counters"]["workers_died_total"], "its end to be counted")
        tap.equal([counted.moved.get(f"workers_{how}_total") for how in ("died", "killed")], [1, None], "a worker that dies: counted")
    with Daemon({"TimeoutMs": 1000}) as daemon, Target("threads", "2") as target:
        with Counted(daemon) as counted:
            timeouts = late = 0
            while timeouts + late == 0:
                with daemon.client() as client:
                    client.send("Capture", {"target": {"pid": target.pid}})
                    for pid in wait_until(lambda: daemon.workers() or [0], "a worker"):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid or daemon.spawner, signal.SIGSTOP if pid else 0)
                    timeouts += refusal(client.receive)[0] == "Timeout"
                wait_until(lambda: not daemon.workers(), "the worker to end")
                late = daemon.log().count("does not end")
        tap.equal([counted.moved.get(f"workers_{how}_total") for how in ("died", "killed")], [None, timeouts + late],
                  "a worker that does not go on: counted as killed")


def main():
    tap = Tap()
    tests = tap.chosen(test_captures, test_users, test_queue, test_store, test_failed, test_stopped_long, test_workers)
    for test in tests:
        if test is test_users and os.geteuid() != 0:
            tap.skip("counters of other users", "not root", Tap.ROOT)
        else:
            tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
