# SPDX-License-Identifier: LGPL-2.1-or-later
"""A snapwalkd of the test's own, and a Varlink client of Python's standard library.

    with Daemon({"MinIntervalSec": 0}) as daemon:
        dump = daemon.client().call("Capture", target={"pid": pid})["dump"]

It runs with a socket, a configuration and a state directory in a temporary directory; as root it
becomes the user "daemon", who owns nothing, so that privileges are real ones.
"""
import array
import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import BUILD, TARGETS, public, state_of, wait_until
from safety import status_field, tasks

SNAPWALKD = os.path.join(BUILD, "bin", "snapwalkd")
GATE = os.path.join(BUILD, "bin", "snapwalk-gate")
INTERFACE = "io.snapwalk."
USER = "daemon"
UNPRIVILEGED = 65534
# Tests of something else than speed: a busy machine must not cut stops or names.
PATIENT = {"MaxStopMs": 10000, "NamesTimeoutMs": 30000, "TimeoutMs": 60000, "KeepFree": "0",
           "MinIntervalSec": 0, "StopPercent": 100}


class Refused(Exception):
    """An error reply: .name without our interface's prefix, .parameters."""

    def __init__(self, name, parameters):
        super().__init__(f"{name} {parameters}")
        self.name = name.removeprefix(INTERFACE)
        self.parameters = parameters


class Client:
    """A connection; uid: who the daemon takes us for (SO_PEERCRED has the effective ids)."""

    def __init__(self, path, uid=None, gid=None, groups=(), timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.buffer = bytearray()
        with identity(uid, gid, groups):
            self.socket.connect(path)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.socket.close()

    def send_bytes(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.socket.sendmsg([data], rights)
        self.socket.sendall(data[sent:])

    def send(self, method, parameters=None, fds=(), **flags):
        name = method if "." in method else INTERFACE + method
        message = {"method": name, "parameters": parameters or {}, **flags}
        self.send_bytes(json.dumps(message).encode() + b"\0", fds)

    def receive_bytes(self):
        """The next message without its NUL; b"" when the other side has hung up."""
        searched = 0
        while (end := self.buffer.find(b"\0", searched)) < 0:
            searched = len(self.buffer)
            data = self.socket.recv(1 << 20)
            if not data:
                return b""
            self.buffer += data
        message = bytes(self.buffer[:end])
        del self.buffer[:end + 1]
        return message

    def receive(self):
        """(parameters, continues)"""
        message = self.receive_bytes()
        if not message:
            raise ConnectionResetError("the daemon hung up")
        reply = json.loads(message.decode("utf-8"))
        if "error" in reply:
            raise Refused(reply["error"], reply.get("parameters") or {})
        return reply.get("parameters") or {}, reply.get("continues", False)

    def call(self, method, fds=(), **parameters):
        self.send(method, parameters, fds)
        return self.receive()[0]

    def stream(self, method, **parameters):
        """The replies of a call with "more"."""
        self.send(method, parameters, more=True)
        continues = True
        while continues:
            reply, continues = self.receive()
            yield reply

    def closed(self):
        """Waits for the daemon to hang up; False when it says something instead."""
        try:
            return self.receive_bytes() == b""
        except ConnectionResetError:
            return True


@contextlib.contextmanager
def identity(uid, gid=None, groups=()):
    """Run this process with other effective ids, for a moment."""
    if uid is None:
        yield
        return
    before = os.getgroups()
    os.setgroups(list(groups))
    os.setegid(uid if gid is None else gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


def refusal(function, *args, **named):
    """(name, parameters) of the error that a call must give."""
    try:
        result = function(*args, **named)
    except Refused as error:
        return error.name, error.parameters
    return None, result


def join(replies):
    """The dump that a "more" series has in parts, its states, and its last reply."""
    dump, states, last = {}, [], None
    for reply in replies:
        if reply.get("state"):
            states.append(reply["state"])
        if reply.get("head"):
            dump.update(reply["head"])
        for part in ("modules", "stacks", "threads", "warnings"):
            if reply.get(part) is not None:
                dump[part] = [*dump.get(part, []), *reply[part]]
        last = reply
    for part in ("modules", "stacks", "threads", "warnings"):
        dump.setdefault(part, [])
    return dump, states, last


def children(pid):
    """Children of all threads of a process."""
    found = []
    for tid in tasks(pid):
        try:
            with open(f"/proc/{pid}/task/{tid}/children") as file:
                found += map(int, file.read().split())
        except OSError:
            pass
    return found


def name_of(pid):
    """Returns the short name of a process; "" when it has ended."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def ended(pid):
    """Whether the process runs no more; its parent may take its time to reap it."""
    return state_of(pid) in ("", "Z", "X")


def number_of(pid, field):
    """The number in a field of /proc/PID/status, 0 when it is gone."""
    words = status_field(pid, pid, field).split()
    return int(words[0]) if words else 0


def n_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@contextlib.contextmanager
def stopped(pid):
    """The process does nothing meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: state_of(pid) == "T", f"{pid} to stop")
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def private_copy(directory, name):
    """The path of a target program under a name that no other process has."""
    path = os.path.join(directory, f"{name[:6]}{os.getpid()}")
    if not os.path.exists(path):
        shutil.copy(os.path.join(TARGETS, name), path)
    return path


def is_left(pid):
    pending = [int(status_field(pid, pid, field) or "0", 16) for field in ("SigPnd", "ShdPnd")]
    return state_of(pid) == "D" and any(signals & 1 << signal.SIGKILL - 1 for signals in pending)


class Daemon:
    """snapwalkd in the foreground; ended by SIGTERM to its own pid."""

    def __init__(self, config=None, rules=None, args=(), prefix=(), env=None,
                 wait=True):
        self.config = dict(PATIENT, **(config or {}))
        self.rules, self.args, self.prefix, self.wait = rules, args, prefix, wait
        # A sanitized one keeps little of what was freed, so that its memory can be looked at; the
        # search for leaks needs ptrace, which it may not use on itself.
        self.env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8",
                    "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1:"
                                    "thread_local_quarantine_size_kb=64", **(env or {})}
        self.root = os.geteuid() == 0
        if self.root:
            self.config.setdefault("User", USER)
            self.config.setdefault("Group", "games")
            self.config.setdefault("TriggerUser", "man")
        self.process = None

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="snapwalkd-test-")
        os.chmod(self.directory, 0o755)  # others connect, too
        self.socket_path = os.path.join(self.directory, "io.snapwalk")
        self.state = os.path.join(self.directory, "state")
        self.rules_directory = os.path.join(self.directory, "rules.d")
        self.config_path = os.path.join(self.directory, "snapwalk.conf")
        self.log_path = os.path.join(self.directory, "log")
        os.mkdir(self.state)
        os.mkdir(self.rules_directory)
        if self.root:
            user = pwd.getpwnam(self.config["User"])
            for path in (self.directory, self.state):
                os.chown(path, user.pw_uid, user.pw_gid)
        self.write_config()
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def write_config(self, **changes):
        self.config.update(changes)
        words = {"StateDirectory": self.state, "RulesDirectory": self.rules_directory,
                 "CacheDirectory": os.path.join(self.directory, "cache"),
                 **self.config}
        with open(self.config_path, "w") as file:
            file.write("[snapwalkd]\n" + "".join(f"{k}={v}\n" for k, v in words.items()))
        for name, text in (self.rules or {}).items():
            with open(os.path.join(self.rules_directory, name), "w") as file:
                file.write(text)

    def start(self):
        mode = () if self.root else ("--user",)
        # A prefix makes it another user before it is run.
        program = public(SNAPWALKD) if self.prefix else SNAPWALKD
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(
                [*self.prefix, program, "--socket", self.socket_path, "--config",
                 self.config_path, *mode, *self.args], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=self.env)
        self.pid = self.process.pid
        if self.wait:
            wait_until(self.answers, f"snapwalkd to answer; it said:\n{self.log()}")

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"snapwalkd ended: {self.process.returncode}\n{self.log()}")
        try:
            with self.client(timeout=5) as client:
                return client.call("Status")
        except OSError:
            return None

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def client(self, uid=None, **more):
        return Client(self.socket_path, uid, **more)

    def call(self, method, **parameters):
        with self.client() as client:
            return client.call(method, **parameters)

    def status(self):
        return self.call("Status")

    def capture(self, pid, **more):
        return self.call("Capture", target={"pid": pid}, **more)

    @property
    def spawner(self):
        found = children(self.pid)
        return found[0] if found else 0

    def helpers(self):
        """Returns the processes that the spawner has started: workers, the process that unpacks debug files, as
        long as it lives, and that which opens probes. A process that was left by a worker, was killed, and waits for pages that do not come is not
        among them: it ends with the target."""
        return [pid for pid in children(self.spawner) if not is_left(pid)] if self.spawner else []

    def workers(self):
        return [pid for pid in self.helpers() if name_of(pid) not in ("snapwalk-unpack", "snapwalk-prober")]

    def alive(self):
        return self.process.poll() is None and self.answers() is not None

    def stored(self):
        """The files of the stored dumps. A file that begins with a dot is just being written."""
        return sorted(n for n in os.listdir(self.state) if n.endswith(".json.zst") and n[0] != ".")

    def stop(self, number=signal.SIGTERM):
        """Returns the daemon's exit status, after that of its children."""
        family = [self.pid, *children(self.pid), *self.helpers()]
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        wait_until(lambda: all(map(ended, family)), f"the processes {family} to end")
        return status

    def __exit__(self, *exc):
        try:
            if self.process:
                self.stop()
        finally:
            if exc and exc[0]:
                print("".join(f"# snapwalkd: {line}\n" for line in
                              re.sub(r"[^\x20-\x7e\n]", "?", self.log()).splitlines()[-20:]))
            shutil.rmtree(self.directory, ignore_errors=True)
