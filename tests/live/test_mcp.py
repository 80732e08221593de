#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 6s
"""The Model Context Protocol on standard input and output: its messages, each tool, bounds, and what is wrong."""
import json
import os
import signal
import subprocess
import tempfile
import time

import jsonschema

from daemon import Daemon
from harness import SNAPWALK, Tap, Target, dump, hangs_s, slowness, wait_blocked, wait_until
from made_dumps import ranks

WAITS = (0, 35, 202, 230, 232)  # read, nanosleep, futex, clock_nanosleep, epoll_wait


class Session:
    """A client."""

    def __init__(self, **environment):
        self.process = subprocess.Popen([SNAPWALK, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.last = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.status = self.process.wait(timeout=hangs_s())
        self.process.stdout.close()

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **params):
        self.last += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.last, answer
        return answer

    def call(self, tool, **arguments):
        """The text of a tool's answer, and whether it is an error."""
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        result = answer.get("result") or {"content": [{"text": answer["error"]["message"]}],
                                          "isError": answer["error"]["code"]}
        return result["content"][0]["text"], result["isError"]


def test_messages(tap):
    with Session() as session:
        answer = session.ask("initialize", protocolVersion="2025-03-26", capabilities={},
                             clientInfo={"name": "test", "version": "1"})["result"]
        tap.equal((answer["protocolVersion"], answer["capabilities"], answer["serverInfo"]["name"]),
                  ("2025-03-26", {"tools": {}}, "snapwalk"), "initialize")
        tap.equal(session.ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"], "2025-06-18",
                  "a version that is not known: the newest is offered")
        session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        session.send('{"jsonrpc":"2.0","id":7,"result":{}}')
        for text in ("", "  \t ", "\r"):
            session.send(text)
        tap.equal(session.ask("ping"), {"jsonrpc": "2.0", "id": session.last, "result": {}},
                  "notifications, answers and empty lines have no answer")
        tools = session.ask("tools/list")["result"]["tools"]
        tap.equal([tool["name"] for tool in tools], ["dump", "tasks", "explain_lock", "sample", "list", "show", "merge"],
                  "the tools")
        for tool in tools:
            jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
            tap.check(tool["annotations"]["readOnlyHint"] and tool["description"] and
                      set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"]),
                      f"{tool['name']}: described, and read-only", tool)
        session.send('{"jsonrpc":"2.0","id":"x\\u001b\\"","method":"ping"}')
        tap.equal(session.receive()["id"], 'x\x1b"', "an id that is a string comes back")
        for text, code in (("nonsense", -32700), ("[" * 100000, -32700), ("x" * (1 << 21), -32700), ("[]", -32600), ("7", -32600),
                           ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                           ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1}x', -32700)):
            session.send(text)
            answer = session.receive()
            tap.equal((answer["id"], answer["error"]["code"]), (None, code), f"{text[:50]} is an error")
        tap.equal(session.ask("resources/list")["error"]["code"], -32601, "no such method")
        tap.equal(session.ask("tools/call", name="rm")["error"]["code"], -32602, "no such tool")
    tap.equal(session.status, 0, "it ends with its input")


def test_tools(tap):
    with Target("threads", 3, 10) as target, Target("locks", "deadlock") as stuck, Daemon() as daemon, \
            Session(SNAPWALK_SOCKET=daemon.socket_path) as session, tempfile.TemporaryDirectory() as directory:
        wait_blocked(target.pid, WAITS)
        wait_until(lambda: dump(stuck.pid).get("deadlocks"), "the deadlock")
        text, wrong = session.call("dump", pid=target.pid)
        tap.check(not wrong and text.startswith(f"threads, pid {target.pid}:") and "\x1b" not in text, "dump", text)
        text, wrong = session.call("dump", pid=stuck.pid)
        tap.check(not wrong and "DEADLOCK" in text, "dump: the verdict", text)
        report = dump(stuck.pid)
        address = next(t["blocked_on"]["address"] for t in report["threads"] if t.get("blocked_on", {}).get("owner_tid"))
        text, wrong = session.call("explain_lock", pid=stuck.pid, address=address)
        tap.check(not wrong and "mutex" in text, "explain_lock", text)
        text, wrong = session.call("sample", pid=target.pid, seconds=1, mode="off")
        tap.check(not wrong and f"pid {target.pid}" in text, "sample", text)
        text, wrong = session.call("dump", pid=target.pid, max_lines=1)
        tap.check(not wrong and text.splitlines()[1].startswith("... ") and len(text.splitlines()) == 2, "max_lines", text)
        paths = ranks(directory, 8, odd=3)
        text, wrong = session.call("merge", dumps=paths, label="rank=file")
        tap.check(not wrong and "7 of 8 ranks are in all_reduce (dist.py:120); rank 3 is in load_batch" in text, "merge", text)
        text, wrong = session.call("show", dump=paths[0])
        tap.check(not wrong and "all_reduce" in text, "show", text)
        text, wrong = session.call("tasks", pid=target.pid)
        tap.check(not wrong and "not a program of Python" in text, "tasks: what is missing is said", text)
        text, wrong = session.call("list", since="1h")
        tap.check(isinstance(wrong, bool) and text, "list", text)
        text, wrong = session.call("dump", pid=999999999)
        tap.check(wrong is True and "999999999" in text, "what a command complains about is a result", text)
        for tool, arguments in (("dump", {"pid": "1"}), ("dump", {"pid": 0}), ("dump", {"nothing": 1}), ("sample", {"pid": 1, "seconds": 61}),
                                ("show", {}), ("show", {"dump": "--output=x"}), ("show", {"dump": ""}), ("merge", {"dumps": "x"}),
                                ("merge", {"dumps": ["a"] * 257}), ("merge", {"dumps": [1]}), ("dump", {"all": 1, "pid": 1}),
                                ("dump", {"comm": "x" * 2000})):
            tap.equal(session.call(tool, **arguments)[1], -32602, f"refused: {tool} {str(arguments)[:40]}")
        for tool, arguments, sentence in (
                ("dump", {"pid": "1"}, "pid: a whole number from 1 to 2147483647 is expected"),
                ("dump", {"nothing": 1}, "nothing: the tool has no such argument"), ("show", {}, "dump: the argument is missing"),
                ("dump", {"all": 1}, "all: true or false is expected"), ("merge", {"dumps": [1]}, "dumps: a string is expected that is not empty"),
                ("merge", {"dumps": []}, "dumps: an array of strings is expected"),
                ("merge", {"dumps": ["a"] * 257}, "dumps: more than 256 strings are given")):
            tap.equal(session.call(tool, **arguments)[0], sentence, f"the argument is named: {sentence}")
        before = sorted(os.listdir(directory))
        session.call("dump", comm="x -o y", unit="-o", pid=target.pid)
        tap.equal(sorted(os.listdir(directory)), before, "a name is never an option")


def begin_sample(session, target, number, seconds=60):
    session.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": "sample", "arguments": {"pid": target.pid, "seconds": seconds}}}))


def children(session):
    with open(f"/proc/{session.process.pid}/task/{session.process.pid}/children", encoding="utf-8") as file:
        return file.read().split()


def test_during_call(tap):
    """A ping is answered during a call, a cancellation ends it, and other messages wait."""
    def cancel(number):
        return json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    with Target("threads", 1, 10) as target, Session() as session:
        begin_sample(session, target, "first")
        wait_until(lambda: children(session), "the sample to begin")
        for number, method in ((7, "ping"), (8, "resources/list"), (9, "resources/list"), (10, "tools/list"), (11, "ping")):
            session.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}))
        tap.equal([session.receive()["id"] for _ in range(2)], [7, 11], "pings are answered during a call")
        session.send(cancel(9))
        session.send(cancel(999))
        session.send(cancel("first"))
        tap.equal([session.receive()["id"] for _ in range(2)], [8, 10],
                  "a call that is cancelled has no answer, nor has a request that waited for its end")
        tap.equal(children(session), [], "the command has ended")
        begin_sample(session, target, 12)
        wait_until(lambda: children(session), "the sample to begin")
        begin = time.monotonic()
        session.process.stdin.close()
        answer = session.receive()
        tap.check(answer["id"] == 12 and answer["result"]["isError"] and
                  "the input of the server had ended" in answer["result"]["content"][0]["text"],
                  "the end of the input ends a call, which says it", answer)
        tap.equal(session.process.wait(timeout=hangs_s()), 0, "and the server")
        tap.check(time.monotonic() - begin < 10 * slowness(), "soon", time.monotonic() - begin)


def test_end(tap):
    """A client that goes away in the middle of a long call takes the capture with it."""
    with Target("threads", 1, 10) as target:
        session = Session()
        begin_sample(session, target, 1)
        wait_until(lambda: children(session), "the sample to begin")
        child = int(children(session)[0])
        session.process.send_signal(signal.SIGTERM)
        session.process.wait(timeout=hangs_s())
        wait_until(lambda: not os.path.exists(f"/proc/{child}") or open(f"/proc/{child}/stat").read().split()[2] == "Z",
                   "the sample to end")
        tap.check(True, "a command ends with the server", "")
        session.process.stdin.close()
        session.process.stdout.close()


def test_client_goes(tap):
    """Nobody is there to read the answer: the server ends, and a command that does not hear SIGTERM ends with it."""
    with Target("threads", 1, 10) as target:
        session = Session()
        begin_sample(session, target, 1)
        wait_until(lambda: children(session), "the sample to begin")
        child = int(children(session)[0])
        wait_until(lambda: os.readlink(f"/proc/{child}/fd/0") == "/dev/null", "the child to be started")
        os.kill(child, signal.SIGSTOP)
        wait_until(lambda: open(f"/proc/{child}/stat").read().split()[2] == "T", "the child to be stopped")
        session.process.stdin.close()
        session.process.stdout.close()
        try:
            tap.equal(session.process.wait(timeout=15), 0, "the server ends when its client goes")
        except subprocess.TimeoutExpired:
            tap.check(False, "the server ends when its client goes", "it is there after 15 s of 60")
            os.kill(child, signal.SIGKILL)
            session.process.wait(timeout=hangs_s())
        tap.check(not os.path.exists(f"/proc/{child}"), "so does the command", child)


if __name__ == "__main__":
    Tap.main(test_messages, test_tools, test_during_call, test_end, test_client_goes)
