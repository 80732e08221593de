#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
"""Sections [profile NAME]: profiles that nobody asks for, within ProfileCPU=, of processes that come and go; and what the
store keeps beside them."""
import os
import signal
import subprocess
import tempfile

from daemon import Daemon
from harness import TARGETS, Tap, Target, iterator_refused, public, wait_until
from test_daemon_profile import functions_of

ROOTS = {"recursing", "copying", "fib", "sorting"}


def section(name, target, *more, interval=1):
    lines = [f"[profile {name}]", f"Target={target}", "ProfileSec=1", f"IntervalSec={interval}", "RateHz=49", *more]
    return "\n".join(lines) + "\n"


def count(daemon, name="total"):
    return daemon.status()["counters"][f"continuous_{name}"]


def listed(daemon):
    return daemon.call("List")["summaries"]


def whole(daemon, ident):
    return daemon.call("Read", id=ident)["profile"]


def again(tap, daemon, target):
    """Profiles come one after the other, each with what the process does; Status says what they cost."""
    wait_until(lambda: count(daemon) >= 3, "three profiles")
    status = daemon.status()
    tap.check(status["counters"]["continuous_cpu_us_total"] > 0, "what the first ones have cost is known", status)
    tap.equal(set(status["continuous"]), {"profiles", "cpu_percent", "rate_percent"}, "Status says what the sections do")
    kept = [entry for entry in listed(daemon) if entry.get("reason") == "profile: busy"]
    tap.check(len(kept) >= 3, "they are kept", kept)
    made = whole(daemon, kept[0]["id"])
    tap.equal((made["schema"][:16], made["mode"]), ("snapwalk.profile", "cpu"), "a profile of CPU time")
    seen = {f for row in made["samples"] for f in functions_of(made, row["node"])}
    tap.check(made["n_samples"] > 0 and seen & ROOTS, "it shows what the process does", (made["n_samples"], seen))
    tap.equal(made["processes"][0]["pid"], target.pid, "of the process")
    tap.equal(daemon.log().count("profile: busy"), 0, "the log has no line for each")


def changed(tap, daemon):
    """Without the section there are none."""
    os.unlink(os.path.join(daemon.rules_directory, "busy.conf"))
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "continuous" not in daemon.status(), "the section is gone")
    wait_until(lambda: not daemon.workers(), "no worker is left")


def sections(tap):
    with Target("busy", 2) as target, Daemon({"ProfileCPU": 100}, {"busy.conf": section("busy", f"pid:{target.pid}")}) as daemon:
        again(tap, daemon, target)
        changed(tap, daemon)


def share(tap):
    """A twentieth of a percent of a CPU: what the first profile costs is more than that of half a minute."""
    with Target("busy", 2) as target, Daemon({"ProfileCPU": 0.05}, {"busy.conf": section("busy", f"pid:{target.pid}")}) as daemon:
        wait_until(lambda: count(daemon, "postponed_total") >= 1, "a turn that has to wait")
        tap.equal(count(daemon), 1, "one profile, and no second one before its time")
        daemon.write_config(ProfileCPU=100)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: count(daemon) >= 2, "with a greater share they go on")


def comes_and_goes(tap):
    """A process that begins later is found by its name; RequireExe= forbids another program of that name."""
    with tempfile.TemporaryDirectory() as here:
        os.chmod(here, 0o755)
        name = f"busy-{os.getpid()}"
        path = os.path.join(here, name)
        os.symlink(public(os.path.join(TARGETS, "busy")), path)
        rules = {"a.conf": section("named", f"comm:{name}"),
                 "b.conf": section("other", f"comm:{name}", "RequireExe=/usr/bin/sleep")}
        with Daemon({"ProfileCPU": 100}, rules) as daemon:
            wait_until(lambda: daemon.status()["uptime_ms"] > 500, "time to pass")
            tap.equal((count(daemon), count(daemon, "failed_total")), (0, 0), "nobody has that name")
            with subprocess.Popen([path, "2"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
                try:
                    wait_until(lambda: count(daemon) >= 2 and count(daemon, "failed_total") >= 2, "profiles, and refusals")
                finally:
                    process.kill()
            reasons = {entry.get("reason") for entry in listed(daemon)}
            tap.equal(reasons, {"profile: named"}, "RequireExe= is kept")
            tap.equal(daemon.log().count("RequireExe= forbids"), 1, "a refusal is said once")


def store(tap):
    """Dumps that somebody asked for do not go for profiles."""
    with Target("busy", 2) as target, Daemon({"ProfileCPU": 100, "MaxFiles": 6},
                                             {"busy.conf": section("busy", f"pid:{target.pid}")}) as daemon:
        mine = {daemon.capture(target.pid)["dump"]["id"] for _ in range(2)}
        wait_until(lambda: count(daemon) >= 6, "more profiles than there is place")
        kept = {entry["id"] for entry in listed(daemon)}
        tap.check(mine <= kept and len(kept) == 6, "the dumps are there, old profiles have gone", (mine, kept))


def main():
    tap = Tap()
    if os.geteuid() != 0 or iterator_refused():
        tap.skip("profiles of CPU time", iterator_refused() or "not root", Tap.ROOT)
        tap.done()
    for test in tap.chosen(sections, share, comes_and_goes, store):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
