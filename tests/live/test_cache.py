#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Debug sections that were unpacked once are kept, and used by the next dump: by the command and the daemon.

That a file is used is seen by what it says: one of zeros leaves the C library without lines."""
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile

from daemon import Daemon, ended, name_of
from harness import SNAPWALK, Tap, Target, call_of, no_mounts, public, wait_until

HEAD_BYTES = 4096
LIBC_LEAST = 1 << 20
OTHER_UID = 65534


def libc_lines(report):
    """Frames of the C library that have lines, and those that have not."""
    libc = [f for s in report["stacks"] for f in s["frames"]
            if (f.get("module") is not None and
                "libc.so" in report["modules"][f["module"]]["path"])]
    lines = sum(f.get("line") is not None for f in libc)
    return lines, len(libc) - lines


def settled(target):
    """Wait until the target's three threads are where they wait, not on their way there: each dump has the same frames."""
    pid, waits = target.pid, {0, 202, 230, 232}  # read of the first thread; futex, clock_nanosleep, epoll_wait
    wait_until(lambda: {call_of(pid, tid) for tid in os.listdir(f"/proc/{pid}/task")} == waits, "its threads to wait")


def dumped(pid, *args, user=None, env=None):
    command = SNAPWALK if user is None else public(SNAPWALK)
    run = subprocess.run([command, "dump", "--json", "--max-stop", "60000", "--timeout", "60000",
                          "--via", "direct", *args, str(pid)], capture_output=True, text=True, user=user,
                         env=env)
    if run.returncode:
        raise RuntimeError(f"{run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def kept(directory):
    """The file that is made after a dump: the command waits for it, but not long."""
    def found():
        names = os.listdir(directory) if os.path.isdir(directory) else []
        files = [os.path.join(directory, n) for n in names if n.endswith(".sections")]
        return [f for f in files if os.path.getsize(f) > LIBC_LEAST]
    return wait_until(found, f"unpacked sections in {directory}")[0]


def blank(path):
    """Fill the contents with zeros and leave all else as it was."""
    size = os.path.getsize(path)
    times = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(HEAD_BYTES)
        file.write(bytes(size - HEAD_BYTES))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def by_the_command(tap, target, directory):
    cache = os.path.join(directory, "cache")
    first = dumped(target.pid, "--cache", cache)
    lines, without = libc_lines(first)
    tap.check(lines > 0, "the C library has lines", (lines, without))
    path = kept(cache)
    mode = os.stat(path)
    tap.equal((stat.S_IMODE(mode.st_mode), mode.st_uid), (0o644, os.geteuid()),
              "what was unpacked is kept, and written by nobody else")
    second = dumped(target.pid, "--cache", cache)
    tap.equal(libc_lines(second), (lines, without), "the second dump has the same lines")
    blank(path)
    tap.equal(libc_lines(dumped(target.pid, "--cache", cache))[0], 0, "because it reads what is kept")
    tap.equal(libc_lines(dumped(target.pid, "--cache", "none"))[0], lines, "--cache none does not")
    run = subprocess.run([SNAPWALK, "sample", "--duration", "1", "--rate", "5", "--format", "json", "--cache",
                          cache, str(target.pid)], capture_output=True, text=True)
    tap.check(run.returncode == 0 and "threads.c" in run.stdout and "pthread_create.c" not in run.stdout,
              "sample reads it, too", (run.returncode, run.stderr))
    return lines


def what_is_not_believed(tap, target, directory, lines):
    cache = os.path.join(directory, "doubtful")
    dumped(target.pid, "--cache", cache)
    path = kept(cache)

    def used():
        return libc_lines(dumped(target.pid, "--cache", cache))[0] == 0
    blank(path)
    tap.check(used(), "a file of zeros is used")
    os.chmod(path, 0o666)
    tap.check(not used(), "a file that everybody may write is not used")
    # The file was replaced by a new one.
    wait_until(lambda: stat.S_IMODE(os.stat(path).st_mode) == 0o644, "another file in its place")
    blank(path)
    os.chmod(cache, 0o777)
    tap.check(not used(), "none in a directory that everybody may write")
    os.chmod(cache, 0o755)
    elsewhere = path + ".x"
    os.rename(path, elsewhere)
    os.symlink(elsewhere, path)
    tap.check(not used(), "no link")
    wait_until(lambda: not os.path.islink(path), "a file in its place")
    blank(path)
    with open(path, "r+b") as file:  # the name of the machine's start
        file.seek(8)
        file.write(b"x")
    tap.check(not used(), "none of an earlier start of the machine")
    tap.equal(libc_lines(dumped(target.pid, "--cache", cache))[0], lines, "and it is right again")
    run = subprocess.run([SNAPWALK, "--cache", "no", str(target.pid)], capture_output=True, text=True)
    tap.equal((run.returncode, "whole path" in run.stderr), (2, True), "--cache no: an error of usage")


def elsewhere_kept(script, *args, env):
    """A script's output, in a mount namespace in which nothing is kept yet."""
    run = subprocess.run(["unshare", "--mount", "sh", "-ec", "mount -t tmpfs tmpfs /var/cache\n" + script, "sh",
                          *map(str, args)], capture_output=True, text=True, env=env)
    if run.returncode:
        raise RuntimeError(f"{run.returncode}: {run.stderr}")
    return run.stdout.split()


def by_default(tap, directory, lines):
    """Root's in /var/cache/snapwalk, where others read it; another user's in its own directory, which is made."""
    if os.geteuid() != 0 or no_mounts():
        tap.skip("directories by default", no_mounts() or "not root", tap.MOUNTS)
        return
    home = os.path.join(directory, "home")
    os.mkdir(home)
    os.chmod(directory, 0o755)
    os.chown(home, OTHER_UID, OTHER_UID)
    env = {"HOME": home, "PATH": os.environ["PATH"]}
    dump = [public(SNAPWALK), "dump", "--json", "--via", "direct", "--max-stop", "60000", "--timeout", "60000"]
    as_user = f"setpriv --reuid {OTHER_UID} --clear-groups"
    # The command waits for the file that is made after it, but not long: 60 s at most here.
    wait_for = """wait_for() {
            n=0
            until ls "$1"/*.sections >/dev/null 2>&1 || [ $n = 1200 ]; do n=$((n + 1)); sleep 0.05; done
            }"""
    with Target("threads", 3, 5, user=OTHER_UID) as target:
        settled(target)
        roots = elsewhere_kept(f"""{wait_for}
            pid=$1; shift
            "$@" $pid >/dev/null; wait_for /var/cache/snapwalk
            stat -c '%u %a' /var/cache/snapwalk; ls /var/cache/snapwalk | wc -l
            {as_user} "$@" $pid >/dev/null; ls {home}/.cache/snapwalk | wc -l""", target.pid, *dump, env=env)
        tap.equal(roots, ["0", "755", "1", "0"], "root's are in /var/cache/snapwalk; others read them there")
        users = elsewhere_kept(f"""{wait_for}
            pid=$1; shift
            {as_user} "$@" $pid >/dev/null; wait_for {home}/.cache/snapwalk
            stat -c '%u %a' {home}/.cache; ls {home}/.cache/snapwalk | wc -l
            export XDG_CACHE_HOME={home}/xdg
            {as_user} "$@" $pid >/dev/null; wait_for {home}/xdg/snapwalk; ls {home}/xdg/snapwalk | wc -l""",
                               target.pid, *dump, env=env)
        tap.equal(users, [str(OTHER_UID), "700", "1", "1"], "a user's are in ~/.cache, or in XDG_CACHE_HOME")
        homeless = dumped(target.pid, user=OTHER_UID, env={**env, "HOME": "/nonexistent"})
        tap.equal(libc_lines(homeless)[0], lines, "without a home: nothing is kept, all is there")


def by_the_daemon(tap, target, lines):
    with Daemon({"MinIntervalSec": "0"}) as daemon:
        cache = os.path.join(daemon.directory, "cache")
        first = daemon.capture(target.pid)["dump"]
        tap.equal(libc_lines(first)[0], lines, "the daemon's dump has lines")
        path = kept(cache)
        blank(path)
        second = daemon.capture(target.pid)["dump"]
        tap.equal(libc_lines(second)[0], 0, "the next worker reads what is kept")
        os.unlink(path)
        tap.equal(libc_lines(daemon.capture(target.pid)["dump"])[0], lines, "without it: as at first")
        tap.check(kept(cache), "and it is kept again")
        helpers = [pid for pid in daemon.helpers() if name_of(pid) == "snapwalk-unpack"]
        tap.equal(len(helpers), 1, "by a process of its own")
        os.kill(helpers[0], signal.SIGKILL)
        os.unlink(path)
        wait_until(lambda: ended(helpers[0]), "it to end")
        again = [libc_lines(daemon.capture(target.pid)["dump"])[0] for _ in range(2)]
        tap.equal(again, [lines, lines], "without that process nothing is kept, and all is there")
    tap.check(all(map(ended, helpers)), "nothing is left")


def run(tap):
    directory = tempfile.mkdtemp(prefix="snapwalk-test-cache-")
    try:
        with Target("threads", 3, 5) as target:
            settled(target)
            lines, _ = libc_lines(dumped(target.pid, "--cache", "none"))
            if not lines:
                tap.skip("unpacked sections", "the C library has no lines", "package libc6-dbg")
                return
            by_the_command(tap, target, directory)
            what_is_not_believed(tap, target, directory, lines)
            by_the_daemon(tap, target, lines)
        by_default(tap, directory, lines)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    test = Tap()
    test.guard(run)
    test.done()
