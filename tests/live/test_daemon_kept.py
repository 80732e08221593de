#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The dumps that the daemon keeps are shown by a part of their id, deleted, pinned; each by those who may, and by
nobody else."""
import json
import os
import tempfile

from daemon import UNPRIVILEGED, Daemon, refusal
from harness import PATIENT, Tap, Target, snapwalk

OTHER = 65533


def listed(client, **parameters):
    return [s["id"] for s in client.call("List", **parameters)["summaries"]]


def capture_id(client, pid):
    return client.call("Capture", target={"pid": pid})["dump"]["id"]


def files(tap):
    """Dumps in files: one on each line, or one written over many; damaged ones keep nobody from the others."""
    with Target("threads", 2, 5) as target, Target("chain_pie") as other, \
            tempfile.TemporaryDirectory() as directory:
        both, pretty, damaged = (os.path.join(directory, n) for n in ("both.json", "pretty", "bad.json"))
        taken = snapwalk("--json", *PATIENT, str(target.pid), str(other.pid), "-o", both)
        dumps = [json.loads(line) for line in open(both)]
        tap.equal((taken.returncode, [d["process"]["pid"] for d in dumps]),
                  (0, [target.pid, other.pid]), "a file of two dumps")
        for path, text in ((pretty, json.dumps(dumps[0], indent=2)), (damaged, "{}\n{")):
            with open(path, "w") as file:
                file.write(text)
        got = snapwalk("show", both)
        heads = [line for line in got.stdout.splitlines() if ", pid " in line]
        tap.check(got.returncode == 0 and len(heads) == 2 and f"pid {target.pid}:" in heads[0] and
                  f"pid {other.pid}:" in heads[1], "show: all dumps of a file, in their order", got)
        got = snapwalk("show", "--json", both)
        tap.equal([json.loads(line) for line in got.stdout.splitlines()], dumps, "as JSON, the same")
        got = snapwalk("show", "--format", "folded", both, "--thread", "chain_pie")
        tap.check(got.returncode == 0 and "chain_pie;" in got.stdout and "threads;" not in got.stdout,
                  "filters and formats hold", got)
        got = snapwalk("show", damaged, pretty, "missing.json")
        tap.check(got.returncode == 1 and f"pid {target.pid}:" in got.stdout and
                  "bad.json: " in got.stderr and "missing.json: it cannot be read" in got.stderr,
                  "what is damaged is said, the others are shown", got)
        got = snapwalk("show", os.path.join(directory, ""))
        tap.check(got.returncode == 1 and got.stdout == "" and "cannot be read" in got.stderr,
                  "a directory is refused", got)


def words(tap):
    """latest, a process id, the beginning of an id."""
    with Daemon() as daemon, Target("threads", 2, 5) as target, Target("chain_pie") as other:
        def run(*args, **more):
            return snapwalk(*args, "--socket", daemon.socket_path, **more)

        got = run("show", "latest")
        tap.equal((got.returncode, got.stdout), (1, ""), "no dump yet: show latest has none")
        tap.check("keeps no dump that you may see" in got.stderr and "snapwalk list" in got.stderr,
                  "and says how to see which there are", got.stderr)
        with daemon.client() as client:
            first = capture_id(client, target.pid)
            second = capture_id(client, other.pid)
            third = capture_id(client, target.pid)

        def shown(word):
            got = run("show", "--json", word)
            return json.loads(got.stdout)["id"] if got.returncode == 0 else got.stderr

        tap.equal(shown("latest"), third, "latest: the newest")
        tap.equal(shown(str(other.pid)), second, "a process id: the newest of that process")
        tap.equal(shown(first), first, "a whole id")
        unique = next(first[:n] for n in range(1, len(first)) if not second.startswith(first[:n])
                      and not third.startswith(first[:n]))
        if unique.isdigit():  # it would be a process id
            unique = first[:20]
        tap.equal(shown(unique), first, "the beginning of an id, when no other begins so")
        common = os.path.commonprefix([first, second, third])[:10]
        got = run("show", common)
        tap.equal((got.returncode, got.stdout), (2, ""), "when others do, none")
        lines = got.stderr.splitlines()
        tap.check("3 dumps begin so" in lines[0], "how many begin so", lines)
        tap.equal([line.split()[0] for line in lines[2:]], [third, second, first],
                  "and which, the newest first")
        tap.check(str(target.pid) in lines[2] and first[9:11] + ":" in lines[4],
                  "with process and time", lines)
        for word, why in (("99999999T", "no such dump"), (str(1 << 22), "of this process"),
                          ("x" * 300, "no such dump"), ("", "no such dump"),
                          ("\x1b[31m", "no such dump")):
            got = run("show", word)
            tap.check(got.returncode == 1 and why in got.stderr and "snapwalk list" in got.stderr
                      and "\x1b" not in got.stderr, f"{word[:9]!r}: there is none", got.stderr)
        got = run("show", "latest", str(other.pid))
        tap.check(got.returncode == 0 and got.stdout.count(f"pid {other.pid}") == 1,
                  "show takes several", got.stderr)
        tap.equal([shown(i[-8:]) for i in (first, second, third)], [first, second, third], "the end of an id")
        tap.equal(shown(first[9:]), first, "a part of an id")
        got = run("show", f"-{target.pid}-"[1:])
        tap.check(got.returncode == 2 and "2 dumps have that in their ids" in got.stderr
                  and len(got.stderr.splitlines()) == 4, "a part that two ids have", got.stderr)
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, first[:8] + "x"), "w") as file:
                file.write(run("show", "--json", second).stdout)
            got = run("show", "--json", first[:8] + "x", cwd=directory)
            tap.equal(json.loads(got.stdout)["id"], second, "a file without .json is read")
        got = snapwalk("--socket", daemon.socket_path, "show", "--json", "latest")
        tap.equal(json.loads(got.stdout or "{}").get("id"), third, "options before the command")
        got = run("delete", common)
        tap.equal((got.returncode, daemon.status()["stored"]), (2, 3),
                  "nor what several begin with")
        got = run("delete", unique, "99999999T")
        tap.equal((got.returncode, got.stdout), (1, f"deleted {first}\n"),
                  "delete says what it deleted, and what there was not")
        with daemon.client() as client:
            tap.equal(listed(client), [third, second], "the deleted dump is gone")
            fourth = capture_id(client, other.pid)
        got = run("delete", "latest")
        tap.equal((got.returncode, got.stdout), (0, f"deleted {fourth}\n"), "delete latest, and which that was")
        for words, what in ((("pin",), "pinned"), (("pin", "--unpin"), "unpinned")):
            got = run(*words, "latest", "--json")
            tap.equal((got.returncode, json.loads(got.stdout or "{}")), (0, {what: third}), f"{words} --json")
        tap.check(f"deletes dump {first}" in daemon.log(), "the log says so", daemon.log())
        got = run("pin", "latest")
        tap.equal((got.returncode, got.stdout), (0, f"pinned {third}\n"), "pin latest")
        rows = run("list").stdout.splitlines()
        tap.equal(["(pinned)" in row for row in rows[1:]], [True, False], "list shows it")
        got = run("pin", "--unpin", third)
        tap.equal((got.returncode, got.stdout), (0, f"unpinned {third}\n"), "and unpin")
        tap.check("(pinned)" not in run("list").stdout, "then not any more")


def limits(tap):
    """A pinned dump stays when others go, also after a restart."""
    with Daemon({"MaxFiles": 4}) as daemon, Target("threads", 2, 5) as target:
        with daemon.client() as client:
            first = capture_id(client, target.pid)
            client.call("Pin", id=first)
            tap.equal(refusal(client.call, "Pin", id="none"), ("NoSuchDump", {"id": "none"}),
                      "a dump that is not there is not pinned")
            ids = [capture_id(client, target.pid) for _ in range(5)]
            tap.equal(listed(client), [*ids[:1:-1], first], "MaxFiles=: the pinned one stays")
            pinned = [s.get("pinned") for s in client.call("List")["summaries"]]
            tap.equal(pinned, [None, None, None, True], "List says which is")
            pinned = [r["summary"].get("pinned") for r in client.stream("List")]
            tap.equal(pinned, [None, None, None, True], "with more, too")
            client.call("Pin", id=ids[-1])
            name, got = refusal(client.call, "Pin", id=ids[-2])
            tap.equal((name, list(got)), ("PinLimit", ["detail"]), "not more than half of MaxFiles=")
            tap.equal(daemon.status()["pinned"], 2, "Status counts them")
            client.call("Pin", id=ids[-1], pinned=False)
        daemon.stop()
        daemon.start()
        with daemon.client() as client:
            tap.equal([s["id"] for s in client.call("List")["summaries"] if s.get("pinned")],
                      [first], "found again after a restart")
            client.call("Delete", id=first)
            tap.equal(listed(client), ids[:1:-1], "a caller who may deletes it nevertheless")
        tap.equal([n for n in os.listdir(daemon.state) if not n.endswith(".json.zst")], [],
                  "and nothing is left of it")


def young(tap):
    """A dump that would be returned again for MinIntervalSec= is not, once it is deleted."""
    with Daemon({"MinIntervalSec": 3600}) as daemon, Target("threads", 2, 5) as target:
        with daemon.client() as client:
            first = capture_id(client, target.pid)
            tap.equal(capture_id(client, target.pid), first, "a young dump is returned again")
            client.call("Delete", id=first)
            second = capture_id(client, target.pid)
            tap.check(second != first, "not after it was deleted", second)
            tap.equal(listed(client), [second], "the new one is kept")


def users(tap):
    """A user sees and deletes what is theirs."""
    if os.geteuid() != 0:
        tap.skip("other users", "playing them needs root", tap.ROOT)
        return
    user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
    with Daemon({"MaxFiles": 8}) as daemon, Target("threads", 2, 5, **user) as target, \
            Target("threads", 2, 5) as roots, daemon.client() as root, \
            daemon.client(UNPRIVILEGED) as own, daemon.client(OTHER) as other:
        hidden = capture_id(root, roots.pid)
        of_root = capture_id(root, target.pid)
        mine, mine_too = capture_id(own, target.pid), capture_id(own, target.pid)
        tap.equal(listed(own, id=mine[:9]), [mine_too, mine, of_root],
                  "List by id: no more than the user may see")
        tap.equal(listed(other, id=mine[:9]), [], "another user: none")
        for method in ("Delete", "Pin"):
            for client, who in ((own, "the user"), (other, "another")):
                tap.equal(refusal(client.call, method, id=hidden), ("NoSuchDump", {"id": hidden}),
                          f"{method}: {who} does not learn that root's is there")
            tap.equal(refusal(other.call, method, id=mine), ("NoSuchDump", {"id": mine}),
                      f"{method}: nor another of the user's")
            tap.equal(refusal(own.call, method, id=of_root),
                      ("NotPermitted", {"pid": target.pid, "rule": "root_only"}),
                      f"{method}: what root has captured of the user's process is root's")
        own.call("Pin", id=mine)
        tap.equal(refusal(own.call, "Pin", id=mine_too)[0], "PinLimit",
                  "a user pins no more than an eighth of MaxFiles=")
        root.call("Pin", id=mine_too)
        for parameters in ({"method": "Delete"}, {"method": "Pin", "pinned": False}):
            tap.equal(refusal(own.call, id=mine_too, **parameters)[0], "NotPermitted",
                      f"{parameters['method']}: what root has pinned")
        own.call("Pin", id=mine, pinned=False)
        own.call("Delete", id=mine)
        tap.equal(listed(root), [mine_too, of_root, hidden], "the user has deleted what was theirs")
        root.call("Delete", id=mine_too)
        root.call("Delete", id=of_root)
        tap.equal(listed(root), [hidden], "root may delete all")
        for bad in ({}, {"id": 5}, {"id": ""}, {"id": hidden, "more": 1}):
            tap.equal(refusal(root.call, "Delete", **bad)[0].rpartition(".")[2],
                      "InvalidParameter", f"Delete {sorted(bad)}: no such parameters")
        tap.equal(refusal(root.call, "Delete", id="../state/" + hidden)[0], "NoSuchDump",
                  "an id is no path")
        tap.equal(daemon.stored(), [hidden + ".json.zst"], "nothing else was touched")


if __name__ == "__main__":
    Tap.main(words, files, limits, young, users)
