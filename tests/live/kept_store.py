# SPDX-License-Identifier: LGPL-2.1-or-later
"""A socket that answers List, Read and Subscribe as snapwalkd does for what it keeps, of profiles and dumps that are made up:
thousands of them, gone ones, and answers that are wrong."""
import contextlib
import json
import os
import socket
import threading

BEGIN_NS = 1795000000000000000
INTERFACE = "io.snapwalk."


def profile(number, pid):
    """A small profile, as Read gives it."""
    return {"schema": "snapwalk.profile/1", "mode": "cpu", "begin_ns": BEGIN_NS + number * 1000000000,
            "duration_ns": 1000000000, "rate_hz": 100, "n_samples": 100, "n_wanted": 100, "n_late": 0, "n_lost": 0,
            "stopped_ns": 0, "longest_stop_ns": 0, "left_count": 0, "left_ns": 0, "host": "web1", "kernel": "6.1.0",
            "processes": [{"pid": pid, "comm": "server", "exe": "/srv/server", "unit": None, "container": None}],
            "threads": [{"pid": pid, "tid": pid, "name": "server"}],
            "modules": [{"path": "/srv/server", "build_id": "ab" * 20, "start": "0x1000", "end": "0x9000", "bias": "0x0"}],
            "frames": [{"address": "0x1100", "module": 0, "function": "main", "file": None, "line": 0, "kind": "native"}],
            "nodes": [[None, 0]],
            "samples": [{"thread": 0, "node": 0, "state": "on_cpu", "count": 5, "ns": 50000000}]}


class Store:
    """A store. kept is {id: (kind, text of the parameters of Read)}, oldest first."""

    def __init__(self, directory):
        self.path = os.path.join(directory, f"store-{os.getpid()}")
        self.kept, self.order, self.reads, self.subscribers = {}, [], [], []
        self.lock = threading.Lock()

    def __enter__(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o666)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.listener.close()
        os.unlink(self.path)

    def add(self, name, kind, part, listed=True):
        with self.lock:
            self.kept[name] = (kind, json.dumps({"profile" if kind == "profile" else "dump": part}))
            if listed:
                self.order.append(name)
            event = {"event": "captured", "summary": self.summary(name)}
            for connection in self.subscribers:
                with contextlib.suppress(OSError):
                    self.send(connection, event, True)

    def add_profiles(self, numbers, processes=4):
        for number in numbers:
            self.add(f"profile-{number:06}", "profile", profile(number, 100 + number % processes))

    def summary(self, name):
        kind = self.kept[name][0]
        return {"id": name, **({"kind": kind} if kind == "profile" else {})}

    @staticmethod
    def send(connection, parameters, continues=False, error=None):
        message = {"parameters": parameters, **({"continues": True} if continues else {}), **({"error": error} if error else {})}
        connection.sendall(json.dumps(message).encode() + b"\0")

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        buffer = b""
        with contextlib.suppress(OSError), connection:
            while data := connection.recv(1 << 16):
                buffer += data
                *messages, buffer = buffer.split(b"\0")
                for message in messages:
                    self.answer(connection, json.loads(message))

    def answer(self, connection, call):
        method = call["method"].removeprefix(INTERFACE)
        if method == "Subscribe":
            with self.lock:
                self.send(connection, {"event": "ready"}, True)
                self.subscribers.append(connection)
        elif method == "List":
            with self.lock:
                names = list(reversed(self.order))
                for i, name in enumerate(names):
                    self.send(connection, {"summary": self.summary(name)}, i + 1 < len(names))
            if not names:
                self.send(connection, {})
        else:
            name = call["parameters"]["id"]
            self.reads.append(name)
            if name in self.kept:
                connection.sendall(b'{"parameters":' + self.kept[name][1].encode() + b"}\0")
            else:
                self.send(connection, {"id": name}, error=f"{INTERFACE}NoSuchDump")

    def delete(self, name):
        with self.lock:
            del self.kept[name]
            if name in self.order:
                self.order.remove(name)

    def restart(self):
        """Hangs up, as a daemon that ends."""
        with self.lock:
            for connection in self.subscribers:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self.subscribers.clear()
