#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 8s
"""GET /debug/pprof of the gate: stacks and profiles of processes that a section [pull NAME] names, of no others,
one profile of a process at a time; the bytes are those that programs for Go's profiles read (see runtime_profile.py)."""
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import tempfile
import time

import jsonschema

from daemon import UNPRIVILEGED, Daemon, Refused, private_copy
from gate import TOKEN, Gate
from harness import Tap, Target, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILE = "/debug/pprof/profile?target="
STACKS = "/debug/pprof/goroutine?target="


def schema(name):
    with open(os.path.join(HERE, "../../protocol", name)) as file:
        return jsonschema.Draft202012Validator(json.load(file))


def fetch(gate, path):
    """(status, type, bytes)"""
    connection = gate.begin("GET", path)
    try:
        answer = connection.getresponse()
        return answer.status, answer.headers.get("Content-Type"), answer.read()
    finally:
        connection.close()


def answers(tap, gate, target):
    status, kind, body = fetch(gate, PROFILE + "one&seconds=1&rate=50")
    text = gzip.decompress(body) if status == 200 else body
    tap.check(status == 200 and kind == "application/octet-stream" and b"work" in text and
              b"busy.c" in text and b"cpu" in text, "a profile of CPU time: functions and files", (status, text[:300]))
    status, kind, body = fetch(gate, PROFILE + "one&seconds=1&mode=wall&format=json")
    made = json.loads(body)
    tap.check(status == 200 and kind == "application/json" and not list(schema("snapwalk-profile.schema.json").iter_errors(made))
              and made["process"]["pid"] == target.pid, "format=json: the daemon's profile", (status, body[:300]))
    status, kind, body = fetch(gate, STACKS + "one&debug=2")
    tap.check(status == 200 and kind.startswith("text/plain") and f"pid {target.pid}".encode() in body and
              body.count(b"\n  #0 ") == 4, "debug=2: each thread's stack as text", (status, body.decode()))
    grouped = fetch(gate, STACKS + "one&debug=1")[2]
    tap.check(b"#0" in grouped, "debug=1: stacks as text", grouped.decode())
    status, _, body = fetch(gate, STACKS + "one&format=json")
    dump = json.loads(body)
    tap.check(status == 200 and not list(schema("snapwalk-dump.schema.json").iter_errors(dump)) and
              len(dump["threads"]) == 4, "format=json: the daemon's dump", (status, body[:300]))
    status, _, body = fetch(gate, STACKS + "one")
    text = gzip.decompress(body) if status == 200 else body
    tap.check(status == 200 and b"threads" in text and b"main" in text and b"nanoseconds" not in text,
              "without debug: how many threads are at each stack, as pprof", (status, text[:300]))


def refusals(tap, gate, twins):
    for what, path, wanted, said in (
            ("no target", "/debug/pprof/profile", 400, "target is missing"),
            ("no seconds", PROFILE + "one&seconds=0", 400, "seconds is not"),
            ("seconds that are no number", PROFILE + "one&seconds=1s", 400, "seconds is not"),
            ("more seconds than MaxSec=", PROFILE + "one&seconds=3", 400, "seconds is above MaxSec="),
            ("a mode that is none", PROFILE + "one&mode=all", 400, "mode is not"),
            ("a format that is none", STACKS + "one&format=yaml", 400, "format is not"),
            ("a section that is not there", STACKS + "other", 404, "no process"),
            ("a section whose process is not there", STACKS + "gone", 404, "no process"),
            ("a name that no section can have", STACKS + 65 * "x", 400, "target has more than 64 bytes"),
            ("a rule for alerts of that name", STACKS + "stuck", 404, "no process"),
            ("a program that RequireExe= forbids", STACKS + "strict", 403, "RequireExe="),
            ("a program that is not that of RequireExe=", STACKS + "file", 403, "RequireExe="),
            ("a process of another section", STACKS + f"one&pid={twins[0].pid}", 404, "no process"),
            ("a process of no section", PROFILE + f"twins&pid={os.getpid()}", 404, "no process")):
        status, _, body = gate.get(path)
        tap.check(status == wanted and said in body, f"refused: {what}", (status, body))
    status, _, body = gate.get(STACKS + "twins")
    tap.check(status == 409 and set(json.loads(body)["pids"]) == {t.pid for t in twins},
              "a name that two processes have: which they are", (status, body))
    status, _, body = gate.get(STACKS + f"twins&pid={twins[1].pid}&format=json")
    tap.check(status == 200 and json.loads(body)["process"]["pid"] == twins[1].pid, "pid= says which of the two",
              (status, body[:300]))
    for token in (None, TOKEN + "x"):
        tap.equal(gate.get(STACKS + "one", token=token)[0], 401, "refused: without the token")
    for method in ("POST", "HEAD"):
        status, headers, _ = gate.request(method, PROFILE + "one", "" if method == "POST" else None)
        tap.equal((status, headers["Allow"]), (405, "GET"), f"refused: {method}")


def one_at_a_time(tap, daemon, gate):
    wait_until(lambda: daemon.call("Status")["capturing"] == 0, "what was asked for before to end")
    first = gate.begin("GET", PROFILE + "long&seconds=60")
    wait_until(lambda: daemon.call("Status")["capturing"] > 0, "the first profile to begin")
    status, headers, body = gate.get(PROFILE + "long&seconds=1")
    tap.check(status == 503 and int(headers["Retry-After"]) >= 1 and "pulled" in body,
              "refused: a second profile of the same process", (status, body))
    status, _, body = gate.get(STACKS + "long&debug=2")
    tap.check(status == 200 and "#0" in body, "stacks of a process of which a profile is made", (status, body))
    first.close()
    begin = time.monotonic()
    wait_until(lambda: fetch(gate, PROFILE + "long&seconds=1")[0] == 200,
               "a client that closes its connection to end its profile")
    tap.check(time.monotonic() - begin < 30, "a client that closes its connection ends its profile")


def many(tap, gate, path):
    """Each of the processes that a name has is said."""
    with contextlib.ExitStack() as stack:
        pids = {stack.enter_context(Sleeper(path)).pid for _ in range(90)}
        status, _, body = gate.get(STACKS + "many")
        tap.check(status == 409 and pids == set(json.loads(body)["pids"]), "a name that 90 processes have: all of them",
                  (status, body, pids))


class Sleeper(subprocess.Popen):
    def __init__(self, path):
        super().__init__([path, "600"])
        wait_until(lambda: os.readlink(f"/proc/{self.pid}/exe") == path, "the program to be there")

    def __exit__(self, *exc):
        self.kill()
        super().__exit__(*exc)


def stops(tap, daemon, target):
    """Sample, which has no end, is refused; the caller cannot have more stopped than the configuration says."""
    try:
        replies = list(daemon.client().stream("Sample", target={"pull": "one"}, interval_ms=10, count=2))
        tap.check(False, "Sample takes no pull", replies)
    except Refused as refused:
        tap.equal((refused.name, refused.parameters["detail"]),
                  ("InvalidTarget", "pull is a target of Capture and Profile only"), "Sample takes no pull")
    said = {}
    for name, wanted in (("pull", {"pull": "one"}), ("pid", {"pid": target.pid})):
        dump = daemon.call("Capture", target=wanted, options={"stop": "always", "store": False})["dump"]
        said[name] = dump["timings"]["n_stopped"]
    tap.check(said["pid"] == 4 and said["pull"] < 4, "stop: always of a pull is Stop= of the configuration", said)


def rights(tap, daemon, target):
    daemon.call("Capture", target={"pull": "one"})
    if os.geteuid() == 0:
        with daemon.client(uid=UNPRIVILEGED) as client:
            try:
                tap.check(False, "others than TriggerUser= may not pull", client.call("Capture", target={"pull": "one"}))
            except Refused as refused:
                tap.equal((refused.name, refused.parameters), ("NotPermitted", {"rule": "root_only"}),
                          "others than TriggerUser= may not pull")
    for extra in ({"comm": "x"}, {"pid": target.pid, "comm": "x"}):
        try:
            tap.check(False, "pull beside another word", daemon.call("Capture", target={"pull": "one", **extra}))
        except Refused as refused:
            tap.equal(refused.name, "InvalidTarget", "pull beside another word")


def denied(tap):
    """Deny= is before all rules."""
    with Daemon({"Deny": "busy"}, rules={"p.conf": "[pull one]\nTarget=comm:busy\n"}) as daemon, \
            Target("busy", 10) as target, Gate(daemon) as gate:
        status, _, body = gate.get(STACKS + f"one&pid={target.pid}")
        tap.check(status == 403 and "Deny=" in body, "refused: a process that Deny= names", (status, body))


def main():
    tap = Tap()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        path = private_copy(directory, "threads")
        sleep = shutil.copy("/bin/sleep", os.path.join(os.path.dirname(path), "many-of-these"))
        twins = [stack.enter_context(Target(None, 1, 5, path=path)) for _ in range(2)]
        target = stack.enter_context(Target("busy", 4))
        rules = {"p.conf": f"[pull one]\nTarget=pid:{target.pid}\nRequireExe={os.path.dirname(target.command[0])}/b*\n"
                           f"MaxSec=2\n[pull long]\nTarget=pid:{target.pid}\n"
                           f"[pull strict]\nTarget=pid:{target.pid}\nRequireExe=/usr/bin/nothing*\n"
                           f"[pull file]\nTarget=pid:{target.pid}\nRequireExe=/usr/bin/true\n"
                           f"[pull twins]\nTarget=comm:{os.path.basename(path)} pid:{twins[0].pid}\n"
                           "[pull many]\nTarget=comm:many-of-these\n"
                           "[pull gone]\nTarget=comm:nobody-has-this\n", "r.conf": Gate.RULE}
        daemon = stack.enter_context(Daemon(rules=rules))
        gate = stack.enter_context(Gate(daemon))
        tap.guard(answers, gate, target)
        tap.guard(refusals, gate, twins)
        tap.guard(one_at_a_time, daemon, gate)
        tap.guard(many, gate, sleep)
        tap.guard(stops, daemon, target)
        tap.equal(daemon.stored(), [], "nothing that was pulled is kept")
        tap.guard(rights, daemon, target)
        tap.equal(daemon.stored(), [], "nor what root pulls")
    tap.guard(denied)
    tap.done()


if __name__ == "__main__":
    main()
