#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 60s
# soak too
"""Samples that the kernel copies at events, and of threads that wait, of programs whose functions say how deep they are:
no stack is wrong, nearly all are complete, each that is not says so, and nothing is stopped.

SNAPWALK_COPIES sets for how many seconds each program is sampled (1; 3 in the soak), SNAPWALK_PYTHONS which
interpreters are (a word of their versions; by default one of each kind, all with "3.").
"""
import json
import os
import re
import shutil
import sys

from harness import Tap, Target, iterator_refused, snapwalk, summary_of
from judge import scaled

sys.path.insert(0, os.path.dirname(__file__))
from runtime_go import DIRECTORY, build  # noqa: E402
from runtime_python import interpreters, minor  # noqa: E402

SECONDS = int(os.environ.get("SNAPWALK_COPIES", scaled(1)))
RATE = 999
ENOUGH = 300  # samples
FEWEST = 20  # samples that say something of how many are complete
RUNS_MAX = 4
NODE_MARKED = 60  # of a thousand: where optimised code allocates, its tables do not say which of its functions does
TARGETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets")
PYTHON = os.path.join(TARGETS, "python", "depths.py")
# The callers of each function; None: it has none, as the outermost one.
DEPTHS = {f"d{n}": {f"d{n - 1}"} for n in range(1, 41)}
# Each call of Ruby after a fourth one is in a block.
BLOCKS = {f"d{n}": {f"d{n - 1}" if n % 4 else f"block in d{n - 1}"} for n in range(1, 41)} | {
    f"block in d{n}": {f"d{n}"} for n in range(3, 41, 4)}
CALLERS = {
    "native": {"main": {None}, "work": {"main", None}, "turn": {"work"}, "d0": {"turn"}, **DEPTHS,
               "leaf": {*DEPTHS, "d0"}, "spin": {"leaf", *DEPTHS, "d0"}, "call_kernel": {"leaf", *DEPTHS, "d0"}},
    "python": {"<module>": {None, "in_another", "<module>"}, "_bootstrap": {None}, "_bootstrap_inner": {"_bootstrap"},
               "run": {"_bootstrap_inner"}, "in_another": {"run"}, "work": {"<module>", "run"}, "turn": {"work"},
               "d0": {"turn"}, **DEPTHS, "spin": {"loop", "key", "made"}, "key": {"sorting", "mapping"},
               "made": {"generating"}, "nothing": {"calling"},
               **{leaf: {*DEPTHS, "d0"} for leaf in ("loop", "sorting", "mapping", "generating", "calling", "napping")}},
    "php": {"{main}": {None}, "work": {"{main}"}, "turn": {"work"}, "d0": {"turn"}, **DEPTHS,
            "spin": {"loop", "Key::key", "{closure}", "made", "{eval}"}, "Key::key": {"sorting"}, "{closure}": {"mapping"},
            "made": {"generating", "outer"}, "outer": {"delegating"}, "{eval}": {"evaluating"}, "nothing": {"calling"},
            **{leaf: {*DEPTHS, "d0"} for leaf in ("loop", "sorting", "mapping", "generating", "delegating", "calling",
                                                  "evaluating", "matching", "napping")}},
    "ruby": {"<main>": {None}, "block (2 levels) in <main>": {None}, "work": {"<main>", "block (2 levels) in <main>"},
             "turn": {"work"}, "d0": {"turn"}, **BLOCKS, "spin": {"looping", "key", "<=>", "evaluating"},
             "key": {"block in sorting", "block in mapping"}, "block in sorting": {"sorting"}, "block in mapping": {"mapping"},
             "<=>": {"comparing", "<=>"}, "block in comparing": {"comparing"}, "initialize": {"block in comparing"},
             "nothing": {"calling"}, "evaluating": {*DEPTHS, "d0", "evaluating"},
             **{leaf: {*DEPTHS, "d0"} for leaf in ("looping", "sorting", "mapping", "comparing", "calling", "napping")}},
    "go": {"main.main": {None}, "main.work": {"main.main", None}, "main.turn": {"main.work"}, "main.d0": {"main.turn"},
           **{f"main.d{n}": {f"main.d{n - 1}"} for n in range(1, 41)}, "main.grown": {"main.growing"},
           "main.key": {"main.sorting"}, "main.key.func1": {"main.sorting"},
           "main.spin": {"main.loop", "main.grown", "main.key.func1"},
           **{f"main.{leaf}": {f"main.d{n}" for n in range(41)} for leaf in (
               "loop", "allocating", "growing", "timing", "sorting", "mapping", "calling", "napping")}},
    "node": {"work": {None}, "turn": {"work"}, "d0": {"turn"}, **DEPTHS, "leaf": {*DEPTHS, "d0"}, "key": {"mapping", "applying"},
             "order": {"sorting"}, "generating": {"iterating"}, "made": {"generating"}, "revive": {"reviving"},
             "replaced": {"replacing"}, "thrown": {"throwing", "thrown"}, "Derived": {"constructing"}, "Base": {"Derived"},
             "made1": {"making"}, "built1": {"building"}, "random": {"leaf", "turn", "napping"},
             "spin": {"looping", "key", "order", "made", "revive", "replaced", "thrown", "throwing", "Base", "Derived", "made1",
                      "built1"},
             **{leaf: {"leaf"} for leaf in ("looping", "sorting", "mapping", "iterating", "reviving", "replacing", "allocating",
                                            "throwing", "constructing", "applying", "making", "building", "napping")}},
}
KINDS = {"native": "native", "python": "cpython", "php": "php", "ruby": "ruby", "go": "go", "node": "v8js"}  # of frames
# The names that the callers are of, where those of frames have more. Before Python 3.11 there are names without their classes.
NAMES = {"python": lambda name: name.split(".")[-1]}


def stacks(profile):
    """[(frames, outermost first, how often)]"""
    paths = []
    for parent, frame in profile["nodes"]:
        paths.append((paths[parent] if parent is not None else []) + [profile["frames"][frame]])
    return [(paths[s["node"]], s["count"]) for s in profile["samples"]]


def judge(kind, frames):
    """"right", "marked" (it says that it may not be whole), "cut" (without its outermost part), "wrong", or "missed": a
    thread that ran in all looks at it, which has no stack."""
    if frames[0]["function"] == "[no stack: running]":
        return "missed"
    callers = CALLERS[kind]
    name_of = NAMES.get(kind, str)
    names = [name_of(f["function"] or "") for f in frames if f["kind"] == KINDS[kind]]
    known = [name for name in names if name in callers]
    marked = any(f.get("may_miss") or f.get("mark") or (f["kind"] == KINDS[kind] != "native" and f["function"] is None) for f in frames)
    if not marked and any(caller not in callers[function] for caller, function in zip(known, known[1:])):
        return "wrong"
    if marked:
        return "marked"
    # A thread that begins or ends is in none of them.
    return "right" if not known or None in callers[known[0]] else "cut"


def sample(target, seconds, options):
    """({how: count}, {how: [folded stack]}, what was said), of one run. Names of threads are added to the target's."""
    result = snapwalk("sample", target.pid, *options, "--duration", seconds, "--format", "json", "--stack-bytes", "32K")
    if not result.stdout:
        raise RuntimeError(f"no profile: status {result.returncode}, {result.stderr}")
    found, examples = dict.fromkeys(("right", "marked", "cut", "wrong", "missed"), 0), {}
    profile = json.loads(result.stdout)
    target.names |= {t["name"] for t in profile["threads"]}
    for frames, n in stacks(profile):
        how = judge(target.kind, frames)
        found[how] += n
        examples.setdefault(how, []).append(";".join(f["function"] or f["address"] for f in frames))
    return found, examples, summary_of(result.stderr)


def samples(tap, name, kind, target, options=("--mode", "cpu", "--rate", RATE), whole=True, marked=1):
    """As many as count, or as a machine that does other things gives in some runs. whole: nearly all are complete; marked:
    so many of a thousand are known not to be."""
    refused = iterator_refused()
    if refused:
        tap.skip(name, refused, "Linux 6.1, root")
        return
    target.kind, target.names = kind, set()
    found, quiet = {}, True
    for _ in range(RUNS_MAX):
        more, examples, said = sample(target, SECONDS, options)
        quiet = quiet and "nothing was stopped" in said
        found = {how: found.get(how, 0) + n for how, n in more.items()}
        print(f"# {name}: {found}, {said.splitlines()[0]}", flush=True)
        for how in ("marked", "cut", "wrong"):
            for stack in examples.get(how, [])[:3]:
                print(f"# {how}: {stack}", flush=True)
        if sum(found.values()) >= ENOUGH:
            break
    total = sum(found.values())
    tap.check(total > 0 and quiet, f"{name}: there are samples, and nothing was stopped", said)
    tap.equal((found["wrong"], found["cut"]), (0, 0), f"{name}: no stack is wrong, each that is cut says so")
    if not whole:
        tap.check(found["right"] > 0, f"{name}: some are complete", found)
        return
    if total < FEWEST:
        tap.skip(f"{name}: nearly all are complete", f"{total} samples in {RUNS_MAX} runs, {FEWEST} are wanted",
                 "a machine that gives the program a CPU")
        return
    # Four deviations above what is known.
    few = total * marked / 1000 + 4 * (total * marked / 1000) ** 0.5
    tap.check(found["marked"] <= few, f"{name}: nearly all are complete", found)


def native(tap):
    """Threads on the stacks of main() and of the C library, with pages in them that nobody has touched."""
    with Target("depths", 2) as target:
        samples(tap, "native", "native", target)
        compared(tap, "native", "native", target)
    with Target("depths", 2, "alike") as target:
        compared(tap, "functions alike", "native", target)


def compared(tap, name, kind, target):
    """Walks that are those of earlier samples are walked again."""
    if iterator_refused():
        return  # samples() has said so
    target.kind, target.names = kind, set()
    before, differ = 0, 0
    for _ in range(RUNS_MAX):
        said = sample(target, SECONDS, ("--mode", "cpu", "--rate", RATE, "--walks", "both"))[2]
        found = re.search(r"(\d+) of \d+ stacks were walked before; walked again, (\d+) differ", said)
        before, differ = before + int(found.group(1)), differ + int(found.group(2))
        if before > 0:
            break
    print(f"# {name}: {before} walked before", flush=True)
    tap.equal(differ, 0, f"{name}: a walk that is remembered is the one that is made again")
    if kind == "native":
        tap.check(before > 0, f"{name}: some stacks were walked before", said)


def python(tap, version, path):
    with Target("python", PYTHON, 2, 0, path=path) as target:
        samples(tap, f"python {version}", "python", target)
        compared(tap, f"python {version}", "python", target)
        tap.check(target.names <= {"MainThread", "Thread-1" if minor(version) < 10 else "Thread-1 (work)"}, f"python {version}: threads have Python's names",
                  target.names)


def interpreters_of(tap, version, path):
    """Threads of which all but one run their program in an interpreter of its own, called by one of the first."""
    with Target("python", PYTHON, 3, 0, "interpreters", path=path) as target:
        samples(tap, f"python {version}, interpreters", "python", target)


def waiting(tap, version, path):
    """Threads that wait nearly always, somewhere else each time: of these nobody has an event."""
    with Target("python", PYTHON, 8, 0, "naps", path=path) as target:
        samples(tap, f"python {version}, waiting", "python", target, ("--rate", 99))


def php(tap, path):
    """Generators that yield from others, functions that C calls, code that is made for one call."""
    script = os.path.join(TARGETS, "php", "depths.php")
    jit = ("-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=16M", "-d", "opcache.jit=tracing")
    for name, options, marked in (("php", (), 1), ("php, compiled", jit, 4)):  # 5 of 2,038 and 6 of 960
        with Target("php", *options, script, path=path) as target:
            samples(tap, name, "php", target, marked=marked)
    with Target("php", script, "expressions", path=path) as target:
        samples(tap, "php, code of PCRE", "php", target, whole=False)
    with Target("php", script, "naps", path=path) as target:
        samples(tap, "php, waiting", "php", target, ("--rate", 99))


def ruby(tap, path):
    """Threads with blocks, functions that C calls, code that is made for one call."""
    script = os.path.join(TARGETS, "ruby", "depths.rb")
    with Target("ruby", script, 2, path=path) as target:
        samples(tap, "ruby", "ruby", target)
    with Target("ruby", "--yjit", script, 2, path=path) as target:
        samples(tap, "ruby, compiled", "ruby", target)
    with Target("ruby", script, 4, "naps", path=path) as target:
        samples(tap, "ruby, waiting", "ruby", target, ("--rate", 99))


def go(tap, _):
    """Goroutines whose stacks grow, collections of garbage, signals that preempt, the clock of the vDSO."""
    os.makedirs(DIRECTORY, exist_ok=True)
    program = build("depths", "depths.go")
    with Target("depths", 2, path=program) as target:
        samples(tap, "go", "go", target)
    with Target("depths", 4, "naps", path=program) as target:
        samples(tap, "go, waiting", "go", target, ("--rate", 99))


def node(tap, path):
    """Code of all compilers, closures that move, functions that builtins and C++ code call, code that is made for one call."""
    script = os.path.join(TARGETS, "v8", "depths.js")
    for name, options, words, whole in (
            ("node", (), (), True), ("node, baseline", ("--always-sparkplug", "--no-opt"), (), True), ("node, loads", (), ("loads",), False)):
        with Target("node", *options, script, *words, path=path) as target:
            samples(tap, name, "node", target, whole=whole, marked=NODE_MARKED)
    with Target("node", script, "naps", path=path) as target:
        samples(tap, "node, waiting", "node", target, ("--rate", 99), marked=NODE_MARKED)


def published(frames):
    """As judge(), of functions that say of which generation they are, on which level, and how deep it goes. A name of another
    generation is wrong whatever the stack says of itself."""
    names = [f["function"] or "" for f in frames]
    made = [tuple(map(int, name.split()[1:])) for name in names if re.fullmatch(r"s \d+ \d+ \d+", name)]
    levels = [level for _, level, _ in made]
    marked = any(f.get("may_miss") or f.get("mark") or f.get("guess") for f in frames)
    if len({(generation, depth) for generation, _, depth in made}) > 1 or levels != sorted(set(levels)):
        return "wrong"
    if marked or "worker_run" not in names:
        return "marked"
    unnamed = names.count("")  # published since the look before the sample
    whole = levels == list(range(len(levels))) or unnamed
    return "right" if whole and (names[-1] != "leaf" or not made or len(levels) + unnamed == made[0][2]) else "wrong"


def made(tap):
    """Code that is published, used for a while, and made anew at the same addresses, with tables of each kind. What was
    published neither before nor after a sample is no name of it."""
    if refused := iterator_refused():
        tap.skip("code that is published", refused, "Linux 6.1, root")
        return
    said = ["worker_run", "s 3 0 3", "s 3 1 3"]
    for names, wanted in (([*said, "s 3 2 3", "leaf"], "right"), ([*said, None, "leaf"], "right"), ([*said, "leaf"], "wrong"),
                          ([*said, "s 4 2 3", "leaf"], "wrong"), ([*said[1:], "leaf"], "marked")):
        tap.equal(published([{"function": name} for name in names]), wanted, f"the judge of {names}")
    for name, runs, whole in (("code made anew each second", 10000000, True), ("code made anew all the time", 1000, False)):
        found = dict.fromkeys(("right", "marked", "wrong"), 0)
        with Target("jit_stress", 0, 15, runs) as target:
            for _ in range(RUNS_MAX):
                result = snapwalk("sample", target.pid, "--mode", "cpu", "--rate", RATE, "--duration", SECONDS, "--format", "json")
                for frames, n in stacks(json.loads(result.stdout)):
                    how = published(frames)
                    found[how] += n
                    if how != "right" and found[how] < 4:
                        print(f"# {how}: {';'.join(f['function'] or f['address'] for f in frames)}", flush=True)
                if sum(found.values()) >= ENOUGH:
                    break
        print(f"# {name}: {found}", flush=True)
        tap.check("nothing was stopped" in result.stderr, f"{name}: nothing was stopped", result.stderr)
        tap.equal(found["wrong"], 0, f"{name}: no stack is wrong")
        if whole:
            tap.check(found["right"] > 0, f"{name}: some have their names", found)


def chosen():
    """Returns one interpreter of each version that is there, without 3.9, which differs from 3.10 by one offset."""
    found = {}
    every = "SNAPWALK_PYTHONS" in os.environ
    for version, path in interpreters().items():
        if minor(version) >= 8 and (every or minor(version) not in (9, *found)):
            found[version if every else minor(version)] = (version, path)
    return found.values()


def main():
    tap = Tap()
    tap.guard(native)
    tap.guard(made)
    for version, path in chosen():
        tap.guard(python, version, path)
        tap.guard(waiting, version, path)
        if minor(version) >= 12:  # before, all have one lock, which none gives to another
            tap.guard(interpreters_of, version, path)
    for name, function in (("php", php), ("ruby", ruby), ("go", go), ("node", node)):
        path = shutil.which(name)
        if path:
            tap.guard(function, path)
        else:
            tap.skip(name, "it is not installed", name)
    tap.done()


if __name__ == "__main__":
    main()
