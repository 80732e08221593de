#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 60s
"""Generated code by the tables that are published of it: GDB's JIT interface, libgcc's registry."""
import json
import os
import shutil
import subprocess
import tempfile

from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, module_of, own_functions, patient_dump,
                     snapwalk, stack_of, state_of, wait_blocked, wait_until)

CODE, DEBUG = (os.path.join(TARGETS, f"symfile_{name}.o") for name in ("code", "debug"))
CHAIN = ["block", "inner", "middle", "outer", "run", "main"]
LARGE = 4000    # tables: more than is copied in the stop
CHURNS = int(os.environ.get("SNAPWALK_CHURNS", "200"))
ENTRIES = 2452  # as many as node 26 publishes when it starts


def own(report, tid):
    """The program's frames and those of generated code, without start-up code."""
    exe = report["process"]["exe"]
    frames = [f for f in stack_of(report, tid)["frames"]
              if module_of(report, f) == exe or f["kind"] == "jit"]
    return frames[:next(i for i, f in enumerate(frames) if f["function"] == "main") + 1]


def ranges(target):
    """Where the functions of generated code are, as the target says."""
    found = {}
    for line in target.lines:
        words = line.split()
        if words[0] == "function":
            found[words[1]] = (int(words[2], 16), int(words[3], 16))
    return found


def registry(report, name):
    found = [r for r in report["process"]["registries"] if r["name"] == name]
    return found[0] if len(found) == 1 else found


def is_right(tap, report, target, by, name, names=True):
    frames = own(report, target.pid)
    where = ranges(target)
    if names:
        tap.equal([f["function"] for f in frames], CHAIN, f"{name}: functions")
    for frame, function in zip(frames[1:4], CHAIN[1:4]):
        start, end = where[function]
        tap.check(start < int(frame["pc"], 16) <= end, f"{name}: a frame is in {function}", frame)
    tap.equal([f["kind"] for f in frames], ["native"] + ["jit"] * 3 + ["native"] * 2,
              f"{name}: kinds")
    tap.equal([(f["by"], f["trust"]) for f in frames],
              [("context", "context"), ("elf-cfi", "cfi")] + [(by, "jit")] * 3 +
              [("elf-cfi", "cfi")], f"{name}: by tables alone")
    tap.equal(stack_of(report, target.pid)["end"], "complete", f"{name}: end")
    tap.equal(report["warnings"], [], f"{name}: no warning")


def test_gdb(tap):
    for path, table in ((CODE, ".eh_frame"), (DEBUG, ".debug_frame")):
        with Target("jit_gdb", path) as target:
            wait_blocked(target.pid)
            report = patient_dump(target.pid)
            is_right(tap, report, target, "jit-gdb", table)
            frames = own(report, target.pid)
            tap.check(not any(f.get("live_read") for f in frames),
                      f"{table}: a small registry was copied in the stop", frames)
            lines = {f["function"]: (os.path.basename(f["file"] or ""), f["line"])
                     for f in frames[1:4]}
            source = open(os.path.join(os.path.dirname(__file__), os.pardir, "targets", "lib",
                                       "symfile_code.c")).read().splitlines()
            calls = {"inner": "\tblock();", "middle": "\tinner(block);", "outer": "\tmiddle(block);"}
            tap.equal(lines, {function: ("symfile_code.c", source.index(call) + 1)
                              for function, call in calls.items()}, f"{table}: lines")
            tap.equal(registry(report, "gdb-jit")["entries"], 3, f"{table}: entries are counted")
            pc = int(frames[2]["pc"], 16)
            words = snapwalk("explain", target.pid, hex(pc - 1)).stdout
            start, end = ranges(target)["middle"]
            tap.check(f"jit-gdb: [{start:#x}, {end:#x}), symfile's {table}" in words,
                      f"{table}: explained", words)


def test_gdb_many(tap):
    """Thousands of entries are not read while the process is stopped."""
    gdb_many(tap)
    gdb_many_cost(tap)


def gdb_many(tap):
    with Target("jit_gdb", CODE, ENTRIES) as many:
        wait_blocked(many.pid)
        report = patient_dump(many.pid)
        is_right(tap, report, many, "jit-gdb", f"{ENTRIES} entries")
        tap.equal(registry(report, "gdb-jit")["entries"], ENTRIES, f"{ENTRIES} entries are counted")
        tap.check(all(f.get("live_read") for f in own(report, many.pid)[2:5]),
                  "what was read after the stop is marked")


def gdb_many_cost(tap):
    with Target("jit_gdb", CODE, ENTRIES) as many, Target("jit_gdb", CODE) as few:
        wait_blocked(many.pid)
        wait_blocked(few.pid)
        stopped = {many: [], few: []}
        # The machine may have more to do: the best of many rounds says what it costs.
        for n in range(400):
            for target in (few, many):
                stopped[target].append(dump(target.pid, "--stop", "always", status=(0, 3))["timings"]["stopped_us"])
            ratio = min(stopped[many]) / min(stopped[few])
            if n >= 40 and ratio <= 1.5:
                break
        tap.check(ratio <= 1.5, f"{ENTRIES} entries cost nothing in the stop", ratio)


def test_gdb_churn(tap):
    """The list is changed all the time; what runs is published nevertheless, and always found."""
    for entries in (3, 500):
        with Target("jit_gdb", CODE, entries, "churn") as target:
            wait_until(lambda: state_of(target.pid, target.pid) == "S", "it waits")
            wrong = []
            for _ in range(CHURNS):
                report = patient_dump(target.pid)
                frames = [(f["function"], f["trust"]) for f in own(report, target.pid)]
                if [f[0] for f in frames] != CHAIN or [f[1] for f in frames[2:5]] != ["jit"] * 3:
                    wrong.append((frames, report["process"]["registries"], report["warnings"]))
            tap.equal((len(wrong), wrong[:1]), (0, []),
                      f"{entries} entries that change: all of {CHURNS} are right")


def keeps_trees(target):
    """Whether the copy of libgcc that this process registers with has trees (gcc >= 13) or lists."""
    with open(f"/proc/{target.pid}/maps") as maps:
        shared = {line.split()[-1] for line in maps if "/libgcc_s.so" in line}
    # The one that is linked statically has names in the program.
    path, *options = (shared.pop(), "-V") if shared else (target.command[0], "-s", "-W")
    told = subprocess.run(["readelf", *options, path], capture_output=True, text=True, check=True).stdout
    return ("GCC_13.0.0" if "-V" in options else " registered_frames") in told


def test_libgcc(tap):
    for program in ("jit_libgcc", "jit_libgcc_static"):
        for args in ((1,), (5,), (5, "sorted"), (1000,)):
            name = " ".join(map(str, (program, *args)))
            with Target(program, CODE, *args) as target:
                wait_blocked(target.pid)
                report = patient_dump(target.pid)
                is_right(tap, report, target, "jit-libgcc", name, names=False)
                tap.equal(registry(report, "libgcc-frames")["entries"], 3 * args[0],
                          f"{name}: entries are counted")
                frames = own(report, target.pid)[2:5]
                # Tables of a page each: 1000 are too many parts to be copied in the stop. In trees it
                # is proven by less that they are as they were.
                live = args[0] == 1000 and not keeps_trees(target)
                tap.equal([bool(f.get("live_read")) for f in frames], [live] * 3,
                          f"{name}: copied in the stop, or marked")


def wrong_stacks(report):
    """Stacks that are not what jit_libgcc_churn says: three frames of generated code below the function
    that they call, and none of them left out by a guess."""
    wrong = []
    for thread in report["threads"]:
        stack = stack_of(report, thread["tid"])
        frames = [(f["function"], f["kind"], f["trust"]) for f in stack["frames"]]
        names = [f[0] for f in frames]
        called = [i for i, name in enumerate(names) if name in ("leaf", "wait_here")]
        chain = [frames[i + 2:i + 5] for i in called]
        right = (stack["end"] == "complete" and
                 all([f[1:] for f in c] == [("jit", "jit")] * 2 + [("native", "jit")] and
                     c[2][0] == "call" and frames[i + 1][1] == "jit"
                     for i, c in zip(called, chain)) and
                 all(below[2] == "jit" for f, below in zip(frames, frames[1:]) if f[1] == "jit"))
        if not right:
            wrong.append(frames)
    return wrong


def lost_is_told(report):
    return any(w["code"] == "runtime" and w["message"].startswith("libgcc-frames in ") and
               ("a table may be missing: " in w["message"] or
                w["message"].endswith("its tables changed while they were read"))
               for w in report["warnings"])


def test_libgcc_churn(tap):
    """Code comes and goes all the time, each time with another frame at the same address: what runs is
    registered, and its table is the right one. Where lists are too large to be copied in the stop, a
    table may be lost, which is told. Trees: SNAPWALK_LIBGCC is a directory with a libgcc_s.so.1
    of gcc >= 13. Only there somebody also looks for tables: in libgcc <= 12 a table is nowhere while it
    is sorted."""
    libraries = {"": (os.environ, ((3,), (500,), (LARGE,)))}
    if "SNAPWALK_LIBGCC" in os.environ:
        libraries[" in trees"] = ({**os.environ, "LD_LIBRARY_PATH": os.environ["SNAPWALK_LIBGCC"]},
                                  ((3,), (500,), (3, "look"), (500, "look")))
    for kind, (env, variants) in libraries.items():
        for args in variants:
            name = " ".join(map(str, args)) + kind
            wrong, calls = [], 0
            with Target("jit_libgcc_churn", *args, env=env) as target:
                wait_until(lambda: state_of(target.pid, target.pid) == "S", "it waits")
                for _ in range(CHURNS):
                    report = patient_dump(target.pid, status=(0, 3))
                    calls += any("leaf" in [f["function"] for f in stack_of(report, t["tid"])["frames"]]
                                 for t in report["threads"])
                    stacks = wrong_stacks(report)
                    if stacks and not (args[0] == LARGE and lost_is_told(report)):
                        wrong.append((stacks, report["process"]["registries"], report["warnings"]))
            tap.equal((len(wrong), wrong[:1]), (0, []),
                      f"{name} tables that change: all of {CHURNS} are right" +
                      (", or say what was lost" if args[0] == LARGE else ""))
            # How much of its time the thread is in there depends on how soon the processor is through with
            # a loop in memory, and how late with lists of thousands.
            tap.check(calls > CHURNS // 20, f"{name}: generated code was met", calls)


def test_fixture(tap):
    """A recorded process walks the same without the process."""
    with tempfile.TemporaryDirectory() as directory:
        for program, args in (("jit_gdb", (CODE,)), ("jit_gdb", (CODE, 500)),
                              ("jit_libgcc", (CODE, 5)), ("jit_libgcc", (CODE, 500))):
            name = f"{program} {args[1:]}"
            path = os.path.join(directory, name)
            with Target(program, *args) as target:
                wait_blocked(target.pid)
                live = patient_dump(target.pid)
                wait_blocked(target.pid)
                snapwalk("record", target.pid, "-o", path, check=True)
                pid = target.pid
            again = dump(["--fixture", path], status=(0, 3))
            keys = ("pc", "function", "by", "trust", "kind", "file", "line")
            tap.equal([[f[k] for k in keys] for f in stack_of(again, pid)["frames"]],
                      [[f[k] for k in keys] for f in stack_of(live, pid)["frames"]],
                      f"{name}: recorded, the same frames")
            tap.equal(again["process"]["registries"], live["process"]["registries"],
                      f"{name}: recorded, the same registries")


def test_images(tap):
    """ELF images whose file is gone or never had a name; without privileges there is only memory."""
    prefixes = {"": []}
    if os.geteuid() == 0 and shutil.which("setpriv"):
        prefixes[" as daemon"] = ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups"]
    for who, prefix in prefixes.items():
        for how in ("delete", "memory"):
            with tempfile.TemporaryDirectory() as directory:
                os.chmod(directory, 0o777)
                program, library, command = (
                    shutil.copy(path, directory)
                    for path in (os.path.join(TARGETS, "plugin_user"),
                                 os.path.join(TARGETS, "plugin.so"), SNAPWALK))
                words = [*prefix, program, library, how]
                with Target("plugin_user", *words[1:], path=words[0]) as target:
                    wait_blocked(target.pid)
                    result = subprocess.run([*prefix, command, "--json", *PATIENT, str(target.pid)],
                                            capture_output=True, text=True)
                    report = json.loads(result.stdout)
            tap.equal(own_functions(report, target.pid, ("plugin.so", "memfd:plugin.so")),
                      ["block", "callback", "plugin_inner", "plugin_run", "main"],
                      f"{how}{who}: functions")
            stack = stack_of(report, target.pid)
            tap.equal(({f["by"] for f in stack["frames"][1:]}, stack["end"]),
                      ({"elf-cfi"}, "complete"), f"{how}{who}: by its own tables")


if __name__ == "__main__":
    Tap.main(test_gdb, test_gdb_many, test_gdb_churn, test_libgcc, test_libgcc_churn, test_fixture, test_images)
