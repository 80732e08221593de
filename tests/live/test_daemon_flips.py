#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
# strict
"""A dump that is there already is given only to who might have made it, however its process changes
between. Needs root: it plays other users. SNAPWALK_FLIPS: how many changes (10,000 take minutes)."""
import ctypes
import os
import signal

from daemon import Daemon, Refused
from harness import Tap

USER = 65532
FLIPS = int(os.environ.get("SNAPWALK_FLIPS", "40"))
LIBC = ctypes.CDLL(None)
CONFIG = {"MinIntervalSec": 3600, "RatePerMinute": 1000000, "RateBurst": 1000000, "MaxFiles": 50}


def become_user():
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


def dumpable(value):
    LIBC.prctl(4, value, 0, 0, 0)  # PR_SET_DUMPABLE, linux/prctl.h


def execute():
    os.execv("/bin/sleep", ["sleep", "1000"])


def no_root_dumps(id_of_first, reply):
    """Whether the answer has nothing from before, when the process was root's or protected."""
    return reply is None or (reply["dump"]["id"] != id_of_first
                             and reply["dump"]["process"]["uid"] == USER)


# name, before the first capture (by root), after it
KINDS = (
    ("setuid", lambda: None, become_user),
    ("setuid, then dumpable", lambda: None, lambda: (become_user(), dumpable(1))),
    ("setuid, then exec", lambda: None, lambda: (become_user(), execute())),
    ("exec", lambda: (become_user(), dumpable(0)), execute),
    ("dumpable", lambda: (become_user(), dumpable(0)), lambda: dumpable(1)),
)


def flip(daemon, kind, waits):
    """A process that was captured by root changes; then its user asks. Returns the leak, or None."""
    name, before, after = kind
    go_read, go_write = os.pipe()
    ready_read, ready_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        before()
        os.write(ready_write, b"1")
        os.read(go_read, 1)
        for fd in (ready_write, ready_read):
            os.set_inheritable(fd, False)
        after()
        os.write(ready_write, b"2")
        signal.pause()
        os._exit(0)
    os.close(ready_write)
    leak = None
    try:
        os.read(ready_read, 1)
        first = daemon.capture(pid, options={"store": False, "symbols": "none"})["dump"]["id"]
        os.write(go_write, b"1")
        if waits:
            os.read(ready_read, 1)  # also when exec has closed it
        reply = None
        with daemon.client(USER) as client:
            try:
                reply = client.call("Capture", target={"pid": pid},
                                    options={"store": True, "symbols": "none"})
            except Refused:
                pass
            if not no_root_dumps(first, reply):
                leak = f"{name}: {reply['dump']['process']}"
            if any(s["id"] == first for s in client.call("List")["summaries"]):
                leak = f"{name}: root's dump is listed"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for fd in (go_read, go_write, ready_read):
            os.close(fd)
    return leak, reply is not None


def main():
    tap = Tap()
    if os.geteuid() != 0:
        tap.skip("flips", "not root", tap.ROOT)
        tap.done()
        return
    with Daemon(CONFIG) as daemon:
        leaks, given = [], 0
        for i in range(FLIPS):
            leak, answered = flip(daemon, KINDS[i % len(KINDS)], i // len(KINDS) % 2 == 0)
            leaks += [leak] if leak else []
            given += answered
        tap.equal(leaks, [], f"{FLIPS} changes of a process: no dump of before is given away")
        tap.check(given > 0, "the user had dumps of what became theirs", given)
        print(f"# {given} of {FLIPS} answered with a dump")
    tap.done()


if __name__ == "__main__":
    main()
