#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
# strict
"""A dump under valgrind: no error, nothing leaked."""
import json
import subprocess

from harness import SNAPWALK, Tap, Target, tool, wait_blocked


def test_dump(tap, *options):
    with Target("inlines") as target:
        wait_blocked(target.pid)
        run = subprocess.run(["valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all",
                              "--errors-for-leak-kinds=definite,indirect,possible",
                              "--error-exitcode=99", SNAPWALK, "dump", "--no-sandbox", "--max-stop", "10000",
                              "--timeout", "60000", *options,
                              str(target.pid)], capture_output=True, text=True, timeout=300)
        name = " ".join(("dump", *options))
        tap.equal(run.returncode, 0, f"valgrind: {name}") or print(
            "".join(f"# {line}\n" for line in run.stderr.splitlines()[:60]))
        if "--json" in options:
            tap.check(json.loads(run.stdout)["stacks"], f"valgrind: {name} has a stack")


if __name__ == "__main__":
    Tap.main((test_dump, "--json"), (test_dump, "--json", "--walk", "libunwind"), (test_dump, "--format", "folded"),
             (test_dump, "-v"), skip=("valgrind", "" if tool("valgrind") else "it is not installed", "package valgrind"))
