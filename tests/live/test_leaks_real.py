#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""snapwalk leaks: leaks of public bug trackers, made anew (tests/targets/leaky.c): each is found, first in the table, with its number and
with the function that leaks in the verdict, though ten times as much is given up as it should be.
"""
import json
import os
import re

from harness import Tap, Target, iterator_refused
from test_events import Run

TURNS = 20  # of the target
PIECE = (1 << 20) - (300 << 10)
FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "cli", "leaks.d")


def run(of, what, *args):
    with Target("leaky") as target:
        begun = Run("leaks", "--of", of, *args, "-d", 600, target.pid)
        target.send(what)
        target.readline()
        return begun.end()


def found(tap, of, what, who, right, statuses=(0,), by=None):
    """The first row is the leak. right: the function that gives all up. by: those that hand out, where there are several."""
    status, out, err = run(of, what, "--json")
    answer = json.loads(out)
    first = answer["stacks"][0]
    functions = [f["function"] for f in first["frames"]]
    rows = [s for s in answer["stacks"] if right in [f["function"] for f in s["frames"]] and
            (by is None or s["frames"][0]["function"] in by)]
    tap.check(who in functions and (by is None or functions[0] in by), f"{what}: {who} is first in the table", functions)
    tap.equal((status in statuses, first["outstanding"], answer["lost"]), (True, TURNS, 0), f"{what}: all are there")
    acquired, left = (sum(s[key] for s in rows) for key in ("acquired", "outstanding"))
    tap.check(acquired >= 10 * TURNS and left == 0, f"{what}: what {right} gives up is not outstanding", (acquired, left))
    status, out, err = run(of, what)
    tap.check(re.search(rf"; grows by .* a minute, \d+ % of it from {who} leaky\.c:\d+$", out, re.M), f"{what}: the verdict names {who}", out)
    return answer, first


def descriptors(tap):
    found(tap, "fds", "descriptors", "create_back_socket", "write_log")


def threads(tap):
    answer, first = found(tap, "threads", "threads", "play_tone", "transfer")
    tap.equal(first["not_joined"], TURNS, "threads: they have ended, and nobody has joined them")


def ssl(tap):
    with Target("leaky") as target:
        with open(f"/proc/{target.pid}/maps") as maps:
            if "libssl.so.3" not in maps.read():
                tap.skip("ssl: a program with OpenSSL", "libssl.so.3 is not here", "package libssl3")
                return
    found(tap, os.path.join(FILES, "openssl.conf"), "ssl", "connect_securely", "check_server", (0, 3),
          ("SSL_new", "SSL_CTX_new", "SSL_CTX_new_ex"))


def maps(tap):
    answer, first = found(tap, "maps", "maps", "unpack", "compress")
    tap.equal(first["outstanding_bytes"], TURNS * PIECE, "maps: the bytes that stay of each")


if __name__ == "__main__":
    Tap.main(descriptors, threads, ssl, maps, skip=("leaks", iterator_refused(), Tap.ROOT))
