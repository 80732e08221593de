# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that lock and unlock at random: the owners that are told, against the stacks of the same capture."""
import json
import os
import re
import subprocess

from harness import TARGETS


def program_frames(report, thread):
    """(verb, number of the lock), innermost first."""
    if thread["stack"] is None:
        return []
    names = [f["function"] or "" for f in report["stacks"][thread["stack"]]["frames"]]
    return [(m.group(1), int(m.group(2))) for m in (re.fullmatch(r"(?:[\w.!]*\bContended\.)?(lock|inside)(\d)(?:\(\))?", n) for n in names) if m]


def wrong_owners(report, counts, kinds, fits, ownerless=()):
    """Returns what does not fit the stacks of the same capture. Runtimes have locks of other kinds, too."""
    wrong = []
    frames = {t["tid"]: program_frames(report, t) for t in report["threads"]}
    complete = {t["tid"] for t in report["threads"]
                if t["stack"] is not None and report["stacks"][t["stack"]]["end"] == "complete"}
    for thread in report["threads"]:
        wait = thread.get("blocked_on") or {}
        if wait.get("kind") in ownerless and wait["owner_tid"] is not None:
            wrong.append(f"{thread['comm']} waits for {wait}, which has no owner")
        if wait.get("kind") not in kinds:
            continue
        own = frames[thread["tid"]]
        counts["waits"] += 1
        if not own or own[0][0] != "lock":
            wrong.append(f"{thread['comm']} waits in {own[:1]}")
            continue
        which = own[0][1]
        if not fits(wait, which):
            wrong.append(f"{thread['comm']} waits for {wait} in {own[0]}")
        holders = [tid for tid, at in frames.items() if ("inside", which) in at]
        owner = wait["owner_tid"]
        counts["known"] += owner is not None
        counts["proven"] += owner is not None and holders == [owner]
        if owner is None or owner not in complete:
            continue
        # Nobody else may be inside; and the owner is in the method that locks, and does not wait there.
        if [tid for tid in holders if tid != owner]:
            wrong.append(f"{thread['comm']}: {which} of {owner}, but {holders} inside")
        if ("lock", which) not in frames[owner]:
            wrong.append(f"{thread['comm']}: {which} of {owner}, which is in {frames[owner]}")
        # A mutex with priority inheritance may be in the call still, which then has no owner.
        other = next(t for t in report["threads"] if t["tid"] == owner).get("blocked_on") or {}
        if other.get("owner_tid") is not None and other["address"] == wait["address"]:
            wrong.append(f"{thread['comm']}: {which} of {owner}, which waits for it, too")
    if report.get("deadlocks"):
        wrong.append(f"deadlocks {report['deadlocks']}")
    return wrong


def check_owners(tap, name, pid, stops, options, kinds, fits, ownerless=()):
    """Captures a program so often, and counts. fits(wait, number): whether it waits for that lock. None: threads are of different instants, owners are those
    of when the one that waits was read, so that only cycles can be wrong. ownerless: kinds of which nobody may be
    named."""
    counts = {"waits": 0, "known": 0, "proven": 0}
    wrong, n = [], 0
    run = subprocess.Popen([os.path.join(TARGETS, "drive_dumps"), str(pid), str(stops), *options],
                           stdout=subprocess.PIPE, text=True)
    with run:
        for line in run.stdout:
            n += 1
            report = json.loads(line)
            wrong += wrong_owners(report, counts, kinds, fits, ownerless) if fits is not None else report.get("deadlocks", [])
    name = f"{name} {' '.join(options) or 'always'}"
    tap.equal((run.returncode, n), (0, stops), f"{name}: {stops} captures")
    tap.check(not wrong, f"{name}: no owner that is not, no deadlock {counts if fits else str()}", "\n".join(map(str, wrong[:10])))
    if fits is None:
        return
    # Between two instructions of its own nobody has it yet, or any longer.
    tap.check(counts["waits"] >= stops and counts["known"] * 2 >= counts["waits"],
              f"{name}: most owners are told", counts)
