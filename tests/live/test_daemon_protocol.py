#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""The socket, byte by byte: requests that are split, joined, broken, or cut off by a hang-up.

What must happen is written in UAPI.20 "Varlink IPC" 0.1: an unknown member, a broken message or
two modes at once close the connection; wrong parameters are typed errors.
"""
import contextlib
import json
import os
import socket
import struct
import time

from daemon import UNPRIVILEGED, Client, Daemon, Refused, children, n_fds, number_of, refusal, stopped
from harness import SANITIZED, Tap, Target, seeded, wait_until

SCM_MAX_FD = 253  # include/net/scm.h, Linux 6.1
SERVICE = "org.varlink.service."
NO_SUCH_PID = 4194303  # the highest that Linux can give; this machine is far from it
MUTATIONS = 10_000
CALL_MAX = 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))


def encode(method, parameters=None, **flags):
    return json.dumps({"method": method, "parameters": parameters or {},
                       **flags}).encode() + b"\0"


def service(tap, daemon):
    """org.varlink.service, and errors that have a standard."""
    with daemon.client() as client:
        info = client.call(SERVICE + "GetInfo")
        tap.check({"io.snapwalk", "org.varlink.service"} <= set(info["interfaces"])
                  and all(info[k] for k in ("vendor", "product", "version", "url")), "GetInfo",
                  info)
        with open(os.path.join(HERE, "../../protocol/io.snapwalk.varlink")) as file:
            wanted = file.read()
        got = client.call(SERVICE + "GetInterfaceDescription", interface="io.snapwalk")
        tap.equal(got, {"description": wanted}, "the interface is described as in its file")
        got = client.call(SERVICE + "GetInterfaceDescription", interface="org.varlink.service")
        tap.check("method GetInfo()" in got["description"], "org.varlink.service, too")
        for method, parameters, wanted in (
                (SERVICE + "GetInterfaceDescription", {"interface": "io.other"},
                 (SERVICE + "InterfaceNotFound", {"interface": "io.other"})),
                ("io.snapwalk.Nothing", {},
                 (SERVICE + "MethodNotFound", {"method": "io.snapwalk.Nothing"})),
                ("io.other.Capture", {}, (SERVICE + "InterfaceNotFound",
                                          {"interface": "io.other"})),
                ("Sample", {"target": {"pid": 1}, "interval_ms": 10},
                 (SERVICE + "ExpectedMore", {})),
                ("Subscribe", {}, (SERVICE + "ExpectedMore", {})),
                ("Read", {"id": 5}, (SERVICE + "InvalidParameter", {"parameter": "id"})),
                ("Read", {}, (SERVICE + "InvalidParameter", {"parameter": "id"})),
                ("Status", {"odd": 1}, (SERVICE + "InvalidParameter", {"parameter": "odd"})),
                ("Read", {"id": "../../etc/passwd"}, ("NoSuchDump", {"id": "../../etc/passwd"})),
                ("Capture", {"target": {"pid": NO_SUCH_PID}},
                 ("NoSuchProcess", {"pid": NO_SUCH_PID}))):
            tap.equal(refusal(client.call, method, **parameters), wanted,
                      f"{method} {parameters}: {wanted[0]}")


def targets(tap, daemon):
    """Targets that name nothing, or not one thing."""
    with daemon.client() as client:
        for target in ({}, {"pid": 1, "comm": "init"}, {"pid": -1}, {"pid": 0}, {"pidfd": 0},
                       {"starttime": 5}):
            name, parameters = refusal(client.call, "Capture", target=target)
            tap.check(name == "InvalidTarget" and parameters["detail"]
                      or name == SERVICE + "InvalidParameter" and parameters["parameter"],
                      f"Capture {target}: invalid", (name, parameters))
        name, parameters = refusal(client.call, "Capture", target={"comm": "no such name"})
        tap.check(name == "NoMatch" and parameters["detail"], "a name that nobody has: NoMatch",
                  (name, parameters))
        for options in ({"depth": -1}, {"symbols": "all"}, {"odd": 1}, {"store": 1}, 7):
            name, parameters = refusal(client.call, "Capture", target={"pid": 1}, options=options)
            tap.equal(name, SERVICE + "InvalidParameter", f"options {options}: InvalidParameter")


def framing(tap, daemon):
    """Where the bytes are cut does not matter."""
    one = encode("io.snapwalk.Status")
    missing = encode("io.snapwalk.Read", {"id": "none"})
    with daemon.client() as client:
        client.send_bytes(one[:20])
        client.send_bytes(one[20:])
        tap.check("version" in client.receive()[0], "a call in two parts is answered")
        client.send_bytes(one + missing + one + one[:5])
        got = [client.receive()[0].get("pid"), refusal(client.receive), client.receive()[0]["pid"]]
        tap.equal(got, [daemon.pid, ("NoSuchDump", {"id": "none"}), daemon.pid],
                  "three calls in one write are answered in order")
        client.send_bytes(one[5:])
        tap.equal(client.receive()[0]["pid"], daemon.pid, "and the fourth, begun there, later")
        for byte in one:
            client.send_bytes(bytes([byte]))
        tap.equal(client.receive()[0]["pid"], daemon.pid, "a call byte by byte is answered")
        client.send_bytes(b" \n\t" + one.rstrip(b"\0") + b" \n\0")
        tap.equal(client.receive()[0]["pid"], daemon.pid, "white space around is JSON's own")
        null = encode("io.snapwalk.List", {"pid": None, "limit": None})
        client.send_bytes(null)
        tap.equal(client.receive(), ({"summaries": []}, False), "null is the same as absent")
        client.send_bytes(b'{"method":"io.snapwalk.Status"}\0')
        tap.equal(client.receive()[0]["pid"], daemon.pid, "parameters may be absent")


def broken(tap, daemon):
    """A message that is no call closes the connection; the daemon says nothing that could mislead."""
    deep = b"[" * 17 + b"]" * 17
    one = b'{"method":"io.snapwalk.Status","parameters":{}}'
    cases = {
        "a message of more than 1 MiB": b'{"method":"' + b"x" * CALL_MAX,
        "a whole message of more than 1 MiB": encode("io.snapwalk.Read", {"id": "x" * CALL_MAX}),
        "17 levels": b'{"method":"io.snapwalk.Read","parameters":{"id":' + deep + b"}}\0",
        "a million levels": b"[" * 1_000_000 + b"\0",
        "invalid UTF-8": b'{"method":"io.snapwalk.Read","parameters":{"id":"a\xff\xfeb"}}\0',
        "an unknown member": b'{"method":"io.snapwalk.Status","color":"red"}\0',
        "oneway and more": encode("io.snapwalk.Sample", {}, oneway=True, more=True),
        "more and upgrade": encode("io.snapwalk.Sample", {}, more=True, upgrade=True),
        "more that is no boolean": encode("io.snapwalk.Status", more=1),
        "no JSON": b"hello\0",
        "no object": b"[1,2]\0",
        "a string": b'"io.snapwalk.Status"\0',
        "two values": one + one + b"\0",
        "a comment": b"/* */" + one + b"\0",
        "single quotes": b"{'method':'io.snapwalk.Status'}\0",
        "no method": b'{"parameters":{}}\0',
        "a method that is no string": b'{"method":5}\0',
        "a method without interface": b'{"method":"Status"}\0',
        "parameters that are no object": b'{"method":"io.snapwalk.Status","parameters":[]}\0',
        "an empty message": b"\0",
        "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    }
    for what, data in cases.items():
        with daemon.client(timeout=60) as client:
            try:
                client.send_bytes(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # closed before we had said all
            tap.check(client.closed(), f"{what}: closed")
    with daemon.client() as client:
        client.send_bytes(encode("io.snapwalk.Read", {"id": "x" * (CALL_MAX - 100)}))
        name, _ = refusal(client.receive)
        tap.check(name in ("NoSuchDump", SERVICE + "InvalidParameter"),
                  "a call just below the limit is answered", name)


def modes(tap, daemon):
    with daemon.client() as client:
        client.send("Read", {"id": "none"}, oneway=True)
        client.send("Status")
        tap.equal(client.receive()[0].get("pid"), daemon.pid, "oneway: no answer, no error either")
        client.send("Status", more=True)
        parameters, continues = client.receive()
        tap.check(parameters["pid"] == daemon.pid and not continues,
                  "more of a method that has one reply: that reply")
        client.send("Status", more=False, oneway=False)
        tap.equal(client.receive()[0]["pid"], daemon.pid, "false is the same as absent")
        client.send("Status", upgrade=True)
        try:
            client.receive()
            tap.check(False, "upgrade is refused")
        except (Refused, ConnectionResetError) as error:
            tap.check(getattr(error, "name", "").startswith(SERVICE)
                      or isinstance(error, ConnectionResetError), "upgrade is refused", error)


def hang_up(tap, daemon):
    """Clients that go away in the middle."""
    before = n_fds(daemon.pid)
    with daemon.client() as client:
        client.send_bytes(encode("io.snapwalk.Status")[:10])
    daemon.client().socket.close()
    with Target("threads", 8, 30) as target:
        for _ in range(3):
            with daemon.client() as client:
                replies = client.stream("Sample", target={"pid": target.pid}, interval_ms=10)
                summaries = 0
                while summaries < 2:
                    summaries += "summary" in next(replies)
        tap.check(True, "Sample without count goes on until the hang-up")
        with daemon.client() as client:
            client.send("Capture", {"target": {"pid": target.pid}})
        with daemon.client() as client:
            client.send("Capture", {"target": {"pid": target.pid}}, more=True)
            client.receive()
        half = daemon.client()
        half.send("Status")
        half.socket.shutdown(socket.SHUT_WR)
        tap.equal(half.receive()[0]["pid"], daemon.pid, "half closed: the answer still comes")
        half.socket.close()

        def quiet():
            status = daemon.status()
            return status["connections"] == 1 and not status["capturing"] and not status["queued"]
        wait_until(quiet, "the daemon to forget clients that hung up")
        tap.check(True, "hang-ups end samples, captures and connections")
        wait_until(lambda: n_fds(daemon.pid) <= before and not daemon.workers(),
                   "descriptors and workers to go")
        tap.check(True, "and leave no descriptor and no worker")


@contextlib.contextmanager
def lingering():
    """A socket whose last close() waits for minutes: what it has sent is not read."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sender, \
            server.accept()[0]:
        sender.setblocking(False)
        try:
            while True:
                sender.send(b"x" * 65536)
        except BlockingIOError:
            pass
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
        yield sender


def has_socket(pid, inode):
    """Has the process a descriptor of this socket?"""
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{name}") == f"socket:[{inode}]":
                return True
        except OSError:
            pass
    return False


def descriptors(tap, daemon):
    """The daemon is not the one that closes a client's descriptor last: that may have to wait, and the peer chooses
    which one it is."""
    if not daemon.root:
        tap.skip("descriptors of clients", "the daemon's cannot be listed", "run as root")
        return
    n_children, status, inodes = len(children(daemon.pid)), encode("io.snapwalk.Status"), []

    def inode_of(sender):
        inodes.append(os.fstat(sender.fileno()).st_ino)
        return inodes[-1]

    def answered(what):
        with daemon.client() as other:
            tap.equal(other.call("Status")["pid"], daemon.pid, f"others are answered while {what} is closed")

    def received(inode):
        wait_until(lambda: has_socket(daemon.pid, inode), "the daemon to receive a descriptor")

    with lingering() as sender, daemon.client() as client:
        client.send_bytes(status[:10], [sender.fileno()])
        received(inode_of(sender))
        sender.close()
        client.send_bytes(status[10:])
        answered("a descriptor that no call wanted")
    with lingering() as sender, daemon.client() as client:
        inode_of(sender)
        with stopped(daemon.pid):  # it closes the last one, not we
            client.send_bytes(status[:10], [sender.fileno()] * 8)
            sender.close()
        tap.check(client.closed(), "too many descriptors end the connection")
        answered("one of too many descriptors")
    with lingering() as sender, daemon.client() as client:
        inode_of(sender)
        next(client.stream("Subscribe"))
        client.send_bytes(status, [sender.fileno()])  # not received: a call is being worked on
        sender.close()
        client.socket.close()
        answered("what was not received")
    with lingering() as sender, daemon.client() as client:
        client.send_bytes(encode("io.snapwalk.Capture", {"target": {"pidfd": 0}})[:-1], [sender.fileno()])
        received(inode_of(sender))
        sender.close()
        client.send_bytes(b"\0")
        tap.check(b"no pidfd" in client.receive_bytes(), "a socket is no pidfd")
        answered("what was given as a pidfd")
    wait_until(lambda: not any(has_socket(daemon.pid, inode) for inode in inodes)
               and len(children(daemon.pid)) <= n_children, "descriptors, and processes that close them, to go")
    tap.check(True, "no descriptor is left, and no process that closes them")
    before = n_fds(daemon.pid)
    with open("/dev/null") as file:
        for _ in range(20):
            with daemon.client() as client:
                with contextlib.suppress(BrokenPipeError):  # it may have hung up before all is sent
                    client.send_bytes(status, [file.fileno()] * SCM_MAX_FD)
                client.closed()
    wait_until(lambda: n_fds(daemon.pid) <= before, "as many descriptors as can be sent to go")
    tap.check(True, "as many descriptors as can be sent are closed")


def slow_reader(tap, daemon):
    """A client that asks and does not read costs a bounded amount, and nobody else notices."""
    with daemon.client() as client:
        client.socket.setblocking(False)
        sent = 0
        try:
            while sent < 200_000:
                sent += client.socket.send(encode("org.varlink.service.GetInterfaceDescription",
                                                  {"interface": "io.snapwalk"}) * 100)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            pass
        tap.equal(daemon.status()["pid"], daemon.pid, "others are answered meanwhile")
        memory = number_of(daemon.pid, "VmRSS")
        tap.check(memory < 64 * 1024, "the memory for a client that does not read is bounded", f"{memory} KiB")


def slow_readers(tap, daemon):
    """As many connections of one user as may be: the memory of all is bounded, and given back at once. Small replies count,
    too."""
    calls = encode("org.varlink.service.GetInterfaceDescription", {"interface": "io.snapwalk"}) * 1000
    user = UNPRIVILEGED if os.geteuid() == 0 else None

    def cpu_ticks():
        with open(f"/proc/{daemon.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[11:13]

    def has_rest():
        before = cpu_ticks()
        time.sleep(0.2)
        return cpu_ticks() == before
    with contextlib.ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(daemon.client(user)).send_bytes(calls)
        wait_until(has_rest, "the daemon to have answered what it answers")
        memory = number_of(daemon.pid, "VmRSS")
        tap.equal(daemon.status()["pid"], daemon.pid, "others are answered beside them")
        if not SANITIZED:
            tap.check(64 * 1024 < memory < 176 * 1024, "the memory for a user's connections that do not read is bounded", f"{memory} KiB")
    if SANITIZED:
        tap.skip("memory of what is not read", "a sanitizer has memory of its own and keeps what was freed", "make check")
        return
    wait_until(lambda: daemon.status() and number_of(daemon.pid, "VmRSS") < 32 * 1024, "the memory to be given back")
    tap.check(True, "the memory is given back when they hang up")


def mutate(generator, data):
    """A request with a few bytes changed, cut, doubled or put in."""
    data = bytearray(data)
    words = (b"null", b"-1", b"9223372036854775808", b"1e999", b"{", b"}", b"[", b"]", b'"', b",",
             b"true", b"\xff", b"\\u0000", b"\\ud800", b"\0", b'"more":true', b'"pid"', b":", b"{}")
    for _ in range(generator.choice((1, 1, 2, 3, 8))):
        at = generator.randrange(len(data))
        kind = generator.randrange(5)
        if kind == 0:
            data[at] = generator.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << generator.randrange(8)
        elif kind == 2:
            data[at:at] = generator.choice(words)
        elif kind == 3:
            del data[at:at + generator.randrange(1, 20)]
        else:
            data[at:at] = data[at:at + generator.randrange(1, 40)]
        if not data:
            data = bytearray(b"{")
    return bytes(data)


def answers_of(client, data):
    """Returns the answer to bytes and a Status call after them: "closed", "answered", or what is wrong. A reply that
    goes on (Subscribe) has no end and is as good as an answer."""
    try:
        client.send_bytes(data + b"\0" + encode("io.snapwalk.Status"))
        while message := client.receive_bytes():
            reply = json.loads(message.decode("utf-8"))
            if set(reply) - {"parameters", "continues", "error"}:
                return f"odd reply {reply}"
            if "error" in reply and not reply["error"].startswith(("io.snapwalk.", SERVICE)):
                return f"odd error {reply}"
            if reply.get("continues"):
                client.socket.close()
                return "closed"
            if "uptime_ms" in reply.get("parameters", {}):
                return "answered"
    except (BrokenPipeError, ConnectionResetError):
        pass
    client.socket.close()
    return "closed"


def mutations(tap, daemon):
    """As a user whom the daemon lets capture nothing of what a mutated pid may hit."""
    target = {"pid": NO_SUCH_PID, "starttime": 12345}
    requests = [encode(method, parameters, **flags).rstrip(b"\0") for method, parameters, flags in (
        ("io.snapwalk.Capture", {"target": target, "reason": "test",
                                 "options": {"depth": 30, "symbols": "names", "store": False}}, {}),
        ("io.snapwalk.Capture", {"target": {"comm": "nobody here"}}, {"more": True}),
        ("io.snapwalk.Capture", {"target": {"pidfd": 0}}, {}),
        ("io.snapwalk.Sample", {"target": target, "interval_ms": 50, "count": 2}, {"more": True}),
        ("io.snapwalk.List", {"pid": 5, "comm": "x", "since": "2026-11-20T10:00:00Z",
                              "limit": 3}, {}),
        ("io.snapwalk.Read", {"id": "20261120T103550.084579Z-4242-9f3c2a77"}, {}),
        ("io.snapwalk.Trigger", {"source": "alertmanager", "status": "firing",
                                 "fingerprint": "88420c30b31dd8ee", "labels": {"a": "b"}}, {}),
        ("io.snapwalk.Subscribe", {}, {"more": True}),
        ("io.snapwalk.Status", {}, {}),
        (SERVICE + "GetInfo", {}, {}),
        (SERVICE + "GetInterfaceDescription", {"interface": "io.snapwalk"}, {}))]
    generator = seeded(20261120)
    fds = n_fds(daemon.pid)
    count = {"closed": 0, "answered": 0}
    odd = []
    client, memory = None, []
    for n in range(MUTATIONS):
        if client is None or client.socket.fileno() < 0:
            client = Client(daemon.socket_path, UNPRIVILEGED, timeout=60)
        data = mutate(generator, generator.choice(requests))
        got = answers_of(client, data)
        if got in count:
            count[got] += 1
        else:
            odd.append((n, data, got))
        if n % (MUTATIONS // 8) == 0:
            memory.append(number_of(daemon.pid, "VmRSS"))
    client.socket.close()
    tap.equal(odd, [], f"{MUTATIONS} mutated requests: a typed error or a closed connection")
    tap.check(min(count.values()) > MUTATIONS // 20, "both of them often", count)
    tap.check(daemon.alive(), "the daemon is alive")
    memory.append(number_of(daemon.pid, "VmRSS"))
    # A leak grows in each part, buffers and caches in few.
    tap.check(min(b - a for a, b in zip(memory, memory[1:])) < 64, "the daemon's memory is flat",
              f"{memory} KiB")
    wait_until(lambda: n_fds(daemon.pid) <= fds, "its descriptors to be as many as before")
    tap.check(True, "the daemon's descriptors are as many as before")


def main():
    tap = Tap()
    with Daemon() as daemon:
        for test in tap.chosen(service, targets, framing, broken, modes, hang_up, descriptors, slow_reader, slow_readers, mutations):
            tap.guard(test, daemon)
            if not tap.check(daemon.process.poll() is None, f"alive after {test.__name__}",
                             daemon.log()):
                break
    tap.done()


if __name__ == "__main__":
    main()
