#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""Async functions of JavaScript that node executes, and who awaits them: blocked ones against their own Error.stack,
those that go on again and again against what can be.

SNAPWALK_STOPS sets how many captures there are of a busy program in each mode (60); SNAPWALK_NODES names further
programs, by colons.
"""
import json
import os
import re
import subprocess
import tempfile

from harness import PATIENT, Tap, dump, gcore, snapwalk, stack_of, wait_until
from judge import Judge
import jit_fleet
import runtime_v8

STOPS = int(os.environ.get("SNAPWALK_STOPS", "60"))
MODES = {"jitless": ["--jitless"], "baseline": ["--sparkplug", "--always-sparkplug"], "default": []}
SCRIPT = os.path.realpath(os.path.join(runtime_v8.SOURCES, "awaits.js"))
# The cases of awaits.js. V8 10.2 does not say which handler it runs, but in places that are not looked at. When a
# handler has returned, V8 says of what runs then what it said of the handler: only what is on the stack is told.
CASES = ["outermost", "all", "settled", "any", "race", "catcher", "reader", "awaitsChained", "awaitsReturned",
         "awaitsBeginner", "forked", "thenable", "worker"]
HANDLERS = ["inHandler", "inBound", "inCaught"]
UNTOLD = ["inGetter", "inMicrotask"]
ALL = "Promise.all (index 0)"
OTHER = "Promise.all (index 1)"
THIRD = "Promise.all (index 2)"
COMBINATORS = (ALL, OTHER, THIRD)
CHAINS = {tuple(chain[i:]) for chain in (["a4", "a3", ALL, "a2", "a1", ALL, "busy"], ["b3", "b2", "b1", OTHER, "busy"],
                                      ["c2", "c1", THIRD, "busy"], ["c3", "c1", THIRD, "busy"])
          for i in range(len(chain)) if chain[i] not in COMBINATORS and chain[i] != "busy"}


def look(target, *options):
    """However long it takes; complete or not: what is missing is looked at."""
    return dump(target, *options, status=(0, 3))


def lines_of(name):
    """Where the function of that name awaits."""
    lines, inside = set(), False
    for number, line in enumerate(open(SCRIPT, encoding="utf-8"), 1):
        inside = line.startswith(f"async function {name}(") or inside and not line.startswith("}")
        if inside and "await" in line:
            lines.add(number)
    return lines


def tasks_of(report):
    """[(task, stack)]"""
    return [(task, stack) for stack in report["stacks"] for task in stack.get("tasks", [])]


def place(frame):
    return (frame["function"], frame["file"], frame["line"] or 0)


def wanted_of(running):
    frames = [(f["async"], (f["function"], f["file"], f["line"])) for f in json.loads(running.first)]
    return ([p for waits, p in frames if not waits and p[1] == SCRIPT], [p for waits, p in frames if waits])


def check_blocked(tap, name, running, untold):
    calls, awaits = wanted_of(running)
    awaits = [] if untold else awaits

    def seen():
        report = look(running.pid)
        tids = [tid for stack in report["stacks"] for tid in stack["threads"]
                if [place(f) for f in stack["frames"] if f["kind"] == "v8js"][:len(calls)] == calls]
        return len(tids) == 1 and (report, tids[0])
    report, tid = wait_until(seen, f"{name}: what the program says of its calls")
    tasks = tasks_of(report)
    found = [place(f) for _, stack in tasks for f in stack["frames"][1:]]
    tap.equal(found, awaits, f"{name}: the awaiters are right")
    tap.equal([w for w in report["warnings"] if "awaits" in w["message"]], [], f"{name}: and no warning")
    for task, stack in tasks:
        tap.equal((task["state"], task["tid"]), ("running", tid), f"{name}: the thread that runs it")
        tap.check(stack["frames"][0]["function"] in [f for f, _, _ in calls], f"{name}: is on its stack", calls)
        tap.equal(stack["end"], "complete", f"{name}: complete")
    return report


def check_forms(tap, node, running):
    """Text has them, and so have a record and --tasks; folded stacks have a thread once."""
    def said(*words):
        return snapwalk(*words, *PATIENT).stdout
    chain = r"inner .*\n.*order .*:37\n.*order .*:35\n.*order .*:35\n.*arrow .*:44\n.*outermost .*:49"
    text = said(str(running.pid), "--all")
    tap.check(re.search(chain, text), f"{node}: text has a chain", text)
    tap.check(re.search(rf"async inner.*\n.*running on thread {running.pid}", text), f"{node}: and its thread", text)
    folded = said(str(running.pid), "--format", "folded")
    tap.check("outermost" not in folded, f"{node}: folded stacks have none", folded)
    awaits = [place(f) for _, stack in tasks_of(look(running.pid)) for f in stack["frames"]]
    asked = look(running.pid, "--tasks")
    tap.equal([place(f) for _, stack in tasks_of(asked) for f in stack["frames"]], awaits, f"{node}: with --tasks, too")
    with tempfile.TemporaryDirectory() as place_of:
        made = os.path.join(place_of, "record")
        snapwalk("record", running.pid, "-o", made, check=True)
        recorded = look(["--fixture", made])
        tap.equal([place(f) for _, stack in tasks_of(recorded) for f in stack["frames"]], awaits, f"{node}: recorded")
        core = os.path.join(place_of, "core")
        gcore(running.pid, core)
        saved = look(["--core", core])
        tap.equal([place(f) for _, stack in tasks_of(saved) for f in stack["frames"]], awaits, f"{node}: the awaiters in a core file")


def major_of(node):
    """Returns the version of its V8."""
    version = subprocess.run([node, "-p", "process.versions.v8"], capture_output=True, text=True, check=True).stdout
    return int(version.split(".")[0])


def test_blocked(tap):
    for node in runtime_v8.nodes():
        for mode, options in MODES.items():
            untold = UNTOLD + HANDLERS * (major_of(node) < 11)
            for case in CASES + HANDLERS[:1] + (HANDLERS[1:] + UNTOLD) * (mode == "default"):
                with runtime_v8.Node(node, "awaits.js", *options, arguments=[case]) as running:
                    report = check_blocked(tap, f"{node} {mode} {case}", running, case in untold)
                    if case == "forked":
                        tap.equal([s["why"] for _, s in tasks_of(report)],
                                  ["more than one waits for what it returns"], f"{node} {mode}: several, which is said")
                    if case == "outermost" and mode == "default":
                        check_forms(tap, node, running)


def cut_of(report):
    """Returns what chains lack that say so themselves; None: they are whole."""
    return ", ".join(f"{stack['end']}: {stack['why']}" for _, stack in tasks_of(report) if stack["end"] != "complete") or None


def wrong_of(report, pid):
    wrong = []
    for task, stack in tasks_of(report):
        names = tuple(f["function"] for f in stack["frames"])
        whole = stack["end"] == "complete"
        if not any(names == (chain if whole else chain[:len(names)]) for chain in CHAINS):
            wrong.append((names, stack["end"], stack["why"]))
        for frame in stack["frames"][1:]:
            if frame["function"] not in COMBINATORS and frame["line"] not in lines_of(frame["function"]):
                wrong.append((frame["function"], frame["line"]))
        if names[0] not in [f["function"] for f in stack_of(report, pid)["frames"]]:
            wrong.append((names[0], "is not on the stack"))
    return wrong


def test_busy(tap):
    """Right at any instant, also while objects move."""
    for node in runtime_v8.nodes():
        for mode, options in MODES.items():
            with runtime_v8.Node(node, "awaits.js", *options, arguments=["busy"]) as running:
                reports = []
                with Judge(tap, "v8.awaits", f"{node} {mode}") as judge:
                    for taken in judge.looks(running.pid, STOPS):
                        reports.append(taken.report)
                        wrong = wrong_of(taken.report, running.pid)
                        # A chain that is wrong is not excused by another that is cut.
                        judge.verdict(taken, cut=None if wrong else cut_of(taken.report), wrong=", ".join(map(str, wrong)) or None)
            name = f"{node} {mode}"
            told = sum(bool(tasks_of(report)) for report in reports)
            tap.check(told >= len(reports) / 4, f"{name}: chains are there", told)
            # Where objects could not be copied, functions have no names either. A collector that has begun moves what
            # says which function a thread runs.
            warned = [(w["message"], [f["function"] for f in stack_of(report, running.pid)["frames"]], report["timings"])
                      for report in reports for w in report["warnings"] if "awaits" in w["message"]
                      and any(f["kind"] == "v8js" for f in stack_of(report, running.pid)["frames"])
                      and not any("CollectGarbage" in (f["function"] or "") for f in stack_of(report, running.pid)["frames"])]
            tap.equal(warned, [], f"{name}: all that threads run are told")


def main():
    tap = Tap()
    jit_fleet.install()
    test_blocked(tap)
    test_busy(tap)
    tap.done()


if __name__ == "__main__":
    main()
