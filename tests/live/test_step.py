#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 40s
# soak too
"""A walk at each third instruction of a program, at each one in the soak: PLT stubs that bind lazily, the dynamic linker's
resolver, prologues, epilogues, exceptions. A shadow stack of its calls says what each walk must be."""
import os
import re
import subprocess

from harness import TARGETS, Tap, Target, state_of, wait_until


def plt_ranges(path):
    """[(start, end)] in the file of the sections with stubs."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                         check=True).stdout
    found = re.findall(r"\] (\.plt\S*)\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", out)
    return [(int(start, 16), int(start, 16) + int(size, 16)) for _, start, size in found]


def load_bias(pid, path):
    with open(f"/proc/{pid}/maps") as maps:
        return min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))


def walk_everywhere(tap, name, every=1, least_in_plt=0, least_ahead=0, most_ahead=None, least_steps=2000):
    """At every so many instructions. A step that is told by tables where only instructions may tell it counts as ahead,
    too."""
    path = os.path.join(TARGETS, name)
    with Target(name) as target:
        address = dict(line.split(" ") for line in target.lines)
        bias = load_bias(target.pid, path)
        stacks = [f"{'stack' if key.startswith('stack') else key}:{value}" for key, value in address.items()
                  if key in ("switch", "tables") or key.startswith("stack")]
        ranges = [f"{start + bias:x}-{end + bias:x}" for start, end in plt_ranges(path)]
        wait_until(lambda: state_of(target.pid) == "S", f"{name} to read")
        with subprocess.Popen([os.path.join(TARGETS, "drive_step"), str(target.pid),
                               address["begin"], address["end"], str(every), *stacks, *ranges],
                              stdout=subprocess.PIPE, text=True) as driver:
            first = driver.stdout.readline().strip()
            target.send("go")
            rest = driver.stdout.read().splitlines()
        if not tap.check(first == "armed", f"{name}: the driver holds it", first):
            return
        totals = re.fullmatch(r"steps (\d+) mismatches (\d+) ranges (\d+) ahead (\d+)", rest[-1])
        if not tap.check(totals, f"{name}: the driver came to the end", "\n".join(rest)):
            return
        steps, mismatches, in_plt, ahead = map(int, totals.groups())
        tap.check(steps > least_steps, f"{name}: {steps} instructions")
        tap.check(in_plt >= least_in_plt, f"{name}: {in_plt} of them in PLT stubs")
        tap.check(least_ahead <= ahead <= (ahead if most_ahead is None else most_ahead),
                  f"{name}: {ahead} of them on the way into another frame")
        tap.check(mismatches == 0, f"{name}: each walk equals the shadow stack",
                  f"{mismatches} do not\n" + "\n".join(rest))


def main():
    tap = Tap()
    every = int(os.environ.get("SNAPWALK_EVERY", "61"))  # 1 walks at each instruction
    more = int(os.environ.get("SNAPWALK_LOOKS_FACTOR", "1"))
    tap.guard(lambda t: walk_everywhere(t, "stepped", max(1, min(every, 3) // more), least_in_plt=20))
    # The same program with other PLT stubs, where each instruction is looked at; without tables, as lld makes them.
    for name in ("stepped_cet", "stepped_bare_plt"):
        tap.guard(lambda t, n=name: walk_everywhere(t, n, max(1, min(every, 7) // more), least_in_plt=20))
    tap.guard(lambda t: walk_everywhere(t, "stepped_switch", most_ahead=0, least_steps=900))
    tap.guard(lambda t: walk_everywhere(t, "stepped_haskell", most_ahead=0, least_steps=300))
    tap.guard(lambda t: walk_everywhere(t, "stepped_jumpto", least_steps=400, least_ahead=100))
    for name in ("stepped_managed", "stepped_synchronous"):
        tap.guard(lambda t, n=name: walk_everywhere(t, n, least_steps=400))
    # 80,000 instructions and more, of which libgcc looks at tables for most; 9,000 without functions that were seen before.
    for name in ("stepped_throw", "stepped_throw_static"):
        tap.guard(lambda t, n=name: walk_everywhere(t, n, every, least_ahead=80))
    if os.path.exists(os.path.join(TARGETS, "stepped_throw_i386")):
        tap.guard(lambda t: walk_everywhere(t, "stepped_throw_i386", every, least_ahead=80))
    else:
        tap.skip("stepped_throw_i386", "it is not built", "package g++-multilib, and a build after that")
    tap.done()


if __name__ == "__main__":
    main()
