#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 120s
"""Busy programs stopped at random instants: every walk is complete, by tables alone, and every
function on a stack was called by one that calls it."""
import os
import re
import signal
import subprocess

from harness import SNAPWALK, TARGETS, Tap, Target, module_of, stack_of
from judge import Judge, cut_in_stack
from safety import capture

STOPS = int(os.environ.get("SNAPWALK_STOPS", "2000"))


def drive(pid, stops, gap_us):
    """The driver's lines as (first word, count or '', rest)."""
    run = subprocess.run([os.path.join(TARGETS, "drive_stop"), str(pid), str(stops), str(gap_us)],
                         capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise RuntimeError(f"drive_stop: status {run.returncode}\n{run.stdout[-2000:]}{run.stderr}")
    return [line.split(" ") for line in run.stdout.splitlines()]


def said(target, word):
    return {tuple(line.split(" ")[1:]) for line in target.lines if line.startswith(word + " ")}


def plt_ranges(path):
    """[(start, end)] in the file of the sections with stubs, which have no names."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                         check=True).stdout
    found = re.findall(r"\] \.plt\S*\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", out)
    return [(int(start, 16), int(start, 16) + int(size, 16)) for start, size in found]


def without_stub(chain, stubs):
    """The chain without PLT stubs at its inner end or where a signal came: there the call is on its
    way into a library."""
    comm, *functions = chain
    kept = []
    for i, function in enumerate(functions):
        if function.startswith("?") and (i == 0 or functions[i - 1] == "<signal>"):
            offset = int(function[1:], 16)
            if any(start <= offset < end for start, end in stubs):
                continue
        kept.append(function)
    return [comm, *kept]


def wrong_calls(chain, edges, roots):
    """Returns what is wrong with "COMM innermost ... outermost"; the last must be the thread's root."""
    comm, *functions = chain
    if not functions or (comm, functions[-1]) not in roots:
        return [f"{comm} begins with {functions[-1:]}"]
    wrong = []
    for callee, caller in zip(functions, functions[1:]):
        # A signal may interrupt anything; what it calls is said by an edge, too.
        if callee != "<signal>" and (caller, callee) not in edges:
            wrong.append(f"{caller} does not call {callee}")
    return wrong


def check(tap, name, stops, gap_us):
    with Target(name) as target:
        lines = drive(target.pid, stops, gap_us)
        edges, roots = said(target, "edge"), said(target, "root")
    bad = [" ".join(line) for line in lines if line[0] == "bad"]
    bad += [" ".join(line) for line in lines if line[0] == "gone"]
    tap.check(not bad, f"{name}: every walk of {stops} stops is complete and by tables alone",
              "\n".join(bad))
    stubs = plt_ranges(os.path.join(TARGETS, name))
    chains = [without_stub(line[2:], stubs) for line in lines if line[0] == "chain"]
    wrong = [(w, chain) for chain in chains for w in wrong_calls(chain, edges, roots)]
    tap.check(not wrong, f"{name}: all calls on {len(chains)} distinct stacks are calls it makes",
              "\n".join(map(str, wrong[:10])))
    outer = [" ".join(line[2:]) for line in lines if line[0] == "outer"]
    tap.equal(len(outer), len(roots), f"{name}: a thread has one way to its first function")
    functions = {f for chain in chains for f in chain[1:]}
    # A target that is not told to rest is never met there: rest() looks at its argument and returns.
    missing = {callee for _, callee in edges} - functions - {"rest"}
    tap.check(not missing, f"{name}: every function was met", missing)
    tops = {os.path.basename(line[2]): int(line[1]) for line in lines if line[0] == "top"}
    print(f"# {name}: stopped in {tops}")
    total = next(line for line in lines if line[0] == "stops")
    tap.check(int(total[3]) >= stops * len(roots), f"{name}: {total[3]} walks")
    print(f"# {name}: the longest stop took {total[5]} us")
    return tops


def test_busy(tap):
    tops = check(tap, "busy", STOPS, 3000)
    tap.check(tops.get("libc.so.6", 0) > 0 and tops.get("libm.so.6", 0) > 0,
              "busy: was stopped in libc and libm", tops)


def test_clock(tap):
    tops = check(tap, "clock", max(STOPS // 5, 100), 1000)
    tap.check(tops.get("[vdso]", 0) > 0, "clock: was stopped in the vdso", tops)


def test_churn(tap):
    """Threads that begin and end: those that were stopped are walked to their proven end, also
    before they have reached, and after they have left, their first function."""
    stops = max(STOPS // 4, 100)
    with Target("churn") as target:
        lines = drive(target.pid, stops, 2000)
        edges, roots = said(target, "edge"), said(target, "root")
    bad = [" ".join(line) for line in lines if line[0] == "bad"]
    tap.check(not bad, f"churn: every walk of {stops} stops is complete and by tables alone",
              "\n".join(bad))
    # The name of a thread may not have been read before it was there.
    stubs = plt_ranges(os.path.join(TARGETS, "churn"))
    chains = [without_stub(["churn", *line[3:]], stubs) for line in lines if line[0] == "chain" and len(line) > 3]
    wrong = [(w, chain) for chain in chains for w in wrong_calls(chain, edges, roots)]
    tap.check(not wrong, f"churn: all calls on {len(chains)} distinct stacks are calls it makes",
              "\n".join(map(str, wrong[:10])))
    walks = dict.fromkeys(("main", "spawner"), 0)  # one function may begin several stacks
    for line in lines:
        if line[0] == "chain":
            walks[line[-1]] = walks.get(line[-1], 0) + int(line[1])
    tap.equal((walks["main"], walks["spawner"]), (stops, 3 * stops),
              "churn: threads that stay are in every snapshot")
    print(f"# churn: {[' '.join(line[1:]) for line in lines if line[0] == 'gone']}")


def chain_of(report, thread):
    """As the driver's "chain": the functions of the program, innermost first; what has no name is ?OFFSET."""
    frames = [f for f in stack_of(report, thread["tid"])["frames"] if f.get("signal") or (
        not f["inlined"] and module_of(report, f) == report["process"]["exe"] and f["function"] != "_start")]
    return [thread["comm"], *("<signal>" if f.get("signal") else f["function"] or "?" + f["offset"] for f in frames)]


def check_known(tap, name, instants, functions):
    """A program at the first instructions of functions: the walk of the thread that is there is complete, by tables
    alone, and each function was called by one that calls it."""
    stubs = plt_ranges(os.path.join(TARGETS, name))
    bad = []
    with Target(name) as target:
        edges, roots = said(target, "edge"), said(target, "root")
        for function in functions:
            tid = instants.stop_at(target.pid, function)
            report = capture(target.pid)
            stack = stack_of(report, tid)
            chain = without_stub(chain_of(report, next(t for t in report["threads"] if t["tid"] == tid)), stubs)
            wrong = wrong_calls(chain, edges, roots)
            if chain[1:2] != [function]:
                wrong.append(f"the innermost is {chain[1:2]}")
            if stack["end"] != "complete" or {f["trust"] for f in stack["frames"]} - {"context", "cfi"}:
                wrong.append(f"{stack['end']}, not by tables alone")
            bad += [(function, w, chain) for w in wrong]
            os.kill(target.pid, signal.SIGCONT)
    tap.check(not bad, f"{name}: the walks at {len(functions)} known instants are complete, right and by tables alone",
              "\n".join(map(str, bad[:10])))


def test_modules(tap):
    """A library that comes and goes. The maps are read before the stop and may lack it; its _init
    has no CFI: then a walk is cut or guessed and says so, and that is rare. What is complete is
    right."""
    stubs = plt_ranges(os.path.join(TARGETS, "modules")) + plt_ranges(os.path.join(TARGETS, "plugin.so"))
    seen = set()
    with Target("modules", os.path.join(TARGETS, "plugin.so")) as target, Judge(tap, "native.modules") as judge:
        edges, roots = said(target, "edge"), said(target, "root")
        for look in judge.series(target.pid, max(STOPS // 4, 100)):
            for thread in look.report["threads"]:
                stack = stack_of(look.report, thread["tid"])
                chain = without_stub(chain_of(look.report, thread), stubs)
                guess = None if {f["trust"] for f in stack["frames"]} <= {"context", "cfi"} else "not by tables alone"
                wrong = "; ".join(wrong_calls(chain, edges, roots)) or None
                if judge.verdict(look, cut_in_stack(stack) or guess, wrong, " ".join(chain)):
                    seen.update(chain)
    tap.check("callback" in seen, "modules: was met in the library's callback", seen)


def test_throwing(tap):
    """Exceptions. When libgcc installs the registers of the frame that catches, it overwrites those
    that the frames below it had saved: what their tables say is no longer true. A walk from there goes
    on in the handler, by the code's instructions; all are complete and right."""
    stops = max(STOPS // 2, 100)
    with Target("throwing") as target:
        lines = drive(target.pid, stops, 2000)
        edges, roots = said(target, "edge"), said(target, "root")
    stubs = plt_ranges(os.path.join(TARGETS, "throwing"))
    chains = [without_stub(line[2:], stubs) for line in lines if line[0] == "chain"]
    wrong = [(w, chain) for chain in chains for w in wrong_calls(chain, edges, roots)]
    tap.check(not wrong, f"throwing: all calls on {len(chains)} distinct stacks are calls it makes",
              "\n".join(map(str, wrong[:10])))
    bad = [" ".join(line) for line in lines if line[0] == "bad"]
    handler = re.compile(r"bad complete: : \[context [^]]*\](?: \[cfi [^]]* _Unwind_\w+\])*"
                         r" \[instructions [^]]*\](?: \[cfi [^]]*\])+")
    wrong = [line for line in bad if not handler.fullmatch(line.replace("[clone .cold]", ""))]
    tap.check(not wrong, f"throwing: every walk of {stops} stops is complete, by tables but into a handler",
              "\n".join(wrong[:10]))
    tap.check(len(bad) >= stops // 50, f"throwing: {len(bad)} of {stops * 2} walks go on in a handler")


def test_new_code(tap, kernel, *command):
    """Code that becomes executable between the reading of the maps and the stop, while the size of the
    memory does not change. Kernels before 6.11 do not tell of single mappings."""
    stops = max(STOPS // 40, 50)
    bad, in_run = [], 0
    with Target("new_code") as target:
        for _ in range(stops):
            stack = stack_of(capture(target.pid, command=[*command, SNAPWALK]), target.pid)
            functions = [f["function"] for f in stack["frames"]]
            # Before it runs, main() is in the C library.
            in_run += "run" in functions
            if stack["end"] != "complete" or "main" not in functions:
                bad.append(f"{stack['end']} {stack['why']} {functions}")
    tap.check(not bad, f"new_code, {kernel}: every walk of {stops} stops is complete", "\n".join(bad[:10]))
    tap.check(in_run >= stops // 2, f"new_code, {kernel}: most are stops in it", in_run)


if __name__ == "__main__":
    Tap.main(test_busy, test_clock, test_churn, test_modules, test_throwing, (test_new_code, "this kernel"),
             (test_new_code, "an older one", os.path.join(TARGETS, "without"), "ioctl=ENOTTY", "--"))
