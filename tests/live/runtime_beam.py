#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 15s
"""Erlang: stops anywhere in a process whose chain of calls is known, a process that waits in C code
against process_info(), and schedulers that have nothing to do.

SNAPWALK_STOPS sets how many stops there are (100); SNAPWALK_ROOT is the root of another Debian, whose Erlang is looked
at.
"""
import os
import re
import subprocess

from harness import Tap, patient_dump, stack_of, tool, wait_until
from interpreted import Program, erlang, interpreter, language_frames, text_of, wrong_in_stack
from judge import Judge, cut_in_stack

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "erlang")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "100"))
SHARED = "[shared code of the JIT]"
# The functions that may stand directly on each function. A function that another one ends with takes its place.
CALLS = {
    "chain:loop/1": {"chain:f1/1"},
    "chain:f1/1": {"chain:f2/1"},
    "chain:f2/1": {"chain:f3/1"},
    "chain:f3/1": {"chain:f4/1"},
    "chain:f4/1": {"chain:f5/1"},
    "chain:f5/1": {"chain:f6/1"},
    "chain:f6/1": {"chain:work/2", "chain:-work/2-fun-0-/1", "chain:deep/1", "lists:sum/1",
                   "lists:sum/2"},
    "chain:work/2": {"lists:seq/2", "lists:seq_loop/3", "chain:twice/1"},  # the fun is compiled in
    "chain:-work/2-fun-0-/1": {"chain:twice/1"},
    "chain:deep/1": {"chain:deep/1"},
}
# The calling lines of functions that call another one in one line only, or wait for what that line calls.
CALLERS = {"chain:loop/1": "    f1(N),", "chain:f1/1": "f1(N) ->", "chain:f2/1": "f2(N) ->", "chain:f3/1": "f3(N) ->",
           "chain:f4/1": "f4(N) ->", "chain:f5/1": "f5(N) ->", "chain:f6/1": "    X = work(", "chain:deep/1": "deep(N) ->"}
BIFS = re.compile(r"(erlang|ets|maps):")
DEEP = 41


def wrong_in_chain(names):
    """names: innermost first."""
    if names[-1] != "chain:loop/1":
        return f"begins with {names[-1]}"
    for inner, outer in zip(names, names[1:]):
        if outer in (SHARED,) or (inner not in CALLS.get(outer, ()) and inner != SHARED and not BIFS.match(inner)):
            return f"{outer} does not call {inner}"
    if names.count("chain:deep/1") > DEEP or SHARED in names[1:]:
        return "too many"
    return None


def lines_of(path):
    """{function: the line that it is in while it waits}"""
    with open(path) as source:
        lines = source.read().splitlines()
    return {name: next(i for i, text in enumerate(lines, 1) if text.startswith(at)) for name, at in CALLERS.items()}


def wrong_in_lines(frames, wanted):
    """frames: those of Erlang. A frame that waits for another function has its line, one that runs has none."""
    for inner, outer in zip(frames, frames[1:]):
        if inner["function"] == SHARED:
            continue
        if os.path.basename(outer["file"] or "") != outer["function"].split(":")[0] + ".erl" or not outer["line"]:
            return f"{outer['function']} has no line"
        if outer["line"] != wanted.get(outer["function"], outer["line"]):
            return f"{outer['function']} is in line {outer['line']}"
    return f"{frames[0]['function']} has a line" if frames[0]["line"] else None


def schedulers(report):
    """[(thread, number, what it does)] of normal schedulers."""
    found = []
    for thread in report["threads"]:
        managed = thread["managed"] or {}
        said = re.fullmatch(r"scheduler (\d+)(?:, (.*))?", managed.get("name") or "")
        if said:
            found.append((thread, int(said.group(1)), said.group(2) or managed["role"]))
    return found


def check_stops(tap, folder):
    ran, idle, wanted = 0, 0, lines_of(os.path.join(SOURCES, "chain.erl"))
    with Program(*interpreter("erl"), "+S", "2:2", "-noshell", "-noinput", "-pa", folder, "-s", "chain", "main") as erl, \
            Judge(tap, "beam.busy") as judge:
        pid = erl.lines[-1]
        for look in judge.looks(erl.pid, STOPS):
            report = look.report
            for thread, _, does in schedulers(report):
                stack = stack_of(report, thread["tid"])
                if stack is None:
                    judge.cut(look, f"no stack: {thread}")
                    continue
                what = wrong_in_stack(stack)
                names = [f["function"] for f in language_frames(stack, "beam")]
                if does == f"runs {pid}" and names != [SHARED] and names:
                    ran += 1
                    what = what or wrong_in_chain(names) or wrong_in_lines(language_frames(stack, "beam"), wanted)
                elif does.startswith("runs <") and does != f"runs {pid}" and not any(n.startswith("chain:") for n in names):
                    pass  # one of Erlang's own, which has something to do now and then
                else:
                    idle += does == "idle"
                    # Where the machine looks for work there is no process.
                    what = what or (None if names == [SHARED] else f"{does}: {names}")
                judge.verdict(look, cut_in_stack(stack), what, text_of(stack))
        tap.equal(sorted(n for _, n, _ in schedulers(report)), [1, 2], "both schedulers have their numbers")
        tap.check(ran >= STOPS * 0.5 and idle > 0, "the process was met, and idle schedulers", (ran, idle))
        found = [r for r in report["process"]["runtimes"] if r["name"] == "erlang"]
        tap.equal([r["version"] for r in found], [release()], "recognised, with its version")
        tap.equal([w for w in report["warnings"] if w["code"] == "runtime"], [], "nothing to warn of")


def check_blocked(tap, folder):
    with Program(*interpreter("erl"), "+S", "1:1", "-noshell", "-noinput", "-pa", folder, "-s", "chain", "blocked") as erl:
        pid, wanted = erl.lines[-2], erl.lines[-1].split(",")
        names = frames = None

        def waits():
            nonlocal names, frames
            report = patient_dump(erl.pid, status=(0, 3))
            for thread, _, does in schedulers(report):
                stack = stack_of(report, thread["tid"])
                frames = language_frames(stack, "beam")
                names = [f["function"] for f in frames]
                if does == f"runs {pid}" and wrong_in_stack(stack) is None and "chain:match/1" in names:
                    return True
            return False
        wait_until(waits, "the process in C code")
        # The line of who called a C function is not told: between calls the machine notes none.
        own = [f"{f['function']} {f['file']}:{f['line']}" for f in frames[names.index("chain:match/1") + 1:]]
        wanted = wanted[[w.split(" ")[0] for w in wanted].index("chain:match/1") + 1:]
        tap.check(len(own) >= 2, "the frame has callers", names)
        tap.equal(own, wanted, "in C code: the functions, files and lines of process_info()")


def check_dirty(tap, folder):
    with Program(*interpreter("erl"), "+S", "1:1", "-noshell", "-noinput", "-pa", folder, "-s", "chain", "dirty") as erl:
        wanted, found = dict(zip(("CPU", "I/O"), erl.lines)), {}

        def alike():  # a scheduler may not have taken its process yet
            nonlocal found
            names = [t["managed"]["name"] or "" for t in patient_dump(erl.pid, status=(0, 3))["threads"] if t["managed"]]
            all_said = (re.fullmatch(r"dirty (CPU|I/O) scheduler \d+, runs (.*)", name) for name in names)
            found = {said.group(1): said.group(2) for said in all_said if said}
            return found == wanted
        try:
            wait_until(alike, "both to be executed")
        except TimeoutError:
            pass
        tap.equal(found, wanted, "dirty schedulers execute the functions of process_info()")


def release():
    return subprocess.run(interpreter("erl", "-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."),
                          check=True, capture_output=True, text=True).stdout


def main():
    tap = Tap()
    tap.check(tool("erl") and tool("erlc"), "Erlang is installed")
    with erlang(SOURCES, "chain.erl") as folder:
        tap.guard(check_stops, folder)
        tap.guard(check_blocked, folder)
        tap.guard(check_dirty, folder)
    tap.done()


if __name__ == "__main__":
    main()
