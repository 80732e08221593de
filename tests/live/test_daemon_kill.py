#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 35s
# strict
"""kill -9 of the worker, the daemon, the spawner and the gate at random instants: targets run on,
dumps that were stored stay whole, and the next request works.

SNAPWALK_KILLS=N kills each of them so often; 100 is the default.
"""
import json
import os
import signal
import socket
import subprocess
import time

from daemon import GATE, Daemon, Refused, children, ended, stopped
from harness import Tap, Target, seeded, tool, wait_until
from safety import let_go
from test_kill import Storm, wait_exact

KILLS = int(os.environ.get("SNAPWALK_KILLS", 100))
THREADS, RATE = 4, 500


def kill(pid):
    """True when it was still there."""
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def capture_seconds(daemon, pid):
    """Median time of a capture here and now."""
    times = []
    for _ in range(7):
        begin = time.monotonic()
        daemon.capture(pid)
        times.append(time.monotonic() - begin)
    return sorted(times)[3]


def answer(client):
    """"dump", the error's name, or "closed"."""
    try:
        return "dump" if client.receive()[0].get("dump") else "odd"
    except Refused as error:
        return error.name
    except ConnectionResetError:
        return "closed"


def whole(tap, daemon, what, wanted=()):
    """Every stored dump can be read by us and by zstd; those of before are there."""
    listed = [s["id"] for s in daemon.call("List")["summaries"]]
    lost = sorted(set(wanted) - set(listed))
    tap.equal(lost, [], f"{what}: no stored dump is lost")
    bad = []
    with daemon.client() as client:
        for name in listed:
            dump = client.call("Read", id=name)["dump"]
            if dump["id"] != name or not dump["threads"] or not dump["stacks"]:
                bad.append(name)
    files = [os.path.join(daemon.state, name) for name in daemon.stored()]
    tap.equal(len(files), len(listed), f"{what}: as many files as dumps")
    left = sorted(set(os.listdir(daemon.state)) - set(daemon.stored()))
    tap.equal(left, [], f"{what}: nothing half written is left")
    if tool("zstd") and files:
        test = subprocess.run(["zstd", "-tq", *files], capture_output=True, text=True)
        bad += [] if test.returncode == 0 else [test.stderr]
    tap.equal(bad, [], f"{what}: all {len(listed)} stored dumps are whole")
    return listed


def workers(tap):
    generator = seeded(20261121)
    with Daemon() as daemon, Storm(THREADS, RATE) as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "before kills of the worker")
        seconds = capture_seconds(daemon, storm.pid)
        answers, stuck, hits, spawner = {}, [], 0, daemon.spawner
        for n in range(KILLS * 10):
            if hits == KILLS:
                break
            with daemon.client() as client:
                client.send("Capture", {"target": {"pid": storm.pid}})
                found = first_worker(spawner, client)
                wait_exact(generator.uniform(0, seconds))
                if found:
                    hits += kill(found)
                got = answer(client)
            answers[got] = answers.get(got, 0) + 1
            if left := let_go(storm.pid):
                stuck.append((n, left))
        tap.equal(stuck, [], f"worker killed {hits} times: no thread stayed stopped or traced")
        tap.check(set(answers) <= {"dump", "Failed"}, "each caller has a dump or Failed", answers)
        tap.check(hits == KILLS and answers.get("Failed", 0) >= KILLS // 10,
                  "kills came in the middle", (hits, answers))
        storm.check(tap, beats, "after kills of the worker")
        tap.check(daemon.capture(storm.pid)["dump"]["threads"], "the next request works")
        wait_until(lambda: daemon.status()["capturing"] == 0, "the last capture to end")
        tap.check(True, "no capture is left over")
        whole(tap, daemon, "worker killed")


def first_worker(spawner, client):
    """The worker of a call as soon as it is there, 0 when the answer came before we saw one."""
    while not client_has(client):
        if found := children(spawner):
            return found[0]
    return 0


def client_has(client):
    """True when an answer waits to be read."""
    client.socket.setblocking(False)
    try:
        return bool(client.socket.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
    finally:
        client.socket.settimeout(60)


def daemon_killed(tap):
    """The daemon, its spawner, or both at once, as the OOM killer or an admin does it."""
    generator = seeded(20261122)
    kept, stuck, odd = [], [], []
    with Daemon() as daemon, Storm(THREADS, RATE) as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "before kills of the daemon")
        seconds = capture_seconds(daemon, storm.pid)
        for n in range(KILLS):
            family = [daemon.pid, daemon.spawner]
            with daemon.client() as client:
                client.call("Status")  # the daemon has asked the spawner where we are
                client.send("Capture", {"target": {"pid": storm.pid}})
                wait_exact(generator.uniform(0, seconds * 1.2))
                family += daemon.helpers()
                for pid in family[:2] if n % 3 == 0 else [family[n % 3 - 1]]:
                    kill(pid)
                got = answer(client)
                if got == "dump":
                    kept.append(None)
                elif got not in ("closed", "Failed"):
                    odd.append((n, got))
            # The daemon without its spawner, or the spawner alone, is of no use: it ends, and the service manager
            # starts anew.
            daemon.process.wait(60)
            wait_until(lambda: all(map(ended, family)), "what the daemon had started to end")
            if left := let_go(storm.pid):
                stuck.append((n, left))
            before = daemon.stored()
            with open(os.path.join(daemon.state, ".new-half.json.zst"), "w", encoding="ascii"):
                pass  # as if the kill had come while a dump was written
            daemon.start()
            listed = {s["id"] + ".json.zst" for s in daemon.call("List")["summaries"]}
            if not set(before) <= listed:
                odd.append((n, "lost", sorted(set(before) - listed)))
            if not daemon.capture(storm.pid)["dump"]["threads"]:
                odd.append((n, "no dump after the restart"))
        tap.equal(stuck, [], f"daemon killed {KILLS} times: no thread stayed stopped or traced")
        tap.equal(odd, [], "stored dumps are found again, and the next request works")
        storm.check(tap, beats, "after kills of the daemon")
        whole(tap, daemon, "daemon killed")
        tap.check(len(kept) < KILLS, "kills came in the middle", len(kept))


def only_spawner(tap):
    """A daemon whose spawner is gone ends, with a status that is a failure for service managers. One whose spawner does not
    end takes it along."""
    with Daemon() as daemon:
        kill(daemon.spawner)
        status = daemon.process.wait(60)
        tap.check(status > 0, "the spawner is killed: the daemon ends, and says so", status)
        tap.check("spawner" in daemon.log(), "in its log, too", daemon.log())
    with Daemon() as daemon:
        spawner, began = daemon.spawner, time.monotonic()
        os.kill(spawner, signal.SIGSTOP)
        try:
            tap.equal((daemon.stop(), ended(spawner)), (0, True), "the spawner is stopped: the daemon ends all the same")
            tap.check(time.monotonic() - began < 30, "within seconds", time.monotonic() - began)
        finally:
            if not ended(spawner):
                os.kill(spawner, signal.SIGKILL)


def gate_killed(tap):
    """The gate has nothing that could be lost, and the daemon does not need it."""
    if not os.path.exists(GATE):
        tap.skip("kills of the gate", "snapwalk-gate was not built", "make all")
        return
    from gate import Gate, alert  # noqa: PLC0415 - only where there is one
    generator = seeded(20261123)
    with Storm(THREADS, RATE) as storm, Daemon(rules={"test.conf": Gate.RULE}) as daemon:
        beats, _ = storm.check(tap, [0] * THREADS, "before kills of the gate")
        answers = {}
        with Gate(daemon) as gate:
            seconds = gate_seconds(gate, storm.pid)
            for n in range(KILLS):
                body = json.dumps({"version": "4", "alerts": [alert(storm.pid, f"{n:016x}")]})
                begun = gate.try_begin("POST", "/alertmanager", body)
                wait_exact(generator.uniform(0, seconds * 1.2))
                kill(gate.pid)
                gate.process.wait()
                got = gate.end(begun)
                answers[got] = answers.get(got, 0) + 1
                gate.start()
            tap.check(set(answers) <= {200, 503, None}, "an answer, or none", answers)
            tap.equal(gate.post("/alertmanager", json.dumps(
                {"version": "4", "alerts": [alert(storm.pid, "f" * 16)]}))[0], 200,
                f"gate killed {KILLS} times: the next alert works")
        tap.equal(let_go(storm.pid), [], "gate killed: no thread stayed stopped or traced")
        wait_until(lambda: daemon.status()["connections"] == 1, "the gate's connections to end")
        storm.check(tap, beats, "after kills of the gate")
        whole(tap, daemon, "gate killed")
        tap.equal(len(children(daemon.pid)), 1, "no worker is left")


def gate_seconds(gate, pid):
    from gate import alert  # noqa: PLC0415
    begin = time.monotonic()
    for n in range(3):
        gate.post("/alertmanager", json.dumps(
            {"version": "4", "alerts": [alert(pid, f"{n:016d}")]}))
    return (time.monotonic() - begin) / 3


# ---- at known instants, for the gate --------------------------------------------------------------

def one_worker(tap, kills=3):
    """Each is killed as soon as it is there, while it has all its work before it."""
    with Daemon() as daemon, Target("threads", 50, 60) as target:
        answers = []
        for _ in range(20 * kills):
            if answers.count("Failed") == kills:
                break
            with daemon.client() as client:
                client.send("Capture", {"target": {"pid": target.pid}})
                if found := first_worker(daemon.spawner, client):
                    kill(found)
                answers.append(answer(client))
        tap.check(set(answers) <= {"dump", "Failed"} and answers.count("Failed") == kills,
                  "a worker is killed: its caller is told", answers)
        tap.equal(let_go(target.pid), [], "a worker is killed: no thread stayed stopped or traced")
        tap.check(daemon.capture(target.pid)["dump"]["threads"], "a worker is killed: the next request works")
        whole(tap, daemon, "a worker is killed")


def in_a_call(tap):
    """The daemon, the spawner or both die while a capture waits for the spawner, which does not run."""
    with Daemon() as daemon, Target("threads", 4, 10) as target:
        for who in (("daemon",), ("spawner",), ("daemon", "spawner")):
            what = f"{' and '.join(who)} killed in a call"
            kept = daemon.capture(target.pid)["dump"]["id"]
            family = {"daemon": daemon.pid, "spawner": daemon.spawner}
            with daemon.client() as client:
                client.call("Status")
                with stopped(family["spawner"]):
                    client.send("Capture", {"target": {"pid": target.pid}})
                    for name in who:
                        kill(family[name])
                tap.check(answer(client) in ("closed", "Failed"), f"{what}: the caller is told")
            daemon.process.wait(60)
            wait_until(lambda f=family: all(map(ended, f.values())), "both to end")
            tap.equal(let_go(target.pid), [], f"{what}: no thread stayed stopped or traced")
            with open(os.path.join(daemon.state, ".new-half.json.zst"), "w", encoding="ascii") as half:
                half.write("as if the kill had come while a dump was written")
            daemon.start()
            tap.check(daemon.capture(target.pid)["dump"]["threads"], f"{what}: the daemon works after the restart")
            whole(tap, daemon, what, [kept])


def gate_in_a_call(tap):
    """The gate dies while an alert waits for the spawner, which does not run."""
    if not os.path.exists(GATE):
        tap.skip("a kill of the gate", "snapwalk-gate was not built", "make all")
        return
    from gate import Gate, alert  # noqa: PLC0415 - only where there is one
    with Target("threads", 4, 10) as target, Daemon(rules={"test.conf": Gate.RULE}) as daemon, Gate(daemon) as gate:
        body = json.dumps({"version": "4", "alerts": [alert(target.pid, "0" * 16)]})
        with stopped(daemon.spawner):
            begun = gate.try_begin("POST", "/alertmanager", body)
            kill(gate.pid)
            gate.process.wait()
            tap.equal(gate.end(begun), None, "the gate is killed in a call: no answer")
        gate.start()
        body = json.dumps({"version": "4", "alerts": [alert(target.pid, "f" * 16)]})
        tap.equal(gate.post("/alertmanager", body)[0], 200, "the gate is killed in a call: the next alert works")
        wait_until(lambda: daemon.status()["connections"] == 1, "the gate's connections to end")
        whole(tap, daemon, "the gate is killed in a call")


if __name__ == "__main__":
    Tap.main(workers, daemon_killed, only_spawner, gate_killed)
