#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""Clients that are not ours: Python's standard library, socat with jq, varlinkctl and
python3-varlink where they are installed; and our own command."""
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

import jsonschema

from daemon import UNPRIVILEGED, Daemon, Refused, join, private_copy, stopped
from harness import (BUILD, PATIENT, SNAPWALK, Tap, Target, dump as direct_dump, expected_stacks,
                     hangs_s, own_functions, public, tool, wait_blocked, wait_until)
from safety import frames_of

HERE = os.path.dirname(os.path.abspath(__file__))
WAITS = (0, 35, 202, 230, 232)  # read, nanosleep, futex, clock_nanosleep, epoll_wait
SCHEMA = os.path.join(HERE, "../../protocol/snapwalk-dump.schema.json")


def schema():
    with open(SCHEMA) as file:
        return jsonschema.Draft202012Validator(json.load(file))


def standard_library(tap, daemon):
    """The five lines that a reader of the manual page types."""
    with Target("threads", 3, 10) as target:
        client = socket.socket(socket.AF_UNIX)
        client.connect(daemon.socket_path)
        call = {"method": "io.snapwalk.Capture", "parameters": {"target": {"pid": target.pid}}}
        client.sendall(json.dumps(call).encode() + b"\0")
        message = b""
        while not message.endswith(b"\0"):
            message += client.recv(65536)
        reply = json.loads(message[:-1])
        client.close()
        if tap.check("error" not in reply, "Python in five lines: an answer", reply):
            tap.equal(len(reply["parameters"]["dump"]["threads"]), 4, "Python in five lines: a dump")


def manual_example(tap, daemon):
    """The program in io.snapwalk(7), as it stands there."""
    with open(os.path.join(HERE, "../../man/io.snapwalk.7")) as page:
        text = page.read().split("example begin\n")[1].split(".\\\" example end")[0]
    lines = [line for line in text.splitlines() if not line.startswith(".")]
    program = "\n".join(lines).replace("\\e", "\\")
    with Target("threads", 8, 10) as target:
        wait_blocked(target.pid, WAITS)  # those on the way there have stacks of their own
        got = subprocess.run(["/usr/bin/python3", "-c", program, daemon.socket_path,
                              str(target.pid)], capture_output=True, text=True, timeout=60)
        counts = [line.split()[0] for line in got.stdout.splitlines()]
        tap.equal((got.returncode, counts), (0, ["2"] * 4 + ["1"]), "the example of io.snapwalk(7)")


def same_as_direct(tap, daemon):
    """The daemon's dump is the command's."""
    with Target("chain_pie") as target:
        wait_blocked(target.pid)
        got = daemon.capture(target.pid)["dump"]
        errors = [e.message for e in schema().iter_errors(got)]
        tap.equal(errors, [], "the dump is as its schema says")
        wanted = direct_dump(target.pid)
        tap.equal(set(got), set(wanted), "the dump has the fields of the command's")
        tap.equal(frames_of(got), frames_of(wanted), "the same frames for each thread")
        tap.equal([s["id"] for s in got["stacks"]], [s["id"] for s in wanted["stacks"]],
                  "the same ids of stacks")
        tap.equal(got["modules"], wanted["modules"], "the same modules")
        for tid, functions in expected_stacks(target.lines).items():
            tap.equal(own_functions(got, tid), functions, f"the functions of thread {tid}")


def options(tap, daemon):
    with Target("deep", ready="ready") as target:
        wait_blocked(target.pid)
        got = daemon.capture(target.pid, options={"depth": 5})["dump"]
        longest = max(sum(not f["inlined"] for f in s["frames"]) for s in got["stacks"])
        tap.equal(longest, 5, "depth")
        got = daemon.capture(target.pid, options={"symbols": "none"})["dump"]
        named = [f for s in got["stacks"] for f in s["frames"] if f["function"]]
        tap.equal(named, [], "symbols=none")
        got = daemon.capture(target.pid, options={"symbols": "names"})["dump"]
        lines = [f for s in got["stacks"] for f in s["frames"] if f["line"]]
        named = [f for s in got["stacks"] for f in s["frames"] if f["function"]]
        tap.check(named and not lines, "symbols=names")
        got = daemon.capture(target.pid, reason="why \u20ac", options={"inlines": False})["dump"]
        inlined = [f for s in got["stacks"] for f in s["frames"] if f["inlined"]]
        tap.equal((inlined, got["reason"]), ([], "why \u20ac"), "inlines=false, and a reason")


def parts(tap, daemon):
    """The same dump whole and with "more"."""
    with Target("threads", 100, 40) as target:
        wait_blocked(target.pid, WAITS)
        whole = daemon.capture(target.pid)
        with daemon.client() as client:
            dump, states, last = join(client.stream("Capture", target={"pid": target.pid}))
            tap.check(states and states == sorted(states, key=("queued", "stopped", "resumed",
                                                               "done").index),
                      "more: states in order", states)
            tap.equal(sorted(dump), sorted(whole["dump"]), "more: all fields of a dump")
            tap.equal([e.message for e in schema().iter_errors(dump)], [],
                      "more: joined, it is as its schema says")
            tap.equal(frames_of(dump), frames_of(whole["dump"]), "more: the same frames")
            summary = last["summary"]
            tap.equal((summary["id"], summary["n_threads"], summary["n_stacks"]),
                      (dump["id"], 101, len(dump["stacks"])), "more: the summary comes last")
            again, _, _ = join(client.stream("Read", id=dump["id"]))
            tap.equal(again, dump, "Read with more: the same dump")
            tap.equal(client.call("Read", id=dump["id"])["dump"], dump, "Read without: the same")
            rows = [r["summary"]["id"] for r in client.stream("List")]
            tap.equal(rows, [s["id"] for s in client.call("List")["summaries"]],
                      "List with more: one reply each, the same ones")


def sample_and_subscribe(tap, daemon):
    with Target("threads", 4, 10) as target, daemon.client() as listener:
        events = listener.stream("Subscribe")
        tap.equal(next(events)["event"], "ready", "Subscribe: ready")
        with daemon.client() as client:
            replies = list(client.stream("Sample", target={"pid": target.pid}, interval_ms=20,
                                         count=3))
        summaries = [r["summary"] for r in replies if "summary" in r]
        tap.equal(len(summaries), 3, "Sample: as many summaries as asked for")
        tap.equal(len({s["id"] for s in summaries}), 3, "each a capture of its own")
        times = [s["time"] for s in summaries]
        tap.equal(times, sorted(times), "dumps come one after another")
        heard = [next(events) for _ in range(3)]
        tap.equal([(e["event"], e["summary"]["id"]) for e in heard],
                  [("captured", s["id"]) for s in summaries], "Subscribe: one event for each")
        with daemon.client() as client:
            try:
                client.call("Capture", target={"pid": 4194303})
            except Refused:
                pass
        with daemon.client() as client, Target("threads", 1, 5) as short:
            replies = client.stream("Sample", target={"pid": short.pid}, interval_ms=20)
            while "summary" not in next(replies):
                continue
            short.process.kill()
            short.process.wait()
            try:
                rest = list(replies)
                tap.check(rest and rest[-1].get("error"), "the target of a Sample ends: an error",
                          rest[-1:])
            except Refused as error:
                # NotTraceable: a zombie until we have waited for it.
                tap.check(error.name in ("TargetExited", "NoSuchProcess", "NotTraceable"),
                          "the target of a Sample ends: an error", error)


def selectors(tap, daemon):
    path = private_copy(daemon.directory, "threads")
    name = os.path.basename(path)
    with Target(None, 2, 5, path=path) as target:
        got = daemon.call("Capture", target={"comm": name})
        tap.equal(got["dump"]["process"]["pid"], target.pid, "comm")
        with Target(None, 2, 5, path=path) as second:
            try:
                daemon.call("Capture", target={"comm": name})
                tap.check(False, "two of a name: Ambiguous")
            except Refused as error:
                tap.equal((error.name, sorted(error.parameters["pids"])),
                          ("Ambiguous", sorted([target.pid, second.pid])),
                          "two of a name: Ambiguous, with both")
        cgroup_selectors(tap, daemon, target.pid)


def cgroup_selectors(tap, daemon, pid):
    """A cgroup of our own, with the names that units and containers have."""
    container = "0123456789abcdef" * 4
    base = next((d for d in ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/pids")
                 if os.path.exists(os.path.join(d, "cgroup.procs"))), None)
    unit = f"snapwalkd-test-{pid}"
    outer = os.path.join(base or "/nonexistent", unit + ".service")
    inner = os.path.join(outer, f"docker-{container}.scope")
    try:
        if base is None:
            raise OSError("no cgroup file system")
        os.makedirs(inner)
    except OSError as error:
        tap.skip("unit, cgroup, container", str(error), tap.CGROUPS)
        return
    try:
        with open(os.path.join(inner, "cgroup.procs"), "w") as procs:
            procs.write(str(pid))
        for target in ({"unit": unit + ".service"}, {"unit": unit}, {"cgroup": f"/{unit}.service"},
                       {"container": container}, {"container": container[:12]}):
            got = daemon.call("Capture", target=target)
            tap.equal(got["dump"]["process"]["pid"], pid, f"target {list(target)[0]}")
    finally:
        with open(os.path.join(base, "cgroup.procs"), "w") as procs:
            procs.write(str(pid))
        wait_until(lambda: not open(os.path.join(inner, "cgroup.procs")).read(),
                   "an empty cgroup")
        os.rmdir(inner)
        os.rmdir(outer)


def socat_and_jq(tap, daemon):
    missing = [name for name in ("socat", "jq") if not tool(name)]
    if missing:
        tap.skip("socat and jq", f"{missing[0]} is not installed", f"package {missing[0]}")
        return
    with Target("threads", 3, 10) as target:
        call = json.dumps({"method": "io.snapwalk.Capture", "more": True,
                           "parameters": {"target": {"pid": target.pid}}})
        script = (f"printf '%s\\0' '{call}' | socat -t20 - UNIX-CONNECT:{daemon.socket_path} | "
                  "tr '\\0' '\\n' | jq -c '.parameters.summary.n_threads // empty'")
        got = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
        tap.equal(got.stdout, "4\n", "socat and jq: a capture in parts")


def varlinkctl(tap, daemon):
    if not tool("varlinkctl"):
        tap.skip("varlinkctl", "it is not installed",
                 "systemd 255 or newer (Debian 13 has it)")
        return
    with Target("threads", 3, 10) as target:
        words = ["varlinkctl", "--json=short", "call", f"unix:{daemon.socket_path}"]
        got = subprocess.run([*words, "io.snapwalk.Capture",
                              json.dumps({"target": {"pid": target.pid}})],
                             capture_output=True, text=True, timeout=60)
        tap.equal(len(json.loads(got.stdout)["dump"]["threads"]), 4, "varlinkctl call")
        got = subprocess.run([*words, "io.snapwalk.Read", '{"id":"none"}'], capture_output=True,
                             text=True, timeout=60)
        tap.check(got.returncode != 0 and "io.snapwalk.NoSuchDump" in got.stderr,
                  "varlinkctl shows typed errors", got.stderr)
        got = subprocess.run(["varlinkctl", "introspect", f"unix:{daemon.socket_path}",
                              "io.snapwalk"], capture_output=True, text=True, timeout=60)
        tap.check("method Capture(" in got.stdout, "varlinkctl introspect", got.stderr)
    got = subprocess.run(["varlinkctl", "validate-idl",
                          os.path.join(HERE, "../../protocol/io.snapwalk.varlink")],
                         capture_output=True, text=True, timeout=60)
    tap.equal(got.returncode, 0, "varlinkctl validate-idl")


def python_varlink(tap, daemon):
    try:
        import varlink  # noqa: PLC0415 - optional
    except ImportError:
        tap.skip("python3-varlink", "it is not installed",
                 "package python3-varlink (Debian 13 has it)")
        return
    with Target("threads", 3, 10) as target, \
            varlink.Client(address=f"unix:{daemon.socket_path}") as client, \
            client.open("io.snapwalk") as snapwalkd:
        got = snapwalkd.Capture(target={"pid": target.pid})
        tap.equal(len(got["dump"]["threads"]), 4, "python3-varlink")


def run(daemon, *words, **more):
    """Our command, which finds the daemon by SNAPWALK_SOCKET."""
    return subprocess.run([SNAPWALK, *map(str, words)], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, SNAPWALK_SOCKET=daemon.socket_path), **more)


def command(tap, daemon):
    with Target("chain_pie") as target:
        wait_blocked(target.pid)
        got = run(daemon, "dump", "--via", "daemon", "--json", target.pid)
        tap.equal((got.returncode, got.stderr), (0, ""), "dump --via daemon")
        dump = json.loads(got.stdout)
        tap.equal(frames_of(dump), frames_of(direct_dump(target.pid)), "the frames of --via direct")
        before = daemon.status()["counters"]["captures_total"]
        got = run(daemon, "dump", "--via", "direct", "--json", *PATIENT, target.pid)
        tap.equal((got.returncode, daemon.status()["counters"]["captures_total"]), (0, before),
                  "--via direct does not ask the daemon")
        text = run(daemon, "dump", "--via", "daemon", target.pid)
        tap.check(text.returncode == 0 and "1 thread" in text.stdout, "as text", text.stderr)
        folded = run(daemon, "dump", "--via", "daemon", "--format", "folded", target.pid)
        tap.check(folded.returncode == 0 and folded.stdout.rstrip().endswith(" 1"), "as folded "
                  "stacks", folded.stdout + folded.stderr)
        rows = run(daemon, "list")
        tap.check(rows.returncode == 0 and dump["id"] in rows.stdout, "list", rows.stderr)
        shown = run(daemon, "show", dump["id"])
        tap.check(shown.returncode == 0 and "chain_pie" in shown.stdout, "show", shown.stderr)
        shown = run(daemon, "show", "--json", dump["id"])
        tap.equal(json.loads(shown.stdout), dump, "show --json: the dump")
        got = run(daemon, "show", "none")
        tap.check(got.returncode == 1 and got.stderr.count("\n") == 1, "show of what is not there",
                  (got.returncode, got.stderr))
        got = run(daemon, "dump", "--via", "daemon", 4194303)
        tap.equal(got.returncode, 1, "a process that is not there: status 1")
    env = dict(os.environ, SNAPWALK_SOCKET=os.path.join(daemon.directory, "nothing"))
    got = subprocess.run([SNAPWALK, "dump", "--via", "daemon", str(os.getpid())], env=env,
                         capture_output=True, text=True, timeout=60)
    tap.check(got.returncode == 1 and "nothing" in got.stderr, "no daemon: status 1 and the path",
              (got.returncode, got.stderr))
    with Target("threads", 1, 5) as target:
        got = subprocess.run([SNAPWALK, "dump", "--via", "auto", "--json", *PATIENT, str(target.pid)],
                             env=env, capture_output=True, text=True, timeout=60)
        tap.equal(got.returncode, 0, "--via auto without a daemon: by itself")


def own_processes(tap, daemon):
    """A user without capabilities gets dumps of own processes by the daemon, without a stop and without anything kept;
    where the daemon does not do it, by the command."""
    if os.geteuid() != 0:
        tap.skip("own processes of a user", "not root", Tap.ROOT)
        return
    user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}

    def dumped(*words, socket=daemon.socket_path, who=user):
        got = subprocess.run([public(SNAPWALK), "--json", *PATIENT, *words, str(target.pid)], capture_output=True, text=True,
                             cwd="/", env={**os.environ, "SNAPWALK_SOCKET": socket}, timeout=hangs_s(), **who)
        report = json.loads(got.stdout) if got.returncode in (0, 3) else {}
        return got.returncode, report.get("timings", {}).get("stopped_us"), daemon.status()["counters"]["captures_total"], got
    with Target("threads", 3, 10, **user) as target:
        before, kept = daemon.status()["counters"]["captures_total"], daemon.stored()
        status, stopped_us, after, got = dumped()
        tap.equal((status, stopped_us, after - before, got.stderr), (0, 0, 1, ""), "by the daemon, without a stop")
        tap.equal(daemon.stored(), kept, "the daemon keeps nothing")
        text = subprocess.run([public(SNAPWALK), *PATIENT, str(target.pid)], capture_output=True, text=True, cwd="/",
                              env={**os.environ, "SNAPWALK_SOCKET": daemon.socket_path}, timeout=hangs_s(), **user).stdout
        tap.check("nothing was stopped" in "".join(text.splitlines()[:3]), "the first lines of text say so", text[:400])
        before = daemon.status()["counters"]["captures_total"]
        for name, words, more in (("--via direct", ["--via", "direct"], {}), ("--stop always", ["--stop", "always"], {}),
                                  ("--tasks", ["--tasks"], {}), ("no socket", [], {"socket": "/none"})):
            status, stopped_us, after, got = dumped(*words, **more)
            tap.check(status in (0, 3) and stopped_us > 0 and after == before, f"{name}: by the command", got.stderr)
        status, _, after, got = dumped(who={})
        tap.equal((status, after), (0, before), "root: by the command")
    with Daemon({"MinIntervalSec": 60}) as slow, Target("threads", 3, 10, **user) as target:
        counts = []
        for _ in range(2):
            status, stopped_us, _, got = dumped(socket=slow.socket_path)
            tap.equal((status, got.stderr), (0, ""), "an earlier dump is not taken for a new one: complete")
            counts.append((stopped_us > 0, slow.status()["counters"]["captures_total"]))
        tap.equal(counts, [(False, 1), (True, 1)], "... the second one is the command's")
    with Daemon({"Deny": "threads"}) as strict, Target("threads", 3, 10, **user) as target:
        status, stopped_us, _, got = dumped(socket=strict.socket_path)
        tap.check(status == 0 and stopped_us > 0 and got.stderr == "", "denied by the daemon: by the command", got)
    with Daemon() as silent, Target("threads", 3, 10, **user) as target, Target("threads", 3, 10, **user) as other:
        with stopped(silent.pid):
            begin = time.monotonic()
            got = subprocess.run([public(SNAPWALK), "--json", *PATIENT, str(other.pid), str(target.pid)], cwd="/", timeout=hangs_s(),
                                 env={**os.environ, "SNAPWALK_SOCKET": silent.socket_path}, capture_output=True, text=True, **user)
            took = time.monotonic() - begin
        tap.check(got.returncode == 0 and got.stdout.count('"timings"') == 2 and took < 45,
                  "the daemon does not answer: by the command, and a minute is not waited for each process", (took, got))


def processes_of_others(tap):
    """A user who may not dump two processes has nothing to wait a minute for where the daemon does not answer; a hook
    that has a place for dumps does it without the daemon."""
    if os.geteuid() != 0:
        tap.skip("processes of others", "not root", Tap.ROOT)
        return
    user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
    with Daemon() as silent, Target("threads", 1, 10) as target, Target("threads", 1, 10) as other, \
            tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, "SNAPWALK_SOCKET": silent.socket_path}

        def timed(*words, **more):
            begin = time.monotonic()
            got = subprocess.run([public(SNAPWALK), *map(str, words)], cwd="/", timeout=hangs_s(), env=env,
                                 capture_output=True, text=True, **more)
            return time.monotonic() - begin, got
        with stopped(silent.pid):
            took, got = timed(other.pid, target.pid, **user)
            tap.check(got.returncode == 77 and took < 45, "a silent daemon: not permitted, and no minute is waited", (took, got))
            tap.equal(got.stderr.count(", and the daemon does not answer (not_permitted): run as root, or see what the daemon does"),
                      2, "... and each line says that it does not answer")
            took, got = timed("hook", "nagios", "--pid", target.pid, "-o", directory, "CRITICAL", "HARD", 3)
            tap.check(got.returncode in (0, 3) and len(os.listdir(directory)) == 1 and took < 45,
                      "hook with -o: without the daemon", (took, got))
            took, got = timed("hook", "nagios", "--pid", target.pid, "CRITICAL", "HARD", 3)
            tap.check(got.returncode == 1 and "the daemon does not answer on" in got.stderr and "(timeout)" in got.stderr,
                      "... without -o: it says why nothing is kept", (took, got))


def watch(tap, daemon):
    with Target("threads", 1, 5) as target:
        env = dict(os.environ, SNAPWALK_SOCKET=daemon.socket_path)
        process = subprocess.Popen([SNAPWALK, "watch"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=env)
        try:
            wait_until(lambda: daemon.status()["subscribers"] == 1, "watch to subscribe")
            name = daemon.capture(target.pid)["dump"]["id"]
            header, line = process.stdout.readline(), process.stdout.readline()
            tap.check("PID" in header and name in line and str(target.pid) in line,
                      "watch shows each new dump", header + line)
        finally:
            process.terminate()
            process.communicate(timeout=60)


def answers_of_hostile(kind):
    """Returns the messages of a daemon that wants the command's memory, without their NULs; the last one ends the
    answers."""
    size = 15 << 20
    parts = {"numbers": (b'"stacks":[', b"0,", b"0]"), "objects": (b'"stacks":[', b"{},", b"{}]"),
             "a dump": (b'"dump":{"a":[', b"[],", b"[]]}"),
             "a summary": (b'"summary":{"a":[', b"{},", b"{}]}"), "states": (b'"state":[', b"{},", b"{}]")}
    begin, middle, end = parts[kind]
    message = b'{"continues":true,"parameters":{' + begin + middle * (size // len(middle)) + end + b"}}"
    return [message] * 10 + [b'{"parameters":{"head":{"a":1},"summary":{}}}']


def serve_once(listener, messages):
    peer, _ = listener.accept()
    with contextlib.suppress(OSError), peer:
        peer.recv(65536)
        for message in messages:
            peer.sendall(message + b"\0")


def hostile_daemon(tap):
    """The command's memory has a limit, whatever a daemon sends, and it says why it gives up."""
    limit_kib = 300 << 10  # 128 MiB of text, one message, and the program
    with tempfile.TemporaryDirectory() as directory, Target("threads", 1, 5) as target:
        for kind in ("numbers", "objects", "a dump", "a summary", "states"):
            path = os.path.join(directory, kind.replace(" ", "-"))
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                server = threading.Thread(target=serve_once, args=(listener, answers_of_hostile(kind)))
                server.start()
                run = subprocess.Popen([SNAPWALK, "dump", "--via", "daemon", "--socket", path, "--json",
                                        str(target.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                said = run.stderr.read().decode()
                _, status, used = os.wait4(run.pid, 0)
                run.returncode = os.waitstatus_to_exitcode(status)
                server.join()
            tap.check(run.returncode not in (0, 3) and json.loads(said)["about"] == str(target.pid) and
                      used.ru_maxrss < limit_kib, f"a hostile daemon's {kind}: an error, and no more memory",
                      (run.returncode, said, f"{used.ru_maxrss} KiB"))
            print(f"# {kind}: {used.ru_maxrss} KiB: {said.strip()}")


def main():
    tap = Tap()
    if not os.path.exists(os.path.join(BUILD, "bin", "snapwalkd")):
        sys.exit("snapwalkd was not built")
    with Daemon() as daemon:
        for test in tap.chosen(standard_library, manual_example, same_as_direct, options, parts,
                     sample_and_subscribe, selectors, socat_and_jq, varlinkctl, python_varlink,
                     command, own_processes, watch):
            tap.guard(test, daemon)
    for test in tap.chosen(processes_of_others, hostile_daemon):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
