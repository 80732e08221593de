#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk-ship: what the daemon keeps arrives at a receiver of OpenTelemetry, once and in order, whatever the receiver
does; what cannot arrive is counted and said."""
import base64
import contextlib
import email.utils
import os
import pwd
import signal
import subprocess
import tempfile
import threading
import time

from daemon import Daemon, number_of, refusal
from harness import Tap, Target, public, seeded, wait_until
from kept_store import BEGIN_NS, Store, profile
from otlp_rules import check
from receiver import SHIP, TOKEN, USER, Receiver, Ship, profile_ids, records

AT_ONCE = 5  # tests wait more than they work
# The shipper's user is one that may capture nothing.
KEEP = {"ShipUser": USER, "TriggerUser": "daemon", "RatePerMinute": 1000000, "RateBurst": 100000}


def both(receiver, **more):
    return {"Profiles": {"URL": receiver.url("/v1development/profiles"), **more},
            "Dumps": {"URL": receiver.url("/v1/logs"), **more}}


def own_directory(daemon):
    """A folder that the shipper's user may use."""
    directory = tempfile.mkdtemp(dir=daemon.directory)
    os.chmod(directory, 0o755)
    return directory


def test_arrives(tap, daemon):
    """A dump that was kept before, one that is made while the shipper runs, and a profile."""
    with Target("threads", 3, 10) as process, Receiver() as receiver:
        before = daemon.capture(process.pid, reason="before")["dump"]["id"]
        sections = both(receiver)
        with Ship(daemon.socket_path, own_directory(daemon), sections) as ship:
            sections["Dumps"]["TokenFile"] = ship.token_file
            ship.stop()
            ship.write_config()
            ship.start()
            ship.wait(lambda: receiver.taken, "the dump that was there to arrive")
            after = daemon.capture(process.pid, reason="after")["dump"]["id"]
            profile = daemon.call("Profile", target={"pid": process.pid}, duration_ms=200, rate_hz=20)["profile"]["id"]
            ship.wait(lambda: ship.counted("profiles", "sent") == 1 and ship.counted("dumps", "sent") == 2,
                      "all three to arrive")
            logs = [r for r in receiver.taken if r.path == "/v1/logs"]
            got = [record for request in logs for record in records(request.body)]
            tap.equal([attributes["log.record.uid"] for _, attributes, _ in got], [before, after],
                      "each dump is a record of logs with its id, in order")
            resource, attributes, said = got[1]
            tap.equal((resource["process.pid"], resource["process.executable.name"], attributes["snapwalk.dump.reason"]),
                      (process.pid, "threads", "after"), "the resource is the process, and the reason is said")
            tap.check(f"pid {process.pid}" in said and said.count("#0") >= 1, "the body is the dump's text", said)
            first = logs[0].headers
            tap.equal((first["Content-Type"], first["Content-Encoding"], first["Authorization"]),
                      ("application/x-protobuf", "gzip", f"Bearer {TOKEN}"), "protobuf, packed, with the token")
            sent = [r for r in receiver.taken if r.path == "/v1development/profiles"]
            result = check(sent[0].body)
            tap.equal(result.problems, [], "the profile keeps the rules of OTLP")
            tap.equal(result.resources[0]["process.pid"], process.pid, "and is that of the process")
            tap.equal(len(profile_ids(sent[0].body)[0][0]), 32, "it has an id of 16 bytes")
            tap.check("Authorization" not in sent[0].headers, "a section without a token sends none", sent[0].headers)
            tap.check(len({r.key for r in receiver.taken}) == len(receiver.taken) and all(r.key for r in receiver.taken),
                      "each batch has a key of its own", [r.key for r in receiver.taken])
            ship.wait(lambda: not ship.batches(), "the spool to be empty")
            ship.stop()
            n = len(receiver.seen)
            ship.start()
            third = daemon.capture(process.pid)["dump"]["id"]
            ship.wait(lambda: len(receiver.taken) > n, "a dump after a new start")
            tap.equal([record[1]["log.record.uid"] for request in receiver.seen[n:] for record in records(request.body)],
                      [third], "a new start sends nothing again")
            tap.check(profile not in ship.log() and "lost" not in ship.log(), "nothing is said to be lost", ship.log())


def test_rights(tap, daemon):
    """The user of ShipUser= sees what is kept, but for Deny=, and captures nothing; others see nothing."""
    if os.geteuid() != 0:
        tap.skip("ShipUser=", "without root there are no other users", Tap.ROOT)
        return
    ship, other = pwd.getpwnam(USER).pw_uid, pwd.getpwnam("nobody").pw_uid
    with Target("threads", 3, 10) as process, Target("demo") as denied:
        names = [daemon.capture(target.pid)["dump"]["id"] for target in (process, denied)]

        def listed(uid):
            with daemon.client(uid=uid) as client:
                return {summary["id"] for summary in client.call("List")["summaries"]} & set(names)
        tap.equal(listed(ship), set(names), "ShipUser= sees what is kept")
        tap.equal(listed(other), set(), "another user does not")
        for what, name in (("a process of another's", names[0]), ("none that is kept", "none")):
            with daemon.client(uid=other) as client:
                tap.equal(refusal(client.call, "Read", id=name)[0], "NoSuchDump", f"another user reads nothing: {what}")
        with daemon.client(uid=ship) as client:
            tap.equal(client.call("Read", id=names[0])["dump"]["id"], names[0], "ShipUser= reads it")
            for method, arguments, wanted in (("Capture", {"target": {"pid": process.pid}}, "NotPermitted"),
                                              ("Delete", {"id": names[0]}, "NoSuchDump"), ("Pin", {"id": names[0]}, "NoSuchDump"),
                                              ("Trigger", {"source": "x", "labels": {}}, "NotPermitted")):
                tap.equal(refusal(client.call, method, **arguments)[0], wanted, f"ShipUser= may not {method}")
        daemon.write_config(Deny="demo")
        os.kill(daemon.pid, signal.SIGHUP)
        wait_until(lambda: listed(ship) == {names[0]}, "Deny= to hold for ShipUser=")
        with daemon.client(uid=ship) as client:
            tap.equal(refusal(client.call, "Read", id=names[1])[0], "NoSuchDump", "Deny= holds for ShipUser=")


def numbers(requests):
    """The numbers of the profiles in requests, by the process."""
    found = {}
    for request in requests:
        for _, pid, begin_ns in profile_ids(request.body):
            found.setdefault(pid, []).append((begin_ns - BEGIN_NS) // 1000000000)
    return found


def once(requests):
    """The first request of each key: one that was under way when the shipper ended comes twice."""
    return list({request.key: request for request in reversed(requests)}.values())[::-1]


def whole(n, processes=4):
    """Each of n profiles once, in order by process."""
    return {100 + pid: list(range(pid, n, processes)) for pid in range(processes)}


class World:
    """A store of profiles that are made up, a receiver and a shipper between them."""

    def __init__(self, answer=lambda request, number: 200, start=True, tls=None, section=None, **keys):
        self.stack = contextlib.ExitStack()
        self.directory = self.stack.enter_context(tempfile.TemporaryDirectory())
        os.chmod(self.directory, 0o755)
        self.store = Store(self.directory)
        self.receiver = Receiver(answer, tls)
        self.sections = {"Profiles": {"URL": self.receiver.url("/p"), **(section or {})}}
        self.ship = Ship(self.store.path, self.directory, self.sections, start, **keys)

    def __enter__(self):
        for part in (self.store, self.receiver, self.ship):
            self.stack.enter_context(part)
        return self

    def __exit__(self, *exc):
        self.stack.__exit__(*exc)

    def settle(self, **counts):
        """Waits until that was counted of profiles, and the spool is empty."""
        self.ship.wait(lambda: all(self.ship.counted("profiles", name) == n for name, n in counts.items()) and
                       not self.ship.batches(), f"{counts} and an empty spool")


def status_again(tap, status):
    with World(lambda _, number: status if number < 3 else 200) as world:
        world.store.add_profiles(range(2))
        world.settle(sent=2, retries=2)
        tap.equal(numbers(world.receiver.taken), {100: [0], 101: [1]}, f"{status}: sent again until it is taken, in order")
        tap.equal(len({request.key for request in world.receiver.seen[:3]}), 1, f"{status}: with the same key")


def status_final(tap, status):
    with World(lambda _, number: status if number == 1 else 200) as world:
        world.store.add_profiles(range(2))
        world.settle(sent=1, refused=1)
        tap.check(f"lost: {world.receiver.url('/p')} answers {status} to the batch that begins with profile-000000" in
                  world.ship.log(), f"{status}: lost, counted and said", world.ship.log())
        tap.equal(numbers(world.receiver.taken), {101: [1]}, f"{status}: the next one is sent")


def status_partial(tap):
    partial = bytes([10, 2, 8, 1])  # partial_success { rejected_profiles: 1 }
    with World(lambda _, number: (200, {}, partial) if number == 1 else 200) as world:
        world.store.add_profiles(range(2))
        world.settle(sent=1, rejected=1)
        tap.check("has rejected 1 of the batch" in world.ship.log(), "partial_success: counted and said", world.ship.log())


def test_statuses(tap):
    """After a status a request is taken, sent again, or lost and counted; tests/unit/daemon/ship/test_http.c has each."""
    tap.together([(status_again, 429), (status_again, 503), (status_final, 400), (status_final, 413), (status_partial,)], AT_ONCE)


def renewed(tap, status, user, wanted):
    """A token that expires, a file that is not there for a while, and a new token."""
    def answer(request, _):
        return 200 if request.headers["Authorization"] == wanted else status
    with World(answer, start=False) as world:
        section, ship = world.sections["Profiles"], world.ship
        section.update({"TokenFile": ship.token_file, **({"User": user} if user else {})})
        ship.write_config()
        ship.start()
        world.store.add_profiles(range(2))

        def tries(n):
            n += ship.counted("profiles", "retries")
            ship.wait(lambda: ship.counted("profiles", "retries") >= n, f"{n} tries")
        tries(2)
        tap.equal((ship.counted("profiles", "denied"), ship.counted("profiles", "refused")), (1, 0),
                  f"{status}: the status says it, and nothing is lost")
        os.unlink(ship.token_file)
        ship.wait(lambda: "ship.token: No such file" in ship.log(), "the file to be missed")  # counts are a second old
        tries(3)
        ship.write_token("ship-renewed")
        world.settle(sent=2, denied=0)
        tap.equal(numbers(world.receiver.taken), {100: [0], 101: [1]}, f"{status}: all arrive with the new token, in order")
        for words in (f"it answers {status}: trying again", "ship.token: No such file", "there is another token in",
                      "it answers again"):
            tap.equal(ship.log().count(words), 1, f"{status}: the log has it once: {words}")
        tap.check("lost" not in ship.log(), f"{status}: nothing is said to be lost", ship.log())


def test_renewed_token(tap):
    """401 and 403: what was sent is kept, and sent with the token that its file has then."""
    basic = base64.b64encode(b"me:ship-renewed").decode()
    tap.together([(renewed, 401, None, "Bearer ship-renewed"), (renewed, 403, "me", f"Basic {basic}")], AT_ONCE)


def retried_after(tap, what, value, low_s):
    with World(lambda _, number: (503, {"Retry-After": value()}, b"") if number == 1 else 200, RetryMaxSec=4) as world:
        world.store.add_profiles(range(1))
        world.settle(sent=1)
        first, second = (request.time for request in world.receiver.seen)
        tap.check(low_s <= second - first <= 30, f"Retry-After: {what}", second - first)


def test_retry_after(tap):
    """Retry-After, in seconds and as a date, is waited for, but not for longer than RetryMaxSec=."""
    def date():
        return email.utils.formatdate(time.time() + 3, usegmt=True)
    tap.together([(retried_after, "seconds", lambda: "2", 1.9), (retried_after, "a date", date, 1.9),
                  (retried_after, "a year", lambda: "31536000", 3.9)], AT_ONCE)


def cut(handler):
    handler.wfile.write(b"HTTP/1.1 2")


def silent(handler):
    time.sleep(6)


def endless_headers(handler):
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            handler.wfile.write(b"X-More: " + 1000 * b"x" + b"\r\n")


def endless_continue(handler):
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def endless_body(handler):
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            handler.wfile.write(b"1000\r\n" + 4096 * b"x" + b"\r\n")


def nonsense(handler):
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)


def bad_end(tap, what, answer, again):
    with World(lambda _, number: answer if number == 1 else 200, TimeoutSec=3) as world:
        world.store.add_profiles(range(2))
        world.settle(sent=2)
        wanted = {100: [0], 101: [1]} if again else {101: [1]}
        tap.equal(numbers(world.receiver.taken), wanted, f"an end is bad: {what}")
        tap.check("lost" not in world.ship.log(), f"nothing is lost: {what}", world.ship.log())
        tap.equal({request.path for request in world.receiver.seen}, {"/p"}, f"requests go to one place: {what}")


def test_hostile(tap):
    """An end that cuts, says nothing, never ends or leads elsewhere costs a limited time, and nothing is lost."""
    elsewhere = (307, {"Location": "/elsewhere"}, b"")  # another port Landlock forbids
    tap.together([(bad_end, *row) for row in (
        ("cut", cut, True), ("silent", silent, True), ("headers without an end", endless_headers, True),
        ("100 Continue without an end", endless_continue, True), ("another protocol", nonsense, True),
        ("a redirect", elsewhere, True), ("a body without an end", endless_body, False))], AT_ONCE)


def certificate(directory, name):
    """(certificate, key) of a host."""
    paths = [os.path.join(directory, f"{name}.{kind}") for kind in ("pem", "key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-out", paths[0], "-keyout", paths[1]],
                   check=True, capture_output=True)
    os.chmod(paths[0], 0o644)
    return paths


def test_tls(tap):
    """Certificates are verified: by CAFile= and the name; a token is not sent to another."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        own, other = certificate(directory, "localhost"), certificate(directory, "elsewhere")
        for what, tls, ca_file, taken in (("the authority's", own, own[0], True), ("of nobody known", own, None, False),
                                          ("of another host", other, other[0], False)):
            with World(tls=tls, start=False) as world:
                section = world.sections["Profiles"]
                section["URL"] = world.receiver.url("/p", host="localhost", scheme="https")
                section["TokenFile"] = world.ship.token_file
                section.update({"CAFile": ca_file} if ca_file else {})
                world.ship.write_config()
                world.ship.start()
                world.store.add_profiles(range(1))
                if taken:
                    world.settle(sent=1)
                    tap.equal(world.receiver.taken[0].headers["Authorization"], f"Bearer {TOKEN}", f"TLS: a certificate {what}")
                else:
                    world.ship.wait(lambda world=world: world.ship.counted("profiles", "retries") >= 2, "two tries")
                    tap.check(len(world.receiver.seen) == 0 and len(world.ship.batches()) == 1,
                              f"TLS: a certificate {what}: nothing is sent, and it waits", world.ship.log())


def test_crashes(tap):
    """kill -9 of any of its processes at any instant: everything arrives, in order, and what comes twice has the same key."""
    n = 150
    random = seeded(37)
    with World(lambda _, number: 503 if number % 5 == 0 else 200, RetryMinMs=1) as world:
        world.store.add_profiles(range(n))
        kills = 0
        while kills < 6 and world.ship.counted("profiles", "sent") < n:
            seen = len(world.receiver.seen)
            world.ship.wait(lambda seen=seen: len(world.receiver.seen) > seen + random.randrange(12) or
                            len(world.receiver.taken) >= n, "some requests")
            victims = world.ship.processes()
            world.ship.end(victims[kills % len(victims)], signal.SIGKILL)
            kills += 1
            world.ship.start()
        world.ship.wait(lambda: {x for of in numbers(world.receiver.taken).values() for x in of} == set(range(n)) and
                        not world.ship.batches(), "all to arrive")
        tap.check(kills > 2, "it was killed", kills)
        keys = [request.key for request in world.receiver.taken]
        twice = len(keys) - len(set(keys))
        tap.check(twice <= kills, "a crash has one request sent twice at most, with the same key", (twice, kills))
        tap.equal(numbers(once(world.receiver.taken)), whole(n), "each arrives once by its key, in order of its process")


def large(number):
    """A profile whose names cannot be packed well: 150 KB."""
    made, random = profile(number, 100), seeded(number + 1)
    made["frames"] = [{**made["frames"][0], "address": hex(0x1100 + i), "function": f"{random.getrandbits(400):x}"}
                      for i in range(3000)]
    made["nodes"] = [[None, i] for i in range(3000)]
    made["samples"] = [{**made["samples"][0], "node": i} for i in range(3000)]
    return made


def test_spool(tap):
    """A spool that is full: what does not fit stays in the daemon's store, and arrives later; what that deletes is counted."""
    ids = [f"big-{number}" for number in range(12)]
    down = threading.Event()
    with World(lambda *_: 200 if down.is_set() else 503, SpoolMax="1M") as world:
        for number, name in enumerate(ids):
            world.store.add(name, "profile", large(number))
        world.ship.wait(lambda: world.ship.status().get(("spool", "full")), "the spool to be full")
        sizes = [os.path.getsize(os.path.join(world.ship.spool, name)) for name in world.ship.batches()]
        tap.check(0 < sum(sizes) <= 1 << 20 and len(sizes) < len(ids), "the spool keeps its limit", sizes)
        world.store.delete(ids[-1])
        down.set()
        world.settle(sent=len(ids) - 1, gone=1)
        tap.equal(numbers(world.receiver.taken), {100: list(range(len(ids) - 1))}, "what waited in the store arrives, in order")
        tap.check(f"lost: profile {ids[-1]}" in world.ship.log(), "what the store deleted is said", world.ship.log())
        world.ship.stop()
        world.ship.start()
        world.store.add_profiles([50])
        world.settle(sent=len(ids), gone=1)
        tap.equal(world.ship.status()["spool", "bytes"], 0, "the sum of the spool is right, and counts go on after a start")


def test_store_ends(tap):
    """A daemon that ends, and one that is not there yet; answers that are no profiles."""
    with World(RetryMinMs=1) as world:
        world.store.add_profiles(range(3))
        world.settle(sent=3)
        world.store.restart()
        world.store.add_profiles(range(3, 6))
        world.settle(sent=6)
        tap.equal(numbers(world.receiver.taken), whole(6), "what was made while nobody was told arrives")
        world.store.add("broken", "profile", {"schema": "none"})
        world.store.add("other", "profile", {})
        world.store.kept["other"] = ("profile", '{"dump": {}}')
        world.store.add_profiles([6])
        world.settle(sent=7, unreadable=2)
        tap.check("lost: profile broken" in world.ship.log(), "what is no profile is counted and said", world.ship.log())


def test_damage(tap):
    """Files of the spool that are damaged are put aside, and the others sent."""
    up = threading.Event()
    with World(lambda *_: 200 if up.is_set() else 503) as world:
        world.store.add_profiles(range(3))
        world.ship.wait(lambda: len(world.ship.batches()) == 3, "three files")
        world.ship.stop()
        path = os.path.join(world.ship.spool, world.ship.batches()[1])
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 1)
        for name in ("p-00000000000000000009.new", "strange"):
            with open(os.path.join(world.ship.spool, name), "w") as file:
                file.write("half")
        world.store.delete("profile-000001")  # or it would be read again
        up.set()
        world.ship.start()
        world.settle(sent=2, unreadable=1)
        tap.equal(numbers(once(world.receiver.taken)), {100: [0], 102: [2]}, "the others arrive")
        tap.equal(sorted(name for name in os.listdir(world.ship.spool) if "new" in name or "damaged" in name), ["p-damaged"],
                  "it is put aside, and what a crash left is removed")


def test_configuration(tap):
    """Mistakes in the configuration and tokens that others can read: it does not start, and says why."""
    with World(start=False) as world:
        url = world.receiver.url("/p")

        def said(text):
            with open(world.ship.config, "w") as file:
                file.write(text)
            result = world.ship.run("--check-config")
            return result.returncode, result.stderr
        for what, text, status, words in (
                ("nothing to do", "[Ship]\nSpoolMax=1M\n", 2, "there is nothing to do"),
                ("a section", "[Logs]\n", 2, ":1: there is no such section: '[Logs]'"),
                ("a key", f"[Profiles]\nURL={url}\nTLS=no\n", 2, ":3: the section has no such key: 'TLS'"),
                ("a scheme", "[Profiles]\nURL=ftp://x/\n", 2, ":2: give a URL that begins with https://"),
                ("a user in the URL", "[Profiles]\nURL=https://a:b@x/\n", 2, ":2: a URL has no user here"),
                ("a size", "[Ship]\nSpoolMax=1X\n", 2, ":2: this number is out of range, or has another unit"),
                ("a header", f"[Profiles]\nURL={url}\nHeader=no header\n", 2, ":3: a header is 'Name: value'"),
                ("a token without TLS", "[Dumps]\nURL=http://collector.example/v1/logs\nTokenFile=/x\n", 2, "by https:// only"),
                ("a name that only begins so", "[Dumps]\nURL=http://localhost.example/\nTokenFile=/x\n", 2, "by https:// only"),
                ("no token", f"[Profiles]\nURL={url}\nTokenFile=/nowhere/token\n", 1, "/nowhere/token: No such file")):
            code, message = said(text)
            tap.check(code == status and words in message, f"a configuration is refused: {what}", (code, message))
        good = f"[Profiles]\nURL={url}\nTokenFile={world.ship.token_file}\n"
        tap.equal(said(good), (0, ""), "a configuration is good")
        os.chmod(world.ship.token_file, 0o640)
        code, message = said(good)
        tap.check(code == 1 and "chmod 600" in message, "a token that others may read is refused", (code, message))
        tap.equal(world.ship.run("--nothing").returncode, 2, "an option that is none")


def test_many(tap):
    """Thousands of small profiles through an end that fails half of the time: all arrive once, in order, memory flat."""
    n = int(os.environ.get("SNAPWALK_SHIP_PROFILES", "300"))
    random = seeded(7)
    with World(lambda *_: 503 if random.random() < 0.5 else 200, RetryMinMs=1, SpoolMax="1M") as world:
        peaks, most = {}, 0
        for begin in range(0, n, 100):
            world.store.add_profiles(range(begin, min(n, begin + 100)))
            world.ship.wait(lambda begin=begin: len(world.receiver.taken) >= min(n, begin + 100) - 50, "most to arrive")
            sizes = [os.path.getsize(os.path.join(world.ship.spool, name)) for name in world.ship.batches()
                     if os.path.exists(os.path.join(world.ship.spool, name))]
            most = max(most, sum(sizes))
            peaks[begin] = sum(number_of(pid, "VmRSS") for pid in world.ship.processes())
        world.settle(sent=n)
        tap.equal(numbers(world.receiver.taken), whole(n), f"{n} profiles arrive once, in order of their process")
        failed = len(world.receiver.seen) - len(world.receiver.taken)
        tap.check(n / 3 < failed < 3 * n, "and half of the requests have failed", failed)
        tap.check(most <= 1 << 20, "the spool keeps its limit", most)
        early, late = peaks[min(peaks)] if n < 1000 else peaks[500], peaks[max(peaks)]
        tap.check(late - early < 4096, "memory is flat (kB)", peaks)
        print(f"# {n} profiles, {failed} failures, spool at most {most} bytes, memory {early} kB to {late} kB")


ALONE = (test_statuses, test_renewed_token, test_retry_after, test_hostile, test_tls, test_crashes, test_spool, test_store_ends, test_damage,
         test_configuration, test_many)


def main():
    tap = Tap()
    for test in tap.chosen(test_arrives, test_rights):
        with Daemon(KEEP) as daemon:
            tap.guard(test, daemon)
    public(SHIP)  # before there are threads: a program that is being copied cannot be executed
    tap.together([(test,) for test in tap.chosen(*ALONE)], AT_ONCE)
    tap.done()


if __name__ == "__main__":
    main()
