#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""Snapshots that dumps keep: they walk again as they did, and share the files of modules."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

from harness import PATIENT, TARGETS, Tap, Target, dump, snapwalk, state_of, wait_blocked, wait_until

PYTHON_SOURCE = """
def inner():
    print("ready", flush=True)
    input()
def outer():
    inner()
outer()
"""
NOBODY = 65534
LOOK_BYTES_MAX = 500_000  # of a snapshot of Python, without its modules


@contextlib.contextmanager
def python():
    """A Python process that waits."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "waits.py")
        with open(path, "w") as file:
            file.write(PYTHON_SOURCE)
        with Target("python", path, path=sys.executable) as target:
            wait_until(lambda: state_of(target.pid) == "S", "it to wait")
            yield target


def disk_bytes(*directories):
    """Space of directories, where a file with several names counts once."""
    seen = {}
    for directory in directories:
        for parent, _, names in os.walk(directory):
            for path in (parent, *(os.path.join(parent, name) for name in names)):
                st = os.lstat(path)
                seen[st.st_dev, st.st_ino] = st.st_blocks * 512
    return sum(seen.values())


def stacks_text(report):
    """Returns what must be the same to the byte, a line for each frame. A snapshot does not know any more that a
    frame's memory was read after the stop (live_read)."""
    lines = [json.dumps([t["tid"], t["stack"]]) for t in report["threads"]]
    for stack in report["stacks"]:
        lines.append(json.dumps([stack["id"], stack["end"], stack["why"]]))
        lines += [json.dumps({key: value for key, value in frame.items() if key != "live_read"}) for frame in stack["frames"]]
    return lines


def check_same(tap, again, live, name):
    again, live = stacks_text(again), stacks_text(live)
    differ = [pair for pair in zip(again, live) if pair[0] != pair[1]]
    tap.check(again == live, f"{name}: the same stacks", f"{len(again)} lines, {len(live)} live\n{differ[:1]}")


def test_same(tap):
    for name, options in (("chain_pie", ()), ("inlines", ()), ("named", (12,)), ("deep", (200,))):
        with tempfile.TemporaryDirectory() as directory, Target(name, *options) as target:
            wait_blocked(target.pid)
            kept, store = os.path.join(directory, "kept"), os.path.join(directory, "store")
            live = dump(target.pid, "--keep", kept, "--modules-store", store, "--stack-bytes", 65536)
            again = dump(["--fixture", kept])
            check_same(tap, again, live, name)
            tap.equal(sorted(os.listdir(directory)), ["kept", "store"], f"{name}: nothing temporary stays")


def test_same_capture(tap):
    """A thread that runs is elsewhere in each capture: the snapshot is that of the dump."""
    with tempfile.TemporaryDirectory() as directory, Target("busy") as target:
        for i in range(10):
            kept = os.path.join(directory, str(i))
            out = os.path.join(directory, f"{i}.json")
            words = ("-o", out) if i % 2 else ()
            result = snapwalk("dump", "--json", *PATIENT, "--keep", kept, "--modules-store", os.path.join(directory, "store"),
                              *words, target.pid)
            if words:
                with open(out) as file:
                    text = file.read()
            else:
                text = result.stdout
            live, again = json.loads(text), dump(["--fixture", kept], status=(0, 3))
            check_same(tap, again, live, f"one that runs, {'to a file' if words else 'to a pipe'}")
            tap.equal([t["cpu_ns"] for t in again["threads"]], [t["cpu_ns"] for t in live["threads"]],
                      "and the same CPU time")


def test_store(tap):
    with tempfile.TemporaryDirectory() as directory, python() as target:
        kept = [os.path.join(directory, f"kept{i}") for i in range(2)]
        store = os.path.join(directory, "store")
        live = dump(target.pid, "--keep", kept[0], "--modules-store", store)
        names = sorted(os.listdir(store))
        before = disk_bytes(store, kept[0])
        dump(target.pid, "--keep", kept[1], "--modules-store", store)
        cost = disk_bytes(store, *kept) - before
        tap.check(cost < LOOK_BYTES_MAX, f"the second look costs {cost} bytes", cost)
        tap.equal(sorted(os.listdir(store)), names, "the store has each module once")
        for path in kept:
            modules = os.path.join(path, "modules")
            tap.equal(sorted(os.listdir(modules)), names, "a snapshot has all modules")
            tap.equal([os.lstat(os.path.join(modules, name)).st_ino for name in names],
                      [os.lstat(os.path.join(store, name)).st_ino for name in names], "they are those of the store")
        tap.check(all(len(os.listdir(os.path.join(path, "modules"))) > 5 for path in kept), "Python has modules", names)
        os.rename(store, os.path.join(directory, "gone"))
        for path in kept:
            check_same(tap, dump(["--fixture", path]), live, "without the store")
        recorded = os.path.join(directory, "recorded")
        snapwalk("record", target.pid, "-o", recorded, "--modules-store", os.path.join(directory, "gone"), check=True)
        cost = disk_bytes(os.path.join(directory, "gone"), *kept, recorded) - disk_bytes(os.path.join(directory, "gone"), *kept)
        tap.check(cost < LOOK_BYTES_MAX, f"record: so much with the store: {cost} bytes", cost)
        os.mkdir(store)
        for name in names:  # another file has the build-id
            with open(os.path.join(store, name), "wb") as file:
                file.write(b"\x7fELF")
        other = os.path.join(directory, "other")
        dump(target.pid, "--keep", other, "--modules-store", store)
        check_same(tap, dump(["--fixture", other]), live, "damaged files in the store are not taken")


def refused(tap, name, words, target, *args):
    result = snapwalk("dump", *PATIENT, *args, target.pid)
    tap.equal(result.returncode, 3, f"{name}: status")
    tap.check(words in result.stderr and len(result.stderr.splitlines()) == 1, f"{name}: the error is one clear line", result.stderr)
    return result.stdout


def test_refused(tap):
    with tempfile.TemporaryDirectory() as directory, Target("chain_pie") as target:
        wait_blocked(target.pid)
        inside = os.path.join(directory, "kept")
        for name, words, args in (
                ("it exists", f"{directory}: it is there already (io)", ("--keep", directory)),
                ("no such place", "No such file or directory", ("--keep", os.path.join(inside, "no", "such"))),
                ("no such store", f"{inside}/no/store: No such file", ("--keep", inside, "--modules-store", f"{inside}/no/store")),
                ("no store", "/dev/null: Not a directory", ("--keep", inside, "--modules-store", "/dev/null"))):
            text = refused(tap, name, words, target, *args)
            tap.check("main" in text, f"{name}: the dump is there", text)
            out = os.path.join(directory, "out")
            refused(tap, f"{name}, to a file", words, target, "-o", out, *args)
            with open(out) as file:
                tap.check("main" in file.read(), f"{name}: the dump is in its file")
            os.remove(out)
            tap.equal(os.listdir(directory), [], f"{name}: nothing is left over")
        if os.path.ismount("/dev/shm") and os.stat("/dev/shm").st_dev != os.stat(directory).st_dev:
            with tempfile.TemporaryDirectory(dir="/dev/shm") as store:
                refused(tap, "a store elsewhere", f"{store}: Invalid cross-device link", target, "--keep", inside,
                        "--modules-store", store)
                tap.equal(os.listdir(directory), [], "a store elsewhere: nothing is left over")
        else:
            tap.skip("a store elsewhere", "/dev/shm is no other file system", "a tmpfs at /dev/shm")


def test_links_of_others(tap):
    """A user who may put a link on the way may let it lead to any directory of root's: nothing is made, written or
    removed there. Root's own links are followed."""
    if os.geteuid() != 0:
        tap.skip("links of others", "not root", Tap.ROOT)
        return
    with tempfile.TemporaryDirectory() as directory, Target("chain_pie") as target:
        wait_blocked(target.pid)
        victim, link = os.path.join(directory, "victim"), os.path.join(directory, "link")
        os.mkdir(victim)
        os.symlink(victim, link)
        inside = os.path.join(link, "x")
        plain = os.path.join(directory, "plain")
        dumped = ("dump", target.pid, *PATIENT)
        kept = (*dumped, "--keep")
        cases = {"--keep": (*kept, inside), "record -o": ("record", "--max-stop", "10000", target.pid, "-o", inside),
                 "--modules-store": (*kept, plain, "--modules-store", inside),
                 "--modules-store itself": (*kept, plain, "--modules-store", link),
                 "-o": (*dumped, "-o", inside), "--json -o": (*dumped, "--json", "-o", inside)}
        for name, words in cases.items():
            result = snapwalk(*words)
            tap.equal((result.returncode, result.stderr), (0, ""), f"{name}: by a link of ours")
            for made in (victim, plain):
                if os.path.exists(made):
                    subprocess.run(["rm", "-r", made], check=True)
            os.mkdir(victim)
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        for name, words in cases.items():
            result = snapwalk(*words)
            tap.check(result.returncode in (1, 3) and "a link of another user" in result.stderr
                      and len(result.stderr.splitlines()) == 1, f"{name}: not by one of another user", result)
            tap.equal((os.listdir(victim), sorted(os.listdir(directory))), ([], ["link", "victim"]), f"{name}: nothing is made")
        result = snapwalk(*dumped, "--cache", inside)
        tap.equal((result.returncode, os.listdir(victim)), (0, []), "--cache: nothing is made by it")


def test_several(tap):
    path = os.path.join(TARGETS, "chain_pie")
    with tempfile.TemporaryDirectory() as directory, Target("chain_pie") as one, Target("chain_pie") as two:
        kept = os.path.join(directory, "kept")
        result = snapwalk("dump", "--keep", kept, "--comm", os.path.basename(path))
        tap.equal(result.returncode, 2, "two processes of a name: status")
        tap.check(all(str(t.pid) in result.stderr for t in (one, two)), "two processes of a name: they are listed", result.stderr)
        tap.check(not os.path.exists(kept), "two processes of a name: nothing is kept")


if __name__ == "__main__":
    Tap.main(test_same, test_same_capture, test_store, test_refused, test_links_of_others, test_several)
