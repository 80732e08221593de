#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""The captures of one Sample: one worker makes them, as long as it can, and others are as good; what one of them
found out of names the next ones need not look up."""
import contextlib
import datetime
import os
import shutil
import signal
import socket
import struct
import sys
import time

from daemon import Daemon, Refused, children, ended, join, n_fds, name_of, number_of, stopped
from harness import (BUILD, TARGETS, Tap, Target, own_functions, public_directory, state_of, wait_blocked,
                     wait_until)
from safety import open_files, status_field
from test_random_stop import said, wrong_calls

OWN = ("plugin_inner", "plugin_run")
USER = 65532
INTERVAL_MS = 300  # in which a worker is idle for most of the time
PASSES = {"seq", "time", "uptime_ms", "cpu_ns", "since_ms", "stop_us", "timings"}


def captures(replies):
    """Yield one dump after the other."""
    parts = []
    for reply in replies:
        parts.append(reply)
        if "summary" in reply:
            yield join(parts)[0]
            parts = []


def lines_of(dump):
    """{function of the library: (file, line)}"""
    return {f["function"]: (f.get("file"), f.get("line"))
            for stack in dump["stacks"] for f in stack["frames"] if f.get("function") in OWN}


def seen_in(dump):
    """All that a capture of threads that do not move says of code."""
    return ([(s["id"], s["end"], s["frames"]) for s in dump["stacks"]], dump["modules"])


def wipe_debug_information(path):
    """The file stays the same one: inode, size and time."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        data = file.read()
        table, = struct.unpack_from("<Q", data, 40)
        n, names = struct.unpack_from("<HH", data, 60)
        sections = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(n)]
        for name, _, _, _, offset, size in sections:
            begin = sections[names][4] + name
            if data[begin:].startswith((b".debug_info\0", b".debug_line\0")):
                file.seek(offset)
                file.write(bytes(size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def pairs(daemon):
    """Workers that make one capture after the other, each with its parser."""
    return [(worker, parser) for worker in daemon.workers() if name_of(worker) == "snapwalk-worker"
            for parser in children(worker) if name_of(parser) == "snapwalk-parser"]


def outcome(replies):
    """The next dump, or in words why there is none."""
    parts = []
    for reply in replies:
        if "error" in reply:
            return reply["error"]
        parts.append(reply)
        if "summary" in reply:
            return join(parts)[0]
    return None


def pair_of(daemon):
    """The only worker of a series, which has made a capture, with its parser. Workers that have ended may still be
    listed."""
    def one():
        found = [pair for pair in pairs(daemon) if not any(map(ended, pair))]
        return found[0] if len(found) == 1 else None
    return wait_until(one, "one worker with its parser")


def capturing(daemon):
    return daemon.status()["capturing"] > 0


@contextlib.contextmanager
def idle(daemon):
    """A worker of a series that stands still since between two captures, unless it was asked right now; its parser."""
    while True:
        pair = pair_of(daemon)
        with stopped(pair[0]):
            if not capturing(daemon):
                yield pair
                return
        wait_until(lambda: not capturing(daemon), "a capture to end")


@contextlib.contextmanager
def asked(daemon):
    """The same when it has been asked for the next capture, of which it has done nothing. The dump that was made before
    may not have been read yet."""
    with idle(daemon) as (worker, _):
        wait_until(lambda: capturing(daemon), "the next capture to be asked for")
        yield worker


def since(begin, replies):
    """The first outcome that is of no capture from before that time."""
    made = outcome(replies)
    while isinstance(made, dict) and seconds_of(made["time"]) < begin:
        made = outcome(replies)
    return made


def seconds_of(text):
    """Since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def one_worker(tap, daemon):
    with Target("threads", 20, 5) as target, daemon.client() as client:
        seen, numbers = set(), []
        for dump in captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10,
                                           count=30)):
            numbers.append(dump["seq"])
            if len(numbers) < 30:  # it ends with the last one
                seen.update(pairs(daemon) or [None])
        tap.equal(numbers, list(range(1, 31)), "thirty captures")
        tap.check(len(seen) == 1 and None not in seen, "the dumps are of one worker and its parser", seen)
        wait_until(lambda: not daemon.workers(), "it to end")


def stays_small(tap, daemon):
    with Target("threads", 100, 10) as target, daemon.client() as client:
        dumps = captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10))
        sizes = []
        for n in (100, 200):  # until it has all that it needs, and again
            for _ in range(n):
                next(dumps)
            sizes.append({pid: number_of(pid, "RssAnon") for pair in pairs(daemon) for pid in pair})
        tap.check(sizes[0].keys() == sizes[1].keys() and
                  all(sizes[1][pid] < sizes[0][pid] + 2048 for pid in sizes[0]),
                  "neither of them grows", sizes)


def privileges(tap, daemon):
    if not daemon.root:
        tap.skip("who parses captures", "not root", tap.ROOT)
        return
    with Target("threads", 20, 5) as target, daemon.client() as client:
        dumps = captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10))
        for _ in range(3):
            next(dumps)
        worker, parser = pair_of(daemon)
        tap.equal((status_field(parser, parser, "CapEff"), status_field(parser, parser, "CapPrm")),
                  ("0" * 16, "0" * 16), "the parser has no capability")
        tap.check(int(status_field(parser, parser, "Seccomp_filters")) >
                  int(status_field(worker, worker, "Seccomp_filters")), "and a filter more than the worker")
        links = open_files(parser)
        tap.equal([link for link in links if "bpf" in link or "turns" in link or "socket" in link],
                  [], "it has nothing of the iterator, and no way to the daemon")
        tap.equal(int(status_field(worker, worker, "CapPrm"), 16) & ~(1 << 19 | 1 << 2), 0,
                  "the worker has the capabilities of a capture")
    wait_until(lambda: ended(worker) and ended(parser), "both to end with the client")
    tap.check(True, "both end with the client")


def lasting(value):
    """Returns the part that two captures of a process whose threads wait have in common; of the rest, that it is
    there."""
    if isinstance(value, list):
        return [lasting(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: k if k in PASSES else lasting(v) for k, v in value.items()}


def as_others(tap, daemon):
    """The dumps that follow are those that a worker of their own would have made."""
    for words in (("threads", 20, 5), ("locks", "deadlock"), ("locks", "kinds"),
                  ("blocking", 300000, 300000)):
        with Target(*words) as target, daemon.client() as client:
            replies = client.stream("Sample", target={"pid": target.pid}, interval_ms=100)
            for _ in range(3):
                of_one = outcome(replies)
            for worker, _ in pairs(daemon):
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda: ended(worker), "it to end")
            fresh = outcome(replies)
            while isinstance(fresh, str):  # it was at work
                fresh = outcome(replies)
            tap.equal(sorted(of_one["timings"]), sorted(fresh["timings"]),
                      f"{' '.join(map(str, words))}: the same timings")
            of_one.pop("id"), fresh.pop("id")
            of_one, fresh = lasting(of_one), lasting(fresh)
            tap.equal({k: v for k, v in of_one.items() if v != fresh.get(k)}, {},
                      f"{' '.join(map(str, words))}: as of another worker")
            tap.equal(sorted(of_one), sorted(fresh), f"{' '.join(map(str, words))}: all of it")


def calls_of(dump, tid):
    """As the program tells them; a stub on the way into a library has no name."""
    names = own_functions(dump, tid)
    return [name for i, name in enumerate(names)
            if name != "?" or (i > 0 and names[i - 1] != "<signal>")]


def busy(tap, daemon):
    """At random instants of a program that says who calls whom in it."""
    with Target("busy") as target, daemon.client() as client:
        edges, roots = said(target, "edge"), said(target, "root")
        made = list(captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10, count=100)))
    chains = {(t["comm"], *calls_of(d, t["tid"])) for d in made for t in d["threads"] if t["captured"]}
    wrong = [(w, chain) for chain in chains for w in wrong_calls(chain, edges, roots)]
    tap.check(len(chains) >= 10 and not wrong, f"all calls on {len(chains)} stacks are calls that it makes",
              "\n".join(map(str, wrong[:10])))
    cut = [(s["end"], s["why"]) for d in made for s in d["stacks"] if s["end"] != "complete"]
    tap.equal(cut, [], "and all are whole")


def moves(tap, daemon):
    """Threads that come and go, and code that is loaded: each capture is of its own instant."""
    with Target("churn") as target, daemon.client() as client:
        dumps = captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10, count=40))
        made = list(dumps)
        tap.equal(len(made), 40, "forty captures of threads that come and go")
        tids = [tuple(t["tid"] for t in d["threads"]) for d in made]
        tap.check(len(set(tids)) > 20, "which are others each time", len(set(tids)))
        good = sum(s["end"] == "complete" for d in made for s in d["stacks"])
        bad = [(s["end"], s["why"]) for d in made for s in d["stacks"] if s["end"] != "complete"]
        tap.check(len(bad) * 20 <= good, "their stacks are complete", (good, bad[:5]))


def other_program(tap, daemon):
    with Target("sh", "-c", "echo ready; read x; exec sleep 1000", path="/bin/sh") as target, \
            daemon.client() as client:
        wait_blocked(target.pid, calls=(0,))
        replies = client.stream("Sample", target={"pid": target.pid}, interval_ms=INTERVAL_MS)
        for _ in range(3):
            first = outcome(replies)
        with asked(daemon) as worker:  # one that is at work says ProcessChanged
            target.send("go")
            wait_until(lambda: name_of(target.pid) == "sleep", "the other program")
            wait_blocked(target.pid, calls=(35, 230))
            begin = time.time()
        second = since(begin, replies)
        third, fourth = outcome(replies), outcome(replies)
        tap.equal([d["process"]["comm"] for d in (first, second, third, fourth)],
                  [first["process"]["comm"], "sleep", "sleep", "sleep"], "it is captured as what it is")
        paths = [{os.path.basename(m["path"]) for m in d["modules"]} for d in (first, second, fourth)]
        tap.check("sleep" not in paths[0] and "sleep" in paths[1] and paths[1] == paths[2],
                  "with its modules", paths)
        tap.check(all(s["end"] == "complete" for d in (second, fourth) for s in d["stacks"]),
                  "and whole stacks")
        tap.check(pair_of(daemon)[0] != worker, "by another worker", (worker, pairs(daemon)))


def becomes(tap, daemon, mode, what):
    """The process of a user that executes a program of this mode, when the daemon has found that it may be captured."""
    program = os.path.join(public_directory(), f"sleep-{mode:o}")
    shutil.copy("/bin/sleep", program)
    os.chmod(program, mode)
    with Target("sh", "-c", f"echo ready; read x; exec {program} 1000", path="/bin/sh", user=USER,
                group=USER, extra_groups=[]) as target, daemon.client(USER) as client:
        wait_blocked(target.pid, calls=(0,))
        replies = client.stream("Sample", target={"pid": target.pid}, interval_ms=INTERVAL_MS)
        for _ in range(3):
            outcome(replies)
        with asked(daemon):
            target.send("go")
            wait_until(lambda: name_of(target.pid).startswith("sleep"), "the other program")
            if mode & 0o4000 and status_field(target.pid, target.pid, "Uid").split()[1] != "0":
                tap.skip(what, "no set-user-ID programs", "a /tmp without nosuid")
                return
            begin = time.time()
        try:
            tap.check(False, what, since(begin, replies))
        except Refused as error:
            tap.equal(error.name, "NotPermitted", what)
    wait_until(lambda: not daemon.workers(), "the worker to end")


def not_permitted(tap, daemon):
    if not daemon.root:
        tap.skip("another user", "not root", tap.ROOT)
        return
    becomes(tap, daemon, 0o4755, "nothing is given away of a process that became root's")
    becomes(tap, daemon, 0o711, "nor of one that its user may not look at any more")


def killed_idle(daemon, replies):
    """The next outcome after the worker was killed between two captures."""
    for _ in range(10):
        with idle(daemon) as (worker, parser):
            os.kill(worker, signal.SIGKILL)
            begin = time.time()
        wait_until(lambda: ended(worker) and ended(parser), "both to end")
        made = since(begin, replies)
        if made != "the worker died":  # it may have been asked right before, but not each time
            break
    return made


def killed(tap, daemon):
    with Target("threads", 4, 10) as target, daemon.client() as client:
        replies = client.stream("Sample", target={"pid": target.pid}, interval_ms=INTERVAL_MS)
        outcome(replies)
        tap.check("threads" in killed_idle(daemon, replies), "a worker that dies between two captures costs none")
        _, parser = pair_of(daemon)
        os.kill(parser, signal.SIGKILL)
        wait_until(lambda: ended(parser), "it to end")
        tap.check("parses its samples died" in since(time.time(), replies), "a parser that dies costs one")
        tap.check("threads" in outcome(replies), "and no other")
        with asked(daemon) as worker:
            os.kill(worker, signal.SIGKILL)
            begin = time.time()
        tap.equal(since(begin, replies), "the worker died", "so does a worker at work")
        tap.check("threads" in outcome(replies) and pair_of(daemon)[0] != worker, "and no other")


def left_alone(tap, daemon):
    """The processes of a worker that is killed end with it, and the daemon waits for that: nobody else need."""
    with Target("threads", 4, 10) as target, daemon.client() as client:
        replies = client.stream("Sample", target={"pid": target.pid}, interval_ms=500)
        outcome(replies)
        worker, _ = pair_of(daemon)
        family = [worker, *children(worker)]
        with stopped(daemon.spawner):
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: all(map(ended, family)), "all of them to end")
            # Some may have ended before it did.
            tap.equal({status_field(pid, pid, "PPid") for pid in family} - {""}, {str(daemon.spawner)},
                      "who belonged to a worker is the spawner's")
        wait_until(lambda: not any(map(state_of, family)), "the spawner to wait for them")
        # On a slow machine it may have been at work as it was killed.
        tap.check(wait_until(lambda: "threads" in outcome(replies), "a capture"), "another one makes the next capture")


def hangs(tap, _):
    with Daemon({"TimeoutMs": 2000}) as daemon, Target("threads", 4, 10) as target, \
            daemon.client() as client:
        replies = client.stream("Sample", target={"pid": target.pid}, interval_ms=INTERVAL_MS)
        wait_until(lambda: "threads" in outcome(replies), "a capture")
        with asked(daemon) as worker:
            tap.equal(since(time.time(), replies), "it took longer than 2000 ms", "a worker that hangs costs one dump")
            wait_until(lambda: "threads" in outcome(replies), "another one to go on")
            tap.check(ended(worker), "the worker is ended")


def slow_client(tap, daemon):
    """A slow client is sampled as slowly as it reads, and the worker waits for it."""
    def n_captures():
        return daemon.status()["counters"]["captures_total"]

    def stands_still():
        before = n_captures()
        for _ in range(20):
            daemon.capture(other.pid, options={"store": False})
        return n_captures() == before + 20

    with Target("threads", 300, 20) as target, Target("threads", 1, 1) as other, \
            daemon.client() as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.send("Sample", {"target": {"pid": target.pid}, "interval_ms": 10}, more=True)
        # Once may be by chance: a capture of many threads takes its time.
        wait_until(lambda: pairs(daemon) and all(stands_still() for _ in range(3)), "the samples to stop")
        before = pairs(daemon)
        tap.equal(len(before), 1, "a process is not sampled for a client that does not read")
        replies = (client.receive()[0] for _ in iter(int, 1))
        numbers = [outcome(replies)["seq"] for _ in range(10)]
        tap.equal(numbers, list(range(1, 11)), "a client that reads has them all")
        tap.equal(pairs(daemon), before, "by the same worker")


def others_come_in(tap, _):
    """A capture of something else is not kept waiting by a Sample as fast as can be, with one worker at once."""
    with Daemon({"Workers": 1}) as daemon, Target("threads", 4, 10) as target, \
            Target("threads", 2, 5) as other, daemon.client() as client:
        dumps = captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10))
        next(dumps)
        got = [len(daemon.capture(other.pid)["dump"]["threads"]) for _ in range(10)]
        tap.equal(got, [3] * 10, "ten captures of another process")
        same = daemon.capture(target.pid, options={"depth": 20})["dump"]
        tap.equal(len(same["threads"]), 5, "and one of the same")
        tap.check(next(dumps)["seq"] >= 2, "while it goes on")


def not_native(tap, daemon):
    """Code that a runtime executes: a worker for each."""
    with Target("python", "-c", "print('ready', flush=True); import signal; signal.pause()",
                path=sys.executable) as target, daemon.client() as client:
        dumps = captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=1000))
        for _ in range(2):
            kinds = {f["kind"] for s in next(dumps)["stacks"] for f in s["frames"]}
            wait_until(lambda: not daemon.workers(), "the worker to end")
        tap.check("cpython" in kinds, "each capture of Python has its worker", kinds)


def names_are_kept(tap, daemon):
    path = os.path.join(daemon.directory, "plugin.so")
    shutil.copy(os.path.join(TARGETS, "plugin.so"), path)
    with Target("plugin_user", path) as target, daemon.client() as client:
        wait_blocked(target.pid, calls=(0, 34))
        dumps = captures(client.stream("Sample", target={"pid": target.pid}, interval_ms=10))
        first = next(dumps)
        wanted = lines_of(first)
        if not tap.check(sorted(wanted) == sorted(OWN) and all(line for _, line in wanted.values()),
                         "the first capture has the lines of the library", wanted):
            return
        # No worker looks at it while it has another time; the one that has seen it is gone.
        with stopped(daemon.spawner):
            for worker, _ in pairs(daemon):
                os.kill(worker, signal.SIGKILL)
            wait_until(lambda: all(map(ended, daemon.workers())), "the workers to end")
            wipe_debug_information(path)
        # The worker of before may have been at work, or waited for the spawner.
        later = [next(dumps) for _ in range(3)][-1]
        tap.equal(lines_of(later), wanted, "so have those after it, though the file has none now")
        tap.equal(seen_in(later), seen_in(first), "and all else is the same")
        # Other options: not the capture that is under way.
        fresh = lines_of(daemon.capture(target.pid, options={"depth": 50})["dump"])
        tap.equal(sorted(fresh), sorted(OWN), "a capture that is none of them has the functions")
        tap.check(not any(line for _, line in fresh.values()), "without lines", fresh)


def nothing_grows(tap, daemon):
    """Each Sample that ends gives back what it kept."""
    with Target("threads", 4, 10) as target:
        def run():
            with daemon.client() as client:
                return sum(1 for _ in captures(client.stream(
                    "Sample", target={"pid": target.pid}, interval_ms=10, count=2)))
        tap.equal(run(), 2, "as many captures as asked for")
        wait_until(lambda: not daemon.workers(), "the workers to end")
        if not daemon.root:  # it cannot be looked into
            return
        files = n_fds(daemon.pid)
        tap.equal([run() for _ in range(4)], [2] * 4, "again, four times")
        wait_until(lambda: n_fds(daemon.pid) <= files, "the descriptors to be closed")
        tap.check(number_of(daemon.pid, "RssShmem") == 0, "the daemon maps none of it")


def main():
    tap = Tap()
    if not os.path.exists(os.path.join(BUILD, "bin", "snapwalkd")):
        sys.exit("snapwalkd was not built")
    with Daemon() as daemon:
        for test in tap.chosen(one_worker, stays_small, privileges, as_others, busy, moves, other_program, not_permitted, killed,
                     left_alone, hangs, slow_client, others_come_in, not_native, names_are_kept, nothing_grows):
            tap.guard(test, daemon)
    tap.done()


if __name__ == "__main__":
    main()
