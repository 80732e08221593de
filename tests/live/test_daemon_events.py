#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
"""Events: the method of the daemon. Each event of programs that make a known number of them comes with its stack, to
whom Events= permits it; nothing is left in the kernel when the client goes, and the worker that reads has no privilege."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from daemon import Daemon, SNAPWALKD, UNPRIVILEGED, refusal
from harness import TARGETS, Tap, Target, iterator_refused, wait_until
from safety import status_field as field_of
from test_events import ROUNDS, THREADS, functions, links, turn

N = ROUNDS * THREADS
LONG_MS = 600 * 1000  # nobody waits for it


def status_field(pid, field):
    return field_of(pid, pid, field)


def caps(pid, which="Prm"):
    return int(status_field(pid, f"Cap{which}") or "0", 16)


def call(name, **more):
    return {"kind": "syscall", "call": name, **more}


def begun(client, pid, event, **more):
    """The replies, from when there are events on."""
    replies = client.stream("Events", target={"pid": pid}, event=event,
                            **{"duration_ms": LONG_MS, **more})
    first = next(replies)
    assert first == {"state": "begun"}, first
    return replies


def joined(replies):
    """(events, stacks by id, the last reply, how often a stack was sent again)."""
    events, stacks, last, again = [], {}, {}, 0
    for reply in replies:
        events += reply.get("events", [])
        for stack in reply.get("stacks", []):
            again += stack["id"] in stacks
            stacks[stack["id"]] = stack
        last = reply
    return events, stacks, last, again


def by(events, stacks, name):
    return sum(name in functions(stacks[e["stack"]]) for e in events)


def exact(tap, daemon):
    """All events of all threads, none twice, each at its stack; then the count ends it."""
    with Target("events") as target, daemon.client() as client:
        replies = begun(client, target.pid, call("openat", errno="ENOENT"), count=3 * N)
        turn(target)
        events, stacks, last, again = joined(replies)
        tap.equal((last["ended"], last["n_events"], last["n_lost"], last["n_without_stack"]), ("count", 3 * N, 0, 0),
                  "openat that fails: all, none lost")
        tap.equal((by(events, stacks, "by_first"), by(events, stacks, "by_second")), (N, 2 * N), "each at its stack")
        tap.equal(sorted(e["seq"] for e in events), list(range(3 * N)), "each has a number")
        tap.equal({(e["pid"], e["call"], e["errno"]) for e in events}, {(target.pid, "openat", "ENOENT")},
                  "of which process, call and error")
        tap.equal(again, 0, "each stack is sent once")
        tap.check(all(s["end"] == "complete" for s in stacks.values()), "whole stacks", stacks)
        replies = begun(client, target.pid, call("write", fd=9, arguments={"2": 1}), count=N)
        turn(target)
        events, stacks, last, _ = joined(replies)
        tap.equal((last["n_events"], by(events, stacks, "write_nine")), (N, N), "conditions of arguments that hold")
        replies = begun(client, target.pid, call("write", fd=9, arguments={"2": 2}), duration_ms=300)
        turn(target)
        events, stacks, last, _ = joined(replies)
        tap.equal((last["ended"], events), ("time", []), "one that does not hold, until the time is up")


def others(tap, daemon):
    """How a process ends, as the last event of it; and another process, which has none."""
    with Target("events") as target, Target("events") as second, daemon.client() as client:
        replies = begun(client, target.pid, {"kind": "death"})
        turn(second)
        os.kill(target.pid, 9)
        events, _, last, _ = joined(replies)
        tap.equal((last["ended"], [e["event"] for e in events]), ("exited", ["death"]), "the death of a process")


def privileges(tap, daemon):
    """The worker that reads events has no capability; a client that hangs up leaves nothing in the kernel."""
    with Target("events") as target:
        with daemon.client() as client:
            begun(client, target.pid, call("openat"))
            worker, = daemon.workers()
            wait_until(lambda: caps(worker) == 0, "it has given its privileges up")
            tap.equal([caps(worker, c) for c in ("Prm", "Eff", "Inh", "Amb")], [0] * 4, "the worker has no capability")
            tap.equal(len(links(worker)), 1, "it has the program of the kernel")
        wait_until(lambda: not daemon.workers(), "the worker ends when its client has gone")
        tap.equal([links(pid) for pid in (daemon.pid, daemon.spawner)], [[], []], "no program is left")
        tap.equal(status_field(target.pid, "State")[:1], "S", "the target goes on")


def writes(pid):
    """Whether a process is in write(2) or writev(2); None when it has ended."""
    try:
        with open(f"/proc/{pid}/syscall") as file:
            return file.read().split()[0] in ("1", "20")
    except OSError:
        return None


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))


def slow(tap, daemon):
    """A client that does not read: the worker waits for it, and each event is there or said to be lost."""
    turns, most = 0, 2000
    with Target("events") as target, daemon.client() as client:
        replies = begun(client, target.pid, call("openat"))
        worker, = daemon.workers()
        while turns < most and not all(writes(worker) for _ in range(50)):
            turn(target)
            turns += 1
        tap.check(turns < most, "the worker cannot send any more", turns)
        os.kill(target.pid, 9)
        before, begin = cpu_ticks(daemon.pid), cpu_ticks(os.getpid())
        wait_until(lambda: cpu_ticks(os.getpid()) - begin >= 10, "some time has passed")
        tap.check(cpu_ticks(daemon.pid) - before < 10, "the daemon does nothing meanwhile")
        events, _, last, _ = joined(replies)
        tap.equal((last["ended"], last["n_events"] + last["n_lost"], last["n_events"]),
                  ("exited", turns * 4 * N, len(events)), "each event is there or lost")


def programs(tap, daemon):
    """A process that becomes another program: a new worker goes on with that one."""
    script = "read x; exec sh -c 'read x; cat /nowhere/b; read x'"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as shell, \
            daemon.client() as client:
        replies = begun(client, shell.pid, {"kind": "process"}, count=1)
        before = daemon.workers()
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        wait_until(lambda: (now := daemon.workers()) and now != before and caps(now[0]) == 0, "another worker goes on")
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        events, stacks, last, _ = joined(replies)
        tap.equal((last["ended"], last["n_events"], last["n_breaks"]), ("count", 1, 1), "events of the next program")
        tap.check(len(stacks) == 1, "with a stack", (events, stacks))
        shell.kill()


def refused(tap, daemon):
    """Calls with wrong parameters are refused, and so are processes whose events have no stacks."""
    with Target("events") as target, daemon.client() as client:
        for event, bad in ((call("openatt"), "call"), ({"kind": "syscall"}, "call"), (call("openat", errno="EFOO"), "errno"),
                           (call("exit_group", failed=True), "errno"), (call("write", arguments={"6": 1}), "arguments"),
                           (call("write", arguments={"1": "a"}), "arguments"), ({"kind": "death", "call": "openat"}, "call"),
                           ({"kind": "blocked"}, "slower_ms"), ({"kind": "thread", "slower_ms": 1}, "slower_ms"),
                           ({"kind": "func"}, "symbol"), ({"kind": "function"}, "kind"), ({}, "kind")):
            name, parameters = refusal(lambda: list(client.stream("Events", target={"pid": target.pid}, event=event,
                                                                   duration_ms=1000)))
            tap.equal((name, parameters.get("parameter")), ("org.varlink.service.InvalidParameter", bad), f"{event}: {bad}")
        name, _ = refusal(client.call, "Events", target={"pid": target.pid}, event=call("openat"), duration_ms=1000)
        tap.equal(name, "org.varlink.service.ExpectedMore", "a call without more")
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as python, daemon.client() as client:
        wait_until(lambda: b"libc" in open(f"/proc/{python.pid}/maps", "rb").read(), "Python runs")
        name, parameters = refusal(lambda: list(client.stream("Events", target={"pid": python.pid}, event=call("openat"),
                                                               duration_ms=1000)))
        tap.check(name == "Unsupported" and "other than native" in parameters["detail"], "code other than native",
                  (name, parameters))
        python.stdin.close()


def permissions(tap):
    """Events=: whoever may capture a process sees its events only where that is said."""
    cases = (("no", {0: "NotPermitted"}), ("root", {0: None, UNPRIVILEGED: "NotPermitted"}),
             ("group", {0: None, UNPRIVILEGED: "NotPermitted"}), ("owners", {0: None, UNPRIVILEGED: None}))
    for word, callers in cases:
        with Daemon({"Events": word}) as daemon, Target("events", user=UNPRIVILEGED, group=UNPRIVILEGED, extra_groups=[]) as target:
            for uid, expected in callers.items():
                with daemon.client(uid) as client:
                    name, parameters = refusal(lambda: list(client.stream(
                        "Events", target={"pid": target.pid}, event=call("openat"), duration_ms=100)))
                    tap.equal((name, parameters.get("rule") if name else None),
                              (expected, "events" if expected else None), f"Events={word}, uid {uid}")
            if word == "owners":
                with Target("events") as roots, daemon.client(UNPRIVILEGED) as client:
                    name, parameters = refusal(lambda: list(client.stream(
                        "Events", target={"pid": roots.pid}, event=call("openat"), duration_ms=100)))
                    tap.equal((name, parameters.get("rule")), ("NotPermitted", "owner"),
                              "Events=owners: not those of another user's process")
            has = bool(caps(daemon.spawner) & 1 << 39)
            tap.equal(has, word != "no", f"Events={word}: {'with' if word != 'no' else 'without'} CAP_BPF")


def taken(tap):
    """A reload ends the events of those whom it takes the right to them; others' go on with another worker."""
    with Daemon({"Events": "owners"}) as daemon, daemon.client(UNPRIVILEGED) as client, daemon.client() as roots, \
            Target("events", user=UNPRIVILEGED, group=UNPRIVILEGED, extra_groups=[]) as target:
        lost = begun(client, target.pid, call("openat"), duration_ms=15000)
        kept = begun(roots, target.pid, call("openat", errno="ENOENT"), count=N)
        before, began = daemon.workers(), time.monotonic()
        daemon.write_config(Events="root")
        daemon.process.send_signal(signal.SIGHUP)
        last = list(lost)[-1]
        tap.check(last.get("ended") == "time" and time.monotonic() - began < 10, "Events=root: the owner's events end",
                  (last, time.monotonic() - began))
        wait_until(lambda: [caps(w) for w in daemon.workers() if w not in before] == [0], "a new worker")
        turn(target)
        last = joined(kept)[2]
        tap.equal((last.get("ended"), last.get("n_breaks")), ("count", 1), "root's go on")


def hidden(tap):
    """A process that protects itself from its user meanwhile: no more of its events is the user's, nor a dump that a rule
    makes of one. Root's go on."""
    owner = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
    with Daemon({"Events": "owners"}) as daemon, Target("events", **owner) as target, daemon.client(UNPRIVILEGED) as client, \
            daemon.client() as roots:
        theirs = begun(client, target.pid, call("openat", errno="ENOENT"))
        all_of_them = begun(roots, target.pid, call("openat", errno="ENOENT"), count=6 * N)
        turn(target)
        seen = 0
        while seen < 3 * N:
            seen += len(next(theirs).get("events", []))
        turn(target, "hide")
        events, _, last, _ = joined(theirs)
        tap.equal((len(events), last["ended"], "dumpable" in last.get("error", "")), (0, "refused", True),
                  "the user has none from then on, and is told")
        tap.equal((last["n_events"], last["n_lost"] > 0), (3 * N, True), "which is what is counted")
        events, _, last, _ = joined(all_of_them)
        tap.equal((last["ended"], last["n_events"]), ("count", 6 * N), "root has all")


HIDDEN_RULES = """[rule files]
OnEvent=syscall:openat errno=ENOENT
Target=pid:{}
CooldownSec=1000
[rule dies]
OnEvent=death
Target=comm:{}
CooldownSec=1000
"""


def hidden_from_rules(tap):
    """The same of dumps that rules make: by what the process is at the event, or was when it was last looked for."""
    owner = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.chmod(folder, 0o755)
        path = shutil.copy(os.path.join(TARGETS, "events"), os.path.join(folder, "swhidden"))
        target, dying = stack.enter_context(Target("events", **owner)), stack.enter_context(Target(None, path=path, **owner))
        daemon = stack.enter_context(Daemon(rules={"events.conf": HIDDEN_RULES.format(target.pid, "swhidden")}))
        wait_until(lambda: [caps(w) for w in daemon.workers()] == [0, 0], "two processes are watched")
        turn(target, "hide")
        wait_until(lambda: len(of_rule(daemon, "files")) == 2, "the event and the process are stored")
        turn(dying, "hide")
        other = stack.enter_context(Target(None, path=path, **owner))
        wait_until(lambda: f"process {other.pid} is watched" in daemon.log(), "the rule has looked again")
        os.kill(dying.pid, signal.SIGSEGV)
        wait_until(lambda: of_rule(daemon, "dies"), "the death is stored")
        with daemon.client(UNPRIVILEGED) as client:
            tap.equal([one["reason"] for one in client.call("List")["summaries"]], [], "the user sees none of these dumps")


def of_rule(daemon, rule):
    """The dumps that a rule has made, by their reasons."""
    with daemon.client() as client:
        found = client.call("List")["summaries"]
        dumps = [client.call("Read", id=one["id"])["dump"] for one in found]
    return {dump["reason"]: dump for dump in dumps if dump["reason"].startswith(f"event: {rule}")}


def rules(tap):
    """OnEvent=: the thread of the event is a dump, one of the whole process follows; then the rule cools down. A process
    that dies leaves the stack of the thread that it died by, and no core file."""
    with Target("events") as target, Target("events") as dying, Target("events") as other:
        text = f"""[rule files]
OnEvent=syscall:openat errno=ENOENT
Target=pid:{target.pid}
CooldownSec=1000
[rule dies]
OnEvent=death
Target=pid:{dying.pid}
RequireExe={os.path.realpath(f"/proc/{dying.pid}/exe")}
[rule later]
OnEvent=death
Target=comm:swlater
CooldownSec=0
[rule forbidden]
OnEvent=thread
Target=pid:{other.pid}
RequireExe=/usr/bin/nobody
"""
        with Daemon(rules={"events.conf": text}) as daemon:
            wait_until(lambda: [caps(w) for w in daemon.workers()] == [0, 0], "two processes are watched, without privileges")
            tap.check("RequireExe= forbids" in daemon.log(), "RequireExe=: the third is not", daemon.log())
            turn(target)
            wait_until(lambda: len(of_rule(daemon, "files")) == 2, "the event and the process are stored")
            dumps = of_rule(daemon, "files")
            event = dumps.get("event: files: openat ENOENT", {"threads": [], "stacks": []})
            tap.equal(len(event["threads"]), 1, "the thread of the event")
            tap.check(event["stacks"] and {"by_first", "by_second"} & set(functions(event["stacks"][0]))
                      and event["stacks"][0]["end"] == "complete", "at its stack", event)
            whole = dumps["event: files"]
            tap.equal((whole.get("process", {}).get("pid"), "main" in functions(whole["stacks"][0])), (target.pid, True),
                      "then the whole process")
            wait_until(lambda: len(daemon.workers()) == 1, "nothing is watched while the rule cools down")
            os.kill(dying.pid, signal.SIGSEGV)
            wait_until(lambda: of_rule(daemon, "dies"), "the death is stored")
            (reason, death), = of_rule(daemon, "dies").items()
            tap.equal(reason, "event: dies: death by SIGSEGV", "how it died")
            tap.check(len(death["threads"]) == 1 and "main" in functions(death["stacks"][0]), "where it died", death)
            with tempfile.TemporaryDirectory() as folder:
                path = shutil.copy("/bin/sleep", os.path.join(folder, "swlater"))
                for _ in range(2):
                    with subprocess.Popen([path, "1000"]) as later:
                        try:
                            wait_until(lambda: [caps(w) for w in daemon.workers()] == [0], "a new process is watched alone")
                        finally:
                            later.terminate()
                    wait_until(lambda: not daemon.workers(), "until it has ended")
            turn(target)
            tap.equal(len(of_rule(daemon, "files")), 2, "no event while the rule cools down")
            tap.equal(list(of_rule(daemon, "later")), ["event: later: death by SIGTERM"], "processes that begin later")
            tap.equal([links(pid) for pid in (daemon.pid, daemon.spawner)], [[], []], "no program is left")
        with Daemon({"Events": "no"}, rules={"events.conf": text}) as daemon:
            tap.check("rules with OnEvent= do nothing: Events=no" in daemon.log(), "Events=no: said", daemon.log())
            done = subprocess.run([SNAPWALKD, "--config", daemon.config_path, "--check-config"], capture_output=True, text=True)
            tap.check(done.returncode == 1 and "as Events=no" in done.stderr, "--check-config says it", done)
            tap.equal(daemon.workers(), [], "nothing is watched")
        with Daemon(rules={"events.conf": text}) as daemon:
            done = subprocess.run([SNAPWALKD, "--user", "--config", daemon.config_path, "--check-config"], capture_output=True, text=True)
            tap.check(done.returncode == 1 and "snapwalkd --user has no privileges" in done.stderr, "nor by a daemon of a user", done)


def counted(tap):
    """Status tells captures and watched processes apart, and counts both kinds of events. The command of OnDump= is told which
    event it was."""
    with tempfile.TemporaryDirectory() as folder:
        out, script = os.path.join(folder, "out"), os.path.join(folder, "hook.sh")
        os.chmod(folder, 0o755)
        os.mkdir(out)
        os.chmod(out, 0o777)
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncat >/dev/null\necho \"$SNAPWALK_REASON\" >{out}/$SNAPWALK_ID\n")
        os.chmod(script, 0o755)
        with Target("events") as target:
            text = f"""[rule files]
OnEvent=syscall:openat errno=ENOENT
Target=pid:{target.pid}
CooldownSec=1000
"""
            with Daemon({"OnDump": script}, rules={"events.conf": text}) as daemon:
                wait_until(lambda: daemon.status()["counters"]["events_watched_total"] == 1, "a process is watched")
                status = daemon.status()
                tap.equal((status["watching"], status["capturing"], status["counters"]["events_fired_total"]), (1, 0, 0),
                          "it is no capture")
                turn(target)
                wait_until(lambda: len(of_rule(daemon, "files")) == 2, "the event and the process are stored")
                wait_until(lambda: daemon.status()["watching"] == 0, "the watch to end")
                status = daemon.status()
                tap.equal((status["watching"], status["counters"]["events_watched_total"], status["counters"]["events_fired_total"]),
                          (0, 1, 1), "the event is counted")

                def reasons():
                    found = []
                    for name in os.listdir(out):
                        with open(os.path.join(out, name), encoding="utf-8") as file:
                            found.append(file.read().strip())
                    return sorted(found) if len(found) == 2 and all(found) else None
                tap.equal(wait_until(reasons, "OnDump= to run for both"), ["event: files", "event: files: openat ENOENT"],
                          "OnDump= is told which event it was")


def places(tap):
    """MaxTargets= is of processes that are watched: those of the same name that RequireExe= forbids, and were there before,
    take no place. The eight take no place of a call of Events either, of which there may be eight. A reload ends what Events=
    forbids, also where the rules have a mistake."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere, contextlib.ExitStack() as running:
        paths = [shutil.copy("/bin/sleep", os.path.join(f, "swplaces")) for f in (elsewhere, folder)]
        for path in paths[:1] * 4 + paths[1:] * 9:
            process = running.enter_context(subprocess.Popen([path, "1000"]))
            running.callback(process.terminate)
        text = f"[rule many]\nOnEvent=death\nTarget=comm:swplaces\nMaxTargets=8\nRequireExe={paths[1]}\nCooldownSec=0\n"
        with Daemon(rules={"events.conf": text}) as daemon, Target("events") as target, daemon.client() as client:
            wait_until(lambda: daemon.log().count("is watched for") >= 8 and [caps(w) for w in daemon.workers()] == [0] * 8,
                       "eight processes are watched")
            tap.equal((daemon.log().count("RequireExe= forbids"), daemon.log().count("is watched for")), (4, 8),
                      "eight of nine beside four that are refused, once each")
            tap.equal(daemon.log().count("8 processes are (MaxTargets=)"), 1, "that there is no place for the ninth is said once")
            replies = begun(client, target.pid, call("openat", errno="ENOENT"), count=1)
            turn(target)
            tap.equal(joined(replies)[2]["ended"], "count", "a call of Events beside a rule that watches eight")
            daemon.rules = {"events.conf": text.replace("RequireExe=/", "RequireExe=")}
            daemon.write_config(Events="no")
            daemon.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "read again" in daemon.log(), "the reload")
            tap.check("the old rules stay" in daemon.log() and "do nothing: Events=no" in daemon.log(),
                      "a reload with a mistake in the rules: the old ones are limited anew", daemon.log())
            wait_until(lambda: not daemon.workers(), "nobody is watched any more", 10)


def main():
    tap = Tap()
    if os.geteuid() != 0 or iterator_refused():
        tap.skip("Events", iterator_refused() or "not root", Tap.ROOT)
        tap.done()
    with Daemon() as daemon:
        for test in tap.chosen(exact, others, privileges, slow, programs, refused):
            tap.guard(test, daemon)
        tap.check(daemon.alive(), "the daemon lives", daemon.log())
    for test in tap.chosen(permissions, taken, hidden, hidden_from_rules, rules, counted, places):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
