#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Stored dumps: bounded in number, size and age; found again after a restart; a full disk and
damaged files cost what they hit and nothing else."""
import json
import os
import pwd
import subprocess
import time

from daemon import USER, Daemon, refusal
from harness import BUILD, Tap, Target, seeded, tool, wait_until

STORE_SIZE = 256 * 1024


def listed(daemon, **parameters):
    return [s["id"] for s in daemon.call("List", **parameters)["summaries"]]


def capture_id(daemon, pid):
    reply = daemon.capture(pid)
    return reply["dump"]["id"]


def path_of(daemon, name):
    return os.path.join(daemon.state, name + ".json.zst")


def kept(tap):
    """The dump on disk is the one that was answered."""
    with Daemon() as daemon, Target("threads", 5, 20) as target, Target("chain_pie") as other:
        reply = daemon.capture(target.pid, reason="a reason")
        dump = reply["dump"]
        name = dump["id"]
        tap.equal(daemon.stored(), [name + ".json.zst"], "the dump is in one file, named by its id")
        mode = os.stat(path_of(daemon, name)).st_mode & 0o777
        tap.equal(mode & 0o027, 0, "not readable for others")
        if tool("zstd"):
            text = subprocess.run(["zstd", "-dcq", path_of(daemon, name)], capture_output=True,
                                  check=True).stdout
            tap.equal(json.loads(text), dump, "zstd unpacks the dump")
        else:
            tap.skip("zstd unpacks the dump", "zstd is not installed", "package zstd")
        tap.equal(daemon.call("Read", id=name)["dump"], dump, "Read gives it, unchanged")
        tap.equal(dump["reason"], "a reason", "with its reason")
        not_kept = daemon.capture(other.pid, options={"store": False})
        tap.equal((daemon.stored(), not_kept["summary"]["stored"], reply["summary"]["stored"]),
                  ([name + ".json.zst"], False, True), "store=false keeps nothing, and says so")
        second = capture_id(daemon, other.pid)
        tap.equal(listed(daemon), [second, name], "List: newest first")
        tap.equal(listed(daemon, pid=target.pid), [name], "List by pid")
        tap.equal(listed(daemon, comm="chain_pie"), [second], "List by comm")
        tap.equal(listed(daemon, limit=1), [second], "List with a limit")
        since = daemon.call("Read", id=second)["dump"]["time"]
        tap.equal(listed(daemon, since=since), [second], "List since a time")
        status = daemon.status()
        size = sum(os.path.getsize(os.path.join(daemon.state, n)) for n in daemon.stored())
        tap.equal((status["stored"], status["stored_bytes"]), (2, size), "Status counts them")
        daemon.stop()
        daemon.start()
        tap.equal(listed(daemon), [second, name], "after a restart they are found again")
        tap.equal(daemon.call("Read", id=name)["dump"], dump, "and read as before")
        third = capture_id(daemon, target.pid)
        tap.equal(listed(daemon), [third, second, name], "and new ones come on top")


def retention(tap):
    with Target("threads", 5, 20) as target:
        with Daemon({"MaxFiles": 3}) as daemon:
            ids = [capture_id(daemon, target.pid) for _ in range(6)]
            tap.equal(listed(daemon), ids[:2:-1], "MaxFiles=3: the newest three")
            tap.equal(daemon.stored(), sorted(i + ".json.zst" for i in ids[3:]), "on disk, too")
            tap.equal(refusal(daemon.call, "Read", id=ids[0]), ("NoSuchDump", {"id": ids[0]}),
                      "an old one is gone")
            size = os.path.getsize(path_of(daemon, ids[-1]))
            daemon.stop()
            daemon.write_config(MaxFiles=100, MaxUse=int(size * 2.5))
            daemon.start()
            wait_until(lambda: len(daemon.stored()) == 2, "the store to shrink to MaxUse")
            tap.equal(listed(daemon), ids[:3:-1], "MaxUse= at the start: the oldest goes")
            more = [capture_id(daemon, target.pid) for _ in range(3)]
            tap.equal(listed(daemon), more[:0:-1], "MaxUse=: as many as there is space for")
            used = sum(os.path.getsize(os.path.join(daemon.state, n)) for n in daemon.stored())
            tap.check(used <= size * 2.5, "no more bytes than MaxUse", used)
            daemon.stop()
            daemon.write_config(MaxUse="512M", MaxAge="1s")
            # The oldest must be older than MaxAge, which is counted in seconds.
            wait_until(lambda: time.time() - os.path.getmtime(path_of(daemon, more[-1])) > 1.2,
                       "the dumps to age")
            daemon.start()
            tap.equal(listed(daemon), [], "MaxAge=: what is older goes")
            last = capture_id(daemon, target.pid)
            tap.equal(listed(daemon), [last], "and new ones stay")
        with Daemon({"KeepFree": "1024T"}) as daemon:
            got = daemon.capture(target.pid)
            tap.equal((bool(got["dump"]["threads"]), got["summary"]["stored"], daemon.stored()),
                      (True, False, []), "KeepFree= above what is free: a dump, not kept")
        with Daemon({"Store": "no"}) as daemon:
            got = daemon.capture(target.pid)
            tap.equal((bool(got["dump"]["threads"]), got["summary"]["stored"], daemon.stored()),
                      (True, False, []), "Store=no: a dump, not kept")


class FullDisk(Daemon):
    """A state directory on a file system of its own that holds little."""

    def write_config(self, **changes):
        if not os.path.ismount(self.state):
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={STORE_SIZE},mode=0700,uid={pwd.getpwnam(USER).pw_uid}",
                            "snapwalk-test", self.state], check=True, capture_output=True)
        super().write_config(**changes)

    def __exit__(self, *exc):
        try:
            if self.process:
                self.stop()
        finally:
            subprocess.run(["umount", self.state], capture_output=True)
            super().__exit__(*exc)


def full_disk(tap):
    if os.geteuid() != 0:
        tap.skip("a full disk", "mounting needs root", tap.ROOT)
        return
    with Target("threads", 40, 60) as target, FullDisk() as daemon:
        first = capture_id(daemon, target.pid)
        before = daemon.call("Read", id=first)["dump"]
        ballast = os.path.join(daemon.state, "ballast")
        with open(ballast, "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    continue
            except OSError:
                pass
        got = daemon.capture(target.pid)
        tap.equal((bool(got["dump"]["threads"]), got["summary"]["stored"]), (True, False),
                  "disk full: the caller has its dump, and is told that it was not kept")
        tap.check("space" in daemon.log().lower(), "the log says why", daemon.log())
        names = set(os.listdir(daemon.state))
        tap.equal(names, {"ballast", first + ".json.zst"}, "nothing half written, nothing lost")
        tap.equal(daemon.call("Read", id=first)["dump"], before, "the old dump is whole")
        os.unlink(ballast)
        again = daemon.capture(target.pid)
        tap.equal(again["summary"]["stored"], True, "space again: stored again")
        tap.check(daemon.alive(), "the daemon is alive")


def small_files(tap):
    """RLIMIT_FSIZE, as LimitFSIZE= of a unit: a signal by default, which would be the daemon's end."""
    limit = ("sh", "-c", 'ulimit -f 2; exec "$0" "$@"')
    with Target("threads", 40, 60) as target, Daemon(prefix=limit) as daemon:
        got = daemon.capture(target.pid)
        tap.equal((bool(got["dump"]["threads"]), got["summary"]["stored"]), (True, False),
                  "files may have 1 KiB: the caller has its dump, and is told that it was not kept")
        tap.check("File too large" in daemon.log(), "the log says why", daemon.log())
        tap.equal(os.listdir(daemon.state), [], "nothing half written")
        tap.check(daemon.alive(), "the daemon is alive")


def few_descriptors(tap):
    """A process that cannot be looked at for want of descriptors has not gone."""
    if BUILD.endswith("-asan"):
        tap.skip("few descriptors", "the sanitizer needs some, too",
                 "a build without it (make check)")
        return
    got = set()
    with Target("threads", 1, 5) as target:
        for n in range(12, 32, 2):  # with fewer it cannot take a connection
            limit = ("sh", "-c", f'ulimit -n {n}; exec "$0" "$@"')
            with Daemon(prefix=limit) as daemon:
                got.add(refusal(daemon.capture, target.pid)[0])
    tap.check({None, "Failed"} <= got <= {None, "Failed", "Busy"},
              "few descriptors: a dump, or that it failed, never that no process is there", got)


def damage(generator, data):
    data = bytearray(data)
    for _ in range(generator.choice((1, 2, 8))):
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    return bytes(data)


def damaged(tap):
    generator = seeded(20261124)
    with Daemon() as daemon, Target("threads", 5, 20) as target:
        good = [capture_id(daemon, target.pid) for _ in range(2)]
        victim = capture_id(daemon, target.pid)
        dumps = {name: daemon.call("Read", id=name)["dump"] for name in good}
        with open(path_of(daemon, victim), "rb") as file:
            data = file.read()
        cases = [("cut", data[:n]) for n in (0, 1, 4, 12, len(data) // 2, len(data) - 1)]
        cases += [("flipped", damage(generator, data)) for _ in range(20)]
        cases += [("noise", generator.randbytes(2000)), ("not ours", b"hello")]
        odd, seen = [], set()
        for what, content in cases:
            with open(path_of(daemon, victim), "wb") as file:
                file.write(content)
            name, got = refusal(daemon.call, "Read", id=victim)
            seen.add(name)
            if name not in ("Failed", "NoSuchDump") and got.get("dump", {}).get("id") != victim:
                odd.append((what, name, got))
        tap.equal(odd, [], "damaged while running: an error, or a dump that is whole")
        tap.check("Failed" in seen, "mostly an error", seen)
        tap.check(daemon.alive(), "the daemon is alive")
        odd = []
        foreign = {"notes.txt": b"keep me", "x.json.zst": data,
                   "20261120T000000Z-1-1.json.zst": b""}
        for name, content in foreign.items():
            with open(os.path.join(daemon.state, name), "wb") as file:
                file.write(content)
        os.mkdir(os.path.join(daemon.state, "directory.json.zst"))
        os.symlink("/etc/shadow", os.path.join(daemon.state, "link.json.zst"))
        for what, content in cases[::4]:
            daemon.stop()
            with open(path_of(daemon, victim), "wb") as file:
                file.write(content)
            daemon.start()
            for name in listed(daemon):
                error, got = refusal(daemon.call, "Read", id=name)
                if name in dumps and got.get("dump") != dumps[name]:
                    odd.append((what, name, error))
            if not set(good) <= set(listed(daemon)):
                odd.append((what, listed(daemon)))
        tap.equal(odd, [], "damaged at the start: the others are found and read")
        left = set(os.listdir(daemon.state))
        tap.check({"notes.txt", "directory.json.zst", "link.json.zst"} <= left,
                  "files that are no dumps of ours are left alone", left)
        tap.check(daemon.capture(target.pid)["summary"]["stored"], "and new ones are stored")


def unusable(tap):
    """A state directory that cannot be had costs the keeping, not the captures."""
    with Target("threads", 5, 20) as target, Daemon() as daemon:
        daemon.stop()
        path = os.path.join(daemon.directory, "file")
        with open(path, "w"):
            pass
        daemon.write_config(StateDirectory=path)
        daemon.start()
        tap.check(path in daemon.log(), "a state directory that is a file: the log says so",
                  daemon.log())
        got = daemon.capture(target.pid)
        tap.equal((bool(got["dump"]["threads"]), got["summary"]["stored"]), (True, False),
                  "and dumps are made, and not kept")
        tap.equal(listed(daemon), [], "List has none")
        tap.equal(refusal(daemon.call, "Read", id=got["dump"]["id"])[0], "NoSuchDump",
                  "Read neither")


if __name__ == "__main__":
    Tap.main(kept, retention, full_disk, small_files, few_descriptors, damaged, unusable)
