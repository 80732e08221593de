#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 85s
"""A busy Windows program under Wine stopped at random instants: every walk is complete, by tables
alone, every frame of Windows code has a function, and every function was called by one that calls
it. In Windows code, Unix code, and at all boundaries between them."""
import os
import subprocess

from harness import TARGETS, Tap
from wine import VERSIONS, Wine

STOPS = int(os.environ.get("SNAPWALK_STOPS", "2000"))
GAP_US = 3000
PROGRAM = "wine_busy.exe"


def drive(pid, path):
    """The driver's lines as words."""
    run = subprocess.run([os.path.join(TARGETS, "drive_stop"), str(pid), str(STOPS), str(GAP_US),
                          os.path.realpath(path)], capture_output=True, text=True, timeout=1200)
    if run.returncode != 0:
        raise RuntimeError(f"drive_stop: status {run.returncode}\n{run.stdout[-2000:]}{run.stderr}")
    return [line.split(" ") for line in run.stdout.splitlines()]


def said(program, word):
    return {tuple(line.split(" ")[1:]) for line in program.lines if line.startswith(word + " ")}


def wrong_calls(functions, edges, roots):
    """Returns what is wrong with a chain of the program's own functions, innermost first."""
    if not functions or (functions[-1],) not in roots:
        return [f"begins with {functions[-1:]}"]
    return [f"{caller} does not call {callee}" for callee, caller in zip(functions, functions[1:])
            if (caller, callee) not in edges]


def check_calls(tap, name, lines, edges, roots):
    own = {f for edge in edges for f in edge} | {f for root in roots for f in root}
    chains = [[f for f in line[3:] if f in own] for line in lines if line[0] == "chain"]
    wrong = [(w, chain) for chain in chains for w in wrong_calls(chain, edges, roots)]
    tap.check(not wrong, f"{name}: all calls on {len(chains)} distinct stacks are calls it makes",
              "\n".join(map(str, wrong[:10])))
    missing = own - {f for chain in chains for f in chain}
    tap.check(not missing, f"{name}: each of its {len(own)} functions was met", missing)


def test_random_stops(tap, version):
    name = f"Wine {version}"
    with Wine(version) as wine, wine.program(PROGRAM) as target:
        lines = drive(target.pid, os.path.join(wine.shared, PROGRAM))
        edges, roots = said(target, "edge"), said(target, "root")
    bad = [" ".join(line) for line in lines if line[0] in ("bad", "gone")]
    total = next(line for line in lines if line[0] == "stops")
    tap.check(not bad, f"{name}: every walk of {STOPS} stops is complete and by tables alone",
              "\n".join(bad[:20]))
    tap.equal(int(total[3]), STOPS * 4, f"{name}: each of four threads was walked at each stop")
    nameless = [" ".join(line) for line in lines if line[0] == "nameless"]
    tap.check(not nameless, f"{name}: every frame of Windows code has a function's name",
              "\n".join(nameless[:20]))
    check_calls(tap, name, lines, edges, roots)
    tops = {os.path.basename(line[2]): int(line[1]) for line in lines if line[0] == "top"}
    for module in (PROGRAM, "ntdll.dll", "ntdll.so", "libc.so.6"):
        tap.check(tops.get(module, 0) > 0, f"{name}: the program was stopped in {module}", tops)
    print(f"# {name}: stopped in {tops}\n# {name}: the longest stop took {total[5]} us")


if __name__ == "__main__":
    Tap.main(*((test_random_stops, version) for version in VERSIONS))
