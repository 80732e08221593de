#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 90s
"""Runtimes that compile code, real and live: what the walk through their code must reach.

    tables   complete, every frame by a table; as gdb shows it where gdb can
    frames   complete by rbp where there is no table, nothing lost
    guesses  complete; what is guessed is marked, what may be missing is flagged, no caller is lost
"""
import os
import re
import signal
import statistics
import subprocess
import sys

import jit_fleet
import oracles
from harness import INTERPRETED, Tap, patient_dump, snapwalk, stack_of
from jit_fleet import FLEET

# name: (functions that must be there in this order, by what their frames' callers were found,
#        whether gdb shows the same)
TABLES = {
    "lli-14-mcjit": (["inner", "middle", "outer", "main"], "jit-gdb", True),
    "lli-14-orc": (["inner", "middle", "outer", "main"], "jit-gdb", True),
    "lli-15-orc": (["inner", "middle", "outer", "main"], "jit-gdb", True),
    "numba": ([r".*outer.*", r".*cpython.*outer.*"], "jit-gdb", True),
    "postgresql": ([r"evalexpr_\d+_\d+"], "jit-gdb", True),
    "qemu-x86_64": (["code_gen_buffer"], "jit-gdb", True),
    # Read by V8's own structures, which say more than the list does.
    "node-gdbjit": ([r"outer"], "v8", True),
    "php-tracing": (["usleep", "inner", "middle", "outer", "{main}", r"TRACE-\d+\$.*"], "php", True),
    "php-function": (["usleep", "inner", "middle", "outer", "{main}", r"JIT\$inner"], "php", True),
    "yjit": (["readpartial", "inner", "middle", "outer", "<main>"], "ruby", False),
    # gdb has no table of wasmtime's code; libgcc's has no names.
    "wizer": ([], "jit-libgcc", False),
    # An ordinary library that was deleted.
    "libgccjit": (["inner", "middle", "outer", "main"], "elf-cfi", False),
}
# name: names that must be there in this order
FRAMES = {
    "node": [],
    "node-perfmap": [r"outer"],
    "node-newest": [],
    "node-newest-busy": [],
    "node-newest-jitdump": [r"outer"],
    "deno": [r"JS:.*outer .*chain\.js.*"],
    "bun": [r"JSC-[A-Z]\w+: outer#.*"],
    "sbcl": [],
    "erlang-jpperf": [r"\$?chain:inner/2", r"\$?chain:middle/1", r"\$?chain:outer/1"],
}
GUESSES = ["luajit", "pypy", "guile", "racket", "mono"]
# Read by their own structures: runtime_jvm.py has the rest.
JAVA = ["java", "java-busy", "java-framepointer"]
# Not packages of Debian 12: looked at where the machine has them.
PYTHONS = {"python-3.12-perf": "trampoline", "python-3.13-perf-jit": "jitdump"}

TABLE_TRUST = {"context", "cfi", "jit", "runtime"}


def frames_of(report, tid):
    """The native ones."""
    return [f for f in stack_of(report, tid)["frames"] if not f["inlined"] and f["kind"] not in INTERPRETED]


def text_of(report, tid):
    stack = stack_of(report, tid)
    lines = [f"{f['pc']} {f['function']} {f['trust']} {f['by']} {f['kind']}"
             + (" may_miss" if f.get("may_miss") else "") for f in stack["frames"]]
    return "\n".join([f"{stack['end']}: {stack['why']}", *lines])


def in_order(names, patterns):
    """True when each pattern matches one of the names, in this order."""
    rest = iter(names)
    return all(any(re.fullmatch(pattern, name or "") for name in rest) for pattern in patterns)


def generated(report, tid):
    """Indices of the frames whose code is in no file."""
    return [i for i, f in enumerate(frames_of(report, tid)) if f["kind"] in ("jit", "unknown")]


def check_complete(tap, name, report, tid):
    return tap.equal(stack_of(report, tid)["end"], "complete", f"{name}: complete") or \
        print("# " + text_of(report, tid).replace("\n", "\n# "))


def check_names(tap, name, report, tid, patterns):
    names = [f["function"] for f in stack_of(report, tid)["frames"]]
    tap.check(in_order(names, patterns), f"{name}: names {patterns}", text_of(report, tid))


def check_recognised(tap, name, report):
    words = {"lli": "llvm", "numba": "llvm", "postgresql": "llvm", "qemu": "qemu", "php": "php",
             "node": "v8", "deno": "v8", "bun": "jsc", "sbcl": "sbcl", "erlang": "erlang",
             "java": "hotspot", "luajit": "luajit", "pypy": "pypy", "yjit": "ruby",
             "guile": "guile", "racket": "racket", "mono": "mono", "python": "cpython",
             "libgccjit": "libgccjit"}
    wanted = words.get(name.split("-")[0])
    found = [r["name"] for r in report["process"]["runtimes"]]
    tap.check(wanted is None or wanted in found, f"{name}: recognised as {wanted}", found)


def frozen(running):
    """Stops what computes, so that two looks at it see the same."""
    os.kill(running.pid, signal.SIGSTOP)
    jit_fleet.wait_until(lambda: jit_fleet.state_of(running.pid, running.tid) == "T", "to stop")


def check_gdb(tap, name, running, report):
    """gdb shows the same frames: its own reading of the same tables."""
    ours = [int(f["pc"], 16) for f in frames_of(report, running.tid)]
    theirs = oracles.gdb(running.pid)[running.tid]
    tap.equal([hex(pc) for pc in ours], [hex(pc) for pc in theirs],
              f"{name}: all {len(theirs)} frames as gdb shows them")


def test_tables(tap, name):
    patterns, by, gdb_can = TABLES[name]
    with FLEET[name].start() as running:
        if not FLEET[name].calls:
            frozen(running)
        report = patient_dump(running.pid, status=(0, 3))
        tid = running.tid
        check_complete(tap, name, report, tid)
        check_names(tap, name, report, tid, patterns)
        check_recognised(tap, name, report)
        frames = frames_of(report, tid)
        trusts = {f["trust"] for f in frames}
        tap.check(trusts <= TABLE_TRUST, f"{name}: every frame by a table", text_of(report, tid))
        found = [frames[i + 1]["by"] for i in generated(report, tid) if i + 1 < len(frames)]
        if by == "elf-cfi":
            found = [f["by"] for f in frames[1:]]
        if by == "v8":
            found = [frames[i + 1]["by"] for i, f in enumerate(frames[:-1]) if f["kind"] == "v8js"]
        tap.check(found and set(found) == {by}, f"{name}: out of generated code by {by}",
                  text_of(report, tid))
        if gdb_can:
            check_gdb(tap, name, running, report)
        print(f"# {name}: {len(frames)} frames, {len(found)} by {by}")


def test_frames(tap, name):
    with FLEET[name].start() as running:
        report = patient_dump(running.pid, status=(0, 3))
        tid = running.tid
        check_complete(tap, name, report, tid)
        check_recognised(tap, name, report)
        frames = frames_of(report, tid)
        trusts = {f["trust"] for f in frames}
        tap.check(trusts <= TABLE_TRUST | {"frame_pointer"}, f"{name}: no frame by scan",
                  text_of(report, tid))
        # A computing process is at times elsewhere: of 150 stops of Erlang one was between two turns of its process.
        for _ in range(0 if FLEET[name].calls else 5):
            if in_order([f["function"] for f in stack_of(report, tid)["frames"]], FRAMES[name]):
                break
            report = patient_dump(running.pid, status=(0, 3))
        check_names(tap, name, report, tid, FRAMES[name])
        # Optimised functions of V8 are flagged at 1 instant of 20: some functions may be compiled in.
        for _ in range(5):
            flagged = sum(f.get("may_miss", False) for f in frames)
            if flagged == 0 or not any(f["kind"] == "v8js" for f in frames):
                break
            frames = frames_of(patient_dump(running.pid, status=(0, 3)), tid)
        print(f"# {name}: {len(frames)} frames, {flagged} with a flag")
        tap.equal(flagged, 0, f"{name}: nothing is said to be missing")


def test_python(tap, name):
    if FLEET[name].command()[0] is None:
        print(f"# {name}: no such interpreter is to be had here; it is no package of Debian 12")
        return
    with FLEET[name].start() as running:
        report = patient_dump(running.pid, status=(0, 3))
        tid = running.tid
        check_complete(tap, name, report, tid)
        check_recognised(tap, name, report)
        check_names(tap, name, report, tid, [r"py::inner:.*", "py_trampoline_evaluator",
                                             r"py::middle:.*", r"py::outer:.*", r"py::<module>:.*",
                                             "_start"])
        frames = frames_of(report, tid)
        found = {frames[i + 1]["by"] for i in generated(report, tid)}
        tap.equal(found, {PYTHONS[name]}, f"{name}: out of each trampoline by {PYTHONS[name]}")
        tap.check({f["trust"] for f in frames} <= TABLE_TRUST, f"{name}: every frame by a table",
                  text_of(report, tid))


def java_depth(pid):
    """Frames of the thread "main" as the JVM itself shows them."""
    run = subprocess.run(["jcmd", str(pid), "Thread.print"], capture_output=True, text=True,
                         timeout=60, check=True)
    block = run.stdout.partition('"main"')[2].partition("\n\n")[0]
    return len(re.findall(r"^\tat ", block, re.M))


def test_java(tap, name):
    with FLEET[name].start() as running:
        report = patient_dump(running.pid)
        tid = running.tid
        check_complete(tap, name, report, tid)
        check_recognised(tap, name, report)
        frames = stack_of(report, tid)["frames"]
        methods = [f for f in frames if f["kind"] == "jvm" and not f["function"].startswith("[")]
        if name != "java-busy":
            tap.equal(len(methods), java_depth(running.pid), f"{name}: as many Java frames as the JVM says")
        tap.check(in_order([f["function"] for f in methods], [r"Chain\.outer", r"Chain\.loop", r"Chain\.main"]),
                  f"{name}: names", text_of(report, tid))
        trusts = {f["trust"] for f in frames}
        tap.check(trusts <= {"context", "cfi", "runtime"}, f"{name}: no frame is a guess", text_of(report, tid))


def missing_in_mono(report, running):
    """Main, Outer, Middle, Inner: none of them is inlined; and one that calls into C."""
    return 5 - len(generated(report, running.tid))


MISSING = {"mono": missing_in_mono}


def test_guesses(tap, name):
    with FLEET[name].start() as running:
        report = patient_dump(running.pid, status=(0, 3))
        tid = running.tid
        check_complete(tap, name, report, tid)
        check_recognised(tap, name, report)
        frames = frames_of(report, tid)
        silent = [f for f in frames if f["trust"] == "scan" and not f.get("may_miss")]
        tap.check(not silent, f"{name}: a guessed frame is flagged", silent)
        beyond = [frames[i + 1]["trust"] for i in generated(report, tid)]
        tap.check(beyond and not set(beyond) & {"cfi", "jit", "unwind_info"},
                  f"{name}: what no table says is said by none", text_of(report, tid))
        flagged = sum(f.get("may_miss", False) for f in frames)
        missing = MISSING[name](report, running) if name in MISSING else 0
        tap.check(missing <= 0, f"{name}: no caller is missing", text_of(report, tid))
        print(f"# {name}: {len(frames)} frames, {flagged} flagged, {missing} missing")


def test_builtins(tap):
    """node maps the text of its builtins a second time: names are right in both places."""
    seen = {}
    with FLEET["node-newest"].start() as running:
        report = patient_dump(running.pid)
        for frame in stack_of(report, running.tid)["frames"]:
            if re.match("Builtins_", frame["function"] or ""):
                seen.setdefault(frame["function"], set()).add(
                    int(frame["pc"], 16) - frame["function_offset"])
    elf = subprocess.run(["nm", jit_fleet.newest_node()], capture_output=True, text=True,
                         check=True).stdout
    by_name = {name: int(value, 16)
               for value, name in re.findall(r"^([0-9a-f]+) [tT] (Builtins_\w+)$", elf, re.M)}
    tap.check(len(seen) >= 3, "builtins: there are some", seen)
    biases = {start - by_name[name] for name, starts in seen.items() for start in starts}
    tap.check(biases and len(biases) <= 2, "builtins: every name belongs to its code", seen)
    tap.check(max(biases) > 1 << 40, "builtins: some are in the second place", biases)


def times(name, rounds):
    """Microseconds stopped, and CPU seconds of the whole dump, of some dumps of a runtime."""
    stopped = []
    with FLEET[name].start() as running:
        for _ in range(rounds):
            stopped.append(patient_dump(running.pid, status=(0, 3))["timings"]["stopped_us"])
        entries = [r["entries"] for r in
                   patient_dump(running.pid)["process"]["registries"] if r["name"] == "gdb-jit"]
        begin = os.times()
        snapwalk("dump", "--json", "--timeout", 60000, "--max-stop", 10000, running.pid)
        end = os.times()
    cpu = end.children_user + end.children_system - begin.children_user - begin.children_system
    return stopped, entries, cpu


def test_cost(tap):
    """Thousands of entries in the list cost nothing in the stop."""
    plain, none, _ = times("node-newest", 11)
    listed, entries, cpu = times("node-gdbjit", 11)
    tap.check(not any(none) and entries and entries[0] > 2000,
              f"cost: the list has {entries} entries", (none, entries))
    # The least is what a machine with other work to do disturbs least.
    tap.check(min(listed) <= 1.5 * min(plain) or
              statistics.median(listed) <= 1.5 * statistics.median(plain),
              "cost: stopped at most 1.5 times as long as without", (plain, listed))
    print(f"# cost: stopped {statistics.median(listed):.0f} us with, "
          f"{statistics.median(plain):.0f} us without; least {min(listed)} and {min(plain)}; "
          f"the whole dump takes {cpu * 1000:.0f} ms of CPU")


def test_explain(tap):
    """An address in generated code: which registry knows it, and the rule."""
    with FLEET["lli-14-orc"].start() as running:
        report = patient_dump(running.pid)
        pc = next(f["pc"] for f in stack_of(report, running.tid)["frames"]
                  if f["function"] == "middle")
        said = snapwalk("explain", running.pid, pc).stdout
        tap.check("jit-gdb" in said and re.search(r"rule: .*CFA", said, re.I),
                  "explain: entry and rule of an address in generated code", said)
        said = snapwalk("dump", "-v", running.pid).stdout
        tap.check(re.search(r"gdb-jit.*\d", said), "dump -v: the registry with its entries", said)


def main():
    tap = Tap()
    only = set(sys.argv[1:])
    jit_fleet.install()
    for names, test in ((TABLES, test_tables), (FRAMES, test_frames), (GUESSES, test_guesses), (JAVA, test_java),
                        (PYTHONS, test_python)):
        for name in names:
            if not only or name in only:
                tap.guard(test, name)
    for test in (test_builtins, test_explain, test_cost):
        if not only or test.__name__ in only:
            tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
