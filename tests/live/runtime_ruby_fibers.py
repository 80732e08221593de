#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 5s
"""Ruby's fibers (--tasks): those that wait against Fiber#backtrace, those that have not begun, other sizes of their
stacks, and stops anywhere in a program that resumes them.

SNAPWALK_STOPS sets how many stops there are (20); SNAPWALK_ROOT is the root of another Debian, whose Ruby is looked
at.
"""
import os
import re
import subprocess

from harness import Tap, patient_dump, stack_of, tool, wait_until
from interpreted import Program, calls_of, interpreter, language_frames, program, ruby_label, text_of, wrong_in_chain
from judge import GUESSES

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "ruby")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "20"))
NATIVE = {"each": {"block in work"}, "map": {"block in work"}}
OUTERMOST = "block (2 levels) in <main>"
# Bytes of what Ruby itself has on the VM stack and on the machine stack of each fiber.
SIZES = {"as Ruby has them": [], "smaller VM stacks": ["RUBY_FIBER_VM_STACK_SIZE=65536"],
         "larger VM stacks": ["RUBY_FIBER_VM_STACK_SIZE=1048576"],
         "other machine stacks": ["RUBY_FIBER_VM_STACK_SIZE=200704", "RUBY_FIBER_MACHINE_STACK_SIZE=262144"]}


def said_by(lines):
    """{name: (state, [(function, file, line)])}"""
    found, trace = {}, None
    for line in lines:
        fiber = re.match(r"fiber (#<Fiber:0x[0-9a-f]+).*\(([a-z ]+)\)>$", line)
        place = re.match(r"(.*?):(?:(\d+):)?in [`'](.*)'$", line)
        if fiber:
            trace = []
            found[fiber.group(1) + ">"] = (fiber.group(2), trace)
        elif place:
            trace.append((ruby_label(place.group(3)), place.group(1), int(place.group(2)) if place.group(2) else None))
    return found


def tasks_of(report):
    """{name: (task, stack)}"""
    return {t["name"]: (t, s) for s in report["stacks"] for t in s.get("tasks", [])}


def lists_created():
    """Whether this Ruby has a list of those that have not begun."""
    out = subprocess.run(interpreter("ruby", "-e", "puts RUBY_VERSION"), check=True, capture_output=True, text=True).stdout
    return [int(part) for part in out.split(".")[:2]] >= [3, 3]


def check_created(tap, what, ours, theirs):
    said = {name for name, (state, _) in theirs.items() if state == "created"} if lists_created() else set()
    created = {name: s for name, (t, s) in ours.items() if t["state"] == "created"}
    tap.equal(sorted(created), sorted(said), f"{what}: fibers that have not begun, {len(said)} of them")
    tap.equal([[(f["function"], os.path.basename(f["file"]), f["line"]) for f in s["frames"]] for s in created.values()],
              [[("block in rest", "fibers.rb", None)] for _ in said], f"{what}: each with its block")


def check_blocked(tap, what):
    with Program("env", *SIZES[what], *interpreter("ruby", program(SOURCES, "fibers.rb"))) as ruby:
        theirs = said_by(ruby.lines)
        report = None

        def waits():
            nonlocal report
            report = patient_dump(ruby.pid, "--tasks")
            return any(f["function"] == "gets" for f in stack_of(report, ruby.pid)["frames"])
        wait_until(waits, "gets")
        ours = tasks_of(report)
        stack = stack_of(report, ruby.pid)
        tap.check(stack["end"] == "complete" and not any(f["trust"] in GUESSES for f in stack["frames"]),
                  f"{what}: the stack of the fiber that runs is complete", text_of(stack))
        # The fibers that have begun and not ended; the first one of a thread has no stack of its own.
        begun = {name: trace for name, (state, trace) in theirs.items() if state not in ("created", "terminated")}
        tap.equal([w["message"] for w in report["warnings"] if "fiber" in w["message"] or "task" in w["message"]], [],
                  f"{what}: nothing is said to be missing")
        check_created(tap, what, ours, theirs)
        ours = {name: found for name, found in ours.items() if found[0]["state"] != "created"}
        runs = {name for name, (task, _) in ours.items() if task["state"] == "running"}
        own = {name: task for name, (task, _) in ours.items() if name not in runs}
        tap.equal((len(runs), [t["tid"] for t, _ in ours.values() if t["state"] == "running"]), (1, [ruby.pid]),
                  f"{what}: one runs, on the thread")
        tap.check(len(own) > 300, f"{what}: {len(own)} wait")
        # The fiber of an Enumerator has no block, and Ruby says where something else is instead of it.
        other = set(own) - set(begun)
        tap.equal([[f["function"] for f in ours[name][1]["frames"]] for name in other], [["each", "each"]],
                  f"{what}: each is one that has begun")
        missing = sorted(set(begun) - set(ours))
        tap.check(len(missing) == 2, f"{what}: all are there that have a stack of their own", "\n".join(missing))
        own = {name: task for name, task in own.items() if name not in other}
        wrong = []
        for name in own:
            got = [(f["function"], f["file"], f["line"]) for f in ours[name][1]["frames"]]
            wanted = [said if mine[1] is not None else (said[0], None, None)
                      for said, mine in zip(begun[name], got)] + begun[name][len(got):]
            if got != wanted:
                wrong.append(f"{name}\n{got}\n{wanted}")
        tap.check(not wrong, f"{what}: functions, files and lines of Fiber#backtrace of {len(own)}", "\n".join(wrong[:3]))
        outer = [t for t in own.values() if t["waits_for"] is not None]
        tap.equal([t["waits_for"]["task"] for t in outer], list(runs),
                  f"{what}: one waits for the one that it has resumed")


def check_stops(tap):
    calls = calls_of(os.path.join(SOURCES, "fibers.rb"))
    wrong, stacks, fewest = [], 0, 300
    with Program(*interpreter("ruby", program(SOURCES, "fibers.rb"), "busy")) as ruby:
        for _ in range(STOPS):
            report = patient_dump(ruby.pid, "--tasks", status=(0, 3))
            tasks = tasks_of(report)
            fewest = min(fewest, len(tasks))
            for task, stack in tasks.values():
                if task["tid"] is not None:
                    continue
                stacks += 1
                what = wrong_in_chain(language_frames(stack, "ruby"), calls, OUTERMOST, NATIVE)
                if what is None and (stack["end"] != "complete" or stack["frames"][0]["function"] not in ("yield", "park")):
                    what = f"waits in {stack['frames'][0]['function']}"
                if what is not None:
                    wrong.append(f"{what}\n{text_of(stack)}")
        tap.check(not wrong, f"{STOPS} stops: the chain of each of {stacks} fibers and its lines",
                  f"{len(wrong)} wrong\n" + "\n".join(wrong[:3]))
        tap.equal(fewest, 300, "all are there at each stop")


def main():
    tap = Tap()
    tap.check(tool("ruby"), "Ruby is installed")
    for what in SIZES:
        tap.guard(check_blocked, what)
    tap.guard(check_stops)
    tap.done()


if __name__ == "__main__":
    main()
