#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
# strict
"""The permissions to capture a process, and to see what was captured. Needs root: it plays other users."""
import contextlib
import ctypes
import grp
import json
import os
import shutil
import signal
import socket
import sys
import tempfile

import fuse
from daemon import UNPRIVILEGED, Daemon, private_copy, refusal
from harness import TARGETS, Tap, Target, no_mounts, no_user_namespaces, public, state_of, wait_until

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


def new_namespace():
    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) < 0:  # CLONE_NEWUSER
        raise OSError(ctypes.get_errno(), "unshare")


def become(real, effective, gid, namespace=False):
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(real, effective, effective)
    if namespace:
        new_namespace()


@contextlib.contextmanager
def pipe_of_child(work):
    """Returns the pipe that a child writes, which ends with it."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        with contextlib.suppress(BaseException):
            work(theirs)
            status = 0
        os._exit(status)
    os.close(theirs)
    try:
        with os.fdopen(ours) as file:
            yield file
    finally:
        os.waitpid(pid, 0)


def ask(daemon, who, pid, ids):
    """Returns the answers to a process that has become WHO: the rule that refuses to capture PID, and which dumps are
    in its list, which it can read, and how its attempt to pin each ends."""
    def work(to):
        become(*who)
        with daemon.client(timeout=60) as client:
            name, got = refusal(client.call, "Capture", target={"pid": pid}, options={"store": False})
            listed = [s["id"] for s in client.call("List")["summaries"]]
            more = [reply["summary"]["id"] for reply in client.stream("List") if "summary" in reply]
            reads = [refusal(client.call, "Read", id=dump)[0] for dump in ids]
            pins = [refusal(client.call, "Pin", id=dump) for dump in ids]
            deletes = [refusal(client.call, "Delete", id=dump)[0] for dump in ids]
        answer = {"capture": got.get("rule") if name else None,
                  "list": [dump for dump in ids if dump in listed],
                  "more": [dump for dump in ids if dump in more],
                  "read": [dump for dump, error in zip(ids, reads) if error is None],
                  "pin": [error for error, _ in pins], "delete": deletes}
        os.write(to, json.dumps(answer).encode())
    with pipe_of_child(work) as file:
        return json.load(file)


@contextlib.contextmanager
def listening(daemon, who):
    """A subscriber that has become WHO: hears() says of which dumps it was told until then."""
    def work(to):
        become(*who)
        with daemon.client(timeout=60) as client:
            for event in client.stream("Subscribe"):
                told = event.get("summary", {}).get("id", event["event"])
                os.write(to, (told + "\n").encode())
                if told == event["event"] != "ready":
                    return
    with pipe_of_child(work) as file:
        if file.readline() != "ready\n":
            raise RuntimeError("no subscription")
        yield file


# The last one may delete what the others are to be refused.
CALLERS = (("its user in another group", (UNPRIVILEGED, UNPRIVILEGED, OTHER)),
           ("its user in a namespace of its own", (UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED, True)),
           ("another user by borrowed ids", (OTHER, UNPRIVILEGED, UNPRIVILEGED)),
           ("another user", (OTHER, OTHER, OTHER)),
           ("its user", (UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)))
WITH_CAPABILITY = ["--reuid", str(UNPRIVILEGED), "--regid", str(UNPRIVILEGED), "--clear-groups",
                   "--inh-caps=+net_raw", "--ambient-caps=+net_raw", "/bin/sleep", "1000"]


def kept(tap):
    """A user who may not capture a process has no dump of it either: not by Read, List, Subscribe, Pin or Delete,
    whoever captured it, also after a start of the daemon."""
    own = as_user(UNPRIVILEGED)
    with Target("threads", 2, 10, **own) as plain, \
            Target(None, "-c", PROTECTED, path="/usr/bin/python3", **own) as hidden, \
            Target(None, *WITH_CAPABILITY, path="/usr/bin/setpriv", ready=False) as capable, \
            Target("threads", 2, 10, **as_user(UNPRIVILEGED, OTHER)) as grouped, Daemon() as daemon:
        wait_until(lambda: number(capable.pid, "CapEff") == 1 << 13, "a process with CAP_NET_RAW")
        targets = (("a process", plain, ("owner", "namespace", "owner", "owner", None)),
                   ("one that protects itself", hidden, ("owner", "namespace", "owner", "owner", "dumpable")),
                   ("one with a capability", capable, ("owner", "namespace", "owner", "owner", "dumpable")),
                   ("one of another group", grouped, (None, "namespace", "owner", "owner", "owner")))
        dumps = {}
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(listening(daemon, who)) for _, who in CALLERS]
            for what, target, _ in targets:
                with daemon.client() as client:
                    dumps[what] = [client.call("Capture", target={"pid": target.pid})["dump"]["id"]]
            daemon.stop()  # ends the subscriptions
            heard = [file.read().split() for file in files]
        daemon.start()
        with daemon.client(UNPRIVILEGED) as client:
            dumps["a process"].append(client.call("Capture", target={"pid": plain.pid})["dump"]["id"])
        for what, target, rules in targets:
            ids = dumps[what]
            for (name, who), rule, told in zip(CALLERS, rules, heard):
                got = ask(daemon, who, target.pid, ids)
                seen = ids if rule is None else []
                tap.equal((got["capture"], got["list"], got["more"], got["read"], ids[0] in told),
                          (rule, seen, seen, seen, rule is None), f"{what}, {name}: capture, list, read, subscribe")
                # Dumps that root has captured are not the user's to change; their own are.
                change = ["NotPermitted" if rule is None else "NoSuchDump"]
                change += [None if rule is None else "NoSuchDump"] * (len(ids) - 1)
                tap.equal((got["pin"], got["delete"]), (change, change), f"{what}, {name}: pin, delete")


def kept_and_denied(tap):
    """Deny= is for what is kept, too, at once; root may still delete it."""
    with Target("threads", 2, 10) as target, Target("chain_pie") as other, Daemon() as daemon:
        dump = daemon.capture(target.pid)["dump"]["id"]
        rest = daemon.capture(other.pid)["dump"]["id"]
        with open(f"/proc/{target.pid}/comm") as comm:
            words = (comm.read().strip(), os.readlink(f"/proc/{target.pid}/exe"), "uid:0")
        for n, word in enumerate(words):
            daemon.write_config(Deny=word)
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda n=n: daemon.log().count("read again") == n + 1, "the reload")
            listed = [s["id"] for s in daemon.call("List")["summaries"]]
            read = refusal(daemon.call, "Read", id=dump)[0]
            tap.equal((listed, read), ([] if word == "uid:0" else [rest], "NoSuchDump"),
                      f"Deny={os.path.basename(word)}: a dump that is kept is not shown to root")
        tap.equal(refusal(daemon.call, "Delete", id=dump)[0], None, "root deletes it")


def connected(daemon, who):
    """A connection of a process that has become WHO and has ended. The daemon knows where it ran: it has answered."""
    ours, theirs = socket.socketpair()

    def work(_):
        become(*who)
        with daemon.client(timeout=60) as client:
            client.call("Status")
            socket.send_fds(theirs, [b"."], [client.socket.fileno()])
    with ours, theirs, pipe_of_child(work):
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    client = daemon.client(timeout=60)  # the object, with another connection
    client.socket.close()
    client.socket = socket.socket(fileno=fds[0])
    client.socket.settimeout(60)
    return client


def namespace_reloaded(tap):
    """RequireSameNamespace= that a reload sets holds for connections that are open: for their calls, subscriptions,
    series and profiles. The caller is a member of Group= in a user namespace of its own."""
    who = (UNPRIVILEGED, UNPRIVILEGED, GAMES, True)
    with Target("threads", 2, 10) as target, Daemon({"RequireSameNamespace": "no"}) as daemon, \
            connected(daemon, who) as client, connected(daemon, who) as listener, \
            connected(daemon, who) as lasting:
        def asked():
            return (refusal(client.call, "Capture", target={"pid": target.pid})[1].get("rule"),
                    len(client.call("List")["summaries"]) > 0)
        heard = (reply.get("summary", {}).get("id") for reply in listener.stream("Subscribe"))
        next(heard)
        told = daemon.capture(target.pid)["dump"]["id"]
        tap.equal((asked(), next(heard)), ((None, True), told), "RequireSameNamespace=no: as outside")
        next(heard)  # its own
        series = lasting.stream("Sample", target={"pid": target.pid}, interval_ms=20, count=500)
        next(series)
        for times, value in ((1, "yes"), (2, "no")):
            daemon.write_config(RequireSameNamespace=value)
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda n=times: daemon.log().count("read again") == n, "the reload")
            if value == "yes":
                tap.equal(asked(), ("namespace", False), "after a reload with =yes: refused, and nothing is listed")
                tap.equal(refusal(lambda: [None for _ in series])[1].get("rule"), "namespace", "a series ends")
                daemon.capture(target.pid)
        told = daemon.capture(target.pid)["dump"]["id"]
        later = set()
        while told not in later:
            later.add(next(heard))
        tap.equal((asked(), len(later)), ((None, True), 1), "after one with =no: as before; between them it heard nothing")


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


def deny_paths(tap):
    """Deny= by a path with links in it, by a hard link, and by a link that was made later."""
    program = private_copy(tempfile.mkdtemp(prefix="snapwalk-deny-"), "states")
    directory = os.path.dirname(program)
    hard, link, there = (os.path.join(directory, name) for name in ("hard", "link", "dir"))
    os.link(program, hard)
    os.symlink("/nowhere", link)
    os.symlink(".", there)
    try:
        with Target(None, "plain", 2, path=program) as target, Target("chain_pie") as other, \
                Target(None, "zombie_leader", path=program) as headless:
            wait_until(lambda: state_of(headless.pid) == "Z", "the leader to end")
            for deny in (program, hard, link, os.path.join(there, os.path.basename(program))):
                with Daemon({"Deny": deny, "MinIntervalSec": 0}) as daemon:
                    if deny == link:
                        os.unlink(link)
                        os.symlink(os.path.basename(program), link)
                    name, got = refusal(daemon.capture, target.pid)
                    tap.equal((name, got.get("rule")), ("NotPermitted", "deny"),
                              f"Deny= by {os.path.basename(deny)}: it is not captured")
                    name, got = refusal(daemon.capture, headless.pid)
                    tap.equal((name, got.get("rule")), ("NotPermitted", "deny"),
                              f"Deny= by {os.path.basename(deny)}: nor where its first thread has ended")
                    tap.equal(refusal(daemon.capture, other.pid)[0], None,
                              f"Deny= by {os.path.basename(deny)}: another program is")
    finally:
        shutil.rmtree(directory)


def deny_on_overlay(tap):
    """The same on overlayfs, where a file has another inode after it was changed: by the path, a hard link, a bind mount, in
    a process that began before the change, and in one whose user namespace has mounted the layers itself."""
    if no_mounts():
        tap.skip("Deny= on overlayfs", no_mounts(), tap.MOUNTS)
        return
    with contextlib.ExitStack() as stack:
        top = stack.enter_context(tempfile.TemporaryDirectory(prefix="snapwalk-deny-", dir="/var/tmp"))
        lower, upper, work, merged, bound, *own = (os.path.join(top, name) for name in ("lower", "upper", "work", "merged", "bound",
                                                                                       "own", "ownwork"))
        for path in (lower, upper, work, merged, bound, *own):
            os.mkdir(path)
            os.chmod(path, 0o755)
            if path in own:
                os.chown(path, UNPRIVILEGED, UNPRIVILEGED)
        os.chmod(top, 0o755)
        program = os.path.join(merged, "denied")
        shutil.copy(os.path.join(TARGETS, "chain_pie"), os.path.join(lower, "denied"))
        fuse.enter_mounts()
        try:
            fuse.overlay_to_write(lower, upper, work, merged)
        except OSError as error:
            tap.skip("Deny= on overlayfs", str(error), "overlayfs")
            return
        stack.callback(fuse.unmount, merged)
        fuse.bind(merged, bound)
        stack.callback(fuse.unmount, bound)

        def run(path, *words):
            return stack.enter_context(Target(None, *words, path=path)).pid

        found = {"by its path": run(program)}
        os.link(program, os.path.join(merged, "hard"))
        os.chmod(program, 0o711)  # copied up
        found.update({"after a change": run(program), "by a hard link": run(os.path.join(merged, "hard")),
                      "by a bind mount": run(os.path.join(bound, "denied"))})
        script = f"mount -t overlay overlay -o lowerdir={lower},upperdir={own[0]},workdir={own[1]} {merged} && exec {program}"
        if not no_user_namespaces():
            found["in a user namespace"] = run(shutil.which("unshare"), "-Urm", "sh", "-c", script)
        other = run(os.path.join(TARGETS, "chain"))
        with Daemon({"Deny": program}) as daemon:
            for what, pid in found.items():
                name, got = refusal(daemon.capture, pid)
                tap.equal((name, got.get("rule")), ("NotPermitted", "deny"), f"Deny= on overlayfs, {what}: it is not captured")
            tap.equal(refusal(daemon.capture, other)[0], None, "Deny= on overlayfs: another program is")


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
    need |= events | 1 << 39  # CAP_BPF, for workers of Events
    tap.equal(int(field(daemon.spawner, "CapEff"), 16) & ~need, 0, "spawner: four capabilities")
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
        for test in tap.chosen(owners, protected, group, identity_of_target, not_traceable, visible,
                     privileges):
            tap.guard(test, daemon)
        wait_until(lambda: not daemon.workers(), "workers to end")
    for test in tap.chosen(kept, kept_and_denied, namespace_reloaded, deny_list, deny_paths, user_mode,
                           deny_on_overlay):  # the last one: it has mounts of its own from then on
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
