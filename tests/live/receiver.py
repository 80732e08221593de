# SPDX-License-Identifier: LGPL-2.1-or-later
"""A receiver of OTLP over HTTP, and its bad days; a snapwalk-ship of the test's own."""
import gzip
import http.server
import os
import pwd
import signal
import ssl
import subprocess
import threading
import time

from daemon import BUILD, children, ended
from harness import public, wait_until
from otlp_rules import decoded, one

SHIP = os.path.join(BUILD, "bin", "snapwalk-ship")
USER = "man"  # a system user that owns no process here; not the daemon's
TOKEN = "ship-0123456789abcdef"


def text(data):
    return data.decode("utf-8")


def attributes(pairs):
    """The attributes of a list of KeyValue."""
    found = {}
    for pair in map(decoded, pairs):
        value = decoded(one(pair, 2, b""))
        found[text(one(pair, 1, b""))] = text(value[1][0]) if 1 in value else one(value, 2, one(value, 3))
    return found


def records(body):
    """(resource, attributes, text) of each record of a request of logs."""
    found = []
    for logs in map(decoded, decoded(body).get(1, [])):
        resource = attributes(decoded(one(logs, 1, b"")).get(1, []))
        for scope in map(decoded, logs.get(2, [])):
            for record in map(decoded, scope.get(2, [])):
                found.append((resource, attributes(record.get(6, [])), text(one(decoded(one(record, 5)), 1))))
    return found


def profile_ids(body):
    """profile_id and the process of each profile of a request."""
    found = []
    for resource in map(decoded, decoded(body).get(1, [])):
        whose = attributes(decoded(one(resource, 1, b"")).get(1, []))
        for scope in map(decoded, resource.get(2, [])):
            for profile in map(decoded, scope.get(2, [])):
                found.append((one(profile, 7, b"").hex(), whose.get("process.pid"), one(profile, 3)))
    return found


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.packed = path, headers, body
        self.body = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
        self.key = headers.get("Idempotency-Key")
        self.time = time.monotonic()


class Receiver:
    """An end. answer(request, number) says what it does: a status, (status, headers, body), or a function that gets the
    handler and does it itself. Requests that were answered by 200 are in taken, all of them in seen."""

    def __init__(self, answer=lambda request, number: 200, tls=None):
        self.answer, self.taken, self.seen = answer, [], []
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(self.path, dict(self.headers), body)
                with receiver.lock:
                    receiver.seen.append(request)
                    number = len(receiver.seen)
                    said = receiver.answer(request, number)
                if callable(said):
                    self.close_connection = True
                    said(self)
                    return
                status, headers, answer = said if isinstance(said, tuple) else (said, {}, b"")
                if status == 200:
                    with receiver.lock:
                        receiver.taken.append(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that hangs up: the tests want that

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path, host="127.0.0.1", scheme="http"):
        return f"{scheme}://{host}:{self.port}{path}"


class Ship:
    """snapwalk-ship; ended by SIGTERM to its own pid. sections: lines of [Profiles] and [Dumps]."""

    def __init__(self, socket_path, directory, sections, start=True, **keys):
        self.socket_path, self.sections, self.begins = socket_path, sections, start
        self.keys = {"RetryMinMs": 10, "RetryMaxSec": 1, "TimeoutSec": 5, **keys}
        self.directory = directory
        self.spool = os.path.join(directory, "spool")
        self.config = os.path.join(directory, "ship.conf")
        self.token_file = os.path.join(directory, "ship.token")
        self.log_path = os.path.join(directory, "ship.log")
        self.process = None

    def __enter__(self):
        os.makedirs(self.spool, exist_ok=True)
        os.chmod(self.spool, 0o700)
        self.prefix = []
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            os.chown(self.spool, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                           "--inh-caps=-all", "--no-new-privs"]
        self.write_token(TOKEN)
        self.write_config()
        if self.begins:
            self.start()
        return self

    def write_token(self, token):
        """Puts another file in the place of the token's."""
        path = self.token_file + ".new"
        with open(path, "w") as file:
            file.write(token + "\n")
        os.chmod(path, 0o600)
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            os.chown(path, user.pw_uid, user.pw_gid)
        os.rename(path, self.token_file)

    def write_config(self):
        with open(self.config, "w") as file:
            file.write("[Ship]\n" + "".join(f"{k}={v}\n" for k, v in {"Spool": self.spool, **self.keys}.items()))
            for name, lines in self.sections.items():
                file.write(f"[{name}]\n" + "".join(f"{k}={v}\n" for k, v in lines.items()))

    def command(self, *arguments):
        program = public(SHIP) if self.prefix else SHIP
        return [*self.prefix, program, "--config", self.config, "--socket", self.socket_path, *arguments]

    def start(self):
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.process.pid

    def run(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=60, check=False)

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def status(self):
        """{(kind, count): number}; {} before the first one is written."""
        words = [line.split() for line in self.run("--status").stdout.splitlines()]
        return {(kind, count): int(number) for kind, count, number in words}

    def counted(self, kind, count):
        return self.status().get((kind, count), 0)

    def batches(self):
        """Files of batches in the spool."""
        return sorted(name for name in os.listdir(self.spool) if name[2:].isdigit())

    def processes(self):
        return [self.pid, *children(self.pid)]

    def end(self, pid, number):
        """Ends one of its processes by a signal: all of them end then."""
        all_of_them = self.processes()
        os.kill(pid, number)
        self.process.wait(timeout=30)
        wait_until(lambda: all(ended(other) for other in all_of_them), f"the parts {all_of_them} to end with {pid}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.end(self.pid, signal.SIGTERM)

    def wait(self, condition, what):
        def looked():
            if self.process.poll() is not None:
                raise RuntimeError(f"snapwalk-ship ended: {self.process.returncode}\n{self.log()}")
            return condition()
        return wait_until(looked, f"{what}; snapwalk-ship said:\n{self.log()}")

    def __exit__(self, kind, *exc):
        self.stop()
        if kind:
            print("".join(f"# snapwalk-ship: {line}\n" for line in self.log().splitlines()[-20:]))
