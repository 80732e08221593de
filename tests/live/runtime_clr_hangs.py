#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""Each command answers within its limits when the PDB beside a .NET assembly is on a file system that does not answer:
as test_hangs.py, which has the places that need no runtime."""
import contextlib
import os
import shutil

import dotnet
import fuse
import test_hangs
from daemon import Daemon
from harness import Tap


@contextlib.contextmanager
def pdb(directory):
    """A file of the server is mounted over the PDB, beside an assembly on a disk."""
    program = f"{os.path.dirname(directory)}/program"
    shutil.copytree(dotnet.build(), program)
    path = f"{program}/swnet.pdb"
    with open(path, "rb") as file:
        content = file.read()
    with fuse.Fuse(directory, {"deep/swnet.pdb": content}) as server, contextlib.ExitStack() as stack:
        fuse.bind(f"{directory}/deep/swnet.pdb", path)
        stack.callback(fuse.unmount, path)
        with dotnet.Program("stacks", directory=program) as target:
            # Where nothing is asked of the server, its silence proves nothing.
            asked = server.asked
            test_hangs.run(["dump", "--via", "direct", str(target.pid)])
            if server.asked == asked:
                raise RuntimeError("the PDB was not looked for")
            yield server, target


def main():
    tap = Tap()
    missing = fuse.available() or dotnet.missing()
    if missing:
        tap.skip("hangs by a PDB", missing, "root, /dev/fuse and the .NET SDK 10 (dotnet) in PATH")
        tap.done()
    fuse.enter_mounts()
    unit = test_hangs.Unit()
    with Daemon({"MinIntervalSec": 0, "StopPercent": 100, "KeepFree": "0"}) as daemon:
        tap.guard(test_hangs.test_place, pdb, daemon, unit)
    unit.remove()
    tap.done()


if __name__ == "__main__":
    main()
