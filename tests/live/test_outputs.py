#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""A pipe or a link that another user has put where -o writes: each command that has -o refuses it, and does not wait."""
import contextlib
import os
import pwd
import subprocess
import tempfile

from harness import SNAPWALK, Tap, Target

KINDS = {"a pipe": "another user has put it into a directory that others may write to",
         "a link to a pipe": "leads through a link of another user"}


def commands(dump, pid):
    return {"dump": ("dump", pid), "dump --merge": ("dump", "--merge", pid), "dump --burst": ("dump", "--burst", "2,50", pid),
            "sample": ("sample", "--duration", "1", pid), "sample --all": ("sample", "--all", "--duration", "1"),
            "on": ("on", "syscall:close", "--duration", "1", pid),
            "on --then": ("on", "syscall:close", "--then", "dump", "--duration", "1", pid),
            "leaks": ("leaks", "--of", "fds", "--duration", "1", pid),
            "merge": ("merge", dump), "symbolize": ("symbolize", dump), "show": ("show", dump), "diff": ("diff", dump, dump)}


def planted(directory, kind, owner):
    path, pipe = os.path.join(directory, "out.txt"), os.path.join(directory, "pipe")
    for name in (path, pipe):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    made = path if kind == "a pipe" else pipe
    os.mkfifo(made)
    os.chmod(made, 0o666)
    if made == pipe:
        os.symlink(pipe, path)
    for name in {made, path}:
        os.lchown(name, owner, owner)
    return path


def refused(tap):
    if os.geteuid() != 0:
        tap.skip("what another user has put there", "not root", Tap.ROOT)
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    with tempfile.TemporaryDirectory() as directory, Target("threads", 1, 5) as target:
        dump = os.path.join(directory, "dump.json")
        subprocess.run([SNAPWALK, "dump", "--json", "-o", dump, str(target.pid)], check=True)
        common = os.path.join(directory, "common")
        os.mkdir(common)
        os.chmod(common, 0o1777)
        for kind, why in KINDS.items():
            for name, words in commands(dump, target.pid).items():
                path = planted(common, kind, nobody)
                run = subprocess.Popen([SNAPWALK, *map(str, words), "-o", path], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
                try:
                    said = run.communicate(timeout=60)[1]
                except subprocess.TimeoutExpired:
                    run.kill()
                    said = "it waits" + run.communicate()[1]
                tap.check(run.returncode == 1 and why in said, f"{name} -o {kind}: refused", (run.returncode, said))


if __name__ == "__main__":
    Tap.main(refused)
