#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
# strict
"""The checks of the soak in test_daemon_kill.py, test_daemon_storm.py, test_daemon_abuse.py and test_daemon_idle.py, in
a known order: a worker, the daemon, its spawner and the gate die in a call; calls join, have limits and share a dump;
the dump of an alert stays however much users store; a daemon that has nothing to do sleeps."""
import test_daemon_abuse as abuse
import test_daemon_idle as idle
import test_daemon_kill as kill
import test_daemon_storm as storm
from daemon import Daemon
from harness import Tap, Target

IDLE_S = 1


def idle_after(tap):
    with Daemon() as daemon, Target("threads", 20, 30) as target:
        idle.idle(tap, daemon, "after the start", IDLE_S)
        daemon.capture(target.pid)
        idle.idle(tap, daemon, "after a capture", IDLE_S)


if __name__ == "__main__":
    Tap.main(kill.one_worker, kill.in_a_call, kill.only_spawner, kill.gate_in_a_call, storm.one_after_another, storm.joiners,
             storm.budget, storm.uid_rate, abuse.in_turn, idle_after)
