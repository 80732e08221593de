#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 10s
"""Erlang's processes (--tasks): all of them against process_info(), and stops anywhere in a program whose processes
come and go.

SNAPWALK_STOPS sets how many stops there are (20); SNAPWALK_ROOT is the root of another Debian, whose Erlang is looked
at.
"""
import os
import re

from harness import Tap, patient_dump, tool
from interpreted import Program, erlang, interpreter, text_of

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "erlang")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "20"))
SENT_LATER = 3


def function_of(term):
    """ "lists:map/2" of {lists,map,2}"""
    module, name, arity = re.match(r"\{('?[^,]+'?),('?.+'?),(\d+)\}$", term).groups()
    return f"{module}:{name}/{arity}".replace("'", "")


def said_by(lines):
    """{pid: (registered, initial, messages, status, [function])}"""
    found = {}
    for line in lines:
        pid, name, initial, messages, status, trace = line.split("|")
        functions = [function_of(term) for term in re.findall(r"\{[^{}]+\}", trace)]
        found[pid] = (None if name == "[]" else name, function_of(initial), int(messages), status, functions)
    return found


def tasks_of(report):
    """{pid: (task, stack)}"""
    return {t["name"]: (t, s) for s in report["stacks"] for t in s.get("tasks", [])}


def as_said(task, stack):
    return (task.get("registered"), task.get("initial_call"), task["messages"], task["state"],
            [f["function"] for f in stack["frames"]])


def check_all(tap, folder):
    with Program(*interpreter("erl"), "-noshell", "-noinput", "-pa", folder, "-s", "processes", "main") as erl:
        theirs = said_by(erl.lines)
        tap.check(len(theirs) > 700, f"{len(theirs)} processes to compare")
        suspended = [pid for pid, said in theirs.items() if said[3] == "suspended"]
        own = [pid for pid, said in theirs.items() if said[3] == "running"]
        ours = {}

        def settled():
            nonlocal ours
            report = patient_dump(erl.pid, "--tasks", "--depth", "200", status=(0, 3))
            ours = tasks_of(report)
            return report["complete"] and all(task["state"] in ("waiting", "suspended") for task, _ in ours.values())
        for _ in range(100):
            if settled():
                break
        tap.equal(sorted(set(theirs) - set(ours)), [], "all are there")
        tap.equal(sorted(set(ours) - set(theirs)), [], "and no others")
        wrong = []
        for pid, (name, initial, messages, status, functions) in theirs.items():
            if pid in own or pid not in ours:
                continue  # it has gone on to its end
            if pid == suspended[0]:
                messages += SENT_LATER
            got = as_said(*ours[pid])
            got = (*got[:4], [f for f in got[4] if not f.startswith("[")][:len(functions)])
            if got != (name, initial, messages, status, functions):
                wrong.append(f"{pid}\n{got}\n{(name, initial, messages, status, functions)}")
        tap.check(not wrong, "name, first function, messages, state and stack of each", f"{len(wrong)}\n" + "\n".join(wrong[:4]))
        deep = [s for t, s in ours.values() if t.get("initial_call") == "processes:deep/2"]
        lines = {(f["function"], os.path.basename(f["file"]), f["line"]) for s in deep for f in s["frames"] if f["line"]}
        with open(os.path.join(SOURCES, "processes.erl")) as source:
            text = source.read().splitlines()
        wanted = {("processes:deep/2", "processes.erl", i) for i, line in enumerate(text, 1)
                  if "X = wait(T)" in line or "X = deep(" in line}
        tap.equal(sorted(lines), sorted(wanted), "files and lines of calls")


def wrong_in(task, stack):
    names = [f["function"] for f in stack["frames"]]
    if stack["end"] != "complete" or task.get("initial_call") != "processes:deep/2":
        return None if stack["end"] == "complete" else stack["end"]
    if any(name != "processes:deep/2" for name in names[1:]):
        return "a caller"
    if len(names) > 8 or (names[0] not in ("processes:wait/1", "processes:deep/2") and not names[0].startswith("erlang:")):
        return "the innermost"
    return None


def check_stops(tap, folder):
    wrong, stacks = [], 0
    with Program(*interpreter("erl"), "-noshell", "-noinput", "-pa", folder, "-s", "processes", "busy") as erl:
        for _ in range(STOPS):
            report = patient_dump(erl.pid, "--tasks", status=(0, 3))
            for task, stack in tasks_of(report).values():
                if task["tid"] is not None:
                    continue
                stacks += 1
                what = wrong_in(task, stack)
                if what is not None:
                    wrong.append(f"{what} {task}\n{text_of(stack)}")
        tap.check(stacks > STOPS and not wrong, f"{STOPS} stops: each of {stacks} stacks is one that the program can have",
                  f"{len(wrong)}\n" + "\n".join(wrong[:3]))


def main():
    tap = Tap()
    tap.check(tool("erl") and tool("erlc"), "Erlang is installed")
    with erlang(SOURCES, "processes.erl") as folder:
        tap.guard(check_all, folder)
        tap.guard(check_stops, folder)
    tap.done()


if __name__ == "__main__":
    main()
