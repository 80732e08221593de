# SPDX-License-Identifier: LGPL-2.1-or-later
"""A snapwalk-gate of the test's own, run as the user that the daemon expects, and its HTTP."""
import http.client
import json
import os
import pwd
import socket
import subprocess

from daemon import GATE
from harness import public, wait_until

USER = "man"  # a system user that owns no process here
TOKEN = "0123456789abcdef-secret"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def alert(pid, fingerprint, status="firing", **labels):
    """An alert of Alertmanager's webhook payload (version 4)."""
    return {"status": status, "labels": {"alertname": "ProcessStuck", "pid": str(pid),
                                         "instance": f"{socket.gethostname()}:9256", **labels},
            "annotations": {}, "startsAt": "2026-11-20T10:35:50.084579388Z",
            "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "", "fingerprint": fingerprint}


def payload(*alerts):
    return json.dumps({"receiver": "snapwalk", "status": "firing", "alerts": list(alerts),
                       "groupLabels": {}, "commonLabels": {}, "commonAnnotations": {},
                       "externalURL": "", "version": "4", "groupKey": "{}",
                       "truncatedAlerts": 0}) + "\n"


class Gate:
    """snapwalk-gate on a port of its own; ended by SIGTERM to its own pid."""

    RULE = ("[rule stuck]\nSource=alertmanager\nMatch=alertname=ProcessStuck\nHost=instance\n"
            "Target=pid:%{pid}\nCooldownSec=0\n")

    def __init__(self, daemon, by_root=False):
        """by_root: started by root without anything around it, as where systemd does not start it."""
        self.daemon = daemon
        self.by_root = by_root
        self.process = None

    def __enter__(self):
        self.port = free_port()
        self.token_file = os.path.join(self.daemon.directory, "gate.token")
        self.log_path = os.path.join(self.daemon.directory, "gate.log")
        with open(self.token_file, "w") as file:
            file.write(TOKEN + "\n")
        os.chmod(self.token_file, 0o600)
        self.prefix = []
        if os.geteuid() == 0 and not self.by_root:
            user = pwd.getpwnam(USER)
            os.chown(self.token_file, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                           "--clear-groups", "--inh-caps=-all", "--no-new-privs"]
        self.start()
        return self

    def start(self):
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(
                [*self.prefix, public(GATE) if self.prefix else GATE, "--listen", f"127.0.0.1:{self.port}", "--socket",
                 self.daemon.socket_path, "--token-file", self.token_file],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.process.pid
        wait_until(self.answers, f"snapwalk-gate to answer; it said:\n{self.log()}")

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"snapwalk-gate ended: {self.process.returncode}\n{self.log()}")
        try:
            return self.get("/healthz")[0] is not None
        except OSError:
            return False

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def begin(self, method, path, body=None, token=TOKEN, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        return connection

    def request(self, method, path, body=None, token=TOKEN, **headers):
        """(status, headers, body)"""
        connection = self.begin(method, path, body, token, **headers)
        try:
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    def try_begin(self, method, path, body=None):
        """A request whose answer may never come; None when it could not even be sent."""
        try:
            return self.begin(method, path, body)
        except OSError:
            return None

    @staticmethod
    def end(connection):
        """Returns the status of the answer, None without an answer."""
        if connection is None:
            return None
        try:
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        if exc and exc[0]:
            print("".join(f"# snapwalk-gate: {line}\n" for line in self.log().splitlines()[-20:]))
