#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 20s
"""Tasks of asyncio, against the program's own view; many of them; others that go on meanwhile.

Looks at every CPython of this machine from 3.8 on. SNAPWALK_STOPS sets how many dumps there are with each of a
program whose tasks go on (10), SNAPWALK_PYTHONS which (a word of their versions).
"""
import json
import os
import re
import tempfile

from harness import PATIENT, Tap, Target, gcore, patient_dump, snapwalk
from judge import Judge
from runtime_python import PROGRAMS, interpreters, minor, text_of

TASKS, TURNS, SMALL = (os.path.realpath(os.path.join(PROGRAMS, name))
                       for name in ("tasks.py", "task_turns.py", "small.py"))
STOPS = int(os.environ.get("SNAPWALK_STOPS", "10"))
CROWD = 1000
# The task that awaits through an object of a class that the file of the interpreter does not name.
UNSEEN = {"custom"}
UNSEEN_13 = {"custom", "ünicode 中"}
CHAIN = [["turn", "inner", "middle", "outer"], ["__sleep0", "sleep", "turn", "inner", "middle", "outer"]]


def tasks_of(report):
    """[(task, stack)]; one that comes twice fails."""
    found, seen = [], set()
    for stack in report["stacks"]:
        for task in stack.get("tasks", ()):
            if task["address"] in seen:
                raise AssertionError(f"{task} twice")
            seen.add(task["address"])
            found.append((task, stack))
    return found


def as_own(task, stack):
    frames = [] if task["tid"] else [[f["function"], f["file"], f["line"]] for f in stack["frames"]]
    return [task["state"], (task["waits_for"] or {}).get("task"), frames]


def seen_of(own, name, unseen, hidden=1):
    """Returns the part of the program's own view that can be seen: not what is behind a class that nobody knows."""
    if name != "ünicode 中" or name not in unseen:
        return own
    return own[:2] + [own[2][hidden:]]


def check_waiting(tap, version, path):
    unseen = UNSEEN_13 if minor(version) >= 13 else UNSEEN
    with Target("python", TASKS, path=path) as target:
        target.send("")
        own = dict(json.loads(target.readline()))
        report = patient_dump(target.pid, "--tasks")
        with tempfile.TemporaryDirectory() as directory:
            where = os.path.join(directory, "recorded")
            run = snapwalk("record", "--tasks", "--max-stop", "60000", "-o", where, target.pid)
            tap.equal(run.returncode, 0, f"{version}: recorded with its tasks")
            again = patient_dump(["--fixture", where], "--tasks")
        hints = [{h["code"] for h in patient_dump(target.pid, *words).get("hints", ())} for words in ((), ("--tasks",))]
        tap.check("tasks" in hints[0] and "tasks" not in hints[1], f"{version}: says how they are shown", hints)
    found = tasks_of(report)
    tap.equal({t["name"]: as_own(t, s) for t, s in tasks_of(again)}, {t["name"]: as_own(t, s) for t, s in found},
              f"{version}: the same of the record")
    tap.equal({t["name"]: as_own(t, s) for t, s in found}, {n: seen_of(o, n, unseen) for n, o in own.items()},
              f"{version}: {len(found)} tasks, what they wait for, their functions and lines are as it says itself")
    tap.equal({t["name"] for t, s in found for f in s["frames"] if not t["tid"] and f.get("may_miss")}, unseen,
              f"{version}: where there may be more is said")
    tap.check(report["complete"] and not any(f.get("live_read") for _, s in found for f in s["frames"]),
              f"{version}: complete, and of one instant", report["warnings"])
    running = [(t, s) for t, s in found if t["tid"]]
    tap.check(len(running) == 1 and running[0][0]["tid"] in running[0][1]["threads"] and
              "blocks" in [f["function"] for f in running[0][1]["frames"]],
              f"{version}: the one that runs is with its thread", running)


def listed(found):
    """The tasks of a factory may all be called None in 3.13.0."""
    return sorted(([task["name"], as_own(task, stack)] for task, stack in found), key=repr)


def check_own(tap, version, path):
    """Tasks that asyncio makes in Python, and futures."""
    unseen = UNSEEN_13 if minor(version) >= 13 else UNSEEN
    with Target("python", TASKS, "own", path=path) as target:
        target.send("")
        own = json.loads(target.readline())
        report = patient_dump(target.pid, "--tasks")
    found = tasks_of(report)
    tap.equal(listed(found), sorted(([n, seen_of(o, n, unseen, 2)] for n, o in own), key=repr),
              f"{version}: {len(found)} tasks in Python: as it says itself")
    tap.check(report["complete"], f"{version}: with them complete", report["warnings"])


def check_eager(tap, version, path):
    """Tasks that begin at once; one is in its first step, within another one that runs."""
    unseen = UNSEEN_13 if minor(version) >= 13 else UNSEEN
    with Target("python", TASKS, "eager", path=path) as target:
        target.send("")
        own = json.loads(target.readline())
        report = patient_dump(target.pid, "--tasks")
    found = tasks_of(report)
    there = listed(found)
    wanted = sorted(([n, seen_of(o, n, unseen)] for n, o in own), key=repr)
    if version.endswith("t"):  # all_tasks() of another thread may miss those that have begun eagerly
        there = [each for each in there if each in wanted]
    tap.equal(there, wanted, f"{version}: {len(found)} eager tasks: as it says itself")
    running = [(t, s) for t, s in found if t["tid"]]
    tap.check(len(running) == 2 and "first-step" in {t["name"] for t, _ in running} and
              all("first_step" in [f["function"] for f in s["frames"]] for _, s in running),
              f"{version}: the one in its first step is with its thread", running)


def check_forms(tap, version, path):
    """Text, folded stacks, and what a core file has."""
    with Target("python", TASKS, path=path) as target:
        found = tasks_of(patient_dump(target.pid, "--tasks"))
        text = snapwalk("--tasks", "--all", *PATIENT, target.pid).stdout
        folded = snapwalk("--tasks", "--format", "folded", *PATIENT, target.pid).stdout
        one = snapwalk("--tasks", "--function", "^comprehends$", *PATIENT, target.pid).stdout
        with tempfile.TemporaryDirectory() as directory:
            core = os.path.join(directory, "core")
            gcore(target.pid, core)
            saved = patient_dump(["--core", core], "--tasks")
    tap.equal({t["name"]: as_own(t, s) for t, s in tasks_of(saved)}, {t["name"]: as_own(t, s) for t, s in found},
              f"{version}: a core file has the same")
    runs = next(t["name"] for t, _ in found if t["tid"])
    tap.check(re.search(rf", {len(found)} tasks in \d+ groups, ", text) and f"  task {runs}, running\n" in text and
              "\n1 task  (awaits-task)\n  waiting for the task outer\n" in text and
              re.search(r"\n3 tasks  \([^)]*also-sleeps[^)]*\)\n  waiting\n  #0 +sleep ", text),
              f"{version}: the text", text)
    tap.check(re.search(r"^task;outer;middle;innermost;.*wait 1$", folded, re.M), f"{version}: folded", folded)
    tap.check("1 task  (comprehends)" in one and "(gathers)" not in one, f"{version}: a filter by function", one)


def check_crowd(tap, version, path):
    with Target("python", TASKS, CROWD, path=path) as target:
        report = patient_dump(target.pid, "--tasks")
    tap.equal(max(len(s.get("tasks", ())) for s in report["stacks"]), CROWD + 1,
              f"{version}: {CROWD} with the same stack are one group")
    tap.check(report["complete"], f"{version}: with them complete", report["warnings"])


def wrong_in_turn(task, stack):
    """None when it is right, whatever the task did."""
    if task["tid"]:
        return None if task["tid"] in stack["threads"] else "another thread's"
    names = [f["function"] for f in stack["frames"]]
    if stack["end"] != "complete" or any(f.get("live_read") or f.get("may_miss") for f in stack["frames"]):
        return "a doubt"
    if task["state"] == "created":
        return None if names == ["outer"] else "begun"
    if task["name"].startswith("turn-"):
        return None if names in CHAIN or names == ["outer"] else "another chain"
    return None


def check_turns(tap, version, path):
    """Tasks that begin, go on and end all the time."""
    states, missed = set(), 0
    with Target("python", TURNS, path=path) as target, Judge(tap, "python.tasks", version) as judge:
        for look in judge.looks(target.pid, STOPS, "--tasks"):
            for task, stack in tasks_of(look.report):
                states.add(task["state"])
                what = wrong_in_turn(task, stack)
                cut = what if what == "a doubt" else None
                judge.verdict(look, cut, what, f"{task}\n{text_of(stack)}")
            counts = [re.search(r"(\d+) tasks? could not be read", w["message"]) for w in look.report["warnings"]]
            missed = max([missed] + [int(c.group(1)) for c in counts if c])
    # The one that is about to begin or to end has none for an instant.
    tap.check(missed <= 1, f"{version}: none but the one that runs is missing", missed)
    tap.check("runnable" in states and judge.stacks >= 10 * judge.n, f"{version}: the tasks are there", (judge.stacks, states))


def check_without(tap, version, path, why):
    with Target("python", SMALL, path=path) as target:
        report = patient_dump(target.pid, "--tasks", status=(3,))
    said = [w["message"] for w in report["warnings"]]
    tap.check(tasks_of(report) == [] and f"not all tasks are here: {why}" in said, f"{version}: {why}", said)


def main():
    tap = Tap()
    found = {version: path for version, path in interpreters().items() if minor(version) >= 8}
    tap.check(found, "there is a CPython that has them", found)
    for version, path in found.items():
        tap.guard(check_waiting, version, path)
        tap.guard(check_own, version, path)
        if minor(version) >= 12:
            tap.guard(check_eager, version, path)
        tap.guard(check_turns, version, path)
    version, path = next((v, p) for v, p in sorted(found.items()))
    tap.guard(check_forms, version, path)
    tap.guard(check_crowd, version, path)
    tap.guard(check_without, version, path, "asyncio is not loaded")
    tap.done()


if __name__ == "__main__":
    main()
