#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""From a monitoring system to a stored dump: rules, hooks, the gate with a real Alertmanager, a
real Monit, and OnDump= on the way out.
"""
import contextlib
import json
import math
import os
import re
import socket
import stat
import subprocess
import tempfile

from daemon import GATE, UNPRIVILEGED, Daemon, ended, private_copy
from gate import TOKEN, Gate, alert, free_port, payload
from harness import PATIENT, SNAPWALK, TARGETS, Tap, Target, tool, wait_until

HOST = socket.gethostname()


def ids_of(reply):
    return reply["ids"]


def reasons_of(reply):
    return {s["rule"]: s["reason"] for s in reply["skipped"]}


def rule(name, **more):
    words = {"Match": "alertname=ProcessStuck", "Host": "instance", "Target": "pid:%{pid}",
             "CooldownSec": 0, **more}
    return f"[rule {name}]\n" + "".join(f"{k}={v}\n" for k, v in words.items())


def trigger(daemon, pid, source="test", **labels):
    words = {"alertname": "ProcessStuck", "instance": f"{HOST}:9256", "pid": str(pid), **labels}
    return daemon.call("Trigger", source=source, labels=words)


def rules(tap):
    """The alerts that a rule lets through, and those that it does not."""
    files = {
        "10-first.conf": rule("stuck", RequireExe=f"{os.path.dirname(TARGETS)}/*/threads"),
        "20-more.conf": rule("three", Match="alertname=Slow severity~=p*", Count=3, IntervalSec=0.1,
                             CooldownSec=300, Source="test") +
        rule("group", Match="alertname=Group", Target="unit:%{unit} comm:%{name}", MaxTargets=2),
    }
    with Daemon(rules=files) as daemon, contextlib.ExitStack() as stack:
        target = stack.enter_context(Target("threads", 3, 10))
        other = stack.enter_context(Target("chain_pie"))
        reply = trigger(daemon, target.pid)
        tap.equal(len(ids_of(reply)), 1, "a rule that matches: one dump")
        dump = daemon.call("Read", id=ids_of(reply)[0])["dump"]
        tap.equal(dump["process"]["pid"], target.pid, "the dump is of the process that the label names")
        tap.check(dump["reason"] and "stuck" in dump["reason"], "the dump's reason names the rule",
                  dump["reason"])
        for what, change, reason in (
                ("another alert", {"alertname": "Other"}, "labels"),
                ("another host", {"instance": "elsewhere:9256"}, "host"),
                ("no label for the host", {"instance": None}, "host"),
                ("no pid", {"pid": None}, "no target")):
            labels = {"alertname": "ProcessStuck", "instance": HOST, "pid": str(target.pid),
                      **change}
            got = daemon.call("Trigger", source="test",
                              labels={k: v for k, v in labels.items() if v is not None})
            tap.equal((ids_of(got), reasons_of(got).get("stuck")), ([], reason),
                      f"{what}: skipped, {reason}")
        got = trigger(daemon, other.pid)
        tap.check(not ids_of(got) and "exe" in reasons_of(got)["stuck"].lower(),
                  "another program than RequireExe: skipped", got)
        got = trigger(daemon, 4194303)
        tap.check(not ids_of(got) and reasons_of(got)["stuck"], "a process that is gone: skipped",
                  got)
        got = daemon.call("Trigger", source="test", status="resolved", labels={
            "alertname": "ProcessStuck", "instance": HOST, "pid": str(target.pid)})
        tap.equal(ids_of(got), [], "an alert that is resolved: nothing")
        before = len(daemon.stored())  # a tenth of a second after the answer there is one more
        got = trigger(daemon, target.pid, alertname="Slow", severity="page")
        tap.check(ids_of(got), "Count=3: the first dump comes at once", got)
        wait_until(lambda: len(daemon.stored()) >= before + 3, "the other two dumps")
        got = trigger(daemon, target.pid, alertname="Slow", severity="page")
        tap.equal((ids_of(got), reasons_of(got)["three"]), ([], "cooldown"),
                  "CooldownSec=: not again so soon")
        got = trigger(daemon, target.pid, alertname="Slow", severity="page", source="other")
        tap.equal(reasons_of(got)["three"], "source", "Source=: not from elsewhere")
        path = private_copy(daemon.directory, "threads")
        name = os.path.basename(path)
        twins = [stack.enter_context(Target(None, 1, 5, path=path)) for _ in range(3)]
        got = trigger(daemon, 0, alertname="Group", name=name)
        pids = {daemon.call("Read", id=i)["dump"]["process"]["pid"] for i in ids_of(got)}
        tap.check(len(pids) == 2 and pids < {t.pid for t in twins}, "MaxTargets=2 of three", got)
        tap.equal(daemon.log().count("rule group: more than 2 processes match"), 1, "that one is left out is said")
        once = dict(source="test", fingerprint="ab", starts_at="2026-11-20T10:00:00Z", labels={
            "alertname": "ProcessStuck", "instance": HOST, "pid": str(target.pid)})
        first, second = daemon.call("Trigger", **once), daemon.call("Trigger", **once)
        tap.check(ids_of(first) and ids_of(second) in ([], ids_of(first)),
                  "the same fingerprint and start: acted on once", (first, second))


def damaged_rules(tap):
    """A mistake costs its rule, is said with file and line, and not the daemon."""
    files = {"bad.conf": "[rule nohost]\nMatch=a=b\nTarget=pid:%{pid}\n"
                         "[rule odd]\nColor=red\n[what\nno equals sign\n",
             "good.conf": rule("stuck")}
    with Daemon(rules=files) as daemon, Target("threads", 1, 5) as target:
        tap.check("bad.conf:" in daemon.log(), "a mistake is said with file and line", daemon.log())
        tap.equal(len(ids_of(trigger(daemon, target.pid))), 1, "the other rules work")


def gate_confined(tap):
    """Started by root without systemd: what a unit would take away, the gate gives up by itself."""
    if os.geteuid() != 0:
        tap.skip("snapwalk-gate started by root", "not root", Tap.ROOT)
        return
    with Daemon() as daemon, Gate(daemon, by_root=True) as gate:
        tap.equal(gate.get("/healthz", token=None)[0], 200, "started by root: it answers")
        for thread in os.listdir(f"/proc/{gate.pid}/task"):
            try:
                with open(f"/proc/{gate.pid}/task/{thread}/status") as file:
                    status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            except (FileNotFoundError, ProcessLookupError):
                if int(thread) == gate.pid:
                    raise
                continue  # the thread of a connection has ended
            tap.equal([status[key] for key in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")],
                      ["0" * 16] * 4 + ["1", "2"], "started by root: no capability, a filter")
            tap.check("0" not in status["Uid"].split(), "started by root: another user", status["Uid"])


def gate_http(tap):
    with Daemon(rules={"r.conf": Gate.RULE}) as daemon, Target("threads", 2, 10) as target, \
            Gate(daemon) as gate:
        status, headers, body = gate.get("/metrics", token=None)
        tap.check(status == 200 and headers["Content-Type"].startswith("text/plain")
                  and "\nsnapwalk_" in body, "GET /metrics", (status, body[:300]))
        metrics_format(tap, body)
        tap.equal(gate.get("/healthz", token=None)[0], 200, "GET /healthz: all is well")
        status, _, body = gate.get("/metrics", token=None, Host=f"evil.example:{gate.port}")
        tap.check(status == 421 and "snapwalk" not in body, "GET /metrics for another host: refused",
                  (status, body))
        for method, path in (("GET", "/healthz"), ("GET", "/alertmanager"), ("POST", "/alertmanager"), ("POST", "/metrics"),
                             ("HEAD", "/metrics"), ("OPTIONS", "/alertmanager"), ("PUT", "/alertmanager"),
                             ("GET", "/"), ("GET", "/nothing"), ("GET", "//metrics"), ("GET", "/metrics?a=b"),
                             ("GET", "http://localhost/metrics")):
            got = gate.request(method, path, Host="evil.example")[0]
            tap.equal(got, 421, f"{method} {path} for another host: refused")
        one = payload(alert(target.pid, "a" * 16))
        for what, token, wanted in (("no token", None, 401), ("a wrong token", TOKEN + "x", 401),
                                    ("a part of the token", TOKEN[:-1], 401)):
            tap.equal(gate.post("/alertmanager", one, token=token)[0], wanted, what)
        tap.equal(daemon.stored(), [], "without the token nothing is captured")
        status, _, body = gate.post("/alertmanager", one)
        tap.equal((status, len(daemon.stored())), (200, 1), "an alert: a stored dump")
        tap.equal(json.loads(body)["captured"], 1, "and the answer says so")
        status, _, body = gate.post("/alertmanager", one)
        tap.equal((status, json.loads(body)["captured"], len(daemon.stored())), (200, 0, 1),
                  "the same alert again: nothing new")
        mixed = payload(alert(target.pid, "b" * 16, status="resolved"),
                        alert(target.pid, "c" * 16),
                        alert(target.pid, "d" * 16, instance="elsewhere:1"))
        status, _, body = gate.post("/alertmanager", mixed)
        tap.equal((status, json.loads(body)["captured"], len(daemon.stored())), (200, 1, 2),
                  "of three the one that fires here")
        for what, method, path, body, wanted in (
                ("no JSON", "POST", "/alertmanager", "hello", 400),
                ("another JSON", "POST", "/alertmanager", "[1]", 400),
                ("no such path", "GET", "/nothing", None, 404),
                ("a wrong method", "GET", "/alertmanager", None, 405),
                ("too much", "POST", "/alertmanager", "x" * (2 << 20), 413)):
            got = gate.end(gate.try_begin(method, path, body))
            # Too much may be cut off before it is all sent.
            tap.check(got == wanted or wanted == 413 and got is None, f"{what}: {wanted}", got)
        after = gate.get("/metrics")[2]
        bounds = [float(bound) for bound in re.findall(r'snapwalk_stop_seconds_bucket{le="(.*?)"}', after)]
        counts = [int(n) for n in re.findall(r"snapwalk_(?:stop|capture)_seconds_(?:bucket{.*?}|count) (\d+)", after)]
        tap.check(bounds == sorted(bounds) and bounds[-1] == math.inf and len(counts) == 2 * (len(bounds) + 1) and
                  counts == sorted(counts[:len(bounds) + 1]) + sorted(counts[len(bounds) + 1:]) and counts[-1] == counts[-2] > 0,
                  "/metrics: how long captures stopped threads, and took", (bounds, counts))
        tap.check('result="captured"} 2' in after, "/metrics counts captures",
                  [line for line in after.splitlines() if "result" in line])
        daemon.stop()
        status, headers, _ = gate.post("/alertmanager", payload(alert(target.pid, "e" * 16)))
        tap.check(status == 503 and int(headers["Retry-After"]) > 0,
                  "the daemon is away: 503 with Retry-After, so that it is sent again", status)
        tap.equal(gate.get("/healthz")[0], 503, "/healthz: 503")
        tap.equal(gate.get("/metrics")[0], 200, "/metrics: still there")
        daemon.start()
        status, _, body = gate.post("/alertmanager", payload(alert(target.pid, "e" * 16)))
        tap.equal((status, json.loads(body)["captured"]), (200, 1), "and then it is acted on")


def hog(uid, port, ready, end):
    """In a child: connections of a user who begins a request on each, and never ends it."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    held = []
    for _ in range(70):
        try:
            held.append(socket.create_connection(("127.0.0.1", port), timeout=60))
            held[-1].sendall(b"POST /alertmanager HTTP/1.1\r\nX-Long: ")
        except OSError:
            pass  # refused
    os.write(ready, b"x")
    os.read(end, 1)


@contextlib.contextmanager
def hogs(gate, uids):
    (ready, to_us), (to_them, end) = os.pipe(), os.pipe()
    children = []
    for uid in uids:
        pid = os.fork()
        if pid == 0:
            try:
                os.close(end)
                hog(uid, gate.port, to_us, to_them)
            finally:
                os._exit(0)
        children.append(pid)
    try:
        for _ in children:
            os.read(ready, 1)
        yield
    finally:
        for fd in (end, ready, to_us, to_them):
            os.close(fd)
        for pid in children:
            os.waitpid(pid, 0)


@contextlib.contextmanager
def as_user(uid):
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def status_or_error(ask, *args, **more):
    try:
        return ask(*args, **more)[0]
    except OSError as error:
        return error


def gate_slots(tap):
    """A user cannot have all connections of the gate; all users together cannot have those for the reporter of
    alerts."""
    if os.geteuid() != 0:
        tap.skip("connections of other users", "not root", tap.ROOT)
        return
    monitor, other = 64001, 64002
    with Daemon(rules={"r.conf": Gate.RULE}) as daemon, Target("threads", 2, 10) as target, \
            Gate(daemon) as gate:
        with as_user(monitor):
            status = gate.post("/alertmanager", payload(alert(target.pid, "a" * 16)))[0]
        tap.equal(status, 200, "an alert of one who knows the token")
        with hogs(gate, [64010]):
            with as_user(other):
                got = status_or_error(gate.get, "/metrics", token=None)
            tap.equal(got, 200, "a user has all connections they can get: another one has /metrics")
        with hogs(gate, range(64010, 64014)):
            with as_user(monitor):
                got = status_or_error(gate.post, "/alertmanager",
                                      payload(alert(target.pid, "b" * 16)))
            tap.equal(got, 200, "four users have: an alert gets through")
            got = status_or_error(gate.get, "/healthz", token=None)
            tap.equal(got, 200, "... and so does root")
        with as_user(other):
            wait_until(lambda: status_or_error(gate.get, "/metrics", token=None) == 200,
                       "connections to be free when they have gone")
        tap.equal(len(daemon.stored()), 2, "both alerts have a dump")


def metrics_format(tap, text):
    """Prometheus' text format 0.0.4: HELP and TYPE before samples, numbers as values."""
    typed, helped, odd = set(), set(), []
    for line in text.splitlines():
        words = line.split(" ")
        if line.startswith("# TYPE "):
            typed.add(words[2])
        elif line.startswith("# HELP ") and len(words) > 3:
            helped.add(words[2])
        elif not line.startswith("#"):
            name = words[0].split("{")[0]
            base = name
            for suffix in ("_bucket", "_sum", "_count"):
                base = base.removesuffix(suffix)
            try:
                float(words[-1])
            except ValueError:
                odd.append(line)
            if name not in typed and base not in typed:
                odd.append(line)
    tap.equal(odd, [], "/metrics: every sample has a type and a number")
    tap.equal(typed - helped, set(), "/metrics: everything says what it is")
    if tool("promtool"):
        check = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                               text=True)
        tap.check(check.returncode == 0, "promtool finds nothing wrong", check.stdout)


def missing(tap, what, program, package):
    """True, with a skip, when a real program is not here."""
    if tool(program):
        return False
    tap.skip(what, f"{package} is not installed", f"apt-get install {package}")
    return True


def receiver_of_manual(directory, port):
    """Returns the Alertmanager configuration of snapwalk-gate(8), with a file of the token."""
    credentials = os.path.join(directory, "alertmanager.token")
    with open(credentials, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(TOKEN + "\n")
    page = os.path.join(os.path.dirname(__file__), "../../man/snapwalk-gate.8")
    with open(page) as file:
        text = file.read()
    text = text[text.index("receivers:\n"):]
    text = text[:text.index(".Ed")]
    for written, here in (("127.0.0.1:9911", f"127.0.0.1:{port}"),
                          ("/etc/prometheus/snapwalk.token", credentials)):
        assert written in text, text
        text = text.replace(written, here)
    return text


def alertmanager(tap):
    """A real Alertmanager fires a real alert."""
    what = "Alertmanager to a stored dump"
    if missing(tap, what, "prometheus-alertmanager", "prometheus-alertmanager"):
        return
    with Daemon(rules={"r.conf": Gate.RULE}) as daemon, Target("threads", 4, 10) as target, \
            Gate(daemon) as gate:
        port = free_port()
        config = os.path.join(daemon.directory, "alertmanager.yml")
        with open(config, "w") as file:
            file.write("route: {receiver: snapwalk, group_by: [alertname], group_wait: 0s, "
                       "group_interval: 1s}\n" + receiver_of_manual(daemon.directory, gate.port))
        log = open(os.path.join(daemon.directory, "alertmanager.log"), "w+")
        process = subprocess.Popen(
            ["prometheus-alertmanager", f"--config.file={config}",
             f"--storage.path={daemon.directory}/alertmanager",
             f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
            stdout=log, stderr=log)
        try:
            def ready():
                with contextlib.suppress(OSError), \
                        socket.create_connection(("127.0.0.1", port), 1):
                    return True
                return False
            wait_until(ready, "Alertmanager to listen")
            body = json.dumps([{"labels": {"alertname": "ProcessStuck", "pid": str(target.pid),
                                           "instance": f"{HOST}:9256"}}])
            import http.client  # noqa: PLC0415 - only here
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/api/v2/alerts", body,
                               {"Content-Type": "application/json"})
            tap.equal(connection.getresponse().status, 200, "Alertmanager takes the alert")
            connection.close()
            wait_until(daemon.stored, "the dump of the alert", 60)
            summary = daemon.call("List")["summaries"][0]
            tap.equal(summary["process"]["pid"], target.pid, what)
            tap.check("stuck" in (summary["reason"] or ""), "with the rule in its reason",
                      summary["reason"])
        except TimeoutError:
            log.seek(0)
            tap.check(False, what, log.read()[-2000:] + gate.log())
        finally:
            process.terminate()
            process.wait(60)
            log.close()


def monit(tap):
    """A real Monit finds that a process uses more memory than it may, and runs the hook."""
    what = "Monit to a stored dump"
    if missing(tap, what, "monit", "monit") or os.geteuid() != 0:
        return
    with Daemon() as daemon, Target("threads", 4, 10) as target:
        pid_file = os.path.join(daemon.directory, "target.pid")
        with open(pid_file, "w") as file:
            file.write(f"{target.pid}\n")
        control = os.path.join(daemon.directory, "monitrc")
        # Monit gives its children a PATH and its own variables and nothing else.
        with open(control, "w") as file:
            file.write(f"""set daemon 1
set pidfile {daemon.directory}/monit.pid
set idfile {daemon.directory}/monit.id
set statefile {daemon.directory}/monit.state
set logfile {daemon.directory}/monit.log
check process demo with pidfile {pid_file}
  if memory usage > 1 KB then exec "/usr/bin/env SNAPWALK_SOCKET={daemon.socket_path} """
                       f"""{SNAPWALK} hook monit"
""")
        os.chmod(control, 0o600)
        os.chown(control, 0, 0)
        process = subprocess.Popen(["monit", "-I", "-c", control], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            wait_until(daemon.stored, "the dump of Monit's event", 120)
            summary = daemon.call("List")["summaries"][0]
            tap.equal(summary["process"]["pid"], target.pid, what)
            tap.check("demo" in (summary["reason"] or ""), "with Monit's service in its reason",
                      summary["reason"])
        except TimeoutError:
            with open(os.path.join(daemon.directory, "monit.log")) as log:
                tap.check(False, what, log.read() + daemon.log())
        finally:
            process.terminate()
            process.wait(60)


def hook(daemon, kind, *words, text=None, **environment):
    return subprocess.run([SNAPWALK, "hook", kind, *map(str, words)], input=text or "",
                          capture_output=True, text=True, timeout=60,
                          env={"PATH": os.environ["PATH"], "SNAPWALK_SOCKET": daemon.socket_path,
                               **{k: str(v) for k, v in environment.items()}})


def hooks(tap):
    """Each monitoring system's own way to say what happened."""
    with Daemon(rules={"r.conf": rule("stuck")}) as daemon, \
            Target(None, 2, 10, path=private_copy(daemon.directory, "threads")) as target:
        def expect(what, got, more=1):
            before = expect.stored
            expect.stored = len(daemon.stored())
            tap.equal((got.returncode, expect.stored - before), (0, more), what)
            if got.returncode:
                print(f"# {got.stdout}{got.stderr}")
        expect.stored = 0
        expect("hook monit", hook(daemon, "monit", MONIT_PROCESS_PID=target.pid,
                                  MONIT_SERVICE="demo", MONIT_EVENT="Resource limit matched"))
        expect("hook alertmanager", hook(daemon, "alertmanager",
                                         text=payload(alert(target.pid, "1" * 16))))
        expect("hook alertmanager of another host, nothing",
               hook(daemon, "alertmanager",
                    text=payload(alert(target.pid, "2" * 16, instance="elsewhere:1"))), 0)
        expect("hook systemd", hook(daemon, "systemd", MAINPID=target.pid))
        expect("hook systemd of a unit's word", hook(daemon, "systemd", target.pid))
        expect("hook monit when it is over, nothing",
               hook(daemon, "monit", MONIT_PROCESS_PID=target.pid, MONIT_SERVICE="demo",
                    MONIT_EVENT="Resource limit succeeded"), 0)
        expect("hook nagios", hook(daemon, "nagios", "--pid", target.pid, "CRITICAL", "HARD", 3))
        expect("hook nagios of a soft state, nothing",
               hook(daemon, "nagios", "--pid", target.pid, "CRITICAL", "SOFT", 1), 0)
        note = ("Severity: FAILURE\nTime: 1200928930.515\nHost: web1\nPlugin: processes\n"
                f"PluginInstance: {os.path.basename(target.command[0])}\nType: ps_rss\n\n"
                "Too much\n")
        expect("hook collectd", hook(daemon, "collectd", text=note))
        expect("hook collectd when it is over, nothing",
               hook(daemon, "collectd", text=note.replace("FAILURE", "OKAY")), 0)
        reasons = [summary["reason"] for summary in daemon.call("List")["summaries"]]
        kinds = [reason.split(":")[0].split(" ")[0] for reason in reasons]
        tap.equal(kinds, ["collectd", "nagios", "systemd", "systemd", "alertmanager", "monit"],
                  f"the reasons say which {reasons}")
        got = hook(daemon, "monit")
        tap.check(got.returncode not in (0, 3) and got.stderr.count("\n") == 1,
                  "a hook without its environment: an error in one line",
                  (got.returncode, got.stderr))
        got = hook(daemon, "alertmanager", text="not JSON")
        tap.check(got.returncode not in (0, 3) and got.stderr, "a payload that is none: an error",
                  (got.returncode, got.stderr))
        got = hook(daemon, "unheard-of")
        tap.equal(got.returncode, 2, "a hook that does not exist: usage")


def hook_without_daemon(tap):
    """No daemon, but a place to write to: the hook captures by itself."""
    with Target("threads", 2, 10) as target, \
            tempfile.TemporaryDirectory(prefix="snapwalkd-test-") as directory:
        environment = {"PATH": os.environ["PATH"], "MONIT_PROCESS_PID": str(target.pid),
                       "MONIT_SERVICE": "demo", "MONIT_EVENT": "Timeout",
                       "SNAPWALK_SOCKET": os.path.join(directory, "nothing")}
        got = subprocess.run([SNAPWALK, "hook", "monit", "-o", directory, *PATIENT], env=environment,
                             capture_output=True, text=True, timeout=120)
        names = os.listdir(directory)
        tap.equal((got.returncode, len(names)), (0, 1), f"hook -o DIR without a daemon: a file "
                  f"{got.stderr}")
        with open(os.path.join(directory, names[0])) as file:
            tap.equal(json.load(file)["process"]["pid"], target.pid, "with the dump")
        got = subprocess.run([SNAPWALK, "hook", "monit"], env=environment, capture_output=True,
                             text=True, timeout=60)
        tap.equal((got.returncode, got.stderr.count("\n")), (1, 1),
                  "without a place: an error in one line")


def on_dump(tap):
    """The way out: a command with the dump on its input, as somebody else, with a time limit."""
    with Target("threads", 2, 10) as target, Daemon() as daemon:
        out = os.path.join(daemon.directory, "out")
        os.mkdir(out)
        os.chmod(out, 0o777)
        script = os.path.join(daemon.directory, "hook.sh")
        with open(script, "w") as file:
            file.write(f"#!/bin/sh\nid -u >{out}/uid\ngrep -E 'Cap|NoNew' /proc/self/status "
                       f">{out}/status\nls /proc/self/fd >{out}/fds\ncat >{out}/dump.part\n"
                       f"mv {out}/dump.part {out}/dump\n")
        os.chmod(script, 0o755)
        daemon.stop()
        daemon.write_config(OnDump=script, OnDumpUser="nobody", OnDumpTimeoutSec=60)
        daemon.start()
        dump = daemon.capture(target.pid)["dump"]
        try:
            wait_until(lambda: os.path.exists(f"{out}/dump"), "OnDump= to write", 60)
        except TimeoutError:
            tap.check(False, "OnDump= runs", daemon.log())
            return
        with open(f"{out}/dump") as file:
            tap.equal(json.load(file), dump, "OnDump=: the dump on its standard input")
        if os.geteuid() == 0:
            tap.equal(open(f"{out}/uid").read().strip(), str(UNPRIVILEGED), "as OnDumpUser=")
        status = dict(line.split(":\t") for line in open(f"{out}/status").read().splitlines())
        tap.equal((int(status["CapEff"], 16), int(status["CapPrm"], 16), status["NoNewPrivs"]),
                  (0, 0, "1"), "without capabilities and new privileges")
        tap.check(len(open(f"{out}/fds").read().split()) <= 4, "with three descriptors",
                  open(f"{out}/fds").read())
        os.unlink(f"{out}/dump")
        with open(script, "w") as file:
            file.write(f"#!/bin/sh\necho $$ >{out}/pid\nexec tail -f /dev/null\n")
        daemon.stop()
        daemon.write_config(OnDumpTimeoutSec=3)
        daemon.start()
        tap.check(daemon.capture(target.pid)["dump"], "a hook that hangs delays nobody")
        pid = wait_until(lambda: os.path.exists(f"{out}/pid") and open(f"{out}/pid").read().strip(),
                         "the hook to start")
        wait_until(lambda: ended(int(pid)), "the hook to be ended")
        tap.check(daemon.capture(target.pid)["dump"], "the command is ended at its time limit")
        tap.equal(stat.S_IMODE(os.stat(daemon.state).st_mode) & 0o007, 0,
                  "the store is closed to others")


def main():
    tap = Tap()
    for test in (rules, damaged_rules, hooks, hook_without_daemon, on_dump):
        tap.guard(test)
    if os.path.exists(GATE):
        tap.guard(gate_confined)
        tap.guard(gate_http)
        tap.guard(gate_slots)
        tap.guard(alertmanager)
    else:
        tap.skip("the gate", "snapwalk-gate was not built", "make all")
    tap.guard(monit)
    tap.done()


if __name__ == "__main__":
    main()
