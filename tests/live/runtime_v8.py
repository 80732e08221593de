#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 45s
"""JavaScript and WebAssembly in node: blocked programs against their own view, and stops anywhere in known chains
of calls.

SNAPWALK_STOPS sets how many stops there are in each mode (100); SNAPWALK_NODES names further programs, by
colons.
"""
import json
import os
import re
import subprocess

from harness import Tap, patient_dump, snapwalk, stack_of, wait_until
from interpreted import text_of
from judge import Judge, cut_in_stack
import jit_fleet

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "v8")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "100"))
MODES = {"jitless": ["--jitless"], "baseline": ["--sparkplug", "--always-sparkplug", "--no-opt"], "default": [],
         "large pages": ["--use-largepages=on"]}
CALLEES = {"f1": {"f2"}, "f2": {"f3"}, "f3": {"f4"}, "f4": {"f5", "f6"}, "f5": {"f6"}, "f6": set()}
# The lines of each function; it calls the next one of the chain in one line.
LINES = {"f1": range(50, 53), "f2": range(46, 49), "f3": range(40, 45), "f4": range(28, 39), "f5": range(24, 27)}
CALLS = {("f1", "f2"): 51, ("f2", "f3"): 47, ("f3", "f4"): 43, ("f4", "f5"): 37, ("f4", "f6"): 31, ("f5", "f6"): 25}
MODULES = 150
WASM_MODES = {"liftoff": ["--liftoff", "--no-wasm-tier-up"], "turbofan": ["--no-liftoff"], "default": []}
CLASS_MODES = {"baseline": ["--sparkplug", "--always-sparkplug", "--no-opt"], "default": []}
REGEXP_MODES = {"compiled": [], "interpreted": ["--regexp-interpret-all"]}
REGEXPS = ("nested.", "overlapping.", "(repeated)", "wide.", "(global")
# As node names them; w4 has no name.
WASM_CHAIN = ["outer", "w1", "w2", "back", "w3", "wasm-function[5]", "w5", "inner"]
WAYS = ("[JavaScript to WebAssembly]", "[WebAssembly to JavaScript]")
WASM_NUMBERS = {"w1": 2, "w2": 3, "w3": 4, "wasm-function[5]": 5, "w5": 6}


def nodes():
    """Returns the programs that are there: the machine's, the newest one, those of the environment."""
    found = [path for path in (jit_fleet.newest_node(), "/usr/bin/node") if os.path.exists(path)]
    return found + [path for path in os.environ.get("SNAPWALK_NODES", "").split(":") if path]


class Node:
    """A program that has said that it is ready."""

    def __init__(self, node, script, *options, arguments=()):
        self.command = [node, *options, os.path.join(SOURCES, script), *arguments]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.pid = self.process.pid
        self.first = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def wait_begun(pid, begun):
    """Wait until a frame is one of the program's: code is compiled while it runs, and the first stops see that, too."""
    wait_until(lambda: any(begun(f) for f in stack_of(patient_dump(pid, status=(0, 3)), pid)["frames"]), "the program to begin")


def judge_stops(tap, name, about, pid, n, wrong_of):
    """Stops anywhere, of whose frames a function says what is wrong, [] when nothing is; the frames of all."""
    found = []
    with Judge(tap, name, about) as judge:
        for look in judge.series(pid, n, pid, "auto"):
            stack = stack_of(look.report, pid)
            wrong = ", ".join(wrong_of(stack["frames"])) or None
            judge.verdict(look, None if wrong else cut_in_stack(stack), wrong, text_of(stack))
            found.append(stack["frames"])
    return found


def wrong_of(frames):
    """Returns what cannot be in a stack of busy.js."""
    wrong = []
    chain = [f for f in reversed(frames) if f["kind"] == "v8js" and f["function"] in CALLEES]
    for outer, inner in zip(chain, chain[1:]):
        # Functions that were compiled in may be missing where that is said.
        if inner["function"] not in CALLEES[outer["function"]] and (
                inner["function"] <= outer["function"] or not outer.get("may_miss")):
            wrong.append(f"{outer['function']} calls {inner['function']}")
        # f3 has another way to f4, by a builtin and a function without a name.
        line = CALLS.get((outer["function"], inner["function"]))
        if line is not None and outer["line"] not in (None, line) and outer["function"] != "f3":
            wrong.append(f"{outer['function']}:{outer['line']} calls {inner['function']}")
    for frame in chain:
        if frame["line"] is not None and frame["line"] not in LINES.get(frame["function"], [frame["line"]]):
            wrong.append(f"{frame['function']}:{frame['line']}")
    return wrong


def test_busy(tap):
    for node in nodes():
        for mode, options in MODES.items():
            with Node(node, "busy.js", *options) as running:
                wait_begun(running.pid, lambda f: f["function"] in CALLEES)
                stops = judge_stops(tap, "v8.busy", f"{node} {mode}", running.pid, STOPS, wrong_of)
            named = [f for frames in stops for f in frames if f["function"] in CALLEES]
            tap.check(len(named) > len(stops), f"{node} {mode}: the chain is there", len(named))


def twice_of(frames):
    """The function that makes the calls in classes.js is on the stack once."""
    return ["a frame twice"] if sum(f["function"] == "build" and f["kind"] == "v8js" for f in frames) > 1 else []


def test_classes(tap):
    """Constructors and calls of all kinds."""
    for node in nodes():
        for mode, options in CLASS_MODES.items():
            with Node(node, "classes.js", *options) as running:
                wait_begun(running.pid, lambda f: f["function"] == "build")
                judge_stops(tap, "v8.classes", f"{node} {mode}", running.pid, STOPS, twice_of)


def regexp_wrong_of(frames, source):
    """Returns what cannot be in a stack of regexp.js."""
    wrong = []
    chain = [f for f in frames if f["function"] == "[RegExp]" or (f["file"] or "").endswith("/regexp.js")]
    for i, frame in enumerate(chain):
        caller = chain[i + 1] if i + 1 < len(chain) else {"function": "?", "line": None}
        line = source[caller["line"] - 1] if caller["line"] else None
        if frame["function"] == "[RegExp]":
            # Only such functions have one of the expressions in their lines.
            if i != 0 or not (caller["function"].startswith("by") or caller.get("may_miss")):
                wrong.append(f"{caller['function']} runs a regular expression")
            elif line is not None and caller["function"].startswith("by") and \
                    not any(word in line for word in REGEXPS):
                wrong.append(f"{caller['function']}:{caller['line']} runs a regular expression")
        elif frame["function"].startswith("by"):
            if not (caller["function"] == "rounds" or caller.get("may_miss")):
                wrong.append(f"{caller['function']} calls {frame['function']}")
            elif caller["function"] == "rounds" and line is not None and f" {frame['function']}();" not in line:
                wrong.append(f"rounds:{caller['line']} calls {frame['function']}")
    return wrong


def test_regexps(tap):
    """Code of regular expressions is said as such, and its caller is right, also where they are interpreted."""
    with open(os.path.join(SOURCES, "regexp.js"), encoding="utf-8") as text:
        source = text.read().splitlines()
    for node in nodes():
        for mode, options in REGEXP_MODES.items():
            with Node(node, "regexp.js", *options) as running:
                stops = judge_stops(tap, "v8.regexp", f"{node} {mode}", running.pid, STOPS // 2,
                                    lambda frames: regexp_wrong_of(frames, source))
            # More than nine of ten instants are in such code.
            found = sum(f["function"] == "[RegExp]" for frames in stops for f in frames)
            tap.check((found > 0) == (mode == "compiled"), f"{node} regular expressions {mode}: said as such", (found, len(stops)))


def check_blocked(tap, name, running):
    wanted = [(frame["function"], frame["line"]) for frame in json.loads(running.first)]

    def frames():
        stack = stack_of(patient_dump(running.pid), running.pid)
        return [(f["function"], f["line"]) for f in stack["frames"] if f["kind"] == "v8js"]
    found = []

    def alike():  # what wrote the line may not have returned
        nonlocal found
        found = frames()[:len(wanted)]
        return found == wanted
    try:
        wait_until(alike, "the same frames")
    except TimeoutError:
        pass
    tap.equal(found, wanted, f"{name}: functions and lines of a blocked thread")
    report = patient_dump(running.pid)
    runtimes = [r["name"] for r in report["process"]["runtimes"]]
    tap.equal(runtimes.count("v8"), 1, f"{name}: identified once")
    tap.equal(stack_of(report, running.pid)["end"], "complete", f"{name}: complete")


def explained(tap, name, running, tier):
    """An address that frames are at is explained: what each of them executes."""
    frames = [f for f in stack_of(patient_dump(running.pid), running.pid)["frames"] if f["kind"] == "v8js"]
    same = [f for f in frames if f["pc"] == frames[0]["pc"]]
    said = snapwalk("explain", running.pid, frames[0]["pc"], "--max-stop", 60000).stdout
    place = {"Ignition": r"v8: bytecode array 0x[0-9a-f]+, offset \d+ of \d+\n",
             "Sparkplug": r"v8: code object 0x[0-9a-f]+, offset 0x[0-9a-f]+\n(?:v8: bytecode array .*\n)?"}[tier]
    found = re.findall(rf"v8: thread {running.pid}, frame \d+:\nv8: executed by {tier}\n{place}"
                       r"v8: function (.*) at (.*):(\d+)\n", said)
    tap.equal(found, [(f["function"], f["file"], str(f["line"])) for f in same],
              f"{name}: explain says what {len(same)} frames execute")


def test_blocked(tap):
    """The stack of the program's own Error is the one that is seen while it waits."""
    for node in nodes():
        for mode, options in MODES.items():
            with Node(node, "blocked.js", *options) as running:
                check_blocked(tap, f"{node} {mode}", running)
                explained(tap, f"{node} {mode}", running, "Sparkplug" if mode == "baseline" else "Ignition")
        with Node(node, "blocked.js", arguments=["covered"]) as running:
            check_blocked(tap, f"{node} whose calls are counted", running)


def wasm_wrong_of(frames):
    """Returns what cannot be in a stack of wasm.js."""
    wrong = []
    for i, frame in enumerate(frames):
        # The innermost one may have given up what says where it is from.
        if i == 0 and frame["file"] is None:
            continue
        number = WASM_NUMBERS.get(frame["function"])
        if frame["kind"] == "wasm" and (
                number is None or f":wasm-function[{number}]" not in (frame["file"] or "")):
            wrong.append(f"{frame['function']} of {frame['file']}")
    chain = [f for f in reversed(frames) if f["kind"] in ("v8js", "wasm") and f["function"] in WASM_CHAIN]
    for outer, inner in zip(chain, chain[1:]):
        calls = WASM_CHAIN.index(inner["function"]) - WASM_CHAIN.index(outer["function"])
        if calls != 1 and (calls < 1 or not outer.get("may_miss")):
            wrong.append(f"{outer['function']} calls {inner['function']}")
    return wrong


def test_wasm_busy(tap):
    for node in nodes():
        for mode, options in WASM_MODES.items():
            with Node(node, "wasm.js", *options) as running:
                wait_begun(running.pid, lambda f: f["kind"] == "wasm")
                judge_stops(tap, "v8.wasm", f"{node} {mode}", running.pid, STOPS, wasm_wrong_of)


def place_of(frame):
    """As node's own stacks say it of WebAssembly: bytes of the module instead of lines."""
    if frame["kind"] != "wasm":
        return (frame["function"], frame["file"], frame["line"])
    url, _, offset = (frame["file"] or "").rpartition(":")
    number = WASM_NUMBERS.get(frame["function"])
    return (frame["function"], url.removesuffix(f":wasm-function[{number}]"), offset)


def check_wasm_blocked(tap, name, running):
    wanted = [(frame["function"], frame["file"], frame.get("line") or frame["offset"])
              for frame in json.loads(running.first)]

    def frames():
        stack = stack_of(patient_dump(running.pid), running.pid)
        return [place_of(f) for f in stack["frames"] if f["kind"] in ("v8js", "wasm")]
    found = []

    def alike():  # what wrote the line may not have returned
        nonlocal found
        # A function that compiled code has on its way out is without its line.
        found = [(one[0], one[1], one[2] or other[2]) for one, other in zip(frames(), wanted)]
        return found == wanted
    try:
        wait_until(alike, "the same frames")
    except TimeoutError:
        pass
    tap.equal(found, wanted, f"{name}: functions of JavaScript and WebAssembly, and where they are")
    report = patient_dump(running.pid)
    stack = stack_of(report, running.pid)
    tap.equal(stack["end"], "complete", f"{name}: complete")
    ways = [f for f in stack["frames"] if f["kind"] == "jit"]
    tap.check(ways and all(f.get("internal") and f["function"] in WAYS for f in ways), f"{name}: ways in and out are V8's own", ways)
    tap.equal([f for f in stack["frames"] if f["kind"] == "unknown"], [], f"{name}: no frame is unknown")


def test_many_mappings(tap):
    """Each module's code is in a mapping of its own: none is left out."""
    for node in nodes():
        with Node(node, "many_modules.js", arguments=[str(MODULES)]) as running:
            report = wait_until(lambda: at_the_end(running.pid), "the last module's call")
            stack = next(s for s in report["stacks"] if sum(f["kind"] == "wasm" for f in s["frames"]) > MODULES // 2)
            tap.equal((sum(f["kind"] == "wasm" for f in stack["frames"]), stack["end"]), (MODULES, "complete"),
                      f"{node}: code in {MODULES} mappings")
            tap.equal([f for f in stack["frames"] if f["kind"] == "unknown"], [], f"{node}: no frame is unknown")


def at_the_end(pid):
    report = patient_dump(pid)
    return report if any(f["function"] == "spin" for s in report["stacks"] for f in s["frames"]) else None


def test_wasm_blocked(tap):
    for node in nodes():
        for mode, options in WASM_MODES.items():
            with Node(node, "wasm.js", *options, arguments=["blocked"]) as running:
                check_wasm_blocked(tap, f"{node} WebAssembly {mode}", running)


def main():
    tap = Tap()
    jit_fleet.install()
    test_blocked(tap)
    test_wasm_blocked(tap)
    test_many_mappings(tap)
    test_wasm_busy(tap)
    test_busy(tap)
    test_classes(tap)
    test_regexps(tap)
    tap.done()


if __name__ == "__main__":
    main()
