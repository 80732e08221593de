#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 245s
""".NET processes: every thread of a program that has managed code on its stacks in all ways, at random
instants, while the runtime hangs, with 500 threads; of .NET 8, 9 and 10, in one file, from a core
and from a recording. What is right is said by the programs themselves.

SNAPWALK_STOPS=N: how many random stops (default 500)."""
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from collections import Counter

import dotnet
from harness import dump, is_handler, module_of, patient_dump, seeded, slowness, snapwalk, stack_of, wait_until
from interpreted import text_of
from judge import Judge
from known_instants import Instants

STOPS = int(os.environ.get("SNAPWALK_STOPS", "500"))
PROVEN = {"context", "cfi", "unwind_info", "runtime"}


def incomplete(report):
    """Threads whose walk does not end in proven start-up code, with what is there instead."""
    bad = []
    for thread in report["threads"]:
        stack = stack_of(report, thread["tid"])
        if stack is None or stack["end"] != "complete":
            bad.append(f"{thread['tid']} {thread['comm']} {stack and stack['why']}")
        elif module_of(report, stack["frames"][-1]).endswith(".dll"):
            bad.append(f"{thread['tid']} {thread['comm']} ends in managed code")
    return "\n".join(bad)


def guesses(report):
    return sorted({f["trust"] for s in report["stacks"] for f in s["frames"]} - PROVEN)


# Methods that lead from the thread pool, or from what was awaited, to a method that goes on.
PLUMBING = re.compile(r"^System\.Private\.CoreLib(\.dll)?!System\.(Runtime\.CompilerServices\.\w*Async\w*Builder|"
                      r"Threading\.(ExecutionContext\.Run|ThreadPoolWorkQueue\.Dispatch|PortableThreadPool\+WorkerThread\.|"
                      r"TimerQueue|QueueUserWorkItemCallback|Tasks\.(AwaitTaskContinuation\.Run|Task(`1.*)?\.("
                      r"Execute|Finish|InnerInvoke|RunCont|TrySetResult)|Task\+DelayPromise)))")


def wrong_in_internal(report):
    """Frames of the runtime's file are its own where the stack has a method; of methods only those of its library
    outside of one of the program's that hand work on."""
    wrong = []
    own = {os.path.basename(r["where"]) for r in report["process"]["runtimes"]}
    for stack in report["stacks"]:
        methods = [f for f in stack["frames"] if f["kind"] == "clr" and not f["function"].startswith("[")]
        program = False
        for number, frame in enumerate(stack["frames"]):
            program |= frame in methods and not frame["function"].startswith("System.Private.CoreLib")
            begins = number > 0 and "Threading.Thread.StartCallback" in (frame["function"] or "") and \
                stack["frames"][number - 1].get("internal") and stack["frames"][number - 1]["kind"] == "clr"
            if frame in methods and program and (PLUMBING.match(frame["function"]) or begins):
                if not frame.get("internal"):
                    wrong.append(f"#{number} {frame['function']}")
                continue
            runtime = frame["kind"] == "native" and os.path.basename(module_of(report, frame)) in own
            helper = frame["kind"] == "clr" and frame["function"].startswith("[")
            if bool(frame.get("internal")) != (bool(methods) and (runtime or helper)):
                wrong.append(f"#{number} {frame['function']} {module_of(report, frame)}")
    return wrong


def check_stacks(tap, what, report, truth):
    """Every thread complete, no guess, and the managed frames as the program said."""
    tap.equal([(r["name"], r.get("problem")) for r in report["process"]["runtimes"]],
              [("clr", None)], f"{what}: the runtime is recognised")
    bad = incomplete(report)
    tap.check(not bad, f"{what}: {len(report['threads'])} threads are complete", bad)
    tap.equal(guesses(report), [], f"{what}: no frame is a guess")
    tap.equal(wrong_in_internal(report), [], f"{what}: the runtime's own frames are marked")
    tap.check(len(truth) >= 45, f"{what}: {len(truth)} threads told their stacks")
    for tid, (name, frames) in truth.items():
        stack = stack_of(report, tid)
        differs = dotnet.compare(frames, stack["frames"])
        if differs:
            tap.check(False, f"{what}: {name} is as the program said",
                      differs + "".join(f"\n{f['kind']} {f['function']}+{f['function_offset']}"
                                        for f in stack["frames"]))
    tap.check(True, f"{what}: compared with what the program said")


def test_stacks(tap):
    with dotnet.Program("stacks") as target:
        check_stacks(tap, ".NET 10", patient_dump(target.pid), target.truth())
        names = {name for name, _ in target.truth().values()}
    tap.check({"pinvoke", "pinvoke-error", "pinvoke-suppressed", "reverse-pointer", "foreign",
               "reverse-delegate", "catch", "finally", "filter", "fault-filter", "osr", "tiered",
               "generic-shared", "generic-value", "async", "accept", "dynamic-method",
               "finalizer"} <= names, "all ways are there", names)


def test_recorded(tap):
    """The same dump without the process."""
    with tempfile.TemporaryDirectory() as directory, dotnet.Program("stacks") as target:
        path = os.path.join(directory, "fixture")
        live = patient_dump(target.pid)
        snapwalk("record", target.pid, "-o", path, "--max-stop", 10000, check=True)
        again = dump(["--fixture", path], "--timeout", 60000)
        check_stacks(tap, "recorded", again, target.truth())
        for tid in target.truth():
            tap.equal([(f["pc"], f["function"], f["trust"]) for f in stack_of(again, tid)["frames"]],
                      [(f["pc"], f["function"], f["trust"]) for f in stack_of(live, tid)["frames"]],
                      f"recorded: thread {tid}")


def test_core(tap):
    """gcore leaves out what files hold; the heap is kept small, or the core is large."""
    env = {**os.environ, "DOTNET_GCHeapHardLimit": "0x4000000"}
    with tempfile.TemporaryDirectory() as directory, dotnet.Program("stacks", env=env) as target:
        path = os.path.join(directory, "core")
        subprocess.run(["gcore", "-o", path, str(target.pid)], check=True, capture_output=True)
        report = dump(["--core", f"{path}.{target.pid}"], "--timeout", 60000)
        check_stacks(tap, "core", report, target.truth())


def test_versions(tap):
    """Self-contained programs bring their own runtime; .NET 8 and 9 do not describe how they find
    code."""
    for framework, options, where in (
            ("net9.0", ("--self-contained",), "libcoreclr.so"),
            ("net8.0", ("--self-contained",), "libcoreclr.so"),
            ("net10.0", ("--self-contained", "-p:PublishSingleFile=true"), "swnet")):
        directory = dotnet.build(framework, *options)
        with dotnet.Program("stacks", directory=directory) as target:
            report = patient_dump(target.pid)
            what = f"{framework} {' '.join(options)}"
            check_stacks(tap, what, report, target.truth())
            runtime = report["process"]["runtimes"][0]
            tap.equal(os.path.basename(runtime["where"]), where, f"{what}: where the runtime is")
            tap.check(runtime["version"].startswith(framework[3:]), f"{what}: version", runtime)
        with dotnet.Program("storm", 6, directory=directory) as target:
            random_stops(tap, what, target, STOPS // 10)


def damage(pid):
    """Another magic number in the runtime's description of itself."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        start, path = next((int(line.partition("-")[0], 16), line.split(None, 5)[5].rstrip("\n"))
                           for line in maps if line.rstrip().endswith("/libcoreclr.so"))
    said = subprocess.run(["readelf", "-W", "--dyn-syms", path], capture_output=True, text=True,
                          check=True).stdout
    symbol = next(int(line.split()[1], 16) for line in said.splitlines()
                  if " DotNetRuntimeContractDescriptor" in line)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(start + symbol)
        memory.write(b"DAMAGED!")


def test_unread(tap):
    """A runtime that cannot be read: what is missing is missing for that reason, and nothing is made
    up."""
    with dotnet.Program("stacks") as target:
        damage(target.pid)
        guessed = dump(target.pid, status=(0, 3))
        report = dump(target.pid, "--walk", "tables", status=(0, 3))
        cut = [s for s in report["stacks"] if s["end"] != "complete"]
        pc = next(s["frames"][-1]["pc"] for s in cut
                  if module_of(report, s["frames"][-1]).endswith(".dll"))
        said = snapwalk("explain", target.pid, pc).stdout
    managed = "managed code of a .NET runtime that could not be read: see the warning"
    perhaps = ("code made at run time, and the .NET runtime, whose it may be, could not be read: see "
               "the warning")
    tap.equal([w["message"].rpartition(": ")[2] for w in report["warnings"] if w["code"] == "runtime"],
              ["its descriptor has another magic number"], "unread: the warning")
    wrong = [s for s in cut if s["why"] != (
        managed if module_of(report, s["frames"][-1]).endswith(".dll") else perhaps)]
    tap.check(not wrong and len(cut) >= 10, f"unread: {len(cut)} stacks end there, and why", wrong)
    with dotnet.Program("storm", 6) as target:
        damage(target.pid)
        stops = [dump(target.pid, status=(0, 3)) for _ in range(20)]
    tap.equal([f["function"] for r in (guessed, report, *stops) for s in r["stacks"]
               for f in s["frames"] if f["kind"] == "clr"], [],
              "unread: no frame is said to be the runtime's")
    tap.check(f"clr: {managed}\n" in said, "unread: explain says so, too", said)


# The functions that each function of the storm may call. A method that ends in a call may have become a jump, so that
# its caller is seen instead; None: whatever is not of the storm.
CALLERS = {
    "Chain": {"Chain", "Allocate", "Thrower", "Wants", "ThrowAndCatch", "Back", "Locks"},
    "Thrower": {"Thrower", "ThrowAndCatch"},
    "Leaf": {"Fib", "Area", "Locks", "Calls"},
    "Fib": {"Fib", "Calls"},
    "Area": {"Calls"},
    "Wants": {"ThrowAndCatch"},
    "Back": {"CallNative"},
    "Loop": set(),
}
for body in ("Allocate", "ThrowAndCatch", "CallNative", "Calls", "Generics", "Locks"):
    CALLERS[body] = {"Loop"}


def storm_method(frame, methods):
    """The storm's method that a frame is in, None when it is in another one."""
    desc = dotnet.method_desc(frame)
    words = methods.get(desc, "") if desc is not None else frame["function"] or ""
    name = words.partition("(")[0].rpartition(".")[2]
    own = desc is not None or "Storm" in words or "Square" in words
    return name if own and name in CALLERS else None


def invented(frames, methods):
    """Frames of the storm right on top of each other that do not call each other."""
    for callee, caller in zip(frames, frames[1:]):
        names = storm_method(callee, methods), storm_method(caller, methods)
        # A finally block is a function of its own, which its method calls.
        if names[0] and names[0] == names[1] and "(funclet)" in callee["function"]:
            continue
        if None not in names and names[1] not in CALLERS[names[0]]:
            return f"{names[1]} does not call {names[0]}"
    return None


def lacks(stack):
    """Returns what the stack itself says that it lacks; None when it is nothing."""
    if stack is None:
        return "it has no stack"
    frames = stack["frames"]
    if stack["end"] != "complete":
        return f"{stack['end']}: {stack['why']}"
    if any(f["trust"] not in PROVEN and not is_handler(frames, i) for i, f in enumerate(frames)):
        return "a guess"
    return "code of nobody" if any(f["kind"] == "unknown" for f in frames) else None


def judge_report(judge, look, methods, storm, counts):
    for thread in look.report["threads"]:
        if not thread["captured"] and thread["tid"] not in storm:
            continue  # compilers come and go
        stack = stack_of(look.report, thread["tid"])
        frames = stack["frames"] if stack else []
        wrong = invented(frames, methods)
        if thread["tid"] in storm and frames:
            counts[frames[0]["kind"]] += 1
            managed = [f for f in frames if f["kind"] == "clr"]
            # Nothing is skipped either: they all begin in the same two methods. A stack that says itself that it
            # ends early shows no beginning: the judge counts it among the cut ones.
            if stack["end"] == "complete":
                counts[("outermost", *(f["function"] for f in managed[-2:]))] += 1
            if "Loop" not in {storm_method(f, methods) for f in managed[-3:]}:
                wrong = wrong or "its first method is missing"
        judge.verdict(look, lacks(stack), wrong, text_of(stack) if stack else "")


def stops_at_random(tap, what, target, stops, storm):
    """Stops of the storm, whose threads' numbers are known, at random. Returns the counts of where they were."""
    rng, counts = seeded(stops), Counter()
    methods = target.methods()
    with Judge(tap, "clr.storm", what) as judge:
        for look in judge.looks(target.pid, stops, "--symbols", "names"):
            judge_report(judge, look, methods, storm, counts)
            time.sleep(rng.random() * 0.01)
    ends = [key for key in counts if isinstance(key, tuple)]
    tap.equal(len(ends), 1, f"{what}: all threads of the storm begin in the same way {ends}")
    return counts


def random_stops(tap, what, target, stops):
    storm = {t["tid"] for t in patient_dump(target.pid, "--symbols", "none")["threads"]
             if t["comm"].startswith("storm-")}
    tap.equal(len(storm), 6, f"{what}: the storm's threads are there")

    def begun():  # the last ones that were started may be on their way to their loop
        report = dump(target.pid, "--symbols", "names", "--max-stop", 10000, "--timeout", 60000, status=(0, 3))
        stacks = [stack_of(report, tid) for tid in storm]
        return all(s and any(storm_method(f, methods) == "Loop" for f in s["frames"]) for s in stacks)
    methods = target.methods()
    wait_until(begun, "the storm's threads to begin")
    counts = stops_at_random(tap, what, target, stops, storm)
    tap.check(counts["clr"] > stops // 20 and counts["native"] > stops // 20,
              f"{what}: they were in managed and in native code", counts)


def test_storm(tap):
    with dotnet.Program("storm", 6) as target:
        random_stops(tap, "storm", target, STOPS)


def code_avma(pid, code):
    """Where the one place of the runtime's library that has that code lies in a process."""
    with open(f"/proc/{pid}/maps") as file:
        maps = [line.split() for line in file if line.rstrip().endswith("/libcoreclr.so")]
    with open(maps[0][5], "rb") as file:
        data = file.read()
    at = data.index(code)
    for words in maps:
        start, end = (int(word, 16) for word in words[0].split("-"))
        offset = int(words[2], 16)
        if "x" in words[1] and offset <= at < offset + end - start:
            return start + at - offset
    raise LookupError(f"no executable mapping has offset {at}")


def test_restored(tap):
    """The end of the handling of an exception, while the registers of the method that goes on are loaded."""
    switch = bytes.fromhex("498ba298000000 ffe0")  # mov 0x98(%r10),%rsp; jmp *%rax
    with dotnet.Program("storm", 6) as target, Instants() as instants:
        first = code_avma(target.pid, switch)
        for what, avma in (("registers are loaded", first), ("all are, and it jumps", first + 7)):
            tid = instants.stop_at(target.pid, f"*(char*){avma:#x}")
            report = patient_dump(target.pid, status=(0, 3))
            os.kill(target.pid, signal.SIGCONT)
            stack = stack_of(report, tid)
            tap.equal(int(stack["frames"][0]["pc"], 16), avma, f"restored: {what}: it stands there")
            tap.equal(lacks(stack), None, f"restored: {what}: complete, nothing guessed")
            names = [storm_method(f, {}) for f in stack["frames"]]
            tap.check([n for n in names if n in ("ThrowAndCatch", "Loop")] == ["ThrowAndCatch", "Loop"],
                      f"restored: {what}: who catches", text_of(stack))


def test_hung(tap):
    """A thread that cannot be stopped while a collection waits for it."""
    with dotnet.Program("hung") as target:
        stuck = [t for t in os.listdir(f"/proc/{target.pid}/task")]
        tap.check(len(stuck) > 8, "hung: the program runs", stuck)
        time.sleep(1)  # nothing tells from outside that a collection has begun to wait
        begin = time.monotonic()
        report = patient_dump(target.pid)
        seconds = time.monotonic() - begin
        bad = incomplete(report)
        tap.check(not bad and seconds < 30, f"hung: {len(report['threads'])} threads are complete",
                  f"{seconds} s\n{bad}")
        tap.equal(guesses(report), [], "hung: no frame is a guess")
        names = Counter(t["comm"] for t in report["threads"])
        tap.check(names["stuck"] == 1 and names["worker-0"] == 1, "hung: the program's threads are there",
                  names)


def test_server(tap):
    """500 threads. Names must cost nothing while the process waits."""
    with dotnet.Program("server", 500) as target:
        report = patient_dump(target.pid)
        bad = incomplete(report)
        tap.check(len(report["threads"]) > 500 and not bad,
                  f"server: {len(report['threads'])} threads are complete", bad)
        tap.equal(guesses(report), [], "server: no frame is a guess")
        stopped, plain, total, cpu = [], [], [], []
        limit_us = 100000 * slowness()
        # The machine may have more to do: the best of many rounds says what it costs.
        for _ in range(40):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            named = patient_dump(target.pid)["timings"]
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            bare = patient_dump(target.pid, "--symbols", "none")["timings"]
            stopped.append(named["stopped_us"])
            plain.append(bare["stopped_us"])
            total.append(named["total_us"])
            cpu.append(1e6 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
            if len(total) >= 10 and min(total) < limit_us and min(stopped) <= 1.3 * min(plain):
                break
        tap.check(min(stopped) <= 1.3 * min(plain), "server: stopped as long as without names",
                  f"{stopped} {plain}")
        # Where others take the processors away, the time on them counts.
        crowded = os.getloadavg()[0] > 2 * os.cpu_count()
        tap.check(min(total) < limit_us or (crowded and min(cpu) < limit_us),
                  "server: the dump takes less than 100 ms", f"{total}\n{cpu}")
        print(f"# server: stopped {min(stopped)} us, without names {min(plain)} us, "
              f"dump {min(total)} us, of the processor {min(cpu):.0f} us")


def test_storm_plain(tap):
    """Without the mapping that tells the runtime's own executable memory from others: write barriers
    and thunks of delegates lie in memory without a name."""
    env = {**os.environ, "DOTNET_EnableWriteXorExecute": "0"}
    with dotnet.Program("storm", 6, env=env) as target:
        random_stops(tap, "storm without W^X", target, STOPS // 4)


TESTS = (test_stacks, test_recorded, test_core, test_hung, test_server, test_unread, test_versions,
         test_restored, test_storm, test_storm_plain)


if __name__ == "__main__":
    dotnet.run(TESTS)
