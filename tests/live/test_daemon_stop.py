#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Which threads the daemon stops: Stop=, the option of a call, of the command, and a start to which
the task iterator is refused."""
import os
import re
import signal
import subprocess
import sys

from daemon import Daemon, refusal
from harness import BUILD, TARGETS, Tap, Target, iterator_refused, state_of, tool, wait_until
from safety import NO_BTF, tasks, without_btf

SNAPWALK = os.path.join(BUILD, "bin", "snapwalk")
READ, STOPPED = ({"iterator"}, 0), ({"ptrace"}, 4)


def settled(target):
    wait_until(lambda: all(state_of(target.pid, tid) == "S" for tid in tasks(target.pid)),
               "all threads to wait")
    return target


def how(report):
    return {t["captured_by"] for t in report["threads"]}, report["timings"]["n_stopped"]


def reload(daemon, **changes):
    before = daemon.log().count("read again")
    daemon.write_config(**changes)
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.log().count("read again") > before, "the reload")


def options(tap):
    """By what is configured and what a call asks for."""
    wanted = {"auto": {None: READ, "auto": READ, "never": READ, "always": STOPPED},
              "never": {None: READ, "auto": READ, "never": READ, "always": READ},
              "always": {None: STOPPED, "auto": READ, "never": READ, "always": STOPPED}}
    with Target("states", "plain", 3) as target, Daemon() as daemon:
        settled(target)
        for configured, asked in wanted.items():
            reload(daemon, Stop=configured)
            tap.equal(daemon.status()["stop"], configured, f"Stop={configured}: Status says so")
            for stop, result in asked.items():
                given = {} if stop is None else {"options": {"stop": stop}}
                settled(target)  # a stop makes blocked threads runnable for an instant
                tap.equal(how(daemon.capture(target.pid, **given)["dump"]), result,
                          f"Stop={configured}, asked for {stop}")
        name, parameters = refusal(daemon.capture, target.pid, options={"stop": "sometimes"})
        tap.equal((name, parameters), ("org.varlink.service.InvalidParameter",
                                       {"parameter": "stop"}), "another word is refused")
        reload(daemon, Stop="auto")
        for words, result in (([], READ), (["--stop", "always"], STOPPED),
                              (["--stop", "never"], READ)):
            settled(target)
            got = subprocess.run(
                [SNAPWALK, "dump", "--via", "daemon", "--socket", daemon.socket_path, *words, "-v",
                 str(target.pid)], capture_output=True, text=True, timeout=60)
            said = "nothing was stopped" if result == READ else "stopped for"
            tap.check(got.returncode == 0 and said in got.stdout,
                      f"the command asks the daemon: {' '.join(words)}", (got.stdout, got.stderr))


def refused(tap):
    """Not to root as such: its two capabilities are gone."""
    setpriv = tool("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        tap.skip("without the iterator", "not root, or no setpriv", "sudo, package util-linux")
        return
    without = "-bpf,-perfmon,-sys_admin"
    prefix = (setpriv, "--bounding-set", without, "--inh-caps", without)
    why = "the task iterator needs CAP_BPF and CAP_PERFMON"
    with Target("states", "plain", 3) as target, Daemon(prefix=prefix) as daemon:
        settled(target)
        said = daemon.status().get("iterator_refused", "")
        tap.check(said.startswith(why), "refused: Status says why", said)
        tap.check(f"captures stop all threads: {why}" in daemon.log(), "and the journal",
                  daemon.log())
        dump = daemon.capture(target.pid)["dump"]
        tap.equal((how(dump), dump["timings"]["stopped_why"]), (STOPPED, said),
                  "all threads are stopped, and the dump says why")
        name, parameters = refusal(daemon.capture, target.pid, options={"stop": "never"})
        tap.check(name == "Failed" and re.search("without a stop: " + why, parameters["detail"]),
                  "never: it fails, and says why", (name, parameters))
        reload(daemon, Stop="never")
        tap.equal(refusal(daemon.capture, target.pid)[0], "Failed", "Stop=never: it stops nothing")


def without_types(tap):
    """A kernel without BTF: it starts, says so, and stops all threads."""
    prefix = without_btf()
    if prefix is None:
        tap.skip("a kernel without BTF", "not root, or no mount namespace of its own", tap.ROOT)
        return
    with Target("states", "plain", 3) as target, Daemon(prefix=prefix) as daemon:
        settled(target)
        tap.equal(daemon.status().get("iterator_refused"), NO_BTF, "no BTF: Status says why")
        tap.check(f"captures stop all threads: {NO_BTF}" in daemon.log(), "no BTF: and the journal", daemon.log())
        dump = daemon.capture(target.pid)["dump"]
        tap.equal((how(dump), dump["timings"]["stopped_why"], {s["end"] for s in dump["stacks"]}),
                  (STOPPED, NO_BTF, {"complete"}), "no BTF: a complete dump by stopping all, which says why")


def without_realtime(tap):
    """Status and dumps say that captures have no real-time priority."""
    prefix = (os.path.join(TARGETS, "without"), "sched_setscheduler=EPERM", "--")
    with Target("states", "plain", 3) as target, Daemon(prefix=prefix) as daemon:
        settled(target)
        tap.equal(daemon.status().get("realtime_refused"), True, "no real-time priority: Status says it")
        got = subprocess.run([SNAPWALK, "dump", "--via", "daemon", "--socket", daemon.socket_path, "-v",
                              str(target.pid)], capture_output=True, text=True, timeout=60)
        tap.check(got.returncode == 0 and "Real-time priority was refused" in got.stdout,
                  "and the dump that the command asks for", (got.stdout, got.stderr))
    # Workers have no CAP_SYS_NICE: the limit is what permits it.
    raised = subprocess.run([sys.executable, "-c", "import resource as r; r.setrlimit(r.RLIMIT_RTPRIO, (2, 2))"],
                            stderr=subprocess.DEVNULL).returncode == 0
    with Daemon() as daemon:
        tap.equal("realtime_refused" in daemon.status(), not raised, "Status says whether the limit is permitted")


def main():
    tap = Tap()
    if iterator_refused() and os.geteuid() == 0:
        tap.skip("what is stopped", iterator_refused(), "root that may load programs, Linux 6.1")
    elif os.geteuid() == 0:
        tap.guard(options)
    else:
        tap.skip("what is stopped", "not root", tap.ROOT)
    tap.guard(refused)
    tap.guard(without_types)
    tap.guard(without_realtime)
    tap.done()


if __name__ == "__main__":
    main()
