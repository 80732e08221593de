#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
# serial
"""Profile, as far as it is a matter of time: shares of waits and of CPU time, samples that are late, the limit of stops."""
import os
import signal
import sys
import time

from daemon import Daemon, refusal
from harness import BUILD, Tap, Target, seeded, state_of, wait_until
from test_daemon_profile import begin, functions, functions_of, named, profile, samples, schema, snapwalk


def late(tap):
    """A worker that does not run when a sample is due."""
    if os.geteuid() != 0:
        tap.skip("late samples", "not root", tap.ROOT)
        return
    with Daemon() as daemon, Target("threads", 2, 5) as target, daemon.client() as client:
        begin(client, daemon, target.pid)
        worker, = named(daemon.workers(), "snapwalk-worker")
        # Each time it goes on anywhere between two samples, after at least two that were due.
        times, pauses = 16, seeded(20261129)
        for _ in range(times):
            os.kill(worker, signal.SIGSTOP)
            wait_until(lambda: state_of(worker) == "T", "it to stop")
            before = samples(daemon)
            time.sleep(pauses.uniform(0.045, 0.085))  # what is waited for is that time passes
            os.kill(worker, signal.SIGCONT)
            wait_until(lambda: samples(daemon) > before, "it to go on")
        target.process.kill()
        target.process.wait()
        made = client.receive()[0]["profile"]
        tap.equal([e.message for e in schema().iter_errors(made)], [], "as its schema says")
        tap.check(made["n_late"] >= 1 and made["n_lost"] >= times, "late and lost ones are counted",
                  {k: made[k] for k in ("n_samples", "n_late", "n_lost", "n_wanted")})


def off(tap, daemon, target):
    made = profile(daemon, target.pid, duration_ms=4000, rate_hz=100, mode="off")["profile"]
    seen = {}
    for row in made["samples"]:
        for name in set(functions_of(made, row["node"])):
            seen[name] = seen.get(name, 0) + row["ns"]
    # wait_long() takes three times as long as wait_short().
    share = seen.get("wait_long", 0) / max(seen.get("wait_short", 0), 1)
    # Short waits that no sample saw count for others: on a busy machine there are many.
    least, most = (1.5, 6) if made["n_lost"] * 10 < made["n_wanted"] else (1, 1000)
    tap.check(made["mode"] == "off" and least < share < most, "off: blocked time as it was",
              (made["mode"], share, made["n_lost"]))
    tap.check(not {"work_three", "work_one"} & set(seen), "off: no time on a CPU", seen)
    tap.equal(made["stopped_ns"], 0, "off: nobody is stopped")


def on_cpu(tap, daemon, target):
    made = profile(daemon, target.pid, duration_ms=4000, rate_hz=100, mode="cpu")["profile"]
    seen = functions(made)
    n = seen.get("work_three", 0) + seen.get("work_one", 0)
    share = seen.get("work_three", 0) / max(n, 1)
    # Six deviations of a share of three quarters.
    tap.check(made["mode"] == "cpu" and made["n_samples"] >= 10 and abs(share - 0.75) < 6 * 0.43 / max(n, 1) ** 0.5,
              "cpu: three of four samples", (made["n_samples"], share))
    # To begin a wait and to end it takes a few microseconds of a CPU.
    tap.check("block" not in seen and seen.get("wait_long", 0) <= 1 + 0.05 * made["n_samples"],
              "cpu: nobody who waits", seen)
    tap.equal((made["stopped_ns"], made["n_samples"] + made["n_lost"]), (0, made["n_wanted"]),
              "cpu: nobody is stopped")
    names = {thread["name"] for thread in made["threads"]}
    tap.equal(names, {"shares"}, "cpu: threads have their names")


def of_command(tap, daemon, target):
    got = snapwalk(daemon, "sample", str(target.pid), "--via", "daemon", "--duration", "4",
                   "--mode", "cpu", "--format", "folded")
    tap.check(got.returncode in (0, 3) and b"work_three" in got.stdout, "sample --via daemon", got)
    tap.equal(refusal(profile, daemon, target.pid, mode="all"),
              ("org.varlink.service.InvalidParameter", {"parameter": "mode"}), "another mode")

def modes(tap):
    """A target is profiled in several ways at once."""
    with Daemon() as daemon, Target("shares", 4, 1) as target:
        if not daemon.root or "iterator_refused" in daemon.status():
            tap.skip("modes of a profile", "no task iterator", tap.ROOT)
            return
        tap.together((mode, daemon, target) for mode in (off, on_cpu, of_command))


def stop_percent(tap):
    """The time for which threads are stopped counts against StopPercent=, sample by sample."""
    with Daemon({"StopPercent": 1}) as daemon, Target("shares", 2, 4) as target:
        made = profile(daemon, target.pid, duration_ms=3000, rate_hz=100,
                       options={"stop": "always"})["profile"]
        tap.check(0 < made["stopped_ns"] < 1200 * 10**6, "a profile keeps to it", made["stopped_ns"])

def main():
    tap = Tap()
    if not os.path.exists(os.path.join(BUILD, "bin", "snapwalkd")):
        sys.exit("snapwalkd was not built")
    tap.together((test,) for test in (late, modes, stop_percent))
    tap.done()


if __name__ == "__main__":
    main()
