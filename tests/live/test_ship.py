#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""snapwalk-ship: what the daemon keeps arrives at a receiver of OpenTelemetry, once and in order, whatever the receiver
does; what cannot arrive is counted and said."""
import os
import tempfile

from daemon import Daemon
from harness import Tap, Target
from otlp_rules import check
from receiver import TOKEN, USER, Receiver, Ship, profile_ids, records

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


def main():
    tap = Tap()
    for test in tap.chosen(test_arrives):
        with Daemon(KEEP) as daemon:
            tap.guard(test, daemon)
    tap.done()


if __name__ == "__main__":
    main()
