#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 30s
"""Alert storms: many calls for one process cost one capture per interval; many callers at once are
all answered, and neither the daemon nor a target shows it afterwards.

SNAPWALK_STORM_SECONDS=60 makes the storm longer.
"""
import contextlib
import os
import signal
import threading
import time

from daemon import Daemon, Refused, children, join, n_fds, number_of
from harness import Tap, Target, seeded, wait_until
from safety import held
from test_kill import Storm

SECONDS = float(os.environ.get("SNAPWALK_STORM_SECONDS", 12))
CLIENTS, TARGETS = 50, 20
RATE, ASKERS, INTERVAL, RATE_SECONDS = 100, 4, 2, 6
CALLS_MIN = RATE * RATE_SECONDS // 3
STORMS_MAX = 6


class Askers:
    """Threads that call work(client, number) until they are told to end; errors are kept."""

    def __init__(self, daemon, count, work):
        self.daemon, self.work = daemon, work
        self.end = threading.Event()
        self.errors = []
        self.threads = [threading.Thread(target=self._run, args=(n,)) for n in range(count)]

    def _run(self, number):
        try:
            with self.daemon.client() as client:
                while not self.end.is_set():
                    self.work(client, number)
        except Exception as error:  # noqa: BLE001 - the test looks at them
            self.errors.append(repr(error))

    def run(self, seconds, enough):
        """For that time, and until it was enough: a busy machine takes longer for as much."""
        for thread in self.threads:
            thread.start()
        self.end.wait(seconds)
        wait_until(lambda: self.errors or enough(), "enough calls", 20 * seconds)
        self.end.set()
        for thread in self.threads:
            thread.join()


def one_process(tap):
    """100 calls a second for one pid."""
    ids, times, lock = {}, [], threading.Lock()
    with Daemon({"MinIntervalSec": INTERVAL}) as daemon, Target("threads", 8, 20) as target:
        begin = time.monotonic()
        slot = iter(range(1 << 30))

        def ask(client, _number):
            with lock:
                at = begin + next(slot) / RATE
            # The rate is what is tested; events decide nothing here.
            time.sleep(max(0.0, at - time.monotonic()))
            reply = client.call("Capture", target={"pid": target.pid})
            with lock:
                ids.setdefault(reply["dump"]["id"], []).append(reply.get("coalesced", False))
                times.append(time.monotonic() - begin)
        before = daemon.status()["counters"]
        askers = Askers(daemon, ASKERS, ask)
        askers.run(RATE_SECONDS, lambda: len(times) >= CALLS_MIN)
        tap.equal(askers.errors, [], "every call is answered with a dump")
        most = int(times[-1] / INTERVAL) + 1
        tap.check(len(times) >= CALLS_MIN, "hundreds of calls", len(times))
        # Fewer where a capture or its caller had to wait for its turn, never more.
        tap.check(2 <= len(ids) <= most,
                  f"{len(times)} calls in {times[-1]:.1f} s: one capture each {INTERVAL} s",
                  f"{len(ids)} captures")
        fresh = [list(v).count(False) for v in ids.values()]
        tap.equal(fresh, [1] * len(ids), "a single caller has the capture, the others 'coalesced'")
        tap.equal(len(daemon.stored()), len(ids), "as many dumps are stored")
        after = daemon.status()["counters"]
        grown = {name: after[name] - before[name] for name in ("captures_total",
                                                               "coalesced_total")}
        tap.equal(grown, {"captures_total": len(ids), "coalesced_total": len(times) - len(ids)},
                  "the counters say so")


def one_after_another(tap, calls=20):
    """As one_process(), within an interval that does not end."""
    with Daemon({"MinIntervalSec": 3600}) as daemon, Target("threads", 8, 20) as target:
        before = daemon.status()["counters"]
        replies = [daemon.capture(target.pid) for _ in range(calls)]
        after = daemon.status()["counters"]
        tap.equal(len({reply["dump"]["id"] for reply in replies}), 1, f"{calls} calls in one interval: one dump")
        tap.equal([reply.get("coalesced", False) for reply in replies], [False] + [True] * (calls - 1),
                  "the first caller has the capture, the others 'coalesced'")
        tap.equal({name: after[name] - before[name] for name in ("captures_total", "coalesced_total")},
                  {"captures_total": 1, "coalesced_total": calls - 1}, "the counters say so")
        tap.equal(len(daemon.stored()), 1, "a single dump is stored")


def joiners(tap):
    """Callers that come while the capture is under way wait for that one."""
    with Daemon({"MinIntervalSec": 0}) as daemon, Target("threads", 200, 60) as target:
        clients = [daemon.client() for _ in range(20)]
        # No worker can be done before all have asked.
        spawner = daemon.spawner
        os.kill(spawner, signal.SIGSTOP)
        try:
            for n, client in enumerate(clients):
                client.send("Capture", {"target": {"pid": target.pid}}, more=n % 2 == 1)
        finally:
            os.kill(spawner, signal.SIGCONT)
        ids, coalesced = set(), 0
        for n, client in enumerate(clients):
            if n % 2:
                dump, _, last = join(more(client))
            else:
                last = client.receive()[0]
                dump = last["dump"]
            ids.add(dump["id"])
            coalesced += bool(last.get("coalesced"))
            client.socket.close()
        tap.check(len(ids) + coalesced == 20 and len(ids) <= 3,
                  "20 calls at once for one process join", f"{len(ids)} dumps, {coalesced} joined")


def more(client):
    continues = True
    while continues:
        reply, continues = client.receive()
        yield reply


def budget(tap):
    """StopPercent=: a process is not stopped for more than its part of the time."""
    with Daemon({"MinIntervalSec": 0, "StopPercent": "0.01", "Stop": "always"}) as daemon, \
            Target("threads", 300, 10) as target:
        got = []
        for _ in range(200):
            try:
                got.append(daemon.capture(target.pid)["dump"]["timings"]["stopped_us"])
            except Refused as error:
                got.append((error.name, error.parameters["why"],
                            error.parameters["retry_after_ms"] > 0))
                break
        tap.equal(got[-1], ("Busy", "target", True), "a target's budget of stops: Busy, target")
        stopped = sum(got[:-1])
        tap.check(stopped - got[-2] <= 6000, "0.01 % of a minute are 6 ms", got)


def uid_rate(tap):
    """RatePerMinute=, RateBurst=: of a caller that is not root."""
    if os.geteuid() != 0:
        tap.skip("a rate for each user", "not root", tap.ROOT)
        return
    config = {"MinIntervalSec": 0, "RatePerMinute": 6, "RateBurst": 3}
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    with Daemon(config) as daemon, Target("threads", 2, 10, **user) as target:
        with daemon.client(65534) as client:
            for _ in range(3):
                client.call("Capture", target={"pid": target.pid})
            try:
                client.call("Capture", target={"pid": target.pid})
                tap.check(False, "the fourth is refused")
            except Refused as error:
                wait_ms = error.parameters.get("retry_after_ms", 0)
                tap.check((error.name, error.parameters["why"]) == ("Busy", "rate")
                          and 0 < wait_ms <= 10_000, "the fourth of a burst of 3: Busy, rate",
                          error)
        tap.check(daemon.capture(target.pid)["dump"], "root is not limited")


class Books:
    """The dumps that 50 clients got."""

    def __init__(self):
        self.lock = threading.Lock()
        self.dumps = self.busy = 0
        self.odd = []
        self.slowest = 0.0

    def ask(self, client, pid, with_more):
        begin = time.monotonic()
        try:
            if with_more:
                dump, states, _ = join(client.stream("Capture", target={"pid": pid}))
                good = states[-1] == "done" if states else True
            else:
                dump, good = client.call("Capture", target={"pid": pid})["dump"], True
            good = good and dump["process"]["pid"] == pid and dump["threads"]
            with self.lock:
                self.dumps += 1
                if not good:
                    self.odd.append(dump)
        except Refused as error:
            with self.lock:
                self.busy += 1
                if error.name != "Busy" or error.parameters["retry_after_ms"] <= 0:
                    self.odd.append(str(error))
            time.sleep(0.02)  # a client that is told to wait waits a little
        with self.lock:
            self.slowest = max(self.slowest, time.monotonic() - begin)


def descriptors(daemon):
    return n_fds(daemon.pid) + n_fds(daemon.spawner)


def storm(tap):
    # The list of stored dumps, which is in memory, is as long as it gets in the first storm.
    config = {"MinIntervalSec": "1", "Queue": 8, "StopPercent": 100, "MaxFiles": 50}
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon(config))
        targets = [stack.enter_context(Target("threads", 4 + n, 20)) for n in range(TARGETS - 1)]
        signals = stack.enter_context(Storm(4, 100))
        pids = [t.pid for t in targets] + [signals.pid]
        books = Books()
        generators = [seeded(n) for n in range(CLIENTS)]

        def ask(client, number):
            generator = generators[number]
            books.ask(client, generator.choice(pids), generator.random() < 0.3)
        beats = signals.sync()[3]
        memory, fds, errors = [], [], []
        # The first storms fill caches and pools; what grows with each is a leak.
        for part in range(STORMS_MAX):
            begun = books.dumps, books.dumps + books.busy
            askers = Askers(daemon, CLIENTS, ask)
            askers.run(SECONDS / 2, lambda: books.dumps - begun[0] > SECONDS * 5
                       and books.dumps + books.busy - begun[1] > SECONDS * 25)
            errors += askers.errors
            wait_until(lambda: not daemon.workers() and daemon.status()["connections"] == 1,
                       "the daemon to be idle")
            memory.append(number_of(daemon.pid, "VmRSS") + number_of(daemon.spawner, "VmRSS"))
            wait_until(lambda: not fds or descriptors(daemon) <= fds[0], "descriptors to go")
            fds.append(descriptors(daemon))
            if part > 0 and memory[-1] <= memory[-2] * 1.05:
                break
        total = books.dumps + books.busy
        tap.equal((errors, books.odd), ([], []),
                  f"{CLIENTS} clients, {TARGETS} targets, {len(fds)} storms of {SECONDS / 2:.0f} s: "
                  "a dump or Busy")
        tap.check(books.dumps > SECONDS * 10 and total > SECONDS * 50, "thousands of calls",
                  f"{books.dumps} dumps, {books.busy} busy")
        print(f"# {books.dumps} dumps, {books.busy} busy, slowest {books.slowest:.2f} s, "
              f"memory {memory} KiB, descriptors {fds}")
        tap.check(memory[-1] <= memory[-2] * 1.05,
                  "there is a storm after which memory is flat within 5 %", memory)
        tap.check(fds[-1] <= fds[0], "not more descriptors than before", fds)
        tap.equal(len(children(daemon.pid)), 1, "no process left but the spawner")
        signals.check(tap, beats, "the storm's target")
        tap.equal([held(pid) for pid in pids if held(pid)], [], "no thread is held")
        tap.check(all(t.process.poll() is None for t in targets), "every target runs")


if __name__ == "__main__":
    Tap.main(one_process, joiners, budget, uid_rate, storm)
