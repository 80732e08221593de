#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 100s
"""Names of managed methods and threads of .NET processes: in the order and the words of the
program's own StackTrace, and as the runtime's component for debuggers has them.

SNAPWALK_STOPS=N: how many random stops (default 300)."""
import os
import re
import shutil
import subprocess
import tempfile

import dotnet
from harness import BUILD, Target, dump, patient_dump, pcs_of, snapwalk, stack_of, wait_until

STOPS = int(os.environ.get("SNAPWALK_STOPS", "300"))

# Where the runtime handles an exception, frames that StackTrace has left already are still there.
# A finally block that runs without one is a function of its own, which its method calls.
IN_FLIGHT = {"catch", "catch-rethrown", "finally", "finally-local", "filter", "fault-filter",
             "fault-catch"}


def without_arguments(name):
    """T.dll!N.List`1[int].Add[string](T, U) -> T.dll!N.List`1.Add(T, U)"""
    method, bracket, parameters = name.partition("(")
    depth, kept = 0, []
    for c in method:
        depth += c == "["
        if depth == 0:
            kept.append(c)
        depth -= c == "]"
    return "".join(kept) + bracket + parameters


def managed(stack):
    """The methods of a stack: no stubs, and a handler's own function is its method."""
    names = [f["function"] for f in stack["frames"] if f["kind"] == "clr"]
    return [name.removesuffix(" (funclet)") for name in names
            if not name.startswith("[") and not name.endswith("[IL stub]")]


def differs(ours, theirs, what):
    """None, or how two lists of names differ; what is in flight has more in ours."""
    if what not in IN_FLIGHT:
        return None if ours == theirs else "\n".join(
            f"{'  ' if a == b else '! '}{a}  |  {b}" for a, b in zip(
                ours + [""] * (len(theirs) - len(ours)), theirs + [""] * (len(ours) - len(theirs))))
    rest = iter(ours)
    missing = [name for name in theirs if name not in rest]
    return f"missing {missing}\n" + "\n".join(ours) if missing else None


def check_names(tap, target):
    """The names of the threads of "names": module, type, method and parameters, as reflection spells them."""
    report = patient_dump(target.pid)
    lines = [line for line in target.lines if line.startswith("names ")]
    exact = {}
    for line in lines:
        head, *theirs = line.split(" | ")
        _, tid, what = head.split(" ")
        ours = managed(stack_of(report, int(tid)))
        exact[what] = [re.sub(r">d__\d+", ">d__0", name) for name in ours]
        if what == "emitted-type":  # reflection does not tell what the module is called
            theirs = [name.replace("<In Memory Module>", "RefEmit_InMemoryManifestModule")
                      for name in theirs]
        wrong = differs([without_arguments(name) for name in ours], theirs, what)
        tap.check(not wrong, f"names: {what} is as reflection says", wrong)
    frame = next(f for f in stack_of(report, int(tid))["frames"] if f["kind"] == "clr")
    said = snapwalk("explain", target.pid, frame["pc"]).stdout
    tap.check(f"clr: {frame['function']}\n" in said, "names: explain has them, too", said)
    tap.check(len(lines) >= 18, f"names: {len(lines)} stacks")
    wanted = {
        "nested": "swnet.dll!SwNet.Names+Outer`1+Inner`1[System.__Canon,int].Other[long](T, V)",
        "values": "swnet.dll!SwNet.Names+Outer`1+Inner`1[int,SwNet.Deeper.Still.Point].Other[long](T, V)",
        "many": "swnet.dll!SwNet.Names.Many[System.__Canon,int,SwNet.Deeper.Still.Colour]"
                "(A, B, C, Func`3[A,B,C])",
        "default-interface": "swnet.dll!SwNet.Names+IDefault.Do[System.__Canon](T)",
        "awaited": "swnet.dll!SwNet.Names+<Awaited>d__0`1[System.__Canon].MoveNext()",
    }
    for what, name in wanted.items():
        tap.check(name in exact.get(what, []), f"names: type arguments of {what}",
                  f"{name}\n" + "\n".join(exact.get(what, [])))


def test_names(tap):
    with dotnet.Program("names") as target:
        check_names(tap, target)


def check_stacks(tap, report, target):
    """The stacks of "stacks" have the same methods in the same order as StackTrace says. Prints how many threads and
    frames."""
    count = frames = 0
    for tid, (what, truth) in target.truth().items():
        # A method that was made has a name alone.
        theirs = [words.removeprefix("?.") for _, _, words in truth]
        ours = [without_arguments(name.removesuffix(" [dynamic method]")).partition("(")[0]
                for name in managed(stack_of(report, tid))]
        ours = [name.partition("!")[2] or name for name in ours]
        at = ours.index(theirs[0]) if theirs[0] in ours else 0  # what it called to wait
        wrong = differs(ours[at:], theirs, what)
        tap.check(not wrong, f"stacks: {what} is as StackTrace says", wrong)
        count, frames = count + 1, frames + len(theirs)
    return count, frames


def test_stacks(tap):
    """All ways to be on a stack: the same methods in the same order as StackTrace says."""
    with dotnet.Program("stacks") as target:
        told = target.truth()

        def settled():  # the first thread has just said "ready", and methods are compiled anew
            report = patient_dump(target.pid)
            return report if not any(t["managed"] and t["managed"]["mode"] == "cooperative" and t["tid"] not in told
                                     for t in report["threads"]) else None
        report = wait_until(settled, "those that told nothing to let the collector in")
        count, frames = check_stacks(tap, report, target)
        labels = {f["function"] for s in report["stacks"] for f in s["frames"] if f["kind"] == "clr"}
        check_threads(tap, report, target)
    tap.check(count >= 45, f"stacks: {count} threads, {frames} frames")
    for label in ("Emitted [dynamic method]", "IL_STUB_PInvoke [IL stub]",
                  "IL_STUB_ReversePInvoke [IL stub]",
                  "swnet.dll!SwNet.Stacks+Generic`1[System.__Canon].Call(T)",
                  "swnet.dll!SwNet.Stacks+Generic`1[long].Call(T)",
                  "swnet.dll!SwNet.Stacks.GenericMethod[System.__Canon,int](T, U)",
                  "System.Private.CoreLib.dll!System.Threading.Thread.StartCallback()"):
        tap.check(label in labels, f"stacks: {label}")
    nameless = {name for name in labels if "0x" in name or "?" in name or name == "[r2r]"}
    tap.equal(nameless, set(), "stacks: every method has a name")


def check_threads(tap, report, target):
    """The facts that the runtime has on its threads."""
    notes = {t["tid"]: t["managed"] for t in report["threads"]}
    names = {tid: what for tid, (what, _) in target.truth().items()}
    own = [tid for tid, what in names.items()
           if what not in ("foreign", "async", "pool", "timer", "finalizer", "parallel")]
    tap.equal({names[tid]: notes[tid]["name"] for tid in own}, {names[tid]: names[tid] for tid in own},
              f"threads: {len(own)} names, long ones too")
    tap.check(any(len(names[tid]) > 15 for tid in own), "threads: some are longer than comm")
    cooperative = {names.get(tid) for tid, n in notes.items() if n and n["mode"] == "cooperative"}
    tap.equal(cooperative, {"pinvoke-suppressed"}, "threads: one does not let the collector in")
    # The only turn of Parallel.For() is taken by its caller, or by the pool.
    said = next((notes[tid]["name"], notes[tid]["role"]) for tid, what in names.items() if what == "parallel")
    tap.check(said in (("parallel", None), (".NET TP Worker", "thread-pool")), "threads: the one that runs in parallel", said)
    roles = {names[tid]: notes[tid]["role"] for tid in names if notes[tid]["role"] and names[tid] != "parallel"}
    tap.equal(roles, {"finalizer": "finalizer", "async": "thread-pool", "pool": "thread-pool",
                      "timer": "thread-pool"}, "threads: their roles")
    tap.equal((notes[target.pid]["id"], notes[target.pid]["name"]), (1, None), "threads: the first")
    ids = [n["id"] for n in notes.values() if n and n["id"] is not None]
    tap.check(len(ids) == len(set(ids)) and len(ids) > len(own), "threads: each has its own number")


def test_hung(tap):
    """A collection waits for a thread: who waits, and for whom."""
    with dotnet.Program("hung") as target:
        def state():
            return {t["managed"]["name"] or t["comm"]: t["managed"]
                    for t in patient_dump(target.pid)["threads"] if t["managed"]}
        for _ in range(50):
            threads = state()
            if any(n["role"] == "suspending" for n in threads.values()):
                break
        roles = [name for name, n in threads.items() if n["role"] == "suspending"]
        tap.check(len(roles) == 1, "hung: a single thread suspends the others", threads)
        tap.check(threads["stuck"]["mode"] == "cooperative", "hung: and waits for this one", threads)


def test_versions(tap):
    """.NET 9 and 8 name all, too, also methods of generic types."""
    for framework, share in (("net9.0", 1.0), ("net8.0", 1.0)):
        directory = dotnet.build(framework, "--self-contained")
        with dotnet.Program("stacks", directory=directory) as target:
            report = patient_dump(target.pid)
            counts, funclets, nameless, wrong = {True: 0, False: 0}, 0, set(), []
            for tid, (what, truth) in target.truth().items():
                theirs = {words.removeprefix("?.") for _, _, words in truth}
                for frame in stack_of(report, tid)["frames"]:
                    if frame["kind"] == "clr":
                        known = not re.match(r"\[(r2r|jit)|\?!", frame["function"])
                        counts[known] += 1
                        funclets += frame["function"].endswith(" (funclet)")
                        nameless |= set() if known else {frame["function"]}
                words = [without_arguments(n).partition("!")[2].partition("(")[0]
                         for n in managed(stack_of(report, tid)) if "!" in n]
                if what not in IN_FLIGHT:
                    wrong += [f"{what}: {w}" for w in words
                              if w.startswith("SwNet.") and w not in theirs]
            tap.check(not wrong, f"{framework}: no name is wrong", "\n".join(wrong))
            named = counts[True] / sum(counts.values())
            tap.check(named >= share, f"{framework}: {counts[True]} of {sum(counts.values())} named",
                      nameless)
            tap.check(not any("r2r" in name for name in nameless),
                      f"{framework}: all that was compiled ahead of time is", nameless)
            tap.check(funclets > 0, f"{framework}: {funclets} funclets")


def test_single_file(tap):
    """Assemblies in the program's own file."""
    directory = dotnet.build("net10.0", "--self-contained", "-p:PublishSingleFile=true")
    with dotnet.Program("stacks", directory=directory) as target:
        report = patient_dump(target.pid)
        tid = next(t for t, (what, _) in target.truth().items() if what == "generic-value")
        tap.equal(managed(stack_of(report, tid))[1:],
                  ["swnet.dll!SwNet.Stacks+Generic`1[long].Inner(T[])",
                   "swnet.dll!SwNet.Stacks+Generic`1[long].Call(T)",
                   "swnet.dll!SwNet.Stacks+<>c.<Code>b__45_1()",
                   "swnet.dll!SwNet.Truth+<>c__DisplayClass7_0.<Start>b__0()",
                   "System.Private.CoreLib.dll!System.Threading.Thread.StartCallback()"],
                  "single file: names")


def test_storm(tap):
    """At random instants, while methods are compiled anew all the time: names, and right ones."""
    frames, nameless, foreign = 0, set(), set()
    with dotnet.Program("storm", 6) as target:
        known = set(target.methods().values()) | {"Storm.Count"}  # it does not list generic ones
        for _ in range(STOPS):
            report = dump(target.pid, "--symbols", "names", "--max-stop", 10000, "--timeout", 60000,
                          status=(0, 3))
            for frame in (f for s in report["stacks"] for f in s["frames"] if f["kind"] == "clr"):
                name = frame["function"] or ""
                frames += 1
                if re.match(r"\[(jit|r2r)|\?", name) or "!0x" in name or not name:
                    nameless.add(name)
                own = re.match(r"swnet.dll!SwNet\.(Storm\.\w+)[(\[]", name)
                if own and own.group(1) not in known:
                    foreign.add(name)
    tap.check(frames > STOPS * 20, f"storm: {frames} managed frames in {STOPS} stops")
    tap.equal(nameless, set(), "storm: each has a name")
    tap.equal(foreign, set(), f"storm: methods are among the {len(known)} that there are")


def test_core(tap):
    """A core file has the same names and knows the same of threads."""
    env = {**os.environ, "DOTNET_GCHeapHardLimit": "0x4000000"}
    with tempfile.TemporaryDirectory() as directory, dotnet.Program("names", env=env) as target:
        path = os.path.join(directory, "core")
        live = patient_dump(target.pid)
        subprocess.run(["gcore", "-o", path, str(target.pid)], check=True, capture_output=True)
        report = dump(["--core", f"{path}.{target.pid}"], "--timeout", 60000)
    told = [int(line.split(" ")[1]) for line in target.lines if line.startswith("names ")]
    tap.equal([managed(stack_of(report, tid)) for tid in told],
              [managed(stack_of(live, tid)) for tid in told], f"core: names of {len(told)} stacks")

    def notes(r):
        return {t["tid"]: (t["managed"]["id"], t["managed"]["mode"])
                for t in r["threads"] if t["tid"] in told}
    tap.equal(notes(report), notes(live), "core: the runtime's words on threads")


def test_namespace(tap):
    """The runtime knows its threads by other numbers than we do."""
    with Target("unshare", "-p", "-f", "--kill-child", "--mount-proc",
                os.path.join(dotnet.build(), "swnet"), "names", path="unshare") as outer:
        with open(f"/proc/{outer.pid}/task/{outer.pid}/children", encoding="ascii") as file:
            pid = int(file.read())
        report = patient_dump(pid)
    names = [line.split(" ")[2] for line in outer.lines if line.startswith("names ")]
    known = {t["managed"]["name"] for t in report["threads"] if t["managed"]}
    tap.equal(set(names) - known, set(), f"namespace: {len(names)} threads are known by name")


def oracle():
    """The program that asks Microsoft's debugger library, built once."""
    sources = os.path.join(dotnet.SOURCES, os.pardir, "dotnet_oracle")
    work = os.path.abspath(os.path.join(BUILD, "tests", "dotnet", "oracle"))
    program = os.path.join(work, "out", "oracle")
    if not os.path.exists(program) or os.path.getmtime(program) < dotnet.newest(
            sources, os.listdir(sources)):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(sources, work)
        subprocess.run(["dotnet", "build", "-c", "Release", "-o", "out", "--nologo",
                        "-p:UseSharedCompilation=false"], cwd=work, check=True, timeout=600,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.utime(program)
    return program


def theirs_like_ours(name):
    """T.dll!N.List`1[[A, B]].Add(U) -> T.dll!N.List`1.Add, and the classes of what has none."""
    name = without_arguments(name.partition("(")[0])
    return re.sub(r"^.*!(ILStubClass|DynamicClass)\.", "", name)


def ours_like_theirs(name):
    name = name.removesuffix(" (funclet)")
    name = re.sub(r" \[(IL stub|dynamic method)\]$", "", name)
    return without_arguments(name).partition("(")[0]


def compare_stack(report, tid, theirs):
    """None, or how the managed frames of a thread differ; how many there are; and of how many also the
    address was compared. Names that we say we do not know are not compared."""
    # Stubs without a method are not among their frames.
    ours = [f for f in stack_of(report, tid)["frames"]
            if f["kind"] == "clr" and not re.match(r"\[(?!r2r|jit)", f["function"])]
    # A method that has called native code is shown with an address that it noted before the call, not with its return
    # address.
    exact = [f["by"] == "clr" for f in ours] + [True] * len(theirs)
    known = [not re.match(r"\[|\?!", f["function"]) for f in ours] + [True] * len(theirs)
    got = [(f["pc"][2:].lstrip("0") if exact[i] else "",
            ours_like_theirs(f["function"]) if known[i] else "") for i, f in enumerate(ours)]
    wanted = [(pc if exact[i] else "", theirs_like_ours(name) if known[i] else "")
              for i, (pc, name) in enumerate(theirs)]
    differs_how = None if got == wanted else f"{tid}\n" + differs(
        [" ".join(f) for f in got], [" ".join(f) for f in wanted], "")
    return differs_how, len(wanted), exact[:len(ours)].count(True), known[:len(ours)].count(False)


def check_debugger(tap, what, directory=None):
    """How many names we do not know; the rest is as they say."""
    with dotnet.Program("stacks", "no-suppressed", directory=directory) as target:
        report = patient_dump(target.pid)
        said = subprocess.run([oracle(), str(target.pid)], capture_output=True, text=True,
                              timeout=120, check=True).stdout
        after = patient_dump(target.pid)
    totals, notes, wrong, bad_notes = [0, 0, 0], 0, [], []
    threads = {t["tid"]: t for t in report["threads"]}
    later = {t["tid"] for t in after["threads"] if t["captured"]}
    for line in said.splitlines():
        head, *theirs = line.split(" | ")
        _, tid, number, mode, finalizer = head.split(" ")
        tid = int(tid)
        if tid not in threads:
            continue  # compilers come and go
        if tid not in later or pcs_of(report, tid) != pcs_of(after, tid):
            continue  # the thread pool's own threads wake up now and then
        how, *counts = compare_stack(report, tid, [frame.split(" ", 1) for frame in theirs])
        totals = [a + b for a, b in zip(totals, counts)]
        wrong += [how] if how else []
        note = threads[tid]["managed"]
        notes += 1
        if (note["id"], note["mode"], note["role"] == "finalizer") != (
                int(number), mode.lower(), finalizer == "True"):
            bad_notes.append(f"{line[:60]}: {note}")
    frames, addresses, unknown = totals
    tap.check(frames > 350, f"{what}: the debugger knows {frames} frames", said[:2000])
    tap.check(not wrong, f"{what}: {frames - unknown} frames have the same names, {addresses} addresses",
              f"{len(wrong)} threads differ\n" + "\n".join(wrong))
    tap.check(notes > 50 and not bad_notes, f"{what}: {notes} threads: number, mode and finalizer",
              "\n".join(bad_notes))
    return unknown


def test_debugger(tap):
    """The runtime's own component for debuggers: the same addresses, names and threads."""
    tap.equal(check_debugger(tap, "debugger"), 0, "debugger: all have names")


def test_debugger_versions(tap):
    """The same of .NET 9 and 8, where the images say what was compiled ahead of time."""
    for framework in ("net9.0", "net8.0"):
        unknown = check_debugger(tap, f"debugger, {framework}",
                                 dotnet.build(framework, "--self-contained"))
        tap.equal(unknown, 0, f"debugger, {framework}: all have names")


TESTS = (test_names, test_stacks, test_hung, test_storm, test_versions, test_single_file, test_core,
         test_namespace, test_debugger, test_debugger_versions)


if __name__ == "__main__":
    dotnet.run(TESTS)
