#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 5s
"""Ten users who have their own processes captured and stored as fast as they can, beside one alert: its
dump is still there after as much as they could do in an hour, and the command of OnDump= ran for it.

The daemon's defaults let ten users store 60 dumps a minute each, in a store of 1,000: an hour replaces it
36 times. Here it is small, and replaced as often (SNAPWALK_TURNS). SNAPWALK_ABUSE_SECONDS=3600 is an hour
indeed, with the rate and the store of the defaults and an alert a minute. Needs root: it plays other users."""
import contextlib
import os
import threading
import time

from daemon import Daemon, Refused, refusal
from harness import Tap, Target, wait_until
from test_daemon_integrations import ids_of, rule, trigger

USERS = range(64101, 64111)
# Fewer places than users: who has most is no help.
MAX_FILES, TURNS_BEFORE = 8, 3
TURNS = int(os.environ.get("SNAPWALK_TURNS", 36))
SECONDS = int(os.environ.get("SNAPWALK_ABUSE_SECONDS", 0))
BETWEEN_ALERTS = 60
ON_DUMP = {"OnDumpUser": "nobody", "OnDumpTimeoutSec": 60}
CONFIG = {"MaxFiles": MAX_FILES, "RatePerMinute": 60000, "RateBurst": 1000, "Queue": 64, **ON_DUMP}
DEFAULT_FILES = 1000  # MaxFiles=


class Abusers:
    def __init__(self, daemon, targets):
        self.clients = [daemon.client(uid) for uid in USERS]  # one by one: ids are the process's
        self.lock = threading.Lock()
        self.end = threading.Event()
        self.stored, self.errors, self.busy = 0, [], 0
        self.threads = [threading.Thread(target=self.abuse, args=(client, target.pid))
                        for client, target in zip(self.clients, targets)]

    def abuse(self, client, pid):
        try:
            while not self.end.is_set():
                try:
                    client.call("Capture", target={"pid": pid}, options={"store": True})
                except Refused as error:
                    if error.name != "Busy":
                        raise
                    self.busy += 1
                    if error.parameters["why"] == "rate":
                        self.end.wait(error.parameters["retry_after_ms"] / 1000)
                    continue
                with self.lock:
                    self.stored += 1
        except Exception as error:  # noqa: BLE001 - the test looks at them
            self.errors.append(repr(error))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc):
        self.end.set()
        for thread in self.threads:
            thread.join()
        for client in self.clients:
            client.socket.close()

    def until_turns(self, turns):
        wait_until(lambda: self.errors or self.stored >= turns * MAX_FILES,
                   f"the store to be replaced {turns} times", 300)


def hook(daemon):
    """A command that takes a while, and leaves the id of each dump that it ran for."""
    out = os.path.join(daemon.directory, "out")
    os.mkdir(out)
    os.chmod(out, 0o777)
    script = os.path.join(daemon.directory, "hook.sh")
    with open(script, "w") as file:
        file.write(f"#!/bin/sh\ncat >/dev/null\nsleep 0.1\n: >{out}/$SNAPWALK_ID\n")
    os.chmod(script, 0o755)
    daemon.stop()
    daemon.write_config(OnDump=script)
    daemon.start()
    return out


def one_alert(tap):
    if os.geteuid() != 0:
        tap.skip("captures of ten users", "not root", tap.ROOT)
        return
    with Daemon(CONFIG, rules={"r.conf": rule("stuck", CooldownSec=0)}) as daemon, \
            contextlib.ExitStack() as stack:
        out = hook(daemon)
        sick = stack.enter_context(Target("threads", 2, 10))
        targets = [stack.enter_context(Target("threads", 2, 10, user=uid, group=uid, extra_groups=[]))
                   for uid in USERS]
        with Abusers(daemon, targets) as abusers:
            abusers.until_turns(TURNS_BEFORE)
            begin = time.monotonic()
            ids = ids_of(trigger(daemon, sick.pid))
            seconds = time.monotonic() - begin
            tap.equal(len(ids), 1, "the alert has its dump")
            ran = os.path.join(out, ids[0])
            wait_until(lambda: os.path.exists(ran), "the command of OnDump= to run for the alert")
            tap.check(True, "OnDump= ran for it while they went on")
            abusers.until_turns(TURNS_BEFORE + TURNS)
            counters = daemon.status()["counters"]
        tap.equal(abusers.errors, [], f"{abusers.stored} captures of {len(USERS)} users")
        if abusers.errors:
            print(daemon.log()[-2000:])
        tap.check(len(daemon.stored()) <= MAX_FILES, "the store has not grown", daemon.stored())
        name, _ = refusal(daemon.call, "Read", id=ids[0])
        tap.check(name is None, "the alert's dump is there afterwards", (name, daemon.stored()))
        print(f"# the alert took {seconds * 1000:.0f} ms, of the users' dumps "
              f"{counters.get('on_dump_dropped_total', 0)} had no OnDump=")


def in_turn(tap, users=USERS[:4], files=3, turns=4):
    """As one_alert() in a known order, in a store that has fewer places than users."""
    if os.geteuid() != 0:
        tap.skip("captures of several users", "not root", tap.ROOT)
        return
    with Daemon({**CONFIG, "MaxFiles": files}, rules={"r.conf": rule("stuck", CooldownSec=0)}) as daemon, \
            contextlib.ExitStack() as stack:
        out = hook(daemon)
        sick = stack.enter_context(Target("threads", 2, 10))
        targets = {uid: stack.enter_context(Target("threads", 2, 10, user=uid, group=uid, extra_groups=[]))
                   for uid in users}

        def all_store(times):
            for uid in [*users] * times:
                with daemon.client(uid) as client:
                    client.call("Capture", target={"pid": targets[uid].pid}, options={"store": True})

        all_store(1)
        kept, _ = alert_runs(tap, daemon, sick.pid, out)
        for turn in range(turns):
            all_store(1)
            name, _ = refusal(daemon.call, "Read", id=kept)
            if not tap.check(name is None, f"turn {turn + 1} of the users: the alert's dump is there", name):
                break
        tap.equal(len(daemon.stored()), files, "the store has as many as MaxFiles=")


def alert_runs(tap, daemon, pid, out):
    """The id of its dump and how long it took to come, with OnDump= run for it."""
    begin = time.monotonic()
    ids = ids_of(trigger(daemon, pid))
    seconds = time.monotonic() - begin
    tap.equal(len(ids), 1, f"an alert has its dump, after {seconds * 1000:.0f} ms")
    wait_until(lambda: os.path.exists(os.path.join(out, ids[0])), "OnDump= to run for it", 120)
    return ids[0], seconds


def an_hour(tap):
    """As above with the defaults, and in real time."""
    if os.geteuid() != 0:
        tap.skip("captures of ten users", "not root", tap.ROOT)
        return
    with Daemon(ON_DUMP, rules={"r.conf": rule("stuck", CooldownSec=0)}) as daemon, \
            contextlib.ExitStack() as stack:
        out = hook(daemon)
        sick = stack.enter_context(Target("threads", 2, 10))
        targets = [stack.enter_context(Target("threads", 2, 10, user=uid, group=uid, extra_groups=[]))
                   for uid in USERS]
        end = time.monotonic() + SECONDS
        alerts = []
        with Abusers(daemon, targets) as abusers:
            while not abusers.errors and time.monotonic() < end:
                alerts.append(alert_runs(tap, daemon, sick.pid, out))
                print(f"# {abusers.stored} stored, {abusers.busy} refused", flush=True)
                abusers.end.wait(max(0, min(BETWEEN_ALERTS, end - time.monotonic())))
            counters = daemon.status()["counters"]
        tap.equal(abusers.errors, [], f"{abusers.stored} captures of {len(USERS)} users")
        tap.check(len(daemon.stored()) <= DEFAULT_FILES, "the store has not grown",
                  len(daemon.stored()))
        gone = [i for i, _ in alerts if refusal(daemon.call, "Read", id=i)[0] is not None]
        tap.equal(gone, [], f"the dumps of all {len(alerts)} alerts are there afterwards")
        took = sorted(seconds * 1000 for _, seconds in alerts)
        print(f"# in {SECONDS} s {abusers.stored} dumps of the users, {abusers.busy} refused; alerts took "
              f"{took[len(took) // 2]:.0f} ms (median), {took[-1]:.0f} ms (longest); of the users' dumps "
              f"{counters.get('on_dump_dropped_total', 0)} had no OnDump=")


def main():
    tap = Tap()
    tap.guard(an_hour if SECONDS else one_alert)
    tap.done()


if __name__ == "__main__":
    main()
