#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
# strict
"""Who may capture whom, and who may see what was captured. Needs root: it plays other users."""
import grp
import os
import sys

from daemon import UNPRIVILEGED, Daemon, refusal
from harness import TARGETS, Tap, Target, public, wait_until

OTHER = 65533
GAMES = grp.getgrnam("games").gr_gid
PROTECTED = ("import ctypes, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('ready', "
             "flush=True); sys.stdin.read()")  # PR_SET_DUMPABLE


def as_user(uid, gid=None, groups=()):
    return {"user": uid, "group": uid if gid is None else gid, "extra_groups": list(groups)}


def starttime(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[19])


def owners(tap, daemon):
    """The kernel's rule, by uid and gid."""
    cases = (("of root", {}, "owner"), ("of another user", as_user(OTHER), "owner"),
             ("of its own", as_user(UNPRIVILEGED), None),
             ("of its own uid and another gid", as_user(UNPRIVILEGED, OTHER), "owner"))
    for what, user, rule in cases:
        with Target("threads", 3, 10, **user) as target, daemon.client(UNPRIVILEGED) as client:
            name, got = refusal(client.call, "Capture", target={"pid": target.pid})
            if rule is None:
                tap.equal((name, got.get("dump", {}).get("process", {}).get("pid")),
                          (None, target.pid), f"a user captures a process {what}")
            else:
                tap.equal((name, got), ("NotPermitted", {"pid": target.pid, "rule": rule}),
                          f"a user does not capture a process {what}")
            got = daemon.capture(target.pid)
            tap.equal(got["dump"]["process"]["pid"], target.pid, f"root captures one {what}")


def protected(tap, daemon):
    """A process that protects itself is nobody's but root's."""
    with Target(None, "-c", PROTECTED, path="/usr/bin/python3", **as_user(UNPRIVILEGED)) as target:
        with daemon.client(UNPRIVILEGED) as client:
            tap.equal(refusal(client.call, "Capture", target={"pid": target.pid}),
                      ("NotPermitted", {"pid": target.pid, "rule": "dumpable"}),
                      "its own user does not capture a process with dumpable=0")
        tap.equal(daemon.capture(target.pid)["dump"]["process"]["pid"], target.pid,
                  "root does")


def group(tap, daemon):
    with Target("threads", 3, 10) as target:
        with daemon.client(UNPRIVILEGED, groups=[GAMES]) as client:
            got = client.call("Capture", target={"pid": target.pid})
            tap.equal(got["dump"]["process"]["uid"], 0, "a member of Group= captures root's")
        with daemon.client(UNPRIVILEGED, gid=GAMES) as client:
            got = client.call("Capture", target={"pid": target.pid})
            tap.equal(got["dump"]["process"]["uid"], 0, "as the primary group, too")
        with daemon.client(UNPRIVILEGED, groups=[GAMES + 1]) as client:
            name, _ = refusal(client.call, "Capture", target={"pid": target.pid})
            tap.equal(name, "NotPermitted", "a member of another group does not")


def identity_of_target(tap, daemon):
    """starttime and pidfd: the number cannot come to mean another process."""
    with Target("threads", 3, 10) as target, daemon.client() as client:
        ticks = starttime(target.pid)
        got = client.call("Capture", target={"pid": target.pid, "starttime": ticks})
        tap.equal(got["dump"]["process"]["starttime"], ticks, "the right starttime")
        tap.equal(refusal(client.call, "Capture",
                          target={"pid": target.pid, "starttime": ticks + 1}),
                  ("ProcessChanged", {"pid": target.pid}), "another starttime: ProcessChanged")
        pidfd = os.pidfd_open(target.pid)
        null = os.open("/dev/null", os.O_RDONLY)
        got = client.call("Capture", fds=[pidfd], target={"pidfd": 0})
        tap.equal(got["dump"]["process"]["pid"], target.pid, "a pidfd names the process")
        got = client.call("Capture", fds=[null, pidfd], target={"pidfd": 1})
        tap.equal(got["dump"]["process"]["pid"], target.pid, "by its index")
        for fds, index in (([null], 0), ([pidfd], 1), ([pidfd], -1), ([], 0)):
            name, _ = refusal(client.call, "Capture", fds=fds, target={"pidfd": index})
            tap.check(name in ("InvalidTarget", "org.varlink.service.InvalidParameter"),
                      f"{len(fds)} descriptors, index {index}: refused", name)
        with daemon.client(UNPRIVILEGED) as unprivileged:
            name, parameters = refusal(unprivileged.call, "Capture", fds=[pidfd], target={"pidfd": 0})
            tap.equal((name, parameters.get("rule")), ("NotPermitted", "owner"),
                      "a pidfd is no permission")
        os.close(null)
    with daemon.client() as client:
        name, _ = refusal(client.call, "Capture", fds=[pidfd], target={"pidfd": 0})
        tap.check(name in ("NoSuchProcess", "TargetExited"), "the pidfd of a process that is gone",
                  name)
    os.close(pidfd)


def not_traceable(tap, daemon):
    """Processes without stacks for us have reasons of their own."""
    with daemon.client() as client:
        if os.path.exists("/proc/2/comm") and open("/proc/2/comm").read() == "kthreadd\n":
            tap.equal(refusal(client.call, "Capture", target={"pid": 2}),
                      ("NotTraceable", {"pid": 2, "why": "kernel_thread"}), "a kernel thread")
        else:
            tap.skip("a kernel thread", "pid 2 is not one here", tap.HOST_PIDS)
        for what, pid in (("daemon", daemon.pid), ("spawner", daemon.spawner)):
            name, _ = refusal(client.call, "Capture", target={"pid": pid})
            tap.check(name is None or name == "NotTraceable",
                      f"its own {what}: a dump or NotTraceable, no hang", name)


def visible(tap, daemon):
    """List, Read and Subscribe show what the caller might have captured."""
    with Target("threads", 2, 10) as roots, Target("threads", 2, 10,
                                                   **as_user(UNPRIVILEGED)) as own:
        with daemon.client(UNPRIVILEGED) as listener:
            events = listener.stream("Subscribe")
            tap.equal(next(events), {"event": "ready"}, "Subscribe: ready first")
            secret = daemon.capture(roots.pid)["dump"]["id"]
            mine = daemon.capture(own.pid)["dump"]["id"]
            event = next(events)
            tap.equal((event["event"], event["summary"]["id"]), ("captured", mine),
                      "a subscriber hears of what it may see, and of nothing before")
        with daemon.client(UNPRIVILEGED) as client:
            listed = [s["id"] for s in client.call("List")["summaries"]]
            tap.check(mine in listed and secret not in listed, "List: the same", listed)
            uids = {s["process"]["uid"] for s in client.call("List")["summaries"]}
            tap.equal(uids, {UNPRIVILEGED}, "and of nobody else")
            tap.equal(refusal(client.call, "Read", id=secret), ("NoSuchDump", {"id": secret}),
                      "Read of another's dump: there is none")
            tap.equal(client.call("Read", id=mine)["dump"]["id"], mine, "Read of its own")
            name, parameters = refusal(client.call, "Trigger", source="test", labels={"a": "b"})
            tap.equal((name, parameters.get("rule")), ("NotPermitted", "root_only"),
                      "Trigger is not for everybody")
        listed = [s["id"] for s in daemon.call("List")["summaries"]]
        tap.check(mine in listed and secret in listed, "root sees both", listed)


def deny_list(tap):
    program = public(os.path.join(TARGETS, "threads"))  # the same file for both users
    with Target(None, 2, 10, path=program) as target, Target("chain_pie") as other, \
            Target("threads", 2, 10, **as_user(OTHER)) as third:
        for deny, denied in (("threads", (target, third)), (target.command[0], (target, third)),
                             (f"uid:{OTHER}", (third,)),
                             (f"chain_pie uid:{OTHER}", (other, third))):
            with Daemon({"Deny": deny}) as daemon:
                for process in (target, other, third):
                    name, parameters = refusal(daemon.capture, process.pid)
                    wanted = process in denied
                    tap.equal((name, parameters.get("rule")),
                              ("NotPermitted", "deny") if wanted else (None, None),
                              f"Deny={os.path.basename(deny)}: root is "
                              f"{'refused' if wanted else 'served'}, "
                              f"{os.path.basename(process.command[0])} of {process.popen}")


def privileges(tap, daemon):
    """The processes have what they need, and nothing else."""
    def field(pid, name):
        with open(f"/proc/{pid}/status") as status:
            return next(line.split()[1] for line in status if line.startswith(name + ":"))
    need = 1 << 19 | 1 << 2  # CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH
    events = 1 << 38  # CAP_PERFMON, for workers that profile CPU time
    for name in ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd"):
        value = int(field(daemon.pid, name), 16)
        tap.check(value == 0 or name == "CapBnd" and not value & ~need, f"daemon: no {name}",
                  hex(value))
    tap.equal(field(daemon.pid, "NoNewPrivs"), "1", "daemon: no new privileges")
    tap.equal(field(daemon.pid, "Seccomp"), "2", "daemon: a seccomp filter")
    tap.check(field(daemon.pid, "Uid") != "0", "daemon: not root")
    need |= events
    tap.equal(int(field(daemon.spawner, "CapEff"), 16) & ~need, 0, "spawner: three capabilities")
    tap.equal(int(field(daemon.spawner, "CapPrm"), 16) & ~need, 0, "spawner: not more to take")
    tap.check(field(daemon.spawner, "Uid") != "0", "spawner: not root")


def user_mode(tap):
    """snapwalkd --user: one's own processes, no privileges at all."""
    with Target("threads", 2, 10, **as_user(UNPRIVILEGED)) as own, Target("threads", 2, 10) as roots:
        setpriv = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups"]
        with Daemon({"User": "nobody"}, prefix=setpriv, args=["--user"]) as daemon:
            with daemon.client(UNPRIVILEGED) as client:
                got = client.call("Capture", target={"pid": own.pid})
                tap.equal(got["dump"]["process"]["pid"], own.pid, "--user: one's own process")
                name, parameters = refusal(client.call, "Capture", target={"pid": roots.pid})
                tap.equal(name, "NotPermitted", "--user: not root's")
            tap.equal(number(daemon.spawner, "CapEff"), 0, "--user: the spawner has no capability")
            with daemon.client(OTHER) as client:
                name, _ = refusal(client.call, "Capture", target={"pid": own.pid})
                tap.equal(name, "NotPermitted", "--user: not for another user")


def number(pid, name):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1], 16) for line in status if line.startswith(name + ":"))


def main():
    if os.geteuid() != 0:
        print(f"not root; needs {Tap.ROOT}")
        sys.exit(77)
    tap = Tap()
    with Daemon() as daemon:
        for test in (owners, protected, group, identity_of_target, not_traceable, visible,
                     privileges):
            tap.guard(test, daemon)
        wait_until(lambda: not daemon.workers(), "workers to end")
    tap.guard(deny_list)
    tap.guard(user_mode)
    tap.done()


if __name__ == "__main__":
    main()
