#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 60s
"""Functions and declared probes (USDT) by the daemon: each call comes with its stack, to whom FunctionEvents= permits it; a
breakpoint is gone with the client, the worker, the spawner or the daemon, however they end; breakpoints that take too
much of a process are taken out; rules wait for a call, and say once that a process lacks the function."""
import os
import re
import shutil
import signal
import tempfile

from daemon import Daemon, UNPRIVILEGED, children, name_of, refusal
from harness import TARGETS, Tap, Target, iterator_refused, wait_until
from test_daemon_events import begun, by, caps, joined, of_rule
from test_events import functions, links
from test_functions import N, ROUNDS, WITHOUT_ADMIN, code, lacks_links, turn

ON = {"FunctionEvents": "root"}
CAP_SYS_ADMIN = 21  # include/uapi/linux/capability.h
LONG_MS = 600 * 1000  # nobody waits for it


def func(symbol, **more):
    return {"kind": "func", "symbol": symbol, **more}


def left(pid):
    """The programs of the kernel that a process has, which may have ended."""
    try:
        return links(pid)
    except OSError:
        return []


def as_before(tap, pid, before, what):
    wait_until(lambda: code(pid, "pushes") == before, f"{what}: the breakpoint goes", 30)
    tap.equal(code(pid, "pushes"), before, f"{what}: the code is as it was")


def exact(tap, daemon):
    """All calls of all threads, each at its stack; the breakpoint is there meanwhile, and gone with the answer."""
    with Target("functions") as target, daemon.client() as client:
        before = code(target.pid, "pushes")
        replies = begun(client, target.pid, func("pushes"), count=3 * N)
        tap.equal(code(target.pid, "pushes")[0], 0xcc, "a breakpoint")
        worker, = daemon.workers()
        wait_until(lambda: caps(worker) == 0, "the worker has given its privileges up")
        tap.equal([caps(worker, c) for c in ("Prm", "Eff", "Inh", "Amb")], [0] * 4, "the worker has no capability")
        turn(tap, target)
        events, stacks, last, _ = joined(replies)
        tap.equal((last["ended"], last["n_events"], last["n_lost"], last["n_without_stack"]), ("count", 3 * N, 0, 0),
                  "all calls, none lost")
        tap.equal((by(events, stacks, "by_first"), by(events, stacks, "by_second")), (N, 2 * N), "each at its stack")
        tap.equal({(e["pid"], e["function"]) for e in events}, {(target.pid, "pushes")}, "of which process and function")
        tap.equal(code(target.pid, "pushes"), before, "with the last answer the code is as it was")
        replies = begun(client, target.pid, func("twice", **{"return": True}), count=N)
        turn(tap, target)
        events, stacks, last, _ = joined(replies)
        tap.equal((last["n_events"], by(events, stacks, "by_first")), (N, N), "at returns: all")
        tap.check(all(int(e["result"], 16) == 7 * int(e["arguments"][0], 16) for e in events), "at returns: results", events[:2])
        replies = begun(client, target.pid, func("pause_for", slower_ms=30), count=2)
        turn(tap, target, "slow")
        tap.equal(joined(replies)[2]["n_events"], 2, "calls that last as long")


def declared(tap, daemon):
    with Target("declared") as target, daemon.client() as client:
        replies = begun(client, target.pid, {"kind": "usdt", "symbol": "order__begin"}, count=50)
        target.send("go")
        events, stacks, last, _ = joined(replies)
        tap.equal((last["n_events"], last["n_lost"]), (50, 0), "a probe that is declared: all")
        tap.equal({e["function"] for e in events}, {"shop:order__begin"}, "its name")
        tap.check(all(functions(stacks[e["stack"]])[0] == "orders" for e in events), "its stacks", stacks)


def changes(tap, daemon):
    """A library that is unloaded and loaded again: another worker looks it up anew. One that is gone: the reason."""
    with Target("functions") as target, daemon.client() as client:
        turn(tap, target, "load")
        replies = begun(client, target.pid, func("called.so:library_called"))
        turn(tap, target, "load")
        seen = 0
        while seen < ROUNDS:
            seen += len(next(replies).get("events", []))
        before = daemon.workers()
        for what in ("unload", "unload", "load"):
            turn(tap, target, what)
        wait_until(lambda: (now := daemon.workers()) and now != before and caps(now[0]) == 0, "another worker goes on")
        turn(tap, target, "load")
        more = 0
        while more < ROUNDS:
            more += len(next(replies).get("events", []))
        tap.equal((seen, more), (ROUNDS, ROUNDS), "calls of the library that was loaded again")
        for what in ("unload", "unload", "parts"):  # the last one maps other code
            turn(tap, target, what)
        last = list(replies)[-1]
        tap.check(last.get("ended") == "refused" and "no library called.so" in last.get("error", ""),
                  "a library that is not there any more", last)


def refused(tap, daemon):
    with Target("functions") as target, daemon.client() as client:
        for event, bad in ((func(""), "symbol"), ({"kind": "func"}, "symbol"), (func(":x"), "symbol"),
                           ({"kind": "usdt", "symbol": "x", "return": True}, "return"), (func("x", call="read"), "call"),
                           ({"kind": "death", "symbol": "x"}, "symbol"), ({"kind": "thread", "return": True}, "return"),
                           (func("x", failed=True), "failed")):
            name, parameters = refusal(lambda: list(client.stream("Events", target={"pid": target.pid}, event=event,
                                                                   duration_ms=1000)))
            tap.equal((name, parameters.get("parameter")), ("org.varlink.service.InvalidParameter", bad), f"{event}: {bad}")
        for event, what in ((func("twise"), "has no function twise: did you mean twice?"),
                            (func("libnone:f"), "it has no library libnone"),
                            ({"kind": "usdt", "symbol": "x"}, "declares no probes")):
            name, parameters = refusal(lambda: list(client.stream("Events", target={"pid": target.pid}, event=event,
                                                                   duration_ms=1000)))
            tap.check(name == "Unsupported" and what in parameters["detail"], f"{event}: {what}", (name, parameters))


def often(tap, daemon):
    """A function that is called without a pause."""
    with Target("functions") as target, daemon.client() as client:
        before = code(target.pid, "pushes")
        turn(tap, target, "often")
        last = joined(begun(client, target.pid, func("pushes")))[2]
        tap.equal(last["ended"], "overhead", "breakpoints that take too much are taken out")
        tap.equal(code(target.pid, "pushes"), before, "and the code is as it was")


def killed(tap):
    """kill -9 of the worker, of the spawner and of the daemon."""
    for who in ("worker", "spawner", "daemon"):
        with Target("functions") as target, Daemon(ON) as daemon, daemon.client() as client:
            before = code(target.pid, "pushes")
            begun(client, target.pid, func("pushes"))
            pids = [daemon.workers()[0], daemon.spawner, daemon.pid]
            tap.equal(code(target.pid, "pushes")[0], 0xcc, f"{who}: a breakpoint")
            os.kill(pids[("worker", "spawner", "daemon").index(who)], signal.SIGKILL)
            as_before(tap, target.pid, before, f"{who} killed")
            wait_until(lambda: not any(map(left, pids)), f"{who} killed: no program of the kernel is left")
            turn(tap, target)


def without_admin(tap):
    """Where the kernel puts breakpoints into code for who has CAP_BPF and CAP_PERFMON, nobody has CAP_SYS_ADMIN for it."""
    if lacks_links(tap, "without CAP_SYS_ADMIN"):
        return
    with Daemon(ON, prefix=WITHOUT_ADMIN) as daemon, Target("functions") as target, daemon.client() as client:
        tap.equal([caps(pid, "Bnd") >> CAP_SYS_ADMIN & 1 for pid in (daemon.pid, daemon.spawner)], [0, 0],
                  "without CAP_SYS_ADMIN: nobody has it")
        tap.equal([pid for pid in daemon.helpers() if name_of(pid) == "snapwalk-prober"], [], "no process that opens probes")
        replies = begun(client, target.pid, func("pushes"), count=3 * N)
        turn(tap, target)
        events, stacks, last, _ = joined(replies)
        tap.equal((last["n_events"], last["n_lost"], by(events, stacks, "by_first")), (3 * N, 0, N), "all calls at their stacks")
        before = code(target.pid, "pushes")
        replies = begun(client, target.pid, func("pushes"))
        turn(tap, target, "child")
        child, = children(target.pid)
        tap.equal(code(child, "pushes")[0], 0xcc, "a child that fork() makes has the breakpoint")
        wait_until(lambda: code(child, "pushes") == before, "it is taken out of the child", 60)
        wait_until(lambda: code(target.pid, "pushes")[0] == 0xcc, "the process has it again")
        turn(tap, target)
        seen = 0
        while seen < 3 * N:
            seen += len(next(replies).get("events", []))
        tap.equal(seen, 3 * N, "and its calls are seen")


def permissions(tap):
    owner = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
    for words, callers in (({}, {0: "functions"}), ({"FunctionEvents": "root"}, {0: None, UNPRIVILEGED: "events"}),
                           ({"Events": "owners", "FunctionEvents": "root"}, {0: None, UNPRIVILEGED: "functions"}),
                           ({"Events": "owners", "FunctionEvents": "owners"}, {0: None, UNPRIVILEGED: None}),
                           ({"Events": "no", "FunctionEvents": "owners"}, {0: "events"})):
        with Daemon(words) as daemon, Target("functions", **owner) as target:
            for uid, rule in callers.items():
                with daemon.client(uid) as client:
                    name, parameters = refusal(lambda: list(client.stream(
                        "Events", target={"pid": target.pid}, event=func("pushes"), duration_ms=100)))
                    tap.equal((name, parameters.get("rule") if name else None), ("NotPermitted" if rule else None, rule),
                              f"{words}, uid {uid}")


RULE = """[rule calls]
OnEvent=func:pushes
Target=comm:swfunctions
CooldownSec=1000
MaxTargets=4
"""


def rules(tap):
    """A rule: that processes lack the function is said once; one that has it is watched, and its call is stored."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "swfunctions")
        shutil.copy(os.path.join(TARGETS, "events"), path)
        with Target(None, path=path), Target(None, path=path), Daemon(ON, rules={"events.conf": RULE}) as daemon:
            lacks = r"process \d+ cannot be watched: swfunctions has no function pushes"
            wait_until(lambda: re.search(lacks, daemon.log()), "the function is not there")
            os.unlink(path)
            shutil.copy(os.path.join(TARGETS, "functions"), path)
            with Target(None, path=path) as target:
                wait_until(lambda: f"process {target.pid} is watched for pushes" in daemon.log(), "one that has it is watched")
                wait_until(lambda: [caps(w) for w in daemon.workers()] == [0], "without privileges")
                tap.equal(len(re.findall(lacks, daemon.log())), 1, "of two processes that lack it the first is said")
                turn(tap, target)
                wait_until(lambda: len(of_rule(daemon, "calls")) == 2, "the call and the process are stored")
                dumps = of_rule(daemon, "calls")
                event = dumps.get("event: calls: pushes", {"threads": [], "stacks": []})
                tap.check(len(event["threads"]) == 1 and functions(event["stacks"][0])[0] == "pushes", "the call", event)
                wait_until(lambda: not daemon.workers(), "nothing is watched while the rule cools down")
        with Daemon(rules={"events.conf": RULE}) as daemon:
            wait_until(lambda: "rule calls does nothing: FunctionEvents=no" in daemon.log(), "it is said that nothing is watched")


def main():
    tap = Tap()
    if os.geteuid() != 0 or iterator_refused():
        tap.skip("functions by the daemon", iterator_refused() or "not root", Tap.ROOT)
        tap.done()
    with Daemon(ON) as daemon:
        for test in tap.chosen(exact, declared, changes, refused, often):
            tap.guard(test, daemon)
        tap.check(daemon.alive(), "the daemon lives", daemon.log())
    for test in tap.chosen(killed, without_admin, permissions, rules):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
