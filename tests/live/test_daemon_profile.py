#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""Profile: samples that the daemon's workers add up. What is kept of them is read back in all formats, and is
kept as dumps are; rules make one; what ends it early leaves what there is, or nothing."""
import contextlib
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import jsonschema

from daemon import Daemon, UNPRIVILEGED, children, ended, n_fds, name_of, refusal, stopped
from harness import BUILD, SNAPWALK, TARGETS, Tap, Target, hangs_s, public, wait_blocked, wait_until
from safety import open_files, status_field
from test_daemon_integrations import ids_of, reasons_of, rule, trigger

HERE = os.path.dirname(os.path.abspath(__file__))
WAITS = (0, 35, 202, 230, 232)  # read, nanosleep, futex, clock_nanosleep, epoll_wait
ARRAYS = ("processes", "threads", "modules", "frames", "nodes", "samples")
LONG_MS = 600 * 1000  # nobody waits for it


def schema():
    with open(os.path.join(HERE, "../../protocol/snapwalk-profile.schema.json")) as file:
        return jsonschema.Draft202012Validator(json.load(file))


def profile(daemon, pid, **more):
    with daemon.client() as client:
        return client.call("Profile", **{"target": {"pid": pid}, "duration_ms": 1000, "rate_hz": 20,
                                         **more})


def functions_of(made, node):
    """From the innermost frame of a node on."""
    functions = []
    while node is not None:
        node, frame = made["nodes"][node]
        functions.append(made["frames"][frame]["function"])
    return functions


def joined(replies):
    made, last = {}, {}
    for reply in replies:
        made.update(reply.get("head", {}))
        for name in ARRAYS:
            if name in reply:
                made[name] = made.get(name, []) + reply[name]
        last = reply
    return made, last


def added_up(tap, daemon):
    """Threads that wait: each was seen in each sample, where a dump sees it."""
    with Target("threads", 8, 10) as target:
        wait_blocked(target.pid, WAITS)
        reply = profile(daemon, target.pid, reason="why")
        made, summary = reply["profile"], reply["summary"]
        tap.equal([e.message for e in schema().iter_errors(made)], [], "as its schema says")
        n = made["n_samples"]
        tap.check(n >= 1 and n + made["n_lost"] == made["n_wanted"],
                  "it says how many samples there are of how many",
                  {k: made[k] for k in ("n_samples", "n_lost", "n_wanted")})
        counts, stacks = {}, {}
        for row in made["samples"]:
            tid = made["threads"][row["thread"]]["tid"]
            counts[tid] = counts.get(tid, 0) + row["count"]
            # The name of a wait may change when the thread was stopped, its stack does not.
            stacks.setdefault(tid, set()).add(tuple(functions_of(made, row["node"])))
        dump = daemon.capture(target.pid)["dump"]
        tap.equal(counts, {t["tid"]: n for t in dump["threads"]}, "each thread is in each sample")
        wanted = {t["tid"]: {tuple(f["function"] for f in dump["stacks"][t["stack"]]["frames"])}
                  for t in dump["threads"]}
        tap.equal(stacks, wanted, "each thread has one stack, that of a dump")
        tap.equal([(p["pid"], p["comm"]) for p in made["processes"]], [(target.pid, "threads")],
                  "the process")
        tap.equal((summary["kind"], summary["reason"], summary["n_threads"], summary["stored"]),
                  ("profile", "why", 9, True), "its summary")
        again = daemon.call("Read", id=summary["id"])
        tap.equal(again, {k: reply[k] for k in ("profile", "summary")}, "Read: the same")
        with daemon.client() as client:
            parts, last = joined(client.stream("Read", id=summary["id"]))
        tap.equal((parts, last["summary"]), (made, summary), "Read with more: the same in parts")
        with daemon.client() as client:
            parts, last = joined(client.stream("Profile", target={"pid": target.pid},
                                               duration_ms=200, options={"store": False}))
        tap.equal((sorted(parts), last["summary"]["stored"]), (sorted(set(made) - {"reason"}), False),
                  "Profile with more, and not kept")
        tap.equal([s["id"] for s in daemon.call("List")["summaries"]],
                  [dump["id"], summary["id"]], "the first one is listed among the dumps")


def snapwalk(daemon, *words):
    return subprocess.run([SNAPWALK, *words, "--socket", daemon.socket_path], capture_output=True,
                          timeout=120)


def shown(tap, daemon):
    with Target("threads", 8, 10) as target:
        wait_blocked(target.pid, WAITS)
        made = profile(daemon, target.pid, duration_ms=500)
        name = made["summary"]["id"]
        status = 0 if made["summary"]["complete"] else 3
        n = made["profile"]["n_samples"]

        def show(*words):
            got = snapwalk(daemon, "show", *words)
            tap.equal((got.returncode, got.stderr), (status, b""), f"show {' '.join(words[1:])}")
            return got.stdout

        row = snapwalk(daemon, "list").stdout.decode().splitlines()[1]
        tap.check(row.startswith(name) and "(profile)" in row, "list says that it is a profile", row)
        text = show("latest").decode()
        tap.check(f"pid {target.pid}: {n} " in text and "wait_condition" in text, "text", text)
        document = show(name, "--json")
        tap.equal(json.loads(document), made["profile"], "json")
        path = os.path.join(daemon.directory, "profile.json")
        with open(path, "wb") as file:
            file.write(document)
        folded = show(name, "--format", "folded")
        tap.equal(sum(int(line.rpartition(" ")[2]) for line in folded.decode().splitlines()), 9 * n,
                  "folded: all samples")
        tap.equal(show(path, "--format", "folded"), folded, "the same of a file")
        out = os.path.join(daemon.directory, "out")
        for form, check in (("pprof", lambda data: b"wait_condition" in gzip.decompress(data)),
                            ("speedscope", lambda data: json.loads(data)["shared"]["frames"]),
                            ("firefox", lambda data: json.loads(data)["threads"]),
                            ("html", lambda data: data.startswith(b"<!DOCTYPE html>")),
                            ("otlp", lambda data: b"wait_condition" in data)):
            show(name, "--format", form, "-o", out)
            with open(out, "rb") as file:
                tap.check(check(file.read()), f"{form} is what it is called")
        daemon.capture(target.pid)
        for words, said in ((("show", "latest", "--format", "pprof"), "this format is for profiles"),
                            (("show", name, "--state", "R"), "--state, --function and --thread are"),
                            (("show", name, path, "--format", "html"), "only one profile fits"),
                            (("diff", name, "latest"), "it is a profile, not a dump")):
            got = snapwalk(daemon, *words)
            tap.check(got.returncode == 2 and said in got.stderr.decode(), f"{words[0]}: {said}", got)


def by_command(tap, daemon):
    with Target("threads", 8, 10) as target:
        wait_blocked(target.pid, WAITS)
        got = snapwalk(daemon, "sample", str(target.pid), "--via", "daemon", "--duration", "1",
                       "--rate", "10")
        said = got.stderr.decode()
        match = re.fullmatch(r"(\d+) of (\d+) samples in [\d.]+ s by the daemon; nothing was stopped; "
                             r"it keeps them as (\S+)\n", said)
        if not tap.check(match and got.returncode in (0, 3), "sample --via daemon", got):
            return
        total = sum(int(line.rpartition(b" ")[2]) for line in got.stdout.splitlines())
        tap.equal(total, 9 * int(match[1]), "the command prints what the daemon sampled")
        tap.equal(snapwalk(daemon, "show", match[3], "--format", "folded").stdout, got.stdout,
                  "which show has, too")
        got = snapwalk(daemon, "sample", "4194303", "--via", "daemon")
        tap.check(got.returncode == 1 and b"4194303" in got.stderr, "a process that is not there", got)


@contextlib.contextmanager
def late_refusal():
    """The path of a socket where a daemon refuses each call after a second and a half: its queue was full."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        path = os.path.join(directory, "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            os.chmod(path, 0o666)
            listening.listen()

            def serve():
                while True:
                    try:
                        connection, _ = listening.accept()
                    except OSError:
                        return
                    with connection:
                        if connection.recv(65536):
                            time.sleep(1.5)
                            connection.sendall(json.dumps({"error": "io.snapwalk.Busy", "parameters":
                                                           {"retry_after_ms": 1000, "why": "queue"}}).encode() + b"\0")
            server = threading.Thread(target=serve, daemon=True)
            server.start()
            yield path
            listening.shutdown(socket.SHUT_RDWR)
            server.join()


def own_processes(tap, daemon):
    """A user without capabilities gets samples of own processes by the daemon, without a stop and without anything kept;
    where the daemon does not do it, by the command."""
    if os.geteuid() != 0:
        tap.skip("samples of a user's own processes", "not root", Tap.ROOT)
        return
    user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}

    def sampled(*words, socket=daemon.socket_path, who=user):
        before = daemon.status()["counters"]["captures_total"]
        got = subprocess.run([public(SNAPWALK), "sample", "-d", "1", "-r", "20", *words, str(target.pid)],
                             capture_output=True, text=True, cwd="/", env={**os.environ, "SNAPWALK_SOCKET": socket},
                             timeout=hangs_s(), **who)
        return got, daemon.status()["counters"]["captures_total"] > before
    with Target("threads", 3, 10, **user) as target:
        wait_blocked(target.pid, WAITS)
        kept = daemon.stored()
        got, asked = sampled()
        tap.check(got.returncode in (0, 3) and asked and re.fullmatch(
            r"the daemon samples for 1 s; Control-C ends that with the result so far\n"
            r"\d+ of \d+ samples in [\d.]+ s by the daemon; nothing was stopped; it does not keep them\n", got.stderr),
            "by the daemon: the first line says what ends it, the second one that nothing was stopped", got)
        got, asked = sampled("--json", "--mode", "off")
        said = [json.loads(line) for line in got.stderr.splitlines()]
        tap.check(asked and [(one["about"], one["code"]) for one in said] == [(str(target.pid), "samples_by_daemon"), (str(target.pid), "samples")] and json.loads(got.stdout)["mode"] == "off", "JSON, also of the summary", got)
        tap.equal(daemon.stored(), kept, "the daemon keeps nothing")
        for name, words, more in (("--via direct", ["--via", "direct"], {}), ("--stop always", ["--stop", "always"], {}),
                                  ("--mode cpu", ["--mode", "cpu"], {}), ("--rate 101", ["-r", "101"], {}),
                                  ("--threads", ["--threads", str(target.pid)], {}),
                                  ("no socket", [], {"socket": "/none"}), ("root", [], {"who": {}})):
            got, asked = sampled(*words, **more)
            tap.check(got.returncode in (0, 3) and not asked and "by the daemon" not in got.stderr,
                      f"{name}: by the command", got)
    with Daemon({"Deny": "threads"}) as daemon, Target("threads", 3, 10, **user) as target:
        got, asked = sampled(socket=daemon.socket_path)
        tap.check(got.returncode in (0, 3) and not asked and "threads stopped for each" in got.stderr
                  and "the daemon took no sample, so the command samples by itself" in got.stderr,
                  "denied by the daemon: by the command", got)
        with late_refusal() as path:
            got, _ = sampled(socket=path)
            tap.check(got.returncode in (0, 3) and "threads stopped for each" in got.stderr
                      and "the daemon took no sample, so the command samples by itself" in got.stderr,
                      "refused by the daemon after more than a second: by the command, which says so", got)


def refused(tap, daemon):
    invalid = "org.varlink.service.InvalidParameter"
    with Target("threads", 1, 5) as target:
        for change, wanted in (({"duration_ms": 99}, (invalid, {"parameter": "duration_ms"})),
                               ({"duration_ms": 3600001}, (invalid, {"parameter": "duration_ms"})),
                               ({"rate_hz": 0}, (invalid, {"parameter": "rate_hz"})),
                               ({"rate_hz": 101}, (invalid, {"parameter": "rate_hz"})),
                               ({"target": {"pid": 4194303}},
                                ("NoSuchProcess", {"pid": 4194303}))):
            tap.equal(refusal(profile, daemon, target.pid, **change), wanted, f"{change}: {wanted[0]}")
        if not daemon.root:
            tap.skip("another user", "not root", tap.ROOT)
            return
        name = profile(daemon, target.pid, duration_ms=200)["summary"]["id"]
        with daemon.client(uid=UNPRIVILEGED) as other:
            tap.equal(refusal(other.call, "Profile", target={"pid": target.pid}, duration_ms=200)[0],
                      "NotPermitted", "of another user's process")
            tap.equal(refusal(other.call, "Read", id=name)[0], "NoSuchDump", "nor is it there for them")


def samples(daemon):
    return daemon.status()["counters"]["captures_total"]


def cut_short(tap, daemon):
    """The process ends: what there is. The caller does: nothing is."""
    with Target("threads", 2, 5) as target, daemon.client() as client:
        before = samples(daemon)
        client.send("Profile", {"target": {"pid": target.pid}, "duration_ms": LONG_MS})
        wait_until(lambda: samples(daemon) >= before + 3, "three samples")
        target.process.kill()
        target.process.wait()
        made = client.receive()[0]
        tap.check(made["profile"]["n_samples"] >= 3, "the target ends: what was sampled until then",
                  made["summary"])
        tap.check(made["summary"]["id"] in {s["id"] for s in daemon.call("List")["summaries"]},
                  "it is kept")
    stored = daemon.stored()
    with Target("threads", 2, 5) as target:
        files = n_fds(daemon.pid) if daemon.root else None
        before = samples(daemon)
        with daemon.client() as client:
            client.send("Profile", {"target": {"pid": target.pid}, "duration_ms": LONG_MS})
            wait_until(lambda: samples(daemon) >= before + 3, "three samples")
        wait_until(lambda: daemon.status()["connections"] == 1, "the hang-up to be seen")
        wait_until(lambda: all(map(ended, daemon.workers())), "the workers to end")
        tap.equal(daemon.stored(), stored, "a caller that hangs up: nothing is kept")
        if daemon.root:
            wait_until(lambda: n_fds(daemon.pid) <= files, "the descriptors to be closed")


def functions(made):
    """Samples by the functions of their threads' stacks."""
    seen = {}
    for row in made["samples"]:
        for name in set(functions_of(made, row["node"])):
            seen[name] = seen.get(name, 0) + row["count"]
    return seen


def begin(client, daemon, pid, **more):
    """A profile under way, from its first samples on."""
    before = samples(daemon)
    # The first job of a profile of CPU time counts as a capture, and has no sample as nothing was followed before it.
    wanted = 4 if more.get("mode") == "cpu" else 3
    client.send("Profile", {"target": {"pid": pid}, "duration_ms": LONG_MS, "rate_hz": 50, **more})
    wait_until(lambda: samples(daemon) >= before + wanted, "three samples")


def code_that_comes(tap, daemon):
    """Code that is made executable changes no size of the memory: the process that parses tells the one that takes samples
    where a walk ends, and that looks at the maps."""
    if not daemon.root or "iterator_refused" in daemon.status():
        tap.skip("code that is made executable", "samples are taken one by one", tap.ROOT)
        return
    with Target("late_code") as target:
        made = profile(daemon, target.pid, duration_ms=4000, rate_hz=50)["profile"]
    found = functions(made)
    cut = sum(n for name, n in found.items() if (name or "").startswith("[cut: "))
    late = [name for name in found if re.fullmatch(r"late\d", name or "")]
    total = sum(row["count"] for row in made["samples"])
    tap.check(total >= 20 and len(late) > 1 and cut < total / 4, "code that is made executable: it is known soon after",
              (total, cut, late))


def ended_by_caller(tap, daemon):
    """A caller that asked with until_eof shuts its sending side down: what was sampled until then. Without it, that
    says only that no more calls follow."""
    with Target("shares", 4, 1) as target:
        for name, more in (("wall", {}), ("off", {"mode": "off"}), ("cpu", {"mode": "cpu"}),
                           ("all threads stopped", {"options": {"stop": "always"}})):
            with daemon.client() as client:
                begin(client, daemon, target.pid, until_eof=True, **more)
                client.socket.shutdown(socket.SHUT_WR)
                made = client.receive()[0]
                tap.check(made["profile"]["n_samples"] >= 3 and made["profile"]["n_wanted"] < LONG_MS / 1000
                          and "ended_early" not in made["profile"], f"{name}: a profile of what there is", made["summary"])
                tap.check(made["summary"]["id"] in {s["id"] for s in daemon.call("List")["summaries"]} and client.closed(),
                          f"{name}: it is kept, and the connection ends")
        with daemon.client() as client:
            client.send("Profile", {"target": {"pid": target.pid}, "duration_ms": LONG_MS, "until_eof": True}, more=True)
            client.send("Status")
            client.socket.shutdown(socket.SHUT_WR)
            replies, continues = [], True
            while continues:
                reply, continues = client.receive()
                replies.append(reply)
            made, last = joined(replies)
            tap.check(made["n_samples"] >= 1 and last["summary"]["kind"] == "profile" and client.receive()[0]["pid"] == daemon.pid,
                      "at once: the first sample, in parts, and the answer of the call behind it", last)
        with daemon.client() as client:
            begun = time.monotonic()
            client.send("Profile", {"target": {"pid": target.pid}, "duration_ms": 1500})
            client.socket.shutdown(socket.SHUT_WR)
            made = client.receive()[0]["profile"]
            tap.check(time.monotonic() - begun >= 1.5 and made["n_wanted"] >= 10, "without until_eof: the whole", made["n_wanted"])
        wait_until(lambda: all(map(ended, daemon.workers())), "the workers to end")


def control_c(tap, daemon):
    """The command asks the daemon for what there is when it is told to stop; by a second signal it ends at once."""
    user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []} if daemon.root else {}
    with Target("threads", 3, 10, **user) as target:
        cases = [("--via daemon", ["--via", "daemon"], signal.SIGINT, {}),
                 ("--via daemon, SIGTERM, JSON", ["--via", "daemon", "--json"], signal.SIGTERM, {})]
        if daemon.root:
            cases.append(("a user's own process", [], signal.SIGINT, user))
        command = [public(SNAPWALK), "sample", "-d", "600", "-r", "20", str(target.pid), "--socket", daemon.socket_path]
        for name, words, number, who in cases:
            before = samples(daemon)
            with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
                                  **who) as child:
                wait_until(lambda n=before: samples(daemon) >= n + 3, "three samples")
                child.send_signal(number)
                out, err = child.communicate(timeout=hangs_s())
                tap.check(child.returncode in (0, 3) and "wait_condition" in out and "by the daemon" in err,
                          f"{name}: the result so far", (child.returncode, err))
        with Daemon({"Stop": "auto"}) as deaf, subprocess.Popen(
                [*command[:-1], deaf.socket_path, "--via", "daemon"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            wait_until(lambda: samples(deaf) >= 3, "three samples")
            with stopped(deaf.pid):
                child.send_signal(signal.SIGINT)
                wait_until(lambda: not int(status_field(child.pid, child.pid, "ShdPnd"), 16), "the first to be read")
                child.send_signal(signal.SIGINT)
                tap.equal(child.wait(hangs_s()), -signal.SIGINT, "a daemon that does not answer: a second one ends the command")


def named(pids, name):
    return [pid for pid in pids if name_of(pid) == name and not ended(pid)]


def one_worker(tap, daemon):
    """Samples are taken by one process and read by another, which has no privileges."""
    if not daemon.root:
        tap.skip("who takes samples", "not root", tap.ROOT)
        return
    with Target("shares", 20, 1) as target, daemon.client() as client:
        begin(client, daemon, target.pid)
        workers = named(daemon.workers(), "snapwalk-worker")
        parsers = named(children(workers[0]), "snapwalk-parser")
        tap.equal((len(workers), len(parsers)), (1, 1), "a worker and its parser")
        worker, parser = workers[0], parsers[0]
        tap.equal((status_field(parser, parser, "CapEff"), status_field(parser, parser, "CapPrm")),
                  ("0" * 16, "0" * 16), "the parser has no capability")
        tap.check(int(status_field(parser, parser, "Seccomp_filters")) >
                  int(status_field(worker, worker, "Seccomp_filters")), "and a filter more than the worker")
        tap.equal(int(status_field(worker, worker, "CapPrm"), 16) & ~(1 << 19 | 1 << 2), 0,
                  "the worker has those of a capture")
        links = open_files(parser)
        tap.equal([link for link in links if "bpf" in link or "turns" in link], [],
                  "the parser has nothing of the iterator")
        before = samples(daemon)
        wait_until(lambda: samples(daemon) >= before + 20, "twenty more")
        tap.equal(named(daemon.workers(), "snapwalk-worker"), [worker], "the worker is still the same")
        os.kill(parser, signal.SIGKILL)
        wait_until(lambda: ended(worker), "the worker to end with its parser")
        before = samples(daemon)
        wait_until(lambda: samples(daemon) >= before + 30, "another one to go on")
        worker, = named(daemon.workers(), "snapwalk-worker")
        parser, = named(children(worker), "snapwalk-parser")
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: ended(parser), "the parser to end with its worker")
        target.process.kill()
        target.process.wait()
        made = client.receive()[0]["profile"]
        tap.check(made["n_lost"] >= 20, "samples of a worker that was killed are lost, and counted",
                  (made["n_samples"], made["n_wanted"], made["n_lost"]))


def one_worker_of_events(tap, daemon):
    """How many samples of CPU time were due is not known: those that were told of by a worker that is killed are lost."""
    with Target("shares", 2, 1) as target, daemon.client() as client:
        if not daemon.root or "iterator_refused" in daemon.status():
            tap.skip("lost samples of CPU time", "no perf events", tap.ROOT)
            return
        begin(client, daemon, target.pid, mode="cpu")
        before = samples(daemon)
        wait_until(lambda: samples(daemon) >= before + 20, "twenty more")
        for worker in named(daemon.workers(), "snapwalk-worker"):
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda w=worker: ended(w), "the worker to end")
        before = samples(daemon)
        wait_until(lambda: samples(daemon) >= before + 3, "another one to go on")
        target.process.kill()
        target.process.wait()
        made = client.receive()[0]["profile"]
        tap.check(made["n_lost"] >= 20 and made["n_wanted"] == made["n_samples"] + made["n_lost"],
                  "samples of CPU time that were lost with a worker are counted",
                  {k: made[k] for k in ("n_samples", "n_lost", "n_wanted")})


def another_program(tap, daemon):
    """execve() in between: one profile of both programs."""
    next_program = os.path.join(TARGETS, "threads")
    with Target("shares", 2, 1, next_program, "2", "5") as target, daemon.client() as client:
        begin(client, daemon, target.pid)
        target.send("x")
        wait_until(lambda: name_of(target.pid) == "threads", "the other program")
        before = samples(daemon)
        wait_until(lambda: samples(daemon) >= before + 30, "samples of it")
        target.process.kill()
        target.process.wait()
        seen = functions(client.receive()[0]["profile"])
        tap.check("wait_long" in seen and "wait_condition" in seen, "both programs are in it", seen)


def protected(tap, daemon):
    """The permission to see a process is asked for at each sample: this one begins to protect itself. Samples that the
    kernel takes are asked for together: those of a worker that has some of later are nobody's."""
    if not daemon.root:
        tap.skip("a process that protects itself", "not root", tap.ROOT)
        return
    user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
    modes = ("wall",) if "iterator_refused" in daemon.status() else ("wall", "cpu")
    for mode in modes:
        with Target("protects", *(["busy"] if mode == "cpu" else []), **user) as target, \
                daemon.client(uid=UNPRIVILEGED) as client:
            begin(client, daemon, target.pid, mode=mode)
            target.send("x")
            tap.equal(target.readline(), "ready", f"{mode}: the target protects itself")
            seen = functions(client.receive()[0]["profile"])
            tap.check((mode == "cpu" or "seen" in seen) and "hidden" not in seen,
                      f"{mode}: nothing of later is in the profile", seen)


def captured_meanwhile(tap, daemon):
    """A thread has one tracer: who captures a process that is profiled waits for its turn."""
    with Target("shares", 2, 1) as target, daemon.client() as client, daemon.client() as other:
        begin(client, daemon, target.pid, rate_hz=100)
        begin(other, daemon, target.pid, rate_hz=100)
        for _ in range(20):
            dump = daemon.capture(target.pid)["dump"]
            missing = [t["reason"] for t in dump["threads"] if not t["captured"]]
            if missing:
                break
        tap.equal(missing, [], "whole dumps of a process that two others profile")
        target.process.kill()
        target.process.wait()
        for each in (client, other):
            made = each.receive()[0]["profile"]
            tap.check(made["n_samples"] >= 3, "and a profile", made["n_samples"])


def no_events(tap):
    """A kernel without perf events: said, as an error of its own."""
    if os.geteuid() != 0:
        tap.skip("perf events that are refused", "not root", tap.ROOT)
        return
    prefix = [os.path.join(TARGETS, "without"), "perf_event_open=EPERM", "--"]
    with Daemon(prefix=prefix) as daemon, Target("shares", 2, 1) as target:
        name, parameters = refusal(profile, daemon, target.pid, mode="cpu")
        tap.check(name == "Unsupported" and "CAP_PERFMON" in parameters["detail"],
                  "the kernel refuses events: said", (name, parameters))
        got = snapwalk(daemon, "sample", str(target.pid), "--via", "daemon", "--duration", "1",
                       "--mode", "cpu")
        tap.check(got.returncode == 1 and b"(unsupported): use --mode wall" in got.stderr,
                  "by the command, too", got)
        tap.check(profile(daemon, target.pid)["profile"]["n_samples"] > 0, "by the wall clock it can")


def by_rule(tap):
    """An alert: its id at once, the profile when it is finished. Others' dumps do not evict it. A profile that is not
    finished when the daemon ends is kept as it is."""
    files = {"10.conf": rule("slow", ProfileSec=1),
             "20.conf": rule("long", Match="alertname=Long", ProfileSec=600),
             "40.conf": rule("cpu", Match="alertname=Cpu", ProfileSec=1, ProfileMode="cpu"),
             "30.conf": rule("bad", Match="alertname=Bad", ProfileSec=10, Count=2)}
    with Daemon({"MaxFiles": 6}, rules=files) as daemon, Target("threads", 2, 5) as target, \
            daemon.client() as listener:
        tap.check("30.conf:1: rule bad has ProfileSec= and Count= or IntervalSec=: either or"
                  in daemon.log(), "a rule with both is refused, with file and line")
        events = listener.stream("Subscribe")
        tap.equal(next(events)["event"], "ready", "somebody listens")
        reply = trigger(daemon, target.pid)
        tap.equal(len(ids_of(reply)), 1, "an alert is answered with an id")
        tap.equal(reasons_of(reply), {"long": "labels", "cpu": "labels"}, "no other rule acts")
        event = next(events)
        name = ids_of(reply)[0]
        tap.equal((event["event"], event["summary"]["id"], event["summary"]["kind"]),
                  ("captured", name, "profile"), "one event, when it is finished")
        made = daemon.call("Read", id=name)["profile"]
        tap.check(1 <= made["n_samples"] <= 10 and "slow" in made["reason"],
                  "ten times a second; its reason names the rule", made["n_samples"])
        for _ in range(12):
            daemon.capture(target.pid)
        wait_until(lambda: len(daemon.stored()) == 6, "the store to be full")
        tap.check(f"{name}.json.zst" in daemon.stored(), "manual dumps do not evict it", daemon.stored())
        name, = ids_of(trigger(daemon, target.pid, alertname="Cpu"))
        wait_until(lambda: f"{name}.json.zst" in daemon.stored(), "the other rule")
        tap.equal(daemon.call("Read", id=name)["profile"]["mode"], "cpu", "ProfileMode=")
        before = samples(daemon)
        name, = ids_of(trigger(daemon, target.pid, alertname="Long"))
        tap.check(f"{name}.json.zst" not in daemon.stored(), "which comes before the profile")
        wait_until(lambda: samples(daemon) >= before + 3, "three samples")
        daemon.stop()
        daemon.start()
        made = daemon.call("Read", id=name)["profile"]
        tap.check(made["n_samples"] >= 3, "the daemon ends: what was sampled until then is kept")


def main():
    tap = Tap()
    if not os.path.exists(os.path.join(BUILD, "bin", "snapwalkd")):
        sys.exit("snapwalkd was not built")
    with Daemon() as daemon:
        for test in tap.chosen(added_up, shown, by_command, own_processes, refused, cut_short, one_worker, one_worker_of_events,
                     another_program, protected, captured_meanwhile, code_that_comes, ended_by_caller, control_c):
            tap.guard(test, daemon)
    for test in tap.chosen(by_rule, no_events):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
