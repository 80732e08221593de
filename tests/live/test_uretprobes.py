#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""Functions whose returns a tool probes (bpftrace, perf): the kernel has replaced their return addresses."""
import contextlib
import json
import os
import subprocess
import time

from daemon import Daemon
from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, iterator_refused, own_functions, seeded, snapwalk,
                     stack_of, wait_blocked, wait_until)

FUNCTIONS = ("innermost", "recursive", "jumps", "plain")
BUSY = ("deeper", "middle", "top")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "25"))
NEEDED = "root, and a kernel with uprobes"


def symbols(path):
    """{name: address in the file}; the program is position independent, so these are offsets, too."""
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {words[2]: words[0] for words in map(str.split, out.splitlines()) if len(words) == 3}


@contextlib.contextmanager
def probed(tap, name, functions):
    """The program, going on with all functions probed; None and a skip where that cannot be."""
    path = os.path.join(TARGETS, name)
    with Target(name) as target:
        with subprocess.Popen([os.path.join(TARGETS, "drive_uretprobe"), path,
                               *(symbols(path)[function] for function in functions)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
            said = driver.stdout.readline().strip()
            if said != "armed":
                tap.skip("returns of functions are probed", said, NEEDED)
                driver.stdin.close()
                yield None
                return
            target.send("go")
            wait_until(lambda: has_page(target.pid), "the kernel's page")
            yield target
            driver.stdin.close()


def has_page(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return "[uprobes]" in maps.read()


def test_told(tap):
    """The iterator tells what was replaced: also twice in one place, by a function that jumps to another one."""
    with probed(tap, "probed", FUNCTIONS) as target:
        if target is None:
            return
        wait_blocked(target.pid)
        for options in ((), ("--stop", "always")):
            report = dump(target.pid, *options)
            stack = stack_of(report, target.pid)
            tap.equal(own_functions(report, target.pid),
                      ["block", "innermost", "recursive", "recursive", "recursive", "plain", "main"],
                      f"{options}: every function is there")
            tap.equal((stack["end"], {f["trust"] for f in stack["frames"][1:]}), ("complete", {"cfi"}),
                      f"{options}: by tables, to the first frame")


def test_not_told(tap):
    """Where they are not known, what the kernel put there is shown, and what comes behind it is a guess."""
    with probed(tap, "probed", FUNCTIONS) as target:
        if target is None:
            return
        wait_blocked(target.pid)
        made = subprocess.run([os.path.join(TARGETS, "without"), "bpf", "--", SNAPWALK, "dump", "--json", *map(str, PATIENT),
                               str(target.pid)], capture_output=True, text=True)
        report = json.loads(made.stdout)
        stack = stack_of(report, target.pid)
        frames = stack["frames"]
        tap.equal(own_functions(report, target.pid)[:2], ["block", "innermost"], "not told: as far as it is known")
        tap.check(frames[2].get("module") is None and frames[2].get("function") is None, "not told: the kernel's page",
                  frames)
        tap.check(len(frames) > 4 and all(f.get("after_guess") or f["trust"].startswith("scan") or f is frames[-1]
                                          for f in frames[3:]), "not told: what follows is a guess", frames)
        tap.equal(stack["end"], "complete", "not told: walked on to the first frame")


def is_right(functions):
    """Innermost first: what the program can be in. Whoever is called has all its callers."""
    left = list(functions)
    n = 0
    while left[:1] == ["deeper"]:
        left.pop(0)
        n += 1
    whole = ["middle", "top", "main"]
    return n <= 21 and (left == whole if n > 0 else left != [] and left == whole[-len(left):])


def wrong_in(report, pid):
    """Returns what is not as it must be, or None."""
    stack = stack_of(report, pid)
    functions = own_functions(report, pid)
    trusts = {f["trust"] for f in stack["frames"][1:]}
    if functions and functions[0].startswith("__x86.get_pc_thunk."):
        # The one of crt1.o, which has no tables: its caller is found by its instructions.
        functions.pop(0)
        trusts = {stack["frames"][1]["trust"]} - {"instructions"} | {f["trust"] for f in stack["frames"][2:]}
    if is_right(functions) and stack["end"] == "complete" and trusts <= {"cfi"}:
        return None
    # Met between the breakpoint and the kernel's look at it, behind a byte that is an instruction of its own.
    if is_right(functions) and stack["frames"][0]["function_offset"] == 1:
        return None
    return functions, stack["end"], [(f["function"], f["pc"], f["trust"]) for f in stack["frames"]]


def busy(tap, name):
    """At random instants, by a stop: in the functions, and in the kernel's own code where they return."""
    pause = seeded(20261126)
    with probed(tap, name, BUSY) as target:
        if target is None:
            return
        for options in ((), ("--stop", "always")):
            wrong, depths = [], set()
            for _ in range(STOPS):
                time.sleep(pause.uniform(0, 0.005))  # another instant
                report = dump(target.pid, *options)
                found = wrong_in(report, target.pid)
                wrong += [found] if found is not None else []
                depths.add(len(own_functions(report, target.pid)))
            tap.equal(wrong, [], f"{name} {options}: right at {STOPS} instants")
            tap.check(len(depths) > 3, f"{name} {options}: in many places", depths)


def folded_are_right(tap, text, what):
    lines = text.split("\n")
    names = [line.rsplit(" ", 1)[0].split(";") for line in lines if line.strip()]
    own = [[n for n in reversed(line) if n in (*BUSY, "main")] for line in names]
    known = (*BUSY, "main", "_start", "__libc_start_main", "__libc_start_call_main")
    strange = [line for line, functions in zip(names, own)
               if not is_right(functions) or any("scan" in n or "?" in n for n in line)]
    tap.check(names and not strange, f"{what}: every stack is right ({len(names)})", strange or known)


def test_sampled(tap):
    with probed(tap, "probed_busy", BUSY) as target:
        if target is None:
            return
        made = snapwalk("sample", target.pid, "--rate", 50, "--duration", 1, "--format", "folded", "--mode", "wall")
        folded_are_right(tap, made.stdout, "sample")
        # The kernel says with each copy which return addresses it has replaced.
        made = snapwalk("sample", target.pid, "--rate", 50, "--duration", 1, "--format", "folded", "--mode", "cpu")
        folded_are_right(tap, made.stdout, "sample --mode cpu")
        tap.check("nothing was stopped" in made.stderr, "and no thread is stopped for it", made.stderr)
        made = snapwalk("dump", "--burst", "10,20", target.pid)
        tap.check("main" in made.stdout and "guess" not in made.stdout and "no module" not in made.stdout,
                  "burst: no guess", [made.stdout[:3000], made.stderr])


def test_daemon(tap):
    with probed(tap, "probed_busy", BUSY) as target:
        if target is None:
            return
        with Daemon() as daemon, daemon.client() as client:
            wrong = []
            for _ in range(10):
                report = client.call("Capture", target={"pid": target.pid})["dump"]
                found = wrong_in(report, target.pid)
                wrong += [found] if found is not None else []
            tap.equal(wrong, [], "the daemon's dumps")
            made = client.call("Profile", target={"pid": target.pid}, duration_ms=1000, rate_hz=20, mode="wall")
            tap.check(made["profile"]["frames"] if "profile" in made else made, "a profile is made", made)
            tap.check('"scan' not in json.dumps(made), "the daemon's profile has no guess", str(made)[:3000])


def main():
    tap = Tap()
    tap.guard(test_not_told)
    refused = iterator_refused()
    if refused:
        tap.skip("return addresses are the kernel's own", refused, "the task iterator")
        tap.done()
        return
    tap.guard(test_told)
    tap.guard(busy, "probed_busy")
    if os.path.exists(os.path.join(TARGETS, "i386_probed_busy")):
        tap.guard(busy, "i386_probed_busy")
    else:
        tap.skip("a program for i386 is probed", "gcc makes none", "gcc-multilib")
    tap.guard(test_sampled)
    tap.guard(test_daemon)
    tap.done()


if __name__ == "__main__":
    main()
