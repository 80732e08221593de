#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
# strict
"""Files that the user of a process may not read are not read for it, by the command as root or by the daemon.

A dump reads files that the process, or somebody else, has chosen: debug files beside its programs and below /usr/lib/debug,
what these name (.dwo, .dwp, dwz), the perf map. Each of them has a name that no other file has: a result with that name has
read the file. In the place of each are put one after the other a file of root, a link, a FIFO, a device, ...; the programs
run as a user, and set-user-ID by that user. PDBs are in runtime_clr_lines.py, jitdumps in test_jit_files.py."""
import contextlib
import json
import os
import shutil
import stat
import struct
import subprocess
import tempfile

import debug_programs
import fuse
from daemon import Daemon
from harness import PATIENT, SNAPWALK, TARGETS, Tap, Target, no_mounts, wait_until

USER, ANOTHER = 1234, 4321
PROGRAMS = {**debug_programs.FILES, **debug_programs.BELOW}
KEPT = ("plain", "identified")  # whose snapshots are kept, too: each is a dump of its own
MAP = "map_inner"
ALL = {*PROGRAMS, "map"}
ZERO = (1, 5)  # the device's numbers


def access_list(*entries):
    """The attribute of a file with an access control list, acl(5): (tag, permissions, id) of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOT_FOR_USER = access_list((1, 6, 0xFFFFFFFF), (2, 0, USER), (4, 4, 0xFFFFFFFF), (16, 4, 0xFFFFFFFF), (32, 4, 0xFFFFFFFF))


class Files:
    """The files of running programs, and what is put in their places."""

    def __init__(self, paths, spare):
        self.paths, self.spare = paths, spare
        for i, path in enumerate(paths):
            shutil.copy(path, os.path.join(spare, str(i)))

    @property
    def directories(self):
        return {os.path.dirname(path) for path in self.paths}

    def clear(self):
        for path in self.directories:
            os.chmod(path, 0o755)
        for path in self.paths:
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            elif os.path.lexists(path):
                os.unlink(path)

    def copies(self, uid, mode, directory_mode=0o755):
        self.clear()
        for i, path in enumerate(self.paths):
            shutil.copy(os.path.join(self.spare, str(i)), path)
            os.chown(path, uid, uid)
            os.chmod(path, mode)
        for path in self.directories:
            os.chmod(path, directory_mode)

    def links(self, uid, mode):
        self.clear()
        for i, path in enumerate(self.paths):
            copy = os.path.join(self.spare, str(i))
            os.chmod(copy, mode)
            os.symlink(copy, path)
            os.lchown(path, uid, uid)

    def nodes(self, mode):
        self.clear()
        for path in self.paths:
            os.mknod(path, mode | 0o644, os.makedev(*ZERO))
            os.chown(path, USER, USER)

    def empty_directories(self):
        self.clear()
        for path in self.paths:
            os.mkdir(path)

    def listed(self):
        self.copies(0, 0o644)
        for path in self.paths:
            os.setxattr(path, "system.posix_acl_access", NOT_FOR_USER)


# Each row: a name, the function that puts a thing in the place of each file, and whom it is for; None: nobody but root.
OBSTACLES = (
    ("a file of root", lambda files: files.copies(0, 0o600), None),
    ("a file for a group of others", lambda files: files.copies(ANOTHER, 0o640), None),
    ("a file for all in a directory of root", lambda files: files.copies(0, 0o644, 0o700), None),
    ("a file that a list denies the user", lambda files: files.listed(), "others"),
    ("a link to a file of root", lambda files: files.links(USER, 0o600), None),
    ("a link of another user to a file for all", lambda files: files.links(ANOTHER, 0o644), None),
    ("root's link to a file for all", lambda files: files.links(0, 0o644), None),
    ("a FIFO", lambda files: files.nodes(stat.S_IFIFO), None),
    ("a device", lambda files: files.nodes(stat.S_IFCHR), None),
    ("a directory", lambda files: files.empty_directories(), None),
    ("a file of the user alone", lambda files: files.copies(USER, 0o600), "user"),
    ("a file for all", lambda files: files.copies(0, 0o644), "all"),
)
# A file of the real user: a set-user-ID program has the rights of root besides.
SET_USER = (OBSTACLES[0], OBSTACLES[2], OBSTACLES[-2], OBSTACLES[-1])


def start(stack, directory, set_user):
    """{name: pid} of the programs, for a user. The one with a map has a /tmp of its own."""
    found = {}
    who = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups")
    maker = shutil.copy(os.path.join(TARGETS, "jit_files"), directory)
    for path in (maker, *(os.path.join(directory, name) for name in PROGRAMS)):
        os.chown(path, 0, 0)
        os.chmod(path, 0o4755 if set_user else 0o755)
    for name in PROGRAMS:
        words = (*who[1:], os.path.join(directory, name))
        found[name] = stack.enter_context(Target(None, *words, path=shutil.which(who[0]))).pid
    script = f"mount -t tmpfs -o mode=1777 none /tmp && exec {' '.join(who)} {maker} map"
    found["map"] = stack.enter_context(Target(None, "-m", "sh", "-c", script, path=shutil.which("unshare"))).pid
    return found


def commands(pids, directory, n):
    """{name: what the command is given}; each reads all that its user may."""
    direct = ("--via", "direct", *PATIENT)
    keep = {f"--keep, {name}": ("dump", *direct, "--json", "--keep", os.path.join(directory, f"kept{n}{name}"), pids[name])
            for name in KEPT}
    return {"dump": ("dump", *direct, "--json", *pids.values()),
            "--burst": ("dump", *direct, "--burst", "2,20", *pids.values()),
            "sample": ("sample", *direct[:2], "--duration", "1", "--stop", "always", "--max-load", "100", "--format", "folded",
                       *pids.values()), **keep}


def read(said, names=ALL):
    """The files whose names are in a result."""
    return {name for name in names if (PROGRAMS[name][0] if name in PROGRAMS else MAP) in said}


def look(tap, what, expected, daemon, pids, directory, n):
    """Each way to a result: it is there, and has the names that are expected."""
    found = {}
    for way, words in commands(pids, directory, n).items():
        run = subprocess.run([SNAPWALK, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        tap.check(run.returncode in (0, 3) and run.stdout, f"{what}, {way}: it works", (run.returncode, run.stderr))
        way = way.partition(",")[0]
        found[way] = found.get(way, set()) | read(run.stdout)
    found["daemon"] = set()
    for name, pid in pids.items():
        found["daemon"] |= read(json.dumps(daemon.capture(pid)["dump"]), {name})
    for way, names in found.items():
        tap.equal(names, expected[way if way in expected else "command"], f"{what}, {way}: what is read")


def expected_of(who):
    """Below /usr/lib/debug the daemon reads what its own user may, and nothing beside programs. With --keep root without
    capabilities has to be permitted, too."""
    below = set(debug_programs.BELOW)
    return {None: {"command": set(), "daemon": set(), "--keep": set()},
            "others": {"command": set(), "daemon": below, "--keep": set()},
            "user": {"command": ALL, "daemon": {"map"}, "--keep": set()},
            "all": {"command": ALL, "daemon": {*below, "map"}, "--keep": set(KEPT)}}[who]


def build_on_overlay(stack, directory):
    """Programs and files that come from the lower layer of overlayfs: what is put in their places is made in the upper one.
    Returns why it cannot be, or None."""
    top = stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp"))
    layers = [os.path.join(top, name) for name in ("empty", "lower", "work", "upper", "work2")]
    for path in layers:
        os.mkdir(path)
    os.chmod(top, 0o755)
    try:
        fuse.overlay_to_write(*layers[:3], directory)  # names of files are those that they have later
    except OSError as error:
        return str(error)
    try:
        debug_programs.build(directory, PROGRAMS)
    finally:
        fuse.unmount(directory)
    fuse.overlay_to_write(layers[1], layers[3], layers[4], directory)
    stack.callback(fuse.unmount, directory)
    return None


def tried(tap, obstacles, set_user, overlay=False):
    with contextlib.ExitStack() as stack:
        directory, spare = (stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")) for _ in range(2))
        os.chmod(spare, 0o755)
        if overlay:
            why = build_on_overlay(stack, directory)
            if why:
                tap.skip("files on overlayfs", why, "overlayfs")
                return
        else:
            debug_programs.build(directory, PROGRAMS)
        daemon = stack.enter_context(Daemon())
        pids = start(stack, directory, set_user)
        of_map = f"/proc/{pids['map']}/root/tmp/perf-{pids['map']}.map"
        wait_until(lambda: os.path.exists(of_map), "the map")
        files = Files([*(os.path.join(directory, path) for _, path in PROGRAMS.values()), of_map], spare)
        for n, (name, put, who) in enumerate(obstacles):
            put(files)
            what = f"set-user-ID, {name}" if set_user else f"overlayfs, {name}" if overlay else name
            look(tap, what, expected_of(who), daemon, pids, directory, n)


def of_user(tap):
    tried(tap, OBSTACLES, False)


def of_set_user(tap):
    tried(tap, SET_USER, True)


def of_overlay(tap):
    tried(tap, SET_USER, False, overlay=True)


def main():
    tap = Tap()
    why = no_mounts() or (None if os.path.isdir(debug_programs.DEBUG) else f"no {debug_programs.DEBUG}")
    missing = debug_programs.missing(PROGRAMS)
    if why or missing:
        tap.skip("private files", why or f"no {' '.join(missing)}", f"{Tap.MOUNTS}; packages gcc, binutils, dwz")
        tap.done()
    fuse.enter_mounts()
    fuse.memory(debug_programs.DEBUG)
    for test in tap.chosen(of_user, of_set_user, of_overlay):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
