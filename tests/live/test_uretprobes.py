#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions whose returns a tool probes (bpftrace, perf): the kernel has replaced their return addresses."""
import os
import subprocess

from harness import TARGETS, Tap, Target, dump, iterator_refused, own_functions, stack_of, wait_blocked

FUNCTIONS = ("innermost", "recursive", "jumps", "plain")


def symbols(path):
    """{name: address in the file}; the program is position independent, so these are offsets, too."""
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {words[2]: words[0] for words in map(str.split, out.splitlines()) if len(words) == 3}


def probed(tap, *options):
    """A dump with all functions probed; None and a skip where that cannot be."""
    path = os.path.join(TARGETS, "probed")
    with Target("probed") as target:
        with subprocess.Popen([os.path.join(TARGETS, "drive_uretprobe"), path,
                               *(symbols(path)[name] for name in FUNCTIONS)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
            said = driver.stdout.readline().strip()
            if said != "armed":
                tap.skip("returns of functions are probed", said, "root, and a kernel with uprobes")
                driver.stdin.close()
                return None
            target.send("go")
            wait_blocked(target.pid)
            with open(f"/proc/{target.pid}/maps") as maps:
                tap.check("[uprobes]" in maps.read(), "the kernel's page is there")
            report = dump(target.pid, "--max-stop", 5000, *options)
            driver.stdin.close()
        return report, target.pid


def test_told(tap):
    """The iterator tells what was replaced: also twice in one place, by a function that jumps to another one."""
    refused = iterator_refused()
    if refused:
        tap.skip("return addresses are the kernel's own", refused, "the task iterator")
        return
    got = probed(tap)
    if got is None:
        return
    report, pid = got
    stack = stack_of(report, pid)
    tap.equal(own_functions(report, pid), ["block", "innermost", "recursive", "recursive", "recursive", "plain", "main"],
              "every function is there")
    tap.equal((stack["end"], {f["trust"] for f in stack["frames"][1:]}), ("complete", {"cfi"}), "by tables, to the first frame")


def test_not_told(tap):
    """Where they are not known, what the kernel put there is shown, and what comes behind it is a guess."""
    got = probed(tap, "--stop", "always")
    if got is None:
        return
    report, pid = got
    stack = stack_of(report, pid)
    frames = stack["frames"]
    tap.equal(own_functions(report, pid)[:2], ["block", "innermost"], "not told: as far as it is known")
    tap.check(frames[2].get("module") is None and frames[2].get("function") is None, "not told: the kernel's page",
              frames)
    tap.check(len(frames) > 4 and all(f.get("after_guess") or f["trust"].startswith("scan") or f is frames[-1]
                                      for f in frames[3:]), "not told: what follows is a guess", frames)
    tap.equal(stack["end"], "complete", "not told: walked on to the first frame")


def main():
    tap = Tap()
    tap.guard(test_told)
    tap.guard(test_not_told)
    tap.done()


if __name__ == "__main__":
    main()
